//! The memory of launches, on the worker cores of a chip that a host drives.

use crate::{
    launch_memory::{L1Range, LaunchMemory},
    tile::Tile,
    tt_metal::firmware::FirmwareSet,
};
use std::{collections::BTreeMap, ops::Range, sync::Arc};

/// The launches of one core, by program and ranges.
#[derive(Debug)]
pub(super) struct CoreMemory {
    set: Arc<FirmwareSet>,
    launches: BTreeMap<(u32, Vec<L1Range>), u64>,
}

impl CoreMemory {
    pub(super) const fn new(set: Arc<FirmwareSet>) -> Self {
        Self { set, launches: BTreeMap::new() }
    }

    /// Follows a write of another tile or of the host; it may begin a launch.
    pub(super) fn written(&mut self, tile: &Tile, range: &Range<u64>) {
        if !self.set.is_go(tile, range) {
            return;
        }
        let message = self.set.message(tile);
        if message.kernels.iter().all(Option::is_none) {
            return;
        }
        let key = (message.run_host_id, self.set.launch_ranges(tile));
        *self.launches.entry(key).or_default() += 1;
    }

    /// Removes and returns all launches.
    pub(super) fn take(&mut self, tile: &Tile) -> Vec<LaunchMemory> {
        let launches = std::mem::take(&mut self.launches).into_iter();
        let core = tile.place.coord;
        launches
            .map(|((program_id, ranges), launches)| LaunchMemory {
                core,
                program_id,
                launches,
                ranges,
            })
            .collect()
    }
}
