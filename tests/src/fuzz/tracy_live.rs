//! Bytes that a Tracy viewer, or another client, may send.

use host_reader::{
    export::{
        Trace,
        tracy::{Program, TracyOptions, TracyServer},
    },
    log::read_device_log,
    recording::{Recording, TraceFilter},
};
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    sync::LazyLock,
    thread,
};

const LOG: &[u8] = b"ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n\
    PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,\
    run host ID,zone name,type\n\
    0,1,2,BRISC,7,100,0,1024,BRISC-FW,ZONE_START\n\
    0,1,2,BRISC,7,160,0,1024,BRISC-FW,ZONE_END\n";

static RECORDING: LazyLock<Recording> = LazyLock::new(|| {
    let readout = read_device_log(LOG, "log");
    Recording::from_readout(readout.unwrap_or_else(|error| panic!("a sound log: {error}")))
});

/// Sends bytes to a server. The connection must end.
///
/// If the first byte is odd, a greeting is sent first, with the version in the second byte.
/// Otherwise only the bytes are sent.
///
/// # Panics
/// If the server panics.
pub fn tracy_live(data: &[u8]) {
    let &[choice, version, ref rest @ ..] = data else { return };
    let mut sent = Vec::new();
    if choice & 1 != 0 {
        sent.extend(b"TracyPrf");
        sent.extend(u32::from(version).to_le_bytes());
    }
    sent.extend(rest);
    let viewers = if choice & 2 == 0 { Program::Stock } else { Program::Fork };
    let trace = Trace::new(&RECORDING, &TraceFilter::default());
    let server = TracyServer::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("{error}"));
    let address = server.local_address().unwrap_or_else(|error| panic!("{error}"));
    thread::scope(|scope| {
        scope.spawn(|| {
            let visit = server.accept();
            visit.is_ok_and(|visit| visit.serve(&trace, &TracyOptions::default(), viewers).is_ok())
        });
        let Ok(mut stream) = TcpStream::connect(address) else { return };
        // A refused client's connection may be closed before all bytes were sent.
        let _ = stream.write_all(&sent);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    });
}
