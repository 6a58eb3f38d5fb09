//! Reads a device log of TT-Metal and counts its records.

use recording::device_log::{LogError, read_device_log};

const LOG: &str = "\
ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, \
trace id counter, zone name, type, source line, source file, meta data
0,1,2,BRISC,7,100,0,1024,,,BRISC-FW,ZONE_START,438,/fw/brisc.cc,
0,1,2,BRISC,8,110,0,1024,,,BRISC-KERNEL,ZONE_START,20,/k/k.cpp,
0,1,2,BRISC,8,150,0,1024,,,BRISC-KERNEL,ZONE_END,20,/k/k.cpp,
0,1,2,BRISC,7,160,0,1024,,,BRISC-FW,ZONE_END,438,/fw/brisc.cc,
";

fn main() -> Result<(), LogError> {
    println!("{} records", record_count(LOG)?);
    Ok(())
}

fn record_count(log: &str) -> Result<usize, LogError> {
    let readout = read_device_log(log.as_bytes(), "the example's log")?;
    let lanes = readout.devices.iter().flat_map(|device| &device.lanes);
    Ok(lanes.map(|lane| lane.record_count()).sum())
}

#[test]
fn every_line_is_a_record() {
    assert_eq!(record_count(LOG).unwrap(), 4);
}
