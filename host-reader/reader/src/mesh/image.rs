//! Chips whose memory is stored in vectors on the host, for saved dumps, examples and tests.
//!
//! An image only models the chip's memory; it runs no firmware.

use super::{
    AccessError, AccessResult, Device, DeviceDescription, Memory, Mesh, Noc0Coord, WordRange,
};
use std::{collections::BTreeMap, ops::Range};

/// The memory of one chip.
///
/// L1 and DRAM contain zeros until they are written. Only written pages are stored, so an image of
/// a large chip is small.
#[derive(Clone, Debug)]
pub struct DeviceImage {
    description: DeviceDescription,
    l1_bytes: u64,
    /// Written pages, by memory and page number; all other words are 0.
    pages: BTreeMap<(Memory, u64), Vec<u32>>,
    wall_clock: u64,
    host_time_ns: u64,
}

impl DeviceImage {
    /// Creates a chip with zeros in all memories.
    ///
    /// All cores get the same L1 size: the smallest size at which the L1 of each core has room for
    /// its profiler vectors. A DRAM bank ends after the profiler region.
    #[must_use]
    pub fn new(description: DeviceDescription) -> Self {
        const VECTORS: u64 = (wire::vector::VECTOR_BYTES * wire::risc::RISCS_PER_CORE) as u64;
        let l1_bytes = description
            .cores
            .iter()
            .map(|core| core.vector_address.saturating_add(VECTORS))
            .max()
            .unwrap_or(0);
        let pages = BTreeMap::new();
        Self { description, l1_bytes, pages, wall_clock: 0, host_time_ns: 0 }
    }

    /// Writes DRAM, which is not possible through [`Device`].
    ///
    /// # Errors
    /// If there is no such bank or the range exceeds the bank.
    pub fn write_dram(&mut self, bank: u32, address: u64, words: &[u32]) -> AccessResult {
        self.write(Memory::Dram(bank), address, words)
    }

    /// Sets the wall clock of every tile to `cycles`.
    pub const fn set_wall_clock(&mut self, cycles: u64) {
        self.wall_clock = cycles;
    }

    /// Returns the index of a range's first word, or an error if the range is not in the memory.
    fn first_word(
        &self,
        memory: Memory,
        address: u64,
        word_count: usize,
    ) -> Result<u64, AccessError> {
        let range = WordRange { chip_id: self.description.chip_id, memory, address, word_count };
        let dram = self.description.dram;
        let end = match memory {
            Memory::L1(core) | Memory::WallClock(core)
                if !self.description.cores.iter().any(|known| known.noc0 == core) =>
            {
                return Err(range.nowhere());
            }
            Memory::L1(_) | Memory::WallClock(_) => self.l1_bytes,
            Memory::Dram(bank) if bank < dram.bank_count => {
                dram.region_address.saturating_add(dram.region_bytes)
            }
            Memory::Dram(_) | Memory::Host => 0,
        };
        range.first_word_below(end)
    }

    fn read(&self, memory: Memory, address: u64, words: &mut [u32]) -> AccessResult {
        let first = self.first_word(memory, address, words.len())?;
        for_each_page(first, words.len(), |page, in_page, range| {
            let Some(target) = words.get_mut(range) else { return };
            match self.pages.get(&(memory, page)).and_then(|stored| stored.get(in_page)) {
                Some(stored) => target.copy_from_slice(stored),
                None => target.fill(0),
            }
        });
        Ok(())
    }

    fn write(&mut self, memory: Memory, address: u64, words: &[u32]) -> AccessResult {
        let first = self.first_word(memory, address, words.len())?;
        for_each_page(first, words.len(), |page, in_page, range| {
            let stored = self.pages.entry((memory, page)).or_insert_with(|| vec![0; PAGE_WORDS]);
            if let (Some(stored), Some(source)) = (stored.get_mut(in_page), words.get(range)) {
                stored.copy_from_slice(source);
            }
        });
        Ok(())
    }
}

impl Device for DeviceImage {
    fn description(&self) -> &DeviceDescription {
        &self.description
    }

    fn read_l1(&mut self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult {
        self.read(Memory::L1(core), address, words)
    }

    fn write_l1(&mut self, core: Noc0Coord, address: u64, words: &[u32]) -> AccessResult {
        self.write(Memory::L1(core), address, words)
    }

    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> AccessResult {
        self.read(Memory::Dram(bank), address, words)
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        self.first_word(Memory::WallClock(core), 0, 2)?;
        Ok(self.wall_clock)
    }

    fn host_time_ns(&mut self) -> u64 {
        self.host_time_ns = self.host_time_ns.saturating_add(1);
        self.host_time_ns
    }
}

/// A mesh of chips whose memory is stored in vectors on the host.
#[derive(Clone, Debug, Default)]
pub struct MeshImage {
    /// The chips, in the order of the mesh.
    pub devices: Vec<DeviceImage>,
}

impl Mesh for MeshImage {
    fn device_count(&self) -> usize {
        self.devices.len()
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        self.devices.get_mut(index).map(|device| device as &mut dyn Device)
    }
}

const PAGE_WORDS: usize = 1024;

/// Calls `visit` for each page that the range touches. The arguments are the number of the page,
/// the part of the range in this page, and the corresponding part of the caller's words.
#[expect(clippy::arithmetic_side_effects, reason = "the range lies below the end of the memory")]
fn for_each_page(first: u64, count: usize, mut visit: impl FnMut(u64, Range<usize>, Range<usize>)) {
    let mut done = 0;
    while done < count {
        let word = first + done as u64;
        let in_page = usize::try_from(word % PAGE_WORDS as u64).unwrap_or(0);
        let length = (count - done).min(PAGE_WORDS - in_page);
        visit(word / PAGE_WORDS as u64, in_page..in_page + length, done..done + length);
        done += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{CoreDescription, DramDescription, LogicalCoord};
    use wire::CoreKind;

    const CORE: Noc0Coord = Noc0Coord { x: 1, y: 2 };

    fn image() -> DeviceImage {
        let core = CoreDescription {
            noc0: CORE,
            logical: LogicalCoord { x: 0, y: 0 },
            kind: CoreKind::Tensix,
            flat_id: 0,
            control_address: 0x100,
            vector_address: 0x200,
        };
        DeviceImage::new(DeviceDescription {
            chip_id: 0,
            arch: "wormhole_b0".into(),
            aiclk_mhz: 1000,
            max_compute_cores: 1,
            cores: vec![core],
            dram: DramDescription { bank_count: 2, region_address: 64, region_bytes: 1 << 16 },
        })
    }

    #[test]
    fn words_are_read_back_across_pages_and_zero_elsewhere() {
        let mut image = image();
        image.write_dram(1, 4090, &[1]).unwrap_err();
        image.write_dram(1, 4088, &[1, 2, 3, 4]).unwrap();
        let mut words = [9; 6];
        image.read_dram(1, 4084, &mut words).unwrap();
        assert_eq!(words, [0, 1, 2, 3, 4, 0]);
        image.read_dram(0, 4084, &mut words).unwrap();
        assert_eq!(words, [0; 6]);
    }

    #[test]
    fn accesses_outside_of_a_memory_are_refused() {
        let mut image = image();
        let mut words = [0; 2];
        assert!(image.read_l1(CORE, 0x100, &mut words).is_ok());
        assert!(image.read_l1(CORE, 0x200 + 5 * 2048 - 4, &mut words).is_err());
        assert!(image.read_l1(Noc0Coord { x: 0, y: 0 }, 0, &mut words).is_err());
        assert!(image.read_dram(2, 64, &mut words).is_err());
        assert!(image.read_dram(0, u64::MAX - 3, &mut words).is_err());
    }
}
