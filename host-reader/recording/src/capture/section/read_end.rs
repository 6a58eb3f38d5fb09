//! End of a read.
//!
//! Kind 5, version 1.0:
//!
//! ```text
//!  0  u32  number of the read, from 0      8  u64  host time, ns of its monotonic clock
//!  4  u32  flags: bit 0 = last read       16  u64  number of words read from the chips
//!                                         24  u64  wall-clock time, ns since the Unix epoch
//! ```

use super::{
    Payload, SectionKind,
    fields::{Fields, put_u32s, put_u64s},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};

/// End of a read: all data of the read is in the sections before this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadEnd {
    /// Number of the read in the capture, counted from 0.
    pub read_number: u32,
    /// True if this was the last read, after which no more launches were expected.
    pub is_last: bool,
    /// Time of the end of the read, on the clock of [`Device::host_time_ns`].
    ///
    /// [`Device::host_time_ns`]: reader::mesh::Device::host_time_ns
    pub host_time_ns: u64,
    /// Number of words read from the chips, including control vectors.
    pub words_read: u64,
    /// Time of the end of the read, in nanoseconds since the Unix epoch; 0 if unknown.
    pub unix_time_ns: u64,
}

impl<'file> Payload<'file> for ReadEnd {
    const KIND: SectionKind = SectionKind::READ_END;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        put_u32s(buffer, [self.read_number, u32::from(self.is_last) * FLAG_LAST]);
        put_u64s(buffer, [self.host_time_ns, self.words_read, self.unix_time_ns]);
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut end = Fields::new(payload).record("end", 32)?;
        let [read_number, flags] = end.u32s();
        let [host_time_ns, words_read, unix_time_ns] = end.u64s();
        let is_last = flags & FLAG_LAST != 0;
        Ok(Self { read_number, is_last, host_time_ns, words_read, unix_time_ns })
    }
}

const FLAG_LAST: u32 = 1;
