//! Words read from a chip, in the order in which they were read.
//!
//! Kind 3, version 1.0:
//!
//! ```text
//!  0  u32  number of the read, from 0     16  u32  DRAM bank
//!  4  u32  chip id                        20  u32  0
//!  8  u16  NoC-0 x                        24  u64  byte address of the first word
//! 10  u16  NoC-0 y                        32  u64  index of that word in the lane or vector
//! 12  u8   memory: 0 = L1, 1 = DRAM,      40  u64  word count
//!          2 = wall clock, 3 = host       48  u32  words ...
//! 13  u8   content: see below
//! 14  u8   RISC, in report order; 0xFF if none
//! 15  u8   0
//! ```
//!
//! The field "content" is 1 for a control vector, 2 for a lane in DRAM, 3 for a vector in L1, 4 for
//! a loss log, 5 for a wall clock (low word, high word), and 0 for anything else. This field is
//! only a label for people and tools. A replay only needs the memory and the address.
//!
//! The payload and its words both begin at multiples of eight bytes.

use super::{
    Payload, SectionKind,
    fields::{Fields, Record, number_of, put_u16s, put_u32s, put_u64s, put_words},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use reader::{
    lane::LaneId,
    mesh::{Memory, Noc0Coord},
};
use std::borrow::Cow;
use wire::Risc;

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
    /// All kinds. A capture stores a kind as its index in this list.
    const ALL: [Self; 6] =
        [Self::Other, Self::Control, Self::Lane, Self::Vector, Self::LossLog, Self::WallClock];
}

/// Words read by one access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryWords<'file> {
    /// Number of the read in the capture, counted from 0.
    pub read_number: u32,
    /// Number of the chip.
    pub chip_id: u32,
    /// Memory from which the words were read.
    pub memory: Memory,
    /// Byte address of the first word.
    pub address: u64,
    /// Kind of data that the words contain.
    pub content: WordsContent,
    /// Lane of the RISC that the words belong to; `None` if they belong to no RISC or to several
    /// RISCs.
    pub lane: Option<LaneId>,
    /// Index of the first word in its lane, vector or control vector.
    pub first_word: u64,
    /// The words.
    pub words: Cow<'file, [u32]>,
}

impl<'file> Payload<'file> for MemoryWords<'file> {
    const KIND: SectionKind = SectionKind::MEMORY;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        let mut access = AccessHead::new(self.read_number, self.chip_id, self.memory);
        if let Some(lane) = self.lane.filter(|_| access.memory == DRAM) {
            access.core = lane.core;
        }
        let risc = self.lane.map_or(NO_RISC, |lane| number_of(&Risc::ALL, &lane.risc));
        access.details = [number_of(&WordsContent::ALL, &self.content), risc];
        access.put(buffer);
        put_u64s(buffer, [self.address, self.first_word, self.words.len() as u64]);
        put_words(buffer, &self.words);
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let mut head = fields.record("head", 48)?;
        let access = AccessHead::take(&mut head);
        let [address, first_word, word_count] = head.u64s();
        let AccessHead { read_number, chip_id, core, details: [content, risc], .. } = access;
        let content = fields.item("content", &WordsContent::ALL, content.into())?;
        let memory = access.memory(&fields)?;
        let lane = match risc {
            NO_RISC => None,
            risc => Some(LaneId { chip_id, core, risc: risc_of_number(risc, &fields)? }),
        };
        let words = fields.words("words", word_count)?;
        Ok(Self { read_number, chip_id, memory, address, content, lane, first_word, words })
    }
}

/// Returns the RISC that a capture stores as `number`.
pub(super) fn risc_of_number(number: u8, fields: &Fields<'_>) -> Result<Risc, MalformedPayload> {
    let risc = Risc::ALL.get(usize::from(number)).copied();
    risc.ok_or_else(|| fields.fault("RISC", "0 to 6", &number))
}

const NO_RISC: u8 = 0xFF;
const L1: u8 = 0;
const DRAM: u8 = 1;
const WALL_CLOCK: u8 = 2;
const HOST: u8 = 3;

/// The fields with which the payloads of memory words and of failed accesses begin.
pub(super) struct AccessHead {
    pub(super) read_number: u32,
    pub(super) chip_id: u32,
    pub(super) core: Noc0Coord,
    /// Code of the memory: 0 = L1, 1 = DRAM, 2 = wall clock, 3 = host.
    memory: u8,
    /// Two fields with a meaning that depends on the kind of section.
    pub(super) details: [u8; 2],
    bank: u32,
    /// Size of the text after the fields; 0 if there is none.
    pub(super) text_bytes: u32,
}

impl AccessHead {
    pub(super) const fn new(read_number: u32, chip_id: u32, memory: Memory) -> Self {
        let (memory, core, bank) = match memory {
            Memory::L1(core) => (L1, core, 0),
            Memory::Dram(bank) => (DRAM, Noc0Coord { x: 0, y: 0 }, bank),
            Memory::WallClock(core) => (WALL_CLOCK, core, 0),
            Memory::Host => (HOST, Noc0Coord { x: 0, y: 0 }, 0),
        };
        Self { read_number, chip_id, core, memory, details: [0; 2], bank, text_bytes: 0 }
    }

    pub(super) fn put(&self, buffer: &mut Vec<u8>) {
        put_u32s(buffer, [self.read_number, self.chip_id]);
        put_u16s(buffer, [self.core.x, self.core.y]);
        let [first, second] = self.details;
        buffer.extend([self.memory, first, second, 0]);
        put_u32s(buffer, [self.bank, self.text_bytes]);
    }

    pub(super) fn take(record: &mut Record<'_>) -> Self {
        let [read_number, chip_id] = record.u32s();
        let [x, y] = record.u16s();
        let [memory, first, second, _] = record.u8s();
        let [bank, text_bytes] = record.u32s();
        let (core, details) = (Noc0Coord { x, y }, [first, second]);
        Self { read_number, chip_id, core, memory, details, bank, text_bytes }
    }

    pub(super) fn memory(&self, fields: &Fields<'_>) -> Result<Memory, MalformedPayload> {
        match self.memory {
            L1 => Ok(Memory::L1(self.core)),
            DRAM => Ok(Memory::Dram(self.bank)),
            WALL_CLOCK => Ok(Memory::WallClock(self.core)),
            HOST => Ok(Memory::Host),
            other => Err(fields.fault("memory", "0 to 3", &other)),
        }
    }
}

// A capture stores a RISC as its index in this list.
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
