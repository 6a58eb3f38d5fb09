//! A failed access to a chip, recorded so that a replay fails in the same way.
//!
//! Kind 4, version 1.0:
//!
//! ```text
//!  0  u32  number of the read, from 0     16  u32  DRAM bank
//!  4  u32  chip id                        20  u32  bytes of the text
//!  8  u16  NoC-0 x                        24  u64  byte address
//! 10  u16  NoC-0 y                        32  u64  word count
//! 12  u8   memory: 0 = L1, 1 = DRAM,      40  ...  text: name of the memory, or why
//!          2 = wall clock, 3 = host                the access failed
//! 13  u8   1 if it was a write
//! 14  u8   error: 0 = no such core,
//!          1 = out of range,
//!          2 = unreachable, 3 = gone
//! 15  u8   0
//! ```

use super::{
    Payload, SectionKind,
    fields::{Fields, field_count, put_u64s},
    memory::AccessHead,
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use reader::mesh::{AccessError, Memory};

/// An access that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAccess {
    /// Number of the read in the capture, counted from 0.
    pub read_number: u32,
    /// Number of the chip.
    pub chip_id: u32,
    /// Memory that was accessed.
    pub memory: Memory,
    /// Byte address of the first word.
    pub address: u64,
    /// Number of words.
    pub word_count: u64,
    /// True if the access was a write.
    pub is_write: bool,
    /// Error reported by the chip.
    pub error: AccessError,
}

impl<'file> Payload<'file> for FailedAccess {
    const KIND: SectionKind = SectionKind::FAILED_ACCESS;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        let (error, text) = match &self.error {
            AccessError::NoSuchCore { .. } => (NO_SUCH_CORE, ""),
            AccessError::OutOfRange { memory, .. } => (OUT_OF_RANGE, memory.as_str()),
            AccessError::Unreachable { reason, .. } => (UNREACHABLE, reason.as_str()),
            AccessError::Gone { reason, .. } => (GONE, reason.as_str()),
        };
        let mut access = AccessHead::new(self.read_number, self.chip_id, self.memory);
        access.details = [self.is_write.into(), error];
        access.text_bytes = field_count(text.len())?;
        access.put(buffer);
        put_u64s(buffer, [self.address, self.word_count]);
        buffer.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let mut head = fields.record("head", 40)?;
        let access = AccessHead::take(&mut head);
        let [address, word_count] = head.u64s();
        let AccessHead { read_number, chip_id, core, details: [is_write, error], .. } = access;
        let memory = access.memory(&fields)?;
        let text = fields.text("text", access.text_bytes)?.to_owned();
        let error = match error {
            NO_SUCH_CORE => AccessError::NoSuchCore { chip_id, core },
            OUT_OF_RANGE => AccessError::OutOfRange {
                chip_id,
                memory: text,
                address,
                word_count: usize::try_from(word_count).unwrap_or(usize::MAX),
            },
            UNREACHABLE => AccessError::Unreachable { chip_id, reason: text },
            GONE => AccessError::Gone { chip_id, reason: text },
            other => return Err(fields.fault("error", "0 to 3", &other)),
        };
        let is_write = is_write != 0;
        Ok(Self { read_number, chip_id, memory, address, word_count, is_write, error })
    }
}

const NO_SUCH_CORE: u8 = 0;
const OUT_OF_RANGE: u8 = 1;
const UNREACHABLE: u8 = 2;
const GONE: u8 = 3;
