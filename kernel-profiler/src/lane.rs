//! Where this core's lanes lie in DRAM, from what the host put into the control vector.

use crate::{port::Port, state::word_count};
use wire::{
    control::{ControlLayout, ext},
    risc::RISCS_PER_CORE,
    run::IdPacking,
    vector,
};

/// The control vector that this runtime writes.
pub(crate) const CONTROL: ControlLayout = ControlLayout::WORDS64;

/// How the runtime packs the ID words.
pub(crate) const PACKING: IdPacking = IdPacking::RISC5;

/// The third ID word of a core's runs, on RISC 0.
///
/// A flat id beyond the format's eight bits is not cut off, since such a core has no lanes.
#[inline(always)]
pub(crate) const fn id_word(flat_id: u32, trace_count: u32) -> u32 {
    PACKING.pack(0, 0, trace_count) | flat_id << PACKING.risc_bits
}

/// The lanes of one core, each as long as the others.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lanes {
    /// Words of one lane; 0 if the host has given the core none.
    pub(crate) words: u32,
    /// The DRAM bank, one that exists.
    pub(crate) bank: u32,
    /// Byte address of the first lane's first word in that bank.
    pub(crate) first_address: u32,
}

impl Lanes {
    /// No lanes.
    pub(crate) const NONE: Self = Self { words: 0, bank: 0, first_address: 0 };

    /// Reads what the host has said.
    ///
    /// A core without a DRAM address, with a flat id beyond the format's eight bits or in a
    /// bank that does not exist has lanes of no words: all that it records is counted as lost.
    #[inline(always)]
    pub(crate) fn read<P: Port + ?Sized>(&mut self, port: &mut P) {
        self.words = 0;
        let flat_id = port.control(CONTROL.flat_id);
        let region = port.control(CONTROL.dram_address);
        let cores_per_bank = port.control(CONTROL.cores_per_bank);
        if region == 0 || cores_per_bank == 0 || flat_id > FLAT_ID_MAX {
            return;
        }
        let bank = flat_id / cores_per_bank;
        if bank >= port.bank_count() {
            return;
        }
        let mut words = port.control(ext::DRAM_LANE_WORDS);
        if words == 0 {
            words = port.default_lane_words();
        }
        words &= !(PUSH_ALIGN_WORDS - 1);
        let lanes_before = flat_id - bank * cores_per_bank;
        let first = region.wrapping_add(
            lanes_before.wrapping_mul(words).wrapping_mul(port.opaque(4 * LANES_PER_CORE)),
        );
        self.first_address = first.wrapping_add(port.bank_offset(bank));
        (self.words, self.bank) = (words, bank);
    }

    /// How far the lane of a RISC may be filled: not at all once a launch has been entered
    /// into its loss log, until the host has read it. `core` is the place of the RISC's first
    /// control word.
    #[inline(always)]
    pub(crate) fn limit<P: Port + ?Sized>(&self, port: &mut P, core: u32) -> u32 {
        if port.load(core + LOST_LAUNCHES) != 0 { 0 } else { self.words }
    }

    /// The address of word `word` of a RISC's lane.
    #[inline(always)]
    pub(crate) const fn address(&self, risc_index: usize, word: u32) -> u32 {
        let words = self.words.wrapping_mul(index_word(risc_index)).wrapping_add(word);
        self.first_address.wrapping_add(words.wrapping_mul(4))
    }
}

/// From the place of control word `r`, those of the words that RISC `r` has in blocks.
pub(crate) const HOST_END: u32 = word_count(CONTROL.host_end) * 4;
/// See [`HOST_END`].
pub(crate) const DEVICE_END: u32 = word_count(CONTROL.device_end) * 4;
/// See [`HOST_END`].
pub(crate) const SEEN_END: u32 = word_count(ext::SEEN_END) * 4;
/// See [`HOST_END`].
pub(crate) const SEEN_LOST: u32 = word_count(ext::SEEN_LOST) * 4;
/// See [`HOST_END`].
pub(crate) const LOST_LAUNCHES: u32 = word_count(ext::LOST_LAUNCHES) * 4;
/// See [`HOST_END`].
pub(crate) const LOSS_LOG_WORDS: u32 = word_count(ext::LOSS_LOG_WORDS) * 4;
/// See [`HOST_END`].
pub(crate) const LEFT_EVENTS: u32 = word_count(ext::LEFT_EVENTS) * 4;
/// See [`HOST_END`].
pub(crate) const NEXT_END: u32 = word_count(ext::NEXT_END) * 4;

/// The index or the number of RISCs as a word.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a core has five RISCs")]
pub(crate) const fn index_word(risc_index: usize) -> u32 {
    risc_index as u32
}

/// Whether this RISC pushes the markers of the whole core.
#[inline(always)]
pub(crate) fn is_aggregator<P: Port + ?Sized>(port: &P) -> bool {
    port.risc_index() == 0
}

const PUSH_ALIGN_WORDS: u32 = word_count(vector::PUSH_ALIGN_WORDS);
const LANES_PER_CORE: u32 = word_count(RISCS_PER_CORE);
const FLAT_ID_MAX: u32 = 255;
