//! Cores that run a few instructions without firmware, to test which accesses a chip refuses.

use super::{Core, Running, run_windows};
use crate::{
    arch::{Arch, TileCoord, floorplan::Floorplan, translation::Translation},
    chip::{facts::ChipFacts, traffic::Flights},
    dram::Dram,
    fault::RuleSet,
    limits::LiftedLimits,
    machine::{FailureReason, Machine, Progress, Stage},
    modes::KernelModes,
    program::{CoreUse, KernelContext, Launch, Program},
    riscv::asm::{A0, A1, EBREAK, T0, T1, T2, addi, bne, li, lw, sw},
    tile::Tile,
};
use std::sync::Arc;

/// A chip without firmware.
pub(super) struct BareChip {
    pub(super) facts: Arc<ChipFacts>,
    cores: Vec<Core>,
    pub(super) dram: Dram,
    budget_cycles: u64,
}

/// A program of instructions, in the order of execution.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    words: Vec<u32>,
}

impl Script {
    /// Stores a word.
    pub(super) fn store(mut self, address: u32, value: u32) -> Self {
        self.words.extend(li(T0, address));
        self.words.extend(li(T1, value));
        self.words.push(sw(T1, T0, 0));
        self
    }

    /// Copies a word into L1.
    pub(super) fn copy(mut self, from: u32, to: u32) -> Self {
        self.words.extend(li(T0, from));
        self.words.extend(li(T1, to));
        self.words.push(lw(T2, T0, 0));
        self.words.push(sw(T2, T1, 0));
        self
    }

    /// Waits until the word at an address has a value.
    pub(super) fn wait(mut self, address: u32, value: u32) -> Self {
        self.words.extend(li(T0, address));
        self.words.extend(li(T1, value));
        self.words.extend([lw(T2, T0, 0), bne(T2, T1, -4)]);
        self
    }

    /// Waits for `passes` rounds of a loop.
    pub(super) fn pause(mut self, passes: u32) -> Self {
        self.words.extend(li(A0, passes));
        self.words.extend([addi(A0, A0, -1), addi(A1, A1, 1), bne(A0, 0, -8)]);
        self
    }

    /// Appends an instruction.
    pub(super) fn instruction(mut self, word: u32) -> Self {
        self.words.push(word);
        self
    }

    /// Stores to registers of request initiator 0, given by offset.
    pub(super) fn command(self, noc: u32, stores: &[(u32, u32)]) -> Self {
        let base = 0xFFB2_0000 + noc * 0x1_0000;
        stores.iter().fold(self, |script, &(offset, value)| script.store(base + offset, value))
    }

    /// Appends another script.
    pub(super) fn then(mut self, other: Self) -> Self {
        self.words.extend(other.words);
        self
    }

    /// Returns the instructions, followed by `ebreak`.
    pub(super) fn words(&self) -> Vec<u32> {
        [&self.words[..], &[EBREAK]].concat()
    }
}

impl BareChip {
    /// Creates a chip without harvesting.
    pub(super) fn new(arch: Arch) -> Self {
        let plan = Floorplan::new(arch, &[], 0).unwrap();
        let modes = KernelModes { cycle_limit: 0, ..KernelModes::PLAIN };
        let facts = ChipFacts {
            chip_id: 0,
            arch,
            modes,
            lane_words: 12_000,
            region_bytes: 1_920_000,
            seed: 1,
            translation: Translation::new(arch, &[]),
            host_tile: None,
            host_writers: 0,
            plan: Arc::new(plan),
        };
        let tile = |place: &_| Core::new(Tile::new(arch.facts(), *place, 0, 1, 0));
        Self {
            cores: facts.plan.cores().iter().map(tile).collect(),
            dram: Dram::new(arch.facts().bank_count, arch.facts().bank_bytes),
            facts: Arc::new(facts),
            budget_cycles: BUDGET_CYCLES,
        }
    }

    /// Lets scripts run as long as they need.
    pub(super) fn without_limit(mut self) -> Self {
        self.budget_cycles = u64::MAX;
        self
    }

    /// Lifts limits of the timing model.
    pub(super) fn with_lifted_limits(mut self, lifted: LiftedLimits) -> Self {
        Arc::make_mut(&mut self.facts).modes.lifted = lifted;
        self
    }

    fn core(&mut self, coord: TileCoord) -> &mut Core {
        self.cores.iter_mut().find(|core| core.coord() == coord).unwrap()
    }

    /// Writes words into L1.
    pub(super) fn put(&mut self, coord: TileCoord, address: u64, words: &[u32]) {
        let tile = self.core(coord).tile_mut();
        for (at, &word) in (address..).step_by(4).zip(words) {
            tile.l1.replace_word(at, word);
        }
    }

    /// Returns a word of L1.
    pub(super) fn word(&mut self, coord: TileCoord, address: u64) -> u32 {
        let core = self.core(coord);
        match &core.running {
            Some(running) => running.stage.tile.load(address),
            None => core.tile().load(address),
        }
    }

    /// Runs scripts on BRISC of some cores to their end; returns the failures as text.
    pub(super) fn run(&mut self, scripts: &[(TileCoord, &Script)]) -> Vec<String> {
        for (coord, script) in scripts {
            self.start(*coord, script);
        }
        let mut flights = Flights::new(self.facts.arch, self.facts.modes.lifted);
        let parts = (&mut self.cores[..], &mut self.dram, &mut flights);
        run_windows(parts, &self.facts, u64::MAX);
        self.dram.land_until(u64::MAX);
        let mut failures = Vec::new();
        for core in &mut self.cores {
            let Some(Running { stage, progress }) = core.running.take() else { continue };
            let wrong = progress.failures().iter();
            let wrong = wrong.filter(|failure| failure.reason != FailureReason::Stopped);
            failures.extend(wrong.map(ToString::to_string));
            core.tile = Some(stage.tile);
        }
        self.dram.land_until(u64::MAX);
        failures
    }

    fn start(&mut self, coord: TileCoord, script: &Script) {
        let facts = Arc::clone(&self.facts);
        let core = self.core(coord);
        let mut tile = core.tile.take().unwrap();
        tile.l1.keep(0x1_0000);
        tile.journal.see_until(u64::MAX);
        for (at, word) in (0..).step_by(4).zip(script.words()) {
            tile.l1.replace_word(at, word);
        }
        let place = tile.place;
        let context = KernelContext::brisc(place, 1);
        let mut machine = Box::new(Machine::new(CoreUse::Programs, &facts, place));
        machine.start_bare(&facts, place);
        core.machine = Some(machine);
        let launch = Arc::new(Launch::new(&Arc::new(Program::new("bare")), 1));
        let rules = Arc::new(RuleSet::default());
        let stage = Box::new(Stage::new(tile, facts, rules, launch, context));
        let progress = Progress::bare(self.budget_cycles);
        let core = self.core(coord);
        core.running = Some(Running { stage, progress });
    }

    /// Returns the machine of a core: its harts and devices.
    pub(super) fn machine(&mut self, coord: TileCoord) -> &mut Machine {
        self.core(coord).machine.as_mut().unwrap()
    }
}

/// Maximum number of cycles of a script.
const BUDGET_CYCLES: u64 = 60_000;
