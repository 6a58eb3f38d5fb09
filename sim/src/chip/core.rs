//! A core in the simulation: its tile, the RISCs on it, and what they did.

use super::facts::ChipFacts;
use crate::{
    dram::Landing,
    fault::{AppliedFault, RuleSet},
    machine::{self, ExecutionFailure, KernelKind, Machine},
    native::{
        firmware::{self, Go, LaunchReport, Riscs},
        stage::{self, Stage},
    },
    program::{KernelContext, Launch},
    tile::Tile,
    truth::{LaunchTruth, RiscKey, Truth},
};
use rayon::prelude::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use std::sync::Arc;
use wire::Risc;

/// A tile with its RISCs.
pub(crate) struct Core {
    tile: Option<Box<Tile>>,
    riscs: Riscs,
    /// Made when object code first runs here.
    machine: Option<Box<Machine>>,
    free_at_cycle: u64,
    launches: Vec<(Risc, Vec<LaunchTruth>)>,
    idle_launch_count: u64,
}

/// A launch that is to be carried out.
pub(crate) struct Job<'a> {
    pub(crate) launch: &'a Launch,
    pub(crate) launch_index: u64,
    /// When the GO message leaves the dispatcher.
    pub(crate) go_cycle: u64,
    /// Until when the host has seen everything.
    pub(crate) seen_until: u64,
    pub(crate) chip: &'a Arc<ChipFacts>,
    pub(crate) rules: &'a Arc<RuleSet>,
}

/// What a launch left behind on one core, besides its tile.
pub(crate) struct Outcome {
    /// When the core told the dispatcher that it is done.
    pub(crate) done_cycle: u64,
    pub(crate) landings: Vec<Landing>,
    pub(crate) faults: Vec<AppliedFault>,
    pub(crate) failures: Vec<ExecutionFailure>,
}

/// Carries a launch out on every core that takes part; outcomes are in the cores' order.
///
/// Cores meet only in DRAM, after the launch, so they may run side by side.
pub(crate) fn run_on_all(cores: &mut [Core], job: &Job<'_>) -> Vec<Outcome> {
    let taking_part = cores.iter_mut().filter(|core| core.takes_part_in(job.launch));
    let mut taking_part: Vec<&mut Core> = taking_part.collect();
    let cores = taking_part.par_iter_mut().with_min_len(CORES_PER_TASK);
    cores.map(|core| core.run(job)).collect()
}

/// Fewer are not worth another thread.
const CORES_PER_TASK: usize = 8;

impl Core {
    pub(crate) fn new(tile: Tile) -> Self {
        let kind = tile.place.kind;
        let riscs = (0..kind.risc_count()).filter_map(|index| kind.risc(index));
        Self {
            riscs: Riscs::new(kind),
            machine: None,
            launches: riscs.map(|risc| (risc, Vec::new())).collect(),
            tile: Some(Box::new(tile)),
            free_at_cycle: 0,
            idle_launch_count: 0,
        }
    }

    pub(crate) fn tile(&self) -> &Tile {
        self.tile.as_ref().expect(TILE_IS_HOME)
    }

    pub(crate) fn tile_mut(&mut self) -> &mut Tile {
        self.tile.as_mut().expect(TILE_IS_HOME)
    }

    /// When the last launch, its push included, is over.
    pub(crate) const fn free_at_cycle(&self) -> u64 {
        self.free_at_cycle
    }

    pub(crate) fn takes_part_in(&self, launch: &Launch) -> bool {
        launch.cores.includes(&self.tile().place)
    }

    fn run(&mut self, job: &Job<'_>) -> Outcome {
        let (stage, go) = self.set_up(job);
        match job.chip.kernels {
            KernelKind::Native => {
                let riscs = &mut self.riscs;
                let run = || firmware::run_launch(riscs, job.launch, &go);
                let (stage, report) = stage::play(stage, run);
                self.settle(stage, report, Vec::new())
            }
            KernelKind::Riscv | KernelKind::Cpp => self.run_machine(stage, job, &go),
        }
    }

    fn run_machine(&mut self, mut stage: Box<Stage>, job: &Job<'_>, go: &Go) -> Outcome {
        let new_machine = || Box::new(Machine::new(job.chip, stage.tile.place));
        let machine = self.machine.get_or_insert_with(new_machine);
        let (report, failures) = machine::run_launch(machine, &mut stage, job.launch, go);
        self.settle(stage, report, failures)
    }

    /// Takes the tile back and notes what the launch did.
    fn settle(
        &mut self,
        stage: Box<Stage>,
        report: LaunchReport,
        failures: Vec<ExecutionFailure>,
    ) -> Outcome {
        let Stage { tile, landings, faults, .. } = *stage;
        self.tile = Some(tile);
        self.free_at_cycle = report.free_cycle;
        self.idle_launch_count += u64::from(report.is_idle);
        for (risc, truth) in report.launches {
            if let Some((_, launches)) = self.launches.get_mut(risc.index()) {
                launches.push(truth);
            }
        }
        Outcome { done_cycle: report.done_cycle, landings, faults, failures }
    }

    /// Puts the tile on a stage and says when the GO message arrives there.
    fn set_up(&mut self, job: &Job<'_>) -> (Box<Stage>, Go) {
        let mut tile = self.tile.take().expect(TILE_IS_HOME);
        tile.journal.see_until(job.seen_until);
        if !job.rules.is_empty() {
            tile.remember_control();
        }
        let place = tile.place;
        let context = KernelContext {
            chip_id: job.chip.chip_id,
            place,
            risc: place.kind.risc(0).unwrap_or(Risc::Brisc),
            launch_index: job.launch_index,
            program_id: job.launch.program_id,
            args: Arc::clone(&job.launch.args),
            sums_enabled: job.chip.sums_enabled,
            seed: job.chip.seed,
        };
        let go = Go::arriving_at(&context, job.chip.arch, job.go_cycle.max(self.free_at_cycle));
        let (chip, rules) = (Arc::clone(job.chip), Arc::clone(job.rules));
        (Box::new(Stage::new(tile, chip, rules, context, go.arrival_cycle)), go)
    }

    pub(crate) fn add_truth(&self, chip_id: u32, truth: &mut Truth) {
        let core = self.tile().place.coord;
        for (risc, launches) in self.launches.iter().filter(|(_, launches)| !launches.is_empty()) {
            truth.launches.insert(RiscKey { chip_id, core, risc: *risc }, launches.clone());
        }
        if self.idle_launch_count > 0 {
            truth.idle_launches.insert((chip_id, core), self.idle_launch_count);
        }
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = self.tile.as_ref().map(|tile| tile.place);
        f.debug_struct("Core").field("place", &place).finish_non_exhaustive()
    }
}

const TILE_IS_HOME: &str = "a tile is away only while a launch runs on it";
