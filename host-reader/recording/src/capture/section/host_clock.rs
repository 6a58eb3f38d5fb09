//! The host's clock: the machine that the clock belongs to, and readings that relate the clock to
//! the time of day.
//!
//! Kind 14, version 1.0:
//!
//! ```text
//!  0  16 B  boot id of the machine's kernel; zeros if unknown
//! 16  i64   time namespace: host's clock minus machine's clock, ns
//! 24  u32   reading count
//! 28  u32   bytes of one reading
//! 32  ...   readings
//! ```
//!
//! Layout of a reading:
//!
//! ```text
//!  0  u64  host before, ns            16  u64  host after, ns
//!  8  u64  day, ns since the Unix     24  u64  maximum error of the day, ns;
//!          epoch                               2^64 - 1 if unknown
//! ```

use super::{
    Payload, SectionKind,
    fields::{Fields, field_count, put_u32s, put_u64s},
};
use crate::capture::{error::CaptureError, host_clock::HostClock, problem::MalformedPayload};
use reader::clock::DayReading;

impl<'file> Payload<'file> for HostClock {
    const KIND: SectionKind = SectionKind::HOST_CLOCK;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        // The boot id is stored in the byte order of its text form.
        buffer.extend(self.boot_id.unwrap_or_default().to_be_bytes());
        buffer.extend(self.namespace_ns.to_le_bytes());
        put_u32s(buffer, [field_count(self.readings.len())?, READING_BYTES]);
        for DayReading { before_ns, day_ns, after_ns, error_ns } in &self.readings {
            put_u64s(buffer, [*before_ns, *day_ns, *after_ns, error_ns.unwrap_or(UNKNOWN)]);
        }
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let mut head = fields.record("head", 32)?;
        let boot_id = head.number(u128::from_be_bytes);
        let namespace_ns = head.number(i64::from_le_bytes);
        let readings = fields.records("readings", READING_BYTES, head.u32s())?;
        let readings = readings.map(|mut reading| {
            let [before_ns, day_ns, after_ns, error_ns] = reading.u64s();
            let error_ns = Some(error_ns).filter(|&error| error != UNKNOWN);
            DayReading { before_ns, day_ns, after_ns, error_ns }
        });
        let boot_id = Some(boot_id).filter(|&id| id != 0);
        Ok(Self { boot_id, namespace_ns, readings: readings.collect() })
    }
}

const READING_BYTES: u32 = 32;
const UNKNOWN: u64 = u64::MAX;
