//! Decoding: words of a lane into columns of records. No I/O happens here.

mod context;

pub use context::{CaptureMode, HostIdForm, LaneContext};
