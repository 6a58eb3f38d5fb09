//! Reports of logs with the largest possible numbers: figures must not wrap or panic.

use reader::packed_bytes::PackedMemory;
use reports::report::{OpsOptions, OpsReport};
use std::fmt::Write as _;

/// A launch on three cores with kernels from 0 to the last cycle, and equally large sums.
fn log() -> String {
    const LAST: u64 = u64::MAX;
    let mut log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n\
         PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,\
         run host ID,trace id,trace id counter,zone name,type,source line,source file,meta data\n"
        .to_owned();
    for core_x in 1..=3 {
        for (risc, marker, time, data, zone, kind) in [
            ("BRISC", 7, 0, 0, "BRISC-FW", "ZONE_START"),
            ("BRISC", 8, 0, 0, "BRISC-KERNEL", "ZONE_START"),
            ("TRISC_0", 9, 5, LAST, "CB-COMPUTE-WAIT-FRONT", "ZONE_TOTAL"),
            ("BRISC", 8, LAST, 0, "BRISC-KERNEL", "ZONE_END"),
            ("BRISC", 7, LAST, 0, "BRISC-FW", "ZONE_END"),
        ] {
            let row = format!("0,{core_x},2,{risc},{marker},{time},{data},1024,,,{zone},{kind}");
            writeln!(log, "{row},1,/b.cc,").unwrap();
        }
    }
    log
}

#[test]
fn figures_stop_at_the_largest_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile_log_device.csv");
    std::fs::write(&path, log()).unwrap();
    for is_exact in [false, true] {
        let options = OpsOptions { is_exact, ..OpsOptions::default() };
        let csv = OpsReport::from_device_log(&path, &options, &PackedMemory::unlimited()).ops_csv;
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let found = reader.headers().unwrap().clone();
        let row = reader.records().next().unwrap().unwrap();
        // Sums over three cores, of 2^64 cycles each at 1000 MHz.
        for (title, expected) in [
            ("DEVICE COMPUTE CB WAIT FRONT [ns]", "5534023222112865"),
            ("DEVICE KERNEL DURATION PER CORE MAX [ns]", "1844674407370955"),
            ("DEVICE KERNEL DURATION PER CORE AVG [ns]", "1844674407370955"),
        ] {
            let at = found.iter().position(|known| known == title);
            let cell = at.and_then(|at| row.get(at)).unwrap_or("");
            // A total above 64 bits has neither a mean nor a sum here, and its cell is empty.
            let is_total = title.contains("AVG") || title.contains("WAIT FRONT");
            let is_empty = !is_exact && is_total && cell.is_empty();
            assert!(is_empty || cell.starts_with(expected), "exact {is_exact}, {title}: {cell}");
        }
    }
}
