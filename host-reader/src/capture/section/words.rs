//! Words as they were read from a chip: control vectors, lanes and loss logs.
//!
//! Kinds 4 to 6, version 1.0, one head for all:
//!
//! ```text
//!  0  u32  number of the read, from 0        16  u64  first word of the lane
//!  4  u32  chip id                           24  u64  word count
//!  8  u16  NoC-0 x                           32  u64  wall clock, if known, else 0
//! 10  u16  NoC-0 y                           40  u32  words ...
//! 12  u8   RISC, in report order; 0xFF for a control vector
//! 13  u8   memory: 0 = DRAM lane, 1 = L1 vector
//! 14  u16  flags: bit 0 = wall clock known
//! ```
//!
//! The wall clock is that of the core's tile, read after the words were.
//!
//! Since a payload begins on a multiple of eight bytes, so do the words.

use super::{
    Payload, SectionKind, VERSION_1_0,
    fields::{Fields, put, put_words},
    sealed::Sealed,
};
use crate::{
    capture::{error::CaptureError, frame::SectionVersion, problem::MalformedPayload},
    lane::LaneId,
    mesh::Noc0Coord,
};
use std::borrow::Cow;
use wire::Risc;
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    little_endian::{U16, U32, U64},
};

/// A core's control vector, as one read found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlWords<'file> {
    /// Number of the read, from 0.
    pub read_number: u32,
    /// Number of the chip.
    pub chip_id: u32,
    /// The core.
    pub core: Noc0Coord,
    /// The words, from the first of the vector.
    pub words: Cow<'file, [u32]>,
    /// The tile's wall clock, read after the words; `None` if it was not.
    pub read_at: Option<u64>,
}

/// Where a lane's words lay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneMemory {
    /// The RISC's lane in DRAM.
    #[default]
    Dram,
    /// The RISC's vector in L1, which had not been pushed yet.
    L1,
}

/// Words of a RISC's markers, as one read found them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneWords<'file> {
    /// Number of the read, from 0.
    pub read_number: u32,
    /// Whose markers.
    pub lane: LaneId,
    /// Where they lay.
    pub memory: LaneMemory,
    /// Index of the first word in that memory.
    pub first_word: u64,
    /// The words.
    pub words: Cow<'file, [u32]>,
    /// The tile's wall clock, read after the words; `None` if it was not.
    pub read_at: Option<u64>,
}

/// Words of a RISC's loss log ([`wire::loss`]), as one read found them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossLogWords<'file> {
    /// Number of the read, from 0.
    pub read_number: u32,
    /// Whose losses.
    pub lane: LaneId,
    /// The words, from the first of the log.
    pub words: Cow<'file, [u32]>,
}

impl Sealed for ControlWords<'_> {}

impl<'file> Payload<'file> for ControlWords<'file> {
    const KIND: SectionKind = SectionKind::CONTROL;
    const VERSION: SectionVersion = VERSION_1_0;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        let Self { read_number, chip_id, core, .. } = *self;
        let place = Place { read_number, chip_id, core, read_at: self.read_at };
        put(buffer, &place.head(NO_RISC, self.words.len()));
        put_words(buffer, &self.words);
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let head: &RawHead = fields.record("head")?;
        let Place { read_number, chip_id, core, read_at } = head.place();
        let words = fields.words("words", head.word_count.get())?;
        Ok(Self { read_number, chip_id, core, words, read_at })
    }
}

impl Sealed for LaneWords<'_> {}

impl<'file> Payload<'file> for LaneWords<'file> {
    const KIND: SectionKind = SectionKind::LANE;
    const VERSION: SectionVersion = VERSION_1_0;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        let place = Place::of_lane(self.read_number, self.lane, self.read_at);
        let head = RawHead {
            memory: u8::from(self.memory == LaneMemory::L1),
            first_word: U64::new(self.first_word),
            ..place.head(risc_number(self.lane.risc), self.words.len())
        };
        put(buffer, &head);
        put_words(buffer, &self.words);
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let head: &RawHead = fields.record("head")?;
        let memory = match head.memory {
            0 => LaneMemory::Dram,
            1 => LaneMemory::L1,
            other => return Err(fields.fault("memory", "0 or 1", &other)),
        };
        let lane = head.lane(&fields)?;
        let words = fields.words("words", head.word_count.get())?;
        let Place { read_number, read_at, .. } = head.place();
        Ok(Self { read_number, lane, memory, first_word: head.first_word.get(), words, read_at })
    }
}

impl Sealed for LossLogWords<'_> {}

impl<'file> Payload<'file> for LossLogWords<'file> {
    const KIND: SectionKind = SectionKind::LOSS_LOG;
    const VERSION: SectionVersion = VERSION_1_0;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        let place = Place::of_lane(self.read_number, self.lane, None);
        let head = place.head(risc_number(self.lane.risc), self.words.len());
        put(buffer, &RawHead { memory: 1, ..head });
        put_words(buffer, &self.words);
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let head: &RawHead = fields.record("head")?;
        let lane = head.lane(&fields)?;
        let words = fields.words("words", head.word_count.get())?;
        Ok(Self { read_number: head.read_number.get(), lane, words })
    }
}

/// The number of a RISC in a capture: its place in report order.
pub(super) fn risc_number(risc: Risc) -> u8 {
    let position = Risc::ALL.iter().position(|&other| other == risc);
    position.and_then(|position| u8::try_from(position).ok()).unwrap_or(NO_RISC)
}

/// The RISC with this number.
pub(super) fn risc_of_number(number: u8, fields: &Fields<'_>) -> Result<Risc, MalformedPayload> {
    let risc = Risc::ALL.get(usize::from(number)).copied();
    risc.ok_or_else(|| fields.fault("RISC", "0 to 6", &number))
}

const NO_RISC: u8 = 0xFF;

/// Whose words, of which read, and when.
struct Place {
    read_number: u32,
    chip_id: u32,
    core: Noc0Coord,
    read_at: Option<u64>,
}

impl Place {
    const fn of_lane(read_number: u32, lane: LaneId, read_at: Option<u64>) -> Self {
        Self { read_number, chip_id: lane.chip_id, core: lane.core, read_at }
    }

    fn head(&self, risc: u8, word_count: usize) -> RawHead {
        RawHead {
            read_number: U32::new(self.read_number),
            chip_id: U32::new(self.chip_id),
            x: U16::new(self.core.x),
            y: U16::new(self.core.y),
            risc,
            memory: 0,
            flags: U16::new(u16::from(self.read_at.is_some()) * FLAG_READ_AT),
            first_word: U64::ZERO,
            word_count: U64::new(word_count as u64),
            read_at: U64::new(self.read_at.unwrap_or(0)),
        }
    }
}

const FLAG_READ_AT: u16 = 1;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawHead {
    read_number: U32,
    chip_id: U32,
    x: U16,
    y: U16,
    risc: u8,
    memory: u8,
    flags: U16,
    first_word: U64,
    word_count: U64,
    read_at: U64,
}

impl RawHead {
    fn place(&self) -> Place {
        let has_clock = self.flags.get() & FLAG_READ_AT != 0;
        Place {
            read_number: self.read_number.get(),
            chip_id: self.chip_id.get(),
            core: Noc0Coord { x: self.x.get(), y: self.y.get() },
            read_at: has_clock.then_some(self.read_at.get()),
        }
    }

    fn lane(&self, fields: &Fields<'_>) -> Result<LaneId, MalformedPayload> {
        let Place { chip_id, core, .. } = self.place();
        Ok(LaneId { chip_id, core, risc: risc_of_number(self.risc, fields)? })
    }
}

const _: () = assert!(size_of::<RawHead>() == 40);
