//! For each run of a lane, the index of the run's launch, packed into about two bytes. With these
//! indices, launches need no list of their runs.

use super::{
    op::{Launch, LaunchRun},
    packed_launches::PackedLaunches,
};
use reader::{
    lane::LaneId,
    packed_bytes::{PackedBytes, PackedError, PackedMemory},
    packed_numbers::{fold_sign, push, take, unfold_sign},
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// Launches of all chips, and for each run the index of its launch.
#[derive(Debug)]
pub struct NumberedLaunches {
    /// Launches, sorted by chip and time.
    pub launches: PackedLaunches,
    /// For each run of each lane, the index of its launch.
    pub numbers: RunNumbers,
}

/// Index of the launch to which each run of each lane belongs. Launches are counted per chip.
///
/// # Cost
/// About 2 bytes of memory for each run. Bytes beyond the memory limit go to a temporary file.
#[derive(Debug)]
pub struct RunNumbers {
    lanes: HashMap<LaneId, LaneNumbers>,
    /// For each chip, a list of its launches in the order in which their runs were joined. Each
    /// element is the index of the launch among the chip's launches sorted by time.
    indices: BTreeMap<u32, Vec<u32>>,
    memory: Arc<PackedMemory>,
}

/// Packed (run, launch number) pairs of one lane.
#[derive(Debug, Default)]
struct LaneNumbers {
    kept: Vec<PackedBytes>,
    bytes: Vec<u8>,
    before: (u64, u64),
}

/// Number of bytes of a lane that are moved to the packed memory at once.
const KEPT_BYTES: usize = 1 << 13;

impl RunNumbers {
    pub(super) fn new(memory: &Arc<PackedMemory>) -> Self {
        let (lanes, indices) = (HashMap::new(), BTreeMap::new());
        Self { lanes, indices, memory: Arc::clone(memory) }
    }

    /// Removes the runs from `launches`, and stores the number of the launch for each run. The
    /// first of `launches` has the number `launch_count`.
    pub(super) fn take(&mut self, launch_count: usize, launches: &mut [Launch]) {
        for (number, launch) in (launch_count as u64..).zip(launches) {
            for LaunchRun { lane, run } in std::mem::take(&mut launch.runs) {
                let lane_numbers = self.lanes.entry(lane).or_default();
                lane_numbers.push(run as u64, number, &self.memory);
            }
        }
    }

    /// Sets the final indices of a chip's launches, which are the launches' ranks by first cycle.
    pub(super) fn set_order(&mut self, chip_id: u32, first_cycles: impl Iterator<Item = u64>) {
        let mut order: Vec<(u64, u32)> = first_cycles.zip(0..).collect();
        order.sort_unstable();
        let mut indices = vec![0; order.len()];
        for (index, (_, number)) in (0_u32..).zip(order) {
            if let Some(sorted_index) = indices.get_mut(number as usize) {
                *sorted_index = index;
            }
        }
        self.indices.insert(chip_id, indices);
    }

    /// Calls `visit` for those runs of a lane that belong to a launch. The arguments are the index
    /// of the run, and the index of the launch among the launches of the chip.
    ///
    /// # Errors
    /// Returns an error if the temporary file cannot be read.
    pub fn for_each_run(
        &self,
        lane: LaneId,
        mut visit: impl FnMut(usize, u32),
    ) -> Result<(), PackedError> {
        let indices = self.indices.get(&lane.chip_id);
        let (Some(lane_numbers), Some(indices)) = (self.lanes.get(&lane), indices) else {
            return Ok(());
        };
        let mut before = (0, 0);
        let mut visit_part = |bytes: &[u8]| {
            let mut bytes = bytes.iter();
            while bytes.len() > 0 {
                before = next_pair(&mut bytes, before);
                let number = usize::try_from(before.1).ok();
                let run = usize::try_from(before.0).ok();
                if let Some((run, index)) = run.zip(number.and_then(|of| indices.get(of))) {
                    visit(run, *index);
                }
            }
        };
        for part in &lane_numbers.kept {
            visit_part(&part.read()?);
        }
        visit_part(&lane_numbers.bytes);
        Ok(())
    }
}

impl LaneNumbers {
    fn push(&mut self, run: u64, launch: u64, memory: &Arc<PackedMemory>) {
        push(&mut self.bytes, fold_sign(run.wrapping_sub(self.before.0).cast_signed()));
        push(&mut self.bytes, fold_sign(launch.wrapping_sub(self.before.1).cast_signed()));
        self.before = (run, launch);
        if self.bytes.len() >= KEPT_BYTES {
            self.kept.push(memory.keep(std::mem::take(&mut self.bytes)));
        }
    }
}

fn next_pair(bytes: &mut std::slice::Iter<'_, u8>, (run, launch): (u64, u64)) -> (u64, u64) {
    let [run, launch] =
        [run, launch].map(|before| before.wrapping_add_signed(unfold_sign(take(bytes))));
    (run, launch)
}
