//! The tile that this thread is running, with the time of each of its RISCs.
//!
//! A port is only a handle to the stage of its thread, so the runtime's state can outlive
//! a launch while the tile itself is handed from thread to thread.

use super::{dataflow::Dataflow, envelope::Envelope, exchange::Seat};
use crate::{
    arch::{Arch, TileCoord},
    chip::facts::ChipFacts,
    dram::Landing,
    fault::{AppliedFault, ClockReadPoint, FaultEffect, PushPoint, RuleSet, Site},
    kernel::body::Transfer,
    machine::{core_code, message::Message},
    noc,
    program::KernelContext,
    tile::Tile,
    truth::{NocOperation, NocRequest},
};
use std::{cell::RefCell, collections::BTreeMap, sync::Arc};
use wire::{Cycles, noc_event::NocCounter, risc::RISCS_PER_CORE};

thread_local! {
    static STAGE: RefCell<Option<Box<Stage>>> = const { RefCell::new(None) };
}

/// Runs with the stage of this thread.
pub(crate) fn with<R>(action: impl FnOnce(&mut Stage) -> R) -> R {
    STAGE.with_borrow_mut(|stage| match stage {
        Some(stage) => action(stage),
        None => panic!("a simulated RISC was used on a thread that runs no kernel"),
    })
}

/// Puts a tile on the stage of this thread, runs, and takes the tile off again.
pub(crate) fn play<R>(stage: Box<Stage>, action: impl FnOnce() -> R) -> (Box<Stage>, R) {
    let outer = STAGE.replace(Some(stage));
    let result = action();
    match STAGE.replace(outer) {
        Some(stage) => (stage, result),
        None => panic!("the stage was taken away while a launch ran"),
    }
}

/// A tile in a launch.
pub(crate) struct Stage {
    pub(crate) tile: Box<Tile>,
    pub(crate) chip: Arc<ChipFacts>,
    pub(crate) rules: Arc<RuleSet>,
    /// Writes to DRAM that this launch issued.
    pub(crate) landings: Vec<Landing>,
    pub(crate) faults: Vec<AppliedFault>,
    /// Requests of kernels to the NoCs, by index of the RISC, where the truth is to hold them.
    pub(crate) noc_requests: Vec<(usize, NocRequest)>,
    /// Objects by which the kernels of this launch wait for each other.
    pub(crate) dataflow: Dataflow,
    /// Place among the cores whose kernels wait for each other, if there are several.
    pub(crate) seat: Option<Seat>,
    /// Requests to other tiles, and to DRAM for what is read there, that nobody has taken yet.
    pub(crate) outgoing: Vec<Message>,
    /// When a request last reached each tile: those of one tile never overtake each other.
    pub(crate) last_arrival: BTreeMap<TileCoord, u64>,
    /// True if the kernels dispatch.
    pub(crate) is_dispatch: bool,
    /// Envelope of a trace replay that the RISCs of the core write together.
    pub(crate) envelope: Envelope,
    context: KernelContext,
    /// The fault that holds the clock read of each hart back.
    held_clock: [Option<(u64, Arc<str>)>; RISCS_PER_CORE],
    riscs: [RiscTime; RISCS_PER_CORE],
}

#[derive(Clone, Copy, Debug, Default)]
struct RiscTime {
    chip_cycle: u64,
    acknowledged_at: u64,
    push_count: u32,
    /// When it last read the clock, and the two times before.
    clock_reads: [u64; 3],
}

impl RiscTime {
    const fn note_clock_read(&mut self, cycle: u64) {
        let [last, before, _] = self.clock_reads;
        self.clock_reads = [cycle, last, before];
    }
}

/// Cycles that the runtime's steps take.
///
/// # Compatibility
/// tt-isa-documentation, `BabyRISCV`: latencies of L1 and of tile registers, the rate of
/// L1 stores.
pub(crate) mod cost {
    /// Two loads of tile registers back to back.
    pub(crate) const CLOCK_READ: u64 = 8;
    /// A store to L1.
    pub(crate) const L1_STORE: u64 = 5;
    /// A load from L1.
    pub(crate) const L1_LOAD: u64 = 8;
    /// Loads and stores of the nine command registers, four in flight.
    pub(crate) const COPY_COMMAND_BUFFER: u64 = 24;
    /// Stores to the three command registers that all pushes share.
    pub(crate) const BEGIN_PUSHES: u64 = 8;
    /// A wait for the command buffer and seven stores to it.
    pub(crate) const PUSH: u64 = 16;
    /// A load of a NoC status register.
    pub(crate) const STATUS_READ: u64 = 7;
    /// For how long BRISC waits for the run of a RISC that is late.
    pub(crate) const PUBLICATION_PATIENCE: u64 =
        L1_LOAD * kernel_profiler::flush::PUBLICATION_POLLS as u64;
    /// For how long a RISC waits for acknowledgements: 2^18 looks at them.
    pub(crate) const PUSH_PATIENCE: u64 = STATUS_READ << 18;
}

impl Stage {
    pub(crate) fn new(
        tile: Box<Tile>,
        chip: Arc<ChipFacts>,
        rules: Arc<RuleSet>,
        context: KernelContext,
        start_cycle: u64,
    ) -> Self {
        let risc = RiscTime { chip_cycle: start_cycle, ..RiscTime::default() };
        Self {
            tile,
            chip,
            rules,
            landings: Vec::new(),
            faults: Vec::new(),
            noc_requests: Vec::new(),
            dataflow: Dataflow::default(),
            seat: None,
            outgoing: Vec::new(),
            last_arrival: BTreeMap::new(),
            is_dispatch: false,
            envelope: Envelope::default(),
            context,
            held_clock: Default::default(),
            riscs: [risc; RISCS_PER_CORE],
        }
    }

    /// The RISC that runs now.
    pub(crate) const fn context(&self) -> &KernelContext {
        &self.context
    }

    /// Hands the stage to another RISC.
    pub(crate) fn switch_to(&mut self, risc: wire::Risc) {
        self.context.risc = risc;
    }

    /// Cycle of the chip at which a RISC is.
    pub(crate) const fn cycle_of(&self, risc_index: usize) -> u64 {
        self.riscs[risc_index].chip_cycle
    }

    /// Lets a RISC wait until a cycle of the chip.
    pub(crate) fn wait_until(&mut self, risc_index: usize, chip_cycle: u64) {
        let risc = &mut self.riscs[risc_index];
        risc.chip_cycle = risc.chip_cycle.max(chip_cycle);
    }

    pub(crate) const fn spin(&mut self, cycles: u64) {
        self.riscs[self.context.risc.index()].chip_cycle += cycles;
    }

    /// Cycles at which the RISC last read the clock, the latest first.
    pub(crate) const fn clock_reads(&self, risc_index: usize) -> [u64; 3] {
        self.riscs[risc_index].clock_reads
    }

    pub(crate) fn wall_clock(&self) -> Cycles {
        self.tile.clock.value(self.cycle_of(self.context.risc.index()))
    }

    pub(crate) const fn advance(&mut self, risc_index: usize, cycles: u64) {
        self.riscs[risc_index].chip_cycle += cycles;
    }

    pub(crate) fn load(&mut self, risc_index: usize, address: u64) -> u32 {
        self.advance(risc_index, cost::L1_LOAD);
        self.tile.load(address)
    }

    pub(crate) fn store(&mut self, risc_index: usize, address: u64, value: u32) {
        self.advance(risc_index, cost::L1_STORE);
        let chip_cycle = self.cycle_of(risc_index);
        self.tile.store(address, value, chip_cycle);
    }

    /// Reads the low and then the live high word of the wall clock: (high, low).
    pub(crate) fn read_clock(&mut self, risc_index: usize) -> (u32, u32) {
        let stall = self.clock_stall(risc_index);
        let cycle = self.cycle_of(risc_index);
        self.riscs[risc_index].note_clock_read(cycle);
        let low = self.tile.clock.read_low(cycle);
        let high = self.tile.clock.read_live_high(cycle + 1);
        self.advance(risc_index, cost::CLOCK_READ);
        let is_torn = high != self.tile.clock.value(cycle).high_word();
        if is_torn || stall.is_some() {
            let (stall_cycles, rule) = stall.unwrap_or_else(|| (0, Arc::from(BY_CHANCE)));
            let effect = FaultEffect::ClockReadStalled { stall_cycles, is_torn };
            self.log(rule, risc_index, cycle, effect);
        }
        (high, low)
    }

    fn clock_stall(&mut self, risc_index: usize) -> Option<(u64, Arc<str>)> {
        if !self.rules.watches_clock() {
            return None;
        }
        let chip_cycle = self.cycle_of(risc_index);
        let read = ClockReadPoint {
            site: self.site(risc_index),
            chip_cycle,
            cycles_to_low_wrap: self.tile.clock.cycles_to_wrap(chip_cycle, 32),
            cycles_per_us: u64::from(self.chip.arch.facts().aiclk_mhz),
        };
        let stall = self.rules.clock_stall(&read, &mut self.tile.fault_random);
        if let Some((cycles, _)) = stall {
            self.advance(risc_index, cycles);
        }
        stall
    }

    /// For how many cycles a read of the clock at a cycle is held back.
    pub(crate) fn clock_stall_at(&mut self, risc_index: usize, chip_cycle: u64) -> u64 {
        if !self.rules.watches_clock() {
            return 0;
        }
        self.riscs[risc_index].chip_cycle = chip_cycle;
        let stall = self.clock_stall(risc_index);
        let stall_cycles = stall.as_ref().map_or(0, |(cycles, _)| *cycles);
        self.held_clock[risc_index] = stall;
        stall_cycles
    }

    /// Logs two reads that belong together, if a fault or a wrap came between them.
    pub(crate) fn note_clock_pair(&mut self, risc_index: usize, low_at: u64, high_at: u64) {
        let [low, high] = [low_at, high_at].map(|cycle| self.tile.clock.value(cycle).high_word());
        let (is_torn, held) = (low != high, self.held_clock[risc_index].take());
        if is_torn || held.is_some() {
            let (stall_cycles, rule) = held.unwrap_or_else(|| (0, Arc::from(BY_CHANCE)));
            let effect = FaultEffect::ClockReadStalled { stall_cycles, is_torn };
            self.log(rule, risc_index, low_at, effect);
        }
    }

    /// Issues a write to DRAM over a NoC at a cycle; returns when its acknowledgement arrives.
    pub(crate) fn push_at(
        &mut self,
        risc_index: usize,
        chip_cycle: u64,
        noc: usize,
        (source, word_count): (u64, u32),
        to: (u32, u64),
    ) -> u64 {
        self.riscs[risc_index].chip_cycle = chip_cycle;
        self.transfer(risc_index, noc, (source, word_count), to);
        self.riscs[risc_index].acknowledged_at
    }

    /// Issues a write of L1 words to DRAM, with acknowledgement.
    pub(crate) fn push(
        &mut self,
        risc_index: usize,
        source: u64,
        word_count: u32,
        bank: u32,
        address: u64,
    ) {
        self.advance(risc_index, cost::PUSH);
        self.transfer(risc_index, 0, (source, word_count), (bank, address));
    }

    /// Coordinates of a target of transfers, see [`super::tile`].
    pub(crate) fn coordinates(&self, target: u32) -> u32 {
        let noc = u32::from(self.context.noc().unwrap_or(0));
        let chip = &self.chip;
        let Some(bank) = target.checked_sub(1) else {
            let own = core_code::own_coordinates(chip, noc as usize, self.context.place.coord);
            return own & 0x3F | (own >> 8 & 0x3F) << 6;
        };
        let bank = bank % chip.arch.facts().bank_count;
        let coordinates = u32::from(core_code::bank_coordinates(chip, noc, bank));
        match chip.arch {
            Arch::WormholeB0 => coordinates >> 4,
            Arch::Blackhole => coordinates,
        }
    }

    /// Lets a native kernel move bytes.
    pub(crate) fn transfer_natively(&mut self, transfer: &Transfer) {
        let Some(noc) = self.context.noc() else { return };
        let risc_index = self.context.risc.index();
        self.advance(risc_index, cost::PUSH);
        let &Transfer { is_write, is_posted, tile, local, remote, byte_count } = transfer;
        // A read's answer is there at once.
        let counter = match (is_write, is_posted) {
            (false, _) => NocCounter::ReadResponses,
            (true, false) => NocCounter::WritesSent,
            (true, true) => NocCounter::PostedWritesSent,
        };
        self.tile.count_transfer(noc.into(), counter);
        if !self.chip.modes.has_noc_truth {
            return;
        }
        let part = |bits: u32| u16::try_from(bits & 0x3F).unwrap_or(0);
        let (x, y) = (part(tile), part(tile >> 6));
        let target = self.chip.translation.tile(noc.into(), x, y);
        let request = NocRequest {
            launch_index: self.context.launch_index,
            sent: self.wall_clock(),
            noc,
            operation: if is_write { NocOperation::Write } else { NocOperation::Read },
            coordinates: (x, y),
            first_corner: None,
            targets: target.into_iter().collect(),
            address: remote.into(),
            local_address: Some(local),
            byte_count,
            virtual_channel: is_write.then_some(1),
            is_posted: is_write && is_posted,
            is_linked: false,
            transaction_id: 0,
        };
        self.noc_requests.push((risc_index, request));
    }

    fn transfer(
        &mut self,
        risc_index: usize,
        noc: usize,
        (source, word_count): (u64, u32),
        (bank, address): (u32, u64),
    ) {
        let words: Vec<u32> =
            (0..u64::from(word_count)).map(|index| self.tile.load(source + 4 * index)).collect();
        self.tile.count_transfer(noc, NocCounter::WritesSent);
        let issued_at = self.cycle_of(risc_index);
        let landing = Landing { chip_cycle: issued_at, bank, address, words };
        match self.chip.arch.facts().bank_tile(bank) {
            Some(_) if self.chip.bank_holds(address, landing.words.len()) => {
                self.send(risc_index, noc, landing);
            }
            _ => self.misdirect(risc_index, &landing),
        }
        self.riscs[risc_index].push_count += 1;
    }

    fn misdirect(&mut self, risc_index: usize, landing: &Landing) {
        let &Landing { chip_cycle, bank, address, ref words } = landing;
        let effect = FaultEffect::WriteMisdirected { bank, address, word_count: words.len() };
        self.log(Arc::from(BY_CHANCE), risc_index, chip_cycle, effect);
    }

    fn send(&mut self, risc_index: usize, noc: usize, mut landing: Landing) {
        let (fate, rule) = self.fate(risc_index, &landing);
        let to = self.chip.arch.facts().bank_tile(landing.bank).unwrap_or(self.context.place.coord);
        let latency = noc::write_latency(
            self.chip.arch.facts(),
            noc,
            (self.context.place.coord, to),
            4 * landing.words.len() as u64,
            &mut self.tile.noc_random,
        );
        let last = &mut self.tile.last_landing[landing.bank as usize];
        let arrival = landing.chip_cycle + latency.landing_cycles + fate.delay_cycles();
        landing.chip_cycle = arrival.max(*last + 1);
        *last = landing.chip_cycle;
        let acknowledged_at = landing.chip_cycle + latency.acknowledgement_cycles;
        let risc = &mut self.riscs[risc_index];
        risc.acknowledged_at = risc.acknowledged_at.max(acknowledged_at);
        self.apply(&fate, &rule, risc_index, &mut landing);
        if !fate.is_lost() {
            self.landings.push(landing);
        }
    }

    fn fate(&mut self, risc_index: usize, landing: &Landing) -> (crate::fault::PushFate, Arc<str>) {
        if self.rules.is_empty() {
            return (crate::fault::PushFate::default(), Arc::from(""));
        }
        let push = PushPoint {
            site: self.site(risc_index),
            push_index: self.riscs[risc_index].push_count,
            bank: landing.bank,
            address: landing.address,
            words: &landing.words,
        };
        self.rules.push_fate(&push, &mut self.tile.fault_random)
    }

    fn apply(
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

    /// Waits until DRAM has acknowledged every write of a RISC; says whether it has in time.
    pub(crate) fn wait_for_pushes(&mut self, risc_index: usize) -> bool {
        let acknowledged_at = self.riscs[risc_index].acknowledged_at;
        let given_up_at = self.cycle_of(risc_index) + cost::PUSH_PATIENCE;
        self.wait_until(risc_index, acknowledged_at.min(given_up_at));
        self.advance(risc_index, cost::STATUS_READ);
        acknowledged_at <= given_up_at
    }

    /// For how many cycles a rule makes this subordinate late, 0 if none does.
    pub(crate) fn late_cycles(&mut self, risc_index: usize) -> u64 {
        if self.rules.is_empty() {
            return 0;
        }
        let site = self.site(risc_index);
        let rule = self.rules.late_subordinate(&site, &mut self.tile.fault_random);
        let cycle = self.cycle_of(risc_index);
        let Some((delay_cycles, rule)) = rule else { return 0 };
        self.log(rule, risc_index, cycle, FaultEffect::SubordinateLate { delay_cycles });
        delay_cycles
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

/// Name in the fault log of an effect that no rule caused.
pub(crate) const BY_CHANCE: &str = "by-chance";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arch::{Arch, floorplan::Floorplan, translation::Translation},
        fault::rules::{DelayWrite, Selection},
        modes::KernelModes,
    };
    use kernel_profiler::wait::WaitRecords;
    use wire::CoreKind;

    fn stage(rules: RuleSet) -> Stage {
        let (arch, seed) = (Arch::WormholeB0, 1);
        let plan = Floorplan::new(arch, &[], 0).unwrap();
        let place = *plan.cores().iter().find(|core| core.kind == CoreKind::Tensix).unwrap();
        let modes = KernelModes { wait_records: WaitRecords::Off, ..KernelModes::NATIVE };
        let chip = ChipFacts {
            chip_id: 0,
            arch,
            modes,
            lane_words: 12_000,
            region_bytes: 1_920_000,
            seed,
            translation: Translation::new(arch, &[]),
            host_tile: None,
            plan: Arc::new(plan),
        };
        let context = KernelContext::of_brisc(place, seed);
        let tile = Box::new(Tile::new(arch.facts(), place, 0, seed, 0));
        Stage::new(tile, Arc::new(chip), Arc::new(rules), context, 1_000)
    }

    #[test]
    fn writes_of_one_tile_to_one_bank_land_in_their_order() {
        let mut rules = RuleSet::default();
        let selection = Selection::everywhere().parts_per_million(300_000);
        rules.add(Arc::new(DelayWrite { selection, cycles: 500 }));
        let mut stage = stage(rules);
        for _ in 0..200 {
            stage.push(0, 0xC00, 12, 3, 0x40);
        }
        let cycles: Vec<u64> = stage.landings.iter().map(|landing| landing.chip_cycle).collect();
        assert!(cycles.is_sorted_by(|one, next| one < next));
        assert!(stage.faults.len() > 30);
    }

    #[test]
    fn a_wait_ends_after_the_last_landing() {
        let mut stage = stage(RuleSet::default());
        stage.push(0, 0xC00, 512, 11, 0x40);
        stage.wait_for_pushes(0);
        assert!(stage.cycle_of(0) > stage.landings[0].chip_cycle + 10);
        assert_eq!(stage.cycle_of(1), 1_000, "only the RISC that waits loses time");
    }

    #[test]
    fn a_write_to_no_bank_is_logged_and_goes_nowhere() {
        let mut stage = stage(RuleSet::default());
        stage.push(0, 0xC00, 12, 12, 0x40);
        stage.push(0, 0xC00, 12, 0, u64::MAX - 3);
        assert!(stage.landings.is_empty());
        let effects: Vec<&FaultEffect> = stage.faults.iter().map(|fault| &fault.effect).collect();
        assert!(matches!(
            effects[..],
            [FaultEffect::WriteMisdirected { bank: 12, .. }, FaultEffect::WriteMisdirected { .. }]
        ));
    }

    #[test]
    fn a_wrap_between_the_two_loads_tears_a_read_by_chance() {
        let mut stage = stage(RuleSet::default());
        stage.tile.clock.wrap_at(1_001, 32);
        let (high, low) = stage.read_clock(0);
        assert_eq!((high, low), (1, u32::MAX));
        assert_eq!(&*stage.faults[0].rule, BY_CHANCE);
        assert_eq!(stage.read_clock(0), (1, 7));
    }
}
