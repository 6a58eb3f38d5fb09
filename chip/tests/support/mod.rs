//! A simulated chip with the interface of a real chip, and direct readouts of the simulator for
//! comparison.

#![allow(dead_code, reason = "not every test takes all of it")]

use chip::{
    access::{AccessFailure, ChipAccess, NocResult, NocTile},
    facts::ChipFacts,
    layout::FirmwareLayout,
    mesh::WALL_CLOCK,
};
use reader::{
    ProfilerOptions, ReadOptions, Reader,
    firmware_elf::profiler::ProfilerMemory,
    init_device_profiler,
    mesh::{CoreDescription, CoreSelection, DeviceDescription, Mesh, Noc0Coord},
    readout::Readout,
};
use sim::{
    arch::{Arch, TileCoord},
    config::{ChipConfig, MeshConfig},
    mesh::SimulatedMesh,
    workload::{Workload, WorkloadOptions},
};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};
use wire::{CoreKind, control::ControlLayout, vector::VECTOR_BYTES};

/// An access: true for a write, then NoC, tile, address and number of bytes.
pub(crate) type Noted = (bool, u8, NocTile, u64, usize);

/// A simulated chip that a host accesses over its NoC.
#[derive(Debug)]
pub(crate) struct SimulatedChip {
    mesh: Mutex<SimulatedMesh>,
    /// High half of the clock, latched by the last read.
    high: AtomicU64,
    noted: Mutex<Vec<Noted>>,
    /// Number of accesses after which the chip returns all ones.
    life: AtomicU64,
}

impl SimulatedChip {
    pub(crate) fn new(mesh: SimulatedMesh) -> Self {
        Self {
            mesh: Mutex::new(mesh),
            high: AtomicU64::new(0),
            noted: Mutex::default(),
            life: AtomicU64::new(u64::MAX),
        }
    }

    /// Makes the chip disappear from the bus after this number of further accesses.
    pub(crate) fn die_after(&self, accesses: u64) {
        let so_far = self.noted.lock().unwrap().len() as u64;
        self.life.store(so_far.saturating_add(accesses), Ordering::Relaxed);
    }

    /// Makes a chip that has disappeared answer again.
    pub(crate) fn revive(&self) {
        self.life.store(u64::MAX, Ordering::Relaxed);
    }

    /// Returns the facts that a controller would report about the chip.
    pub(crate) fn facts(&self) -> ChipFacts {
        facts(&self.mesh.lock().unwrap())
    }

    /// Returns the simulator's default addresses, used without firmware files.
    pub(crate) fn layout(&self) -> FirmwareLayout {
        layout(&self.mesh.lock().unwrap())
    }

    /// Passes the chip's mesh to a function, between two accesses.
    pub(crate) fn with_mesh<T>(&self, take: impl FnOnce(&mut SimulatedMesh) -> T) -> T {
        take(&mut self.mesh.lock().unwrap())
    }

    /// Returns all accesses so far.
    pub(crate) fn noted(&self) -> Vec<Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, noted: Noted) -> bool {
        let mut list = self.noted.lock().unwrap();
        list.push(noted);
        list.len() as u64 <= self.life.load(Ordering::Relaxed)
    }

    pub(crate) fn read(
        &self,
        noc: u8,
        tile: NocTile,
        address: u64,
        bytes: &mut [u8],
    ) -> Result<(), String> {
        if !self.note((false, noc, tile, address, bytes.len())) {
            bytes.fill(0xFF);
            return Ok(());
        }
        let mut mesh = self.mesh.lock().unwrap();
        let place = memory_target(&mesh, noc, tile, address)?;
        let device = mesh.device(0).unwrap();
        let mut words = vec![0; bytes.len() / 4];
        match place {
            MemoryTarget::L1(core) if address == WALL_CLOCK => {
                let clock = device.read_wall_clock(core).map_err(|error| error.to_string())?;
                self.high.store(clock >> 32, Ordering::Relaxed);
                words[0] = u32::try_from(clock & 0xFFFF_FFFF).unwrap();
            }
            MemoryTarget::L1(_) if address == WALL_CLOCK + 4 => {
                words[0] = u32::try_from(self.high.load(Ordering::Relaxed)).unwrap();
            }
            MemoryTarget::L1(core) => {
                device.read_l1(core, address, &mut words).map_err(|error| error.to_string())?;
            }
            MemoryTarget::Dram(bank, address) => {
                device.read_dram(bank, address, &mut words).map_err(|error| error.to_string())?;
            }
        }
        for (bytes, word) in bytes.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Ok(())
    }

    pub(crate) fn write(
        &self,
        noc: u8,
        tile: NocTile,
        address: u64,
        bytes: &[u8],
    ) -> Result<(), String> {
        self.note((true, noc, tile, address, bytes.len()));
        let mut mesh = self.mesh.lock().unwrap();
        let MemoryTarget::L1(core) = memory_target(&mesh, noc, tile, address)? else {
            return Err("DRAM was written".to_owned());
        };
        let words: Vec<u32> = bytes.as_chunks().0.iter().copied().map(u32::from_le_bytes).collect();
        let device = mesh.device(0).unwrap();
        device.write_l1(core, address, &words).map_err(|error| error.to_string())
    }
}

impl ChipAccess for &SimulatedChip {
    fn noc_read(&self, noc: u8, tile: NocTile, address: u64, bytes: &mut [u8]) -> NocResult {
        self.read(noc, tile, address, bytes).map_err(AccessFailure)
    }

    fn noc_write(&self, noc: u8, tile: NocTile, address: u64, bytes: &[u8]) -> NocResult {
        self.write(noc, tile, address, bytes).map_err(AccessFailure)
    }
}

enum MemoryTarget {
    L1(Noc0Coord),
    Dram(u32, u64),
}

/// Returns the location in the simulator for coordinates and an address.
fn memory_target(
    mesh: &SimulatedMesh,
    noc: u8,
    tile: NocTile,
    address: u64,
) -> Result<MemoryTarget, String> {
    let facts = mesh.chip(0).unwrap().facts();
    let place = facts.translation.tile(noc.into(), tile.x.into(), tile.y.into());
    let place: TileCoord = place.ok_or_else(|| format!("no tile answers at {tile}"))?;
    if facts.plan.cores().iter().any(|core| core.coord == place) {
        return Ok(MemoryTarget::L1(Noc0Coord { x: place.x, y: place.y }));
    }
    let bank = facts.bank_at(place, address).ok_or_else(|| format!("nothing at {tile}"))?;
    Ok(MemoryTarget::Dram(bank.0, bank.1))
}

/// Returns a chip that has run a workload; the result is deterministic.
pub(crate) fn ran(arch: Arch, cores: u32, workload: &str, seed: u64) -> SimulatedMesh {
    ran_with_links(arch, cores, workload, seed, 0)
}

/// Returns a chip with links on its first `links` Ethernet channels. If there is a link, Ethernet
/// cores run kernels too.
pub(crate) fn ran_with_links(
    arch: Arch,
    cores: u32,
    workload: &str,
    seed: u64,
    links: usize,
) -> SimulatedMesh {
    let chip = ChipConfig::new(arch).with_worker_core_count(cores).with_active_ethernet(links);
    let config = MeshConfig::new(seed).with_chip(chip);
    let mut mesh = SimulatedMesh::new(&config).unwrap();
    init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
    // A few launches are enough to fill vectors and lanes. More launches would only take longer,
    // because all their words are read several times.
    let options =
        WorkloadOptions { ops: Some(5), has_ethernet: links > 0, ..WorkloadOptions::default() };
    let plan = Workload::named(workload).unwrap().plan(&mesh, &options);
    plan.rules.iter().for_each(|rule| mesh.add_shared_rule(rule));
    for phase in &plan.phases {
        mesh.enqueue_phase(phase);
        mesh.run_to_completion();
    }
    mesh
}

/// Returns the facts that a controller would report about the simulated chip.
pub(crate) fn facts(mesh: &SimulatedMesh) -> ChipFacts {
    let chip = mesh.chip(0).unwrap();
    let ethernet = chip.plan().cores().iter().filter(|core| core.kind == CoreKind::ActiveEth);
    ChipFacts {
        chip_id: 0,
        arch: chip.facts().arch,
        harvest_mask: chip.plan().harvest_mask(),
        dram_harvest_mask: chip.plan().dram_harvest_mask(),
        aiclk_mhz: chip.facts().arch.facts().aiclk_mhz,
        is_translated: true,
        active_ethernet: Some(ethernet.count()),
    }
}

/// Returns the simulator's default addresses, used without firmware files.
pub(crate) fn layout(mesh: &SimulatedMesh) -> FirmwareLayout {
    let arch = mesh.chip(0).unwrap().facts().arch;
    let memory = |kind: CoreKind| {
        let control_bytes = ControlLayout::WORDS64.size_bytes() as u64;
        let vectors = (kind.risc_count() * VECTOR_BYTES) as u64;
        ProfilerMemory {
            control_address: arch.facts().control_address(kind),
            control_bytes,
            vector_bytes: VECTOR_BYTES as u64,
            size_bytes: control_bytes + vectors,
        }
    };
    FirmwareLayout {
        arch,
        tensix: memory(CoreKind::Tensix),
        active_ethernet: Some(memory(CoreKind::ActiveEth)),
        idle_ethernet: Some(memory(CoreKind::IdleEth)),
    }
}

/// Reads all cores that can be reached over NoC 1, once, as the last read of a run.
pub(crate) fn read(mesh: &mut dyn Mesh, read_only: bool) -> Readout {
    let chip = mesh.device(0).unwrap().description();
    let cores = chip.cores.iter().filter(|core| is_reached(chip, core));
    let cores = CoreSelection::at(cores.map(|core| core.noc0));
    let options = ReadOptions { last_read: true, read_only, cores, ..ReadOptions::default() };
    Reader::new(options).read(mesh).unwrap()
}

/// Returns false for the two Ethernet tiles of a Blackhole that no chip has.
pub(crate) fn is_reached(chip: &DeviceDescription, core: &CoreDescription) -> bool {
    chip.arch != "blackhole" || ![(7, 1), (10, 1)].contains(&(core.noc0.x, core.noc0.y))
}

/// Compares everything but the times at which the chip was read.
pub(crate) fn assert_same(found: &Readout, expected: &Readout) {
    assert_eq!(found.record_count(), expected.record_count());
    assert!(found.devices == expected.devices, "lanes differ");
    let losses = |readout: &Readout| {
        let entries = readout.losses.entries();
        entries.map(|(key, totals)| (*key, *totals)).collect::<Vec<_>>()
    };
    let (found_losses, expected_losses) = (losses(found), losses(expected));
    let differing = found_losses.iter().find(|loss| !expected_losses.contains(loss));
    assert_eq!(differing, None, "{:?}", expected_losses.first());
    assert_eq!(found_losses.len(), expected_losses.len());
    assert!(found.losses.uncounted().eq(expected.losses.uncounted()));
    let windows = |readout: &Readout| {
        let windows = readout.losses.windows();
        windows.map(|(lane, window)| (lane, window.after)).collect::<Vec<_>>()
    };
    assert_eq!(windows(found), windows(expected));
    assert_eq!(found.anomalies, expected.anomalies);
    assert_eq!(found.zones, expected.zones);
}
