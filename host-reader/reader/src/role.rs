//! Classification of zones as firmware, kernel or user zones.
//!
//! # Compatibility
//! A zone's name is searched for the same substrings as in `TracyTTDeviceData.hpp`. A user's zone
//! with `-FW` in its name is therefore also classified as firmware.

use crate::{lane::ZoneIndex, names::ZoneTable};
use wire::Risc;

/// The role of a zone, derived from its name: firmware, kernel, or user zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneRole(u16);

impl ZoneRole {
    const FIRMWARE: u16 = 1;
    const KERNEL: u16 = 2;
    const BRISC: u16 = 4;
    const NCRISC: u16 = 8;
    const TRISC: u16 = 16;
    const ERISC: u16 = 32;
    const SHARED_PUSH: u16 = 64;
    const QUASAR_MOVER: u16 = 128;
    const DISPATCH: u16 = 256;
    const STALL: u16 = 512;
    const DATA_MOVEMENT: u16 = Self::BRISC | Self::NCRISC | Self::ERISC | Self::QUASAR_MOVER;
    /// Substrings of the names of kernel zones, each with its bit in the role.
    const KERNELS: [(&'static str, u16); 5] = [
        ("BRISC-KERNEL", Self::BRISC),
        ("NCRISC-KERNEL", Self::NCRISC),
        ("TRISC-KERNEL", Self::TRISC),
        ("ERISC-KERNEL", Self::ERISC),
        ("DM-KERNEL", Self::QUASAR_MOVER),
    ];
    /// Substrings by which the zones of dispatch kernels are recognized.
    const DISPATCH_PARTS: [&'static str; 2] = ["CQ-DISPATCH", "CQ-PREFETCH"];

    /// Returns the role for a zone's name.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        let mut bits = 0;
        if name.contains("-FW") {
            bits |= Self::FIRMWARE;
        }
        if name.contains("-KERNEL") {
            bits |= Self::KERNEL;
            let named = Self::KERNELS.iter().filter(|(keyword, _)| name.contains(keyword));
            bits |= named.map(|(_, bit)| bit).sum::<u16>();
        }
        if name == "PROFILER-DRAM-PUSH" {
            bits |= Self::SHARED_PUSH;
        }
        if name == "PROFILER-DRAM-STALL" {
            bits |= Self::STALL;
        }
        if Self::DISPATCH_PARTS.iter().any(|part| name.contains(part)) {
            bits |= Self::DISPATCH;
        }
        Self(bits)
    }

    /// Returns true if this is a user zone.
    #[inline]
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 & !(Self::SHARED_PUSH | Self::DISPATCH | Self::STALL) == 0
    }

    /// Returns true if the zone measures a push of several launches (accumulate mode).
    #[inline]
    #[must_use]
    pub const fn is_shared_push(self) -> bool {
        self.0 & Self::SHARED_PUSH != 0
    }

    /// Returns true if the zone measures a wait until the host has read a full lane (debug dump).
    #[inline]
    #[must_use]
    pub const fn is_stall(self) -> bool {
        self.0 & Self::STALL != 0
    }

    /// Returns true if this is a zone of a dispatch kernel.
    #[inline]
    #[must_use]
    pub const fn is_dispatch(self) -> bool {
        self.0 & Self::DISPATCH != 0
    }

    /// Returns true if this is a firmware zone.
    #[inline]
    #[must_use]
    pub const fn is_firmware(self) -> bool {
        self.0 & Self::FIRMWARE != 0
    }

    /// Returns true if this is a kernel zone.
    #[inline]
    #[must_use]
    pub const fn is_kernel(self) -> bool {
        self.0 & Self::KERNEL != 0
    }

    /// Returns the name that a zone with this role has in a lane of [`Risc::TensixAggregate`];
    /// `None` for a user zone.
    ///
    /// Such a lane has one zone that encloses the zones of all RISCs.
    ///
    /// # Compatibility
    /// The names are those of tt-metal's `profiler.cpp`, which uses them both in logs and in Tracy.
    #[must_use]
    pub const fn envelope_name(self) -> Option<&'static str> {
        if self.is_firmware() {
            Some("TRACE-FW")
        } else if self.is_kernel() {
            Some("TRACE-KERNEL")
        } else {
            None
        }
    }

    /// Returns true if this is a kernel zone that `risc` records.
    #[inline]
    #[must_use]
    pub const fn is_kernel_of(self, risc: Risc) -> bool {
        let bit = match risc {
            Risc::Brisc => Self::BRISC,
            Risc::Ncrisc => Self::NCRISC,
            Risc::Trisc0 | Risc::Trisc1 | Risc::Trisc2 => Self::TRISC,
            Risc::Erisc => Self::ERISC,
            Risc::TensixAggregate => 0,
            quasar if quasar.moves_data() => Self::QUASAR_MOVER,
            _ => Self::TRISC,
        };
        self.0 & bit != 0
    }

    /// Returns true if this is a kernel zone of a data-movement RISC.
    #[inline]
    #[must_use]
    pub const fn is_data_movement_kernel(self) -> bool {
        self.0 & Self::DATA_MOVEMENT != 0
    }
}

/// Roles of all zones of a table, by zone index.
#[derive(Clone, Debug, Default)]
pub struct RoleTable {
    direct: Vec<ZoneRole>,
    interned: Vec<ZoneRole>,
}

impl RoleTable {
    /// Returns a table with the roles of all zones that have a name.
    #[must_use]
    pub fn from_names(zones: &ZoneTable) -> Self {
        let mut table = Self::default();
        for (zone, name) in zones.named_indices() {
            let role = ZoneRole::from_name(name);
            let (roles, position) = match zone.0.checked_sub(ZoneIndex::FIRST_INTERNED) {
                None => (&mut table.direct, zone.0 as usize),
                Some(position) => (&mut table.interned, position as usize),
            };
            if roles.len() <= position {
                roles.resize(position.saturating_add(1), ZoneRole::default());
            }
            if let Some(known) = roles.get_mut(position) {
                *known = role;
            }
        }
        table
    }

    /// Returns the role of a zone.
    #[inline]
    #[must_use]
    pub fn role(&self, zone: ZoneIndex) -> ZoneRole {
        let found = match zone.0.checked_sub(ZoneIndex::FIRST_INTERNED) {
            None => self.direct.get(zone.0 as usize),
            Some(position) => self.interned.get(position as usize),
        };
        found.copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::ZoneSource;

    #[test]
    fn keywords_are_substrings() {
        assert_eq!(envelope_facts("BRISC-FW"), (true, false, false));
        assert_eq!(envelope_facts("my-FW-step"), (true, false, false));
        assert_eq!(envelope_facts("NCRISC-KERNEL"), (false, true, true));
        assert_eq!(envelope_facts("TRISC-KERNEL"), (false, true, false));
        assert_eq!(envelope_facts("DM-KERNEL"), (false, true, true));
        assert_eq!(envelope_facts("DM0-FW"), (true, false, false));
        assert_eq!(envelope_facts("TRACE-KERNEL"), (false, true, false));
        assert_eq!(envelope_facts("load"), (false, false, false));
        let push = ZoneRole::from_name("PROFILER-DRAM-PUSH");
        assert!(push.is_shared_push() && push.is_none());
        assert!(!ZoneRole::from_name("PROFILER-DRAM-STALL").is_shared_push());
        assert_eq!(dispatch_facts("CQ-DISPATCH:7:CQ_DISPATCH_CMD_WAIT"), (true, true));
        assert_eq!(dispatch_facts("CQ-PREFETCH"), (true, true));
        assert_eq!(dispatch_facts("DISPATCH"), (false, true));
    }

    fn dispatch_facts(name: &str) -> (bool, bool) {
        let role = ZoneRole::from_name(name);
        (role.is_dispatch(), role.is_none())
    }

    fn envelope_facts(name: &str) -> (bool, bool, bool) {
        let role = ZoneRole::from_name(name);
        (role.is_firmware(), role.is_kernel(), role.is_data_movement_kernel())
    }

    #[test]
    fn zones_are_found_by_id_and_by_an_index_of_their_own() {
        let mut zones = ZoneTable::new();
        let indices = ["BRISC-FW", "BRISC-KERNEL", "load"].map(|name| {
            zones.intern(
                wire::ZoneId(u16::MAX),
                ZoneSource { name: name.into(), file: String::new(), line: 1 },
            )
        });
        let roles = RoleTable::from_names(&zones);
        let found = indices.map(|index| {
            let role = roles.role(index);
            (role.is_firmware(), role.is_kernel())
        });
        assert_eq!(found, [(true, false), (false, true), (false, false)]);
        for unknown in [0, 7, ZoneIndex::FIRST_INTERNED + 2, ZoneIndex::MAX] {
            assert!(roles.role(ZoneIndex(unknown)).is_none());
        }
    }

    #[test]
    fn a_kernel_zone_belongs_to_riscs_of_its_name_only() {
        // `NCRISC-KERNEL` must not match `BRISC-KERNEL`.
        let of = |name: &str, risc| ZoneRole::from_name(name).is_kernel_of(risc);
        assert!(of("NCRISC-KERNEL", Risc::Ncrisc) && !of("NCRISC-KERNEL", Risc::Brisc));
        assert!(of("TRISC-KERNEL", Risc::Trisc2) && !of("TRISC-KERNEL", Risc::TensixAggregate));
        assert!(of("DM-KERNEL", Risc::QuasarDm7) && !of("DM-KERNEL", Risc::QuasarNeo0Trisc0));
        assert!(of("TRISC-KERNEL", Risc::QuasarNeo3Trisc3) && !of("DM-KERNEL", Risc::Brisc));
    }
}
