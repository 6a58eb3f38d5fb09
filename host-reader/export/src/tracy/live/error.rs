//! Errors that keep the server from serving a viewer.

use std::{io, net::SocketAddr};
use tracy::protocol::TracyProtocol;

/// Error that keeps the server from serving a viewer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is not available.
    #[error(
        "cannot listen for Tracy viewers on {address}: {source}; {}",
        advice(.source)
    )]
    Bind {
        /// The requested address.
        address: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A connection could not be accepted.
    #[error("cannot take up a connection: {0}")]
    Accept(io::Error),
    /// The connection does not begin with a viewer's greeting.
    #[error("{peer} is no Tracy viewer: expected its greeting, found {found}")]
    NotAViewer {
        /// Address of the peer.
        peer: SocketAddr,
        /// Data received instead of a greeting.
        found: String,
    },
    /// Too many viewers are connected.
    #[error("{peer} is not served: {most} viewers are connected; close one of them")]
    TooManyViewers {
        /// Address of the peer.
        peer: SocketAddr,
        /// Maximum number of viewers at a time.
        most: usize,
    },
    /// The viewer's protocol version is not supported.
    #[error("the viewer at {peer} speaks protocol {number}; expected one of {}", known_protocols())]
    UnknownProtocol {
        /// Address of the viewer.
        peer: SocketAddr,
        /// Number of the viewer's protocol.
        number: u32,
    },
}

fn known_protocols() -> String {
    TracyProtocol::all()
        .iter()
        .map(|known| format!("{} ({})", known.number, known.releases))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns advice for an address that is not available.
fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => "close the program that listens there, or choose another port",
        io::ErrorKind::PermissionDenied => "choose a port from 1024 on",
        _ => "expected an address of this machine and a port, as in 127.0.0.1:8086",
    }
}
