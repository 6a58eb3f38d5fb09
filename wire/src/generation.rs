//! Parameters of each generation (version) of the format.
//!
//! Nothing in device memory names the version of the format, except the signature of kprof's own
//! runtime. It is the reader, and not this module, that chooses the generation.

use crate::{control::ControlLayout, marker::HeaderLayout, run::IdPacking};

/// Everything that differs between TT-Metal's released formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Name of the generation in messages and options.
    pub name: &'static str,
    /// Layout of the control vector.
    pub control: ControlLayout,
    /// Packing of RISC, core and trace counter in a run header.
    pub id_packing: IdPacking,
    /// Division of a marker header into id and time.
    pub header: HeaderLayout,
}

/// Format written by kprof's runtime and by TT-Metal's main branch of 2026.
pub const CURRENT: Generation = Generation {
    name: "current",
    control: ControlLayout::WORDS64,
    id_packing: IdPacking::RISC5,
    header: HeaderLayout::ID16_TIME12,
};

/// Format that TT-Metal wrote before the 64-word control vector was introduced.
pub const LEGACY: Generation = Generation {
    name: "legacy",
    control: ControlLayout::WORDS32,
    id_packing: IdPacking::RISC3,
    header: HeaderLayout::ID16_TIME12,
};

/// All generations that a user can request by name.
pub const ALL: [Generation; 2] = [CURRENT, LEGACY];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        assert_ne!(ALL[0].name, ALL[1].name);
    }
}
