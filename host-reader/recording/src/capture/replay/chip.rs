//! Replayed chips, which return the same data as when the capture was made.

use super::{
    reads::{Access, ReadRecord},
    recording::{Recording, not_held},
};
use reader::mesh::{
    AccessError, AccessResult, Device, DeviceDescription, Memory, Mesh, Noc0Coord, WordRange,
};
use std::collections::{BTreeMap, BTreeSet};
use wire::Cycles;

/// A replayed mesh, with the data of one read.
pub(super) struct ReplayedMesh<'file> {
    devices: Vec<ReplayedDevice<'file>>,
}

/// A replayed chip, with the data of one read.
struct ReplayedDevice<'file> {
    description: DeviceDescription,
    recordings: BTreeMap<(Memory, bool), Recording<'file>>,
    /// Cores whose words a later read contains again.
    repeated: BTreeSet<Noc0Coord>,
    /// True if the capture contains the end of the read.
    is_complete: bool,
    host_time_ns: u64,
}

impl<'file> ReplayedMesh<'file> {
    /// Creates the mesh of a read. A chip without a description is omitted.
    pub(super) fn from_read(read: ReadRecord<'file>) -> Self {
        let is_complete = read.is_complete();
        let ReadRecord { begin, mut chips, recordings, repeated, host_time_ns, .. } = read;
        let mut devices: Vec<_> = begin
            .chips
            .iter()
            .filter_map(|chip_id| chips.remove(chip_id))
            .map(|description| ReplayedDevice {
                repeated: repeated
                    .iter()
                    .filter(|(chip_id, _)| *chip_id == description.chip_id)
                    .map(|&(_, core)| core)
                    .collect(),
                description,
                recordings: BTreeMap::new(),
                is_complete,
                host_time_ns,
            })
            .collect();
        for (Access { chip_id, memory, is_write }, recording) in recordings {
            if let Some(device) = devices.iter_mut().find(|d| d.description.chip_id == chip_id) {
                device.recordings.insert((memory, is_write), recording);
            }
        }
        Self { devices }
    }
}

impl Mesh for ReplayedMesh<'_> {
    fn device_count(&self) -> usize {
        self.devices.len()
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        // This is a `match` because the lifetime of a reference to a trait object cannot be
        // shortened inside an `Option`.
        match self.devices.get_mut(index) {
            Some(device) => Some(device),
            None => None,
        }
    }
}

impl ReplayedDevice<'_> {
    fn read(&mut self, memory: Memory, address: u64, words: &mut [u32]) -> AccessResult {
        let (chip_id, word_count) = (self.description.chip_id, words.len());
        let is_complete = self.is_complete;
        let not_held =
            || not_held(&WordRange { chip_id, memory, address, word_count }, is_complete);
        match self.recordings.get_mut(&(memory, false)) {
            Some(recording) => recording.read(address, words, not_held),
            None if words.is_empty() => Ok(()),
            None => Err(not_held()),
        }
    }

    fn check_repeated(&self, core: Noc0Coord) -> AccessResult {
        if !self.repeated.contains(&core) {
            return Ok(());
        }
        Err(AccessError::Unreachable {
            chip_id: self.description.chip_id,
            reason: "this read was cut off, and the next one has read the core again".into(),
        })
    }
}

impl Device for ReplayedDevice<'_> {
    fn description(&self) -> &DeviceDescription {
        &self.description
    }

    fn read_l1(&mut self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult {
        self.check_repeated(core)?;
        self.read(Memory::L1(core), address, words)
    }

    /// Accepts a write, unless the capture contains a failure of this write.
    ///
    /// Words captured later already contain the effect of the write.
    fn write_l1(&mut self, core: Noc0Coord, address: u64, words: &[u32]) -> AccessResult {
        let refusals = self.recordings.get_mut(&(Memory::L1(core), true));
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
        self.host_time_ns
    }
}
