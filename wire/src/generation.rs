//! Generations of the format, as data.
//!
//! Nothing in the memory itself says which generation wrote it, except the signature of
//! our own runtime. Choosing one is the reader's job, not this module's.

use crate::{control::ControlLayout, marker::HeaderLayout, run::IdPacking};

/// Everything that differs between upstream's released formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// A name for messages and options.
    pub name: &'static str,
    /// Where the words of the control vector lie.
    pub control: ControlLayout,
    /// How a run header packs RISC, core and trace counter.
    pub id_packing: IdPacking,
    /// How a marker header is divided between id and time.
    pub header: HeaderLayout,
}

/// Generation that our runtime and upstream's main branch of 2026 write.
pub const CURRENT: Generation = Generation {
    name: "current",
    control: ControlLayout::WORDS64,
    id_packing: IdPacking::RISC5,
    header: HeaderLayout::ID16_TIME12,
};

/// Generation that upstream wrote before the 64-word control vector.
pub const LEGACY: Generation = Generation {
    name: "legacy",
    control: ControlLayout::WORDS32,
    id_packing: IdPacking::RISC3,
    header: HeaderLayout::ID16_TIME12,
};

/// Every generation that a reader can be asked for by name.
pub const ALL: [Generation; 2] = [CURRENT, LEGACY];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        assert_ne!(ALL[0].name, ALL[1].name);
    }
}
