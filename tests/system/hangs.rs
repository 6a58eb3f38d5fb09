//! Kernels that hang, crash or are stopped: their records are in L1, and every one of them is kept
//! or counted.
//!
//! A run without a fault shows when the launch makes which record. The same run is then repeated,
//! and one RISC is stopped in one launch: in a zone, between zones, in a wait or in a push. Up to
//! this time both runs are the same.

use crate::{
    accounting::{assert_honest, lost},
    support::{Outcome, Session, outcome},
};
use host_reader::{
    ReadOptions,
    lane::{Lane, LaneId},
    mesh::Noc0Coord,
    read::Reader,
    readout::Readout,
    timeline::Timeline,
};
use kernel_profiler::port::WaitRecords;
use sim::{
    arch::TileCoord,
    config::MeshConfig,
    fault::{
        Rule,
        rules::{Selection, StopRisc},
    },
    machine::{ExecutionFailure, FailureReason},
    program::{CoreSelection, Launch},
    random::Stream,
    unfinished::{Standing, StandingCode, StandingRisc},
    workload::WorkloadOptions,
};
use std::{collections::BTreeMap, sync::Arc};
use tests::{seed::fresh, sizes::full_or};
use wire::{PacketKind, Risc};

/// A launch of a workload, and the RISC that is stopped in it.
#[derive(Clone, Copy, Debug)]
struct Case {
    is_blackhole: bool,
    workload: &'static str,
    seed: u64,
    risc: Risc,
    /// Index of the launch.
    launch: u64,
    /// Time of the stop: part of the launch's duration, in thousandths. Values above 1000 are in
    /// the push.
    part: u64,
}

/// Launches of each run: those before the launch that is stopped, this launch, and those after it.
const LAUNCHES: usize = 4;

impl Case {
    fn config(self) -> MeshConfig {
        let config = match self.is_blackhole {
            true => MeshConfig::blackhole(self.seed),
            false => MeshConfig::wormhole(self.seed),
        };
        let config = config.with_record_truth().with_exact_turns().with_cycle_limit(2_000_000);
        match self.workload {
            "pipeline" => config.with_wait_records(WaitRecords::Events),
            _ => config,
        }
    }

    /// Returns a mesh and the launches on four of its cores.
    fn session(self, rules: Vec<Arc<dyn Rule>>) -> (Session, Vec<Launch>) {
        let options =
            WorkloadOptions { ops: Some(8), seed: self.seed, ..WorkloadOptions::default() };
        let session = Session::new(&self.config(), self.workload, &options, rules);
        let places: Vec<TileCoord> =
            session.mesh.chip(0).unwrap().workers().take(4).map(|place| place.coord).collect();
        let all = session.plan.phases.iter().flat_map(|phase| phase.launches.iter().cloned());
        let few = all.take(LAUNCHES).map(|launch| launch.on(CoreSelection::At(places.clone())));
        let launches = few.collect();
        (session, launches)
    }

    /// Runs the launches and reads after each.
    fn run(self, rules: Vec<Arc<dyn Rule>>) -> Run {
        let (mut session, launches) = self.session(rules);
        let mut reader = Reader::new(ReadOptions { last_read: true, ..ReadOptions::default() });
        let (mut whole, mut at_stop) = (Readout::default(), None);
        for (index, launch) in (0..).zip(launches) {
            session.mesh.enqueue(0, launch).unwrap();
            session.mesh.run_to_completion();
            whole.append(reader.read(&mut session.mesh).unwrap());
            if index == self.launch {
                // Nothing is read twice.
                let again = reader.read(&mut session.mesh).unwrap();
                assert_eq!((again.record_count(), again.losses.entries().count()), (0, 0));
                at_stop = Some(outcome(whole.clone(), &session.mesh));
            }
        }
        Run { at_stop: at_stop.unwrap(), at_end: outcome(whole, &session.mesh), session }
    }
}

/// A run of all launches.
struct Run {
    /// After the launch in which a RISC may be stopped.
    at_stop: Outcome,
    /// After all launches.
    at_end: Outcome,
    session: Session,
}

impl Run {
    /// Returns the time on a core's clock at a cycle of the chip.
    fn tile_time(&self, core: TileCoord, chip_cycle: u64) -> u64 {
        let tile = self.session.mesh.chip(0).unwrap().tile(core).unwrap();
        tile.clock.value(chip_cycle).0
    }
}

fn lane_of(readout: &Readout, id: LaneId) -> Option<&Lane> {
    readout.lanes().find(|lane| lane.id == id)
}

/// Returns the records of a lane.
fn records(lane: &Lane) -> Vec<(PacketKind, u32, u64)> {
    lane.records().map(|record| (record.kind, record.zone.0, record.time)).collect()
}

/// Returns the zones that have begun and not ended, outermost first.
fn open_zones(records: &[(PacketKind, u32, u64)]) -> Vec<(u32, u64)> {
    let mut open = Vec::new();
    for &(kind, zone, time) in records {
        match kind {
            PacketKind::ZoneStart => open.push((zone, time)),
            PacketKind::ZoneEnd => assert_eq!(open.pop().map(|(zone, _)| zone), Some(zone)),
            _ => {}
        }
    }
    open
}

/// Returns the open zones of a lane in the timeline, outermost first.
fn shown_open(timeline: &Timeline, id: LaneId) -> Vec<(u32, u64)> {
    let lane = timeline.lanes().find(|lane| lane.id == id);
    let zones = lane.into_iter().flat_map(|lane| lane.zones.iter());
    zones.filter(|zone| zone.flags.is_open()).map(|zone| (zone.zone.0, zone.start_cycle)).collect()
}

/// Checks one case. Returns the number of zones that were open on the stopped RISC, or `None` if
/// the launch had ended before the stop.
fn check(case: Case) -> Option<usize> {
    let sound = case.run(Vec::new());
    assert_eq!(sound.at_end.failures, [], "{case:?}");
    assert_honest(&sound.at_end.readout, &sound.at_end.timeline, &sound.at_end.truth);
    let core = sound.session.mesh.chip(0).unwrap().workers().nth(1).unwrap().coord;
    let noc0 = Noc0Coord { x: core.x, y: core.y };
    let brisc = LaneId { chip_id: 0, core: noc0, risc: Risc::Brisc };
    // The duration of the launch on this core: that of BRISC's firmware zone.
    let lane = lane_of(&sound.at_stop.readout, brisc)?;
    let times = &lane.times[lane.run_records(lane.runs.len() - 1)];
    let duration = times.last()? - times.first()?;
    let after_cycles = match case.part {
        part @ 0..=1000 => duration * part / 1000,
        part => duration + part,
    };
    let selection = Selection::everywhere().core(core).risc(case.risc);
    let selection = selection.launches(case.launch..case.launch + 1);
    let run = case.run(vec![Arc::new(StopRisc { selection, after_cycles })]);

    // Every record is kept or lost, in this launch and in those after it.
    for outcome in [&run.at_stop, &run.at_end] {
        assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
        assert!(lost(&outcome.readout).1.is_empty(), "{case:?}");
    }
    let failure = run.at_stop.failures.first()?;
    assert_eq!((failure.core, failure.risc), (core, case.risc));
    assert_eq!(failure.reason, FailureReason::Halted);
    let stopped_at = run.tile_time(core, failure.chip_cycle);
    check_standing(&run, case, failure);

    // What is kept of the stopped RISC is what it had recorded by then.
    let id = LaneId { risc: case.risc, ..brisc };
    let kept = lane_of(&run.at_stop.readout, id).map(records).unwrap_or_default();
    let of_sound = lane_of(&sound.at_stop.readout, id).map(records).unwrap_or_default();
    assert!(of_sound.starts_with(&kept), "{case:?}: {kept:?}, not {of_sound:?}");
    let missing = of_sound.iter().skip(kept.len()).filter(|record| record.2 < stopped_at);
    // One record may be between the reading of the clock and its last store.
    assert!(missing.count() <= 1, "{case:?}");
    let open = open_zones(&kept);
    assert_eq!(shown_open(&run.at_stop.timeline, id), open, "{case:?}");
    let lane = lane_of(&run.at_stop.readout, id);
    let is_unfinished = lane.and_then(|lane| lane.runs.last()).is_some_and(|run| run.is_unfinished);
    assert!(is_unfinished || open.is_empty(), "{case:?}");
    Some(open.len())
}

/// Checks that the launch that was stopped has not ended, on this core alone, and that each RISC
/// stands where it has failed.
fn check_standing(run: &Run, case: Case, stopped: &ExecutionFailure) {
    let launches: Vec<_> = run.session.mesh.unfinished_launches().collect();
    let [launch] = launches.as_slice() else { panic!("{case:?}: {launches:?}") };
    let found = (launch.chip_id, launch.core, launch.launch_index);
    assert_eq!(found, (stopped.chip_id, stopped.core, stopped.launch_index), "{case:?}");
    for risc in &launch.riscs {
        let failure = run.at_end.failures.iter().find(|failure| failure.risc == risc.risc);
        let state = match (&risc.state, failure) {
            (state, Some(failure)) => {
                let reason = failure.reason.to_string();
                let expected = match failure.reason {
                    FailureReason::CycleLimit { .. } | FailureReason::Deadlock => {
                        Standing::Unended { failure: Some(reason) }
                    }
                    _ => Standing::Stopped(reason),
                };
                assert_eq!(state, &expected, "{case:?}");
                let place = (risc.pc, risc.chip_cycle);
                assert_eq!(place, (failure.pc, failure.chip_cycle), "{case:?}");
                let Some(StandingCode::Loaded(code)) = &risc.code else {
                    panic!("{case:?}: {risc:?}")
                };
                assert!(code.loaded.contains(&risc.pc), "{case:?}: {code:?}");
                continue;
            }
            (state, None) => state,
        };
        match state {
            Standing::Ended => {}
            // The firmware waits for a RISC that has not ended; only BRISC waits for several.
            Standing::WaitsFor(other) => {
                assert_ne!(risc.risc == Risc::Brisc, *other == Risc::Brisc, "{case:?}");
                let other = launch.riscs.iter().find(|risc| risc.risc == *other).unwrap();
                let has_failed =
                    matches!(other.state, Standing::Stopped(_) | Standing::Unended { .. });
                assert!(has_failed, "{case:?}: {other:?}");
            }
            other => panic!("{case:?}: {other:?}"),
        }
    }
    let has_stopped = |risc: &StandingRisc| risc.risc == case.risc && risc.pc == stopped.pc;
    assert!(launch.riscs.iter().any(has_stopped), "{case:?}: {launch:?}");
}

fn cases(seed: u64, count: u64) -> impl Iterator<Item = Case> {
    (0..count).map(move |number| {
        let mut random = Stream::new(seed, &[number]);
        Case {
            is_blackhole: number % 2 == 1,
            workload: ["random", "pipeline", "full-buffer"][(number / 2 % 3) as usize],
            seed: seed.wrapping_add(number / 6),
            risc: Risc::ALL[(number % 5) as usize],
            launch: 1 + random.below(2),
            part: match random.below(6) {
                0 => 1001 + random.below(1200),
                _ => random.below(1001),
            },
        }
    })
}

/// Number of cases from which most are stopped, and some in nested zones, with any seed.
const MANY: u64 = 12;

fn check_all(seed: u64, count: u64) {
    let mut open = BTreeMap::<Option<usize>, usize>::new();
    for case in cases(seed, count) {
        let depth = check(case);
        println!("{case:?}: {depth:?}");
        *open.entry(depth).or_default() += 1;
    }
    // Of a few fresh cases, most may have ended before the stop by chance.
    if count < MANY {
        return;
    }
    let stopped: usize = open.iter().filter(|(depth, _)| depth.is_some()).map(|(_, n)| n).sum();
    assert!(stopped as u64 * 2 > count, "seed {seed}: {open:?}");
    assert!(open.keys().any(|depth| *depth >= Some(2)), "seed {seed}: {open:?}");
}

#[test]
fn of_a_risc_that_stops_every_record_is_kept_and_its_open_zones_are_named() {
    check_all(42, full_or(60, 12));
}

#[test]
fn fresh_stops_lose_nothing_either() {
    let seed = fresh();
    println!("seed {seed}");
    check_all(seed, full_or(60, 6));
}
