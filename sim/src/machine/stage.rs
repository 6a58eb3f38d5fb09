//! A tile during a launch, and its RISCs' writes to DRAM.

use super::{
    awaited::Awaited,
    message::{Acknowledgement, Content, Message},
    stored_records::StoredRecords,
    tile_watch::WatchedRisc,
};
use crate::{
    arch::{TileCoord, translation::NOC_COUNT},
    chip::facts::ChipFacts,
    dram::Landing,
    fault::{AppliedFault, ClockReadPoint, FaultEffect, PushPoint, RuleSet, Site},
    host_memory::PostedWrite,
    program::{CoreUse, KernelContext, Launch},
    tile::Tile,
    truth::{NocRequest, RiscKey, StreamedCells, Truth},
};
use std::{collections::BTreeMap, mem::take, sync::Arc};
use wire::{
    risc::RISCS_PER_CORE,
    stream::{CELL_WORDS, RING_CELLS, words},
};

/// A tile during a launch.
pub(crate) struct Stage {
    pub(crate) tile: Box<Tile>,
    pub(crate) chip: Arc<ChipFacts>,
    pub(crate) rules: Arc<RuleSet>,
    /// Writes to the host's memory that were issued in this launch.
    pub(crate) host_writes: Vec<PostedWrite>,
    /// Earliest cycle at which the PCIe link accepts another write from this tile.
    pub(crate) link_free_at: u64,
    pub(crate) faults: Vec<AppliedFault>,
    /// NoC requests of kernels, each with the index of the RISC that sent it; collected only if the
    /// configuration enables this.
    pub(crate) noc_requests: Vec<(usize, NocRequest)>,
    /// Cells (the 64-bit units of streamed records) of each RISC; collected only if the
    /// configuration enables this.
    pub(crate) cells: [Vec<[u32; 2]>; RISCS_PER_CORE],
    /// Records that each RISC has stored; counted only if the configuration enables this.
    pub(crate) stored: [StoredRecords; RISCS_PER_CORE],
    /// For each RISC, the cycle at which a fault stops it permanently, and the name of the rule.
    pub(crate) stops_at: [Option<(u64, Arc<str>)>; RISCS_PER_CORE],
    /// Waits of each RISC; set when the launch is over.
    pub(crate) watched: [WatchedRisc; RISCS_PER_CORE],
    /// Requests to other tiles, including those to DRAM, that the NoC has not taken over yet.
    pub(crate) outgoing: Vec<Message>,
    /// Requests to other tiles that are not done.
    pub(crate) awaited: Awaited,
    /// For each NoC, the cycle at which the latest request leaves. Requests never overtake each
    /// other on their way out.
    pub(crate) last_departure: [u64; NOC_COUNT],
    /// For each target tile, the cycle at which the latest request of this tile to itself arrives.
    pub(crate) last_arrival: BTreeMap<TileCoord, u64>,
    /// The launch that runs on the tile.
    pub(crate) launch: Arc<Launch>,
    /// Cycle at which a fault stops the core permanently.
    pub(crate) dies_at: Option<u64>,
    /// Cycle after which a fault stops the core permanently, just before the core's next write to
    /// another core. That write is not sent.
    pub(crate) dies_telling_at: Option<u64>,
    context: KernelContext,
    /// For each hart, the injected delay of its current clock read: number of cycles, and name of
    /// the fault rule.
    held_clock: [Option<(u64, Arc<str>)>; RISCS_PER_CORE],
    pub(super) pushes: [Pushes; RISCS_PER_CORE],
}

/// A RISC's writes to DRAM in this launch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pushes {
    pub(super) count: u32,
    pub(super) acknowledged_at: u64,
}

impl Stage {
    pub(crate) fn new(
        tile: Box<Tile>,
        chip: Arc<ChipFacts>,
        rules: Arc<RuleSet>,
        launch: Arc<Launch>,
        context: KernelContext,
    ) -> Self {
        Self {
            tile,
            chip,
            rules,
            host_writes: Vec::new(),
            link_free_at: 0,
            faults: Vec::new(),
            noc_requests: Vec::new(),
            cells: Default::default(),
            stored: Default::default(),
            stops_at: Default::default(),
            watched: Default::default(),
            outgoing: Vec::new(),
            awaited: Awaited::default(),
            last_departure: [0; NOC_COUNT],
            last_arrival: BTreeMap::new(),
            launch,
            dies_at: None,
            dies_telling_at: None,
            context,
            held_clock: Default::default(),
            pushes: Default::default(),
        }
    }

    /// Returns true if a request from this tile is not done yet.
    pub(crate) fn has_requests(&self) -> bool {
        !self.awaited.is_empty()
    }

    /// Returns the context of the launch on this core; the context's RISC is the core's first one.
    pub(crate) const fn context(&self) -> &KernelContext {
        &self.context
    }

    /// Returns the number of cycles by which a fault rule delays a clock read.
    pub(crate) fn clock_stall_at(&mut self, risc_index: usize, chip_cycle: u64) -> u64 {
        if !self.rules.watches_clock() {
            return 0;
        }
        let read = ClockReadPoint {
            site: self.site(risc_index),
            chip_cycle,
            cycles_to_low_wrap: self.tile.clock.cycles_to_wrap(chip_cycle, 32),
            cycles_per_us: u64::from(self.chip.arch.facts().aiclk_mhz),
        };
        let stall = self.rules.clock_stall(&read, &mut self.tile.fault_random);
        let stall_cycles = stall.as_ref().map_or(0, |(cycles, _)| *cycles);
        self.held_clock[risc_index] = stall;
        stall_cycles
    }

    /// Collects new cells of streamed records if a store to the control vector increases the word
    /// with the number of written cells. Must be called before the store.
    pub(crate) fn note_cells(&mut self, address: u64, value: u32) {
        if !self.chip.modes.has_cell_truth || self.launch.core_use != CoreUse::Programs {
            return;
        }
        let first = self.tile.control_word_address(words::WRITTEN);
        let Some(risc_index) = address.checked_sub(first).map(|bytes| (bytes / 4) as usize) else {
            return;
        };
        let before = self.tile.load(address);
        let count = value.wrapping_sub(before);
        let Some(cells) = self.cells.get_mut(risc_index) else { return };
        if count as usize <= RING_CELLS {
            cells.extend((0..count).map(|index| {
                let slot = before.wrapping_add(index) as usize % RING_CELLS;
                let word = |word| self.tile.load(self.tile.vector_word_address(risc_index, word));
                [word(CELL_WORDS * slot), word(CELL_WORDS * slot + 1)]
            }));
        }
    }

    /// Counts the record that a RISC completes with a store, if the configuration enables this.
    pub(crate) fn note_record(&mut self, risc_index: usize, address: u64, value: u32) {
        if self.chip.modes.has_record_truth && self.launch.core_use == CoreUse::Programs {
            self.stored[risc_index].note(&self.tile, risc_index, (address, value));
        }
    }

    /// Asks the fault rules when each RISC stops permanently in this launch, which arrives at
    /// `cycle`.
    pub(crate) fn place_stops(&mut self, cycle: u64) {
        if self.rules.is_empty() {
            return;
        }
        for risc_index in 0..self.context.place.kind.risc_count() {
            let site = self.site(risc_index);
            let stop = self.rules.risc_stop(&site, &mut self.tile.fault_random);
            self.stops_at[risc_index] = stop.map(|(after, rule)| (cycle + after, rule));
        }
    }

    /// Logs that a fault has stopped a RISC.
    pub(crate) fn log_stop(&mut self, risc_index: usize, chip_cycle: u64) {
        if let Some((_, rule)) = self.stops_at[risc_index].take() {
            self.log(rule, risc_index, chip_cycle, FaultEffect::RiscStopped);
        }
    }

    /// Logs a clock reading if a fault delayed it, or if the clock's low word wrapped between the
    /// loads.
    pub(crate) fn note_clock_pair(&mut self, risc_index: usize, low_at: u64, high_at: u64) {
        let [low, high] = [low_at, high_at].map(|cycle| self.tile.clock.value(cycle).high_word());
        let (is_torn, held) = (low != high, self.held_clock[risc_index].take());
        if is_torn || held.is_some() {
            let (stall_cycles, rule) = held.unwrap_or_else(|| (0, Arc::from(BY_CHANCE)));
            let effect = FaultEffect::ClockReadStalled { stall_cycles, is_torn };
            self.log(rule, risc_index, low_at, effect);
        }
    }

    /// Issues a write to DRAM at a cycle; returns what the NoC carries to the bank.
    pub(crate) fn push_at(
        &mut self,
        risc_index: usize,
        issued_at: u64,
        words: Vec<u32>,
        (bank, address): (u32, u64),
        acknowledgement: Option<(TileCoord, Acknowledgement)>,
    ) -> Content {
        let byte_count = 4 * words.len() as u64;
        let landing = Landing { chip_cycle: issued_at, bank, address, words };
        let (landing, delay_cycles) = if bank < self.chip.arch.facts().bank_count
            && self.chip.bank_holds(address, landing.words.len())
        {
            self.spoil(risc_index, landing)
        } else {
            self.misdirect(risc_index, &landing);
            (None, 0)
        };
        let pushes = &mut self.pushes[risc_index];
        pushes.count = pushes.count.wrapping_add(1);
        Content::DramWrite { bank, byte_count, landing, delay_cycles, acknowledgement }
    }

    pub(super) fn misdirect(&mut self, risc_index: usize, landing: &Landing) {
        let &Landing { chip_cycle, bank, address, ref words } = landing;
        let effect = FaultEffect::WriteMisdirected { bank, address, word_count: words.len() };
        self.log(Arc::from(BY_CHANCE), risc_index, chip_cycle, effect);
    }

    /// Applies the fault rules to a write; returns the write, unless it is lost, and its delay.
    fn spoil(&mut self, risc_index: usize, mut landing: Landing) -> (Option<Landing>, u64) {
        let (fate, rule) = self.fate(risc_index, &landing);
        self.apply(&fate, &rule, risc_index, &mut landing);
        ((!fate.is_lost()).then_some(landing), fate.delay_cycles())
    }

    pub(super) fn fate(
        &mut self,
        risc_index: usize,
        landing: &Landing,
    ) -> (crate::fault::PushFate, Arc<str>) {
        if self.rules.is_empty() {
            return (crate::fault::PushFate::default(), Arc::from(""));
        }
        let push = PushPoint {
            site: self.site(risc_index),
            push_index: self.pushes[risc_index].count,
            bank: landing.bank,
            address: landing.address,
            words: &landing.words,
        };
        self.rules.push_fate(&push, &mut self.tile.fault_random)
    }

    pub(super) fn apply(
        &mut self,
        fate: &crate::fault::PushFate,
        rule: &Arc<str>,
        risc_index: usize,
        landing: &mut Landing,
    ) {
        let &mut Landing { chip_cycle, bank, address, .. } = landing;
        let word_count = landing.words.len();
        let mut log = |effect| self.log(Arc::clone(rule), risc_index, chip_cycle, effect);
        for &(index, mask) in fate.flips() {
            if let Some(word) = landing.words.get_mut(index) {
                let (before, after) = (*word, *word ^ mask);
                *word = after;
                let address = address + 4 * index as u64;
                log(FaultEffect::WordCorrupted { bank, address, before, after });
            }
        }
        if fate.delay_cycles() > 0 {
            let delay_cycles = fate.delay_cycles();
            log(FaultEffect::WriteDelayed { bank, address, delay_cycles });
        }
        if fate.is_lost() {
            log(FaultEffect::WriteLost { bank, address, word_count });
        }
    }

    /// Returns the number of cycles by which a fault rule delays the end of this subordinate RISC's
    /// main zone; 0 if no rule does. The launch arrives at `cycle`.
    pub(crate) fn late_cycles(&mut self, risc_index: usize, cycle: u64) -> u64 {
        if self.rules.is_empty() {
            return 0;
        }
        let site = self.site(risc_index);
        let rule = self.rules.late_subordinate(&site, &mut self.tile.fault_random);
        let Some((delay_cycles, rule)) = rule else { return 0 };
        self.log(rule, risc_index, cycle, FaultEffect::SubordinateLate { delay_cycles });
        delay_cycles
    }

    /// Returns the key under which the ground truth lists this RISC.
    pub(crate) fn key(&self, risc_index: usize) -> RiscKey {
        let Site { chip_id, core, risc, .. } = self.site(risc_index);
        RiscKey { chip_id, core, risc }
    }

    /// Removes and returns the ground truth of the launch so far, without the start and end times
    /// of the launch and of its kernels.
    pub(crate) fn take_truth(&mut self) -> Truth {
        let mut truth = Truth { faults: take(&mut self.faults), ..Truth::default() };
        for (risc_index, request) in take(&mut self.noc_requests) {
            truth.noc_requests.entry(self.key(risc_index)).or_default().push(request);
        }
        for (risc_index, watched) in take(&mut self.watched).into_iter().enumerate() {
            if !watched.waits.is_empty() {
                truth.waits.insert(self.key(risc_index), watched.waits);
            }
        }
        truth
    }

    /// Removes and returns the cells (64-bit units of records) that the RISCs have streamed since
    /// the last call.
    pub(crate) fn take_cells(&mut self) -> StreamedCells {
        let cells = take(&mut self.cells).into_iter().enumerate();
        let cells = cells.filter(|(_, cells)| !cells.is_empty());
        cells.map(|(risc_index, cells)| (self.key(risc_index), cells)).collect()
    }

    fn site(&self, risc_index: usize) -> Site {
        let KernelContext { chip_id, place, launch_index, program_id, risc, .. } = self.context;
        let risc = place.kind.risc(risc_index).unwrap_or(risc);
        Site { chip_id, core: place.coord, risc, launch_index, program_id }
    }

    fn log(&mut self, rule: Arc<str>, risc_index: usize, chip_cycle: u64, effect: FaultEffect) {
        let site = self.site(risc_index);
        self.faults.push(AppliedFault {
            rule,
            chip_id: site.chip_id,
            core: Some(site.core),
            site: Some(site),
            chip_cycle,
            effect,
        });
    }
}

/// Name in the fault log, in place of a rule's name, for an effect that occurred without a rule.
pub(crate) const BY_CHANCE: &str = "by-chance";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arch::{Arch, floorplan::Floorplan, translation::Translation},
        fault::rules::{DelayWrite, Selection},
        modes::KernelModes,
        program::Program,
    };
    use wire::CoreKind;

    fn stage(rules: RuleSet) -> Stage {
        let (arch, seed) = (Arch::WormholeB0, 1);
        let plan = Floorplan::new(arch, &[], 0).unwrap();
        let place = *plan.cores().iter().find(|core| core.kind == CoreKind::Tensix).unwrap();
        let chip = ChipFacts {
            chip_id: 0,
            arch,
            modes: KernelModes::PLAIN,
            lane_words: 12_000,
            region_bytes: 1_920_000,
            seed,
            translation: Translation::new(arch, &[]),
            host_tile: None,
            host_writers: 0,
            plan: Arc::new(plan),
        };
        let context = KernelContext::brisc(place, seed);
        let tile = Box::new(Tile::new(arch.facts(), place, 0, seed, 0));
        let launch = Arc::new(Launch::new(&Arc::new(Program::new("none")), 0));
        Stage::new(tile, Arc::new(chip), Arc::new(rules), launch, context)
    }

    #[test]
    fn a_delayed_write_says_its_delay() {
        let mut rules = RuleSet::default();
        let selection = Selection::everywhere().parts_per_million(300_000);
        rules.add(Arc::new(DelayWrite { selection, cycles: 500 }));
        let mut stage = stage(rules);
        let mut delays = Vec::new();
        for _ in 0..200 {
            let pushed = stage.push_at(0, 1_000, vec![0; 12], (3, 0x40), None);
            let Content::DramWrite { landing: Some(_), delay_cycles, .. } = pushed else {
                panic!("{pushed:?}");
            };
            delays.push(delay_cycles);
        }
        assert!(stage.faults.len() > 30);
        let delayed = delays.iter().filter(|delay| **delay == 500).count();
        assert_eq!(
            (delayed, delays.iter().sum::<u64>()),
            (stage.faults.len(), 500 * delayed as u64)
        );
    }

    #[test]
    fn a_write_to_no_bank_is_logged_and_goes_nowhere() {
        let mut stage = stage(RuleSet::default());
        for place in [(12, 0x40), (0, u64::MAX - 3)] {
            let pushed = stage.push_at(0, 1_000, vec![0; 12], place, None);
            assert!(matches!(pushed, Content::DramWrite { landing: None, .. }), "{pushed:?}");
        }
        let effects: Vec<&FaultEffect> = stage.faults.iter().map(|fault| &fault.effect).collect();
        assert!(matches!(
            effects[..],
            [FaultEffect::WriteMisdirected { bank: 12, .. }, FaultEffect::WriteMisdirected { .. }]
        ));
    }

    #[test]
    fn a_wrap_between_the_two_loads_of_the_clock_tears_a_read_by_chance() {
        let mut stage = stage(RuleSet::default());
        stage.tile.clock.wrap_at(1_001, 32);
        stage.note_clock_pair(0, 1_000, 1_001);
        let effect = FaultEffect::ClockReadStalled { stall_cycles: 0, is_torn: true };
        assert_eq!(stage.faults[0].effect, effect);
        assert_eq!(&*stage.faults[0].rule, BY_CHANCE);
        stage.note_clock_pair(0, 1_001, 1_002);
        assert_eq!(stage.faults.len(), 1);
    }
}
