//! Chips as a mesh for the reader; all accesses go through [`Rails`].

use crate::{
    access::{ChipAccess, NocTile},
    facts::{ChipFacts, ChipPlan, FactsError},
    layout::FirmwareLayout,
    rails::{NamedRange, Rails, RangeUse, Refusal, Writes},
};
use reader::{
    architecture::{Arch, WALL_CLOCK_LOW, floorplan::CorePlace},
    firmware_elf::profiler::ProfilerMemory,
    mesh::{
        AccessError, AccessResult, CoreDescription, Device, DeviceDescription, DramDescription,
        Memory, Mesh, Noc0Coord, WordRange,
    },
};
use std::collections::BTreeMap;
use wire::{
    CoreKind,
    control::{ControlLayout, ext},
    dram::{DEFAULT_PROGRAM_SUPPORT_COUNT, bytes_per_program, effective_support_count},
    risc::RISCS_PER_CORE,
    vector::VECTOR_BYTES,
};

/// Options for opening chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// Whether control vectors may be written.
    pub writes: Writes,
    /// Number of programs that a lane can hold. Used only if the device does not announce its lane
    /// size.
    pub program_support_count: u32,
    /// True if lanes have room for sums. Used only if the device does not announce its lane size.
    pub sums_enabled: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            writes: Writes::Refused,
            program_support_count: DEFAULT_PROGRAM_SUPPORT_COUNT,
            sums_enabled: false,
        }
    }
}

/// Reason why a chip cannot be opened for reading.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The chip's reported properties are contradictory or not supported.
    #[error(transparent)]
    Facts(#[from] FactsError),
    /// The firmware was built for another architecture.
    #[error("chip {chip_id} is a {arch}, but the firmware was made for a {firmware}")]
    ForeignFirmware {
        /// The chip.
        chip_id: u32,
        /// Architecture of the chip.
        arch: Arch,
        /// Architecture of the firmware.
        firmware: Arch,
    },
    /// No core answered.
    #[error("chip {chip_id}: no core can be read: {first}")]
    Silent {
        /// The chip.
        chip_id: u32,
        /// Error of the first core from which a read was tried.
        first: Refusal,
    },
    /// No core's control vector has a plausible DRAM address for markers.
    #[error(
        "chip {chip_id}: no core has a plausible place for its markers in DRAM; is the program \
         running with TT_METAL_DEVICE_PROFILER=1, and is this its firmware?"
    )]
    NotProfiled {
        /// The chip.
        chip_id: u32,
    },
}

/// Chips of one host.
#[derive(Debug)]
pub struct ChipMesh<A> {
    /// The chips.
    pub devices: Vec<ChipDevice<A>>,
}

/// A chip that is accessed only through [`Rails`].
#[derive(Debug)]
pub struct ChipDevice<A> {
    rails: Rails<A>,
    plan: ChipPlan,
    description: DeviceDescription,
    untold: usize,
}

impl<A: ChipAccess> ChipDevice<A> {
    /// Opens a chip: reads the control vectors of all worker cores, which contain the DRAM address
    /// of the markers.
    ///
    /// # Errors
    /// [`OpenError`] if the chip does not match the firmware, or if no control vector contains a
    /// usable DRAM address.
    pub fn open(
        access: A,
        facts: &ChipFacts,
        firmware: &FirmwareLayout,
        options: &OpenOptions,
    ) -> Result<Self, OpenError> {
        let ChipFacts { chip_id, arch, .. } = *facts;
        if firmware.arch != arch {
            return Err(OpenError::ForeignFirmware { chip_id, arch, firmware: firmware.arch });
        }
        let plan = ChipPlan::new(facts)?;
        let mut rails = Rails::new(access, options.writes);
        let mut cores = named_cores(&mut rails, &plan, facts, firmware);
        let dram = find_region(&mut rails, &plan, &cores, facts, options)?;
        let mut untold = 0;
        if facts.active_ethernet.is_none() {
            let ethernet;
            (ethernet, untold) = ethernet_cores(&mut rails, &plan, firmware, dram.region_address);
            cores.extend(ethernet);
            cores.sort_by_key(|core| core.flat_id);
        }
        name_lanes(&mut rails, &plan, dram);
        let (columns, rows) = plan.floorplan.worker_grid();
        let description = DeviceDescription {
            chip_id,
            arch: arch.facts().name.to_owned(),
            aiclk_mhz: facts.aiclk_mhz,
            max_compute_cores: u32::from(columns).saturating_mul(rows.into()),
            cores,
            dram,
        };
        Ok(Self { rails, plan, description, untold })
    }

    /// Opens the cores that the user's program has reported together with the addresses of their
    /// control vectors. Control vectors may be written.
    ///
    /// Lanes in DRAM may be read where the description says; cores that stream their markers have none.
    ///
    /// # Errors
    /// [`FactsError`] if the chip's reported properties are contradictory or not supported.
    pub fn open_known(
        access: A,
        facts: &ChipFacts,
        description: DeviceDescription,
    ) -> Result<Self, FactsError> {
        let plan = ChipPlan::new(facts)?;
        let mut rails = Rails::new(access, Writes::ControlVectors);
        for core in &description.cores {
            let Some(tile) = plan.core(core.noc0) else { continue };
            let vectors = (core.kind.risc_count() as u64).saturating_mul(VECTOR_BYTES as u64);
            name_ranges(&mut rails, tile, core.control_address, (core.vector_address, vectors));
        }
        name_lanes(&mut rails, &plan, description.dram);
        Ok(Self { rails, plan, description, untold: 0 })
    }

    /// Returns the [`Rails`] that check every access to the chip.
    #[must_use]
    pub const fn rails(&self) -> &Rails<A> {
        &self.rails
    }

    /// Returns the number of Ethernet cores that are not read. For these cores, no control vector
    /// was found that contains the DRAM address of the core's markers.
    #[must_use]
    pub const fn untold_ethernet_cores(&self) -> usize {
        self.untold
    }

    fn tile(&self, memory: Memory) -> Option<(NocTile, u64)> {
        match memory {
            Memory::L1(core) | Memory::WallClock(core) => Some((self.plan.core(core)?, 0)),
            Memory::Dram(bank) => self.plan.bank(bank),
            Memory::Host => None,
        }
    }

    fn read(&mut self, memory: Memory, address: u64, words: &mut [u32]) -> AccessResult {
        let range = self.range(memory, address, words.len());
        let (tile, start) = self.tile(memory).ok_or_else(|| range.nowhere())?;
        let read = self.rails.read(tile, start.saturating_add(address), words);
        read.map_err(|refusal| refused(&refusal, &range))
    }

    fn range(&self, memory: Memory, address: u64, word_count: usize) -> WordRange {
        WordRange { chip_id: self.description.chip_id, memory, address, word_count }
    }
}

impl<A: ChipAccess> Device for ChipDevice<A> {
    fn description(&self) -> &DeviceDescription {
        &self.description
    }

    fn read_l1(&mut self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult {
        self.read(Memory::L1(core), address, words)
    }

    fn write_l1(&mut self, core: Noc0Coord, address: u64, words: &[u32]) -> AccessResult {
        let memory = Memory::L1(core);
        let range = self.range(memory, address, words.len());
        let (tile, start) = self.tile(memory).ok_or_else(|| range.nowhere())?;
        let written = self.rails.write(tile, start.saturating_add(address), words);
        written.map_err(|refusal| refused(&refusal, &range))
    }

    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> AccessResult {
        self.read(Memory::Dram(bank), address, words)
    }

    /// Reads the low word before the high word, because reading the low word latches the high word.
    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        let mut words = [0; 2];
        self.read(Memory::WallClock(core), WALL_CLOCK, &mut words)?;
        let [low, high] = words.map(u64::from);
        Ok(low | high << 32)
    }

    fn host_time_ns(&mut self) -> u64 {
        host_events::monotonic_ns()
    }
}

impl<A: ChipAccess> Mesh for ChipMesh<A> {
    fn device_count(&self) -> usize {
        self.devices.len()
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        self.devices.get_mut(index).map(|device| device as &mut dyn Device)
    }
}

fn refused(refusal: &Refusal, range: &WordRange) -> AccessError {
    let chip_id = range.chip_id;
    match refusal {
        Refusal::NotNamed { .. } => range.outside(),
        refusal => AccessError::Unreachable { chip_id, reason: refusal.to_string() },
    }
}

/// Permits access to the lanes in all banks.
fn name_lanes<A: ChipAccess>(rails: &mut Rails<A>, plan: &ChipPlan, dram: DramDescription) {
    for bank in 0..dram.bank_count {
        if let Some((tile, start)) = plan.bank(bank) {
            let start = start.saturating_add(dram.region_address);
            let size_bytes = dram.region_bytes;
            rails.name(tile, NamedRange { start, size_bytes, range_use: RangeUse::Markers });
        }
    }
}

/// Permits access to the profiler memory and clock of each core with known firmware, and returns a
/// description of each of these cores.
fn named_cores<A: ChipAccess>(
    rails: &mut Rails<A>,
    plan: &ChipPlan,
    facts: &ChipFacts,
    firmware: &FirmwareLayout,
) -> Vec<CoreDescription> {
    let mut cores = Vec::new();
    for place in plan.floorplan.cores() {
        let is_told = place.kind == CoreKind::Tensix || facts.active_ethernet.is_some();
        let memory = firmware.memory(place.kind).filter(|_| is_told);
        let Some((memory, tile)) = memory.zip(plan.core(place.coord)) else { continue };
        cores.push(named_core(rails, tile, place, memory));
    }
    cores
}

/// Permits access to the address ranges of a core, and returns the core's description.
fn named_core<A: ChipAccess>(
    rails: &mut Rails<A>,
    tile: NocTile,
    place: &CorePlace,
    memory: ProfilerMemory,
) -> CoreDescription {
    let vectors = memory.size_bytes.saturating_sub(memory.control_bytes);
    name_ranges(rails, tile, memory.control_address, (memory.vector_address(), vectors));
    place.description(memory.control_address, memory.vector_address())
}

/// Permits access to a core's control vector, marker vectors and clock.
fn name_ranges<A: ChipAccess>(
    rails: &mut Rails<A>,
    tile: NocTile,
    control_address: u64,
    (vector_address, vector_bytes): (u64, u64),
) {
    for (start, size_bytes, range_use) in [
        (control_address, LAYOUT.size_bytes() as u64, RangeUse::Control),
        (vector_address, vector_bytes, RangeUse::Markers),
        (WALL_CLOCK, WALL_CLOCK_BYTES, RangeUse::Clock),
    ] {
        rails.name(tile, NamedRange { start, size_bytes, range_use });
    }
}

/// Searches the control vector of each Ethernet core at the addresses used by the firmwares for
/// active and for idle cores.
///
/// Memory at such an address is taken for a control vector if the host has written the DRAM address
/// `region_address` and the number of the core to it. If the two firmwares use the same address,
/// the core is treated as idle. This makes no difference, because control vectors have the same
/// layout in both firmwares.
///
/// Returns the cores that were found, and the number of Ethernet cores that are not read. The
/// latter are the cores for which the search found no control vector or several.
fn ethernet_cores<A: ChipAccess>(
    rails: &mut Rails<A>,
    plan: &ChipPlan,
    firmware: &FirmwareLayout,
    region_address: u64,
) -> (Vec<CoreDescription>, usize) {
    let (mut cores, mut untold) = (Vec::new(), 0_usize);
    let kinds = [CoreKind::ActiveEth, CoreKind::IdleEth].into_iter();
    let firmwares = kinds.filter_map(|kind| Some((kind, firmware.memory(kind)?)));
    let places: BTreeMap<u64, (CoreKind, ProfilerMemory)> =
        firmwares.map(|(kind, memory)| (memory.control_address, (kind, memory))).collect();
    for place in plan.floorplan.cores().iter().filter(|core| core.kind != CoreKind::Tensix) {
        let Some(tile) = plan.core(place.coord) else { continue };
        let mut told = places.values().copied().collect::<Vec<_>>();
        told.retain(|(_, memory)| is_announced(rails, tile, memory, region_address, place.flat_id));
        match told[..] {
            [(kind, memory)] => {
                cores.push(named_core(rails, tile, &CorePlace { kind, ..*place }, memory));
            }
            _ => untold = untold.saturating_add(1),
        }
    }
    (cores, untold)
}

/// Permits access to memory that may be a control vector, and reads the memory. Returns true if a
/// host has written the DRAM address of the markers and the number of the core to that memory.
fn is_announced<A: ChipAccess>(
    rails: &mut Rails<A>,
    tile: NocTile,
    memory: &ProfilerMemory,
    region_address: u64,
    flat_id: u32,
) -> bool {
    let (start, size_bytes) = (memory.control_address, memory.control_bytes);
    rails.name(tile, NamedRange { start, size_bytes, range_use: RangeUse::Candidate });
    let mut words = [0; LAYOUT.word_count];
    if rails.read(tile, start, &mut words).is_err() {
        return false;
    }
    let word = |index: usize| words.get(index).copied();
    word(LAYOUT.dram_address).map(u64::from) == Some(region_address)
        && word(LAYOUT.flat_id) == Some(flat_id)
}

/// Reads the DRAM location of the markers from all worker cores, and returns the most frequent one.
fn find_region<A: ChipAccess>(
    rails: &mut Rails<A>,
    plan: &ChipPlan,
    cores: &[CoreDescription],
    facts: &ChipFacts,
    options: &OpenOptions,
) -> Result<DramDescription, OpenError> {
    let chip_id = facts.chip_id;
    let mut votes: BTreeMap<(u64, u64), usize> = BTreeMap::new();
    let (mut first, mut has_answer) = (None, false);
    for core in cores.iter().filter(|core| core.kind == CoreKind::Tensix) {
        let Some(tile) = plan.core(core.noc0) else { continue };
        let mut words = [0; LAYOUT.word_count];
        match rails.read(tile, core.control_address, &mut words) {
            Ok(()) => {
                has_answer = true;
                if let Some(region) = announced_region(&words, facts.arch, options) {
                    let count = votes.entry(region).or_default();
                    *count = count.saturating_add(1);
                }
            }
            Err(refusal) => _ = first.get_or_insert(refusal),
        }
    }
    if let Some(first) = first.filter(|_| !has_answer) {
        return Err(OpenError::Silent { chip_id, first });
    }
    let most = votes.into_iter().max_by_key(|&(_, count)| count);
    let ((region_address, region_bytes), _) = most.ok_or(OpenError::NotProfiled { chip_id })?;
    Ok(DramDescription { bank_count: plan.floorplan.bank_count(), region_address, region_bytes })
}

/// Returns the address and the size in bytes of the DRAM region for markers, as the host has
/// written it to a control vector. The region has the same address in every bank.
///
/// Returns `None` if the address or the size is not plausible.
fn announced_region(
    words: &[u32; LAYOUT.word_count],
    arch: Arch,
    options: &OpenOptions,
) -> Option<(u64, u64)> {
    let word = |index: usize| words.get(index).copied().unwrap_or(0);
    let arch = arch.facts();
    let cores_per_bank = word(LAYOUT.cores_per_bank);
    let is_plausible = (1..=arch.profiled_core_max).contains(&cores_per_bank);
    let lane_bytes = match word(ext::DRAM_LANE_WORDS) {
        words @ 1.. if word(ext::SIGNATURE) == ext::SIGNATURE_VALUE => {
            u64::from(words).saturating_mul(4)
        }
        _ => {
            let sums = options.sums_enabled;
            let count = effective_support_count(options.program_support_count, sums);
            u64::from(count).saturating_mul(bytes_per_program(sums).into())
        }
    };
    let lanes = u64::from(cores_per_bank).saturating_mul(RISCS_PER_CORE as u64);
    let address = u64::from(word(LAYOUT.dram_address));
    let size_bytes = lane_bytes.saturating_mul(lanes);
    let is_inside = address.saturating_add(size_bytes) <= arch.bank_bytes;
    let is_aligned = address != 0 && address.is_multiple_of(arch.dram_align_bytes);
    (is_plausible && is_inside && is_aligned).then_some((address, size_bytes))
}

const LAYOUT: ControlLayout = ControlLayout::WORDS64;

/// Address of a tile's wall clock: the low word, then the high word.
pub const WALL_CLOCK: u64 = WALL_CLOCK_LOW as u64;
const WALL_CLOCK_BYTES: u64 = 8;
