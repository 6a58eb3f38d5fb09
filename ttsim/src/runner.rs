//! Runs programs on ttsim: loads them onto its cores as a host would load them onto a chip.
//!
//! The firmware, kernels and launch messages are the same, bit for bit, as in the simulator of
//! [`sim`].

use crate::{
    mesh::{TtsimDevice, tile},
    protocol::Tile,
    simulator::{Simulator, TtsimError},
};
use reader::mesh::{Device, DeviceDescription, Mesh, Noc0Coord};
use sim::{
    arch::{Arch, SOFT_RESET, floorplan::CorePlace},
    chip::ChipFacts,
    config::{ChipConfig, MeshConfig, RelaySink},
    machine::core_code::CoreCode,
    mesh::SimulatedMesh,
    program::{CoreUse, Emission, KernelContext, Launch},
    truth::{LaunchTruth, RiscKey, Truth},
    workload::Plan,
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::Path,
    process::Command,
    sync::Arc,
};
use wire::{CoreKind, Risc};

/// A chip simulated by ttsim that runs the programs of [`sim`].
///
/// Each Tensix core is booted before the first launch that uses the core. Ethernet cores stay in
/// reset, because ttsim itself provides their base firmware; launches skip these cores. Relays
/// start before the first launch.
#[derive(Debug)]
pub struct TtsimMesh {
    pub(crate) device: TtsimDevice,
    facts: ChipFacts,
    pub(crate) cores: Vec<Core>,
    /// Launch that starts the relays; `None` once the launch has begun.
    pub(crate) relay_launch: Option<Launch>,
    /// Launches that have not begun.
    queue: VecDeque<Launch>,
    launch_count: u64,
    /// Cores that have not ended the current launch yet, as indices in `cores`.
    under_way: BTreeSet<usize>,
    /// Cores that have ended a launch but may still write records of the launch, by index. Each
    /// value is the clock at which the end was detected.
    pub(crate) closing: BTreeMap<usize, u64>,
    launched_at_clock: u64,
    truth: Truth,
}

/// A Tensix core.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) code: CoreCode,
    pub(crate) tile: Tile,
    pub(crate) control_address: u64,
    pub(crate) core_use: CoreUse,
    has_booted: bool,
}

impl TtsimMesh {
    /// Returns the configuration of the chip that ttsim simulates for an architecture. No row or
    /// column of that chip is disabled.
    #[must_use]
    pub fn chip(arch: Arch) -> ChipConfig {
        let chip = ChipConfig::new(arch);
        let whole = arch.facts().worker_core_counts.last().copied();
        chip.with_worker_core_count(whole.unwrap_or(0))
    }

    /// Starts ttsim for a mesh of one chip; see [`Simulator::start`] for `command`.
    ///
    /// # Errors
    /// If ttsim does not simulate such a mesh, or the library cannot be used.
    pub fn start(
        config: &MeshConfig,
        command: Command,
        library: &Path,
    ) -> Result<Self, TtsimError> {
        let mut blueprint = blueprint(config)?;
        let description = blueprint.device(0).map(|device| device.description().clone());
        let (Some(description), Some(chip)) = (description, blueprint.chip(0)) else {
            return Err(unsupported("a mesh without a chip"));
        };
        let facts = chip.facts().clone();
        let simulator = Simulator::start(command, library)?;
        if simulator.arch() != facts.arch {
            let (found, expected) = (simulator.arch(), facts.arch);
            return Err(TtsimError::OtherChip { library: library.to_owned(), found, expected });
        }
        let relay_launch = chip.relay_launch().cloned();
        let core_use = |place: &CorePlace| match &relay_launch {
            Some(relays) if relays.cores.includes(place) => CoreUse::Relay,
            _ => CoreUse::Programs,
        };
        let tensix = chip.plan().cores().iter().filter(|place| place.kind == CoreKind::Tensix);
        let cores = tensix
            .map(|place| Core::new((core_use(place), &facts), *place, &description))
            .collect();
        Ok(Self {
            device: TtsimDevice::new(simulator, description),
            facts,
            cores,
            relay_launch,
            queue: VecDeque::new(),
            launch_count: 0,
            under_way: BTreeSet::new(),
            closing: BTreeMap::new(),
            launched_at_clock: 0,
            truth: Truth::default(),
        })
    }

    /// Checks that ttsim can run the launches of a plan.
    ///
    /// # Errors
    /// If the plan needs injected faults, launches at given times, or kernels that wait for other
    /// cores.
    pub fn check(plan: &Plan) -> Result<(), TtsimError> {
        if !plan.rules.is_empty() {
            return Err(unsupported("the workload injects faults, which only our simulator can"));
        }
        let mut launches = plan.phases.iter().flat_map(|phase| &phase.launches);
        if launches.clone().any(|launch| launch.program.couples_cores()) {
            return Err(unsupported("kernels of the workload wait for those of other cores"));
        }
        if launches.any(|launch| launch.earliest_ns > 0) {
            return Err(unsupported("the workload launches at set times, and ttsim has none"));
        }
        Ok(())
    }

    /// Waits for the end of the previous launch, writes a new launch to the participating cores and
    /// sends them the go signal.
    ///
    /// # Errors
    /// If the launch cannot be written, the previous launch does not end, or ttsim refuses
    /// something.
    pub fn begin(&mut self, launch: &Launch) -> Result<(), TtsimError> {
        self.finish_launch()?;
        self.begin_relays()?;
        let launch_index = self.launch_count;
        self.launch_count += 1;
        let chosen = self.give(launch, launch_index)?;
        for &index in &chosen {
            let core = &self.cores[index];
            let context = self.context(core, launch, launch_index);
            add_truth(&mut self.truth, core.code.place(), launch, context);
        }
        self.under_way = chosen.into_iter().collect();
        self.launched_at_clock = self.device.simulator.clock();
        Ok(())
    }

    /// Enqueues a launch. [`TtsimMesh::run_for`] carries it out.
    pub fn enqueue(&mut self, launch: Launch) {
        self.queue.push_back(launch);
    }

    /// Runs the enqueued launches for `duration_ns` nanoseconds of the chip's time. Returns false
    /// once all launches have ended and the cores can write no more records of them.
    ///
    /// # Errors
    /// The errors of [`TtsimMesh::begin`].
    pub fn run_for(&mut self, duration_ns: u64) -> Result<bool, TtsimError> {
        let until = self.device.simulator.clock().saturating_add(self.device.clocks(duration_ns));
        loop {
            if self.is_done()? {
                match self.queue.pop_front() {
                    Some(launch) => self.begin(&launch)?,
                    None if self.has_closed()? => return Ok(false),
                    None => {}
                }
            }
            let rest = until.saturating_sub(self.device.simulator.clock());
            if rest == 0 {
                return Ok(true);
            }
            let clocks = u32::try_from(rest).unwrap_or(u32::MAX);
            self.device.simulator.advance(clocks.min(POLL_CLOCKS))?;
        }
    }

    /// Writes a launch to its cores and sends them the go signal; returns the indices of the cores.
    pub(crate) fn give(
        &mut self,
        launch: &Launch,
        launch_index: u64,
    ) -> Result<Vec<usize>, TtsimError> {
        let places = self.cores.iter().enumerate();
        let chosen = places.filter(|(_, core)| core.takes_part_in(launch));
        let chosen: Vec<usize> = chosen.map(|(index, _)| index).collect();
        self.boot(&chosen)?;
        for &index in &chosen {
            let core = &self.cores[index];
            let context = self.context(core, launch, launch_index);
            let writes = core.code.launch_writes(launch, &context);
            let writes = writes.map_err(|reason| TtsimError::Unsupported { reason })?;
            for (address, words) in writes.iter().filter(|(_, words)| !words.is_empty()) {
                self.device.simulator.write_words(core.tile, u64::from(*address), words)?;
            }
        }
        for &index in &chosen {
            let core = &self.cores[index];
            let (address, value) = core.code.go();
            self.device.simulator.write(core.tile, address.into(), &[value])?;
        }
        Ok(chosen)
    }

    /// Returns true if every core has ended the current launch. The cores may still write the last
    /// records of the launch.
    ///
    /// # Errors
    /// If a core exceeds the time limit of the mesh, or ttsim refuses something.
    pub fn is_done(&mut self) -> Result<bool, TtsimError> {
        while let Some(&index) = self.under_way.first() {
            let core = &self.cores[index];
            let (address, done) = core.code.done();
            let mut signal = [0];
            self.device.simulator.read(core.tile, address.into(), &mut signal)?;
            if signal[0] != done {
                let clocks = self.device.simulator.clock() - self.launched_at_clock;
                let is_stuck = clocks > self.facts.modes.cycle_limit;
                return if is_stuck {
                    Err(core.stuck("is still running", clocks))
                } else {
                    Ok(false)
                };
            }
            self.under_way.remove(&index);
            self.closing.insert(index, self.device.simulator.clock());
        }
        Ok(true)
    }

    /// Carries out a launch, and waits until all of its records are in DRAM or published in rings.
    ///
    /// # Errors
    /// The errors of [`TtsimMesh::begin`].
    pub fn run(&mut self, launch: &Launch) -> Result<(), TtsimError> {
        self.begin(launch)?;
        self.settle()
    }

    /// Waits until every launch is over and all of its records are written.
    ///
    /// # Errors
    /// The errors of [`TtsimMesh::is_done`].
    pub fn settle(&mut self) -> Result<(), TtsimError> {
        self.finish_launch()?;
        while !self.has_closed()? {
            self.device.simulator.advance(POLL_CLOCKS)?;
        }
        Ok(())
    }

    fn finish_launch(&mut self) -> Result<(), TtsimError> {
        while !self.is_done()? {
            self.device.simulator.advance(POLL_CLOCKS)?;
        }
        Ok(())
    }

    /// Advances the chip by a number of clocks.
    ///
    /// # Errors
    /// If a core does something that ttsim refuses.
    pub fn advance(&mut self, clocks: u32) -> Result<(), TtsimError> {
        self.device.simulator.advance(clocks)
    }

    /// Sets the number of clocks by which each access of a reader advances the chip; at least 1 is
    /// used.
    pub const fn set_access_clocks(&mut self, clocks: u32) {
        self.device.set_access_clocks(clocks);
    }

    /// Returns the failure that ended the simulator, if any.
    #[must_use]
    pub const fn failure(&self) -> Option<&TtsimError> {
        self.device.simulator.failure()
    }

    /// Returns the records that the kernels of all launches so far have emitted. The times of these
    /// records are unknown.
    #[must_use]
    pub const fn truth(&self) -> &Truth {
        &self.truth
    }

    /// Boots the chosen cores that have not been booted yet.
    fn boot(&mut self, chosen: &[usize]) -> Result<(), TtsimError> {
        let simulator = &mut self.device.simulator;
        let new: Vec<usize> =
            chosen.iter().copied().filter(|&index| !self.cores[index].has_booted).collect();
        for &index in &new {
            let core = &mut self.cores[index];
            if core.code.is_empty() {
                return Err(unsupported("kernels in C++ were not compiled"));
            }
            simulator.write_words(core.tile, SOFT_RESET.into(), &[RESET_ALL])?;
            for (address, words) in core.code.boot_writes() {
                simulator.write_words(core.tile, address.into(), &words)?;
            }
            simulator.write_words(core.tile, SOFT_RESET.into(), &[RESET_ALL_BUT_BRISC])?;
            core.has_booted = true;
        }
        if new.is_empty() {
            return Ok(());
        }
        simulator.advance(BOOT_CLOCKS)?;
        // A core that has just booted has the same state as a core that has ended a launch.
        self.launched_at_clock = self.device.simulator.clock();
        self.under_way = new.iter().copied().collect();
        self.finish_launch()?;
        // Booting creates no records.
        new.iter().for_each(|index| _ = self.closing.remove(index));
        Ok(())
    }

    fn context(&self, core: &Core, launch: &Launch, launch_index: u64) -> KernelContext {
        KernelContext {
            chip_id: self.facts.chip_id,
            place: core.code.place(),
            risc: Risc::Brisc,
            launch_index,
            program_id: launch.program_id,
            args: Arc::clone(&launch.args),
            replays_begun: u32::from(launch.begins_trace_replay),
            sums_enabled: self.facts.modes.sums_enabled,
            records_noc_waits: self.facts.modes.is_non_dropping,
            seed: self.facts.seed,
        }
    }
}

impl Mesh for TtsimMesh {
    fn device_count(&self) -> usize {
        1
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        self.device.device(index)
    }
}

impl Core {
    fn new(
        (core_use, facts): (CoreUse, &ChipFacts),
        place: CorePlace,
        chip: &DeviceDescription,
    ) -> Self {
        let noc0 = Noc0Coord { x: place.coord.x, y: place.coord.y };
        let described = chip.cores.iter().find(|core| core.noc0 == noc0);
        Self {
            code: CoreCode::new(core_use, facts, place),
            tile: tile(noc0),
            control_address: described.map_or(0, |core| core.control_address),
            core_use,
            has_booted: false,
        }
    }

    fn takes_part_in(&self, launch: &Launch) -> bool {
        launch.core_use == self.core_use && launch.cores.includes(&self.code.place())
    }

    pub(crate) fn stuck(&self, what: &'static str, clocks: u64) -> TtsimError {
        TtsimError::Stuck { core: self.code.place().coord.to_string(), what, clocks }
    }
}

/// Returns a mesh of our own simulator with the chip of `config`. The mesh never runs; it provides
/// the chip's description and the plan.
fn blueprint(config: &MeshConfig) -> Result<SimulatedMesh, TtsimError> {
    let [chip] = &config.chips[..] else {
        return Err(unsupported("it has one chip; choose --devices 1"));
    };
    let whole = TtsimMesh::chip(chip.arch).worker_core_count;
    if chip.worker_core_count != whole {
        let reason =
            format!("its {} has all {whole} worker cores; choose --cores {whole}", chip.arch);
        return Err(TtsimError::Unsupported { reason });
    }
    if config.relays > 0 && config.relay_sink == RelaySink::HostMemory {
        return Err(unsupported("its relays write to DRAM; choose --relay-sink dram"));
    }
    SimulatedMesh::new(config)
        .map_err(|error| TtsimError::Unsupported { reason: error.to_string() })
}

fn unsupported(reason: &str) -> TtsimError {
    TtsimError::Unsupported { reason: reason.to_owned() }
}

/// Adds to `truth` the records that the RISCs of a core emit in a launch.
fn add_truth(truth: &mut Truth, place: CorePlace, launch: &Launch, context: KernelContext) {
    let chip_id = context.chip_id;
    if !launch.program.runs_on(place.kind) {
        *truth.idle_launches.entry((chip_id, place.coord)).or_default() += 1;
        return;
    }
    let mut context = context;
    for risc in (0..place.kind.risc_count()).filter_map(|index| place.kind.risc(index)) {
        context.risc = risc;
        let kernel = launch.program.kernel(risc);
        if kernel.is_none() && risc != Risc::Brisc {
            continue;
        }
        // The firmware emits one zone for itself and one zone around the kernel.
        let kernel_emission = kernel.map(|kernel| Emission::zones(1) + kernel.emission(&context));
        let emitted = Emission::zones(1) + kernel_emission.unwrap_or_default();
        let KernelContext { launch_index, program_id, .. } = context;
        let launch = LaunchTruth { launch_index, program_id, emitted, kernel: None };
        let key = RiscKey { chip_id, core: place.coord, risc };
        truth.launches.entry(key).or_default().push(launch);
    }
}

/// Returns the texts (name and source location) of all zones in kernels and firmware.
#[must_use]
pub fn zone_texts() -> Vec<String> {
    sim::machine::images::zones("kernels")
}

/// Reset bits of BRISC, the TRISCs and NCRISC.
pub(crate) const RESET_ALL: u32 = 0x0004_7800;
const RESET_ALL_BUT_BRISC: u32 = 0x0004_7000;
/// Number of clocks between two polls of a core.
pub(crate) const POLL_CLOCKS: u32 = 500;
/// Number of clocks between the beginning of a core's boot and the first poll.
const BOOT_CLOCKS: u32 = 1000;
