//! A mesh of chips with one host.

use crate::{
    arch::floorplan::Floorplan,
    chip::{Chip, ChipFacts},
    clock::{ChipClock, PS_PER_NS, Picoseconds},
    config::{ChipConfig, ConfigError, MeshConfig},
    dispatch::CommandQueue,
    fault::Rule,
    host::HostClock,
    lines::RiscLines,
    machine::{ExecutionFailure, KernelKind, images},
    mesh_access::ChipDevice,
    program::Launch,
    random::Stream,
    truth::{StreamedCells, Truth},
    unfinished::UnfinishedLaunch,
};
use std::{collections::BTreeSet, sync::Arc};

/// Simulated chips and their host.
///
/// Launches are queued, and run as simulated time passes: when the host accesses a chip, when it
/// waits, or when all launches are run to completion.
///
/// ```
/// use sim::{config::MeshConfig, mesh::SimulatedMesh};
/// let mesh = SimulatedMesh::new(&MeshConfig::wormhole(1))?;
/// assert_eq!(mesh.chip(0).map(|chip| chip.plan().worker_grid()), Some((8, 8)));
/// # Ok::<(), sim::config::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct SimulatedMesh {
    devices: Vec<ChipDevice>,
    host: HostClock,
}

/// Error for the number of a chip that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the mesh has {chip_count} chips, none of them is number {chip_id}")]
pub struct NoSuchChip {
    /// The requested number.
    pub chip_id: u32,
    /// Number of chips.
    pub chip_count: usize,
}

impl SimulatedMesh {
    /// Creates a mesh of chips that have just left reset.
    ///
    /// # Errors
    /// If no real chip has the configured cores or Ethernet links, if the modes cannot be combined,
    /// or if the profiler's region or the relays' rings do not fit into memory.
    pub fn new(config: &MeshConfig) -> Result<Self, ConfigError> {
        if config.chips.is_empty() {
            return Err(ConfigError::NoChip);
        }
        config.check_modes()?;
        let host = HostClock::new(config.host, config.seed);
        let chips = (0..).zip(&config.chips).map(|(id, chip)| new_chip(config, id, chip));
        let chips: Vec<Chip> = chips.collect::<Result<_, _>>()?;
        let devices = chips.into_iter().map(|chip| ChipDevice::new(chip, host.clone())).collect();
        Ok(Self { devices, host })
    }

    /// Returns the number of chips.
    #[must_use]
    pub const fn chip_count(&self) -> usize {
        self.devices.len()
    }

    /// Returns the chip with this number, if there is one.
    #[must_use]
    pub fn chip(&self, chip_id: u32) -> Option<&Chip> {
        self.devices.get(chip_id as usize).map(ChipDevice::chip)
    }

    /// Returns every chip, in order.
    pub fn chips(&self) -> impl Iterator<Item = &Chip> {
        self.devices.iter().map(ChipDevice::chip)
    }

    pub(crate) fn chip_device_mut(&mut self, index: usize) -> Option<&mut ChipDevice> {
        self.devices.get_mut(index)
    }

    /// Adds a fault rule.
    pub fn add_rule(&mut self, rule: impl Rule + 'static) {
        self.add_shared_rule(&(Arc::new(rule) as Arc<dyn Rule>));
    }

    /// Adds a fault rule that the caller also keeps, for example to read the rule's state later.
    pub fn add_shared_rule(&mut self, rule: &Arc<dyn Rule>) {
        for device in &mut self.devices {
            device.chip_mut().add_rule(rule);
        }
    }

    /// Appends a launch to a chip's queue.
    ///
    /// # Errors
    /// If there is no such chip.
    pub fn enqueue(&mut self, chip_id: u32, launch: Launch) -> Result<(), NoSuchChip> {
        let now = self.host.now();
        self.chip_mut(chip_id)?.enqueue(launch, now);
        Ok(())
    }

    fn chip_mut(&mut self, chip_id: u32) -> Result<&mut Chip, NoSuchChip> {
        let chip_count = self.devices.len();
        let device = self.devices.get_mut(chip_id as usize);
        device.map(ChipDevice::chip_mut).ok_or(NoSuchChip { chip_id, chip_count })
    }

    /// Appends a launch to every chip's queue.
    pub fn enqueue_everywhere(&mut self, launch: &Launch) {
        let now = self.host.now();
        for device in &mut self.devices {
            device.chip_mut().enqueue(launch.clone(), now);
        }
    }

    /// Starts the successors of a chip's relays (cores that gather other cores' records). Each
    /// successor reads the same cores as its relay, which must have stopped reading before.
    ///
    /// # Errors
    /// If there is no such chip.
    pub fn begin_relay_successors(&mut self, chip_id: u32) -> Result<(), NoSuchChip> {
        let now = self.host.now();
        let chip = self.chip_mut(chip_id)?;
        let cycle = chip.clock().cycles_at(now);
        chip.begin_relays(1, cycle);
        Ok(())
    }

    /// Lets the host wait for `duration_ns`, while the chips run.
    pub fn wait_ns(&mut self, duration_ns: u64) {
        let now = self.host.now().saturating_add(duration_ns.saturating_mul(PS_PER_NS));
        self.host.wait_until(now);
        for device in &mut self.devices {
            device.chip_mut().run_until(now);
        }
    }

    /// Returns true if a queued launch can begin. A launch cannot begin if its chip was lost, or if
    /// it waits for a launch that never ends.
    ///
    /// If kernels may wait for the host (in the debug dump and in streaming), also returns true
    /// while a launch is in progress.
    #[must_use]
    pub fn has_launches_to_run(&self) -> bool {
        self.chips().any(Chip::has_launch_to_run)
    }

    /// Runs every launch, and waits until all writes have arrived in memory.
    pub fn run_to_completion(&mut self) {
        self.run_to_completion_with(&mut || {});
    }

    /// Does the same as [`SimulatedMesh::run_to_completion`], and calls `on_launch` after each
    /// launch on a chip. Calls of `on_launch` take no simulated time.
    pub fn run_to_completion_with(&mut self, on_launch: &mut dyn FnMut()) {
        let devices = self.devices.iter_mut();
        let ends = devices.map(|device| device.chip_mut().run_to_completion(on_launch));
        let end = ends.max().unwrap_or(0);
        self.host.wait_until(end + SETTLE_PS);
    }

    /// Closes the chips' command queues: the dispatch kernels end, and the profiled ones write
    /// their records to DRAM. Has no effect on chips without dispatch cores.
    ///
    /// # Compatibility
    /// `MeshDevice::close`: tt-metal reads the records of the dispatch cores after it has closed
    /// the queues.
    pub fn close_command_queues(&mut self) {
        let now = self.host.now();
        let ends = self.devices.iter_mut().map(|device| device.chip_mut().close_commands(now));
        let end = ends.max().unwrap_or(now);
        if end > now {
            self.host.wait_until(end + SETTLE_PS);
        }
    }

    /// Returns the texts of zones in the form `name,file,line,KERNEL_PROFILER`.
    ///
    /// Includes all zones of the simulator's object code, unless another firmware runs in its place,
    /// and the zones of every kernel file that was launched.
    #[must_use]
    pub fn zone_texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for kind in KernelKind::ALL {
            // The ids of another firmware's zones have nothing to do with the names of this code.
            let runs = |chip: &Chip| {
                let modes = &chip.facts().modes;
                modes.firmware.is_none() && modes.kernels == kind
            };
            if self.chips().any(runs) {
                texts.extend(kind.zone_texts());
            }
        }
        if self.chips().any(Chip::profiles_dispatch) {
            let known: BTreeSet<String> = texts.iter().cloned().collect();
            let others = images::dispatch_zones().into_iter();
            texts.extend(others.filter(|text| !known.contains(text)));
        }
        for chip in self.chips() {
            texts.extend(chip.file_zone_texts().iter().cloned());
        }
        texts
    }

    /// Returns the time since the simulation began.
    #[must_use]
    pub fn now_ps(&self) -> Picoseconds {
        self.host.now()
    }

    /// Returns all failures of object code so far, in order of chip, launch and core.
    pub fn execution_failures(&self) -> impl Iterator<Item = &ExecutionFailure> {
        self.chips().flat_map(Chip::execution_failures)
    }

    /// Returns where RISCs stand in the launches that did not end, in order of chip, launch and core.
    pub fn unfinished_launches(&self) -> impl Iterator<Item = &UnfinishedLaunch> {
        self.chips().flat_map(Chip::unfinished_launches)
    }

    /// Removes and returns the cells (64-bit units of records) that RISCs have streamed since the
    /// last call, if the configuration enables this ([`MeshConfig::with_cell_truth`]).
    ///
    /// Cells of launches in progress are included, so a caller can take the cells of a long run
    /// part by part, and need not keep all of them in memory.
    pub fn take_cells(&mut self) -> StreamedCells {
        self.devices.iter_mut().flat_map(|device| device.chip_mut().take_cells()).collect()
    }

    /// Removes and returns what each RISC has executed at each address of code, for the launches
    /// that have ended since the last call; empty without [`MeshConfig::with_lines`].
    pub fn take_lines(&mut self) -> Vec<RiscLines> {
        self.devices.iter_mut().flat_map(|device| device.chip_mut().take_lines()).collect()
    }

    /// Returns the ground truth up to now.
    ///
    /// A launch is included as soon as it has begun. In the modes in which kernels may wait for the
    /// host, it is included only when it has ended.
    #[must_use]
    pub fn truth(&self) -> Truth {
        let mut truth = Truth::default();
        for chip in self.chips() {
            truth.add(chip.truth().clone());
        }
        truth
    }
}

/// Time in picoseconds from the end of the last launch until the host notices this end.
const SETTLE_PS: u64 = 1_000_000;

fn new_chip(config: &MeshConfig, chip_id: u32, chip: &ChipConfig) -> Result<Chip, ConfigError> {
    let mut random = Stream::new(config.seed, &[u64::from(chip_id)]);
    let index = chip_id as usize;
    let plan: Floorplan = chip
        .floorplan(&mut random)
        .map_err(|source| ConfigError::Floorplan { chip_id: index, source })?;
    if let Some(firmware) = config.modes.firmware.as_ref().map(|set| set.arch())
        && firmware != chip.arch
    {
        return Err(ConfigError::ForeignFirmware { chip_id: index, arch: chip.arch, firmware });
    }
    let region = config.region(index, chip.arch)?;
    let align = chip.arch.facts().dram_align_bytes;
    let facts = ChipFacts {
        chip_id,
        arch: chip.arch,
        modes: config.modes.clone(),
        lane_words: region.lane_words(),
        region_bytes: u64::from(region.bank_bytes()).next_multiple_of(align),
        seed: config.seed,
        translation: plan.translation(),
        host_tile: None,
        host_writers: 0,
        plan: Arc::new(plan),
    };
    let drift_ppb = chip.drift_ppb(&mut random);
    let clock = ChipClock::new(chip.arch.facts().aiclk_mhz, drift_ppb, &chip.frequency_steps);
    let commands = match config.dispatch_cores {
        None => None,
        Some(kind) => {
            let commands = CommandQueue::new(kind, &facts.plan, config.profiles_dispatch_cores);
            Some(commands.ok_or(ConfigError::NoDispatchCores { chip_id: index })?)
        }
    };
    let mut chip = Chip::new(facts, clock, chip.epoch_max_cycles);
    if let Some(commands) = commands {
        chip.reserve_for(commands);
    }
    if config.relays > 0 {
        chip.keep_relays(config)?;
    }
    if let Some(grid) = config.kernel_grid {
        chip.keep_grid(grid)?;
    }
    Ok(chip)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kernel::ObjectKernel,
        prepared::{Bench, id_word},
        program::Program,
    };
    use reader::mesh::{AccessError, Device, Mesh, Noc0Coord};

    /// Returns a launch whose kernels work for a number of cycles in one zone.
    fn working(cycles: u32, id: u32) -> Launch {
        let program = Program::new("working").with_kernel_on_all(&ObjectKernel::shared("work"));
        Launch::new(&Arc::new(program), id).with_args(&[cycles])
    }

    #[test]
    fn the_host_sees_a_launch_only_as_far_as_it_has_come() {
        let mut bench = Bench::new(&MeshConfig::wormhole(1));
        let core = bench.worker(12);
        bench.mesh.enqueue(0, working(1_000_000, 9)).unwrap();
        let mut host_ends = Vec::new();
        while host_ends.last() != Some(&16) {
            host_ends.push(bench.control(&core)[0]);
            let has_landed = bench.read_lane(&core, 0, 4) == [0, 0, id_word(&core, 0), 9];
            assert!(has_landed || host_ends.last() == Some(&0), "words come before their end");
            bench.mesh.wait_ns(20_000);
        }
        // The kernel takes a millisecond; one pass of the loop takes at least 20 microseconds.
        assert!((45..60).contains(&host_ends.len()), "{}", host_ends.len());
        assert!(bench.mesh.truth().kernel_run_count() > 0);
    }

    #[test]
    fn looking_on_changes_nothing_on_the_device() {
        let run = |is_watched: bool| {
            let mut bench = Bench::new(&MeshConfig::blackhole(2));
            let core = bench.worker(3);
            for id in 1..20 {
                bench.mesh.enqueue(0, working(700, id)).unwrap();
            }
            for _ in 0..if is_watched { 300 } else { 0 } {
                bench.control(&core);
            }
            bench.mesh.run_to_completion();
            (bench.mesh.chip(0).unwrap().dram().clone(), bench.mesh.truth())
        };
        assert!(run(true) == run(false));
    }

    #[test]
    fn a_ping_lies_between_the_host_times_around_it() {
        let mut bench = Bench::new(&MeshConfig::wormhole(1));
        let core = bench.worker(0).coord;
        let chip = bench.mesh.chip(0).unwrap();
        let (clock, epoch) = (chip.clock().clone(), chip.tile(core).unwrap().clock.epoch());
        for _ in 0..100 {
            let before = bench.mesh.now_ps();
            let device = bench.mesh.device(0).unwrap();
            let seen = device.read_wall_clock(Noc0Coord { x: core.x, y: core.y }).unwrap() - epoch;
            let after = bench.mesh.now_ps();
            assert!((clock.cycles_at(before)..=clock.cycles_at(after)).contains(&seen));
        }
    }

    #[test]
    fn accesses_to_nowhere_are_refused_with_the_place() {
        let mut bench = Bench::new(&MeshConfig::wormhole(1));
        let core = bench.worker(0).coord;
        let core = Noc0Coord { x: core.x, y: core.y };
        let device: &mut dyn Device = bench.mesh.device(0).unwrap();
        let dram = Noc0Coord { x: 0, y: 0 };
        let error = device.read_l1(dram, 0, &mut [0]).unwrap_err();
        assert_eq!(error, AccessError::NoSuchCore { chip_id: 0, core: dram });
        let error = device.write_l1(core, 1_499_136, &[0]).unwrap_err();
        assert!(error.to_string().contains("L1 of core (1,"), "{error}");
        let error = device.read_dram(12, 0, &mut [0]).unwrap_err();
        assert!(error.to_string().contains("DRAM bank 12: 1 words at 0x0"), "{error}");
        assert!(bench.mesh.device(1).is_none());
        let error = bench.mesh.enqueue(1, working(1, 1)).unwrap_err();
        assert_eq!(error.to_string(), "the mesh has 1 chips, none of them is number 1");
    }

    #[test]
    fn a_launch_that_runs_nothing_on_a_core_is_counted_apart() {
        let mut bench = Bench::new(&MeshConfig::wormhole(1));
        let core = bench.worker(0);
        bench.mesh.enqueue(0, Launch::new(&Arc::new(Program::new("idle")), 1)).unwrap();
        bench.mesh.run_to_completion();
        let control = bench.control(&core);
        assert_eq!((control[0], control[wire::control::ext::IDLE_LAUNCHES]), (0, 1));
        let truth = bench.mesh.truth();
        assert!(truth.launches.is_empty());
        assert_eq!(truth.idle_launches.len(), 64);
        assert_eq!(truth.idle_launches[&(0, core.coord)], 1);
    }

    #[test]
    fn launches_follow_each_other_on_all_cores() {
        let mut bench = Bench::new(&MeshConfig::wormhole(4));
        for id in 1..=3 {
            bench.mesh.enqueue(0, working(5_000, id)).unwrap();
        }
        bench.mesh.run_to_completion();
        let truth = bench.mesh.truth();
        let chip = bench.mesh.chip(0).unwrap();
        let mut ends = vec![0; 3];
        let mut starts = vec![u64::MAX; 3];
        for (key, launches) in &truth.launches {
            let epoch = chip.tile(key.core).unwrap().clock.epoch();
            for (index, launch) in launches.iter().enumerate() {
                let kernel = launch.kernel.unwrap();
                starts[index] = starts[index].min(kernel.start.0 - epoch);
                ends[index] = ends[index].max(kernel.end.0 - epoch);
            }
        }
        assert!(ends[0] < starts[1] && ends[1] < starts[2]);
        assert!(starts[1] - ends[0] < 4_000, "{starts:?} {ends:?}");
    }
}
