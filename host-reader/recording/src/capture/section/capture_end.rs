//! The end mark: the recording was finished, and all its data was written before the mark.
//!
//! Kind 13, version 1.0:
//!
//! ```text
//!  0  u64  wall-clock time, ns since the Unix epoch; 0 if unknown
//! ```
//!
//! A writer that continues a finished capture leaves the mark in the file, and writes another mark
//! at the end.

use super::{
    Payload, SectionKind,
    fields::{Fields, put_u64s},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};

/// The end mark of a recording, which shows that the recording is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureEnd {
    /// Time at which the recording was finished, in nanoseconds since the Unix epoch; 0 if unknown.
    pub unix_time_ns: u64,
}

impl<'file> Payload<'file> for CaptureEnd {
    const KIND: SectionKind = SectionKind::CAPTURE_END;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        put_u64s(buffer, [self.unix_time_ns]);
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let [unix_time_ns] = Fields::new(payload).record("end mark", 8)?.u64s();
        Ok(Self { unix_time_ns })
    }
}
