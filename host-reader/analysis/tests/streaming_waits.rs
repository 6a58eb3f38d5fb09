//! Waits in logs of TT-Metal's streaming profiler, which writes the data of waits and signals
//! without names.

use analysis::Report;
use captures::capture_path;
use proptest::prelude::{prop, prop_assert_eq, proptest};
use recording::device_log::{read_device_log, read_device_log_file};
use std::{collections::BTreeMap, fmt::Write};
use wire::wait::WaitKind;

#[test]
fn waits_of_a_streaming_log_have_their_buffers() {
    let path = capture_path("written/f9_streaming_waits.csv");
    let readout = read_device_log_file(path).unwrap();
    let waits = Report::new(&readout).waits;
    // Three waits of 2,000 cycles on two cores in each of three ops, all for buffer 0.
    let found: Vec<_> =
        waits.iter().map(|of| (of.kind, of.key, of.count, of.total_cycles)).collect();
    assert_eq!(found, [(WaitKind::CB_WAIT, 0, 18, 36_000)]);
    assert_eq!(readout.anomalies.anomaly_count(), 0);
}

/// Kind of wait, and the id of the data with its key, from TT-Metal's `zone_csv.cpp`.
const KINDS: [(WaitKind, &str, u32); 3] = [
    (WaitKind::SEM_WAIT, "SYNC-SEM-WAIT", 1007),
    (WaitKind::CB_WAIT, "SYNC-CB-WAIT", 1008),
    (WaitKind::CB_RESERVE, "SYNC-CB-RESERVE", 1009),
];

proptest! {
    #[test]
    fn every_wait_is_of_the_object_that_its_data_names(
        waits in prop::collection::vec((0..KINDS.len(), 0_u32..40, 1_u64..5_000), 1..40),
    ) {
        let mut log = "ARCH: blackhole, CHIP_FREQ[MHz]: 1350, Max Compute Cores: 0\n\
            PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], \
            data, run host ID, trace id, trace id counter, zone name, type, source line, \
            source file, meta data, logical_x, logical_y\n".to_owned();
        let mut time = 1_000_u64;
        let mut line = |id: u32, time: u64, data: u32, op: u32, rest: &str| {
            writeln!(
                log,
                "0, 1, 2, BRISC, {id}, {time}, {data}, 77, {op}, 0, {rest}, 0, streaming, , 0, 0"
            ).unwrap();
        };
        line(150_000_004, time, 0, 1024, "BRISC-FW, ZONE_START");
        let mut expected: BTreeMap<(u8, u32), (u64, u64)> = BTreeMap::new();
        for &(at, key, cycles) in &waits {
            let (kind, name, id) = KINDS[at];
            time += 10;
            line(150_000_009, time, 0, 1024, &format!("{name}, ZONE_START"));
            line(id, time, key, 0, ", TS_DATA");
            time += cycles;
            line(150_000_009, time, 0, 1024, &format!("{name}, ZONE_END"));
            let sum = expected.entry((kind.0, key)).or_default();
            *sum = (sum.0 + 1, sum.1 + cycles);
        }
        line(150_000_004, time + 5, 0, 1024, "BRISC-FW, ZONE_END");
        let readout = read_device_log(log.as_bytes(), "log").unwrap();
        let waits = Report::new(&readout).waits;
        let found: BTreeMap<_, _> =
            waits.iter().map(|of| ((of.kind.0, of.key), (of.count, of.total_cycles))).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(readout.anomalies.anomaly_count(), 0);
    }
}
