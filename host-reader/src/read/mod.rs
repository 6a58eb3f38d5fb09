//! Reading: the conversation with the device.

mod options;

pub use options::{GenerationChoice, ReadError, ReadOptions};
