use super::*;
use proptest::prelude::{Just, Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

/// Number and name in each version, copied from `event_metadata.hpp` at six commits; 0 if the
/// version does not have the kind.
const NUMBERS: [([u8; 6], &str); 15] = [
    ([1, 1, 1, 1, 1, 1], "READ"),
    ([9, 11, 11, 11, 11, 11], "WRITE_"),
    ([10, 13, 13, 13, 14, 14], "WRITE_INLINE"),
    ([11, 14, 14, 14, 15, 15], "WRITE_MULTICAST"),
    ([14, 19, 19, 19, 20, 20], "WRITE_BARRIER_START"),
    ([15, 20, 20, 20, 21, 21], "WRITE_BARRIER_END"),
    ([0, 0, 23, 23, 25, 25], "FULL_BARRIER"),
    ([18, 23, 24, 24, 26, 26], "ATOMIC_BARRIER"),
    ([21, 26, 27, 27, 29, 29], "SEMAPHORE_SET"),
    ([0, 0, 0, 0, 30, 33], "FABRIC_UNICAST_WRITE"),
    ([0, 0, 0, 0, 33, 36], "FABRIC_FUSED_UNICAST_ATOMIC_INC"),
    ([0, 0, 0, 0, 36, 39], "FABRIC_UNICAST_SCATTER_WRITE"),
    ([0, 0, 0, 0, 37, 40], "FABRIC_ROUTING_FIELDS_1D"),
    ([0, 0, 0, 0, 38, 41], "FABRIC_ROUTING_FIELDS_2D"),
    ([0, 0, 0, 0, 0, 32], "SEMAPHORE_INC_MULTICAST"),
];

fn number_of(version: PayloadVersion, name: &str) -> u8 {
    let (numbers, _) = NUMBERS.iter().find(|&&(_, known)| known == name).unwrap();
    numbers[version as usize]
}

#[test]
fn numbers_are_those_of_all_versions() {
    for (numbers, name) in NUMBERS {
        let kind = NocEventKind::from_label(name);
        assert!(kind.is_some(), "{name}");
        for (version, number) in PayloadVersion::ALL.into_iter().zip(numbers) {
            if number > 0 {
                assert_eq!(version.kind(number), kind, "{name} of {version:?}");
            }
        }
    }
}

#[test]
fn numbers_beyond_the_table_have_no_kind() {
    for (version, numbers) in [
        (PayloadVersion::Byte0Remote, &[0, 42, 255][..]),
        (PayloadVersion::Byte0, &[0, 39, 253, 255]),
        (PayloadVersion::Byte2, &[0, 22, 255]),
        (PayloadVersion::Byte4, &[0, 27, 255]),
        (PayloadVersion::Byte4FullBarrier, &[0, 28]),
        (PayloadVersion::Byte6, &[0, 28, 36]),
    ] {
        for &number in numbers {
            assert_eq!(version.kind(number), None, "{number} of {version:?}");
        }
    }
    assert_eq!(NocEventKind::from_label("UNDEF"), None);
}

#[test]
fn one_kind_of_transfer_is_not_another() {
    for kind in NocEventKind::ALL {
        let is_of = [kind.is_read(), kind.is_write(), kind.is_fabric()];
        assert!(is_of.into_iter().filter(|&is_so| is_so).count() <= 1, "{kind:?}");
    }
}

#[test]
fn fabric_packets_without_a_network_are_named() {
    let decode =
        |number: u64| Payload::decode(number << 48, PayloadVersion::Byte6, SizeField::default());
    for number in 28..=35 {
        assert_eq!(decode(number.into()), Err(PayloadError::FabricWithoutNetwork { number }));
    }
    assert_eq!(decode(36), Err(PayloadError::UnknownKind { number: 36 }));
}

/// What a kernel did, as its author would say it.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Column and row of the other tile, network, virtual channel, units of 32 bytes.
    Read(u8, u8, u8, u8, u8),
    Write(u8, u8, u8, u8, u8),
    ReadBarrier,
    WriteBarrier,
    AtomicBarrier,
}

/// Packs an event by hand, as `event_metadata.hpp` of the version lays it out.
fn packed(
    version: PayloadVersion,
    name: &str,
    [x, y]: [u8; 2],
    network: u8,
    channel: u8,
    chunks: u8,
) -> u64 {
    let number = match name {
        "READ_BARRIER_START" => 6,
        "READ_BARRIER_END" => 7,
        _ => number_of(version, name),
    };
    let carrier = (channel << 4) | (network + 1);
    let [size, size_high, _, _] = (u32::from(chunks) * 32).to_le_bytes();
    let bytes = match version {
        PayloadVersion::Byte2 => {
            let channel = if channel == 0xF { 0xFF } else { channel };
            [x, y, number, network + 1, channel, size, size_high, 0]
        }
        PayloadVersion::Byte4 | PayloadVersion::Byte4FullBarrier => {
            [x, y, 0xFF, 0xFF, number, carrier, size, size_high]
        }
        PayloadVersion::Byte6 => [x, y, 0, 0, carrier, chunks, number, 0],
        PayloadVersion::Byte0 | PayloadVersion::Byte0Remote => {
            [number, x, y, 0, 0, carrier, chunks, 0]
        }
    };
    u64::from_le_bytes(bytes)
}

fn words(version: PayloadVersion, act: Act) -> Vec<u64> {
    let wait = |name| packed(version, name, [0xFF, 0xFF], 0, 0xF, 0);
    match act {
        Act::Read(x, y, network, channel, chunks) => {
            vec![packed(version, "READ", [x, y], network, channel, chunks)]
        }
        Act::Write(x, y, network, channel, chunks) => {
            vec![packed(version, "WRITE_", [x, y], network, channel, chunks)]
        }
        Act::ReadBarrier => vec![wait("READ_BARRIER_START"), wait("READ_BARRIER_END")],
        Act::WriteBarrier => vec![wait("WRITE_BARRIER_START"), wait("WRITE_BARRIER_END")],
        Act::AtomicBarrier => vec![wait("ATOMIC_BARRIER")],
    }
}

fn any_act() -> impl Strategy<Value = Act> {
    let transfer = (0_u8..28, 0_u8..28, 0_u8..2, 0_u8..8, 1_u8..=255);
    prop_oneof![
        4 => transfer.clone().prop_map(|(x, y, noc, vc, size)| Act::Read(x, y, noc, vc, size)),
        4 => transfer.prop_map(|(x, y, noc, vc, size)| Act::Write(x, y, noc, vc, size)),
        1 => Just(Act::ReadBarrier),
        2 => Just(Act::WriteBarrier),
        1 => Just(Act::AtomicBarrier),
    ]
}

fn evidence(words: &[u64]) -> VersionEvidence {
    let mut evidence = VersionEvidence::default();
    words.iter().for_each(|&bits| evidence.add(bits));
    evidence
}

/// Name and bytes of each event.
fn read(version: PayloadVersion, words: &[u64]) -> Vec<(&'static str, u32, RawCoord)> {
    let events = words.iter().map(|&bits| {
        let Ok(Payload::Local(event)) = Payload::decode(bits, version, SizeField::Bits8) else {
            panic!("{bits:#x} of {version:?}");
        };
        (event.kind.label(), event.byte_count, event.target)
    });
    events.collect()
}

proptest! {
    /// Events are read as what the kernel did, or their version is unknown: never as something
    /// else.
    #[test]
    fn events_of_any_version_are_what_the_kernel_did_or_unknown(
        acts in prop::collection::vec(any_act(), 1..30),
        at in 0..PayloadVersion::ALL.len(),
    ) {
        let version = PayloadVersion::ALL[at];
        let words: Vec<u64> = acts.iter().flat_map(|&act| words(version, act)).collect();
        let found = evidence(&words).version();
        if let Some(found) = found {
            prop_assert_eq!(read(found, &words), read(version, &words));
        }
        // A wait and two transfers leave no doubt, except for the two numbers of one barrier.
        let has_wait = acts.iter().any(|act| matches!(act, Act::WriteBarrier));
        let is_doubtful = acts.iter().any(|act| matches!(act, Act::AtomicBarrier))
            && matches!(version, PayloadVersion::Byte4 | PayloadVersion::Byte4FullBarrier);
        prop_assert!(found.is_some() || !has_wait || acts.len() < 3 || is_doubtful);
    }

    /// Bits of a layout that nobody knows are unknown, unless most of them agree with a version.
    #[test]
    fn a_version_is_found_only_if_it_explains_half_of_the_events(
        words in prop::collection::vec(proptest::prelude::any::<u64>(), 1..40),
    ) {
        let evidence = evidence(&words);
        if let Some(version) = evidence.version() {
            prop_assert!(2 * evidence.explained(version) >= evidence.total());
        }
    }
}

#[test]
fn a_route_behind_its_packet_decides_the_version() {
    // A write of the fabric and its route, by the numbers of both newest versions.
    for (numbers, expected) in
        [([30, 37], PayloadVersion::Byte0), ([33, 40], PayloadVersion::Byte0Remote)]
    {
        let [packet, route] = numbers;
        let words = [
            u64::from_le_bytes([packet, 1, 2, 0, 0, 0x11, 0, 0]),
            u64::from_le_bytes([route, 5, 0, 0, 0, 0, 0, 0]),
            u64::from_le_bytes([11, 1, 2, 0, 0, 0x11, 2, 0]),
        ];
        assert_eq!(evidence(&words).version(), Some(expected), "{numbers:?}");
    }
}
