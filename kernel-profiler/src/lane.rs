//! Where this core's lanes lie in DRAM, from what the host put into the control vector.

use crate::{
    port::{Port, PushDestination},
    state::word_count,
};
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

/// The lanes of one core, each as long as the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes {
    /// Words of one lane; 0 if the host has given the core none.
    pub(crate) words: u32,
    /// Number of the core on its chip.
    pub(crate) flat_id: u32,
    bank: u32,
    first_address: u32,
}

impl Lanes {
    /// Reads what the host has said.
    ///
    /// A core without a DRAM address, with a flat id beyond the format's eight bits or in a
    /// bank that does not exist has lanes of no words: all that it records is counted as lost.
    pub(crate) fn read<P: Port + ?Sized>(port: &mut P) -> Self {
        let region = port.control(CONTROL.dram_address);
        let flat_id = port.control(CONTROL.flat_id);
        let cores_per_bank = port.control(CONTROL.cores_per_bank);
        let mut lanes = Self { words: 0, flat_id, bank: 0, first_address: 0 };
        if region == 0 || cores_per_bank == 0 || flat_id > FLAT_ID_MAX {
            return lanes;
        }
        // A chip has few banks; a divide would cost more and pull in a routine.
        let mut core_in_bank = flat_id;
        while core_in_bank >= cores_per_bank {
            core_in_bank = core_in_bank.wrapping_sub(cores_per_bank);
            lanes.bank = lanes.bank.wrapping_add(1);
        }
        if lanes.bank >= port.bank_count() {
            return lanes;
        }
        let stated = port.control(ext::DRAM_LANE_WORDS);
        let words = if stated == 0 { port.default_lane_words() } else { stated };
        lanes.words = words & !(PUSH_ALIGN_WORDS - 1);
        let core_words = lanes.words.wrapping_mul(LANES_PER_CORE);
        let offset = core_in_bank.wrapping_mul(core_words).wrapping_mul(4);
        lanes.first_address = region.wrapping_add(offset);
        lanes
    }

    /// Words still free behind `host_end` words.
    pub(crate) const fn words_free(&self, host_end: u32) -> u32 {
        self.words.saturating_sub(host_end)
    }

    /// Where word `word` of a RISC's lane lies.
    #[expect(clippy::cast_possible_truncation, reason = "a core has five RISCs")]
    pub(crate) const fn place(&self, risc_index: usize, word: u32) -> PushDestination {
        let words = self.words.wrapping_mul(risc_index as u32).wrapping_add(word);
        let address = self.first_address.wrapping_add(words.wrapping_mul(4));
        PushDestination { bank: self.bank, address }
    }
}

/// The third ID word of a RISC's run.
#[expect(clippy::cast_possible_truncation, reason = "a core has five RISCs")]
pub(crate) const fn id_word(risc_index: usize, flat_id: u32, trace_count: u32) -> u32 {
    PACKING.pack(risc_index as u32, flat_id, trace_count)
}

/// Writes the ID words that the runtime owns; the program id stays.
pub(crate) fn stamp_id<P: Port + ?Sized>(port: &mut P, risc_index: usize, id_word: u32) {
    port.set_vector(risc_index, 0, 0);
    port.set_vector(risc_index, 1, 0);
    port.set_vector(risc_index, wire::run::ID_LH, id_word);
}

/// RISCs of this core that have a vector, never more than the format has words for.
pub(crate) fn risc_count<P: Port + ?Sized>(port: &P) -> usize {
    port.risc_count().min(RISCS_PER_CORE)
}

/// Whether this RISC pushes the markers of the whole core.
pub(crate) fn is_aggregator<P: Port + ?Sized>(port: &P) -> bool {
    port.risc_index() == 0
}

const PUSH_ALIGN_WORDS: u32 = word_count(vector::PUSH_ALIGN_WORDS);
const LANES_PER_CORE: u32 = word_count(RISCS_PER_CORE);
const FLAT_ID_MAX: u32 = 255;
