//! Records the program with a Tracy client that listens at an address, and prints counts of the
//! received data.
//!
//! `cargo run -p kprof-tracy --example record -- 127.0.0.1:8086`

use std::sync::atomic::AtomicBool;
use tracy::{RecordOptions, TracyClient};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(address) = std::env::args().nth(1) else {
        println!("expected the address of a program with a Tracy client, as 127.0.0.1:8086");
        return Ok(());
    };
    let client = TracyClient::connect(address.parse()?)?;
    println!("{} speaks protocol {}", client.program(), client.protocol().number);
    let recording = client.record(&RecordOptions::default(), &AtomicBool::new(false));
    for thread in &recording.threads {
        println!("{}: {} zones", thread.name, thread.zones.len());
    }
    println!("{} messages, {} plots", recording.messages.len(), recording.plots.len());
    println!(
        "end: {:?}, {:?}, left out: {:?}",
        recording.end, recording.damage, recording.left_out
    );
    Ok(())
}
