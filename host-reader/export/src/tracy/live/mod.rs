//! Live export: sends the trace to a viewer or capture tool that connects over the network.
//!
//! A viewer announces its version of the protocol and is served in this version. It receives what a
//! profiled program would send, except that all events are in the past.
//!
//! # Compatibility
//! Tracy's `public/common/TracyProtocol.hpp` (greeting, welcome, requests),
//! `public/client/TracyProfiler.cpp` (order of the items that a program sends) and
//! `server/TracyWorker.cpp` (interpretation by the viewer).

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
