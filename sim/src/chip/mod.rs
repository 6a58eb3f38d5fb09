//! One chip: its cores, its DRAM, and the launches queued for it.
//!
//! Launches run one after another, each on many cores at once; launches on different sub-devices
//! run in parallel. Once a launch's start time has passed, the launch is simulated to its end. The
//! host does not see an effect before the host's time reaches the time of the effect. In the debug
//! dump and streaming modes, kernels may wait for the host, so launches are simulated only up to
//! the host's next access.

pub(crate) mod core;
pub(crate) mod facts;
mod host_access;
mod relays;
mod schedule;
pub(crate) mod traffic;

use crate::{
    arch::{
        TileCoord,
        floorplan::{CorePlace, Floorplan},
    },
    clock::{ChipClock, PS_PER_NS, Picoseconds},
    config::{ConfigError, KernelGrid},
    dispatch::{CommandQueue, Dispatched, HostTraffic},
    dram::Dram,
    fault::{AppliedFault, FaultEffect, Rule, RuleSet},
    host_memory::HostHugePage,
    lines::{LineBook, RiscLines},
    machine::ExecutionFailure,
    program::{CoreUse, Launch},
    random::Stream,
    tile::Tile,
    truth::{StreamedCells, Truth, append},
    unfinished::UnfinishedLaunch,
};
use core::{Core, Outcome};
pub use facts::ChipFacts;
pub use host_access::Unreached;
use relays::Relays;
use schedule::Schedule;
use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};
use traffic::Flights;
use wire::CoreKind;

/// Cycles between the end of a launch and the GO of the next launch.
pub const DISPATCH_CYCLES: u64 = 1200;

/// A chip of a simulated mesh.
#[derive(Debug)]
pub struct Chip {
    facts: Arc<ChipFacts>,
    clock: ChipClock,
    cores: Vec<Core>,
    dram: Dram,
    flights: Flights,
    /// The host's memory to which relays write.
    host_memory: HostHugePage,
    rules: Arc<RuleSet>,
    queue: VecDeque<Queued>,
    launch_count: u64,
    /// Zone texts of kernels loaded from files.
    file_zones: BTreeSet<String>,
    schedule: Schedule,
    /// Relays (cores that gather other cores' records): first the initial relays, then their
    /// successors.
    relays: Vec<Relays>,
    /// Command queue of the dispatch cores; `None` if no dispatch cores are simulated.
    commands: Option<CommandQueue>,
    truth: Truth,
    /// Cells (units of streamed records) that [`Chip::take_cells`] has not returned yet.
    cells: StreamedCells,
    /// Counts by address of code that [`Chip::take_lines`] has not returned yet.
    lines: LineBook,
    failures: Vec<ExecutionFailure>,
    unfinished: Vec<UnfinishedLaunch>,
    lost_at: Option<Picoseconds>,
    host_random: Stream,
}

#[derive(Debug)]
struct Queued {
    launch: Launch,
    /// Cycle at which the host enqueued the launch.
    queued_at_cycle: u64,
}

impl Chip {
    /// Creates a chip that has just left reset.
    pub(crate) fn new(facts: ChipFacts, clock: ChipClock, epoch_max: u64) -> Self {
        let arch = facts.arch.facts();
        let chip_path = u64::from(facts.chip_id);
        let mut epochs = Stream::new(facts.seed, &[chip_path, EPOCH_STREAM]);
        let mut core = |place: &CorePlace| {
            let epoch = epochs.below(epoch_max);
            let tile = Tile::new(arch, *place, epoch, facts.seed, facts.chip_id);
            let (control_address, _) = facts.profiler_addresses(place.kind);
            Core::new(tile.with_control_address(control_address))
        };
        Self {
            cores: facts.plan.cores().iter().map(&mut core).collect(),
            dram: Dram::new(arch.bank_count, arch.bank_bytes),
            flights: Flights::new(facts.arch, facts.modes.lifted),
            host_memory: HostHugePage::new(),
            host_random: Stream::new(facts.seed, &[chip_path, HOST_STREAM]),
            facts: Arc::new(facts),
            clock,
            rules: Arc::default(),
            queue: VecDeque::new(),
            launch_count: 0,
            file_zones: BTreeSet::new(),
            schedule: Schedule::default(),
            relays: Vec::new(),
            commands: None,
            truth: Truth::default(),
            cells: StreamedCells::new(),
            lines: LineBook::default(),
            failures: Vec::new(),
            unfinished: Vec::new(),
            lost_at: None,
        }
    }

    /// Returns the constants of this chip.
    #[must_use]
    pub fn facts(&self) -> &ChipFacts {
        &self.facts
    }

    /// Returns the chip's floor plan.
    #[must_use]
    pub fn plan(&self) -> &Floorplan {
        &self.facts.plan
    }

    /// Returns the clock, which converts between time and cycles.
    #[must_use]
    pub const fn clock(&self) -> &ChipClock {
        &self.clock
    }

    /// Returns the DRAM with all writes that have arrived so far.
    #[must_use]
    pub const fn dram(&self) -> &Dram {
        &self.dram
    }

    /// Returns the tile at a coordinate.
    #[must_use]
    pub fn tile(&self, coord: TileCoord) -> Option<&Tile> {
        self.core_index(coord).map(|index| self.cores[index].tile())
    }

    /// Returns the zone texts of all kernels from files that were launched on this chip.
    pub(crate) const fn file_zone_texts(&self) -> &BTreeSet<String> {
        &self.file_zones
    }

    /// Returns the failures that have stopped kernels so far, such as accesses that the chip
    /// refuses.
    #[must_use]
    pub fn execution_failures(&self) -> &[ExecutionFailure] {
        &self.failures
    }

    /// Returns where RISCs stand in the launches that did not end.
    #[must_use]
    pub fn unfinished_launches(&self) -> &[UnfinishedLaunch] {
        &self.unfinished
    }

    /// Returns the number of launches that are queued and have not begun.
    #[must_use]
    pub fn queued_count(&self) -> usize {
        self.queue.len()
    }

    /// Returns the number of launches that have begun, which is also the next launch's index.
    #[must_use]
    pub const fn launch_count(&self) -> u64 {
        self.launch_count
    }

    pub(crate) fn add_rule(&mut self, rule: &Arc<dyn Rule>) {
        let chip_id = self.facts.chip_id;
        if let Some(lost_ns) = rule.chip_loss_ns(chip_id) {
            let lost_at = lost_ns.saturating_mul(PS_PER_NS);
            self.lost_at = Some(self.lost_at.map_or(lost_at, |earlier| earlier.min(lost_at)));
            let cycle = self.clock.cycles_at(lost_at);
            self.log(rule.name(), None, cycle, FaultEffect::ChipLost);
        }
        for index in 0..self.cores.len() {
            self.place_clock(rule.as_ref(), index);
        }
        Arc::make_mut(&mut self.rules).add(Arc::clone(rule));
    }

    fn place_clock(&mut self, rule: &dyn Rule, index: usize) {
        let tile = self.cores[index].tile_mut();
        let core = tile.place.coord;
        let Some(placement) = rule.place_clock(self.facts.chip_id, core) else { return };
        let bits = placement.bits;
        let wrap_chip_cycle = self.clock.cycles_at(placement.at_ns.saturating_mul(PS_PER_NS));
        tile.clock.wrap_at(wrap_chip_cycle, bits);
        let effect = FaultEffect::ClockPlaced { bits, wrap_chip_cycle };
        self.log(rule.name(), Some(core), wrap_chip_cycle, effect);
    }

    /// Enqueues a launch at the given time.
    pub(crate) fn enqueue(&mut self, launch: Launch, now: Picoseconds) {
        self.file_zones.extend(launch.program.file_zone_texts());
        let queued_at_cycle = self.clock.cycles_at(now);
        if let Some(commands) = &mut self.commands {
            commands.open(queued_at_cycle);
        }
        self.begin_relays(0, queued_at_cycle);
        self.queue.push_back(Queued { launch, queued_at_cycle });
    }

    /// Advances the chip to the given time: starts the launches and applies the writes that are
    /// due.
    pub(crate) fn run_until(&mut self, now: Picoseconds) {
        self.begin_until(now, now);
        self.dram.land_until(self.clock.cycles_at(now));
    }

    /// Runs every launch that begins by the time `now`. The host will not access the chip before
    /// the time `seen`.
    fn begin_until(&mut self, now: Picoseconds, seen: Picoseconds) {
        self.carry_on(self.clock.cycles_at(now), self.clock.cycles_at(seen), &mut || {});
    }

    /// Runs all launches, calling `on_launch` after each, and completes all writes to DRAM.
    ///
    /// Returns the time at which the last launch or write ends.
    pub(crate) fn run_to_completion(&mut self, on_launch: &mut dyn FnMut()) -> Picoseconds {
        self.carry_on(u64::MAX, u64::MAX, on_launch);
        let quiet_from = self.dram.quiet_from().unwrap_or(0);
        let ended = self.cores.iter().map(Core::free_at_cycle).max().unwrap_or(0);
        let end_cycle = quiet_from.max(ended).max(self.schedule.free_at(None));
        self.dram.land_until(end_cycle);
        self.clock.ps_at(end_cycle)
    }

    /// Returns true if a launch is in progress or can begin.
    pub(crate) fn has_launch_to_run(&self) -> bool {
        self.next_go_cycle().is_some() || !self.schedule.is_idle()
    }

    /// Returns the cycle at which the next launch in the queue begins.
    ///
    /// Returns `None` if the queue is empty, if a launch in progress blocks it, if the chip stops
    /// answering before that cycle, or if it halts because object code has failed.
    fn next_go_cycle(&self) -> Option<u64> {
        if self.facts.modes.halts_at_failure && !self.failures.is_empty() {
            return None;
        }
        let Queued { launch, queued_at_cycle } = self.queue.front()?;
        let earliest = self.clock.cycles_at(launch.earliest_ns.saturating_mul(PS_PER_NS));
        let free_at = self.schedule.begins_at(launch.sub_device)?;
        let ready_at = self.commands.as_ref().map_or(0, CommandQueue::ready_at);
        let ready_at = ready_at.max(self.relays.first().map_or(0, Relays::ready_at));
        let go = (queued_at_cycle + DISPATCH_CYCLES).max(free_at).max(earliest).max(ready_at);
        let is_lost = self.lost_at.is_some_and(|lost_at| self.clock.ps_at(go) >= lost_at);
        (!is_lost).then_some(go)
    }

    /// Returns the index of the next launch, and counts the launch.
    const fn next_index(&mut self) -> u64 {
        self.launch_count += 1;
        self.launch_count - 1
    }

    /// Notifies the command queue and the cores that a launch begins.
    fn announce(&mut self, launch: &Launch, go_cycle: u64) {
        if let Some(commands) = &mut self.commands {
            commands.record(Dispatched { program_id: launch.program_id, go_cycle });
        }
        if launch.begins_trace_replay {
            self.cores.iter_mut().for_each(Core::begin_replay);
        }
    }

    /// Adds a launch's outcomes to the chip's results; returns the cycle at which the last core was
    /// done.
    fn take(&mut self, outcomes: Vec<Outcome>, go_cycle: u64) -> u64 {
        let mut done_cycle = go_cycle;
        for outcome in outcomes {
            done_cycle = done_cycle.max(outcome.done_cycle);
            self.truth.add(outcome.truth);
            append(&mut self.cells, outcome.cells);
            outcome.lines.into_iter().for_each(|lines| self.lines.add(lines));
            self.failures.extend(outcome.failures);
            self.unfinished.extend(outcome.unfinished);
        }
        done_cycle
    }

    /// Reserves cores for dispatch; from then on, these cores run only dispatch kernels.
    pub(crate) fn reserve_for(&mut self, commands: CommandQueue) {
        let reserved = commands.reserved();
        for core in self.cores.iter_mut().filter(|core| reserved.contains(&core.coord())) {
            core.keep_for(CoreUse::Dispatch);
        }
        self.commands = Some(commands);
    }

    /// Restricts launches of programs to the worker cores in the first columns and rows.
    ///
    /// # Errors
    /// If the chip has fewer columns or rows of worker cores, or if the grid is empty.
    pub(crate) fn keep_grid(&mut self, grid: KernelGrid) -> Result<(), ConfigError> {
        let [columns, rows] = [|at: TileCoord| at.x, |at: TileCoord| at.y]
            .map(|axis| self.workers().map(|place| axis(place.coord)).collect::<BTreeSet<_>>());
        let last = |lines: &BTreeSet<u16>, count: u16| {
            lines.iter().nth(usize::from(count).checked_sub(1)?).copied()
        };
        let corner = last(&columns, grid.columns).zip(last(&rows, grid.rows));
        let (x, y) = corner.ok_or(ConfigError::KernelGrid {
            chip_id: self.facts.chip_id as usize,
            grid,
            columns: columns.len(),
            rows: rows.len(),
        })?;
        for core in &mut self.cores {
            let TileCoord { x: column, y: row } = core.coord();
            let is_worker = core.tile().place.kind == CoreKind::Tensix;
            if core.core_use() == CoreUse::Programs && is_worker && (column > x || row > y) {
                core.keep_for(CoreUse::Spare);
            }
        }
        Ok(())
    }

    /// Returns true if dispatch kernels are built with probes.
    pub(crate) fn profiles_dispatch(&self) -> bool {
        self.commands.as_ref().is_some_and(CommandQueue::is_profiled)
    }

    /// Returns the Tensix cores available to launches of programs, ordered by coordinates.
    pub fn workers(&self) -> impl DoubleEndedIterator<Item = &CorePlace> {
        let cores = self.cores.iter().filter(|core| core.core_use() == CoreUse::Programs);
        cores.map(|core| &core.tile().place).filter(|place| place.kind == CoreKind::Tensix)
    }

    /// Returns the number of Tensix cores that programs can use, whether or not they are in the
    /// configured grid for kernels.
    #[must_use]
    pub fn compute_core_count(&self) -> usize {
        let is_spare = |core: &&Core| core.core_use() == CoreUse::Spare;
        self.workers().count() + self.cores.iter().filter(is_spare).count()
    }

    /// Closes the command queue and runs the dispatch kernels, which process all its commands;
    /// returns the time at which the kernels ended.
    ///
    /// The last commands before the queue is closed read each core's control vector and each DRAM
    /// bank, and write each control vector.
    pub(crate) fn close_commands(&mut self, now: Picoseconds) -> Picoseconds {
        let closed_at = self.clock.cycles_at(now);
        let core_count = self.workers().count();
        let banks = self.facts.arch.facts().bank_count as usize;
        let traffic = HostTraffic { reads: core_count + banks, writes: core_count };
        let closed = self.commands.as_mut().and_then(|commands| commands.close(closed_at, traffic));
        let Some((opened_at, launches)) = closed else { return now };
        for launch in launches {
            let launch_index = self.next_index();
            self.begin(&Arc::new(launch), launch_index, (opened_at, u64::MAX));
            self.advance(u64::MAX, &mut || {});
        }
        let end_cycle = self.cores.iter().map(Core::free_at_cycle).max().unwrap_or(closed_at);
        let end_cycle = end_cycle.max(self.dram.quiet_from().unwrap_or(0));
        self.dram.land_until(end_cycle);
        self.clock.ps_at(end_cycle).max(now)
    }

    /// Returns true if the chip no longer answers.
    #[must_use]
    pub fn is_lost_at(&self, now: Picoseconds) -> bool {
        self.lost_at.is_some_and(|lost_at| now >= lost_at)
    }

    /// Returns the index of a core; cores are sorted by coordinates.
    fn core_index(&self, coord: TileCoord) -> Option<usize> {
        self.plan().cores().binary_search_by_key(&coord, |core| core.coord).ok()
    }

    pub(crate) const fn truth(&self) -> &Truth {
        &self.truth
    }

    /// Removes and returns the cells (units of records) that RISCs have streamed since the last
    /// call, including those of launches in progress.
    pub(crate) fn take_cells(&mut self) -> StreamedCells {
        for stage in self.cores.iter_mut().filter_map(Core::stage_mut) {
            append(&mut self.cells, stage.take_cells());
        }
        std::mem::take(&mut self.cells)
    }

    /// Removes and returns the counts by address of code of the launches that have ended since the
    /// last call.
    pub(crate) fn take_lines(&mut self) -> Vec<RiscLines> {
        self.lines.take()
    }

    fn log(&mut self, rule: &str, core: Option<TileCoord>, chip_cycle: u64, effect: FaultEffect) {
        let (rule, chip_id) = (Arc::from(rule), self.facts.chip_id);
        self.truth.faults.push(AppliedFault {
            rule,
            chip_id,
            core,
            site: None,
            chip_cycle,
            effect,
        });
    }
}

const EPOCH_STREAM: u64 = 0xE90C;
const HOST_STREAM: u64 = 0x4057;
