//! Implementation of the reader's device interface for the mesh.
//!
//! This is the only module that depends on that interface. It only converts types.

use crate::{
    arch::floorplan::CorePlace,
    chip::{Chip, Unreached},
    clock::PS_PER_NS,
    host::{AccessTime, HostClock},
    mesh::SimulatedMesh,
};
use reader::mesh::{
    AccessError, AccessResult, CoreDescription, Device, DeviceDescription, DramDescription, L1Read,
    Memory, Mesh, Noc0Coord, WordRange, no_host_memory,
};

/// A simulated chip, and the host that all chips of the mesh share.
#[derive(Debug)]
pub struct ChipDevice {
    chip: Chip,
    host: HostClock,
    description: DeviceDescription,
}

impl ChipDevice {
    pub(crate) fn new(chip: Chip, host: HostClock) -> Self {
        Self { description: describe(&chip), chip, host }
    }

    /// Returns the chip that this device accesses.
    #[must_use]
    pub const fn chip(&self) -> &Chip {
        &self.chip
    }

    pub(crate) const fn chip_mut(&mut self) -> &mut Chip {
        &mut self.chip
    }

    fn read_l1_at(&mut self, time: AccessTime, read: L1Read<'_>) -> AccessResult {
        let L1Read { core, address, words } = read;
        let word_count = words.len();
        let result = self.chip.host_read_l1(core, address, words, time);
        result.map_err(|reason| self.refused(reason, Memory::L1(core), address, word_count))
    }

    /// Returns the error that a host reports for a failed access.
    fn refused(
        &self,
        reason: Unreached,
        memory: Memory,
        address: u64,
        word_count: usize,
    ) -> AccessError {
        let chip_id = self.description.chip_id;
        let range = WordRange { chip_id, memory, address, word_count };
        match reason {
            Unreached::NoSuchCore => range.nowhere(),
            Unreached::OutOfRange => range.outside(),
            Unreached::Lost => {
                AccessError::Unreachable { chip_id, reason: "the chip was lost".to_owned() }
            }
        }
    }
}

impl Device for ChipDevice {
    fn description(&self) -> &DeviceDescription {
        &self.description
    }

    fn read_l1(&mut self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult {
        let time = self.host.read(words.len());
        self.read_l1_at(time, L1Read { core, address, words })
    }

    fn read_l1_pair(&mut self, [first, second]: [L1Read<'_>; 2]) -> [AccessResult; 2] {
        let [first_time, second_time] =
            self.host.read_pair([first.words.len(), second.words.len()]);
        // Simulated time never goes back, so the earlier of the two reads must be made first.
        if second_time.first < first_time.first {
            let result = self.read_l1_at(second_time, second);
            return [self.read_l1_at(first_time, first), result];
        }
        [self.read_l1_at(first_time, first), self.read_l1_at(second_time, second)]
    }

    fn write_l1(&mut self, core: Noc0Coord, address: u64, words: &[u32]) -> AccessResult {
        let time = self.host.write(words.len());
        let result = self.chip.host_write_l1(core, address, words, time);
        result.map_err(|reason| self.refused(reason, Memory::L1(core), address, words.len()))
    }

    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> AccessResult {
        let time = self.host.read(words.len());
        let word_count = words.len();
        let result = self.chip.host_read_dram(bank, address, words, time);
        result.map_err(|reason| self.refused(reason, Memory::Dram(bank), address, word_count))
    }

    fn read_host_memory(&mut self, address: u64, words: &mut [u32]) -> AccessResult {
        if self.chip.facts().host_tile.is_none() {
            return Err(no_host_memory(self.description.chip_id));
        }
        let time = self.host.read_own_memory(words.len());
        let word_count = words.len();
        let result = self.chip.read_host_memory(address, words, time);
        result.map_err(|reason| self.refused(reason, Memory::Host, address, word_count))
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        let time = self.host.read(1);
        let result = self.chip.host_read_clock(core, time);
        result.map_err(|reason| self.refused(reason, Memory::WallClock(core), 0, 2))
    }

    fn host_time_ns(&mut self) -> u64 {
        self.host.monotonic_ns()
    }

    fn wait_ns(&mut self, duration_ns: u64) {
        let end = self.host.now().saturating_add(duration_ns.saturating_mul(PS_PER_NS));
        self.host.wait_until(end);
        self.chip.run_until(end);
    }
}

impl Mesh for SimulatedMesh {
    fn device_count(&self) -> usize {
        self.chip_count()
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        self.chip_device_mut(index).map(|device| device as &mut dyn Device)
    }
}

fn describe(chip: &Chip) -> DeviceDescription {
    let facts = chip.facts();
    let arch = facts.arch.facts();
    DeviceDescription {
        chip_id: facts.chip_id,
        arch: arch.name.to_owned(),
        aiclk_mhz: arch.aiclk_mhz,
        // Cores reserved for dispatch do not run ops.
        max_compute_cores: u32::try_from(chip.compute_core_count()).unwrap_or(u32::MAX),
        cores: chip.plan().cores().iter().map(|place| describe_core(chip, place)).collect(),
        dram: DramDescription {
            bank_count: arch.bank_count,
            region_address: arch.dram_align_bytes,
            region_bytes: facts.region_bytes,
        },
    }
}

fn describe_core(chip: &Chip, place: &CorePlace) -> CoreDescription {
    let (control_address, vector_address) = chip.facts().profiler_addresses(place.kind);
    place.description(control_address, vector_address)
}
