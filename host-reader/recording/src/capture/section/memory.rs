//! Words read from a chip, in the order in which they were read.
//!
//! Kind 3, version 1.0:
//!
//! ```text
//!  0  u32  number of the read, from 0     16  u32  DRAM bank
//!  4  u32  chip id                        20  u32  0
//!  8  u16  NoC-0 x                        24  u64  byte address of the first word
//! 10  u16  NoC-0 y                        32  u64  its index in the lane or vector
//! 12  u8   memory: 0 = L1, 1 = DRAM,      40  u64  word count
//!          2 = wall clock                 48  u32  words ...
//! 13  u8   content: see below
//! 14  u8   RISC, in report order; 0xFF if none
//! 15  u8   0
//! ```
//!
//! The field "content" is 1 for a control vector, 2 for a lane in DRAM, 3 for a vector in L1, 4 for
//! a loss log, 5 for a wall clock (low word, high word), and 0 for anything else. It is a label for
//! people and tools. A replay only needs the memory and the address.
//!
//! The payload and its words both begin at multiples of eight bytes.

use super::{
    Payload, SectionKind,
    fields::{Fields, put, put_words, raw_records},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use reader::{
    lane::LaneId,
    mesh::{Memory, Noc0Coord},
};
use std::borrow::Cow;
use wire::Risc;
use zerocopy::little_endian::{U16, U32, U64};

/// Kind of data that words contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WordsContent {
    /// Any other data.
    Other,
    /// A control vector.
    Control,
    /// A RISC's lane in DRAM.
    Lane,
    /// A RISC's vector in L1.
    Vector,
    /// A RISC's loss log, which exists only in version 2 of this project's protocol.
    LossLog,
    /// A wall clock: low word, high word.
    WallClock,
}

impl WordsContent {
    const ALL: [Self; 6] =
        [Self::Other, Self::Control, Self::Lane, Self::Vector, Self::LossLog, Self::WallClock];
}

/// Words read by one access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryWords<'file> {
    /// Number of the read, from 0.
    pub read_number: u32,
    /// Number of the chip.
    pub chip_id: u32,
    /// Memory from which the words were read.
    pub memory: Memory,
    /// Byte address of the first word.
    pub address: u64,
    /// Kind of data that the words contain.
    pub content: WordsContent,
    /// Lane to which the words belong, if they belong to one RISC.
    pub lane: Option<LaneId>,
    /// Index of the first word in its lane, vector or control vector.
    pub first_word: u64,
    /// The words.
    pub words: Cow<'file, [u32]>,
}

impl<'file> Payload<'file> for MemoryWords<'file> {
    const KIND: SectionKind = SectionKind::MEMORY;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        let (mut place, bank) = RawPlace::new(self.read_number, self.chip_id, self.memory);
        if let Some(lane) = self.lane.filter(|_| place.memory == DRAM) {
            (place.x, place.y) = (U16::new(lane.core.x), U16::new(lane.core.y));
        }
        put(
            buffer,
            &RawHead {
                place,
                content: self.content as u8,
                risc: self.lane.map_or(NO_RISC, |lane| risc_number(lane.risc)),
                reserved: 0,
                bank,
                also_reserved: U32::ZERO,
                address: U64::new(self.address),
                first_word: U64::new(self.first_word),
                word_count: U64::new(self.words.len() as u64),
            },
        );
        put_words(buffer, &self.words);
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let head: &RawHead = fields.record("head")?;
        let content = WordsContent::ALL.get(usize::from(head.content)).copied();
        let content = content.ok_or_else(|| fields.fault("content", "0 to 5", &head.content))?;
        let place = head.place;
        let (memory, chip_id) = (place.memory(head.bank, &fields)?, place.chip_id.get());
        let lane = match head.risc {
            NO_RISC => None,
            risc => {
                let risc = risc_of_number(risc, &fields)?;
                Some(LaneId { chip_id, core: place.core(), risc })
            }
        };
        Ok(Self {
            read_number: place.read_number.get(),
            chip_id,
            memory,
            address: head.address.get(),
            content,
            lane,
            first_word: head.first_word.get(),
            words: fields.words("words", head.word_count.get())?,
        })
    }
}

/// Returns the number of a RISC in a capture, which is its index in report order.
pub(super) fn risc_number(risc: Risc) -> u8 {
    let position = Risc::ALL.iter().position(|&other| other == risc);
    position.and_then(|position| u8::try_from(position).ok()).unwrap_or(NO_RISC)
}

/// Returns the RISC with the given number.
pub(super) fn risc_of_number(number: u8, fields: &Fields<'_>) -> Result<Risc, MalformedPayload> {
    let risc = Risc::ALL.get(usize::from(number)).copied();
    risc.ok_or_else(|| fields.fault("RISC", "0 to 6", &number))
}

const NO_RISC: u8 = 0xFF;
const L1: u8 = 0;
const DRAM: u8 = 1;
const WALL_CLOCK: u8 = 2;
const HOST: u8 = 3;

raw_records! {
    /// Read number, chip, core and kind of memory of an access. Each section about an access begins
    /// with these fields.
    RawPlace: 13 => {
        read_number: U32,
        chip_id: U32,
        x: U16,
        y: U16,
        memory: u8,
    }
    RawHead: 48 => {
        place: RawPlace,
        content: u8,
        risc: u8,
        reserved: u8,
        bank: U32,
        also_reserved: U32,
        address: U64,
        first_word: U64,
        word_count: U64,
    }
}

impl RawPlace {
    /// Encodes a memory. The DRAM bank is returned separately, because sections store it at another
    /// offset.
    pub(super) fn new(read_number: u32, chip_id: u32, memory: Memory) -> (Self, U32) {
        let (number, core, bank) = match memory {
            Memory::L1(core) => (L1, core, 0),
            Memory::Dram(bank) => (DRAM, Noc0Coord { x: 0, y: 0 }, bank),
            Memory::WallClock(core) => (WALL_CLOCK, core, 0),
            Memory::Host => (HOST, Noc0Coord { x: 0, y: 0 }, 0),
        };
        let place = Self {
            read_number: U32::new(read_number),
            chip_id: U32::new(chip_id),
            x: U16::new(core.x),
            y: U16::new(core.y),
            memory: number,
        };
        (place, U32::new(bank))
    }

    pub(super) fn memory(
        &self,
        bank: U32,
        fields: &Fields<'_>,
    ) -> Result<Memory, MalformedPayload> {
        match self.memory {
            L1 => Ok(Memory::L1(self.core())),
            DRAM => Ok(Memory::Dram(bank.get())),
            WALL_CLOCK => Ok(Memory::WallClock(self.core())),
            HOST => Ok(Memory::Host),
            other => Err(fields.fault("memory", "0 to 3", &other)),
        }
    }

    pub(super) fn core(&self) -> Noc0Coord {
        Noc0Coord { x: self.x.get(), y: self.y.get() }
    }
}

// A capture stores each of these values as its index in its list.
const _: () = assert!(WordsContent::Control as u8 == 1 && WordsContent::WallClock as u8 == 5);
const _: () = assert!(matches!(
    Risc::ALL,
    [
        Risc::Brisc,
        Risc::Ncrisc,
        Risc::Trisc0,
        Risc::Trisc1,
        Risc::Trisc2,
        Risc::Erisc,
        Risc::TensixAggregate,
        ..
    ]
));
