//! Location of this core's lanes in DRAM, computed from the control words that the host wrote.

use crate::{
    port::Port,
    state::{offset, word_count},
};
use wire::{
    LaneEnd,
    control::{ControlLayout, ext},
    dram::{DEFAULT_PROGRAM_SUPPORT_COUNT, bytes_per_program},
    risc::RISCS_PER_CORE,
    run::IdPacking,
    vector,
};

/// Layout of the control vector that this runtime writes.
pub(crate) const CONTROL: ControlLayout = ControlLayout::WORDS64;

/// Packing of the ID words.
pub(crate) const PACKING: IdPacking = IdPacking::RISC5;

/// Location of one core's lanes in DRAM; all lanes have the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lanes {
    /// Length of a lane in words; 0 if the core has no lanes.
    pub(crate) words: u32,
    /// Index of the DRAM bank that holds the lanes. A bank with this index always exists.
    pub(crate) bank: u32,
    /// Address, in bytes within the bank, of the first lane's first word.
    pub(crate) first_address: u32,
}

impl Lanes {
    /// Reads the location of the lanes from the control vector at the address `control`.
    ///
    /// The lanes have a length of 0 words, so that no record is stored, in four cases: the DRAM
    /// address is 0, the number of cores per bank is 0, the flat id has more than eight bits, or
    /// the bank does not exist.
    #[inline(always)]
    pub(crate) fn new<P: Port + ?Sized>(port: &mut P, control: u32) -> Self {
        const NONE: Lanes = Lanes { words: 0, bank: 0, first_address: 0 };
        let region = port.load(control + offset(CONTROL.dram_address));
        let flat_id = port.load(control + offset(CONTROL.flat_id));
        let cores_per_bank = port.load(control + offset(CONTROL.cores_per_bank));
        let mut words = port.load(control + offset(ext::DRAM_LANE_WORDS));
        if region == 0 || cores_per_bank == 0 || flat_id > FLAT_ID_MAX {
            return NONE;
        }
        let bank = flat_id / cores_per_bank;
        if bank >= port.bank_count() {
            return NONE;
        }
        if words == 0 {
            words = bytes_per_program(port.sums_enabled()) / 4 * DEFAULT_PROGRAM_SUPPORT_COUNT;
        }
        words &= !(PUSH_ALIGN_WORDS - 1);
        let lanes_before = (flat_id - bank * cores_per_bank).wrapping_mul(LANES_PER_CORE);
        let first = region.wrapping_add(lanes_before.wrapping_mul(words).wrapping_mul(4));
        Self { words, bank, first_address: first.wrapping_add(port.bank_offset(bank)) }
    }
}

/// Position in a DRAM lane at which the next push is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index in the lane of the push's first word.
    pub(crate) position: u32,
    /// Value of the lane's control word after the push; `None` if there is no room.
    pub(crate) end: Option<u32>,
    /// Index in the lane of the first word after the free room. The free room begins at the lane's
    /// end.
    limit: u32,
}

impl Lanes {
    /// Finds room for `count` words in a RISC's DRAM lane; `end` is the lane's control word.
    ///
    /// The room is after the lane's end, or at the beginning of the lane if the host has already
    /// read more than `count` words there. After a wrap-around, the lane's end never reaches words
    /// that the host has not read yet; see [`LaneEnd`]. `core` is the address of control word `r`,
    /// where `r` is the RISC's index.
    #[cold]
    #[inline(never)]
    pub(crate) fn place<P: Port + ?Sized>(
        &self,
        port: &mut P,
        core: u32,
        (end, count): (u32, u32),
    ) -> Place {
        let words = self.words;
        let can_turn = words <= LaneEnd::TURNING_LANE_WORDS_MAX;
        let position = LaneEnd::from_word(end, words).end;
        let consumed = port.load(core + CONSUMED);
        if consumed > words {
            return Place { position, end: None, limit: 0 };
        }
        let is_behind = consumed > position;
        let limit = if is_behind { consumed - PUSH_ALIGN_WORDS } else { words };
        if position.wrapping_add(count) <= limit {
            return Place { position, end: Some(end.wrapping_add(count)), limit };
        }
        if can_turn && !is_behind && count < consumed {
            let turned = LaneEnd { end: count, turned_at: Some(position) };
            return Place { position: 0, end: Some(turned.to_word()), limit };
        }
        Place { position, end: None, limit }
    }
}

impl Place {
    /// Returns true if at least the fixed slots of a run fit after the lane's end.
    pub(crate) const fn has_room_for_slots(&self) -> bool {
        self.position.wrapping_add(word_count(vector::FIRST_OPTIONAL)) <= self.limit
    }
}

/// Offset in bytes, from control word `r`, of RISC `r`'s `host_end` word.
pub(crate) const HOST_END: u32 = offset(CONTROL.host_end);
/// Offset in bytes, from control word `r`, of RISC `r`'s `device_end` word.
pub(crate) const DEVICE_END: u32 = offset(CONTROL.device_end);
/// Offset in bytes, from control word `r`, of RISC `r`'s counter of runs not stored completely in
/// DRAM.
pub(crate) const REFUSED_RUNS: u32 = offset(ext::REFUSED_RUNS);
/// Offset in bytes, from control word `r`, of RISC `r`'s counter of markers not stored in DRAM.
pub(crate) const REFUSED_MARKERS: u32 = offset(ext::REFUSED_MARKERS);
/// Offset in bytes, from control word `r`, of the word with the host's read position in RISC `r`'s
/// lane.
pub(crate) const CONSUMED: u32 = offset(ext::CONSUMED);
/// Offset in bytes, from control word `r`, of RISC `r`'s counter of late runs. RISC 0 has no such
/// counter.
pub(crate) const LATE_RUNS: u32 = offset(ext::LATE_RUNS - 1);

/// Converts a RISC's index, or a number of RISCs, to a word.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a core has five RISCs")]
pub(crate) const fn index_word(risc_index: usize) -> u32 {
    risc_index as u32
}

/// Adds `count` to the word at the address `place`, modulo 2^32.
#[inline(always)]
pub(crate) fn add<P: Port + ?Sized>(port: &mut P, place: u32, count: u32) {
    let sum = port.load(place).wrapping_add(count);
    port.store(place, sum);
}

const PUSH_ALIGN_WORDS: u32 = word_count(vector::PUSH_ALIGN_WORDS);
const LANES_PER_CORE: u32 = word_count(RISCS_PER_CORE);
const FLAT_ID_MAX: u32 = 255;
