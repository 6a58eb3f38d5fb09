//! Faults: rules that the simulator calls at defined points, and a log of their effects.
//!
//! | point | method | what a rule can do |
//! |---|---|---|
//! | the rule is added | [`Rule::place_clock`] | make a tile's clock wrap at a given time |
//! | a RISC reads the clock | [`Rule::clock_stall_cycles`] | delay the read |
//! | a write to DRAM is issued | [`Rule::on_push`] | lose, delay or corrupt the write |
//! | a subordinate RISC is done | [`Rule::subordinate_delay_cycles`] | close its main zone late |
//! | a launch arrives at a core | [`Rule::risc_stop_cycles`] | stop a RISC permanently |
//! | the host reads L1 | [`Rule::on_host_read`] | change the words that the host gets |
//! | the rule is added | [`Rule::chip_loss_ns`] | make a chip stop answering at a given time |
//! | the relays begin | [`Rule::relay_death`] | stop a relay permanently |
//!
//! Ready-made rules are in [`rules`]; a caller can also write rules by implementing [`Rule`].

pub mod rules;
#[cfg(test)]
mod tests;

use crate::{arch::TileCoord, random::Stream};
use std::sync::Arc;
use wire::Risc;

/// A RISC and the launch that it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Number of the chip.
    pub chip_id: u32,
    /// Core.
    pub core: TileCoord,
    /// Processor.
    pub risc: Risc,
    /// Number of the launch on its chip, from 0.
    pub launch_index: u64,
    /// Program id of the launch.
    pub program_id: u32,
}

/// A write to DRAM that is about to be issued.
#[derive(Clone, Copy, Debug)]
pub struct PushPoint<'a> {
    /// RISC and launch that issue the write.
    pub site: Site,
    /// Number of writes that this RISC has issued earlier in this launch.
    pub push_index: u32,
    /// Index of the target DRAM bank.
    pub bank: u32,
    /// Byte address in the bank.
    pub address: u64,
    /// Words of the write.
    pub words: &'a [u32],
}

/// The faults that rules have added to a write. A rule can add faults, but cannot remove the faults
/// of other rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushFate {
    is_lost: bool,
    delay_cycles: u64,
    flips: Vec<(usize, u32)>,
}

impl PushFate {
    /// Makes the write get lost: it is acknowledged but never reaches the DRAM.
    pub const fn lose(&mut self) {
        self.is_lost = true;
    }

    /// Delays the arrival of the write in DRAM, and the write's acknowledgement, by `cycles`.
    pub const fn delay(&mut self, cycles: u64) {
        self.delay_cycles += cycles;
    }

    /// Flips the bits of `mask` in the word at `word_index` of the write.
    pub fn flip(&mut self, word_index: usize, mask: u32) {
        self.flips.push((word_index, mask));
    }

    /// Returns true if the write never reaches the DRAM.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Returns the delay of the write's arrival in cycles.
    #[must_use]
    pub const fn delay_cycles(&self) -> u64 {
        self.delay_cycles
    }

    /// Returns the flipped bits: pairs of a word's index and the mask of its flipped bits.
    #[must_use]
    pub fn flips(&self) -> &[(usize, u32)] {
        &self.flips
    }
}

/// A clock read that is about to happen.
#[derive(Clone, Copy, Debug)]
pub struct ClockReadPoint {
    /// RISC and launch that read the clock.
    pub site: Site,
    /// Chip cycle at which the low word would be read without a delay.
    pub chip_cycle: u64,
    /// Cycles from `chip_cycle` until the low word becomes 0.
    pub cycles_to_low_wrap: u64,
    /// Chip cycles per microsecond.
    pub cycles_per_us: u64,
}

/// Time at which a rule makes a tile's clock wrap, and the number of low bits that become zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockPlacement {
    /// Number of low bits that become zero at the wrap: 32 or 44.
    pub bits: u32,
    /// Time of the wrap, in nanoseconds since the simulation began.
    pub at_ns: u64,
}

/// A read of L1 by the host.
#[derive(Clone, Copy, Debug)]
pub struct HostReadPoint<'a> {
    /// Number of the chip.
    pub chip_id: u32,
    /// Core whose L1 the host reads.
    pub core: TileCoord,
    /// Address of the first byte that is read.
    pub address: u64,
    /// L1 address of the core's control vector (the words that host and profiler share).
    pub control_address: u64,
    /// The control vector as it was when the core's latest launch began.
    pub stale_control: &'a [u32],
}

/// Time at which a relay stops permanently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelayDeath {
    /// The time, in nanoseconds since the simulation began.
    pub at_ns: u64,
    /// False if the relay stops at `at_ns`. True if it stops just before its first write to a
    /// streaming core after `at_ns`.
    ///
    /// In the second case, the relay has written the core's records to its ring, but has not told
    /// the core that they have been read.
    pub is_before_telling: bool,
}

/// A cause of faults. Every method has a default that causes no fault.
pub trait Rule: Send + Sync {
    /// Returns the rule's name in the log.
    fn name(&self) -> &str;

    /// Returns when the clock of a tile wraps. Called once per tile, when the rule is added.
    ///
    /// To cause the wrap, the simulator changes the start value of the clock. Rules that return a
    /// time here must therefore be added before the first launch.
    fn place_clock(&self, _chip_id: u32, _core: TileCoord) -> Option<ClockPlacement> {
        None
    }

    /// Returns when a chip stops answering, in nanoseconds since the simulation began.
    fn chip_loss_ns(&self, _chip_id: u32) -> Option<u64> {
        None
    }

    /// Returns when a relay of a chip stops permanently.
    fn relay_death(&self, _chip_id: u32, _relay: u32) -> Option<RelayDeath> {
        None
    }

    /// Decides the fate of a write to DRAM before it is issued.
    fn on_push(&self, _push: &PushPoint<'_>, _fate: &mut PushFate, _random: &mut Stream) {}

    /// Returns true if [`Rule::clock_stall_cycles`] must be called for clock reads.
    fn watches_clock(&self) -> bool {
        false
    }

    /// Returns the number of cycles by which a clock read is delayed.
    fn clock_stall_cycles(&self, _read: &ClockReadPoint, _random: &mut Stream) -> u64 {
        0
    }

    /// Returns the number of cycles between a subordinate RISC's done signal and the end of the
    /// RISC's main zone; 0 for no delay.
    fn subordinate_delay_cycles(&self, _site: &Site, _random: &mut Stream) -> u64 {
        0
    }

    /// Returns the number of cycles after the arrival of a launch at which a RISC stops permanently;
    /// `None` if it does not.
    fn risc_stop_cycles(&self, _site: &Site, _random: &mut Stream) -> Option<u64> {
        None
    }

    /// Changes the words that the host reads; returns true if any word has changed.
    fn on_host_read(
        &self,
        _read: &HostReadPoint<'_>,
        _words: &mut [u32],
        _random: &mut Stream,
    ) -> bool {
        false
    }
}

/// Effect of a rule on the simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultEffect {
    /// A write was acknowledged and never reached the DRAM.
    WriteLost {
        /// Index of the DRAM bank.
        bank: u32,
        /// Byte address in the bank.
        address: u64,
        /// Number of words in the write.
        word_count: usize,
    },
    /// A word reached DRAM with other bits than the RISC had written.
    WordCorrupted {
        /// Index of the DRAM bank.
        bank: u32,
        /// Byte address in the bank.
        address: u64,
        /// The word that was sent.
        before: u32,
        /// The word that reached the DRAM.
        after: u32,
    },
    /// A write reached the DRAM later than it would have without the rule.
    WriteDelayed {
        /// Index of the DRAM bank.
        bank: u32,
        /// Byte address in the bank.
        address: u64,
        /// Delay in cycles.
        delay_cycles: u64,
    },
    /// A write addressed memory that does not exist. Only a request of the RISC itself causes this
    /// effect, never a rule.
    WriteMisdirected {
        /// Bank in the request.
        bank: u32,
        /// Byte address in the request.
        address: u64,
        /// Number of words in the write.
        word_count: usize,
    },
    /// A tile's clock was set to wrap at a given time.
    ClockPlaced {
        /// Number of low bits that become zero.
        bits: u32,
        /// Cycle of the chip at which these bits become zero.
        wrap_chip_cycle: u64,
    },
    /// A clock read was delayed or torn. A read is torn if the low word wraps between the load of
    /// the low word and the load of the high word.
    ClockReadStalled {
        /// Duration of the delay in cycles.
        stall_cycles: u64,
        /// True if the low and the high word are from different times.
        is_torn: bool,
    },
    /// A subordinate RISC closed its main zone some cycles after it had signalled that it was done.
    SubordinateLate {
        /// Delay in cycles.
        delay_cycles: u64,
    },
    /// A RISC stopped permanently in the middle of a launch.
    RiscStopped,
    /// A rule changed the words that the host had read from memory.
    HostReadChanged {
        /// Address of the first byte that is read.
        address: u64,
        /// Number of words in the read.
        word_count: usize,
    },
    /// The chip stopped answering.
    ChipLost,
    /// A relay stopped permanently.
    RelayDied,
}

/// One entry in the log of faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedFault {
    /// The rule's name.
    pub rule: Arc<str>,
    /// Number of the chip.
    pub chip_id: u32,
    /// Core in which the fault took effect; `None` if no single core is affected.
    pub core: Option<TileCoord>,
    /// RISC and launch in which the fault took effect; `None` if no single RISC is affected.
    pub site: Option<Site>,
    /// Cycle of the chip at which the fault took effect.
    pub chip_cycle: u64,
    /// Effect of the fault.
    pub effect: FaultEffect,
}

/// The fault rules of a mesh.
#[derive(Clone, Default)]
pub struct RuleSet {
    rules: Vec<NamedRule>,
    watches_clock: bool,
}

#[derive(Clone)]
struct NamedRule {
    name: Arc<str>,
    rule: Arc<dyn Rule>,
}

impl RuleSet {
    /// Adds a rule; it is called after the existing rules.
    pub fn add(&mut self, rule: Arc<dyn Rule>) {
        self.watches_clock |= rule.watches_clock();
        self.rules.push(NamedRule { name: Arc::from(rule.name()), rule });
    }

    /// Returns true if there are no rules.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns true if any rule must be called for clock reads.
    #[must_use]
    pub const fn watches_clock(&self) -> bool {
        self.watches_clock
    }

    /// Asks every rule for faults of a write. Returns the write's faults and the name of the first
    /// rule that added one; the name is empty if no rule did.
    #[must_use]
    pub fn push_fate(&self, push: &PushPoint<'_>, random: &mut Stream) -> (PushFate, Arc<str>) {
        let mut fate = PushFate::default();
        let mut culprit: Option<Arc<str>> = None;
        for NamedRule { name, rule } in &self.rules {
            let before = fate.clone();
            rule.on_push(push, &mut fate, random);
            if fate != before {
                culprit.get_or_insert_with(|| Arc::clone(name));
            }
        }
        (fate, culprit.unwrap_or_else(|| Arc::from("")))
    }

    /// Returns the longest of the delays that rules request for a clock read, and the name of the
    /// rule.
    #[must_use]
    pub fn clock_stall(
        &self,
        read: &ClockReadPoint,
        random: &mut Stream,
    ) -> Option<(u64, Arc<str>)> {
        let asked = self
            .rules
            .iter()
            .map(|named| (named.rule.clock_stall_cycles(read, random), &named.name));
        let (cycles, name) = asked.max_by_key(|&(cycles, _)| cycles)?;
        (cycles > 0).then(|| (cycles, Arc::clone(name)))
    }

    /// Returns the earliest time at which a rule stops a relay permanently, and the name of that
    /// rule.
    pub(crate) fn relay_death(&self, chip_id: u32, relay: u32) -> Option<(RelayDeath, Arc<str>)> {
        let deaths = self.rules.iter().filter_map(|NamedRule { name, rule }| {
            Some((rule.relay_death(chip_id, relay)?, Arc::clone(name)))
        });
        deaths.min_by_key(|(death, _)| death.at_ns)
    }

    /// Calls the rules for a subordinate RISC until one delays it; returns the delay and the rule's
    /// name.
    #[must_use]
    pub fn late_subordinate(&self, site: &Site, random: &mut Stream) -> Option<(u64, Arc<str>)> {
        let delays = self
            .rules
            .iter()
            .map(|named| (named.rule.subordinate_delay_cycles(site, random), &named.name));
        let (cycles, name) = delays.into_iter().find(|&(cycles, _)| cycles > 0)?;
        Some((cycles, Arc::clone(name)))
    }

    /// Asks every rule when a RISC stops permanently in a launch; returns the earliest time, in
    /// cycles after the launch's arrival, and the name of its rule.
    #[must_use]
    pub fn risc_stop(&self, site: &Site, random: &mut Stream) -> Option<(u64, Arc<str>)> {
        let stops = self.rules.iter().filter_map(|NamedRule { name, rule }| {
            Some((rule.risc_stop_cycles(site, random)?, Arc::clone(name)))
        });
        stops.min_by_key(|&(cycles, _)| cycles)
    }

    /// Calls the rules for a host read, one after another, until a rule changes the words; returns
    /// that rule's name.
    pub fn change_host_read(
        &self,
        read: &HostReadPoint<'_>,
        words: &mut [u32],
        random: &mut Stream,
    ) -> Option<Arc<str>> {
        let mut rules = self.rules.iter();
        let named = rules.find(|named| named.rule.on_host_read(read, words, random))?;
        Some(Arc::clone(&named.name))
    }
}

impl std::fmt::Debug for RuleSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.rules.iter().map(|named| &named.name)).finish()
    }
}
