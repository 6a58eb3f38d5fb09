//! Live export: sends the trace to a viewer or capture tool that connects over the network.
//!
//! A viewer announces its protocol version and is served in this version. The viewer receives the
//! same items as from a profiled program. Usually, all events were recorded before the viewer
//! connected. A [`LiveFeed`] is the exception: a running program adds events to it.
//!
//! # Compatibility
//! Tracy's `public/common/TracyProtocol.hpp` (greeting, welcome, requests),
//! `public/client/TracyProfiler.cpp` (order of the items that a program sends) and
//! `server/TracyWorker.cpp` (interpretation by the viewer).

mod connection;
mod error;
mod feed;
mod follow;
mod greeting;
mod items;
mod server;
mod session;
mod view;

pub use error::ServeError;
pub use feed::{FeedPressure, LiveFeed};
pub use server::{ServedViewer, TracyServer, Visitor};
pub use tracy::protocol::{Program, TracyProtocol};
pub use view::{LiveView, LiveViewOptions};
