//! The host's clock: the machine, and pairs of readings of this clock and of the time of day.
//!
//! Kind 14, version 1.0:
//!
//! ```text
//!  0  16 B  boot id of the machine's kernel; zeros if unknown
//! 16  i64   ns that the host's clock is ahead of the machine's own, by a time namespace
//! 24  u32   reading count
//! 28  u32   bytes of one reading
//! 32  ...   readings
//! ```
//!
//! Layout of a reading:
//!
//! ```text
//!  0  u64  host before, ns            16  u64  host after, ns
//!  8  u64  day, ns since the Unix     24  u64  bound of the day's error, ns;
//!          epoch                               2^64 - 1 if unknown
//! ```

use super::{
    Payload, SectionKind,
    fields::{Fields, field_count, put, raw_records},
};
use crate::capture::{error::CaptureError, host_clock::HostClock, problem::MalformedPayload};
use reader::clock::DayReading;
use zerocopy::{
    big_endian,
    little_endian::{I64, U32, U64},
};

impl<'file> Payload<'file> for HostClock {
    const KIND: SectionKind = SectionKind::HOST_CLOCK;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        let reading_bytes = field_count(size_of::<RawReading>())?;
        put(
            buffer,
            &RawHead {
                boot_id: self.boot_id.unwrap_or_default().into(),
                namespace_ns: self.namespace_ns.into(),
                reading_count: field_count(self.readings.len())?.into(),
                reading_bytes: reading_bytes.into(),
            },
        );
        for reading in &self.readings {
            put(buffer, &RawReading::from_reading(reading));
        }
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let head: &RawHead = fields.record("head")?;
        let (count, stride) = (head.reading_count.get(), head.reading_bytes.get());
        let readings = fields.records::<RawReading>("readings", count, stride)?;
        Ok(Self {
            boot_id: Some(head.boot_id.get()).filter(|&id| id != 0),
            namespace_ns: head.namespace_ns.get(),
            readings: readings.map(RawReading::reading).collect(),
        })
    }
}

raw_records! {
    RawHead: 32 => {
        /// Boot id, in the byte order of its text form.
        boot_id: big_endian::U128,
        namespace_ns: I64,
        reading_count: U32,
        reading_bytes: U32,
    }
    RawReading: 32 => {
        before_ns: U64,
        day_ns: U64,
        after_ns: U64,
        error_ns: U64,
    }
}

const UNKNOWN: u64 = u64::MAX;

impl RawReading {
    fn from_reading(reading: &DayReading) -> Self {
        Self {
            before_ns: reading.before_ns.into(),
            day_ns: reading.day_ns.into(),
            after_ns: reading.after_ns.into(),
            error_ns: reading.error_ns.unwrap_or(UNKNOWN).into(),
        }
    }

    fn reading(&self) -> DayReading {
        DayReading {
            before_ns: self.before_ns.get(),
            day_ns: self.day_ns.get(),
            after_ns: self.after_ns.get(),
            error_ns: Some(self.error_ns.get()).filter(|&error| error != UNKNOWN),
        }
    }
}
