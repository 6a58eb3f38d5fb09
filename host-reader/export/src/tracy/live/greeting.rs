//! Greeting of a viewer, and the welcome message that follows it.

use super::error::ServeError;
use crate::tracy::{TracyOptions, file::cut};
use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};
use tracy::protocol::{GREETING, Handshake, Program, TracyProtocol};

/// Time limit for receiving the greeting.
const GREETING_TIME: Duration = Duration::from_secs(5);

/// Reads the greeting and answers it.
pub(super) fn greet(
    stream: &mut TcpStream,
    peer: SocketAddr,
    viewers: Program,
) -> Result<&'static TracyProtocol, ServeError> {
    let number = greeting(stream).map_err(|found| ServeError::NotAViewer { peer, found })?;
    let protocol = TracyProtocol::with_number(number, viewers);
    let answer = match protocol {
        Some(_) => Handshake::Welcome,
        None => Handshake::ProtocolMismatch,
    };
    stream
        .write_all(&[answer.byte()])
        .map_err(|error| ServeError::NotAViewer { peer, found: error.to_string() })?;
    protocol.ok_or(ServeError::UnknownProtocol { peer, number })
}

/// Reads the viewer's protocol version. The error text describes the data received instead.
fn greeting(stream: &mut TcpStream) -> Result<u32, String> {
    let mut greeting = [0; 12];
    let limited = stream.set_read_timeout(Some(GREETING_TIME));
    limited.map_err(|error| error.to_string())?;
    let mut filled = 0;
    while let Some(rest) = greeting.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match stream.read(rest) {
            Ok(0) => return Err(format!("the end of the connection after {filled} bytes")),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if is_timeout(&error) => {
                let seconds = GREETING_TIME.as_secs();
                return Err(format!("{filled} bytes within {seconds} seconds"));
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                return Err("a connection that was reset".to_owned());
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    stream.set_read_timeout(None).map_err(|error| error.to_string())?;
    let [.., a, b, c, d] = greeting;
    if greeting.starts_with(&GREETING) {
        Ok(u32::from_le_bytes([a, b, c, d]))
    } else {
        Err(format!("\"{}\"", greeting.escape_ascii()))
    }
}

/// Returns true if an operation exceeded its time limit.
pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Sends the name of the traced program and the scale of the times.
pub(super) fn welcome(
    stream: &mut TcpStream,
    protocol: &TracyProtocol,
    options: &TracyOptions,
) -> io::Result<()> {
    let mut welcome = Vec::new();
    welcome.extend(1.0_f64.to_le_bytes()); // nanoseconds per tick
    welcome.extend(0_i64.to_le_bytes()); // start of the start-up phase
    welcome.extend(1_i64.to_le_bytes()); // end of the start-up phase
    if protocol.welcome_has_delay() {
        welcome.extend(0_u64.to_le_bytes());
    }
    welcome.extend(1_u64.to_le_bytes()); // resolution in ticks
    welcome.extend(options.recorded_at_s.to_le_bytes());
    welcome.extend([0; 8]); // time of the executable
    welcome.extend([0; 8]); // process
    welcome.extend([0; 8]); // sampling period
    welcome.extend([0; 2]); // flags, kind of processor
    welcome.extend([0; 12 + 4]); // processor's vendor and model
    extend_with_text(&mut welcome, &options.title, 64);
    extend_with_text(&mut welcome, "Tenstorrent device profile, sent by kprof", 1024);
    stream.write_all(&welcome)
}

/// Appends a text in a field of fixed length. The text is truncated, or padded with zeros.
fn extend_with_text(bytes: &mut Vec<u8>, text: &str, field_bytes: usize) {
    let end = bytes.len() + field_bytes;
    bytes.extend(cut(text, field_bytes - 1).as_bytes());
    bytes.resize(end, 0);
}
