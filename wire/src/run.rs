//! Run headers: the four words at the start of a run, which name the core, RISC and program of its
//! markers.
//!
//! ```text
//! word 0  ID_HH  0                                      bit 31 is clear, so this is no marker
//! word 1  ID_HL  0
//! word 2  ID_LH  31 .. 29 generation | 28 .. 13 trace counter | 12 .. 5 flat core id | 4 .. 0 RISC
//! word 3  ID_LL  program id as launched
//! ```
//!
//! The field `generation` is an extension of kprof. This field holds the generation of the core's
//! lanes ([`crate::control::ext::GENERATION`]) modulo 8. A run whose generation differs from the
//! core's was written before the lanes were last reset.
//!
//! # Compatibility
//! TT-Metal leaves bits 31 .. 29 of word 2 clear and its reader masks them away.

/// Size of a run header in words.
pub const RUN_HEADER_WORDS: usize = 4;

/// Index of the word that packs RISC, core, trace counter and generation.
pub const ID_LH: usize = 2;
/// Index of the word that holds the program id.
pub const ID_LL: usize = 3;

/// Positions of the fields in word 2 of a run header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IdPacking {
    /// Number of bits of the RISC index. The index begins at bit 0.
    pub risc_bits: u32,
}

impl IdPacking {
    /// Layout with 5 bits of RISC, 8 of core, 16 of trace counter, 3 of generation.
    pub const RISC5: Self = Self { risc_bits: 5 };
    /// Layout with 3 bits of RISC, 8 of core, 16 of trace counter, no generation; used before 2026.
    pub const RISC3: Self = Self { risc_bits: 3 };

    /// Returns word 2 of a run header with TT-Metal's three fields. Bits that do not fit their
    /// field are truncated.
    #[must_use]
    pub const fn pack(self, risc_index: u32, flat_id: u32, trace_counter: u32) -> u32 {
        (risc_index & self.risc_mask())
            | ((flat_id & FLAT_ID_MASK) << self.risc_bits)
            | ((trace_counter & TRACE_MASK) << self.trace_shift())
    }

    /// Returns the RISC index in `id_lh`, which is word 2 of a run header.
    #[must_use]
    pub const fn risc_index(self, id_lh: u32) -> u32 {
        id_lh & self.risc_mask()
    }

    /// Returns the flat core id in `id_lh`, which is word 2 of a run header.
    #[must_use]
    pub const fn flat_id(self, id_lh: u32) -> u32 {
        (id_lh >> self.risc_bits) & FLAT_ID_MASK
    }

    /// Returns the trace counter in `id_lh`, which is word 2 of a run header. The counter is 0
    /// before the first trace replay.
    #[must_use]
    pub const fn trace_counter(self, id_lh: u32) -> u32 {
        (id_lh >> self.trace_shift()) & TRACE_MASK
    }

    /// Returns the mask of the bits in word 2 of a run header that hold the trace counter.
    #[must_use]
    pub const fn trace_field(self) -> u32 {
        TRACE_MASK << self.trace_shift()
    }

    /// Returns the generation in `id_lh`, which is word 2 of a run header; 0 if this packing has no
    /// generation.
    #[must_use]
    pub const fn generation(self, id_lh: u32) -> u32 {
        match self {
            Self::RISC5 => id_lh >> GENERATION_SHIFT,
            _ => 0,
        }
    }

    /// Returns `generation` modulo 8, shifted to its position in word 2 of a run header; 0 if this
    /// packing has no generation.
    #[must_use]
    pub const fn generation_field(self, generation: u32) -> u32 {
        match self {
            Self::RISC5 => generation << GENERATION_SHIFT,
            _ => 0,
        }
    }

    const fn risc_mask(self) -> u32 {
        (1 << self.risc_bits) - 1
    }

    const fn trace_shift(self) -> u32 {
        self.risc_bits + FLAT_ID_BITS
    }
}

/// A decoded run header.
///
/// ```
/// use wire::{RunHeader, run::IdPacking};
/// let header =
///     RunHeader { risc_index: 0, flat_id: 7, trace_counter: 0, generation: 1, program_id: 0x400 };
/// assert_eq!(header.to_words(IdPacking::RISC5), [0, 0, 0x2000_00E0, 0x400]);
/// assert_eq!(header.to_words(IdPacking::RISC3), [0, 0, 0x38, 0x400]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RunHeader {
    /// Index of the RISC in its core.
    pub risc_index: u32,
    /// Number of the core on its chip, 8 bits.
    pub flat_id: u32,
    /// Number of trace replays that had begun on the core when the run was launched, modulo 2^16; 0
    /// if none.
    pub trace_counter: u32,
    /// Generation of the core's lanes modulo [`GENERATIONS`]; 0 if TT-Metal's runtime wrote the
    /// run.
    pub generation: u32,
    /// Id of the program that was launched.
    pub program_id: u32,
}

impl RunHeader {
    /// Returns the four words of this header.
    #[must_use]
    pub const fn to_words(self, packing: IdPacking) -> [u32; RUN_HEADER_WORDS] {
        let id_lh = packing.pack(self.risc_index, self.flat_id, self.trace_counter);
        [0, 0, id_lh | packing.generation_field(self.generation), self.program_id]
    }

    /// Decodes a header from its last two words. The caller must have checked that the first two
    /// words are zero.
    #[must_use]
    pub const fn from_id_words(packing: IdPacking, id_lh: u32, id_ll: u32) -> Self {
        Self {
            risc_index: packing.risc_index(id_lh),
            flat_id: packing.flat_id(id_lh),
            trace_counter: packing.trace_counter(id_lh),
            generation: packing.generation(id_lh),
            program_id: id_ll,
        }
    }
}

/// Number of generations that a run header can distinguish.
pub const GENERATIONS: u32 = 1 << (u32::BITS - GENERATION_SHIFT);

const GENERATION_SHIFT: u32 = 29;
const FLAT_ID_BITS: u32 = 8;
const FLAT_ID_MASK: u32 = (1 << FLAT_ID_BITS) - 1;
const TRACE_MASK: u32 = 0xFFFF;

const _: () = assert!(IdPacking::RISC5.trace_field() == 0x1FFF_E000);
const _: () = assert!(IdPacking::RISC5.trace_field() >> GENERATION_SHIFT == 0 && GENERATIONS == 8);
const _: () = assert!(IdPacking::RISC3.trace_field() == 0x07FF_F800);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn headers_survive_both_packings(
            risc_index in 0_u32..8, flat_id in 0_u32..256, trace_counter in 0_u32..65536,
            generation in 0_u32..8, program_id in any::<u32>(),
        ) {
            for packing in [IdPacking::RISC5, IdPacking::RISC3] {
                let generation = if packing == IdPacking::RISC5 { generation } else { 0 };
                let header =
                    RunHeader { risc_index, flat_id, trace_counter, generation, program_id };
                let [zero, also_zero, id_lh, id_ll] = header.to_words(packing);
                prop_assert_eq!((zero, also_zero), (0, 0));
                prop_assert_eq!(RunHeader::from_id_words(packing, id_lh, id_ll), header);
            }
        }
    }
}
