//! Reasons why no recording came about.

use std::{io, net::SocketAddr};

/// Reason why a program could not be recorded at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TracyError {
    /// Nobody listens there, or the connection broke before the welcome.
    #[error("expected a program with a Tracy client at {address}: {source}")]
    Connection {
        /// Address of the program.
        address: SocketAddr,
        /// Reason that the system gave.
        source: io::Error,
    },
    /// Something else than a Tracy client listens there.
    #[error("expected the answer of a Tracy client at {address}, found {found}")]
    NotAClient {
        /// Address of the program.
        address: SocketAddr,
        /// Answer that came.
        found: String,
    },
    /// The client speaks a version that is not known here, or none at all.
    #[error(
        "expected a Tracy client at {address} that speaks a protocol from {lowest} to {highest}, \
         found {}; a newer kprof may know it",
        found.map_or("none below 256".to_owned(), |number| number.to_string())
    )]
    UnknownProtocol {
        /// Address of the program.
        address: SocketAddr,
        /// Smallest number that is known.
        lowest: u32,
        /// Greatest number that is known.
        highest: u32,
        /// Number that the client accepts.
        found: Option<u32>,
    },
    /// Another server was connected before.
    #[error(
        "the Tracy client at {address} has been recorded by another server and takes no second \
         one; start the program again"
    )]
    NotAvailable {
        /// Address of the program.
        address: SocketAddr,
    },
}
