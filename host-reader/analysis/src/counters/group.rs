//! Groups of counters that are enabled together, and the runs needed to read several groups.

use crate::counters::{names::is_counter, reader::Bank};
use std::str::FromStr;

/// Chip architecture. Each architecture has its own set of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterArch {
    /// Wormhole.
    Wormhole,
    /// Blackhole.
    Blackhole,
    /// Quasar.
    Quasar,
}

impl CounterArch {
    /// Returns the architecture whose name is part of a text such as `wormhole_b0`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let known = [
            ("wormhole", Self::Wormhole),
            ("blackhole", Self::Blackhole),
            ("quasar", Self::Quasar),
        ];
        known.into_iter().find(|(known, _)| name.contains(known)).map(|(_, arch)| arch)
    }

    /// Returns the number of parts of a core, each of which has its own counters.
    ///
    /// # Compatibility
    /// `NUM_NEOS` of `perf_counters/registers.h`.
    #[must_use]
    pub const fn unit_count(self) -> u32 {
        match self {
            Self::Wormhole | Self::Blackhole => 1,
            Self::Quasar => 4,
        }
    }

    /// Returns the number of L1 banks with counters. A run counts only one of the banks.
    const fn l1_bank_count(self) -> u8 {
        match self {
            Self::Wormhole => 2,
            Self::Blackhole => 6,
            Self::Quasar => 0,
        }
    }
}

/// Group of counters that are enabled together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CounterGroup {
    /// FPU and SFPU.
    Fpu,
    /// Packers, and the data path to the packers.
    Pack,
    /// Unpackers, and the data path from the unpackers.
    Unpack,
    /// Instructions and waits of the threads.
    Instruction,
    /// Ports of one L1 bank. Banks are numbered from 0 to 5.
    L1(u8),
}

/// Error for a text that is not the name of a group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected fpu, pack, unpack, instrn or l1_0 to l1_5, found `{found}`")]
pub struct UnknownGroup {
    /// The rejected text.
    pub found: String,
}

/// Maximum number of groups that one run can count.
const GROUPS_PER_PASS: usize = 5;

impl CounterGroup {
    /// Returns all groups of an architecture, sorted by their [bits](Self::bit).
    ///
    /// ```
    /// use analysis::counters::{CounterArch, CounterGroup};
    /// assert_eq!(CounterGroup::all(CounterArch::Quasar).len(), 4);
    /// ```
    #[must_use]
    pub fn all(arch: CounterArch) -> Vec<Self> {
        let mut groups = vec![Self::Fpu, Self::Pack, Self::Unpack, Self::Instruction];
        groups.extend((0..arch.l1_bank_count()).map(Self::L1));
        groups.sort_by_key(|group| group.bit());
        groups
    }

    /// Returns the five groups that one run can count: all groups except the banks of L1 after the
    /// first bank.
    #[must_use]
    pub const fn one_run() -> [Self; GROUPS_PER_PASS] {
        [Self::Fpu, Self::Pack, Self::Unpack, Self::L1(0), Self::Instruction]
    }

    /// Returns the group of a counter; `None` for a Quasar's L1 clients, which belong to no group,
    /// and for unknown names.
    #[must_use]
    pub fn from_counter(name: &str) -> Option<Self> {
        match Bank::from_counter(name) {
            Bank::Fpu => Some(Self::Fpu),
            Bank::Pack => Some(Self::Pack),
            Bank::Unpack => is_counter(name).then_some(Self::Unpack),
            Bank::Instruction => Some(Self::Instruction),
            Bank::L1 => {
                let digit = name.as_bytes().get(3)?.checked_sub(b'0');
                digit.filter(|bank| *bank < 6).map(Self::L1)
            }
            Bank::L1Client => None,
        }
    }

    /// Returns the bit of `TT_METAL_PROFILE_PERF_COUNTERS` that enables the group.
    ///
    /// # Compatibility
    /// `PROFILE_PERF_COUNTERS_*` of `perf_counters.hpp`.
    #[must_use]
    pub const fn bit(self) -> u32 {
        match self {
            Self::Fpu => 1,
            Self::Pack => 1 << 1,
            Self::Unpack => 1 << 2,
            Self::Instruction => 1 << 5,
            Self::L1(bank @ 0..=1) => (1 << 3) << bank,
            Self::L1(bank @ 2..=5) => (1 << 4) << bank,
            Self::L1(_) => 0,
        }
    }

    /// Returns the number of records of the group per core and launch; 0 if the architecture does
    /// not have the group.
    ///
    /// # Compatibility
    /// The tables of `perf_counters/wormhole.h`, `blackhole.h` and `quasar.h`.
    #[must_use]
    pub const fn record_count(self, arch: CounterArch) -> u64 {
        match (self, arch) {
            (Self::Fpu, _) => 3,
            (Self::Unpack, _) => 18,
            (Self::Pack, CounterArch::Wormhole) => 14,
            (Self::Pack, _) => 5,
            (Self::Instruction, CounterArch::Quasar) => 51,
            (Self::Instruction, _) => 59,
            (Self::L1(0..=1), CounterArch::Wormhole) => 16,
            (Self::L1(0..=4), CounterArch::Blackhole) => 16,
            (Self::L1(5), CounterArch::Blackhole) => 4,
            (Self::L1(_), _) => 0,
        }
    }

    /// Returns the group's name.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Fpu => "fpu",
            Self::Pack => "pack",
            Self::Unpack => "unpack",
            Self::Instruction => "instrn",
            Self::L1(0) => "l1_0",
            Self::L1(1) => "l1_1",
            Self::L1(2) => "l1_2",
            Self::L1(3) => "l1_3",
            Self::L1(4) => "l1_4",
            Self::L1(_) => "l1_5",
        }
    }
}

impl FromStr for CounterGroup {
    type Err = UnknownGroup;

    fn from_str(text: &str) -> Result<Self, UnknownGroup> {
        let known = Self::all(CounterArch::Blackhole);
        // Older releases of tt-metal have a single bank of L1, named without a number.
        let label = if text.trim() == "l1" { Self::L1(0).label() } else { text.trim() };
        let found = known.into_iter().find(|group| group.label() == label);
        found.ok_or_else(|| UnknownGroup { found: text.to_owned() })
    }
}

/// Plan of the runs needed to read a set of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassPlan {
    /// Groups of each run.
    pub passes: Vec<Vec<CounterGroup>>,
}

impl PassPlan {
    /// Distributes groups over as few runs as possible. A run counts at most one bank of L1 and
    /// five groups.
    ///
    /// ```
    /// use analysis::counters::{CounterArch, CounterGroup, PassPlan};
    /// let plan = PassPlan::new(&CounterGroup::all(CounterArch::Wormhole));
    /// assert_eq!(plan.masks(), [13, 50]);
    /// ```
    ///
    /// # Compatibility
    /// The rule of `perf_counter_multipass.py`.
    #[must_use]
    pub fn new(groups: &[CounterGroup]) -> Self {
        let mut groups = groups.to_vec();
        groups.sort_by_key(|group| group.bit());
        groups.dedup();
        let (banks, others): (Vec<_>, Vec<_>) =
            groups.iter().copied().partition(|group| matches!(group, CounterGroup::L1(_)));
        let count = banks.len().max(groups.len().div_ceil(GROUPS_PER_PASS));
        let mut passes: Vec<Vec<CounterGroup>> = vec![Vec::new(); count];
        for (pass, bank) in passes.iter_mut().zip(banks) {
            pass.push(bank);
        }
        for group in others {
            if let Some(pass) = passes.iter_mut().min_by_key(|pass| pass.len()) {
                pass.push(group);
            }
        }
        Self { passes }
    }

    /// Returns the value of `TT_METAL_PROFILE_PERF_COUNTERS` for each run.
    #[must_use]
    pub fn masks(&self) -> Vec<u32> {
        self.passes
            .iter()
            .map(|pass| pass.iter().fold(0, |mask, group| mask | group.bit()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::names::counter_name;

    #[test]
    fn plans_of_all_groups_are_upstreams() {
        // Expected masks and numbers of records, from `perf_counter_multipass.py` for `all`.
        for (arch, masks, records) in [
            (CounterArch::Wormhole, vec![13, 50], vec![37, 89]),
            (CounterArch::Blackhole, vec![9, 18, 68, 160, 256, 512], vec![19, 21, 34, 75, 16, 4]),
            (CounterArch::Quasar, vec![39], vec![77]),
        ] {
            let plan = PassPlan::new(&CounterGroup::all(arch));
            assert_eq!(plan.masks(), masks);
            let pass_record_count =
                |pass: &Vec<CounterGroup>| pass.iter().map(|group| group.record_count(arch)).sum();
            assert_eq!(plan.passes.iter().map(pass_record_count).collect::<Vec<u64>>(), records);
        }
        assert_eq!(PassPlan::new(&[]).masks(), [0_u32; 0]);
        let one = ["fpu", "pack", "unpack", "l1_0", "instrn"].map(|name| name.parse().unwrap());
        assert_eq!(PassPlan::new(&one).masks(), [47]);
    }

    #[test]
    fn every_counter_of_a_chip_has_a_group() {
        for (name, group) in [
            ("SFPU_COUNTER", CounterGroup::Fpu),
            ("L1_4_EXT_PACKER_6_GRANT", CounterGroup::L1(4)),
            ("PACKER0_DEST_READ_REQ", CounterGroup::Pack),
            ("SRCA_WRITE_TID_ODD", CounterGroup::Unpack),
            ("WAITING_FOR_NONZERO_SEM_2", CounterGroup::Instruction),
        ] {
            assert_eq!(CounterGroup::from_counter(name), Some(group));
        }
        for name in ["L1_CLIENT_THCON_ORDER_FIFO_ACTIVE", "L1_", "L1_x", "L1_9", "WARP_COUNTER", ""]
        {
            assert_eq!(CounterGroup::from_counter(name), None);
        }
        for name in (1..226).filter_map(counter_name) {
            let group = CounterGroup::from_counter(&name).unwrap();
            assert_eq!(group.label().parse(), Ok(group), "{name}");
        }
        assert_eq!("l1".parse(), Ok(CounterGroup::L1(0)));
        assert!("l1_9".parse::<CounterGroup>().is_err());
    }
}
