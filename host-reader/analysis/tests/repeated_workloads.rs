//! Logs of workloads that were repeated to read more hardware counters than fit into one run. Of
//! the repetitions, a log contains only the readings.

use analysis::{
    Launch,
    counters::{LaunchCounters, counters_of},
    launches_of,
};
use captures::capture_path;
use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};
use reader::readout::Readout;
use recording::device_log::{read_device_log, read_device_log_file};
use std::fmt::Write;

/// Counters of each pass. The first pass records zones, too.
const PASSES: [[&str; 2]; 3] = [
    ["FPU_COUNTER", "SFPU_COUNTER"],
    ["PACKER_BUSY", "UNPACKER0_BUSY_THREAD_0"],
    ["L1_0_PORT_0_REQ", "L1_0_PORT_1_REQ"],
];

/// Returns the value that a pass reads from a counter in a launch.
const fn value(pass: usize, counter: usize, launch: usize) -> usize {
    1 + pass * 100 + counter * 10 + launch * 1_000
}

/// Writes a log of launches on cores (1,2) and up. `programs` has the program of each launch.
fn log_of(programs: &[u32], core_count: u16, pass_count: usize) -> String {
    let mut log = "ARCH: blackhole, CHIP_FREQ[MHz]: 1350, Max Compute Cores: 130\n\
        PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,\
        run host ID,trace id,trace id counter,zone name,type,source line,source file,meta data\n"
        .to_owned();
    for core in 0..core_count {
        for (pass, counters) in PASSES.iter().enumerate().take(pass_count) {
            for (launch, program) in programs.iter().enumerate() {
                let start = 1_000_000 + pass * 500_000_000 + launch * 20_000;
                let x = core + 1;
                let mut line = |id: u32, time: usize, rest: &str| {
                    writeln!(log, "0,{x},2,TRISC_1,{id},{time},0,{program},,,{rest}").unwrap();
                };
                if pass == 0 {
                    line(200, start, "TRISC-FW,ZONE_START,10,k.cc,");
                    line(201, start + 100, "TRISC-KERNEL,ZONE_START,10,k.cc,");
                    line(201, start + 8_100, "TRISC-KERNEL,ZONE_END,10,k.cc,");
                }
                for (at, name) in counters.iter().enumerate() {
                    let value = value(pass, at, launch);
                    let text = format!(
                        ",TS_DATA_16B,0,,{{\"counter type\":\"{name}\";\"ref cnt\":8000;\
                         \"value\":{value}}}"
                    );
                    line(9090, start + 8_110 + at, &text);
                }
                if pass == 0 {
                    line(200, start + 8_150, "TRISC-FW,ZONE_END,10,k.cc,");
                }
            }
        }
    }
    log
}

fn read(readout: &Readout) -> (Vec<Launch>, Vec<LaunchCounters>) {
    let launches = launches_of(readout);
    let counters = counters_of(readout, &launches);
    (launches, counters)
}

#[test]
fn readings_of_a_second_pass_are_no_launches() {
    let readout = read_device_log_file(capture_path("written/f5_multipass.csv")).unwrap();
    let (launches, counters) = read(&readout);
    let programs: Vec<_> = launches.iter().map(|launch| launch.op.run_host_id).collect();
    assert_eq!(programs, [1024, 2048]);
    // From the lines: the firmware of both ops takes 8,150 cycles.
    for launch in &launches {
        assert_eq!(launch.last_cycle - launch.first_cycle, 8_150);
    }
    // 3,000 of 7,900 cycles in the first pass, 2,000 of 7,800 in the second.
    for of_launch in &counters {
        let samples = of_launch.samples.iter().map(|one| (&*one.sample.name, one.sample.count));
        assert_eq!(samples.collect::<Vec<_>>(), [("FPU_COUNTER", 3_000), ("PACKER_BUSY", 2_000)]);
    }
}

proptest! {
    #[test]
    fn each_launch_has_its_own_readings_of_all_passes(
        programs in prop::collection::vec(1_u32..4, 1..7),
        core_count in 1_u16..4,
        pass_count in 1_usize..=PASSES.len(),
    ) {
        let programs: Vec<u32> = programs.iter().map(|program| program << 10).collect();
        let log = log_of(&programs, core_count, pass_count);
        let readout = read_device_log(log.as_bytes(), "log").unwrap();
        let (launches, counters) = read(&readout);
        let found: Vec<_> = launches.iter().map(|launch| launch.op.run_host_id).collect();
        prop_assert_eq!(&found, &programs);
        prop_assert_eq!(counters.len(), programs.len());
        for launch in &launches {
            prop_assert!(launch.last_cycle - launch.first_cycle == 8_150);
            prop_assert_eq!(launch.op.core_count, u64::from(core_count));
        }
        for of_launch in &counters {
            let mut samples: Vec<_> = of_launch.samples.iter()
                .map(|one| (one.lane.core.x, one.sample.name.to_string(), one.sample.count))
                .collect();
            samples.sort();
            let mut expected = Vec::new();
            for core in 0..core_count {
                for (pass, names) in PASSES.iter().enumerate().take(pass_count) {
                    for (at, name) in names.iter().enumerate() {
                        let count = value(pass, at, of_launch.launch) as u64;
                        expected.push((core + 1, (*name).to_owned(), count));
                    }
                }
            }
            expected.sort();
            prop_assert_eq!(samples, expected);
        }
    }
}
