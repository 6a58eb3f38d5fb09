//! Configuration of a simulation: chips, their clocks, the host, and the seed of all randomness.

use crate::{
    arch::{
        Arch,
        floorplan::{Floorplan, FloorplanError},
    },
    clock::FrequencyStep,
    dispatch::DispatchCores,
    host::HostTiming,
    limits::LiftedLimits,
    machine::KernelKind,
    modes::KernelModes,
    random::Stream,
    tt_metal::firmware::FirmwareSet,
};
pub use kernel_profiler::port::WaitRecords;
use std::{str::FromStr, sync::Arc};
use wire::dram::{DEFAULT_PROGRAM_SUPPORT_COUNT, DramGeometry, GeometryError};

/// Maximum number of chips in a mesh: a [`wire::RunHostId`] has 10 bits for the chip number.
pub const CHIPS_MAX: u32 = 1 << 10;

/// Reason why a mesh cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The mesh has no chips.
    #[error("a mesh needs at least one chip")]
    NoChip,
    /// No real chip has the configured worker cores or Ethernet links.
    #[error("chip {chip_id}: {source}")]
    Floorplan {
        /// Number of the chip.
        chip_id: usize,
        /// The error in its floorplan.
        source: FloorplanError,
    },
    /// Two chosen modes cannot be combined, because no object code is built for both.
    #[error(
        "no code is built for {first} together with {second}; choose one of them, in a run of its \
         own"
    )]
    Modes {
        /// The first mode.
        first: &'static str,
        /// The second mode.
        second: &'static str,
    },
    /// Dispatch needs more unconnected Ethernet cores than the chip has.
    #[error(
        "chip {chip_id} has fewer than three Ethernet cores without a link, which dispatch needs"
    )]
    NoDispatchCores {
        /// Number of the chip.
        chip_id: usize,
    },
    /// The firmware is for another architecture than the chip's.
    #[error("chip {chip_id} is a {arch}, its firmware was built for {firmware}")]
    ForeignFirmware {
        /// Number of the chip.
        chip_id: usize,
        /// The chip's architecture.
        arch: Arch,
        /// The firmware's architecture.
        firmware: Arch,
    },
    /// The relays would leave no core for kernels.
    #[error(
        "chip {chip_id} has {worker_count} cores that run kernels, and {relay_count} relays would \
         leave none of them to kernels; choose fewer relays"
    )]
    NoRoomForRelays {
        /// Number of the chip.
        chip_id: usize,
        /// Number of requested relays.
        relay_count: u32,
        /// Number of cores that run kernels.
        worker_count: usize,
    },
    /// Relays were requested, but the kernels do not stream their records.
    #[error(
        "relays gather streamed records, and these kernels do not stream; choose streaming, too"
    )]
    RelaysWithoutStreaming,
    /// The ring of a relay cannot have the requested size.
    #[error(
        "the ring of a relay has a power of two of bytes, at least {}, but {ring_bytes} were asked \
         for",
        wire::relay::RING_BYTES_MIN
    )]
    RelayRing {
        /// The requested size in bytes.
        ring_bytes: u32,
    },
    /// The chip does not have the grid of cores that was requested for kernels.
    #[error(
        "chip {chip_id} has a grid of {columns}x{rows} cores that run kernels, and {}x{} were asked \
         for; choose 1x1 to {columns}x{rows}",
        grid.columns, grid.rows
    )]
    KernelGrid {
        /// Number of the chip.
        chip_id: usize,
        /// The requested grid.
        grid: KernelGrid,
        /// Number of columns of the chip that contain worker cores.
        columns: usize,
        /// Number of rows of the chip that contain worker cores.
        rows: usize,
    },
    /// The rings of the relays do not fit into the host's memory.
    #[error(
        "chip {chip_id}: the rings of its relays need {needed_bytes} bytes of the host's memory, of \
         which the chip can write {host_bytes}; choose fewer relays or smaller rings"
    )]
    RelayRingsOfHost {
        /// Number of the chip.
        chip_id: usize,
        /// Bytes that the rings need.
        needed_bytes: u64,
        /// Number of bytes of host memory that the chip can write.
        host_bytes: u64,
    },
    /// The rings of the relays do not fit into a DRAM bank.
    #[error(
        "chip {chip_id}: the rings of its relays need {needed_bytes} bytes of a DRAM bank, which has \
         {bank_bytes}; choose fewer relays or smaller rings"
    )]
    RelayRings {
        /// Number of the chip.
        chip_id: usize,
        /// Bytes of the bank up to the end of the last ring.
        needed_bytes: u64,
        /// Bytes of a bank.
        bank_bytes: u64,
    },
    /// The profiler's DRAM region cannot be laid out as configured.
    #[error("chip {chip_id}: {source}")]
    Geometry {
        /// Number of the chip.
        chip_id: usize,
        /// The error in the region's geometry.
        source: GeometryError,
    },
    /// The profiler's region is larger than a DRAM bank.
    #[error(
        "chip {chip_id}: a program support count of {program_support_count} needs {needed_bytes} \
         bytes per DRAM bank, which has {bank_bytes}; choose a smaller one"
    )]
    RegionTooLarge {
        /// Number of the chip.
        chip_id: usize,
        /// The requested number of programs.
        program_support_count: u32,
        /// Bytes of the region in each bank.
        needed_bytes: u64,
        /// Bytes of a bank.
        bank_bytes: u64,
    },
}

/// One chip of a mesh.
///
/// ```
/// use sim::{arch::Arch, config::ChipConfig};
/// let chip = ChipConfig::new(Arch::Blackhole).with_worker_core_count(130);
/// assert_eq!(chip.worker_core_count, 130);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipConfig {
    /// Architecture.
    pub arch: Arch,
    /// Number of Tensix cores that remain after harvesting (disabling rows or columns).
    pub worker_core_count: u32,
    /// Harvested rows (Wormhole) or columns (Blackhole); drawn from the seed if `None`.
    pub harvested: Option<Vec<u16>>,
    /// Number of Ethernet channels with a connected link. These are the channels with the lowest
    /// numbers.
    pub active_ethernet_count: usize,
    /// Deviation from the nominal frequency in parts per billion; if `None`, a random value of at
    /// most 20,000 parts per billion in either direction, derived from the seed.
    pub drift_ppb: Option<i64>,
    /// Changes of the frequency after the start.
    pub frequency_steps: Vec<FrequencyStep>,
    /// Upper limit of the tiles' clock values at the start of the simulation, in cycles; the values
    /// are drawn from the seed.
    pub epoch_max_cycles: u64,
}

impl ChipConfig {
    /// Returns the configuration of a common product: a Wormhole with 64 or a Blackhole with 140
    /// worker cores.
    #[must_use]
    pub const fn new(arch: Arch) -> Self {
        let worker_core_count = match arch {
            Arch::WormholeB0 => 64,
            Arch::Blackhole => 140,
        };
        Self {
            arch,
            worker_core_count,
            harvested: None,
            active_ethernet_count: 0,
            drift_ppb: None,
            frequency_steps: Vec::new(),
            epoch_max_cycles: 10_000_000_000_000,
        }
    }

    /// Sets the number of worker cores.
    #[must_use]
    pub const fn with_worker_core_count(mut self, worker_core_count: u32) -> Self {
        self.worker_core_count = worker_core_count;
        self
    }

    /// Sets the harvested rows (Wormhole) or columns (Blackhole), which determine the number of
    /// worker cores.
    #[must_use]
    pub fn with_harvested(self, lines: &[u16]) -> Self {
        Self { harvested: Some(lines.to_vec()), ..self }
    }

    /// Connects the links of the first `count` Ethernet channels.
    #[must_use]
    pub const fn with_active_ethernet(mut self, count: usize) -> Self {
        self.active_ethernet_count = count;
        self
    }

    /// Sets the deviation from the nominal frequency in parts per billion.
    #[must_use]
    pub const fn with_drift_ppb(mut self, drift_ppb: i64) -> Self {
        self.drift_ppb = Some(drift_ppb);
        self
    }

    /// Sets the changes of the frequency after the start.
    #[must_use]
    pub fn with_frequency_steps(self, steps: &[FrequencyStep]) -> Self {
        Self { frequency_steps: steps.to_vec(), ..self }
    }

    /// Sets the upper limit of the tiles' clock values at the start.
    #[must_use]
    pub const fn with_epoch_max_cycles(mut self, epoch_max_cycles: u64) -> Self {
        self.epoch_max_cycles = epoch_max_cycles;
        self
    }

    /// Creates the chip's floor plan; harvested lines that are not configured are drawn from
    /// `random`.
    pub(crate) fn floorplan(&self, random: &mut Stream) -> Result<Floorplan, FloorplanError> {
        let harvested = match &self.harvested {
            Some(lines) => lines.clone(),
            None => self.drawn_harvest(random)?,
        };
        Floorplan::new(self.arch, &harvested, self.active_ethernet_count)
    }

    pub(crate) fn drift_ppb(&self, random: &mut Stream) -> i64 {
        let drawn = i64::try_from(random.below(2 * DRIFT_MAX_PPB + 1)).unwrap_or(0);
        self.drift_ppb.unwrap_or(drawn - i64::try_from(DRIFT_MAX_PPB).unwrap_or(0))
    }

    fn drawn_harvest(&self, random: &mut Stream) -> Result<Vec<u16>, FloorplanError> {
        let count = Floorplan::harvested_line_count(self.arch, self.worker_core_count)?;
        let mut lines = self.arch.facts().harvest_order.to_vec();
        let mut harvested = Vec::new();
        for _ in 0..count {
            let index = usize::try_from(random.below(lines.len() as u64)).unwrap_or(0);
            harvested.push(lines.swap_remove(index));
        }
        Ok(harvested)
    }
}

const DRIFT_MAX_PPB: u64 = 20_000;

/// Configuration of a whole simulation.
///
/// ```
/// use sim::{arch::Arch, config::{ChipConfig, MeshConfig}};
/// let config = MeshConfig::new(1)
///     .with_chip(ChipConfig::new(Arch::WormholeB0))
///     .with_chip(ChipConfig::new(Arch::WormholeB0));
/// assert_eq!(config.chips.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshConfig {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Chips, numbered in this order.
    pub chips: Vec<ChipConfig>,
    /// Number of programs whose records fit in DRAM; corresponds to tt-metal's
    /// `TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT`.
    pub program_support_count: u32,
    /// Cores reserved for dispatch kernels; if `None`, no dispatch kernels are simulated.
    pub dispatch_cores: Option<DispatchCores>,
    /// True if dispatch kernels are compiled with probes.
    pub profiles_dispatch_cores: bool,
    /// Number of relays per chip.
    pub relays: u32,
    /// True if each relay has a successor: a second core that can gather the records in place of
    /// the relay later in the run.
    pub has_relay_successors: bool,
    /// Grid of worker cores that run the kernels of programs; `None` for all worker cores.
    pub kernel_grid: Option<KernelGrid>,
    /// Memory that relays write to.
    pub relay_sink: RelaySink,
    /// Size in bytes of the ring buffer of each gatherer. A relay has two gatherers, BRISC and
    /// NCRISC.
    pub relay_ring_bytes: u32,
    /// Modes of all kernels except dispatch kernels.
    pub modes: KernelModes,
    /// Durations of the host's accesses.
    pub host: HostTiming,
}

/// Grid of worker cores that run the kernels of programs: the first columns and rows of the worker
/// cores that are not reserved for dispatch kernels or relays.
///
/// Its text form is `COLUMNSxROWS`:
///
/// ```
/// use sim::config::KernelGrid;
/// assert_eq!("8x2".parse(), Ok(KernelGrid { columns: 8, rows: 2 }));
/// assert!("8 by 2".parse::<KernelGrid>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelGrid {
    /// Number of columns.
    pub columns: u16,
    /// Number of rows.
    pub rows: u16,
}

impl FromStr for KernelGrid {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text.split_once('x').and_then(|(columns, rows)| {
            Some(Self { columns: columns.parse().ok()?, rows: rows.parse().ok()? })
        });
        parsed.ok_or("expected columns and rows of cores, such as 8x2")
    }
}

/// Memory to which relays write the records that they gather.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RelaySink {
    /// DRAM, with each gatherer's ring in one bank.
    #[default]
    Dram,
    /// The memory of the host, over PCIe.
    HostMemory,
}

impl MeshConfig {
    /// Creates a mesh without chips.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            chips: Vec::new(),
            program_support_count: DEFAULT_PROGRAM_SUPPORT_COUNT,
            dispatch_cores: None,
            profiles_dispatch_cores: false,
            relays: 0,
            has_relay_successors: false,
            kernel_grid: None,
            relay_sink: RelaySink::Dram,
            relay_ring_bytes: 1 << 24,
            modes: KernelModes::PLAIN,
            host: HostTiming::PCIE,
        }
    }

    /// Creates a mesh of one Wormhole with the default chip configuration.
    #[must_use]
    pub fn wormhole(seed: u64) -> Self {
        Self::new(seed).with_chip(ChipConfig::new(Arch::WormholeB0))
    }

    /// Creates a mesh of one Blackhole with the default chip configuration.
    #[must_use]
    pub fn blackhole(seed: u64) -> Self {
        Self::new(seed).with_chip(ChipConfig::new(Arch::Blackhole))
    }

    /// Adds a chip.
    #[must_use]
    pub fn with_chip(mut self, chip: ChipConfig) -> Self {
        self.chips.push(chip);
        self
    }

    /// Sets the number of programs whose records fit in DRAM.
    #[must_use]
    pub const fn with_program_support_count(mut self, count: u32) -> Self {
        self.program_support_count = count;
        self
    }

    /// Enables or disables sum zones in kernels.
    #[must_use]
    pub const fn with_sums(mut self, sums_enabled: bool) -> Self {
        self.modes.sums_enabled = sums_enabled;
        self
    }

    /// Enables trace-only mode, in which each core records only one zone per trace replay.
    #[must_use]
    pub const fn with_trace_only(mut self) -> Self {
        self.modes.is_trace_only = true;
        self
    }

    /// Makes firmware collect the records of several launches before writing them to DRAM. This
    /// mode cannot be combined with sum zones or wait records.
    #[must_use]
    pub const fn with_accumulation(mut self) -> Self {
        self.modes.is_accumulating = true;
        self
    }

    /// Enables the debug dump.
    ///
    /// Kernels record every NoC event with its addresses. A RISC whose DRAM buffer is full waits
    /// until the host has read part of it, but for at most a second.
    ///
    /// Launches are simulated only up to the host's next access, because each read by the host can
    /// free space in a buffer that a kernel waits for. This mode cannot be combined with sum zones
    /// or wait records.
    #[must_use]
    pub const fn with_debug_dump(mut self) -> Self {
        self.modes.is_non_dropping = true;
        self
    }

    /// Makes kernels stream their records: the host or a relay reads the records while the kernels
    /// run; see [`wire::stream`].
    ///
    /// Launches are simulated only up to the host's next access. This mode cannot be combined with
    /// sum zones or wait records.
    #[must_use]
    pub const fn with_streaming(mut self) -> Self {
        self.modes.is_streaming = true;
        self
    }

    /// Reserves the last `count` worker cores of each chip as relays; no other kernels run on them.
    ///
    /// Relays gather streamed records while kernels run; see [`wire::relay`].
    #[must_use]
    pub const fn with_relays(mut self, count: u32) -> Self {
        self.relays = count;
        self
    }

    /// Runs the kernels of programs only on a grid of worker cores.
    ///
    /// ```
    /// use sim::{config::{KernelGrid, MeshConfig}, mesh::SimulatedMesh};
    /// let config = MeshConfig::wormhole(0).with_kernel_grid(KernelGrid { columns: 4, rows: 2 });
    /// let mesh = SimulatedMesh::new(&config)?;
    /// let chip = mesh.chip(0).unwrap();
    /// assert_eq!((chip.workers().count(), chip.compute_core_count()), (8, 64));
    /// # Ok::<(), sim::config::ConfigError>(())
    /// ```
    #[must_use]
    pub const fn with_kernel_grid(mut self, grid: KernelGrid) -> Self {
        self.kernel_grid = Some(grid);
        self
    }

    /// Reserves a second worker core for each relay.
    ///
    /// The second core can later gather the records in place of the relay; see
    /// [`begin_relay_successors`](crate::mesh::SimulatedMesh::begin_relay_successors).
    #[must_use]
    pub const fn with_relay_successors(mut self) -> Self {
        self.has_relay_successors = true;
        self
    }

    /// Sets the memory to which relays write the records that they gather.
    #[must_use]
    pub const fn with_relay_sink(mut self, sink: RelaySink) -> Self {
        self.relay_sink = sink;
        self
    }

    /// Sets the size in bytes of each gatherer's ring, a power of two.
    #[must_use]
    pub const fn with_relay_ring_bytes(mut self, ring_bytes: u32) -> Self {
        self.relay_ring_bytes = ring_bytes;
        self
    }

    /// Makes firmware read groups of hardware counters in each launch; the groups are bits of
    /// [`wire::perf_counter`].
    #[must_use]
    pub const fn with_counter_groups(mut self, counter_groups: u32) -> Self {
        self.modes.counter_groups = counter_groups;
        self
    }

    /// Reserves cores for dispatch.
    #[must_use]
    pub const fn with_dispatch_cores(mut self, dispatch_cores: DispatchCores) -> Self {
        self.dispatch_cores = Some(dispatch_cores);
        self
    }

    /// Compiles dispatch kernels with probes, as `TT_METAL_DEVICE_PROFILER_DISPATCH` does.
    #[must_use]
    pub const fn with_dispatch_profiling(mut self) -> Self {
        self.profiles_dispatch_cores = true;
        self
    }

    /// Sets the language of the kernels.
    #[must_use]
    pub const fn with_kernels(mut self, kernels: KernelKind) -> Self {
        self.modes.kernels = kernels;
        self
    }

    /// Runs tt-metal's firmware on Tensix cores. Kernels launched on them must be
    /// [`crate::kernel::file::KernelFile`]s.
    #[must_use]
    pub fn with_firmware(mut self, firmware: &Arc<FirmwareSet>) -> Self {
        self.modes.firmware = Some(Arc::clone(firmware));
        self.modes.kernels = KernelKind::Riscv;
        self
    }

    /// Adds every NoC request of kernels to the ground truth.
    #[must_use]
    pub const fn with_noc_truth(mut self) -> Self {
        self.modes.has_noc_truth = true;
        self
    }

    /// Keeps a copy of every cell (unit of streamed records) that a RISC has made readable, for
    /// [`SimulatedMesh::take_cells`](crate::mesh::SimulatedMesh::take_cells).
    #[must_use]
    pub const fn with_cell_truth(mut self) -> Self {
        self.modes.has_cell_truth = true;
        self
    }

    /// Counts in the ground truth the records that each RISC stores to its record buffer or counts
    /// as lost, as observed on the bus, instead of the records that its kernel declares.
    ///
    /// The ground truth then also includes launches that failed, which make fewer records than
    /// their kernels declare, and kernels from files.
    #[must_use]
    pub const fn with_record_truth(mut self) -> Self {
        self.modes.has_record_truth = true;
        self
    }

    /// Counts instructions and cycles by address of code: see [`crate::lines`]. Does not change the
    /// simulated times.
    #[must_use]
    pub const fn with_lines(mut self) -> Self {
        self.modes.has_lines = true;
        self
    }

    /// Simulates the RISCs of a core one instruction at a time: always the RISC with the earliest
    /// cycle executes next.
    ///
    /// The RISCs then use the ports of L1 in the order of time, as on a chip. This order does not
    /// depend on reads by the host or by relays. The simulation takes longer.
    #[must_use]
    pub const fn with_exact_turns(mut self) -> Self {
        self.modes.has_exact_turns = true;
        self
    }

    /// Makes kernels record their waits.
    ///
    /// The firmware then takes more cycles at the end of each kernel. Wait records cannot be
    /// combined with sum zones.
    #[must_use]
    pub const fn with_wait_records(mut self, wait_records: WaitRecords) -> Self {
        self.modes.wait_records = wait_records;
        self
    }

    /// Makes kernels record individual waits and signals during
    /// [`wire::wait::SyncWindows::DEFAULT`], in addition to the totals of all waits.
    #[must_use]
    pub const fn with_sync_windows(mut self) -> Self {
        self.modes.wait_records = WaitRecords::Events;
        self.modes.has_sync_windows = true;
        self
    }

    /// Lifts limits of the timing model, so that the run shows what they cost.
    #[must_use]
    pub const fn with_lifted_limits(mut self, lifted: LiftedLimits) -> Self {
        self.modes.lifted = lifted;
        self
    }

    /// Sets the maximum number of cycles of a launch on one core; a launch that takes longer is
    /// stopped as failed.
    #[must_use]
    pub const fn with_cycle_limit(mut self, cycle_limit: u64) -> Self {
        self.modes.cycle_limit = cycle_limit;
        self
    }

    /// Makes a chip begin no further launch once object code has failed on it.
    ///
    /// By default, a core on which a launch has failed boots again for its next launch, which
    /// overwrites the records of the failed launch that were not read.
    #[must_use]
    pub const fn with_halt_at_failure(mut self) -> Self {
        self.modes.halts_at_failure = true;
        self
    }

    /// Sets the durations of the host's accesses.
    #[must_use]
    pub const fn with_host(mut self, host: HostTiming) -> Self {
        self.host = host;
        self
    }

    /// Returns an error for a combination of modes for which there is no object code.
    pub(crate) fn check_modes(&self) -> Result<(), ConfigError> {
        if self.relays > 0 && !self.modes.is_streaming {
            return Err(ConfigError::RelaysWithoutStreaming);
        }
        let has_counters = self.modes.counter_groups != 0;
        let has_own_code = has_counters || self.modes.is_trace_only || self.modes.waits_for_host();
        let has_waits = self.modes.wait_records != WaitRecords::Off;
        let is_cpp = self.modes.kernels == KernelKind::Cpp;
        let has_firmware = self.modes.firmware.is_some();
        let chosen = [
            (
                has_firmware && (has_own_code || self.profiles_dispatch_cores),
                "firmware of tt-metal",
            ),
            (is_cpp && (has_own_code || has_waits), "kernels in C++"),
            (self.modes.is_trace_only, "trace-only mode"),
            (
                self.profiles_dispatch_cores
                    && (has_firmware
                        || self.modes.is_trace_only
                        || self.modes.is_accumulating
                        || self.modes.waits_for_host()),
                "profiled dispatch cores",
            ),
            (self.modes.is_non_dropping, "the debug dump"),
            (self.modes.is_streaming, "streamed records"),
            (self.modes.is_accumulating, "accumulated launches"),
            (has_counters, "hardware counters"),
            (has_waits, "records of waits"),
            (self.modes.sums_enabled, "sum zones"),
        ];
        let mut chosen = chosen.into_iter().filter(|(is_chosen, _)| *is_chosen);
        // Sum zones can be combined with tt-metal's firmware, but with no other mode.
        match (chosen.next(), chosen.next()) {
            (Some((_, first)), Some((_, second))) => Err(ConfigError::Modes { first, second }),
            _ => Ok(()),
        }
    }

    /// Returns the geometry of a chip's profiler region, which does not depend on harvesting.
    ///
    /// # Compatibility
    /// `wh_hal.cpp`: the region is sized for a chip without harvested cores.
    pub(crate) fn region(&self, chip_id: usize, arch: Arch) -> Result<DramGeometry, ConfigError> {
        let facts = arch.facts();
        let (cores, banks) = (facts.profiled_core_max, facts.bank_count);
        let program_support_count = self.program_support_count;
        let geometry =
            DramGeometry::new(program_support_count, self.modes.sums_enabled, cores, banks)
                .map_err(|source| ConfigError::Geometry { chip_id, source })?;
        let needed_bytes = facts.dram_align_bytes + u64::from(geometry.bank_bytes());
        let bank_bytes = facts.bank_bytes;
        if needed_bytes > bank_bytes {
            return Err(ConfigError::RegionTooLarge {
                chip_id,
                program_support_count,
                needed_bytes,
                bank_bytes,
            });
        }
        Ok(geometry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harvesting_follows_the_seed_and_the_count() {
        let chip = ChipConfig::new(Arch::WormholeB0);
        let plans: Vec<Floorplan> =
            (0..20).map(|seed| chip.floorplan(&mut Stream::new(seed, &[])).unwrap()).collect();
        assert!(plans.iter().all(|plan| plan.worker_grid() == (8, 8)));
        assert!(plans.windows(2).any(|pair| pair[0] != pair[1]));
        let error = chip.with_worker_core_count(7).floorplan(&mut Stream::new(0, &[]));
        assert!(matches!(error, Err(FloorplanError::WorkerCoreCount { asked: 7, .. })));
    }

    #[test]
    fn drift_stays_within_twenty_parts_per_million() {
        let chip = ChipConfig::new(Arch::Blackhole);
        for seed in 0..100 {
            assert!(chip.drift_ppb(&mut Stream::new(seed, &[])).abs() <= 20_000);
        }
        assert_eq!(chip.with_drift_ppb(7).drift_ppb(&mut Stream::new(0, &[])), 7);
    }

    #[test]
    fn the_region_has_the_size_of_an_unharvested_chip() {
        let config = MeshConfig::new(0);
        assert_eq!(config.region(0, Arch::WormholeB0).unwrap().bank_bytes(), 1_920_000);
        assert_eq!(config.region(0, Arch::Blackhole).unwrap().bank_bytes(), 4_800_000);
        let config = config.with_program_support_count(1_000_000);
        let error = config.region(0, Arch::WormholeB0).unwrap_err();
        assert!(matches!(error, ConfigError::RegionTooLarge { .. }), "{error}");
    }
}
