//! Prints the use of the math units, and what that figure does not measure.

use analysis::{counters::counters_of, launches_of};
use recording::device_log::read_device_log;

const LOG: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,\
zone name,type,source line,source file,meta data
0,1,2,BRISC,9090,110,0,1024,,TS_DATA,0,,{\"counter type\":\"FPU_COUNTER\";\"ref cnt\":200;\"value\":50}
0,2,2,BRISC,9090,112,0,1024,,TS_DATA,0,,{\"counter type\":\"FPU_COUNTER\";\"ref cnt\":200;\"value\":70}
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let readout = read_device_log(LOG.as_bytes(), "example")?;
    for launch in counters_of(&readout, &launches_of(&readout)) {
        for summary in launch.counters.summaries(false) {
            let (metric, unit) = (summary.metric.label(), summary.metric.unit());
            match summary.statistics {
                Some(known) => println!("{metric}: {} to {} {unit}", known.min, known.max),
                None => println!("{metric}: unknown"),
            }
            if let Some(doubt) = summary.doubt {
                println!("  in doubt: {}", doubt.label());
            }
            for limit in summary.metric.limits() {
                println!("  cannot see {}", limit.label());
            }
        }
    }
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
