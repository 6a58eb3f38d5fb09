//! Live: the trace for a viewer or capture tool that connects over the network.
//!
//! A viewer says which version of the protocol it speaks and is served in that one. It sees
//! what a profiled program would send, only that all of it has happened already.
//!
//! # Compatibility
//! Tracy's `public/common/TracyProtocol.hpp` (greeting, welcome, questions),
//! `public/client/TracyProfiler.cpp` (what a program sends when) and
//! `server/TracyWorker.cpp` (what a viewer makes of it).

mod error;
mod greeting;
mod items;
mod order;
mod questions;
mod server;
mod session;

pub use error::ServeError;
pub use server::{ServedViewer, TracyServer, Visitor};
pub use tracy::protocol::{Program, TracyProtocol};
