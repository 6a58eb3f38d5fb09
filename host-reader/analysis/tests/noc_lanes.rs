//! Compares traffic that is summed program by program, from packed events, with the traffic of
//! whole traces.

use analysis::noc_events::{
    NocLanes, NocPrograms, NocTraces, PayloadVersion, TileMap, TraceNotes, TraceOptions, Traffic,
};
use captures::read_capture;
use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
use reader::readout::Readout;
use recording::{
    OpenedLog,
    device_log::{PackedLog, read_device_log},
};
use std::{collections::BTreeMap, fmt::Write};
use wire::RunHostId;

fn name(_: u32, program: RunHostId) -> Option<&'static str> {
    program.0.is_multiple_of(2).then_some("Matmul")
}

/// Returns the traffic of the traces of whole lanes, and the notes about unusable events.
fn traffic_from_traces(readout: &Readout) -> (Traffic, Vec<String>) {
    let traces = NocTraces::from_readout(readout, name, &TraceOptions::default());
    let grid = |chip_id| {
        let device = readout.devices.iter().find(|device| device.chip.chip_id == chip_id)?;
        Some(TileMap::from_device(device)?.grid())
    };
    (Traffic::from_traces(&traces.programs, grid), traces.notes.sentences().collect())
}

fn traffic_from_programs(lanes: &NocLanes, readout: &Readout) -> (Traffic, Vec<String>) {
    traffic_of_version(lanes, readout, None)
}

fn traffic_of_version(
    lanes: &NocLanes,
    readout: &Readout,
    version: Option<PayloadVersion>,
) -> (Traffic, Vec<String>) {
    let options = TraceOptions { version, ..TraceOptions::default() };
    let programs = NocPrograms::new(lanes, readout, &options);
    let (traffic, notes) = programs.traffic(name);
    let mut of_traces = TraceNotes::default();
    let count = programs.traces(name, &mut of_traces).count();
    assert_eq!((of_traces, programs.is_empty()), (notes.clone(), count == 0));
    (traffic, notes.sentences().collect())
}

#[test]
fn traffic_of_real_logs_is_that_of_their_traces() {
    for run in ["blackhole-noc-256", "blackhole-noc-4096", "wormhole-noc-256", "wormhole-noc-4096"]
    {
        let readout = read_capture(run);
        let (traffic, notes) = traffic_from_programs(&NocLanes::from_readout(&readout), &readout);
        assert!(!traffic.pairs.is_empty() && notes.is_empty(), "{run}: {notes:?}");
        assert_eq!((traffic, notes), traffic_from_traces(&readout), "{run}");
    }
}

/// Line of a log: column of the core, true for BRISC, program, replay, time and payload.
type Line = (u16, bool, u32, Option<u64>, u64, u64);

/// Generates events with known, ambiguous and invalid targets and with few sizes, fabric packets
/// with their routes and writes, and words that are not events.
fn any_word() -> impl Strategy<Value = u64> {
    let coord = || prop::sample::select(vec![0_u64, 1, 11, 17, 18, 20, 25, 255]);
    let carrier = prop::sample::select(vec![0x11_u64, 0x12, 0x10, 0x13]);
    let size = prop::sample::select(vec![0_u64, 1, 8, 0xFF, 0x108, 0x1FF, 0xFFF]);
    let number = prop_oneof![1_u64..33, 1_u64..33, 33_u64..42, Just(77)];
    (number, coord(), coord(), coord(), carrier, size).prop_map(
        |(number, x, y, end, carrier, size)| {
            size << 48 | carrier << 40 | end << 32 | end << 24 | y << 16 | x << 8 | number
        },
    )
}

fn any_line() -> impl Strategy<Value = Line> {
    let replay = prop::option::weighted(0.3, 1_u64..3);
    (1_u16..4, any::<bool>(), 1024_u32..1027, replay, 100_u64..160, any_word())
}

fn log_of(lines: &[Line], arch: &str) -> String {
    let mut log = format!(
        "ARCH: {arch}, CHIP_FREQ[MHz]: 1000\nPCIe slot,core_x,core_y,RISC processor type,timer_id,\
         time[cycles since reset],data,run host ID,trace id,trace id counter,zone name,type,source \
         line,source file,meta data\n"
    );
    for &(x, is_brisc, program, replay, time, word) in lines {
        let risc = if is_brisc { "BRISC" } else { "NCRISC" };
        let trace = replay.map_or(",".to_owned(), |counter| format!("5,{counter}"));
        let lane = format!("0,{x},1,{risc}");
        let rest = format!("{program},{trace}");
        if word.is_multiple_of(7) {
            writeln!(log, "{lane},9,{time},0,{rest},Load,ZONE_START,1,/k.cc,").unwrap();
        }
        writeln!(log, "{lane},12345,{time},{word},{rest},,TS_DATA,0,,").unwrap();
    }
    log
}

proptest! {
    #[test]
    fn every_event_counts_once_in_its_program_and_lane(
        lines in prop::collection::vec((any_line(), 1_u8..30, 0x10_u64..0x13), 0..60),
    ) {
        let mut expected: BTreeMap<_, u64> = BTreeMap::new();
        let word = |&((x, is_brisc, program, replay, time, word), number, carrier): &(Line, u8, _)| {
            let fields = word & 0xFFFF_FF00 | carrier << 40 | u64::from(number);
            (x, is_brisc, program, replay, time, fields)
        };
        let lines: Vec<Line> = lines.iter().map(word).collect();
        for &(x, is_brisc, program, _, _, word) in &lines {
            let kind = PayloadVersion::Byte0Remote.kind(word.to_le_bytes()[0]).unwrap();
            let risc = if is_brisc { "BRISC" } else { "NCRISC" };
            *expected.entry((program, x, risc.to_owned(), kind)).or_default() += 1;
        }
        let log = log_of(&lines, "wormhole_b0");
        let readout = read_device_log(log.as_bytes(), "log").unwrap();
        // The fields are arbitrary, so the events themselves do not show their version.
        let version = Some(PayloadVersion::Byte0Remote);
        let (traffic, _) =
            traffic_of_version(&NocLanes::from_readout(&readout), &readout, version);
        let mut found: BTreeMap<_, u64> = BTreeMap::new();
        for one in &traffic.activities {
            let key = (one.program.0, one.core.x, one.risc.to_string(), one.kind);
            *found.entry(key).or_default() += one.event_count;
        }
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn traffic_of_any_log_is_that_of_its_traces(
        lines in prop::collection::vec(any_line(), 0..60),
        is_known in any::<bool>(),
    ) {
        let log = log_of(&lines, if is_known { "wormhole_b0" } else { "unknown" });
        let readout = read_device_log(log.as_bytes(), "log").unwrap();
        let expected = traffic_from_traces(&readout);
        let packed = OpenedLog::from(PackedLog::read(log.as_bytes(), "log").unwrap());
        let (recording, mut parts) = packed.collect().unwrap();
        parts.reverse();
        let lanes = NocLanes::from_parts(parts);
        prop_assert_eq!(traffic_from_programs(&lanes, &recording.readout), expected);
    }
}
