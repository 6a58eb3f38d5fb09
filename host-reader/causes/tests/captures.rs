//! Real device logs: their times add up, and no finding names a cause that is absent.

use crate::whole::assert_whole;
use captures::{log_of_json, log_path};
use causes::{Cause, Explanation, TimeClass};
use recording::device_log::PackedLog;

fn explain_log(log: &[u8]) -> Explanation {
    Explanation::from_log(PackedLog::read(log, "log").unwrap()).unwrap().1
}

const LOGS: [&str; 5] = [
    "blackhole-noc-256",
    "blackhole-noc-4096",
    "wormhole-noc-256",
    "wormhole-noc-4096",
    "wormhole-counters-elw",
];

#[test]
fn the_time_of_real_logs_adds_up_and_they_show_no_false_cause() {
    for log in LOGS {
        let explanation = explain_log(&std::fs::read(log_path(log)).unwrap());
        assert_whole(&explanation, log);
        let causes: Vec<_> = explanation.findings.iter().map(|of| of.cause).collect();
        // NoC events show a barrier after each transfer, and counters are written after the kernel.
        let expected = if log.contains("noc") { Cause::Latency } else { Cause::Profiler };
        assert_eq!(causes, [expected], "{log}");
        assert!(explanation.untold.len() >= 2, "{log}");
    }
    let explanation = explain_log(log_of_json().as_bytes());
    assert_whole(&explanation, "json");
    // Two launches, a second apart.
    let causes: Vec<_> = explanation.findings.iter().map(|of| of.cause).collect();
    assert_eq!(causes, [Cause::Host]);
}

/// The expected shares come from a script over the `noc_trace` files. The script divides the union
/// of the barriers by the time from the first kernel's start to the last kernel's end.
#[test]
fn a_barrier_after_each_transfer_is_told_from_noc_events() {
    for (log, waited) in [
        ("wormhole-noc-4096", 77.05),
        ("blackhole-noc-256", 73.79),
        ("wormhole-noc-256", 69.20),
        ("blackhole-noc-4096", 77.25),
    ] {
        let explanation = explain_log(&std::fs::read(log_path(log)).unwrap());
        let [finding] = explanation.findings.as_slice() else { panic!("{log}") };
        assert!((finding.figure - waited).abs() < 0.01, "{log}: {}", finding.figure);
        assert!(finding.sentence.contains("16 transfers of"), "{log}: {}", finding.sentence);
        assert_eq!(finding.place.core, Some(if log.starts_with('w') { (1, 1) } else { (1, 2) }));
    }
}

#[test]
fn a_kernel_that_only_moves_data_is_movement() {
    // Computed by hand from the log: firmware from 10,927,296,811 to 10,927,308,028 around a kernel
    // of 6,206 cycles. The TRISCs' kernels begin after the kernels that move data.
    let explanation = explain_log(&std::fs::read(log_path("wormhole-counters-elw")).unwrap());
    let time = &explanation.devices[0].time;
    assert_eq!((time.total_cycles, time.total_ns), (11_217, Some(11_217)));
    let cycles = |class| {
        let share = time.shares.iter().find(|share| share.class == class).unwrap();
        share.cycles.round()
    };
    // The first of 59 counter records has the cycle 10,927,303,745, and the last 10,927,307,898.
    assert_eq!(cycles(TimeClass::Profiler), 4_153.0);
    assert_eq!(cycles(TimeClass::Dispatch), 5_011.0 - 4_153.0);
    assert_eq!(cycles(TimeClass::Compute) + cycles(TimeClass::DataMovement), 6_206.0);
    assert_eq!((cycles(TimeClass::Unknown), cycles(TimeClass::Wait)), (0.0, 0.0));
    let noc = explain_log(&std::fs::read(log_path("wormhole-noc-4096")).unwrap());
    let time = &noc.devices[0].time;
    assert_eq!(time.total_cycles, 11_384);
    // 10,422 of 11,384 cycles, from the durations that another program computed from the log.
    assert!((time.percent(TimeClass::DataMovement) - 91.5).abs() < 0.11, "{time:?}");
    assert_eq!(time.percent(TimeClass::Compute), 0.0);
}

const HEADER: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
";

fn log_of(rows: &[(&str, u32, u64, u32, &str)]) -> Explanation {
    let row = |&(place, id, time, program, zone): &(&str, u32, u64, u32, &str)| {
        format!("0,{place},{id},{time},0,{program},{zone}\n")
    };
    explain_log((HEADER.to_owned() + &rows.iter().map(row).collect::<String>()).as_bytes())
}

#[test]
fn kernels_that_dispatch_do_not_stretch_the_time_of_a_chip() {
    let dispatch = [
        ("9,9,NCRISC", 1, 10, 0, "NCRISC-KERNEL,ZONE_START"),
        ("9,9,NCRISC", 2, 20, 0, "CQ-DISPATCH,ZONE_START"),
        ("9,9,NCRISC", 2, 90_020, 0, "CQ-DISPATCH,ZONE_END"),
        ("9,9,NCRISC", 1, 90_030, 0, "NCRISC-KERNEL,ZONE_END"),
    ];
    let op = [
        ("1,2,TRISC_1", 3, 5_000, 1024, "TRISC-KERNEL,ZONE_START"),
        ("1,2,TRISC_1", 3, 6_000, 1024, "TRISC-KERNEL,ZONE_END"),
    ];
    let both = log_of(&[&dispatch[..], &op].concat());
    assert_eq!(both.devices[0].window, (5_000, 6_000));
    assert_eq!(both.devices[0].time.percent(TimeClass::Compute), 100.0);
    assert_eq!(both.devices, log_of(&op).devices);
    // Dispatch kernels that ran alone span the whole window.
    assert_eq!(log_of(&dispatch).devices[0].window, (10, 90_030));
}

#[test]
fn envelopes_of_replays_are_no_reason_to_build_with_the_profiler() {
    let told = |risc: &str, name: &str| {
        let place = format!("1,2,{risc}");
        let edges = [("FW", "START"), ("KERNEL", "START"), ("KERNEL", "END"), ("FW", "END")];
        let zones = edges.map(|(zone, edge)| format!("{name}-{zone},ZONE_{edge}"));
        let times = [(1, 100), (2, 110), (2, 190), (1, 200)];
        let rows = zones.iter().zip(times);
        let rows: Vec<_> = rows.map(|(zone, (id, time))| (&*place, id, time, 1, &**zone)).collect();
        let untold = log_of(&rows).untold;
        let most = untold.iter().find(|untold| untold.question.contains("most of the time"));
        most.map(|untold| untold.record_with)
    };
    let advice = told("TENSIX_RISC_AGG", "TRACE").unwrap();
    assert!(advice.contains("without trace-only mode"), "{advice}");
    let advice = told("BRISC", "BRISC").unwrap_or_default();
    assert!(!advice.contains("trace-only mode"), "{advice}");
}
