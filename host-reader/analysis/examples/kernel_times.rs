//! Computes the durations of kernels from a device log.

use analysis::Report;
use recording::device_log::{LogError, read_device_log};

const LOG: &str = "\
ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, \
trace id counter, zone name, type, source line, source file, meta data
0,1,2,BRISC,8,110,0,1024,,,BRISC-KERNEL,ZONE_START,20,/k/reader.cpp,
0,1,2,BRISC,8,150,0,1024,,,BRISC-KERNEL,ZONE_END,20,/k/reader.cpp,
0,1,2,NCRISC,9,120,0,1024,,,NCRISC-KERNEL,ZONE_START,12,/k/writer.cpp,
0,1,2,NCRISC,9,170,0,1024,,,NCRISC-KERNEL,ZONE_END,12,/k/writer.cpp,
";

/// Returns, for each op, the duration of its kernels in cycles.
fn kernel_cycles(log: &str) -> Result<Vec<Option<u64>>, LogError> {
    let readout = read_device_log(log.as_bytes(), "the example's log")?;
    let launches = Report::new(&readout).ops;
    Ok(launches.ops().map(|op| op.kernel.map(|kernel| kernel.duration_cycles)).collect())
}

fn main() -> Result<(), LogError> {
    println!("{:?}", kernel_cycles(LOG)?);
    Ok(())
}

#[test]
fn the_kernels_took_from_the_first_start_to_the_last_end() {
    assert_eq!(kernel_cycles(LOG).unwrap(), [Some(60)]);
}
