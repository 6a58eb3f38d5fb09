//! Launches of TT-Metal's own kernels that synchronise clocks. No user has written or launched them.

use crate::{evidence::Evidence, op::CoreRun};
use analysis::Launch;
use reader::names::ZoneTable;
use recording::problem::counted;
use std::collections::BTreeMap;
use wire::RunHostId;

/// Names of zones in these kernels.
///
/// # Compatibility
/// `sync_kernel.cpp` and `sync_device_kernel_*.cpp` of TT-Metal's profiler.
const ZONES: [&str; 4] = ["SYNC-MAIN", "SYNC-LOOP", "SYNC-ZONE-SENDER", "SYNC-ZONE-RECEIVER"];

/// Number of the launches of each chip that were taken out.
#[derive(Debug, Default)]
pub(crate) struct ClockSyncs(BTreeMap<u32, u64>);

impl ClockSyncs {
    /// Takes out the launches without a program that have a zone of such a kernel: the profiler launches
    /// them, often long before the program.
    pub(crate) fn take_from(
        launches: &mut Vec<Launch>,
        evidence: &Evidence,
        names: &ZoneTable,
    ) -> Self {
        let mut taken = BTreeMap::new();
        if !names.named_indices().any(|(_, name)| ZONES.contains(&name)) {
            return Self(taken);
        }
        launches.retain(|launch| {
            let runs = CoreRun::from_launch(launch, evidence);
            let mut zones = runs.iter().flat_map(|run| run.evidence.zones());
            let is_taken = RunHostId(launch.op.run_host_id).base() == 0
                && zones.any(|of| ZONES.contains(&names.name(of.zone)));
            if is_taken {
                let count: &mut u64 = taken.entry(launch.op.chip_id).or_default();
                *count = count.saturating_add(1);
            }
            !is_taken
        });
        Self(taken)
    }

    /// Returns true if a launch of the chip was taken out.
    pub(crate) fn has(&self, chip_id: u32) -> bool {
        self.0.contains_key(&chip_id)
    }

    /// Returns a sentence about the launches of each chip.
    pub(crate) fn sentences(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(chip_id, count)| {
            let launches = counted(*count, "launch", "launches");
            let are = if *count == 1 { "is" } else { "are" };
            format!(
                "chip {chip_id}: {launches} of the profiler's own kernel that synchronises clocks {are} in no \
                 time here (kprof report shows them)"
            )
        })
    }
}
