//! Reasons why a program could not be recorded.

use std::{io, net::SocketAddr};

/// Reason why a program could not be recorded at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TracyError {
    /// Nothing listens at the address, or the connection broke before the welcome.
    #[error("expected a program with a Tracy client at {address}: {source}")]
    Connection {
        /// Address of the program.
        address: SocketAddr,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The peer is not a Tracy client.
    #[error("expected the answer of a Tracy client at {address}, found {found}")]
    NotAClient {
        /// Address of the program.
        address: SocketAddr,
        /// Answer received instead.
        found: String,
    },
    /// The client's version is unknown, or could not be determined.
    #[error(
        "expected a Tracy client at {address} that speaks a protocol from {lowest} to {highest}, \
         found {}; a newer kprof may know it",
        found.map_or("none below 256".to_owned(), |number| number.to_string())
    )]
    UnknownProtocol {
        /// Address of the program.
        address: SocketAddr,
        /// Smallest known protocol number.
        lowest: u32,
        /// Largest known protocol number.
        highest: u32,
        /// Protocol number that the client accepts; `None` if no accepted number was found.
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
