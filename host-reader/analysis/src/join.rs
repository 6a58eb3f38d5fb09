//! Joins runs of lanes into launches.
//!
//! Runs are joined by program, replay and ordinal: the n-th launch of a program on one core is also
//! its n-th launch on every other core. A lane or core may have fewer runs than the others, because
//! a RISC has no kernel in some launches or because records were lost. Each run of such a lane or
//! core is assigned to the launch that is nearest in time.
//!
//! A run without a zone is no launch, if its core has runs with zones: it is data that belongs to a
//! launch. Data inside the time of a launch belongs to it. Other data was recorded while the
//! workload was repeated, as TT-Metal does to read more counters than fit into one run: each
//! repetition has one run of data for each launch, in the order of the launches.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indices and counts are those of lists in memory"
)]

use super::{
    figures::{Extents, LaneRun},
    op::LaunchRun,
};
use reader::mesh::Noc0Coord;

/// Runs of one core in one launch, joined over the lanes of the core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CoreLaunch {
    pub(super) core: Noc0Coord,
    pub(super) bounds: (u64, u64),
    pub(super) extents: Extents,
    /// Index of the launch among the launches of its program, from 0.
    pub(super) ordinal: usize,
    /// True if `ordinal` was determined by comparing times with other cores, not by counting
    /// launches.
    pub(super) is_matched_by_time: bool,
    /// Lane and index of each joined run.
    pub(super) runs: Vec<LaunchRun>,
}

/// Joins the runs of one program and replay on one chip. `runs` must be sorted by core, lane and
/// index; the result is sorted by ordinal, then core.
pub(super) fn join_runs(runs: &[LaneRun]) -> Vec<CoreLaunch> {
    let has_zones = runs.iter().any(|run| run.has_zones);
    if !has_zones || runs.iter().all(|run| run.has_zones) {
        return join_all(runs);
    }
    let cores = runs.chunk_by(|one, other| one.lane.core == other.lane.core);
    let (zoned, data): (Vec<_>, Vec<_>) = cores
        .flat_map(|core| {
            let is_launched = core.iter().any(|run| run.has_zones);
            core.iter().map(move |run| (run, run.has_zones || !is_launched))
        })
        .partition(|&(_, is_launch)| is_launch);
    let zoned: Vec<LaneRun> = zoned.into_iter().map(|(run, _)| *run).collect();
    let mut launches = join_all(&zoned);
    let data: Vec<LaneRun> = data.into_iter().map(|(run, _)| *run).collect();
    for of_lane in data.chunk_by(|one, other| one.lane == other.lane) {
        add_data(&mut launches, of_lane);
    }
    launches
}

/// Adds a lane's runs without zones to the launches of its core. The times of such a run do not
/// change the time of its launch. Runs that belong to no known launch are left out.
fn add_data(launches: &mut [CoreLaunch], data: &[LaneRun]) {
    let Some(core) = data.first().map(|run| run.lane.core) else { return };
    let mut own: Vec<_> = launches.iter_mut().filter(|launch| launch.core == core).collect();
    let (mut repeated, count) = (Vec::new(), own.len());
    for run in data {
        let middle = u64::midpoint(run.bounds.0, run.bounds.1);
        match own.iter().position(|launch| (launch.bounds.0..=launch.bounds.1).contains(&middle)) {
            Some(at) => own[at].runs.push(run.place()),
            None => repeated.push(run),
        }
    }
    if count > 0 && repeated.len().is_multiple_of(count) {
        for (number, run) in repeated.into_iter().enumerate() {
            own[number % count].runs.push(run.place());
        }
    }
}

/// Joins runs of which each is a part of a launch.
fn join_all(runs: &[LaneRun]) -> Vec<CoreLaunch> {
    let runs_by_core = runs.chunk_by(|one, other| one.lane.core == other.lane.core);
    if runs.is_sorted_by(|one, other| one.lane != other.lane) {
        return runs_by_core.filter_map(join_single_runs).collect();
    }
    let mut cores: Vec<Vec<CoreLaunch>> = runs_by_core.map(join_lanes).collect();
    let Some(reference) = cores.iter().max_by_key(|core| core.len()).cloned() else {
        return Vec::new();
    };
    // If a core has as many launches as the reference core, it took part in every launch, so the
    // order of its launches is kept.
    for core in cores.iter_mut().filter(|core| core.len() < reference.len()) {
        fit_by_time(core, &reference);
    }
    let mut launches: Vec<_> = cores.into_iter().flatten().collect();
    launches.sort_by_key(|launch| (launch.ordinal, launch.core));
    launches
}

/// Joins the runs of one core's lanes. The times of different lanes can be compared, because all
/// RISCs of a core use the same clock.
fn join_lanes(runs: &[LaneRun]) -> Vec<CoreLaunch> {
    let lanes: Vec<_> = runs.chunk_by(|one, other| one.lane == other.lane).collect();
    // The lane with the most runs, and the first one if several have the most. That lane is BRISC's
    // if BRISC ran in every launch.
    let Some(reference) = lanes.iter().rev().max_by_key(|lane| lane.len()) else {
        return Vec::new();
    };
    let mut launches: Vec<_> = (0..).zip(*reference).map(|(n, run)| core_launch(n, run)).collect();
    for lane in lanes.iter().filter(|lane| lane[0].lane != reference[0].lane) {
        let is_complete = lane.len() == reference.len();
        for (ordinal, run) in lane.iter().enumerate() {
            let middle = u64::midpoint(run.bounds.0, run.bounds.1);
            let ordinal =
                if is_complete { ordinal } else { nearest(reference, |run| run.bounds, middle) };
            add_run(&mut launches[ordinal], run);
        }
    }
    launches
}

/// Joins the runs of one core's lanes if each lane has a single run, as in most programs.
fn join_single_runs(runs: &[LaneRun]) -> Option<CoreLaunch> {
    let (first, others) = runs.split_first()?;
    let mut launch = core_launch(0, first);
    launch.runs.reserve_exact(others.len());
    others.iter().for_each(|run| add_run(&mut launch, run));
    Some(launch)
}

fn core_launch(ordinal: usize, run: &LaneRun) -> CoreLaunch {
    CoreLaunch {
        core: run.lane.core,
        bounds: run.bounds,
        extents: Extents::from_lane(&run.extents, run.lane.risc),
        ordinal,
        is_matched_by_time: false,
        runs: vec![run.place()],
    }
}

fn add_run(launch: &mut CoreLaunch, run: &LaneRun) {
    launch.bounds.0 = launch.bounds.0.min(run.bounds.0);
    launch.bounds.1 = launch.bounds.1.max(run.bounds.1);
    launch.extents.join_lane(&run.extents, run.lane.risc);
    launch.runs.push(run.place());
}

/// Returns the index of the item whose window contains `time`, or else the index of the item whose
/// window is nearest to it. Items are sorted by the start of their windows.
fn nearest<T>(items: &[T], window: impl Fn(&T) -> (u64, u64), time: u64) -> usize {
    let after = items.partition_point(|item| window(item).0 <= time);
    let Some(before) = after.checked_sub(1) else { return 0 };
    let is_next_nearer = items.get(after).is_some_and(|next| {
        window(next).0.abs_diff(time) < time.saturating_sub(window(&items[before]).1)
    });
    if is_next_nearer { after } else { before }
}

/// Assigns each launch of a core to the reference launch with the nearest start.
///
/// Launches keep their order, and no reference launch is assigned twice. If the clocks do not share
/// an epoch, nothing is changed.
fn fit_by_time(core: &mut [CoreLaunch], reference: &[CoreLaunch]) {
    if !is_same_epoch(core, reference) {
        return;
    }
    let count = core.len();
    let mut lowest = 0;
    for (index, launch) in core.iter_mut().enumerate() {
        let highest = reference.len() - (count - index);
        let candidates = &reference[lowest..=highest];
        let start = launch.bounds.0;
        launch.ordinal = lowest + nearest(candidates, |of| (of.bounds.0, of.bounds.0), start);
        launch.is_matched_by_time = true;
        lowest = launch.ordinal + 1;
    }
}

fn is_same_epoch(core: &[CoreLaunch], reference: &[CoreLaunch]) -> bool {
    let (Some(first), Some(last)) = (reference.first(), reference.last()) else { return false };
    // The tolerance is the time from the first start to the last end of the reference launches.
    // Clocks with different epochs differ by far more.
    let slack = last.bounds.1.saturating_sub(first.bounds.0);
    let from = first.bounds.0.saturating_sub(slack);
    let until = last.bounds.1.saturating_add(slack);
    core.iter().all(|launch| (from..=until).contains(&launch.bounds.0))
}
