//! Replayed chips. They return the data that the real chips returned when the capture was made.

use super::{
    captured_memory::not_held,
    reads::{AccessKey, ReadRecord},
};
use reader::mesh::{
    AccessError, AccessResult, Device, DeviceDescription, Memory, Mesh, Noc0Coord, WordRange,
};
use wire::Cycles;

/// A replayed mesh, with the data of one read. As a [`Device`], it represents the chip of the mesh
/// that is currently accessed.
pub(super) struct ReplayedMesh<'file> {
    read: ReadRecord<'file>,
    /// Chips of the read, in the order of the mesh. Chips without a description are omitted.
    chips: Vec<DeviceDescription>,
    /// Index of the accessed chip.
    index: usize,
}

impl<'file> ReplayedMesh<'file> {
    /// Creates the mesh of a read.
    pub(super) fn from_read(mut read: ReadRecord<'file>) -> Self {
        let chips = read.begin.chips.iter().filter_map(|chip_id| read.chips.remove(chip_id));
        Self { chips: chips.collect(), read, index: 0 }
    }

    fn read(&mut self, memory: Memory, address: u64, words: &mut [u32]) -> AccessResult {
        let (chip_id, word_count) = (self.description().chip_id, words.len());
        let is_complete = self.read.is_complete();
        let not_held =
            || not_held(&WordRange { chip_id, memory, address, word_count }, is_complete);
        match self.read.memories.get_mut(&AccessKey { chip_id, memory, is_write: false }) {
            Some(captured) => captured.read(address, words, not_held),
            None if words.is_empty() => Ok(()),
            None => Err(not_held()),
        }
    }

    fn check_repeated(&self, core: Noc0Coord) -> AccessResult {
        let chip_id = self.description().chip_id;
        if !self.read.repeated.contains(&(chip_id, core)) {
            return Ok(());
        }
        Err(AccessError::Unreachable {
            chip_id,
            reason: "this read was incomplete, and the next one has read the core again".into(),
        })
    }
}

impl Mesh for ReplayedMesh<'_> {
    fn device_count(&self) -> usize {
        self.chips.len()
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        self.chips.get(index)?;
        self.index = index;
        Some(self)
    }
}

impl Device for ReplayedMesh<'_> {
    fn description(&self) -> &DeviceDescription {
        self.chips.get(self.index).expect("a device is given out only where there is one")
    }

    fn read_l1(&mut self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult {
        self.check_repeated(core)?;
        self.read(Memory::L1(core), address, words)
    }

    /// Accepts a write, unless the capture contains a failure of this write.
    ///
    /// Words captured later already contain the effect of the write.
    fn write_l1(&mut self, core: Noc0Coord, address: u64, words: &[u32]) -> AccessResult {
        let (chip_id, memory) = (self.description().chip_id, Memory::L1(core));
        let refusals = self.read.memories.get_mut(&AccessKey { chip_id, memory, is_write: true });
        let refusal = refusals.and_then(|refusals| refusals.refusal(address, words.len()));
        refusal.map_or(Ok(()), Err)
    }

    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> AccessResult {
        self.read(Memory::Dram(bank), address, words)
    }

    fn read_host_memory(&mut self, address: u64, words: &mut [u32]) -> AccessResult {
        self.read(Memory::Host, address, words)
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        let mut words = [0; 2];
        self.read(Memory::WallClock(core), 0, &mut words)?;
        Ok(Cycles::from_words(words[1], words[0]).0)
    }

    fn host_time_ns(&mut self) -> u64 {
        self.read.host_time_ns
    }
}
