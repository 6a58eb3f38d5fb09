//! The processors of a core, their indices and the names that reports give them.
//!
//! # Compatibility
//! Labels as in column 4 of TT-Metal's `profile_log_device.csv`.

/// Number of RISCs of a Tensix core, and number of DRAM lanes that every core owns.
///
/// # Compatibility
/// TT-Metal's HAL: the largest processor count of any core kind on Wormhole and Blackhole.
pub const RISCS_PER_CORE: usize = 5;

/// A kind of core that can be profiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoreKind {
    /// A compute tile: BRISC, NCRISC and three TRISCs.
    Tensix,
    /// An Ethernet tile whose link is connected; one ERISC is read.
    ActiveEth,
    /// An Ethernet tile whose link is not connected; one ERISC is read.
    IdleEth,
}

impl CoreKind {
    /// Returns the number of RISCs of a core of this kind. Each of these RISCs has a lane of
    /// markers.
    #[must_use]
    pub const fn risc_count(self) -> usize {
        match self {
            Self::Tensix => RISCS_PER_CORE,
            Self::ActiveEth | Self::IdleEth => 1,
        }
    }

    /// Returns the processor with this index, or `None` if the core has no such processor.
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

crate::labelled! {
    /// A processor that writes markers, in the order of TT-Metal's reports.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Risc {
        /// The data-movement processor that starts the other RISCs and copies the markers of all
        /// RISCs to DRAM.
        Brisc = "BRISC",
        /// The second data-movement processor.
        Ncrisc = "NCRISC",
        /// The compute processor for unpacking.
        Trisc0 = "TRISC_0",
        /// The compute processor for math.
        Trisc1 = "TRISC_1",
        /// The compute processor for packing.
        Trisc2 = "TRISC_2",
        /// The processor of an Ethernet tile.
        Erisc = "ERISC",
        /// All RISCs of a Tensix core as one lane (trace-only mode).
        TensixAggregate = "TENSIX_RISC_AGG",
        /// Data-movement processor 0 of a Quasar.
        QuasarDm0 = "QUASAR_DM0",
        /// Data-movement processor 1 of a Quasar.
        QuasarDm1 = "QUASAR_DM1",
        /// Data-movement processor 2 of a Quasar.
        QuasarDm2 = "QUASAR_DM2",
        /// Data-movement processor 3 of a Quasar.
        QuasarDm3 = "QUASAR_DM3",
        /// Data-movement processor 4 of a Quasar.
        QuasarDm4 = "QUASAR_DM4",
        /// Data-movement processor 5 of a Quasar.
        QuasarDm5 = "QUASAR_DM5",
        /// Data-movement processor 6 of a Quasar.
        QuasarDm6 = "QUASAR_DM6",
        /// Data-movement processor 7 of a Quasar.
        QuasarDm7 = "QUASAR_DM7",
        /// TRISC 0 of Neo 0 of a Quasar.
        QuasarNeo0Trisc0 = "QUASAR_NEO0_TRISC0",
        /// TRISC 1 of Neo 0 of a Quasar.
        QuasarNeo0Trisc1 = "QUASAR_NEO0_TRISC1",
        /// TRISC 2 of Neo 0 of a Quasar.
        QuasarNeo0Trisc2 = "QUASAR_NEO0_TRISC2",
        /// TRISC 3 of Neo 0 of a Quasar.
        QuasarNeo0Trisc3 = "QUASAR_NEO0_TRISC3",
        /// TRISC 0 of Neo 1 of a Quasar.
        QuasarNeo1Trisc0 = "QUASAR_NEO1_TRISC0",
        /// TRISC 1 of Neo 1 of a Quasar.
        QuasarNeo1Trisc1 = "QUASAR_NEO1_TRISC1",
        /// TRISC 2 of Neo 1 of a Quasar.
        QuasarNeo1Trisc2 = "QUASAR_NEO1_TRISC2",
        /// TRISC 3 of Neo 1 of a Quasar.
        QuasarNeo1Trisc3 = "QUASAR_NEO1_TRISC3",
        /// TRISC 0 of Neo 2 of a Quasar.
        QuasarNeo2Trisc0 = "QUASAR_NEO2_TRISC0",
        /// TRISC 1 of Neo 2 of a Quasar.
        QuasarNeo2Trisc1 = "QUASAR_NEO2_TRISC1",
        /// TRISC 2 of Neo 2 of a Quasar.
        QuasarNeo2Trisc2 = "QUASAR_NEO2_TRISC2",
        /// TRISC 3 of Neo 2 of a Quasar.
        QuasarNeo2Trisc3 = "QUASAR_NEO2_TRISC3",
        /// TRISC 0 of Neo 3 of a Quasar.
        QuasarNeo3Trisc0 = "QUASAR_NEO3_TRISC0",
        /// TRISC 1 of Neo 3 of a Quasar.
        QuasarNeo3Trisc1 = "QUASAR_NEO3_TRISC1",
        /// TRISC 2 of Neo 3 of a Quasar.
        QuasarNeo3Trisc2 = "QUASAR_NEO3_TRISC2",
        /// TRISC 3 of Neo 3 of a Quasar.
        QuasarNeo3Trisc3 = "QUASAR_NEO3_TRISC3",
    }
}

impl Risc {
    /// Returns the index of this processor in its core's control vector and DRAM page.
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Brisc | Self::Erisc | Self::TensixAggregate => 0,
            Self::Ncrisc => 1,
            Self::Trisc0 => 2,
            Self::Trisc1 => 3,
            Self::Trisc2 => 4,
            quasar => quasar as usize - Self::QuasarDm0 as usize,
        }
    }

    /// Returns true for a processor of a Quasar. Processors of a Quasar occur only in device logs:
    /// they are neither simulated nor read from a chip.
    ///
    /// ```
    /// use wire::Risc;
    /// assert!(Risc::from_label("QUASAR_NEO3_TRISC1").is_some_and(Risc::is_quasar));
    /// assert!(!Risc::Brisc.is_quasar());
    /// ```
    #[must_use]
    pub const fn is_quasar(self) -> bool {
        self as usize >= Self::QuasarDm0 as usize
    }

    /// Returns true for a processor whose kernels move data and do not compute.
    ///
    /// ```
    /// use wire::Risc;
    /// assert!([Risc::Ncrisc, Risc::Erisc, Risc::QuasarDm7].into_iter().all(Risc::moves_data));
    /// assert!(![Risc::Trisc0, Risc::QuasarNeo0Trisc0].into_iter().any(Risc::moves_data));
    /// ```
    #[must_use]
    pub const fn moves_data(self) -> bool {
        match self {
            Self::Brisc | Self::Ncrisc | Self::Erisc => true,
            _ => self.is_quasar() && self.index() < QUASAR_MOVERS,
        }
    }

    /// Returns true for a processor whose kernels compute.
    ///
    /// ```
    /// use wire::Risc;
    /// assert!([Risc::Trisc0, Risc::QuasarNeo0Trisc0].into_iter().all(Risc::computes));
    /// assert!(![Risc::Brisc, Risc::Erisc, Risc::TensixAggregate].into_iter().any(Risc::computes));
    /// ```
    #[must_use]
    pub const fn computes(self) -> bool {
        !self.moves_data() && !matches!(self, Self::TensixAggregate)
    }

    /// Returns the processor with this label in reports. `CORE_AGG` is an older label of
    /// [`Self::TensixAggregate`].
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

/// Number of data-movement processors of a Quasar core. They precede the core's TRISCs in [`Risc`].
const QUASAR_MOVERS: usize = 8;

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
    fn processors_stand_in_the_order_of_their_numbers() {
        for (place, risc) in Risc::ALL.into_iter().enumerate() {
            assert_eq!(risc as usize, place);
            assert_eq!(risc.is_quasar(), place >= 7);
        }
        let index = |label| Risc::from_label(label).map(Risc::index);
        assert_eq!((index("QUASAR_DM0"), index("QUASAR_DM7")), (Some(0), Some(7)));
        assert_eq!(index("QUASAR_NEO0_TRISC0"), Some(8));
        assert_eq!(index("QUASAR_NEO2_TRISC3"), Some(19));
        assert_eq!(index("QUASAR_NEO3_TRISC3"), Some(23));
        assert_eq!((index("QUASAR_DM8"), index("QUASAR_NEO4_TRISC0")), (None, None));
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
