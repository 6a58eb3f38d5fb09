//! Tests that sample captures of every format version stay readable.
//!
//! After an addition to the format, write the sample of the current version again with this
//! command:
//!
//! ```text
//! cargo test -p kprof-recording writes_the_sample_capture -- --ignored
//! ```
//!
//! Keep the samples of older versions unchanged. Add new sections at the end.

use super::*;
use host_events::{
    HostColor, HostDrops, HostEvent, HostEventKind, HostRecording, HostSource, HostThread,
};
use reader::{
    anomaly::AnomalyKind,
    clock::{DayReading, PingBurst, Tile, TwoWayPing},
    ledger::{LossCause, LossKey, LossLedger, LossTotals},
};
use std::{collections::BTreeSet, path::PathBuf};
use wire::{CoreKind, RunHostId};

const IDENTITY: CaptureIdentity =
    CaptureIdentity { id: 0x6B70_726F_6600_0001, created_unix_ns: 1_767_225_600_000_000_000 };

/// Size and checksum of the first version 1.0 sample, before further kinds of sections were added.
const FIRST_SECTIONS_BYTES: usize = 1560;
const FIRST_SECTIONS_CRC: u32 = 0x434F_8F54;

/// The first version, without end marks.
const FIRST: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// Version with end marks, but without colours.
const SECOND: FormatVersion = FormatVersion { major: 1, minor: 1 };

/// Version with colours, but without host clocks.
const THIRD: FormatVersion = FormatVersion { major: 1, minor: 2 };

/// Version with host clocks, but without statements about simulated times.
const FOURTH: FormatVersion = FormatVersion { major: 1, minor: 3 };

/// Version with statements about simulated times, but without options.
const FIFTH: FormatVersion = FormatVersion { major: 1, minor: 4 };

fn sample_path(version: FormatVersion) -> PathBuf {
    let captures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/kprof");
    captures.join(format!("v{version}.kprof"))
}

pub(super) fn device() -> DeviceDescription {
    let core = CoreDescription {
        noc0: Noc0Coord { x: 3, y: 4 },
        logical: LogicalCoord { x: 2, y: 3 },
        kind: CoreKind::Tensix,
        flat_id: 0,
        control_address: 0x10,
        vector_address: 0x110,
    };
    DeviceDescription {
        chip_id: 2,
        arch: "wormhole_b0".into(),
        aiclk_mhz: 1000,
        max_compute_cores: 1,
        cores: vec![core],
        dram: DramDescription { bank_count: 1, region_address: 0x40, region_bytes: 240_000 },
    }
}

fn read_begin() -> ReadBegin {
    let core = Noc0Coord { x: 3, y: 4 };
    let options = ReadOptions {
        cores: CoreSelection {
            kinds: Some([CoreKind::Tensix].into()),
            ..CoreSelection::at([core])
        },
        generation: GenerationChoice::Current,
        last_read: true,
        ..ReadOptions::default()
    };
    ReadBegin { read_number: 0, is_fresh: true, is_counter_pass: false, chips: vec![2], options }
}

fn zones() -> ZoneTable {
    let mut zones = ZoneTable::new();
    for (name, line) in [("BRISC-FW", 418), ("LoadData, all", 12)] {
        let source = ZoneSource { name: name.into(), file: "/k/k.cpp".into(), line };
        zones.add(source.id(), source);
    }
    zones
}

fn clock_samples() -> ClockSamples {
    let ping = |host_send_ns: i64, device_cycles| TwoWayPing {
        host_send_ns,
        device_cycles,
        host_receive_ns: host_send_ns + 900,
    };
    let pings = vec![ping(-5, 1000), ping(2_000_000, 2_001_003)];
    ClockSamples::TwoWay(PingBurst { tile: Tile::new(2, 3, 4), pings })
}

fn ops() -> Vec<OpMetadata> {
    let fields =
        [("name".into(), "Matmul".into()), ("math fidelity".into(), "HiFi4".into())].into();
    vec![OpMetadata { chip_id: 2, run_host_id: RunHostId::encode(1, 2), fields }]
}

fn ledger() -> LossLedger {
    let mut ledger = LossLedger::default();
    let program = Some(RunHostId::encode(1, 2));
    let key = LossKey { lane: lane_id(Risc::Brisc), cause: LossCause::L1Full, program };
    ledger.record(key, LossTotals { zones: 25, ..LossTotals::default() });
    ledger
}

/// Returns a ledger as a later library of this version would write it. It contains a cause that the
/// first readers do not know.
fn late_ledger() -> LossLedger {
    let mut ledger = LossLedger::default();
    let key = LossKey { lane: lane_id(Risc::Brisc), cause: LossCause::ValidateOff, program: None };
    ledger.record(key, LossTotals { zones: 4, ..LossTotals::default() });
    ledger
}

fn probe_costs() -> ProbeCosts {
    let mut costs = ProbeCosts::default();
    let cost = ProbeCost {
        empty_zone_cycles: 15,
        nested_zone_cycles: 29,
        data_cycles: 22,
        wide_data_cycles: 28,
        event_cycles: 20,
    };
    costs.insert(2, Risc::Brisc, cost);
    costs
}

fn host_recording(version: FormatVersion) -> HostRecording {
    let event = |time_ns, kind, text: Option<&str>| HostEvent {
        source: 0,
        time_ns,
        kind,
        text: text.map(Into::into),
        color: None,
    };
    let mut events = vec![
        event(100, HostEventKind::Message, Some("begin")),
        event(110, HostEventKind::Signpost, Some("warm")),
        event(120, HostEventKind::Plot { value: -0.5 }, None),
        event(90, HostEventKind::Zone { end_ns: 130, depth: 1 }, Some("of two")),
        event(140, HostEventKind::FrameMark, None),
    ];
    if version > SECOND {
        events[0].color = HostColor::from_rgb(0xFF_8040);
        events[1].color = HostColor::from_rgb(0);
    }
    let thread = HostThread {
        number: 1,
        name: "main".into(),
        events,
        open_zone_count: 1,
        dropped: HostDrops { zones: 1, others: 2, texts: 3 },
    };
    HostRecording {
        process_id: 77,
        sources: vec![HostSource::new("Enqueue", "run", "/h/h.rs", 9)],
        threads: vec![thread],
        ops: Vec::new(), // They have a section of their own.
        dropped_op_count: 5,
        late_event_count: 6,
    }
}

/// A run of BRISC with a complete firmware zone and a complete kernel zone.
const RUN: [u32; 12] = [
    0,
    0,
    0,
    1,
    0x8FC0_D001,
    0x1000,
    0x9FC0_D001,
    0x1700,
    0x8E42_7001,
    0x1100,
    0x9E42_7001,
    0x1600,
];

fn control() -> MemoryWords<'static> {
    let mut words = vec![0; 64];
    words[0] = 12;
    words[50] = 0x40;
    words[55] = 1;
    MemoryWords {
        read_number: 0,
        chip_id: 2,
        memory: Memory::L1(Noc0Coord { x: 3, y: 4 }),
        address: 0x10,
        content: WordsContent::Control,
        lane: None,
        first_word: 0,
        words: words.into(),
    }
}

fn run() -> MemoryWords<'static> {
    MemoryWords {
        memory: Memory::Dram(0),
        address: 0x40,
        content: WordsContent::Lane,
        lane: Some(lane_id(Risc::Brisc)),
        words: RUN[..].into(),
        ..control()
    }
}

fn wall_clock() -> MemoryWords<'static> {
    MemoryWords {
        memory: Memory::WallClock(Noc0Coord { x: 3, y: 4 }),
        address: 0,
        content: WordsContent::WallClock,
        words: vec![0x2000, 1].into(),
        ..control()
    }
}

fn failed_access() -> FailedAccess {
    FailedAccess {
        read_number: 0,
        chip_id: 2,
        memory: Memory::L1(Noc0Coord { x: 3, y: 4 }),
        address: 0x10,
        word_count: 64,
        is_write: true,
        error: AccessError::Unreachable { chip_id: 2, reason: "the link is down".into() },
    }
}

fn read_end() -> ReadEnd {
    ReadEnd {
        read_number: 0,
        is_last: true,
        host_time_ns: 123_456_789,
        words_read: 76,
        unix_time_ns: 1_767_225_601_000_000_000,
    }
}

fn capture_end() -> CaptureEnd {
    CaptureEnd { unix_time_ns: 1_767_225_602_000_000_000 }
}

fn host_clock() -> HostClock {
    let before = DayReading {
        before_ns: 5_000_000_000,
        day_ns: 1_767_225_601_000_000_000,
        after_ns: 5_000_000_090,
        error_ns: Some(1_250_000),
    };
    HostClock {
        boot_id: Some(0xA16F_C905_C2CA_4AC0_9701_CA27_98CD_0D5C),
        namespace_ns: -7,
        readings: vec![before, DayReading { error_ns: None, ..before }],
    }
}

fn simulated_time() -> SimulatedTime {
    let unmodelled = vec!["NoC link rates".into(), "compute time".into()];
    SimulatedTime { unmodelled, lifted: Vec::new() }
}

fn recorded_options() -> RecordedOptions {
    RecordedOptions::from_pairs([("waits", "totals"), ("noc_events", "off")])
}

fn sample(version: FormatVersion) -> Vec<u8> {
    let mut draft = Draft::new();
    let header = FileHeader { version, identity: IDENTITY };
    draft.bytes = header.to_bytes();
    let draft = draft
        .with(&device())
        .with(&zones())
        .with(&read_begin())
        .with(&control())
        .with(&run())
        .with(&wall_clock())
        .with(&failed_access())
        .with(&read_end())
        .with(&clock_samples())
        .with(&ops())
        .with(&HostEvents { bytes: vec![1, 2, 3].into() })
        .with(&ledger())
        .with(&late_ledger())
        .with(&probe_costs())
        .with(&host_recording(version));
    match version {
        FIRST => draft.bytes,
        SECOND | THIRD => draft.with(&capture_end()).bytes,
        FOURTH => draft.with(&host_clock()).with(&capture_end()).bytes,
        FIFTH => draft.with(&host_clock()).with(&simulated_time()).with(&capture_end()).bytes,
        _ => {
            let draft = draft.with(&host_clock()).with(&simulated_time());
            draft.with(&recorded_options()).with(&capture_end()).bytes
        }
    }
}

#[test]
fn the_sample_of_this_version_is_what_this_version_writes() {
    let committed = std::fs::read(sample_path(FormatVersion::CURRENT)).unwrap();
    let written = sample(FormatVersion::CURRENT);
    assert_eq!(committed, written, "the bytes of a version that was given out never change");
}

#[test]
fn the_first_version_is_read_as_ever_and_says_nothing_of_its_end() {
    let committed = std::fs::read(sample_path(FIRST)).unwrap();
    assert_eq!(committed, sample(FIRST), "the bytes of a version that was given out never change");
    let first_sections_crc = committed.get(..FIRST_SECTIONS_BYTES).map(crc32fast::hash);
    assert_eq!(first_sections_crc, Some(FIRST_SECTIONS_CRC), "sections are only added at the end");
    let capture = Capture::from_bytes(committed).unwrap();
    assert_eq!((capture.is_finished(), capture.check().is_clean()), (None, true));
    let readout = capture.runs().unwrap().remove(0).readout;
    assert_eq!(readout.losses.uncounted().count(), 1, "that of the runtime alone");
    let mut current = Capture::open(sample_path(FormatVersion::CURRENT)).unwrap().runs().unwrap();
    let mut first = capture.runs().unwrap();
    let mut current = current.remove(0).readout;
    current.simulated = None;
    current.options = RecordedOptions::default();
    assert_eq!(first.remove(0).readout, current);
}

#[test]
fn the_version_without_colours_is_read_as_ever() {
    let committed = std::fs::read(sample_path(SECOND)).unwrap();
    assert_eq!(committed, sample(SECOND), "the bytes of a version that was given out never change");
    let capture = Capture::from_bytes(committed).unwrap();
    assert_eq!((capture.is_finished(), capture.check().is_clean()), (Some(true), true));
    let contents = capture.sections().map(|section| section.content().unwrap());
    let host = contents.filter_map(|content| match content {
        Content::HostRecording(host) => Some(host),
        _ => None,
    });
    assert_eq!(host.collect::<Vec<_>>(), [host_recording(SECOND)]);
}

#[test]
fn the_version_without_clocks_of_hosts_is_read_as_ever() {
    let committed = std::fs::read(sample_path(THIRD)).unwrap();
    assert_eq!(committed, sample(THIRD), "the bytes of a version that was given out never change");
    let capture = Capture::from_bytes(committed).unwrap();
    assert_eq!((capture.is_finished(), capture.check().is_clean()), (Some(true), true));
    assert_eq!(capture.host_clocks().count(), 0);
    let current = Capture::open(sample_path(FormatVersion::CURRENT)).unwrap();
    assert_eq!(current.host_clocks().collect::<Vec<_>>(), [host_clock()]);
    let readouts = [capture, current].map(|one| one.runs().unwrap().remove(0).readout);
    let options = RecordedOptions::default();
    assert_eq!(readouts[0], Readout { simulated: None, options, ..readouts[1].clone() });
}

#[test]
fn the_version_without_simulated_times_is_read_as_ever() {
    let committed = std::fs::read(sample_path(FOURTH)).unwrap();
    assert_eq!(committed, sample(FOURTH), "the bytes of a version that was given out never change");
    let capture = Capture::from_bytes(committed).unwrap();
    assert_eq!((capture.is_finished(), capture.check().is_clean()), (Some(true), true));
    let readout = capture.runs().unwrap().remove(0).readout;
    assert_eq!(readout.simulated, None, "it is unknown where the times come from");
    let current = Capture::open(sample_path(FormatVersion::CURRENT)).unwrap();
    let simulated = Some(simulated_time());
    let options = recorded_options();
    let current = current.runs().unwrap().remove(0).readout;
    assert_eq!(current, Readout { simulated, options, ..readout });
}

#[test]
fn the_version_without_options_is_read_as_ever() {
    let committed = std::fs::read(sample_path(FIFTH)).unwrap();
    assert_eq!(committed, sample(FIFTH), "the bytes of a version that was given out never change");
    let capture = Capture::from_bytes(committed).unwrap();
    assert_eq!((capture.is_finished(), capture.check().is_clean()), (Some(true), true));
    let readout = capture.runs().unwrap().remove(0).readout;
    assert_eq!(readout.options.value("waits"), None, "unknown");
    let current = Capture::open(sample_path(FormatVersion::CURRENT)).unwrap();
    let current = current.runs().unwrap().remove(0).readout;
    let options = ["waits", "noc_events", "sums"].map(|name| current.options.value(name));
    assert_eq!(options, [Some("totals"), Some("off"), None]);
    assert_eq!(current, Readout { options: recorded_options(), ..readout });
}

#[test]
fn every_section_of_the_sample_says_what_it_said_when_it_was_written() {
    let capture = Capture::open(sample_path(FormatVersion::CURRENT)).unwrap();
    assert_eq!(capture.identity(), Some(IDENTITY));
    assert_eq!((capture.is_finished(), capture.check().is_clean()), (Some(true), true));
    let contents: Vec<_> = capture.sections().map(|s| s.content().unwrap()).collect();
    let expected = [
        Content::Device(device()),
        Content::ZoneNames(zones()),
        Content::ReadBegin(read_begin()),
        Content::Memory(control()),
        Content::Memory(run()),
        Content::Memory(wall_clock()),
        Content::FailedAccess(failed_access()),
        Content::ReadEnd(read_end()),
        Content::Clock(clock_samples()),
        Content::OpMetadata(ops()),
        Content::HostEvents(HostEvents { bytes: vec![1, 2, 3].into() }),
        Content::Ledger(ledger()),
        Content::Ledger(late_ledger()),
        Content::ProbeCosts(probe_costs()),
        Content::HostRecording(host_recording(FormatVersion::CURRENT)),
        Content::HostClock(host_clock()),
        Content::SimulatedTime(simulated_time()),
        Content::RecordedOptions(recorded_options()),
        Content::CaptureEnd(capture_end()),
    ];
    assert_eq!(contents, expected);
    let kinds: BTreeSet<_> = capture.sections().map(|section| section.kind).collect();
    assert_eq!(kinds, SectionKind::ALL.into_iter().collect(), "a sample of every kind");
}

#[test]
fn the_sample_decodes_to_its_run() {
    let capture = Capture::open(sample_path(FormatVersion::CURRENT)).unwrap();
    let readout = capture.runs().unwrap().remove(0).readout;
    let [device] = readout.devices.as_slice() else { panic!("one chip") };
    let [lane] = device.lanes.as_slice() else { panic!("one lane") };
    assert_eq!(lane.id, lane_id(Risc::Brisc));
    assert_eq!(lane.runs[0].program, RunHostId::encode(1, 2));
    let times = [0x1000, 0x1100, 0x1600, 0x1700].map(|low| (1 << 32) + low);
    assert_eq!(lane.times, times);
    assert_eq!(readout.losses.by_cause(LossCause::L1Full).zones, 25);
    assert_eq!(readout.zones, zones());
    assert_eq!(readout.anomalies.count(AnomalyKind::UnreadableCore), 1, "the refused write");
}

#[test]
fn the_bytes_of_the_sample_lie_where_the_documents_say() {
    let bytes = sample(FormatVersion::CURRENT);
    assert_eq!(bytes[..16], *b"\x8AKPROF\r\n\x01\0\x05\0\x40\0\0\0");
    let section = &bytes[FILE_HEADER_BYTES..];
    assert_eq!(section[..16], *b"\xABSECTION\x01\0\0\x01\0\0\0\0");
    // Device section: 48 bytes of head, 16 bytes of name and padding, 32 bytes for one core.
    assert_eq!(section[16..24], 96_u64.to_le_bytes());
    assert_eq!(section[32..40], *b"\x02\0\0\0\xE8\x03\0\0");
    assert_eq!(section[80..96], *b"wormhole_b0\0\0\0\0\0");
    assert_eq!(section[96..104], *b"\x03\0\x04\0\x02\0\x03\0");
}

#[test]
#[ignore = "writes the committed sample"]
fn writes_the_sample_capture() {
    let path = sample_path(FormatVersion::CURRENT);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, sample(FormatVersion::CURRENT)).unwrap();
}
