//! End of a read.
//!
//! Kind 5, version 1.0:
//!
//! ```text
//!  0  u32  number of the read, from 0      8  u64  host time, ns of its monotonic clock
//!  4  u32  flags: bit 0 = last read       16  u64  words that the read took from the chips
//!                                         24  u64  wall-clock time, ns since the Unix epoch
//! ```

use super::{
    Payload, SectionKind,
    fields::{Fields, put, raw_records},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use zerocopy::little_endian::{U32, U64};

/// End of a read: all data of the read is in the sections before this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadEnd {
    /// Number of the read, from 0.
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
        put(
            buffer,
            &RawEnd {
                read_number: U32::new(self.read_number),
                flags: U32::new(u32::from(self.is_last) * FLAG_LAST),
                host_time_ns: U64::new(self.host_time_ns),
                words_read: U64::new(self.words_read),
                unix_time_ns: U64::new(self.unix_time_ns),
            },
        );
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let raw: &RawEnd = Fields::new(payload).record("end")?;
        Ok(Self {
            read_number: raw.read_number.get(),
            is_last: raw.flags.get() & FLAG_LAST != 0,
            host_time_ns: raw.host_time_ns.get(),
            words_read: raw.words_read.get(),
            unix_time_ns: raw.unix_time_ns.get(),
        })
    }
}

const FLAG_LAST: u32 = 1;

raw_records! {
    RawEnd: 32 => {
        read_number: U32,
        flags: U32,
        host_time_ns: U64,
        words_read: U64,
        unix_time_ns: U64,
    }
}
