//! Compares op-to-op times with exact arithmetic, on logs that are generated in each run.

use reader::packed_bytes::PackedMemory;
use reports::report::{OpsOptions, OpsReport};
use std::{
    fmt::Write as _,
    hash::{BuildHasher, Hasher, RandomState},
};

/// Random numbers that differ from run to run and are reproducible by seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// Returns the seed in `KPROF_LATENCY_SEED`, else a new one, and prints it.
fn seed() -> u64 {
    let given = std::env::var("KPROF_LATENCY_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| RandomState::new().build_hasher().finish() >> 32);
    println!("KPROF_LATENCY_SEED={seed}");
    seed
}

/// Generates a log of consecutive ops on one core, and the cycles from each op to the next.
fn log_of(numbers: &mut Numbers, mhz: u64) -> (String, Vec<u64>) {
    let mut log = format!(
        "ARCH: wormhole_b0, CHIP_FREQ[MHz]: {mhz}, Max Compute Cores: 64\n\
         PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,\
         run host ID,trace id,trace id counter,zone name,type,source line,source file,meta data\n"
    );
    let (mut now, mut gaps) = (numbers.below(1 << 40), Vec::new());
    for op in 1..=20_u64 {
        let [gap_bits, length_bits] = [4 + numbers.below(33), 3 + numbers.below(24)];
        let (gap, length) = (numbers.below(1 << gap_bits), 1 + numbers.below(1 << length_bits));
        let start = now + gap;
        for (time, marker, zone, kind) in [
            (start - gap.min(3), 7, "BRISC-FW", "ZONE_START"),
            (start, 8, "BRISC-KERNEL", "ZONE_START"),
            (start + length, 8, "BRISC-KERNEL", "ZONE_END"),
            (start + length, 7, "BRISC-FW", "ZONE_END"),
        ] {
            let program = op << 10;
            writeln!(log, "0,1,2,BRISC,{marker},{time},0,{program},,,{zone},{kind},1,/b.cc,")
                .unwrap();
        }
        now = start + length;
        gaps.push(if op == 1 { 0 } else { gap });
    }
    (log, gaps)
}

fn column(csv: &str, title: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let position = reader.headers().unwrap().iter().position(|found| found == title).unwrap();
    reader.records().map(|row| row.unwrap()[position].to_owned()).collect()
}

#[test]
fn op_to_op_is_exact_in_100_logs_of_500_to_1350_mhz() {
    let mut numbers = Numbers(seed());
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..100 {
        let mhz = 500 + numbers.below(851);
        let (log, gaps) = log_of(&mut numbers, mhz);
        let path = folder.path().join("profile_log_device.csv");
        std::fs::write(&path, log).unwrap();
        let report =
            OpsReport::from_device_log(&path, &OpsOptions::default(), &PackedMemory::unlimited());
        for title in ["OP TO OP LATENCY [ns]", "OP TO OP LATENCY BR/NRISC START [ns]"] {
            let found = column(&report.ops_csv, title);
            assert_eq!(found.len(), gaps.len());
            for (text, gap) in found.iter().zip(&gaps) {
                // The nearest whole number of ns is at most half a ns away.
                let ns: u128 = text.parse().unwrap();
                let (shown, exact) = (ns * u128::from(mhz), u128::from(*gap) * 1000);
                let off = shown.abs_diff(exact);
                assert!(2 * off <= u128::from(mhz), "{gap} cycles at {mhz} MHz are no {ns} ns");
            }
        }
        let of_device = report.device_perf_csv.unwrap();
        assert_eq!(
            column(&of_device, "OP TO OP LATENCY [ns]"),
            column(&report.ops_csv, "OP TO OP LATENCY [ns]"),
        );
    }
}

#[test]
fn figures_over_clocks_that_disagree_are_empty_and_say_why() {
    const HEAD: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n\
        PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,\
        run host ID,zone name,type\n";
    let mut log = HEAD.to_owned();
    for (core_x, start) in [(1_u64, 1_000_u64), (2, 9_861_369_778_000)] {
        for (time, marker, zone, kind) in [
            (start, 7, "BRISC-FW", "ZONE_START"),
            (start + 10, 8, "BRISC-KERNEL", "ZONE_START"),
            (start + 88, 8, "BRISC-KERNEL", "ZONE_END"),
            (start + 98, 7, "BRISC-FW", "ZONE_END"),
        ] {
            writeln!(log, "0,{core_x},2,BRISC,{marker},{time},0,1024,{zone},{kind}").unwrap();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile_log_device.csv");
    std::fs::write(&path, log).unwrap();
    let csv = OpsReport::from_device_log(&path, &OpsOptions::default(), &PackedMemory::unlimited())
        .ops_csv;
    assert!(!csv.contains("DEVICE KERNEL DURATION [ns]"), "{csv}");
    assert!(!csv.contains("98613697"), "{csv}");
    assert_eq!(column(&csv, "DEVICE KERNEL DURATION PER CORE MAX [ns]"), ["78"]);
    assert_eq!(
        column(&csv, "EMPTY FIGURES BECAUSE"),
        ["durations: clocks of the cores disagree; latencies: clocks of the cores disagree"]
    );
}

#[test]
fn ops_that_a_filter_hides_leave_no_time_between_their_neighbours() {
    let mut numbers = Numbers(seed());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile_log_device.csv");
    let (log, _) = log_of(&mut numbers, 1000);
    std::fs::write(&path, log).unwrap();
    let whole =
        OpsReport::from_device_log(&path, &OpsOptions::default(), &PackedMemory::unlimited());
    let all = column(&whole.ops_csv, "OP TO OP LATENCY [ns]");
    let filter = "op=1..4,op=7..20".parse().unwrap();
    let options = OpsOptions { filter, ..OpsOptions::default() };
    let report = OpsReport::from_device_log(&path, &options, &PackedMemory::unlimited());
    let found = column(&report.ops_csv, "OP TO OP LATENCY [ns]");
    let mut expected = [&all[..4], &all[6..]].concat();
    expected[4].clear();
    assert_eq!(found, expected);
    let reasons = column(&report.ops_csv, "EMPTY FIGURES BECAUSE");
    assert_eq!(reasons[4], "latencies: launches before the op are hidden by a filter");
    // On a single core, a gap that contains hidden ops is also absent.
    let per_core = report.per_core_csv.unwrap();
    let pairs = column(&per_core, "op2op ID");
    let gaps = column(&per_core, "1; 2 [ns]");
    let over = pairs.iter().position(|pair| *pair == format!("{} -> {}", 4 << 10, 7 << 10));
    assert_eq!(over.map(|row| gaps[row].as_str()), Some(""), "{per_core}");
    assert!(gaps.iter().filter(|gap| gap.is_empty()).count() == 1, "{per_core}");
}
