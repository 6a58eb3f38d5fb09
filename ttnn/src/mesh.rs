//! Chips whose control vectors and lanes are available as copies. Kernels make the copies, and ttnn
//! reads them.

use reader::mesh::{
    AccessError, AccessResult, CoreDescription, Device, DeviceDescription, DramDescription,
    LogicalCoord, Memory, Mesh, Noc0Coord, WordRange,
};
use std::collections::BTreeSet;
use wire::{CoreKind, generation, risc::RISCS_PER_CORE, vector};

/// Number of words in a control vector.
pub(crate) const CONTROL_WORDS: usize = generation::CURRENT.control.word_count;

pub(crate) const CONTROL_BYTES: u64 = 4 * CONTROL_WORDS as u64;

/// A Tensix core, as reported by the set-up kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerCore {
    /// Coordinate on the NoC-0 grid, from the core's own `NOC_NODE_ID`.
    pub noc0: Noc0Coord,
    /// Coordinate among the worker cores, in ttnn's numbering.
    pub logical: LogicalCoord,
}

/// Error in a chip's description or in the copies of its memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChipError {
    /// Two cores have reported the same coordinate.
    #[error("chip {chip_id}: two cores report the same NoC-0 coordinates {core}")]
    SamePlace {
        /// The chip.
        chip_id: u32,
        /// The coordinate.
        core: Noc0Coord,
    },
    /// A copy does not have the size given in the chip's description.
    #[error("chip {chip_id}: expected a copy of {expected} words of {memory}, found {found}")]
    CopySize {
        /// The chip.
        chip_id: u32,
        /// Name of the copied memory.
        memory: &'static str,
        /// Number of words according to the description.
        expected: usize,
        /// Number of words in the copy.
        found: usize,
    },
}

/// A chip whose control vectors and lanes were copied to the host.
///
/// Reads return the copied data. Writes change the copy of a control vector.
/// [`acknowledgement`](Self::acknowledgement) returns the changed control vectors; a launch must
/// then write these vectors to the chip.
///
/// ```
/// use reader::mesh::{Device, DeviceDescription, DramDescription, LogicalCoord, Noc0Coord};
/// use ttnn::{CopiedChip, WorkerCore};
///
/// let description = DeviceDescription {
///     chip_id: 0,
///     arch: "wormhole_b0".to_owned(),
///     aiclk_mhz: 1000,
///     max_compute_cores: 2,
///     cores: Vec::new(),
///     dram: DramDescription { bank_count: 2, region_address: 64, region_bytes: 480 },
/// };
/// let core = |x, y| WorkerCore {
///     noc0: Noc0Coord { x, y },
///     logical: LogicalCoord { x: x - 1, y: y - 1 },
/// };
/// let mut chip = CopiedChip::new(description, &[core(2, 1), core(1, 1)])?;
/// // Cores are numbered by column, then row.
/// assert_eq!(chip.flat_ids(), [1, 0]);
/// chip.load_controls(&[7; 128])?;
/// chip.write_l1(Noc0Coord { x: 2, y: 1 }, 4 * 8, &[9])?;
/// let words = chip.acknowledgement();
/// assert_eq!((words[0], words[7], words[8]), (1, 7, 9));
/// assert_eq!(words[64..], [0; 64]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CopiedChip {
    description: DeviceDescription,
    /// NoC-0 coordinates of the cores, in ttnn's order.
    places: Vec<Noc0Coord>,
    /// One control vector for each core, in the order of `places`.
    controls: Vec<u32>,
    /// Copies of the lanes' regions. Each DRAM bank has one region; the copies are concatenated in
    /// the order of the banks.
    lanes: Vec<u32>,
    /// The marker vectors of each core, in the order of `places`; empty unless the program's launches
    /// can no longer be waited for.
    vectors: Vec<u32>,
    /// Indices of the cores with changed control vectors.
    written: BTreeSet<usize>,
}

impl CopiedChip {
    /// Creates a chip without copies. `cores` are in ttnn's order; they are added to the
    /// description.
    ///
    /// # Errors
    /// If two cores have the same coordinate.
    pub fn new(description: DeviceDescription, cores: &[WorkerCore]) -> Result<Self, ChipError> {
        let mut chip = Self {
            description,
            places: Vec::new(),
            controls: Vec::new(),
            lanes: Vec::new(),
            vectors: Vec::new(),
            written: BTreeSet::new(),
        };
        chip.add_cores(cores)?;
        Ok(chip)
    }

    /// Adds the Tensix cores outside of ttnn's compute grid. Some of them are dispatch cores.
    ///
    /// The added cores follow the worker cores in the numbering and in the list of control vectors.
    ///
    /// # Errors
    /// If two cores have the same coordinate.
    pub fn with_dispatch_cores(mut self, cores: &[WorkerCore]) -> Result<Self, ChipError> {
        self.add_cores(cores)?;
        Ok(self)
    }

    /// Adds cores and numbers them by column, then row, after the existing cores.
    fn add_cores(&mut self, cores: &[WorkerCore]) -> Result<(), ChipError> {
        let mut ordered = cores.to_vec();
        ordered.sort_by_key(|core| core.noc0);
        for core in &ordered {
            let noc0 = core.noc0;
            if self.description.cores.iter().any(|known| known.noc0 == noc0) {
                let chip_id = self.description.chip_id;
                return Err(ChipError::SamePlace { chip_id, core: noc0 });
            }
            self.description.cores.push(CoreDescription {
                noc0,
                logical: core.logical,
                kind: CoreKind::Tensix,
                flat_id: u32::try_from(self.description.cores.len()).unwrap_or(u32::MAX),
                control_address: 0,
                vector_address: VECTORS,
            });
        }
        self.places.extend(cores.iter().map(|core| core.noc0));
        Ok(())
    }

    /// Returns the flat ids of the cores, in ttnn's order.
    #[must_use]
    pub fn flat_ids(&self) -> Vec<u32> {
        let cores = &self.description.cores;
        self.places
            .iter()
            .filter_map(|&place| {
                cores.iter().find(|core| core.noc0 == place).map(|core| core.flat_id)
            })
            .collect()
    }

    /// Stores copies of all control vectors, in ttnn's order of the cores.
    ///
    /// # Errors
    /// If the number of words is wrong.
    pub fn load_controls(&mut self, words: &[u32]) -> Result<(), ChipError> {
        let expected = self.places.len().saturating_mul(CONTROL_WORDS);
        self.check_size("control vectors", expected, words.len())?;
        self.controls = words.to_vec();
        self.written.clear();
        Ok(())
    }

    /// Stores copies of the regions with lanes in all DRAM banks, concatenated in the order of the
    /// banks.
    ///
    /// # Errors
    /// If the number of words is wrong.
    pub fn load_lanes(&mut self, words: Vec<u32>) -> Result<(), ChipError> {
        let banks = usize::try_from(self.description.dram.bank_count).unwrap_or(usize::MAX);
        self.check_size("lanes", self.bank_words().saturating_mul(banks), words.len())?;
        self.lanes = words;
        Ok(())
    }

    /// Stores copies of the marker vectors in L1, in ttnn's order of the cores.
    ///
    /// # Errors
    /// If the number of words is wrong.
    pub fn load_vectors(&mut self, words: Vec<u32>) -> Result<(), ChipError> {
        let expected = self.places.len().saturating_mul(CORE_VECTOR_WORDS);
        self.check_size("marker vectors", expected, words.len())?;
        self.vectors = words;
        Ok(())
    }

    /// Returns the coordinates of the cores, in ttnn's order.
    pub(crate) fn places(&self) -> &[Noc0Coord] {
        &self.places
    }

    fn check_size(
        &self,
        memory: &'static str,
        expected: usize,
        found: usize,
    ) -> Result<(), ChipError> {
        let chip_id = self.description.chip_id;
        if expected == found {
            return Ok(());
        }
        Err(ChipError::CopySize { chip_id, memory, expected, found })
    }

    fn bank_words(&self) -> usize {
        usize::try_from(self.description.dram.region_bytes / 4).unwrap_or(usize::MAX)
    }

    /// Returns the control vectors that must be written to the chip after each read.
    ///
    /// The vector of a changed core is complete, except that its first word is 1 to mark the vector
    /// as changed. All words of other vectors are 0.
    pub fn acknowledgement(&mut self) -> Vec<u32> {
        let written = std::mem::take(&mut self.written);
        let mut words = self.controls.clone();
        words.resize(self.places.len().saturating_mul(CONTROL_WORDS), 0);
        for (index, vector) in words.chunks_exact_mut(CONTROL_WORDS).enumerate() {
            match vector {
                [first, ..] if written.contains(&index) => *first = 1,
                unchanged => unchanged.fill(0),
            }
        }
        words
    }

    fn read_vector(&self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult {
        let chip_id = self.description.chip_id;
        let index = self.places.iter().position(|&place| place == core);
        let index = index.ok_or(AccessError::NoSuchCore { chip_id, core })?;
        let memory = Memory::L1(core);
        let range = WordRange { chip_id, memory, address, word_count: words.len() };
        let end = VECTORS.saturating_add(CORE_VECTOR_BYTES);
        let first = range.first_word_below(end)?.saturating_sub(VECTORS / 4);
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        let first = index.saturating_mul(CORE_VECTOR_WORDS).saturating_add(first);
        if let Some(copied) = self.vectors.get(first..first.saturating_add(words.len())) {
            words.copy_from_slice(copied);
        }
        Ok(())
    }

    /// Returns the index of a core, and a range of indices in `controls`. The range is that of the
    /// `word_count` words at `address` in the core's control vector.
    fn control_words(
        &self,
        core: Noc0Coord,
        address: u64,
        word_count: usize,
    ) -> Result<(usize, std::ops::Range<usize>), AccessError> {
        let chip_id = self.description.chip_id;
        let index = self.places.iter().position(|&place| place == core);
        let index = index.ok_or(AccessError::NoSuchCore { chip_id, core })?;
        if self.controls.is_empty() {
            let reason = "its control vectors have not been copied yet".to_owned();
            return Err(AccessError::Unreachable { chip_id, reason });
        }
        let range = WordRange { chip_id, memory: Memory::L1(core), address, word_count };
        let first = range.first_word_below(CONTROL_BYTES)?;
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        let first = index.saturating_mul(CONTROL_WORDS).saturating_add(first);
        Ok((index, first..first.saturating_add(word_count)))
    }
}

impl Device for CopiedChip {
    fn description(&self) -> &DeviceDescription {
        &self.description
    }

    fn read_l1(&mut self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult {
        if address >= VECTORS && !self.vectors.is_empty() {
            return self.read_vector(core, address, words);
        }
        let (_, range) = self.control_words(core, address, words.len())?;
        if let Some(copied) = self.controls.get(range) {
            words.copy_from_slice(copied);
        }
        Ok(())
    }

    fn write_l1(&mut self, core: Noc0Coord, address: u64, words: &[u32]) -> AccessResult {
        let (index, range) = self.control_words(core, address, words.len())?;
        if let Some(copied) = self.controls.get_mut(range) {
            copied.copy_from_slice(words);
            self.written.insert(index);
        }
        Ok(())
    }

    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> AccessResult {
        let DramDescription { bank_count, region_address, region_bytes } = self.description.dram;
        let chip_id = self.description.chip_id;
        let memory = Memory::Dram(bank);
        let range = WordRange { chip_id, memory, address, word_count: words.len() };
        let end = if bank < bank_count { region_address.saturating_add(region_bytes) } else { 0 };
        let last = range.first_word_below(end)?;
        let first =
            last.checked_sub(region_address / 4).and_then(|word| usize::try_from(word).ok());
        let bank_first = usize::try_from(bank).unwrap_or(usize::MAX);
        let bank_first = bank_first.saturating_mul(self.bank_words());
        let copied = first.and_then(|first| {
            let first = bank_first.checked_add(first)?;
            self.lanes.get(first..first.checked_add(words.len())?)
        });
        let copied = copied.ok_or_else(|| AccessError::Unreachable {
            chip_id,
            reason: "its lanes have not been copied yet".to_owned(),
        })?;
        words.copy_from_slice(copied);
        Ok(())
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        let reason = format!("the clock of core {core} is read by launches");
        Err(AccessError::Gone { chip_id: self.description.chip_id, reason })
    }

    fn host_time_ns(&mut self) -> u64 {
        host_events::monotonic_ns()
    }
}

/// The copied chips of a session.
#[derive(Clone, Debug, Default)]
pub struct CopiedMesh {
    /// The chips, in the order in which they were opened.
    pub chips: Vec<CopiedChip>,
}

impl Mesh for CopiedMesh {
    fn device_count(&self) -> usize {
        self.chips.len()
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        self.chips.get_mut(index).map(|chip| chip as &mut dyn Device)
    }
}

/// Number of words of the marker vectors of a core.
pub(crate) const CORE_VECTOR_WORDS: usize = RISCS_PER_CORE * vector::VECTOR_WORDS;
const CORE_VECTOR_BYTES: u64 = 4 * CORE_VECTOR_WORDS as u64;
/// Stand-in for the L1 address of the marker vectors. Kernels do not copy them.
const VECTORS: u64 = 1 << 20;
const _: () = assert!(VECTORS > (RISCS_PER_CORE * vector::VECTOR_BYTES) as u64);

/// Returns the description of a chip with two workers and two banks.
#[cfg(test)]
pub(crate) fn description(chip_id: u32, region_bytes: u64) -> DeviceDescription {
    DeviceDescription {
        chip_id,
        arch: "wormhole_b0".to_owned(),
        aiclk_mhz: 1000,
        max_compute_cores: 2,
        cores: Vec::new(),
        dram: DramDescription { bank_count: 2, region_address: 64, region_bytes },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(x: u16, y: u16) -> WorkerCore {
        let logical = LogicalCoord { x: x - 1, y: y - 1 };
        WorkerCore { noc0: Noc0Coord { x, y }, logical }
    }

    /// Returns a chip with two workers, two dispatch cores and two DRAM banks. Each bank has the
    /// lanes of two cores.
    fn chip() -> CopiedChip {
        let chip = CopiedChip::new(description(3, 4800), &[core(2, 1), core(1, 1)]);
        chip.unwrap().with_dispatch_cores(&[core(2, 9), core(1, 9)]).unwrap()
    }

    #[test]
    fn cores_that_dispatch_are_numbered_behind_the_workers() {
        let chip = chip();
        assert_eq!(chip.flat_ids(), [1, 0, 3, 2]);
        assert_eq!(chip.description().max_compute_cores, 2);
        let places: Vec<_> = chip.description().cores.iter().map(|core| core.noc0).collect();
        assert_eq!(places, [(1, 1), (2, 1), (1, 9), (2, 9)].map(|(x, y)| Noc0Coord { x, y }));
        let same = ChipError::SamePlace { chip_id: 3, core: Noc0Coord { x: 1, y: 1 } };
        assert_eq!(chip.with_dispatch_cores(&[core(1, 1)]).unwrap_err(), same);
    }
}
