//! Why a viewer was not served.

use std::{io, net::SocketAddr};
use tracy::protocol::TracyProtocol;

/// Why a viewer was not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is not to be had.
    #[error(
        "cannot listen for Tracy viewers on {address}: {source}; {}",
        advice(.source)
    )]
    Bind {
        /// The address as it was given.
        address: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// No connection can be taken up.
    #[error("cannot take up a connection: {0}")]
    Accept(io::Error),
    /// The connection does not begin with a viewer's greeting.
    #[error("{peer} is no Tracy viewer: expected its greeting, found {found}")]
    NotAViewer {
        /// Address of the other side.
        peer: SocketAddr,
        /// Data received instead of a greeting.
        found: String,
    },
    /// The viewer's version is not spoken here.
    #[error("the viewer at {peer} speaks protocol {number}; expected one of {}", known_protocols())]
    UnknownProtocol {
        /// Where the viewer is.
        peer: SocketAddr,
        /// Number of its protocol.
        number: u32,
    },
}

fn known_protocols() -> String {
    let name = |known: &TracyProtocol| format!("{} ({})", known.number, known.releases);
    TracyProtocol::all().iter().map(name).collect::<Vec<_>>().join(", ")
}

/// Returns the way out of an address that is not to be had.
fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => "close the program that listens there, or choose another port",
        io::ErrorKind::PermissionDenied => "choose a port from 1024 on",
        _ => "expected an address of this machine and a port, as in 127.0.0.1:8086",
    }
}
