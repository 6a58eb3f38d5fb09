//! The processors of a core, their indices and the names that reports give them.
//!
//! # Compatibility
//! Labels as in column 4 of upstream's `profile_log_device.csv`.

/// RISCs of a Tensix core, and the number of DRAM lanes that every core owns.
///
/// # Compatibility
/// Upstream's HAL: the largest processor count of any core kind on Wormhole and Blackhole.
pub const RISCS_PER_CORE: usize = 5;

/// A kind of core that can be profiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoreKind {
    /// A compute tile: BRISC, NCRISC and three TRISCs.
    Tensix,
    /// An Ethernet tile with a link, one ERISC read.
    ActiveEth,
    /// An Ethernet tile without a link, one ERISC read.
    IdleEth,
}

impl CoreKind {
    /// How many RISCs of such a core have a lane of markers.
    #[must_use]
    pub const fn risc_count(self) -> usize {
        match self {
            Self::Tensix => RISCS_PER_CORE,
            Self::ActiveEth | Self::IdleEth => 1,
        }
    }

    /// The processor with this index, or `None` where the core has no such processor.
    ///
    /// ```
    /// use wire::{CoreKind, Risc};
    /// assert_eq!(CoreKind::Tensix.risc(1), Some(Risc::Ncrisc));
    /// assert_eq!(CoreKind::ActiveEth.risc(0), Some(Risc::Erisc));
    /// assert_eq!(CoreKind::ActiveEth.risc(1), None);
    /// ```
    #[must_use]
    pub const fn risc(self, index: usize) -> Option<Risc> {
        match (self, index) {
            (Self::Tensix, 0) => Some(Risc::Brisc),
            (Self::Tensix, 1) => Some(Risc::Ncrisc),
            (Self::Tensix, 2) => Some(Risc::Trisc0),
            (Self::Tensix, 3) => Some(Risc::Trisc1),
            (Self::Tensix, 4) => Some(Risc::Trisc2),
            (Self::ActiveEth | Self::IdleEth, 0) => Some(Risc::Erisc),
            _ => None,
        }
    }
}

/// A processor that writes markers, in the order of upstream's reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Risc {
    /// The data-movement core that starts the others and pushes their markers.
    Brisc,
    /// The second data-movement core.
    Ncrisc,
    /// Unpack.
    Trisc0,
    /// Math.
    Trisc1,
    /// Pack.
    Trisc2,
    /// The core of an Ethernet tile.
    Erisc,
    /// All RISCs of a Tensix core as one lane (trace-only mode).
    TensixAggregate,
}

impl Risc {
    /// Every processor, in report order.
    pub const ALL: [Self; 7] = [
        Self::Brisc,
        Self::Ncrisc,
        Self::Trisc0,
        Self::Trisc1,
        Self::Trisc2,
        Self::Erisc,
        Self::TensixAggregate,
    ];

    /// The index of this processor in its core's control vector and DRAM page.
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Brisc | Self::Erisc | Self::TensixAggregate => 0,
            Self::Ncrisc => 1,
            Self::Trisc0 => 2,
            Self::Trisc1 => 3,
            Self::Trisc2 => 4,
        }
    }

    /// The name that reports use.
    ///
    /// ```
    /// assert_eq!(wire::Risc::Trisc0.label(), "TRISC_0");
    /// ```
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Brisc => "BRISC",
            Self::Ncrisc => "NCRISC",
            Self::Trisc0 => "TRISC_0",
            Self::Trisc1 => "TRISC_1",
            Self::Trisc2 => "TRISC_2",
            Self::Erisc => "ERISC",
            Self::TensixAggregate => "TENSIX_RISC_AGG",
        }
    }

    /// The processor that reports call `label`; `CORE_AGG` is an older name of the aggregate.
    ///
    /// ```
    /// use wire::Risc;
    /// assert_eq!(Risc::from_label("NCRISC"), Some(Risc::Ncrisc));
    /// assert_eq!(Risc::from_label("CORE_AGG"), Some(Risc::TensixAggregate));
    /// assert_eq!(Risc::from_label(" BRISC"), None);
    /// ```
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        if label == "CORE_AGG" {
            return Some(Self::TensixAggregate);
        }
        Self::ALL.into_iter().find(|risc| risc.label() == label)
    }
}

impl core::fmt::Display for Risc {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.label())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_names_its_processor() {
        for risc in Risc::ALL {
            assert_eq!(Risc::from_label(risc.label()), Some(risc));
        }
    }

    #[test]
    fn index_and_kind_agree_for_every_core() {
        for kind in [CoreKind::Tensix, CoreKind::ActiveEth, CoreKind::IdleEth] {
            for index in 0..kind.risc_count() {
                assert_eq!(kind.risc(index).map(Risc::index), Some(index));
            }
            assert_eq!(kind.risc(kind.risc_count()), None);
        }
    }
}
