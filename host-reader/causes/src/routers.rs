//! Kernels on Ethernet cores that run beside ops: they pass on data between chips, and end with the
//! program or never.

use crate::{
    evidence::Evidence,
    steady_launches::Explained,
    timeline::{merged, whole_window},
};
use analysis::{Doubt, Launch};
use recording::problem::counted;
use std::collections::BTreeMap;
use wire::Risc;

/// Number of the launches of each chip that were taken out.
#[derive(Debug, Default)]
pub(crate) struct Routers(BTreeMap<u32, u64>);

impl Routers {
    /// Takes out the launches on Ethernet cores alone that did not end, or that ran while launches on
    /// other cores did.
    ///
    /// Such a launch holds no op up and is no part of one. As an op, it would fill all gaps, or would
    /// leave the time since its start unknown.
    pub(crate) fn take_from(launches: &mut Vec<Launch>) -> Self {
        let is_router = |launch: &Launch| {
            launch.runs.iter().all(|run| run.lane.risc == Risc::Erisc) && !launch.runs.is_empty()
        };
        let mut ops: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
        for launch in launches.iter().filter(|launch| !is_router(launch)) {
            let span = (launch.first_cycle, launch.last_cycle);
            ops.entry(launch.op.chip_id).or_default().push(span);
        }
        let ops: BTreeMap<u32, _> =
            ops.into_iter().map(|(chip_id, spans)| (chip_id, merged(spans))).collect();
        let mut routers = BTreeMap::new();
        launches.retain(|launch| {
            let Some(ops) = ops.get(&launch.op.chip_id).filter(|_| is_router(launch)) else {
                return true;
            };
            let is_endless = launch.op.duration_doubt == Some(Doubt::Unfinished);
            let after = ops.partition_point(|(first, _)| *first < launch.last_cycle);
            let last_before = after.checked_sub(1).and_then(|at| ops.get(at));
            let is_beside = last_before.is_some_and(|(_, last)| *last > launch.first_cycle);
            let is_taken = is_endless || is_beside;
            if is_taken {
                let count: &mut u64 = routers.entry(launch.op.chip_id).or_default();
                *count = count.saturating_add(1);
            }
            !is_taken
        });
        Self(routers)
    }

    /// Returns the first and last cycle of a chip: of all its records, unless they include those of
    /// launches that were taken out.
    pub(crate) fn window(
        &self,
        evidence: &Evidence,
        chip_id: u32,
        launches: &[Explained<'_>],
    ) -> Option<(u64, u64)> {
        match self.0.contains_key(&chip_id) {
            true => whole_window(launches),
            false => evidence.bounds_of(chip_id),
        }
    }

    /// Returns a sentence about the launches of each chip.
    pub(crate) fn sentences(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(chip_id, count)| {
            let launches = counted(*count, "launch", "launches");
            let are = if *count == 1 { "is" } else { "are" };
            format!(
                "chip {chip_id}: {launches} on Ethernet cores alone ran beside the others, as kernels do \
                 that pass on data between chips, and {are} in no time here (kprof report shows them)"
            )
        })
    }
}
