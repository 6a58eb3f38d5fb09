//! Writes a recording as folded stacks: one line per stack, with the self cycles of the innermost
//! zone.

use export::{ExportFormat, Recording, Trace, TraceFilter};
use recording::device_log::read_device_log;
use std::error::Error;

const LOG: &str = "\
ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, \
trace id counter, zone name, type, source line, source file, meta data
0,1,2,BRISC,8,110,0,1024,,,BRISC-KERNEL,ZONE_START,20,/k/reader.cpp,
0,1,2,BRISC,9,120,0,1024,,,Load,ZONE_START,24,/k/reader.cpp,
0,1,2,BRISC,9,150,0,1024,,,Load,ZONE_END,24,/k/reader.cpp,
0,1,2,BRISC,8,160,0,1024,,,BRISC-KERNEL,ZONE_END,20,/k/reader.cpp,
";

fn folded(log: &str) -> Result<String, Box<dyn Error>> {
    let recording = Recording::from_readout(read_device_log(log.as_bytes(), "the example's log")?);
    let trace = Trace::new(&recording, &TraceFilter::default());
    let mut out = Vec::new();
    ExportFormat::FOLDED.write(&trace, &mut out, &mut |_| {})?;
    Ok(String::from_utf8(out)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", folded(LOG)?);
    Ok(())
}

#[test]
fn each_stack_has_its_own_time() {
    // The zone `Load` takes 30 of the kernel's 50 cycles.
    let folded = folded(LOG).unwrap();
    assert!(folded.lines().any(|line| line.ends_with("BRISC-KERNEL 20")), "{folded}");
    assert!(folded.lines().any(|line| line.ends_with("BRISC-KERNEL;Load 30")), "{folded}");
}
