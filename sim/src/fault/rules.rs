//! Ready-made rules, and the selection of chips, cores, RISCs and launches that they apply to.

use super::{
    ClockPlacement, ClockReadPoint, HostReadPoint, PushFate, PushPoint, RelayDeath, Rule, Site,
};
use crate::{arch::TileCoord, random::Stream};
use std::ops::Range;
use wire::Risc;

/// Chips, cores, RISCs and launches that a rule applies to: all of them, unless restricted.
///
/// ```
/// use sim::{arch::TileCoord, fault::rules::{LoseWrite, Selection}};
/// use wire::Risc;
/// let rule = LoseWrite(Selection::everywhere().chip(0).risc(Risc::Ncrisc).launches(3..5));
/// # let _ = rule;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    chips: Vec<u32>,
    cores: Vec<TileCoord>,
    riscs: Vec<Risc>,
    launches: Range<u64>,
    parts_per_million: u32,
}

impl Selection {
    /// Returns a selection of every RISC in every launch.
    #[must_use]
    pub const fn everywhere() -> Self {
        Self {
            chips: Vec::new(),
            cores: Vec::new(),
            riscs: Vec::new(),
            launches: 0..u64::MAX,
            parts_per_million: 1_000_000,
        }
    }

    /// Adds a chip. The first call limits the selection to its chip; each further call adds one
    /// more.
    #[must_use]
    pub fn chip(mut self, chip_id: u32) -> Self {
        self.chips.push(chip_id);
        self
    }

    /// Adds a core. The first call limits the selection to its core; each further call adds one
    /// more.
    #[must_use]
    pub fn core(mut self, core: TileCoord) -> Self {
        self.cores.push(core);
        self
    }

    /// Adds a processor. The first call limits the selection to its processor; each further call
    /// adds one more.
    #[must_use]
    pub fn risc(mut self, risc: Risc) -> Self {
        self.riscs.push(risc);
        self
    }

    /// Restricts the selection to these launches, numbered from 0 on each chip.
    #[must_use]
    pub const fn launches(mut self, launches: Range<u64>) -> Self {
        self.launches = launches;
        self
    }

    /// Sets the probability, in parts per million, that the rule applies whenever it is called for
    /// a selected RISC and launch. The random numbers depend on the simulation's seed.
    #[must_use]
    pub const fn parts_per_million(mut self, parts_per_million: u32) -> Self {
        self.parts_per_million = parts_per_million;
        self
    }

    /// Returns true if the chip is selected.
    #[must_use]
    pub fn takes_chip(&self, chip_id: u32) -> bool {
        self.chips.is_empty() || self.chips.contains(&chip_id)
    }

    /// Returns true if the core is selected.
    #[must_use]
    pub fn takes_core(&self, chip_id: u32, core: TileCoord) -> bool {
        self.takes_chip(chip_id) && (self.cores.is_empty() || self.cores.contains(&core))
    }

    /// Returns true if the RISC and its launch are selected and the rule applies by chance.
    pub fn takes(&self, site: &Site, random: &mut Stream) -> bool {
        self.takes_core(site.chip_id, site.core)
            && (self.riscs.is_empty() || self.riscs.contains(&site.risc))
            && self.launches.contains(&site.launch_index)
            && random.chance(self.parts_per_million)
    }
}

/// Makes writes to DRAM get lost: they are acknowledged but never reach the DRAM.
#[derive(Clone, Debug)]
pub struct LoseWrite(pub Selection);

impl Rule for LoseWrite {
    fn name(&self) -> &'static str {
        "lose-write"
    }

    fn on_push(&self, push: &PushPoint<'_>, fate: &mut PushFate, random: &mut Stream) {
        if self.0.takes(&push.site, random) {
            fate.lose();
        }
    }
}

/// Delays writes to DRAM and their acknowledgements.
#[derive(Clone, Debug)]
pub struct DelayWrite {
    /// Chips, cores, RISCs and launches that the rule applies to.
    pub selection: Selection,
    /// Delay in cycles.
    pub cycles: u64,
}

impl Rule for DelayWrite {
    fn name(&self) -> &'static str {
        "delay-write"
    }

    fn on_push(&self, push: &PushPoint<'_>, fate: &mut PushFate, random: &mut Stream) {
        if self.selection.takes(&push.site, random) {
            fate.delay(self.cycles);
        }
    }
}

/// Choice of the word of a write that is corrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordChoice {
    /// The word with this index; shorter writes stay intact.
    At(usize),
    /// A random word; the choice depends on the simulation's seed.
    Any,
}

/// Corrupts one word of each selected write to DRAM.
#[derive(Clone, Debug)]
pub struct CorruptWord {
    /// Chips, cores, RISCs and launches that the rule applies to.
    pub selection: Selection,
    /// The word to corrupt.
    pub word: WordChoice,
    /// Mask of the bits to flip. If the mask is 0, one random bit is flipped; the choice depends on
    /// the simulation's seed.
    pub mask: u32,
}

impl Rule for CorruptWord {
    fn name(&self) -> &'static str {
        "corrupt-word"
    }

    fn on_push(&self, push: &PushPoint<'_>, fate: &mut PushFate, random: &mut Stream) {
        if !self.selection.takes(&push.site, random) {
            return;
        }
        let count = push.words.len();
        let word_index = match self.word {
            WordChoice::At(index) => index,
            WordChoice::Any => usize::try_from(random.below(count as u64)).unwrap_or(0),
        };
        let mask = if self.mask == 0 { 1 << random.below(32) } else { self.mask };
        if word_index < count {
            fate.flip(word_index, mask);
        }
    }
}

/// Makes a clock wrap at a given time: either its low word, or the 44 low bits that a record
/// contains.
#[derive(Clone, Debug)]
pub struct WrapClock {
    /// The chips and cores whose clocks wrap.
    pub selection: Selection,
    /// Time of the wrap, and the number of low bits that become zero.
    pub placement: ClockPlacement,
}

impl Rule for WrapClock {
    fn name(&self) -> &'static str {
        "wrap-clock"
    }

    fn place_clock(&self, chip_id: u32, core: TileCoord) -> Option<ClockPlacement> {
        self.selection.takes_core(chip_id, core).then_some(self.placement)
    }
}

/// Tears clock reads: the low word wraps between the loads of the two words.
///
/// The clocks of the selected tiles are set so that the low word wraps at `at_ns`. Clock reads that
/// begin at most `within_us` microseconds before the wrap are delayed: they load the low word in
/// the last cycle before the wrap, and the high word after it. Their result is therefore 2^32
/// cycles too large.
#[derive(Clone, Debug)]
pub struct TearClock {
    /// The cores whose clocks wrap, and the RISCs whose reads are delayed.
    pub selection: Selection,
    /// Time at which the low word wraps, in nanoseconds since the simulation began.
    pub at_ns: u64,
    /// Length of the interval before the wrap in which reads are delayed, in microseconds.
    pub within_us: u64,
}

impl Rule for TearClock {
    fn name(&self) -> &'static str {
        "tear-clock"
    }

    fn place_clock(&self, chip_id: u32, core: TileCoord) -> Option<ClockPlacement> {
        let placement = ClockPlacement { bits: 32, at_ns: self.at_ns };
        self.selection.takes_core(chip_id, core).then_some(placement)
    }

    fn watches_clock(&self) -> bool {
        true
    }

    fn clock_stall_cycles(&self, read: &ClockReadPoint, random: &mut Stream) -> u64 {
        let is_near = read.cycles_to_low_wrap > 1
            && read.cycles_to_low_wrap <= self.within_us * read.cycles_per_us;
        if is_near && self.selection.takes(&read.site, random) {
            read.cycles_to_low_wrap - 1
        } else {
            0
        }
    }
}

/// Makes subordinate RISCs close their main zone some time after they have signalled that they are
/// done.
///
/// BRISC checks up to [`PUBLICATION_POLLS`](kernel_profiler::flush::PUBLICATION_POLLS) times, for
/// about 40,000 cycles, whether the subordinate has closed its zone. If the zone is still open
/// then, BRISC counts the subordinate as late in this launch.
#[derive(Clone, Debug)]
pub struct LateSubordinate {
    /// The subordinate RISCs that are delayed.
    pub selection: Selection,
    /// Delay in cycles.
    pub cycles: u64,
}

impl Rule for LateSubordinate {
    fn name(&self) -> &'static str {
        "late-subordinate"
    }

    fn subordinate_delay_cycles(&self, site: &Site, random: &mut Stream) -> u64 {
        if self.selection.takes(site, random) { self.cycles } else { 0 }
    }
}

/// Stops RISCs permanently in the middle of a launch, as a hang does. The core must boot again
/// before its next launch.
///
/// With [`MeshConfig::with_record_truth`](crate::config::MeshConfig::with_record_truth), a RISC
/// that is storing the words of a record stops after the last of them: code that hangs or traps is
/// never between these stores.
#[derive(Clone, Debug)]
pub struct StopRisc {
    /// The RISCs and launches that are stopped.
    pub selection: Selection,
    /// Time of the stop, in cycles after the launch has arrived at the core.
    pub after_cycles: u64,
}

impl Rule for StopRisc {
    fn name(&self) -> &'static str {
        "stop-risc"
    }

    fn risc_stop_cycles(&self, site: &Site, random: &mut Stream) -> Option<u64> {
        self.selection.takes(site, random).then_some(self.after_cycles)
    }
}

/// Makes the host read each control vector (the words that host and profiler share) as it was
/// before the core's latest launch.
#[derive(Clone, Debug)]
pub struct StaleControl(pub Selection);

impl Rule for StaleControl {
    fn name(&self) -> &'static str {
        "stale-control"
    }

    fn on_host_read(&self, at: &HostReadPoint<'_>, words: &mut [u32], random: &mut Stream) -> bool {
        if !self.0.takes_core(at.chip_id, at.core) || !random.chance(self.0.parts_per_million) {
            return false;
        }
        let mut is_changed = false;
        for (address, word) in (at.address..).step_by(4).zip(words) {
            let index = usize::try_from(address.wrapping_sub(at.control_address) / 4);
            let stale = index.ok().and_then(|index| at.stale_control.get(index));
            if let Some(&stale) = stale {
                is_changed |= *word != stale;
                *word = stale;
            }
        }
        is_changed
    }
}

/// Makes a chip stop answering: requests in flight are lost, and launches in progress never end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoseChip {
    /// Number of the chip.
    pub chip_id: u32,
    /// Time of the loss, in nanoseconds since the simulation began.
    pub at_ns: u64,
}

impl Rule for LoseChip {
    fn name(&self) -> &'static str {
        "lose-chip"
    }

    fn chip_loss_ns(&self, chip_id: u32) -> Option<u64> {
        (chip_id == self.chip_id).then_some(self.at_ns)
    }
}

/// Stops a relay permanently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KillRelay {
    /// Number of the chip.
    pub chip_id: u32,
    /// Number of the relay on its chip. Relays that replace failed ones are numbered after the
    /// initial relays.
    pub relay: u32,
    /// Time at which the relay stops: a fixed time, or the relay's next write to a streaming core.
    pub death: RelayDeath,
}

impl Rule for KillRelay {
    fn name(&self) -> &'static str {
        "kill-relay"
    }

    fn relay_death(&self, chip_id: u32, relay: u32) -> Option<RelayDeath> {
        ((chip_id, relay) == (self.chip_id, self.relay)).then_some(self.death)
    }
}

/// A rule that calls a closure for each write to DRAM, which can change the write's fate.
///
/// ```
/// use sim::fault::rules::PushRule;
/// // Every second write of a launch is lost.
/// let rule = PushRule::new("every-second", |push, fate, _| {
///     if push.push_index % 2 == 1 {
///         fate.lose();
///     }
/// });
/// # let _: &dyn sim::fault::Rule = &rule;
/// ```
#[derive(Clone, Debug)]
pub struct PushRule<F> {
    name: String,
    decide: F,
}

impl<F> PushRule<F>
where
    F: Fn(&PushPoint<'_>, &mut PushFate, &mut Stream) + Send + Sync,
{
    /// Creates a rule that the log calls `name`.
    pub fn new(name: impl Into<String>, decide: F) -> Self {
        Self { name: name.into(), decide }
    }
}

impl<F> Rule for PushRule<F>
where
    F: Fn(&PushPoint<'_>, &mut PushFate, &mut Stream) + Send + Sync,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn on_push(&self, push: &PushPoint<'_>, fate: &mut PushFate, random: &mut Stream) {
        (self.decide)(push, fate, random);
    }
}

/// A rule that calls a closure for each host read of L1. The closure may change the words, and
/// returns true if it did.
#[derive(Clone, Debug)]
pub struct HostReadRule<F> {
    name: String,
    change: F,
}

impl<F> HostReadRule<F>
where
    F: Fn(&HostReadPoint<'_>, &mut [u32], &mut Stream) -> bool + Send + Sync,
{
    /// Creates a rule that the log calls `name`.
    pub fn new(name: impl Into<String>, change: F) -> Self {
        Self { name: name.into(), change }
    }
}

impl<F> Rule for HostReadRule<F>
where
    F: Fn(&HostReadPoint<'_>, &mut [u32], &mut Stream) -> bool + Send + Sync,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn on_host_read(&self, at: &HostReadPoint<'_>, words: &mut [u32], random: &mut Stream) -> bool {
        (self.change)(at, words, random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::RuleSet;
    use std::sync::Arc;

    const CORE: TileCoord = TileCoord { x: 1, y: 2 };

    fn site(risc: Risc, launch_index: u64) -> Site {
        Site { chip_id: 0, core: CORE, risc, launch_index, program_id: 1 }
    }

    fn fate_of(rules: &RuleSet, site: Site, words: &[u32]) -> (PushFate, Arc<str>) {
        let push = PushPoint { site, push_index: 0, bank: 0, address: 0, words };
        rules.push_fate(&push, &mut Stream::new(1, &[]))
    }

    #[test]
    fn a_selection_takes_only_what_all_its_parts_take() {
        let selection = Selection::everywhere().chip(0).core(CORE).risc(Risc::Brisc).launches(2..4);
        let mut random = Stream::new(1, &[]);
        assert!(selection.takes(&site(Risc::Brisc, 2), &mut random));
        assert!(!selection.takes(&site(Risc::Ncrisc, 2), &mut random));
        assert!(!selection.takes(&site(Risc::Brisc, 4), &mut random));
        assert!(!selection.takes_core(1, CORE));
        assert!(!selection.takes_core(0, TileCoord { x: 1, y: 1 }));
    }

    #[test]
    fn rules_add_up_and_the_first_to_act_is_named() {
        let mut rules = RuleSet::default();
        rules.add(Arc::new(LoseWrite(Selection::everywhere().risc(Risc::Ncrisc))));
        rules.add(Arc::new(DelayWrite { selection: Selection::everywhere(), cycles: 5 }));
        let (fate, name) = fate_of(&rules, site(Risc::Ncrisc, 0), &[0; 4]);
        assert!(fate.is_lost() && fate.delay_cycles() == 5 && &*name == "lose-write");
        let (fate, name) = fate_of(&rules, site(Risc::Brisc, 0), &[0; 4]);
        assert!(!fate.is_lost() && &*name == "delay-write");
    }

    #[test]
    fn corruption_stays_inside_the_write() {
        let mut rules = RuleSet::default();
        let selection = Selection::everywhere();
        rules.add(Arc::new(CorruptWord { selection, word: WordChoice::At(4), mask: 3 }));
        assert_eq!(fate_of(&rules, site(Risc::Brisc, 0), &[0; 4]).0, PushFate::default());
        assert_eq!(fate_of(&rules, site(Risc::Brisc, 0), &[0; 5]).0.flips(), [(4, 3)]);
    }

    #[test]
    fn a_read_is_held_back_to_the_last_cycle_before_the_wrap() {
        let rule = TearClock { selection: Selection::everywhere(), at_ns: 0, within_us: 2 };
        let stall = |cycles_to_low_wrap| {
            let site = site(Risc::Brisc, 0);
            let read =
                ClockReadPoint { site, chip_cycle: 0, cycles_to_low_wrap, cycles_per_us: 1000 };
            rule.clock_stall_cycles(&read, &mut Stream::new(1, &[]))
        };
        assert_eq!([stall(1), stall(2), stall(2000), stall(2001)], [0, 1, 1999, 0]);
    }

    #[test]
    fn stale_words_replace_only_those_of_the_control_vector() {
        let rule = StaleControl(Selection::everywhere());
        let read = HostReadPoint {
            chip_id: 0,
            core: CORE,
            address: 96,
            control_address: 100,
            stale_control: &[7, 8],
        };
        let mut words = [1; 4];
        assert!(rule.on_host_read(&read, &mut words, &mut Stream::new(1, &[])));
        assert_eq!(words, [1, 7, 8, 1]);
    }
}
