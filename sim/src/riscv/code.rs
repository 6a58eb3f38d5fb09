//! Decoded code of one hart, stored in lines. Each line covers an address range of L1 or
//! instruction RAM.
//!
//! Instructions are decoded lazily, one straight-line run at a time. All lines are dropped when the
//! tile's [`CodeWatch`] reports that decoded code was overwritten.

use super::bus::{Bus, INSTRUCTION_RAM_BASE};
use super::decode::{Code, Op, decode, decode_bits};
use super::front::CodeWatch;
use super::trap::TrapKind;

/// Number of code bytes that one line covers.
pub(super) const LINE_BYTE_COUNT: u32 = 1 << LINE_SHIFT;
const LINE_SHIFT: u32 = 10;
const LINE_OP_COUNT: usize = LINE_BYTE_COUNT as usize / 4;

/// Upper limit of the L1 addresses of code; the L1 of both architectures is smaller.
const L1_LIMIT: u32 = 1 << 21;
/// Size in bytes of the address range for instruction RAM, which begins at
/// [`INSTRUCTION_RAM_BASE`].
const INSTRUCTION_RAM_LIMIT: u32 = 1 << 16;

/// A line of decoded code; instructions that have not been decoded are [`Code::Undecoded`].
#[derive(Clone, Debug)]
pub(super) struct Line([Op; LINE_OP_COUNT]);

impl Line {
    /// Returns the instruction at a byte offset in the line; the offset is below
    /// [`LINE_BYTE_COUNT`].
    #[inline(always)]
    pub(super) fn at(&self, offset: u32) -> &Op {
        &self.0[(offset >> 2) as usize & (LINE_OP_COUNT - 1)]
    }
}

/// The lines of decoded code, found by address.
#[derive(Clone, Debug, Default)]
pub(super) struct CodeCache {
    lines: Vec<Line>,
    /// For each line number (see [`line_number`]), 1 + the line's index in `lines`; 0 if the line
    /// has not been created.
    index: Vec<u16>,
    epoch: u64,
}

impl CodeCache {
    /// Drops all lines if decoded code was overwritten since the last call.
    pub(super) fn follow(&mut self, watch: &CodeWatch) {
        if self.epoch != watch.epoch() {
            self.lines.clear();
            self.index.clear();
            self.epoch = watch.epoch();
        }
    }

    /// Returns the index in `lines` of the line that covers `pc`; creates the line if necessary.
    pub(super) fn open(&mut self, pc: u32) -> Result<usize, TrapKind> {
        let number = line_number(pc).ok_or(TrapKind::FetchOutside)?;
        if number >= self.index.len() {
            self.index.resize(number + 1, 0);
        }
        if self.index[number] == 0 {
            self.lines.push(Line([Op::default(); LINE_OP_COUNT]));
            // There are fewer line numbers than `u16` has values.
            self.index[number] = u16::try_from(self.lines.len()).unwrap_or(u16::MAX);
        }
        Ok(usize::from(self.index[number]) - 1)
    }

    #[inline(always)]
    pub(super) fn line(&self, index: usize) -> &Line {
        &self.lines[index]
    }

    /// Decodes instructions from `pc` to the end of the straight-line run or to the end of the
    /// line, whichever comes first.
    pub(super) fn fill<B: Bus>(
        &mut self,
        pc: u32,
        bus: &B,
        watch: &mut CodeWatch,
    ) -> Result<(), TrapKind> {
        let index = self.open(pc)?;
        let line = &mut self.lines[index].0;
        let first = (pc % LINE_BYTE_COUNT / 4) as usize;
        let mut at = pc;
        for op in &mut line[first..] {
            let Some(word) = fetch(bus, at) else { break };
            if op.code != Code::Undecoded {
                break;
            }
            *op = decode(word, at);
            if op.code == Code::Illegal && bus.has_bit_manipulation() {
                *op = decode_bits(word).unwrap_or(*op);
            }
            watch.cover(at);
            if op.ends_run() {
                return Ok(());
            }
            at = at.wrapping_add(4);
        }
        if at == pc { Err(TrapKind::FetchOutside) } else { Ok(()) }
    }
}

/// Returns the instruction word at an aligned address; `None` if there can be no code at the
/// address.
pub(super) fn fetch<B: Bus>(bus: &B, address: u32) -> Option<u32> {
    let (memory, offset) = match address.checked_sub(INSTRUCTION_RAM_BASE) {
        Some(offset) => (bus.instruction_ram(), offset),
        None => (bus.l1(), address),
    };
    let bytes = memory.get(offset as usize..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

/// Returns true if there can be code at an address: in L1 or in the instruction RAM.
pub(crate) fn is_code(address: u32) -> bool {
    line_number(address).is_some()
}

fn line_number(pc: u32) -> Option<usize> {
    let number = if pc < L1_LIMIT {
        pc >> LINE_SHIFT
    } else {
        let offset = pc.checked_sub(INSTRUCTION_RAM_BASE)?;
        if offset >= INSTRUCTION_RAM_LIMIT {
            return None;
        }
        (L1_LIMIT + offset) >> LINE_SHIFT
    };
    Some(number as usize)
}
