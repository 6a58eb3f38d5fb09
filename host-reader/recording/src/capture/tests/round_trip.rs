//! Tests that all captured data is read back unchanged.

use super::*;
use crate::capture::sync::LinkBurst;
use host_events::{
    HostColor, HostDrops, HostEvent, HostEventKind, HostRecording, HostSource, HostThread,
};
use proptest::{collection::vec, prelude::*, sample::select};
use reader::{
    clock::{EthernetPing, OneWaySession, OneWayStamp, PingBurst, Tile, TwoWayPing},
    decode::{CaptureMode, HostIdForm},
    ledger::{LossCause, LossKey, LossLedger, LossTotals, ProgramSpan},
};
use wire::{CoreKind, RunHostId, ZoneId, marker::HeaderLayout};

/// Captures a payload after another section. Returns one capture with aligned words and one with
/// unaligned words.
fn through_a_file<'file>(payload: &impl Payload<'file>) -> [Capture; 2] {
    let draft = Draft::new().with(&ReadEnd::default()).with(payload);
    let in_place = draft.open();
    let mut bytes = draft.bytes;
    bytes.splice(FILE_HEADER_BYTES..FILE_HEADER_BYTES, [0x55; 3]);
    [in_place, Capture::from_bytes(bytes).unwrap()]
}

fn host_events() -> impl Strategy<Value = HostEvent> {
    let kinds = prop_oneof![
        any::<(u64, u16)>().prop_map(|(end_ns, depth)| HostEventKind::Zone { end_ns, depth }),
        Just(HostEventKind::Message),
        Just(HostEventKind::Signpost),
        Just(HostEventKind::FrameMark),
        (-1e9..1e9).prop_map(|value| HostEventKind::Plot { value }),
    ];
    let fields = any::<(u32, u64, Option<String>, Option<[u8; 3]>)>();
    (kinds, fields).prop_map(|(kind, (source, time_ns, text, color))| {
        let color = color.map(|[red, green, blue]| HostColor { red, green, blue });
        HostEvent { source, time_ns, kind, text: text.map(Into::into), color }
    })
}

fn last_content(capture: &Capture) -> Content<'_> {
    let last = capture.sections().next_back();
    last.unwrap().content().unwrap()
}

fn addresses() -> impl Strategy<Value = [u64; 2]> {
    [0..1_u64 << 48, 0..1_u64 << 48]
}

fn cores() -> impl Strategy<Value = Vec<CoreDescription>> {
    let kinds = select(vec![CoreKind::Tensix, CoreKind::ActiveEth, CoreKind::IdleEth]);
    let core = (any::<[u16; 4]>(), kinds, any::<u32>(), addresses());
    vec(
        core.prop_map(|([x, y, logical_x, logical_y], kind, flat_id, [control, vector])| {
            CoreDescription {
                noc0: Noc0Coord { x, y },
                logical: LogicalCoord { x: logical_x, y: logical_y },
                kind,
                flat_id,
                control_address: control,
                vector_address: vector,
            }
        }),
        0..5,
    )
}

fn lanes() -> impl Strategy<Value = LaneId> {
    (any::<u32>(), any::<[u16; 2]>(), select(Risc::ALL.to_vec()))
        .prop_map(|(chip_id, [x, y], risc)| LaneId { chip_id, core: Noc0Coord { x, y }, risc })
}

proptest! {
    #[test]
    fn devices(
        chip: [u32; 4], arch in ".{0,20}", cores in cores(), region in addresses(),
    ) {
        let device = DeviceDescription {
            chip_id: chip[0],
            arch,
            aiclk_mhz: chip[1],
            max_compute_cores: chip[2],
            cores,
            dram: DramDescription {
                bank_count: chip[3],
                region_address: region[0],
                region_bytes: region[1],
            },
        };
        for capture in through_a_file(&device) {
            prop_assert_eq!(last_content(&capture), Content::Device(device.clone()));
        }
    }

    #[test]
    fn beginnings_of_reads(
        numbers: (u32, u32), flags: [bool; 5], chips: Vec<u32>,
        cores in (
            any::<Option<Vec<u32>>>(), any::<Option<Vec<u8>>>(), any::<Option<Vec<[u16; 2]>>>(),
        ),
        choices in (0_usize..3, 0_u32..28, 0_usize..3, any::<bool>()),
    ) {
        let generations =
            [GenerationChoice::Auto, GenerationChoice::Current, GenerationChoice::Legacy];
        let modes = [
            CaptureMode::Workers,
            CaptureMode::DispatchCores,
            CaptureMode::TraceOnly,
            CaptureMode::Accumulate,
        ];
        let kind = |number: u8| {
            [CoreKind::Tensix, CoreKind::ActiveEth, CoreKind::IdleEth][usize::from(number % 3)]
        };
        let place = |[x, y]: [u16; 2]| Noc0Coord { x, y };
        let layout = HeaderLayout { time_high_bits: choices.1 };
        let begin = ReadBegin {
            read_number: numbers.0,
            is_fresh: flags[0],
            is_counter_pass: flags[4],
            chips,
            options: ReadOptions {
                program_support_count: numbers.1,
                sums_enabled: flags[1],
                cores: CoreSelection {
                    chips: cores.0.map(|ids| ids.into_iter().collect()),
                    kinds: cores.1.map(|kinds| kinds.into_iter().map(kind).collect()),
                    cores: cores.2.map(|places| places.into_iter().map(place).collect()),
                },
                generation: generations[choices.0],
                header_layout: (choices.1 > 0).then_some(layout),
                last_read: flags[2],
                read_only: flags[3],
                host_ids: if choices.3 { HostIdForm::Encoded } else { HostIdForm::Base },
                mode: modes[choices.2],
                zones: ZoneTable::new(),
            },
        };
        for capture in through_a_file(&begin) {
            prop_assert_eq!(last_content(&capture), Content::ReadBegin(begin.clone()));
        }
    }

    #[test]
    fn zone_names(places in vec((0_u16..20, ".{0,9}", ".{0,30}", any::<u32>()), 0..20)) {
        let mut zones = ZoneTable::new();
        for (id, name, file, line) in places {
            zones.add(ZoneId(id), ZoneSource { name, file, line });
        }
        for capture in through_a_file(&zones) {
            prop_assert_eq!(last_content(&capture), Content::ZoneNames(zones.clone()));
        }
    }

    #[test]
    fn words(
        read_number: u32, lane in lanes(), has_lane: bool, bank: u32, address: u64,
        first_word: u64, words: Vec<u32>,
    ) {
        let LaneId { chip_id, core, .. } = lane;
        let lane = has_lane.then_some(lane);
        let content = WordsContent::Vector;
        let words = std::borrow::Cow::<[u32]>::Owned(words);
        for memory in
            [Memory::L1(core), Memory::Dram(bank), Memory::WallClock(core), Memory::Host] {
            let words = words.clone();
            // Relays write frames of many lanes to the host's memory.
            let lane = lane.filter(|_| memory != Memory::Host);
            let words = MemoryWords {
                read_number, chip_id, memory, address, content, lane, first_word, words,
            };
            for capture in through_a_file(&words) {
                prop_assert_eq!(last_content(&capture), Content::Memory(words.clone()));
            }
        }
    }

    #[test]
    fn failed_accesses(
        read_number: u32, chip_id: u32, place: [u16; 2], bank: u32, address: u64,
        word_count in 0_usize..1 << 30, is_write: bool, text in ".{0,30}",
    ) {
        let core = Noc0Coord { x: place[0], y: place[1] };
        let out_of_range =
            AccessError::OutOfRange { chip_id, memory: text.clone(), address, word_count };
        let unreachable = AccessError::Unreachable { chip_id, reason: text.clone() };
        for (memory, error) in [
            (Memory::L1(core), AccessError::NoSuchCore { chip_id, core }),
            (Memory::Dram(bank), out_of_range),
            (Memory::WallClock(core), unreachable),
            (Memory::Dram(bank), AccessError::Gone { chip_id, reason: text }),
        ] {
            let word_count = word_count as u64;
            let failed = FailedAccess {
                read_number, chip_id, memory, address, word_count, is_write, error,
            };
            for capture in through_a_file(&failed) {
                prop_assert_eq!(last_content(&capture), Content::FailedAccess(failed.clone()));
            }
        }
    }

    #[test]
    fn clock_samples(
        chips: [u32; 2], places: [u8; 4], head: (u64, u32, u32), pings: Vec<[u64; 4]>,
    ) {
        let tile = Tile::new(chips[0], places[0], places[1]);
        let receiver = Tile::new(chips[1], places[2], places[3]);
        let two_way = ClockSamples::TwoWay(PingBurst {
            tile,
            pings: pings.iter().map(|ping| TwoWayPing {
                host_send_ns: ping[0].cast_signed(),
                device_cycles: ping[1],
                host_receive_ns: ping[2].cast_signed(),
            }).collect(),
        });
        let ethernet = ClockSamples::Ethernet(LinkBurst {
            sender: tile,
            receiver,
            pings: pings.iter().map(|ping| EthernetPing {
                sender_start_cycles: ping[0],
                receiver_start_cycles: ping[1],
                receiver_end_cycles: ping[2],
                sender_end_cycles: ping[3],
            }).collect(),
        });
        let low = |word: u64| u32::try_from(word & 0xFFFF_FFFF).unwrap();
        let one_way = ClockSamples::OneWay(OneWaySession {
            tile,
            host_start_ticks: head.0,
            device_high: head.1,
            device_low_cycles: head.2,
            stamps: pings.iter().map(|ping| OneWayStamp {
                device_low_cycles: low(ping[0]),
                host_ticks: low(ping[1]),
                write_duration_ticks: low(ping[2]),
            }).collect(),
        });
        for samples in [two_way, ethernet, one_way] {
            for capture in through_a_file(&samples) {
                prop_assert_eq!(last_content(&capture), Content::Clock(samples.clone()));
            }
        }
    }

    #[test]
    fn op_metadata(
        ops in vec((any::<[u32; 2]>(), vec((".{0,5}", ".{0,30}"), 0..5)), 0..6),
    ) {
        let ops: Vec<_> = ops.into_iter().map(|([chip_id, id], fields)| {
            OpMetadata { chip_id, run_host_id: RunHostId(id), fields: fields.into() }
        }).collect();
        for capture in through_a_file(&ops) {
            prop_assert_eq!(last_content(&capture), Content::OpMetadata(ops.clone()));
        }
    }

    #[test]
    fn host_events_and_ends_of_reads(bytes: Vec<u8>, numbers: (u32, bool, u64, u64, u64)) {
        let end = ReadEnd {
            read_number: numbers.0,
            is_last: numbers.1,
            host_time_ns: numbers.2,
            words_read: numbers.3,
            unix_time_ns: numbers.4,
        };
        for capture in through_a_file(&end) {
            prop_assert_eq!(last_content(&capture), Content::ReadEnd(end));
        }
        let events = HostEvents { bytes: bytes.into() };
        for capture in through_a_file(&events) {
            prop_assert_eq!(last_content(&capture), Content::HostEvents(events.clone()));
        }
    }

    #[test]
    fn ledgers(
        entries in vec(
            (
                (lanes(), select(LossCause::ALL.to_vec()), any::<Option<u32>>()),
                any::<[u64; 6]>(),
                (any::<bool>(), any::<Option<[u32; 2]>>()),
            ),
            0..9,
        ),
    ) {
        let mut ledger = LossLedger::default();
        for ((lane, cause, program), counts, (is_lower_bound, span)) in entries {
            let program = program.map(RunHostId);
            let [zones, data, events, sums, unknown_markers, runs] = counts;
            let span = span.map(|ids| ids.map(RunHostId));
            let programs = span.map(|[first, last]| ProgramSpan { first, last });
            let counts = LossTotals { zones, data, events, sums, ..LossTotals::default() };
            let totals = LossTotals { unknown_markers, is_lower_bound, runs, programs, ..counts };
            ledger.record(LossKey { lane, cause, program }, totals);
        }
        for capture in through_a_file(&ledger) {
            prop_assert_eq!(last_content(&capture), Content::Ledger(ledger.clone()));
        }
    }

    #[test]
    fn host_recordings(
        names in vec(any::<(String, String, u32)>(), 1..4),
        threads in vec((any::<(u64, String, u64, [u64; 3])>(), vec(host_events(), 0..9)), 0..4),
        counts: (u32, u64, u64),
    ) {
        let source = |(name, file, line): (String, String, u32)| HostSource {
            name: name.into(),
            file: file.into(),
            line,
            ..HostSource::default()
        };
        let sources: Vec<_> = names.into_iter().map(source).collect();
        let source_count = u32::try_from(sources.len()).unwrap();
        let thread = |((number, name, open_zone_count, drops), mut events): (_, Vec<HostEvent>)| {
            events.iter_mut().for_each(|event| event.source %= source_count);
            let [zones, others, texts] = drops;
            let dropped = HostDrops { zones, others, texts };
            HostThread { number, name, events, open_zone_count, dropped }
        };
        let recording = HostRecording {
            process_id: counts.0,
            sources,
            threads: threads.into_iter().map(thread).collect(),
            ops: Vec::new(),
            dropped_op_count: counts.1,
            late_event_count: counts.2,
        };
        for capture in through_a_file(&recording) {
            prop_assert_eq!(last_content(&capture), Content::HostRecording(recording.clone()));
        }
    }

    #[test]
    fn probe_costs(entries in vec((lanes(), any::<[u64; 5]>()), 0..9)) {
        let mut costs = ProbeCosts::default();
        for (lane, [empty, nested, data, wide_data, event]) in entries {
            let cost = ProbeCost {
                empty_zone_cycles: empty,
                nested_zone_cycles: nested,
                data_cycles: data,
                wide_data_cycles: wide_data,
                event_cycles: event,
            };
            costs.insert(lane.chip_id, lane.risc, cost);
        }
        for capture in through_a_file(&costs) {
            prop_assert_eq!(last_content(&capture), Content::ProbeCosts(costs.clone()));
        }
    }

    #[test]
    fn simulated_times(
        unmodelled in vec(any::<String>(), 0..9), lifted in vec(any::<String>(), 0..3),
    ) {
        let simulated = SimulatedTime { unmodelled, lifted };
        for capture in through_a_file(&simulated) {
            prop_assert_eq!(last_content(&capture), Content::SimulatedTime(simulated.clone()));
        }
    }

    #[test]
    fn options(pairs in vec(any::<(String, String)>(), 0..9)) {
        let options = RecordedOptions::from_pairs(pairs);
        for capture in through_a_file(&options) {
            prop_assert_eq!(last_content(&capture), Content::RecordedOptions(options.clone()));
        }
    }

    #[test]
    fn any_payload_of_any_kind_is_read_without_panic(
        kind in 0_u16..18, payload in vec(any::<u8>(), 0..200),
    ) {
        let version = SectionVersion { major: 1, minor: 0 };
        let _ = Content::decode(SectionKind(kind), version, &payload);
    }
}

#[test]
fn words_in_a_mapped_file_are_read_in_place() {
    let words = [1, 2, 3];
    let capture = Draft::new().with(&lane_words(0, &words)).open();
    let Content::Memory(read) = last_content(&capture) else { panic!("another kind") };
    // The bytes of a vector may be aligned by chance; the bytes of a mapping are always aligned.
    if capture.bytes.as_ptr().cast::<u64>().is_aligned() && cfg!(target_endian = "little") {
        assert!(matches!(read.words, std::borrow::Cow::Borrowed(_)));
    }
    assert_eq!(read.words.as_ref(), words);
}
