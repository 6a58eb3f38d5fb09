//! Cost of the probes of `kernel_profiler.hpp`, compiled with Debian's gcc.
//!
//! Unlike rustc, gcc is not pinned. If its version differs from that of the committed figures, only
//! the limits are checked.

use crate::{bare_core::BareCore, compare, cost, listing, probes};
use sim::{
    arch::Arch,
    machine::{cpp_compiler_version, images::ParsedImage},
};
use std::fmt::Write as _;
use wire::{
    Header, PacketKind, ZoneId,
    control::{ControlLayout, ext},
    marker,
};

/// Version of gcc for the committed figures.
const COMMITTED_VERSION: &str = "12.2.0";

/// Probes that are measured in a loop.
const PROBES: [&str; 8] =
    ["zone", "zone_if", "data", "data_16b", "event", "noc_event", "sum", "kernel_zone"];

/// Returns true if a C++ compiler is installed; asserts this in CI.
fn is_there() -> bool {
    if cpp_compiler_version().is_none() {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "there is no compiler for C++");
        println!(
            "not tested: install gcc-riscv64-unknown-elf, then touch sim/build.rs and benches/build.rs"
        );
    }
    cpp_compiler_version().is_some()
}

fn image(arch: Arch, part: &str) -> &'static ParsedImage {
    probes::find(arch, true, true, part)
}

fn disabled() -> &'static ParsedImage {
    probes::find(Arch::WormholeB0, false, false, "cpp_probes")
}

/// Returns the size of a zone's call site in bytes, without the code that the zone measures.
fn zone_site_bytes(part: &str) -> u32 {
    const MEASURED_BYTES: u32 = 4;
    let image = image(Arch::WormholeB0, part);
    let size = |name| image.symbol(name).unwrap().size_bytes;
    (size("zone_sites_8") - size("zone_sites_1")).div_ceil(7) - MEASURED_BYTES
}

/// Returns the maximum stack use of the probe loops in bytes, with a full buffer.
///
/// The end of the launch is not included.
fn deepest_stack(arch: Arch) -> u32 {
    let mut core = BareCore::new(arch, image(arch, "cpp_probes"));
    // A NoC event pushes when the buffer is full.
    let probes = PROBES.into_iter().filter(|probe| *probe != "noc_event");
    probes.map(|probe| core.stack_bytes(probe, 150)).max().unwrap_or(0)
}

fn report(arch: Arch) -> String {
    let mut report = format!("{arch}, gcc {COMMITTED_VERSION}\n\n");
    writeln!(report, "probe     instructions  cycles").unwrap();
    for (part, mark) in [("cpp_probes", ""), ("cpp_probes_small", " -Os")] {
        for probe in PROBES {
            let (instructions, cycles) = cost::per_pass(arch, image(arch, part), probe);
            let name = format!("{probe}{mark}");
            writeln!(report, "{name:<12} {instructions:>9.1} {cycles:>7.1}").unwrap();
        }
    }
    let (fast, small) = (zone_site_bytes("cpp_probes"), zone_site_bytes("cpp_probes_small"));
    writeln!(report, "\nzone call site: {fast} bytes, -Os {small} bytes").unwrap();
    writeln!(report, "deepest stack of a probe: {} bytes", deepest_stack(arch)).unwrap();
    report
}

#[test]
fn costs_in_cpp_are_the_committed_ones() {
    if !is_there() {
        return;
    }
    if cpp_compiler_version() != Some(COMMITTED_VERSION) {
        println!("not compared: the committed figures are of gcc {COMMITTED_VERSION}");
        return;
    }
    for arch in Arch::ALL {
        compare(&format!("{arch}.cpp.txt"), &report(arch));
    }
    compare("zone.cpp.s", &listing::disassemble(image(Arch::WormholeB0, "cpp_probes"), "zone"));
}

#[test]
fn the_hot_path_in_cpp_keeps_its_promises() {
    if !is_there() {
        return;
    }
    for (arch, zone_cycles) in [(Arch::WormholeB0, 30.0), (Arch::Blackhole, 27.0)] {
        let image = image(arch, "cpp_probes");
        let (instructions, cycles) = cost::per_pass(arch, image, "zone");
        assert!(instructions <= 24.0 && cycles <= zone_cycles, "{instructions} {cycles}");
        let (_, cycles) = cost::per_pass(arch, image, "data");
        assert!(cycles <= 21.0, "{cycles}");
        assert!(deepest_stack(arch) <= 96);
    }
    // The limit is 128 bytes in tt-metal's own build, in which addresses are constants.
    assert!(zone_site_bytes("cpp_probes") <= 136);
    assert!(zone_site_bytes("cpp_probes_small") <= 136);
}

#[test]
fn a_disabled_probe_in_cpp_leaves_no_byte() {
    if !is_there() {
        return;
    }
    let code = |name| listing::words(disabled(), name);
    let others = ["noc_events", "noc_addresses", "locks", "fabric_events", "fabric"];
    for probe in PROBES.iter().chain(&others) {
        assert_eq!(code(probe), code("nothing"), "{probe}");
    }
    assert!(disabled().zones.is_empty());
}

/// Returns the index and the kind of each record.
///
/// Omits a run's ids, empty guaranteed slots and padding.
fn records(words: &[u32]) -> Vec<(usize, PacketKind)> {
    let mut found = Vec::new();
    let mut index = 0;
    while index < words.len() {
        let header = Header(words[index]);
        let kind = header.kind().filter(|_| header.is_marker() && !header.is_empty());
        found.extend(kind.map(|kind| (index, kind)));
        let other_words = if header.is_empty() { 2 } else { 1 };
        index += kind.map_or(other_words, PacketKind::record_words);
    }
    found
}

/// Returns the words with all times set to zero.
fn without_clock(words: &[u32]) -> Vec<u32> {
    let mut timeless = words.to_vec();
    for (index, _) in records(words) {
        timeless[index] &= !marker::TIME_HIGH_MASK;
        timeless[index + 1] = 0;
    }
    timeless
}

/// Returns how many records BRISC lost because L1 was full (zones, data, events), and how many of
/// its runs were refused because DRAM was full.
fn losses(core: &BareCore) -> [u32; 4] {
    [ext::LOST_ZONES, ext::LOST_DATA, ext::LOST_EVENTS, ext::REFUSED_RUNS]
        .map(|word| core.control(word))
}

/// Makes a core on which a launch has run a probe the given number of times.
fn core_after(arch: Arch, part: &str, probe: &str, passes: u32) -> BareCore {
    let mut core = BareCore::new(arch, image(arch, part));
    core.call("open_main", 0);
    core.call(probe, passes);
    core.call("finish", 0);
    core
}

/// Maximum number of loop passes that fit into a ring of 500 words. A pass records 14 words.
const WHOLE_PASSES: u32 = 35;

/// Checks the main zone, the kernel's zone and the push. For real kernels, the firmware does all
/// three.
#[test]
fn a_whole_launch_in_cpp_pushes_the_same_words() {
    if !is_there() {
        return;
    }
    for arch in Arch::ALL {
        for part in ["cpp_probes", "cpp_probes_small"] {
            for passes in [3, 80] {
                let pushed = |part| {
                    let mut core = BareCore::new(arch, image(arch, part));
                    core.call("whole_launch", passes);
                    core.call("whole_launch", passes);
                    without_clock(core.pushed())
                };
                let (rust, cpp) = (pushed("probes"), pushed(part));
                assert!(rust.len() > 2 * 12 && rust[3] == 0x400 + passes, "{rust:x?}");
                if passes > WHOLE_PASSES {
                    // Rust reserves space for totals of sums; C++ takes the space when a sum is
                    // used.
                    let words = 12 + 14 * WHOLE_PASSES as usize;
                    assert_eq!(rust[..words], cpp[..words], "{arch} {part} {passes}");
                    assert!(cpp.len() >= rust.len(), "{arch} {part} {passes}");
                } else {
                    assert_eq!(rust, cpp, "{arch} {part} {passes}");
                }
            }
        }
    }
}

/// A dispatch kernel pushes when its buffer is nearly full, so that it loses nothing.
#[test]
fn a_dispatch_kernel_in_cpp_pushes_and_loses_nothing() {
    if !is_there() {
        return;
    }
    for arch in Arch::ALL {
        let core = core_after(arch, "cpp_probes_dispatch", "zone", 400);
        let pushed = core.pushed();
        let zones = &image(arch, "cpp_probes_dispatch").zones;
        let id = ZoneId::from_text(zones.iter().find(|text| text.starts_with("ZONE,")).unwrap());
        let records = records(pushed);
        let count = |kind| {
            let of_kind = records.iter().filter(|record| record.1 == kind);
            of_kind.filter(|record| Header(pushed[record.0]).id() == id).count()
        };
        assert_eq!((count(PacketKind::ZoneStart), count(PacketKind::ZoneEnd)), (400, 400));
        assert_eq!(losses(&core), [0; 4]);
    }
}

#[test]
fn a_zone_in_cpp_heeds_its_condition() {
    if !is_there() {
        return;
    }
    for part in ["cpp_probes", "cpp_probes_small"] {
        let core = core_after(Arch::WormholeB0, part, "zone_if", 10);
        let kinds = records(core.pushed()).into_iter().map(|(_, kind)| kind);
        // The condition in the probe's loop is true in every second pass.
        let expected = [PacketKind::ZoneStart, PacketKind::ZoneEnd].repeat(5);
        assert_eq!(kinds.collect::<Vec<_>>(), expected, "{part}");
        assert_eq!(losses(&core), [0; 4]);
    }
}

/// NoC events as 64-bit words: five from captures of a Wormhole and a Blackhole, and one packed by
/// hand.
///
/// The NoC trace next to each capture confirms these five events: a read of 4096 bytes from column
/// 0, row 11 over NoC 0, a write, and so on.
const NOC_EVENTS: [u64; 6] = [
    0x0080_F100_000B_0001,
    0x0080_1200_0000_090B,
    0x0000_F100_00FF_FF1C,
    0x0000_F200_00FF_FF14,
    0x0008_F200_000D_1101,
    0x1100_4109_0802_010F,
];

/// The events that are recorded by default: transfers, but no waits.
const TRANSFERS: [u64; 4] = [NOC_EVENTS[0], NOC_EVENTS[1], NOC_EVENTS[4], NOC_EVENTS[5]];

/// Fabric events, packed by hand according to `event_metadata.hpp`.
///
/// The events are a packet to (18,25), its route on a mesh, an increment of the semaphores of (1,2)
/// to (4,5), its route on a line, and two targets of a scattered write.
const FABRIC_EVENTS: [[u8; 8]; 6] = [
    [33, 18, 25, 0xFF, 0xFF, 0x21, 0, 0],
    [41, 0, 0, 0, 0, 0, 0, 0],
    [38, 1, 2, 4, 5, 0x02, 0, 0],
    [40, 0xDD, 0xCC, 0xBB, 0xAA, 0, 0, 0],
    [39, 1, 2, 0, 0, 4, 2, 0x12],
    [39, 3, 4, 0, 0, 0, 2, 0x12],
];

/// Returns the 64 bits of each NoC event that a core has pushed.
fn noc_events(core: &BareCore) -> Vec<u64> {
    let pushed = core.pushed();
    let events = records(pushed).into_iter().filter(|&(at, kind)| {
        kind == PacketKind::TimestampedData && Header(pushed[at]).id() == ZoneId::NOC_TRACING
    });
    events.map(|(at, _)| u64::from(pushed[at + 2]) << 32 | u64::from(pushed[at + 3])).collect()
}

#[test]
fn noc_events_in_cpp_are_those_of_captures_and_none_is_lost() {
    if !is_there() {
        return;
    }
    for arch in Arch::ALL {
        for (part, expected) in [("cpp_probes", &NOC_EVENTS[..]), ("cpp_probes_small", &TRANSFERS)]
        {
            let core = core_after(arch, part, "noc_events", 100);
            assert_eq!(noc_events(&core), expected.repeat(100), "{arch} {part}");
            assert_eq!(losses(&core), [0; 4]);
            let core = core_after(arch, part, "fabric_events", 50);
            let expected = FABRIC_EVENTS.map(u64::from_le_bytes).repeat(50);
            assert_eq!(noc_events(&core), expected, "{arch} {part}");
            assert_eq!(losses(&core), [0; 4]);
        }
    }
}

/// The probe's events and their addresses, packed by hand according to `event_metadata.hpp`.
///
/// Bits 52 and above, which hold a counter, are zero here. The second write's local address keeps
/// only its low 24 bits.
const WITH_ADDRESSES: [[u64; 2]; 5] = [
    [0x0080_F100_000B_0001, (0x12345 >> 2 | 1 << 22) << 26 | (0x1003 >> 2 | 3 << 22)],
    [0x1002_1200_0000_090B, (0xDC_BA98 >> 2) << 26 | (0x10_0FE1 >> 2 | 1 << 22)],
    [0x0003_1200_0000_0910, (6 >> 2 | 2 << 22) << 26 | 64 >> 2],
    [0x0001_4109_0802_010F, (4 >> 2) << 26 | 8 >> 2],
    [0x0000_F100_00FF_FF19, 0],
];

/// Returns both values of each 16-byte record with the id of NoC events.
fn wide_noc_events(core: &BareCore) -> Vec<[u64; 2]> {
    let pushed = core.pushed();
    let events = records(pushed).into_iter().filter(|&(at, kind)| {
        kind == PacketKind::TimestampedData16B && Header(pushed[at]).id() == ZoneId::NOC_TRACING
    });
    let value = |at: usize| u64::from(pushed[at]) << 32 | u64::from(pushed[at + 1]);
    events.map(|(at, _)| [value(at + 2), value(at + 4)]).collect()
}

#[test]
fn noc_events_in_cpp_have_their_addresses_and_none_is_lost() {
    if !is_there() {
        return;
    }
    for arch in Arch::ALL {
        let core = core_after(arch, "cpp_probes_addresses", "noc_addresses", 100);
        let events = wide_noc_events(&core);
        let counters: Vec<_> = events.iter().map(|event| event[1] >> 52).collect();
        let timeless = events.iter().map(|[event, trailer]| [*event, trailer & ((1 << 52) - 1)]);
        assert_eq!(timeless.collect::<Vec<_>>(), WITH_ADDRESSES.repeat(100), "{arch}");
        // The core sends only pushes. A push is neither a read nor a posted write.
        let of = |index: usize| counters.iter().skip(index).step_by(5).copied();
        assert!(of(0).chain(of(1)).chain(of(2)).chain(of(4)).all(|count| count == 0), "{arch}");
        assert!(of(3).is_sorted() && of(3).last() > Some(3), "{arch}: {counters:?}");
        assert_eq!((noc_events(&core), losses(&core)), (Vec::new(), [0; 4]));
    }
}

#[test]
fn locks_in_cpp_are_recorded_where_they_are_asked_for() {
    if !is_there() {
        return;
    }
    // Packed by hand according to `noc_debugging_metadata.hpp`.
    let locks = [0x0000_0800_0200_0000, 0x00FF_FFFF_FFFF_FF03, 7];
    for arch in Arch::ALL {
        for (part, expected) in
            [("cpp_probes_addresses", locks.repeat(150)), ("cpp_probes", vec![])]
        {
            let core = core_after(arch, part, "locks", 150);
            let pushed = core.pushed();
            let found = records(pushed).into_iter().filter(|&(at, kind)| {
                kind == PacketKind::TimestampedData
                    && Header(pushed[at]).id() == ZoneId::NOC_DEBUGGING
            });
            let value = |at: usize| u64::from(pushed[at + 2]) << 32 | u64::from(pushed[at + 3]);
            let found: Vec<_> = found.map(|(at, _)| value(at)).collect();
            assert_eq!((found, losses(&core)), (expected, [0; 4]), "{arch} {part}");
        }
    }
}

#[test]
fn headers_of_fabric_packets_are_counted_as_lost() {
    if !is_there() {
        return;
    }
    let core = core_after(Arch::WormholeB0, "cpp_probes", "fabric", 3);
    assert_eq!(losses(&core), [0, 3, 0, 0]);
}

/// At every fill level of the ring, kept and lost records add up to the emitted records.
#[test]
fn kept_and_lost_add_up_in_cpp() {
    if !is_there() {
        return;
    }
    for arch in Arch::ALL {
        for part in ["cpp_probes", "cpp_probes_small"] {
            for events in [0, 1, 2, 3, 244, 245, 246, 247, 248, 249, 250, 251, 300] {
                let mut core = BareCore::new(arch, image(arch, part));
                core.call("open_main", 0);
                core.call("event", events);
                core.call("zone", 3);
                core.call("data", 2);
                core.call("sum", 1);
                core.call("finish", 0);
                let records = records(core.pushed());
                let kept = |wanted| records.iter().filter(|(_, kind)| *kind == wanted).count();
                let [zones, data, lost_events, refused] = losses(&core);
                let sum_of = |kind, lost| u32::try_from(kept(kind)).unwrap() + lost;
                assert_eq!(
                    sum_of(PacketKind::TimestampedEvent, lost_events),
                    events,
                    "{arch} {part}"
                );
                // A total that does not fit counts as a lost zone.
                let lost_totals = u32::from(kept(PacketKind::ZoneTotal) == 0);
                let zones = zones - lost_totals;
                assert_eq!(sum_of(PacketKind::ZoneStart, zones), 3, "{arch} {part} {events}");
                assert_eq!(sum_of(PacketKind::ZoneEnd, zones), 3, "{arch} {part} {events}");
                assert_eq!(sum_of(PacketKind::TimestampedData, data), 2, "{arch} {part} {events}");
                assert_eq!(refused, 0, "{arch} {part} {events}");
                assert!(lost_totals == 0 || events >= 244, "{arch} {part} {events}");
            }
        }
    }
}

/// On a core without lanes, a launch's records are refused for lack of DRAM. All markers of the
/// launch except padding are refused.
#[test]
fn a_core_without_lanes_refuses_all_in_cpp() {
    if !is_there() {
        return;
    }
    for arch in Arch::ALL {
        let mut core = BareCore::new(arch, image(arch, "cpp_probes"));
        core.set_control(ControlLayout::WORDS64.dram_address, 0);
        core.call("open_main", 0);
        core.call("event", 3);
        core.call("finish", 0);
        assert_eq!(core.pushed(), [0; 0]);
        // Refused markers: four fixed slots and three events.
        let refused = [ext::REFUSED_RUNS, ext::REFUSED_MARKERS].map(|word| core.control(word));
        assert_eq!((refused, core.control(ControlLayout::WORDS64.run_counter)), ([1, 7], 1));
    }
}
