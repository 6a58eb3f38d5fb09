//! A chip that a host drives in three ways: it reads, it writes, and it advances the chip by a
//! number of cycles.
//!
//! All tiles start in reset and run once the host's writes release them. Harts are interpreted with
//! their chip's timing, in windows of [`WINDOW_CYCLES`]. Requests have the latency of the NoC and
//! are carried out in order of arrival. A hart that only polls memory is suspended until a polled
//! word changes, so idle tiles cost nothing.
//!
//! | question | item |
//! |---|---|
//! | how do I create, read, write and advance a chip? | [`Board`] |
//! | how does the chip access its host's memory? | [`HostMemory`] |
//! | how do a host's PCI accesses become reads and writes of tiles? | [`pci`] |
//!
//! # Model
//!
//! A request may be carried out up to one window earlier or later than its arrival time. Likewise,
//! a hart may see a store of another hart of its tile up to one window earlier or later than on a
//! real chip.
//! - The Tensix coprocessor has the times of its instructions and computes nothing, so the results
//!   of compute kernels are unknown.
//! - An access that a chip would refuse stops the hart; the failure names the address, pc and core:
//!   see [`Board::take_failures`].

mod arc;
#[cfg(test)]
#[path = "../../tests/unit/board_polling.rs"]
mod board_polling;
mod core;
mod ethernet;
mod launches;
mod lines;
mod memory;
mod noc;
pub mod pci;
mod samples;
mod standing;
mod truth;

use crate::{
    arch::{Arch, TileCoord, floorplan::Floorplan},
    chip::facts::{ChipFacts, Endpoint, host_tile},
    launch_memory::LaunchMemory,
    limits::LiftedLimits,
    lines::RiscLines,
    modes::KernelModes,
    samples::{RiscSamples, SamplingCounts, SamplingPlan},
    sparse_memory::SparseMemory,
    tt_metal::firmware::FirmwareSet,
    unfinished::{LOOK_CYCLES, UnfinishedLaunch},
};
use arc::ArcTile;
use core::BoardCore;
pub use lines::UNFINISHED;
use noc::Flights;
use std::sync::Arc;
pub use truth::StampedStore;

/// Maximum number of cycles that a tile may run ahead of the other tiles.
pub const WINDOW_CYCLES: u64 = 64;

/// Number of the vector that has room for samples: that of TRISC 2.
const LAST_VECTOR: u32 = 4;
const VECTOR_BYTES: u32 = 2048;
const _: () = assert!(VECTOR_BYTES as usize == wire::vector::VECTOR_BYTES);
/// Bytes of this vector that are no room for samples.
const BYTES_BESIDE_SAMPLES: u32 = 256;
const _: () = assert!(BYTES_BESIDE_SAMPLES as usize == 4 * wire::vector::WORDS_BESIDE_SAMPLES);

/// The host's memory, as accessed by a chip.
pub trait HostMemory: Send {
    /// Reads bytes at a physical address.
    fn read(&mut self, address: u64, bytes: &mut [u8]);
    /// Writes bytes at a physical address.
    fn write(&mut self, address: u64, bytes: &[u8]);
}

/// A host that has gone.
struct NoHost;

impl HostMemory for NoHost {
    fn read(&mut self, _: u64, bytes: &mut [u8]) {
        bytes.fill(0xFF);
    }

    fn write(&mut self, _: u64, _: &[u8]) {}
}

/// A chip driven by a host.
///
/// ```
/// use sim::{arch::{Arch, floorplan::Floorplan}, board::{Board, HostMemory}};
///
/// struct NoMemory;
/// impl HostMemory for NoMemory {
///     fn read(&mut self, _: u64, bytes: &mut [u8]) { bytes.fill(0) }
///     fn write(&mut self, _: u64, _: &[u8]) {}
/// }
///
/// let plan = Floorplan::of_product(Arch::WormholeB0, 64).map_err(|error| error.to_string())?;
/// let mut chip = Board::new(plan, 0, Box::new(NoMemory));
/// // An endless loop for BRISC of the worker at the translated coordinates (18,18), which leaves reset.
/// chip.write((18, 18), 0, &0x0000_006F_u32.to_le_bytes())?;
/// chip.write((18, 18), 0xFFB1_21B0, &0x0004_7000_u32.to_le_bytes())?;
/// chip.advance(1000);
/// assert_eq!(chip.take_failures(), [""; 0]);
/// let mut clock = [0; 4];
/// chip.read((18, 18), 0xFFB1_21F0, &mut clock)?;
/// assert!(u32::from_le_bytes(clock) >= 1000);
/// # Ok::<(), String>(())
/// ```
pub struct Board {
    chip: Arc<ChipFacts>,
    cores: Vec<BoardCore>,
    /// The memory of each group of DRAM tiles.
    dram: Vec<SparseMemory<u8>>,
    arc: ArcTile,
    host: Box<dyn HostMemory>,
    /// Regions of the host's memory whose addresses on the chip differ from their addresses on the
    /// host.
    pub(crate) outbound: Vec<pci::OutboundRegion>,
    flights: Flights,
    now: u64,
    failures: Vec<String>,
}

impl std::fmt::Debug for Board {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Board").field("arch", &self.chip.arch).field("now", &self.now).finish()
    }
}

impl Board {
    /// Creates a chip in reset, with the tiles of a floor plan.
    #[must_use]
    pub fn new(plan: Floorplan, seed: u64, host: Box<dyn HostMemory>) -> Self {
        Self::with_lifted_limits(plan, seed, host, LiftedLimits::NONE)
    }

    /// Creates the same chip without some limits of the timing model.
    #[must_use]
    pub fn with_lifted_limits(
        plan: Floorplan,
        seed: u64,
        host: Box<dyn HostMemory>,
        lifted: LiftedLimits,
    ) -> Self {
        let arch = plan.arch();
        let chip = Arc::new(ChipFacts {
            chip_id: 0,
            arch,
            modes: KernelModes { lifted, ..KernelModes::PLAIN },
            lane_words: 0,
            region_bytes: 0,
            seed,
            translation: plan.translation(),
            host_tile: Some(host_tile(arch)),
            host_writers: 0,
            plan: Arc::new(plan),
        });
        let cores = chip.plan.cores().iter().map(|&place| BoardCore::new(&chip, place)).collect();
        let dram = arch.facts().dram_groups.iter().map(|_| SparseMemory::default()).collect();
        Self {
            arc: ArcTile::new(&chip.plan),
            cores,
            dram,
            host,
            outbound: Vec::new(),
            flights: Flights::new(arch, lifted),
            now: 0,
            failures: Vec::new(),
            chip,
        }
    }

    /// Returns the architecture.
    #[must_use]
    pub fn arch(&self) -> Arch {
        self.chip.arch
    }

    /// Returns the floor plan.
    #[must_use]
    pub fn plan(&self) -> &Floorplan {
        &self.chip.plan
    }

    /// Returns the number of cycles since the chip started.
    #[must_use]
    pub const fn cycle(&self) -> u64 {
        self.now
    }

    /// Advances the chip by a number of cycles.
    pub fn advance(&mut self, cycles: u64) {
        let end = self.now.saturating_add(cycles);
        while self.now < end {
            let is_idle = self.cores.iter().all(BoardCore::is_idle);
            if is_idle {
                // Nothing happens until the next request arrives or a counter changes.
                let next = self.next_event().unwrap_or(end).min(end);
                self.now = self.now.max(next);
            }
            self.deliver();
            let until = end.min(self.now + WINDOW_CYCLES);
            for core in &mut self.cores {
                core.run(&self.chip, self.now, until, &mut self.flights, &mut self.failures);
            }
            self.now = until;
        }
    }

    /// Returns the cycle of the next event: a request's arrival or a counter change. The caller
    /// must have checked that no hart is running.
    fn next_event(&self) -> Option<u64> {
        let changes = self.cores.iter().filter_map(BoardCore::next_change);
        changes.chain(self.flights.next_arrival()).min()
    }

    /// Returns a message for each hart that has failed since the last call.
    pub fn take_failures(&mut self) -> Vec<String> {
        std::mem::take(&mut self.failures)
    }

    /// Returns true if a compute kernel has run; this model does not compute its results.
    #[must_use]
    pub fn has_unknown_values(&self) -> bool {
        self.cores.iter().any(BoardCore::has_computed)
    }

    /// Returns one line for each hart that has left reset: its pc and what it waits for.
    #[must_use]
    pub fn states(&self) -> Vec<String> {
        self.cores.iter().flat_map(BoardCore::states).collect()
    }

    /// Returns the stores that were recorded since the last call, ordered by core and then by time.
    pub fn take_stores(&mut self) -> Vec<StampedStore> {
        self.cores.iter_mut().flat_map(BoardCore::take_stores).collect()
    }

    /// Starts recording the harts' stores to an address range in every tile's L1.
    pub fn watch_stores(&mut self, addresses: std::ops::Range<u32>) {
        for core in &mut self.cores {
            core.watch_stores(addresses.clone());
        }
    }

    /// Starts counting instructions and cycles of the launches on worker cores; `firmware` has the
    /// layout of the firmware that the host loads.
    pub fn count_lines(&mut self, firmware: &Arc<FirmwareSet>) {
        for core in &mut self.cores {
            core.count_lines(firmware);
        }
    }

    /// Removes and returns the counts of all launches since the last call. The program of a launch
    /// that has not ended is named [`UNFINISHED`]; other programs have no names here. Program ids
    /// are those of the host, and all numbers of chips are 0.
    pub fn take_lines(&mut self) -> Vec<RiscLines> {
        let (chip, now) = (Arc::clone(&self.chip), self.now);
        self.cores.iter_mut().flat_map(|core| core.take_lines(&chip, now)).collect()
    }

    /// Starts sampling the launches on worker cores by the tiles' debug daisychains, as a host would;
    /// `firmware` has the layout of the firmware that the host loads.
    ///
    /// The samples are written to the end of TRISC 2's vector in the profiler's memory, from its 65th
    /// word on. Code that records more words there must not run.
    ///
    /// # Errors
    /// If the interval is not one of the hardware's; the error is a sentence.
    pub fn sample(
        &mut self,
        firmware: &Arc<FirmwareSet>,
        interval_cycles: u32,
    ) -> Result<(), String> {
        let vector = firmware.vector_address() + LAST_VECTOR * VECTOR_BYTES;
        let buffer = vector + BYTES_BESIDE_SAMPLES..vector + VECTOR_BYTES;
        let plan = SamplingPlan::new(interval_cycles, buffer)?;
        for (number, core) in self.cores.iter_mut().enumerate() {
            core.sample(firmware, plan, number);
        }
        Ok(())
    }

    /// Removes and returns the samples of all launches since the last call, in the order of cores;
    /// what became of the attempts; and why a tile has refused to be sampled. Names and ids are as for
    /// [`Board::take_lines`].
    pub fn take_samples(&mut self) -> (Vec<RiscSamples>, SamplingCounts, Option<String>) {
        let (chip, now) = (Arc::clone(&self.chip), self.now);
        let (mut found, mut counts, mut refusal) = (Vec::new(), SamplingCounts::default(), None);
        for core in &mut self.cores {
            let (samples, of_core, why) = core.take_samples(&chip, now);
            found.extend(samples);
            counts.add(&of_core);
            refusal = refusal.or(why);
        }
        (found, counts, refusal)
    }

    /// Starts following the launches on worker cores, so that [`Board::unfinished`] knows those that
    /// are open; `firmware` has the layout of the firmware that the host loads.
    pub fn follow_launches(&mut self, firmware: &Arc<FirmwareSet>) {
        for core in &mut self.cores {
            core.follow_launches(firmware);
        }
    }

    /// Returns the host's ids of the programs whose launches are open on cores.
    pub fn open_programs(&self) -> impl Iterator<Item = u32> {
        self.cores.iter().filter_map(BoardCore::open_program)
    }

    /// Advances the chip by [`LOOK_CYCLES`] cycles, and returns where the RISCs stand in the launches
    /// that were open all the time, also in those of the host's dispatch kernels.
    pub fn unfinished(&mut self) -> Vec<UnfinishedLaunch> {
        let now = self.now;
        self.cores.iter_mut().for_each(|core| core.begin_look(now));
        self.advance(LOOK_CYCLES);
        let chip = Arc::clone(&self.chip);
        self.cores.iter_mut().filter_map(|core| core.end_look(&chip)).collect()
    }

    /// Separates the chip from its host, whose memory then reads as all ones and ignores writes.
    pub fn leave_host(&mut self) {
        self.host = Box::new(NoHost);
    }

    /// Starts recording the memory of the launches on worker cores; `firmware` has the layout of the
    /// firmware that the host loads.
    pub fn record_memory(&mut self, firmware: &Arc<FirmwareSet>) {
        for core in &mut self.cores {
            core.record_memory(firmware);
        }
    }

    /// Removes and returns the memory of all launches since the last call.
    pub fn take_memory(&mut self) -> Vec<LaunchMemory> {
        self.cores.iter_mut().flat_map(BoardCore::take_memory).collect()
    }

    /// Returns the tile that the host addresses by these coordinates.
    fn tile(&self, x: u16, y: u16) -> Result<TileCoord, String> {
        let raw = TileCoord { x, y };
        if raw == self.arc.tile() || Some(raw) == self.chip.host_tile {
            return Ok(raw);
        }
        let tile = self.chip.translation.tile(0, x, y).or_else(|| {
            self.chip.arch.facts().dram_groups.iter().flatten().find(|&&at| at == raw).copied()
        });
        tile.ok_or_else(|| format!("{} has no tile at ({x},{y})", self.chip.arch))
    }

    /// Returns the tile at coordinates on one of the NoCs.
    fn tile_on_noc(&self, noc: u8, (x, y): (u16, u16)) -> Result<TileCoord, String> {
        let tile = self.chip.translation.tile(noc.into(), x, y).filter(|_| noc <= 1);
        tile.ok_or_else(|| format!("{} has no tile at ({x},{y}) of NoC {noc}", self.chip.arch))
    }

    /// Reads bytes from a tile.
    ///
    /// # Errors
    /// If there is no memory or register at the address; the error message is a sentence.
    pub fn read(&mut self, at: (u16, u16), address: u64, bytes: &mut [u8]) -> Result<(), String> {
        let tile = self.tile(at.0, at.1)?;
        self.read_tile(tile, address, bytes)
    }

    /// Reads bytes from the tile at the coordinates `at` on NoC 0 or NoC 1.
    ///
    /// # Errors
    /// As [`Board::read`].
    pub fn read_over_noc(
        &mut self,
        noc: u8,
        at: (u16, u16),
        address: u64,
        bytes: &mut [u8],
    ) -> Result<(), String> {
        let tile = self.tile_on_noc(noc, at)?;
        self.read_tile(tile, address, bytes)
    }

    fn read_tile(&mut self, tile: TileCoord, address: u64, bytes: &mut [u8]) -> Result<(), String> {
        if tile == self.arc.tile() {
            return self.arc.read(address, bytes);
        }
        match self.chip.endpoint(tile) {
            Some(Endpoint::Core(_)) => {
                let now = self.now;
                let chip = Arc::clone(&self.chip);
                self.core_at(tile).map_or_else(
                    || Err(format!("{tile} has no core")),
                    |core| core.host_read(&chip, address, bytes, now),
                )
            }
            Some(Endpoint::Dram { group }) => {
                self.dram_of(group, address, bytes.len()).map(|dram| dram.read(address, bytes))
            }
            Some(Endpoint::Host) => {
                self.host_access(address, bytes.len()).map(|at| self.host.read(at, bytes))
            }
            None => Err(format!("nothing answers at {tile}")),
        }
    }

    /// Writes bytes to a tile.
    ///
    /// # Errors
    /// As [`Board::read`].
    pub fn write(&mut self, at: (u16, u16), address: u64, bytes: &[u8]) -> Result<(), String> {
        let tile = self.tile(at.0, at.1)?;
        self.write_tile(tile, address, bytes)
    }

    /// Writes bytes to a tile at its coordinates on NoC 0 or NoC 1.
    ///
    /// # Errors
    /// As [`Board::read`].
    pub fn write_over_noc(
        &mut self,
        noc: u8,
        at: (u16, u16),
        address: u64,
        bytes: &[u8],
    ) -> Result<(), String> {
        let tile = self.tile_on_noc(noc, at)?;
        self.write_tile(tile, address, bytes)
    }

    fn write_tile(&mut self, tile: TileCoord, address: u64, bytes: &[u8]) -> Result<(), String> {
        if tile == self.arc.tile() {
            return self.arc.write(address, bytes);
        }
        match self.chip.endpoint(tile) {
            Some(Endpoint::Core(_)) => {
                let now = self.now;
                let chip = Arc::clone(&self.chip);
                self.core_at(tile).map_or_else(
                    || Err(format!("{tile} has no core")),
                    |core| core.host_write(&chip, address, bytes, now),
                )
            }
            Some(Endpoint::Dram { group }) => {
                self.dram_of(group, address, bytes.len()).map(|dram| dram.write(address, bytes))
            }
            Some(Endpoint::Host) => {
                self.host_access(address, bytes.len()).map(|at| self.host.write(at, bytes))
            }
            None => Err(format!("nothing answers at {tile}")),
        }
    }

    /// Writes bytes to all worker tiles of a rectangle.
    ///
    /// # Errors
    /// If a corner is not a tile of the chip.
    pub fn write_rectangle(
        &mut self,
        (start, end): ((u16, u16), (u16, u16)),
        address: u64,
        bytes: &[u8],
    ) -> Result<(), String> {
        let corner = |(x, y): (u16, u16)| {
            let corner = self.chip.translation.corner(0, x, y);
            corner.ok_or_else(|| format!("{} has no place at ({x},{y})", self.chip.arch))
        };
        let (start, end) = (corner(start)?, corner(end)?);
        let facts = self.chip.arch.facts();
        let columns = facts.tensix_columns.iter().filter(|x| (start.x..=end.x).contains(x));
        let tiles: Vec<_> = columns
            .flat_map(|&x| facts.tensix_rows.iter().map(move |&y| TileCoord { x, y }))
            .filter(|tile| (start.y..=end.y).contains(&tile.y))
            .collect();
        let chip = Arc::clone(&self.chip);
        let now = self.now;
        for tile in tiles {
            if let Some(core) = self.core_at(tile) {
                core.host_write(&chip, address, bytes, now)?;
            }
        }
        Ok(())
    }

    fn core_at(&mut self, tile: TileCoord) -> Option<&mut BoardCore> {
        let index = self.cores.binary_search_by_key(&tile, BoardCore::coord).ok()?;
        self.cores.get_mut(index)
    }

    /// Returns the memory of a group of DRAM tiles; an error if the range exceeds that memory.
    fn dram_of(
        &mut self,
        group: usize,
        address: u64,
        length: usize,
    ) -> Result<&mut SparseMemory<u8>, String> {
        let facts = self.chip.arch.facts();
        let banks = u64::from(facts.bank_count) / facts.dram_groups.len() as u64;
        let end = address.checked_add(length as u64);
        if end.is_none_or(|end| end > banks * facts.bank_bytes) {
            return Err(format!("DRAM {group} has no {length} bytes at {address:#x}"));
        }
        self.dram.get_mut(group).ok_or_else(|| format!("there is no DRAM {group}"))
    }

    /// Translates an address in the PCIe tile to the host's physical address.
    fn host_access(&self, address: u64, length: usize) -> Result<u64, String> {
        pci::host_address(self.chip.arch, &self.outbound, address, length as u64)
    }
}

/// Copies the first bytes of a register's value into the buffer of a read of up to four bytes.
fn put_register(bytes: &mut [u8], value: u32) -> Result<(), String> {
    let value = value.to_le_bytes();
    let source = value.get(..bytes.len()).ok_or("a register is read by words")?;
    bytes.copy_from_slice(source);
    Ok(())
}
