//! A simulated core: its tile and its RISCs.
#[cfg(test)]
#[path = "../../tests/unit/bare.rs"]
mod bare;
#[cfg(test)]
#[path = "../../tests/unit/daisychain.rs"]
mod daisychain;
#[cfg(test)]
#[path = "../../tests/unit/silicon_noc.rs"]
mod silicon_noc;
#[cfg(test)]
#[path = "../../tests/unit/silicon_riscv.rs"]
mod silicon_riscv;
#[cfg(test)]
#[path = "../../tests/unit/silicon_rows.rs"]
mod silicon_rows;
#[cfg(test)]
#[path = "../../tests/unit/silicon_tensix.rs"]
mod silicon_tensix;
#[cfg(test)]
mod tests;

use super::{
    facts::ChipFacts,
    traffic::{Flights, Reached},
};
use crate::{
    arch::{TileCoord, floorplan::CorePlace},
    dram::Dram,
    fault::RuleSet,
    lines::RiscLines,
    machine::{Devices, ExecutionFailure, LaunchReport, Machine, Progress, Stage, TURN_CYCLES},
    program::{CoreUse, KernelContext, Launch},
    tile::Tile,
    truth::{CounterTruth, RiscKey, StreamedCells, Truth},
    unfinished::UnfinishedLaunch,
};
use rayon::prelude::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use std::sync::Arc;
use wire::Risc;

/// A tile and the RISCs on it.
pub(crate) struct Core {
    tile: Option<Box<Tile>>,
    /// The RISCs of this core; created by the first launch on it.
    machine: Option<Box<Machine>>,
    /// The launch in progress on this core, if any. During a launch, its [`Stage`] owns the tile.
    running: Option<Running>,
    coord: TileCoord,
    core_use: CoreUse,
    free_at_cycle: u64,
    /// Number of trace replays that have begun since the last launch on this core.
    replays_begun: u32,
}

/// A launch in progress.
struct Running {
    stage: Box<Stage>,
    progress: Progress,
}

/// A launch to run, with its start time and the fault rules.
pub(crate) struct Job<'a> {
    pub(crate) launch: &'a Arc<Launch>,
    pub(crate) launch_index: u64,
    /// Cycle at which the GO message leaves the dispatcher.
    pub(crate) go_cycle: u64,
    /// Earliest cycle at which the host may next access the chip.
    pub(crate) seen_until: u64,
    pub(crate) chip: &'a Arc<ChipFacts>,
    pub(crate) rules: &'a Arc<RuleSet>,
}

/// Result of a launch on one core.
pub(crate) struct Outcome {
    /// Cycle at which the core signalled to the dispatcher that it is done.
    pub(crate) done_cycle: u64,
    pub(crate) failures: Vec<ExecutionFailure>,
    pub(crate) truth: Truth,
    pub(crate) cells: StreamedCells,
    pub(crate) lines: Vec<RiscLines>,
    pub(crate) unfinished: Option<UnfinishedLaunch>,
}

/// Begins a launch on every core that takes part in it.
pub(crate) fn begin(cores: &mut [Core], job: &Job<'_>) {
    for core in cores.iter_mut().filter(|core| core.takes_part_in(job.launch)) {
        core.begin(job);
    }
}

/// Ends a launch on the cores that run it; returns their outcomes in the order of the cores.
pub(crate) fn end(cores: &mut [Core], launch_index: u64) -> Vec<Outcome> {
    let running = cores.iter_mut().filter(|core| core.runs(launch_index));
    running.filter_map(Core::end).collect()
}

/// Runs cores in windows of time, up to the cycle of the host's next access, `pause`.
///
/// Within a window, the cores run in parallel. Requests between cores are delivered between
/// windows.
///
/// If `pause` is `u64::MAX` (no host access is planned), the function returns as soon as no core
/// except relays has work.
///
/// The windows grow as long as no requests are sent. A receiver may see a request up to one window
/// too late; a sender sees the answer to its own request in time. If kernels wait for other cores,
/// all windows are short.
pub(crate) fn run_windows(
    (cores, dram, flights): (&mut [Core], &mut Dram, &mut Flights),
    chip: &ChipFacts,
    pause: u64,
) {
    let couples_cores = cores.iter().any(Core::couples_cores);
    let mut window_cycles = if couples_cores { COUPLED_CYCLES } else { FIRST_WINDOW_CYCLES };
    loop {
        if pause == u64::MAX && !cores.iter().any(Core::keeps_launch_running) {
            return;
        }
        let next = cores.iter().filter_map(Core::next_cycle).min().filter(|next| *next < pause);
        let until = next.map(|next| next.saturating_add(window_cycles).min(pause));
        if let Some(until) = until {
            // A relay may write to any core, so while relays run, no core may run beyond the
            // current window.
            let has_relays = cores.iter().any(Core::runs_relay);
            let pause = if has_relays { until } else { pause };
            // A core that waits for an answer stops before the window's end until the answer's time
            // is known. Requests take effect only once no core can send an earlier one.
            loop {
                let mut running: Vec<&mut Core> =
                    cores.iter_mut().filter(|core| core.can_advance(until)).collect();
                if running.len() <= CORES_PER_TASK {
                    running.iter_mut().for_each(|core| core.advance((until, pause)));
                } else {
                    let running = running.par_iter_mut().with_min_len(CORES_PER_TASK);
                    running.for_each(|core| core.advance((until, pause)));
                }
                let slowest = cores.iter().filter_map(Core::next_cycle).min();
                let cycle = slowest.unwrap_or(until).min(until);
                let has_moved =
                    flights.advance((cores, dram), chip, Reached { cycle, seen_at: until });
                if cycle == until || !has_moved {
                    break;
                }
            }
        } else {
            // Only messages in flight can let a core continue.
            let Some(first) = flights.next_cycle().filter(|first| *first < pause) else { return };
            let cycle = first.saturating_add(window_cycles).min(pause);
            flights.advance((cores, dram), chip, Reached { cycle, seen_at: 0 });
        }
        let has_traffic = !flights.is_empty();
        window_cycles = match has_traffic {
            _ if couples_cores => COUPLED_CYCLES,
            true => TURN_CYCLES,
            false => (2 * window_cycles).min(WINDOW_CYCLES_MAX),
        };
    }
}

/// Length of the first window of a launch in cycles.
const FIRST_WINDOW_CYCLES: u64 = 1024;
/// Maximum length of a window in cycles.
const WINDOW_CYCLES_MAX: u64 = 16_384;

/// Length of a window in cycles while kernels wait for other cores: about one polling interval.
const COUPLED_CYCLES: u64 = 16;

/// Minimum number of cores per parallel task. A task with fewer cores costs more time than it
/// saves.
const CORES_PER_TASK: usize = 8;

impl Core {
    pub(crate) fn new(tile: Tile) -> Self {
        Self {
            coord: tile.place.coord,
            core_use: CoreUse::Programs,
            machine: None,
            running: None,
            tile: Some(Box::new(tile)),
            free_at_cycle: 0,
            replays_begun: 0,
        }
    }

    /// Reserves the core for one kind of launches.
    pub(crate) const fn keep_for(&mut self, core_use: CoreUse) {
        self.core_use = core_use;
    }

    /// Returns the kind of launches that the core is reserved for.
    pub(crate) const fn core_use(&self) -> CoreUse {
        self.core_use
    }

    /// Records the start of a trace replay. The next launch on this core gets the number of replays
    /// that have begun.
    pub(crate) const fn begin_replay(&mut self) {
        self.replays_begun = self.replays_begun.saturating_add(1);
    }

    pub(crate) fn tile(&self) -> &Tile {
        match &self.running {
            Some(running) => &running.stage.tile,
            None => self.tile.as_ref().expect(TILE_IS_HOME),
        }
    }

    pub(crate) fn tile_mut(&mut self) -> &mut Tile {
        match &mut self.running {
            Some(running) => &mut running.stage.tile,
            None => self.tile.as_mut().expect(TILE_IS_HOME),
        }
    }

    /// Returns the cycle at which the core's last launch ended, including its last write of records
    /// to DRAM.
    pub(crate) const fn free_at_cycle(&self) -> u64 {
        self.free_at_cycle
    }

    pub(crate) fn takes_part_in(&self, launch: &Launch) -> bool {
        launch.core_use == self.core_use && launch.cores.includes(&self.tile().place)
    }

    /// Begins a launch.
    fn begin(&mut self, job: &Job<'_>) {
        let stage = self.set_up(job);
        self.machine_or_new(job.chip, stage.tile.place);
        let progress = Progress::new(&stage, job.go_cycle.max(self.free_at_cycle));
        self.running = Some(Running { stage, progress });
    }

    fn machine_or_new(&mut self, chip: &ChipFacts, place: CorePlace) -> &mut Machine {
        let core_use = self.core_use;
        self.machine.get_or_insert_with(|| Box::new(Machine::new(core_use, chip, place)))
    }

    /// Returns the cycle at which this core next executes an instruction of its launch; `None` if
    /// it will execute none.
    fn next_cycle(&self) -> Option<u64> {
        let running = self.running.as_ref()?;
        running.progress.next_cycle(self.machine.as_ref()?)
    }

    /// Returns true if this core has work that its launch must wait for. Always false for a relay,
    /// because a relay does not end by itself.
    fn keeps_launch_running(&self) -> bool {
        let sends = || self.running.as_ref().is_some_and(|running| running.stage.has_requests());
        self.core_use != CoreUse::Relay && (self.next_cycle().is_some() || sends())
    }

    /// Returns true if this core is reserved for a relay, and the relay is running.
    fn runs_relay(&self) -> bool {
        self.core_use == CoreUse::Relay && self.next_cycle().is_some()
    }

    /// Returns true if kernels of this core's launch wait for other cores.
    fn couples_cores(&self) -> bool {
        let running = self.running.as_ref();
        running.is_some_and(|running| running.stage.launch.program.couples_cores())
    }

    /// Returns true if this core's launch can go on before a cycle.
    fn can_advance(&self, until: u64) -> bool {
        let (Some(running), Some(machine)) = (&self.running, &self.machine) else { return false };
        running.progress.can_advance(machine, &running.stage, until)
    }

    fn advance(&mut self, times: (u64, u64)) {
        let (Some(running), Some(machine)) = (&mut self.running, &mut self.machine) else { return };
        running.progress.advance((machine, &mut running.stage), times);
    }

    /// Returns true if the launch with index `launch_index` is in progress on this core.
    pub(crate) fn runs(&self, launch_index: u64) -> bool {
        self.running
            .as_ref()
            .is_some_and(|running| running.stage.context().launch_index == launch_index)
    }

    /// Returns true if this core has nothing to do until another tile sends it a request.
    pub(crate) fn is_at_rest(&self) -> bool {
        let has_requests =
            self.running.as_ref().is_some_and(|running| running.stage.has_requests());
        self.next_cycle().is_none() && !has_requests
    }

    fn end(&mut self) -> Option<Outcome> {
        let Running { mut stage, progress } = self.running.take()?;
        let machine = self.machine.as_mut()?;
        let (mut report, failures) = progress.finish((machine, &mut stage));
        let KernelContext { launch_index, program_id, .. } = *stage.context();
        let intervals = machine.take_counter_intervals().into_iter();
        let counters: Vec<_> = intervals
            .map(|interval| CounterTruth {
                launch_index,
                program_id,
                bank: interval.bank,
                cycles: interval.cycles,
                issued: interval.issued,
            })
            .collect();
        let RiscKey { chip_id, core, .. } = stage.key(0);
        let mut truth = stage.take_truth();
        if !counters.is_empty() {
            truth.counters.insert((chip_id, core), counters);
        }
        if report.is_idle {
            truth.idle_launches.insert((chip_id, core), 1);
        }
        for (risc, launch) in std::mem::take(&mut report.launches) {
            truth.launches.insert(RiscKey { chip_id, core, risc }, vec![launch]);
        }
        self.free_at_cycle = report.free_cycle;
        let cells = stage.take_cells();
        self.tile = Some(stage.tile);
        let LaunchReport { done_cycle, lines, unfinished, .. } = report;
        Some(Outcome { done_cycle, failures, truth, cells, lines, unfinished })
    }

    /// Returns the core's coordinates on the NoC-0 grid.
    pub(crate) const fn coord(&self) -> TileCoord {
        self.coord
    }

    /// Returns the stage of the launch in progress on this core, if any.
    pub(crate) fn stage_mut(&mut self) -> Option<&mut Stage> {
        self.running.as_mut().map(|running| &mut *running.stage)
    }

    /// Calls a function with this core's tile and devices, for an access from outside the core.
    pub(crate) fn with_devices<R>(
        &mut self,
        chip: &ChipFacts,
        action: impl FnOnce(&mut Tile, &mut Devices) -> R,
    ) -> R {
        let place = match &self.running {
            Some(running) => running.stage.tile.place,
            None => self.tile().place,
        };
        self.machine_or_new(chip, place);
        let tile = match &mut self.running {
            Some(running) => &mut running.stage.tile,
            None => self.tile.as_mut().expect(TILE_IS_HOME),
        };
        let machine = self.machine.as_mut().expect("it was made above");
        let result = action(tile, machine.devices_mut());
        machine.follow_arrivals(tile);
        result
    }

    /// Creates the stage of a launch, and moves the core's tile into the stage.
    fn set_up(&mut self, job: &Job<'_>) -> Box<Stage> {
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
            args: match job.launch.core_use {
                CoreUse::Dispatch => Arc::from([clock_low(&tile, job.go_cycle)]),
                CoreUse::Programs | CoreUse::Relay | CoreUse::Spare => Arc::clone(&job.launch.args),
            },
            replays_begun: std::mem::take(&mut self.replays_begun),
            sums_enabled: job.chip.modes.sums_enabled,
            records_noc_waits: job.chip.modes.is_non_dropping,
            seed: job.chip.seed,
        };
        let (chip, rules) = (Arc::clone(job.chip), Arc::clone(job.rules));
        Box::new(Stage::new(tile, chip, rules, Arc::clone(job.launch), context))
    }
}

/// Returns the low word of a tile's clock value at a cycle of the chip.
fn clock_low(tile: &Tile, chip_cycle: u64) -> u32 {
    (tile.clock.value(chip_cycle).0 & 0xFFFF_FFFF) as u32
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = self.tile.as_ref().map(|tile| tile.place);
        f.debug_struct("Core").field("place", &place).finish_non_exhaustive()
    }
}

const TILE_IS_HOME: &str = "a tile is away only while a launch runs on it";
