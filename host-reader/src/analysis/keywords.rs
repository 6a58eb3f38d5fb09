//! Which zones are firmware and which are kernels.
//!
//! # Compatibility
//! `TracyTTDeviceData.hpp`: substring tests on the zone's name, so `-FW` also matches a
//! user's zone that contains it.

use crate::{lane::ZoneIndex, names::ZoneTable, readout::Readout};
use wire::Risc;

/// What a zone's name says it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keywords(u8);

impl Keywords {
    const FIRMWARE: u8 = 1;
    const KERNEL: u8 = 2;
    /// Kernel zones named after a RISC, in the order of their bits.
    const KERNELS: [(&'static str, u8); 4] =
        [("BRISC-KERNEL", 4), ("NCRISC-KERNEL", 8), ("TRISC-KERNEL", 16), ("ERISC-KERNEL", 32)];
    const DATA_MOVEMENT: u8 = 4 | 8 | 32;

    pub(crate) fn of_name(name: &str) -> Self {
        let mut bits = 0;
        if name.contains("-FW") {
            bits |= Self::FIRMWARE;
        }
        if name.contains("-KERNEL") {
            bits |= Self::KERNEL;
            let named = Self::KERNELS.iter().filter(|(keyword, _)| name.contains(keyword));
            bits |= named.map(|(_, bit)| bit).sum::<u8>();
        }
        Self(bits)
    }

    #[inline]
    pub(super) const fn is_none(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub(crate) const fn is_firmware(self) -> bool {
        self.0 & Self::FIRMWARE != 0
    }

    #[inline]
    pub(crate) const fn is_kernel(self) -> bool {
        self.0 & Self::KERNEL != 0
    }

    /// Whether this is the kernel zone of that RISC itself.
    pub(super) const fn is_kernel_of(self, risc: Risc) -> bool {
        let bit = match risc {
            Risc::Brisc => 4,
            Risc::Ncrisc => 8,
            Risc::Trisc0 | Risc::Trisc1 | Risc::Trisc2 => 16,
            Risc::Erisc => 32,
            Risc::TensixAggregate => 0,
        };
        self.0 & bit != 0
    }

    /// Whether this is a kernel zone of a RISC that moves data.
    pub(super) const fn is_data_movement_kernel(self) -> bool {
        self.0 & Self::DATA_MOVEMENT != 0
    }
}

/// The keywords of every zone, found by index.
pub(super) struct KeywordTable {
    direct: Vec<Keywords>,
    interned: Vec<Keywords>,
}

impl KeywordTable {
    pub(super) fn of_readout(readout: &Readout) -> Self {
        let (mut direct_end, mut interned_end) = (0, ZoneIndex::FIRST_INTERNED);
        for head in readout.lanes().flat_map(|lane| &lane.heads) {
            let end = head.zone().0 + 1;
            if end > ZoneIndex::FIRST_INTERNED {
                interned_end = interned_end.max(end);
            } else {
                direct_end = direct_end.max(end);
            }
        }
        let zones = &readout.zones;
        Self {
            direct: keywords_of(zones, 0..direct_end),
            interned: keywords_of(zones, ZoneIndex::FIRST_INTERNED..interned_end),
        }
    }

    #[inline]
    pub(super) fn of(&self, zone: ZoneIndex) -> Keywords {
        let found = match zone.0.checked_sub(ZoneIndex::FIRST_INTERNED) {
            None => self.direct.get(zone.0 as usize),
            Some(position) => self.interned.get(position as usize),
        };
        found.copied().unwrap_or_default()
    }
}

fn keywords_of(zones: &ZoneTable, indices: std::ops::Range<u32>) -> Vec<Keywords> {
    indices.map(|index| Keywords::of_name(zones.name(ZoneIndex(index)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_substrings() {
        let facts = |name| {
            let keywords = Keywords::of_name(name);
            (keywords.is_firmware(), keywords.is_kernel(), keywords.is_data_movement_kernel())
        };
        assert_eq!(facts("BRISC-FW"), (true, false, false));
        assert_eq!(facts("my-FW-step"), (true, false, false));
        assert_eq!(facts("NCRISC-KERNEL"), (false, true, true));
        assert_eq!(facts("TRISC-KERNEL"), (false, true, false));
        assert_eq!(facts("TRACE-KERNEL"), (false, true, false));
        assert_eq!(facts("load"), (false, false, false));
    }

    #[test]
    fn a_kernel_zone_belongs_to_riscs_of_its_name_only() {
        // `NCRISC-KERNEL` does not contain `BRISC-KERNEL`.
        let of = |name: &str, risc| Keywords::of_name(name).is_kernel_of(risc);
        assert!(of("NCRISC-KERNEL", Risc::Ncrisc) && !of("NCRISC-KERNEL", Risc::Brisc));
        assert!(of("TRISC-KERNEL", Risc::Trisc2) && !of("TRISC-KERNEL", Risc::TensixAggregate));
    }
}
