//! Figures of the latest read and of all reads, as a host queries them between two reads.

use reader::readout::Readout;
use recording::device_log::read_device_log;
use reports::report::{
    DevicePerfReport, ProgramAnalyses, ProgramExecution, ProgramPerfData, ProgramsPerfData,
};
use std::collections::BTreeMap;

/// Chip, program, and the cycles of its kernel on BRISC and NCRISC. The firmware begins ten cycles
/// earlier and ends ten later.
type Program = (u32, u32, [(u64, u64); 2]);

const FIVE: [Program; 5] = [
    (0, 1024, [(1_000, 1_950), (1_020, 1_900)]),
    (0, 2048, [(3_000, 3_400), (3_100, 4_210)]),
    (0, 3072, [(6_000, 8_000), (6_500, 7_000)]),
    (0, 4096, [(9_000, 9_100), (9_050, 9_333)]),
    (0, 5120, [(11_000, 14_001), (11_000, 12_000)]),
];

fn read(programs: &[Program]) -> Readout {
    let mut log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 500, Max Compute Cores: 64
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,\
zone name,type\n"
        .to_owned();
    for (chip, program, kernels) in programs {
        for (risc, (start, end)) in ["BRISC", "NCRISC"].iter().zip(kernels) {
            for (id, time, zone, kind) in [
                (7, start - 10, "FW", "ZONE_START"),
                (8, *start, "KERNEL", "ZONE_START"),
                (8, *end, "KERNEL", "ZONE_END"),
                (7, end + 10, "FW", "ZONE_END"),
            ] {
                log += &format!("{chip},1,2,{risc},{id},{time},0,{program},{risc}-{zone},{kind}\n");
            }
        }
    }
    read_device_log(log.as_bytes(), "a hand-made log").unwrap()
}

/// Returns the nanoseconds at 500 MHz from the first start of either kernel to the last end.
fn kernel_ns((_, _, [brisc, ncrisc]): &Program) -> u64 {
    2 * (brisc.1.max(ncrisc.1) - brisc.0.min(ncrisc.0))
}

fn ids(programs: &BTreeMap<u32, Vec<ProgramPerfData>>) -> Vec<u32> {
    programs.values().flatten().map(|program| program.execution.runtime_id).collect()
}

#[test]
fn latest_are_those_of_the_last_read_and_all_those_of_every_read() {
    let mut programs = ProgramsPerfData::default();
    assert!(programs.latest().is_empty() && programs.all().is_empty());
    programs.add_read(&read(&FIVE[..2]));
    assert_eq!(ids(programs.latest()), [1024, 2048]);
    assert_eq!(ids(programs.all()), [1024, 2048]);
    programs.add_read(&read(&FIVE[2..]));
    assert_eq!(ids(programs.latest()), [3072, 4096, 5120]);
    assert_eq!(ids(programs.all()), [1024, 2048, 3072, 4096, 5120]);
    for (program, expected) in programs.all()[&0].iter().zip(&FIVE) {
        assert_eq!((program.core_count, program.available_core_count), (1, Some(64)));
        let kernel = program.results["DEVICE KERNEL DURATION [ns]"];
        assert_eq!(kernel.duration_ns, Some(kernel_ns(expected)));
        assert_eq!(kernel.start_cycle, expected.2[0].0.min(expected.2[1].0));
        assert_eq!(kernel.end_cycle, expected.2[0].1.max(expected.2[1].1));
        let ncrisc = program.results["DEVICE NCRISC KERNEL DURATION [ns]"];
        assert_eq!(ncrisc.duration_ns, Some(2 * (expected.2[1].1 - expected.2[1].0)));
        assert!(!program.results.contains_key("DEVICE ERISC KERNEL DURATION [ns]"));
    }
    programs.add_read(&read(&[]));
    assert!(programs.latest().is_empty());
    assert_eq!(ids(programs.all()).len(), 5);
}

#[test]
fn every_duration_is_the_cell_of_the_device_perf_report() {
    let mut others = FIVE[..3].to_vec();
    others.extend(FIVE[..2].iter().map(|&(_, id, kernels)| (3, id + 3, kernels)));
    let readout = read(&others);
    let mut programs = ProgramsPerfData::default();
    programs.add_read(&readout);
    assert_eq!(programs.latest().keys().copied().collect::<Vec<_>>(), [0, 3]);
    let report = DevicePerfReport::new(&readout, ProgramAnalyses::default(), false);
    let csv = report.to_csv(|_, _| String::new());
    let mut csv = csv::Reader::from_reader(csv.as_bytes());
    let titles = csv.headers().unwrap().clone();
    let mut compared = 0;
    for (row, program) in csv.records().zip(programs.latest().values().flatten()) {
        let row = row.unwrap();
        let cell =
            |title: &str| row[titles.iter().position(|found| found == title).unwrap()].to_owned();
        assert_eq!(cell("GLOBAL CALL COUNT"), program.execution.runtime_id.to_string());
        let unknown =
            ProgramExecution { trace_id: None, trace_id_counter: None, ..program.execution };
        assert_eq!(program.execution, unknown);
        for title in titles
            .iter()
            .filter(|title| title.contains("DURATION") || title.contains("FIRST TO LAST"))
        {
            let found = program.results.get(title).and_then(|result| result.duration_ns);
            assert_eq!(cell(title), found.map_or_else(String::new, |ns| ns.to_string()), "{title}");
            compared += usize::from(found.is_some());
        }
    }
    // Each program has six figures: firmware, kernel, kernel from its data-movement start, first to
    // last start, BRISC and NCRISC.
    assert_eq!(compared, 5 * 6);
}
