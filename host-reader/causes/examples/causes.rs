//! Explains a device log.
//!
//! `cargo run -p kprof-causes --example causes [LOG]`

#![expect(clippy::print_stdout, reason = "an example shows something")]

use causes::Explanation;
use recording::device_log::PackedLog;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let captures = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/captures/mesham-tt-sim");
    let real = format!("{captures}/wormhole-noc-4096/profile_log_device.csv");
    let path = std::env::args().nth(1).unwrap_or(real);
    let (_, explanation) = Explanation::from_log(PackedLog::open(path)?)?;
    for finding in &explanation.findings {
        println!("{}: {}", finding.cause.label(), finding.sentence);
    }
    for share in explanation.devices.iter().flat_map(|device| &device.time.shares) {
        println!("{:>5.1} % {}", share.percent, share.class.label());
    }
    for untold in &explanation.untold {
        println!("? {}: {}; record {}", untold.question, untold.reason, untold.record_with);
    }
    Ok(())
}
