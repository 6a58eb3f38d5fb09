//! Kernels that hang, crash or are stopped: their records are in L1, and every one of them is kept
//! or counted.
//!
//! A run without a fault shows when the launch makes which record. The same run is then repeated,
//! and one RISC is stopped in one launch: in a zone, between zones, in a wait or in a push. Up to
//! this time both runs are the same.
//!
//! Kernels that crash, never end or wait for what nobody signals run on each RISC. What they record
//! before is known from their code. [`streams`] has the same for records that leave the core through
//! rings.

mod streams;

use crate::{
    accounting::{assert_honest, lost},
    support::{Outcome, Session, outcome},
};
use host_reader::{
    ReadOptions,
    analysis::OpenZone,
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
    kernel::ObjectKernel,
    machine::{ExecutionFailure, FailureReason},
    program::{CoreSelection, Emission, Kernel, Launch, Program},
    random::Stream,
    riscv::TrapKind,
    truth::{RiscKey, Truth},
    unfinished::{Standing, StandingCode, StandingRisc},
    workload::WorkloadOptions,
};
use std::{collections::BTreeSet, sync::Arc};
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

/// What a RISC did when it was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// In a zone of the kernel.
    InZone,
    /// In none of the kernel's zones.
    BetweenZones,
    /// In a wait for another RISC.
    InWait,
    /// In the push, after the end of the launch's last zone.
    InPush,
}

impl Place {
    const ALL: [Self; 4] = [Self::InZone, Self::BetweenZones, Self::InWait, Self::InPush];

    /// Returns what the RISC did at a time in the run without a fault.
    fn of(case: Case, sound: &Run, id: LaneId, time: u64) -> Self {
        let core = TileCoord { x: id.core.x, y: id.core.y };
        let key = RiscKey { chip_id: id.chip_id, core, risc: id.risc };
        let waits = sound.at_stop.truth.waits.get(&key).into_iter().flatten();
        let mut waits = waits.filter(|wait| wait.launch_index == case.launch);
        if waits.any(|wait| (wait.begin.0..wait.begin.0 + wait.cycles).contains(&time)) {
            return Self::InWait;
        }
        let lane = lane_of(&sound.at_stop.readout, id);
        let records = lane.map(records).unwrap_or_default();
        let before: Vec<_> = records.iter().copied().filter(|record| record.2 < time).collect();
        match open_zones(&before).len() {
            0 if !before.is_empty() && id.risc == Risc::Brisc => Self::InPush,
            0..=LAUNCH_ZONES => Self::BetweenZones,
            _ => Self::InZone,
        }
    }
}

/// Removes the program of the stopped launch if only BRISC's firmware had begun: it stores the
/// program's id after it has opened its zone, so that a host cannot know the program.
fn before_its_program(case: Case, core: TileCoord, mut truth: Truth) -> Truth {
    let is_of_core = |key: &RiscKey| (key.chip_id, key.core) == (0, core);
    let launches = truth.launches.iter_mut().filter(|(key, _)| is_of_core(key));
    let stopped = launches.flat_map(|(key, launches)| {
        let of_case = launches.iter_mut().filter(|launch| launch.launch_index == case.launch);
        of_case.map(|launch| (key.risc, launch))
    });
    if let [(Risc::Brisc, launch)] = stopped.collect::<Vec<_>>().as_mut_slice()
        && launch.emitted == Emission::zones(1)
    {
        launch.program_id = 0;
    }
    truth
}

/// Zones of a launch itself: those of the firmware and of the kernel.
const LAUNCH_ZONES: usize = 2;

/// Checks one case. Returns the number of zones that were open on the stopped RISC and what it did,
/// or `None` if the launch had ended before the stop.
fn check(case: Case) -> Option<(usize, Place)> {
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
        let truth = before_its_program(case, core, outcome.truth.clone());
        assert_honest(&outcome.readout, &outcome.timeline, &truth);
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
    Some((open.len(), Place::of(case, &sound, id, stopped_at)))
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
            // Only BRISC pushes, so that half of its stops are there.
            part: match number % 5 == 0 && number / 10 % 2 == 0 {
                true => 1001 + random.below(1200),
                false => random.below(1001),
            },
        }
    })
}

/// Number of cases from which most are stopped, and some in nested zones, with any seed.
const MANY: u64 = 12;
/// Number of cases among which there is every place on both chips, and every RISC.
const ALL_KINDS: u64 = 60;

fn check_all(seed: u64, count: u64) {
    let mut stops = Vec::new();
    for case in cases(seed, count) {
        let stop = check(case);
        println!("{case:?}: {stop:?}");
        stops.extend(stop.map(|(depth, place)| (case, depth, place)));
    }
    // Of a few fresh cases, most may have ended before the stop by chance.
    if count < MANY {
        return;
    }
    let places: BTreeSet<Place> = stops.iter().map(|stop| stop.2).collect();
    assert!(stops.len() as u64 * 2 > count, "seed {seed}: {stops:?}");
    assert!(stops.iter().any(|stop| stop.1 >= 2), "seed {seed}: {stops:?}");
    if count < ALL_KINDS {
        return;
    }
    assert_eq!(places, BTreeSet::from(Place::ALL), "seed {seed}");
    let riscs: BTreeSet<_> =
        stops.iter().map(|(case, ..)| (case.is_blackhole, case.risc)).collect();
    assert_eq!(riscs.len(), 10, "seed {seed}: {riscs:?}");
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

/// A kernel that goes wrong, the zone that it opens before, and whether a failure is the expected one.
type Broken = (&'static str, Option<&'static str>, fn(&FailureReason) -> bool);

const BROKEN: [Broken; 6] = [
    ("broken_endless", Some("ENDLESS"), |reason| {
        matches!(reason, FailureReason::CycleLimit { .. })
    }),
    ("broken_store", Some("STORE-OUTSIDE"), |reason| trapped(reason, TrapKind::StoreOutside)),
    ("broken_load", None, |reason| matches!(reason, FailureReason::Refused { .. })),
    ("broken_overwrite", None, |reason| trapped(reason, TrapKind::StoreUnsupported)),
    ("broken_instruction", None, |reason| trapped(reason, TrapKind::IllegalInstruction)),
    ("broken_panic", None, |reason| matches!(reason, FailureReason::Stopped)),
];

fn trapped(reason: &FailureReason, kind: TrapKind) -> bool {
    matches!(reason, FailureReason::Trap(trap) if trap.kind == kind)
}

/// Returns the names of the zones that are open on a RISC, outermost first.
fn open_names(outcome: &Outcome, id: LaneId) -> Vec<String> {
    let lane = outcome.timeline.lanes().find(|lane| lane.id == id);
    let zones = lane.into_iter().flat_map(|lane| lane.zones.iter());
    let open = zones.filter(|zone| zone.flags.is_open());
    open.map(|zone| outcome.readout.zones.name(zone.zone).to_owned()).collect()
}

/// Returns the names of the zones around a kernel of a RISC, without the RISC's own.
fn launch_zones(risc: Risc) -> [String; LAUNCH_ZONES] {
    let name = if risc.label().starts_with("TRISC") { "TRISC" } else { risc.label() };
    ["FW", "KERNEL"].map(|part| format!("{name}-{part}"))
}

/// Runs one launch on each core and reads it once.
fn run_each(is_blackhole: bool, programs: Vec<Program>) -> (Outcome, Vec<TileCoord>) {
    let config = if is_blackhole { MeshConfig::blackhole(3) } else { MeshConfig::wormhole(3) };
    let config = config.with_record_truth().with_cycle_limit(100_000);
    let Session { mut mesh, .. } =
        Session::new(&config, "random", &WorkloadOptions::default(), Vec::new());
    let cores: Vec<_> = mesh.chip(0).unwrap().workers().map(|place| place.coord).collect();
    for ((program, core), id) in programs.into_iter().zip(&cores).zip(1..) {
        let at = CoreSelection::At(vec![*core]);
        mesh.enqueue(0, Launch::new(&Arc::new(program), id).on(at)).unwrap();
    }
    mesh.run_to_completion();
    let mut reader = Reader::new(ReadOptions { last_read: true, ..ReadOptions::default() });
    let outcome = outcome(reader.read(&mut mesh).unwrap(), &mesh);
    assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
    assert!(lost(&outcome.readout).1.is_empty());
    (outcome, cores)
}

/// Checks a RISC that has failed: its open zones are named, and what other RISCs have recorded is
/// whole.
fn check_failed(outcome: &Outcome, (core, risc): (TileCoord, Risc), own_zone: Option<&str>) {
    let noc0 = Noc0Coord { x: core.x, y: core.y };
    let id = |risc| LaneId { chip_id: 0, core: noc0, risc };
    let mut expected = launch_zones(risc).to_vec();
    expected.extend(own_zone.map(str::to_owned));
    assert_eq!(open_names(outcome, id(risc)), expected, "{core} {risc}");
    let named = OpenZone::of_lane(&outcome.readout, id(risc)).unwrap().name;
    assert_eq!(Some(&named), expected.last(), "{core} {risc}");
    for other in Risc::ALL.into_iter().take(5).filter(|other| *other != risc) {
        // BRISC's firmware waits for the RISC that has failed.
        let open = if other == Risc::Brisc { vec!["BRISC-FW".to_owned()] } else { Vec::new() };
        assert_eq!(open_names(outcome, id(other)), open, "{core} {risc}: {other}");
    }
}

#[test]
fn of_kernels_that_crash_or_never_end_on_any_risc_every_record_is_kept_or_counted() {
    for is_blackhole in [false, true] {
        let riscs = Risc::ALL.into_iter().take(5);
        let cases: Vec<_> = riscs
            .flat_map(|risc| BROKEN.map(|(name, zone, is_it)| (risc, name, zone, is_it)))
            .collect();
        // Kernels of the other RISCs record more than fits into their vectors.
        let full: Arc<dyn Kernel> = Arc::new(ObjectKernel::named("full_buffer").unwrap());
        let program = |&(risc, name, ..): &(Risc, &'static str, _, _)| {
            let broken = Arc::new(ObjectKernel::new(name));
            Program::new(name).with_kernel_on_all(&full).with_kernel(risc, broken)
        };
        let (outcome, cores) = run_each(is_blackhole, cases.iter().map(program).collect());
        assert_eq!((outcome.failures.len(), cases.len()), (30, 30));
        for (&(risc, name, own_zone, is_it), &core) in cases.iter().zip(&cores) {
            let failure = outcome.failures.iter().find(|failure| failure.core == core).unwrap();
            assert!(failure.risc == risc && is_it(&failure.reason), "{name}: {failure}");
            check_failed(&outcome, (core, risc), own_zone);
            // What it has recorded: the zones around it, and its own if it has one.
            let noc0 = Noc0Coord { x: core.x, y: core.y };
            let lane = lane_of(&outcome.readout, LaneId { chip_id: 0, core: noc0, risc }).unwrap();
            assert_eq!(lane.record_count(), LAUNCH_ZONES + usize::from(own_zone.is_some()));
        }
        let lost: u64 = outcome.readout.losses.entries().map(|(_, totals)| totals.zones).sum();
        // 25 zones of each full buffer have no room.
        assert_eq!(lost, 30 * 4 * 25);
    }
}

#[test]
fn of_kernels_that_wait_for_what_nobody_signals_every_record_is_kept() {
    for is_blackhole in [false, true] {
        let config = if is_blackhole { MeshConfig::blackhole(3) } else { MeshConfig::wormhole(3) };
        let options = WorkloadOptions { ops: Some(1), ..WorkloadOptions::default() };
        let Session { plan, .. } = Session::new(&config, "pipeline", &options, Vec::new());
        let whole = &plan.phases[0].launches[0].program;
        let riscs: Vec<_> = Risc::ALL.into_iter().take(5).collect();
        // Each kernel of the pipeline alone: nobody else fills or empties its buffers.
        let alone = |&risc: &Risc| {
            Program::new("alone").with_kernel(risc, Arc::clone(whole.kernel(risc).unwrap()))
        };
        let (outcome, cores) = run_each(is_blackhole, riscs.iter().map(alone).collect());
        for (&risc, &core) in riscs.iter().zip(&cores) {
            let mut failures = outcome.failures.iter().filter(|failure| failure.core == core);
            assert!(failures.any(|failure| failure.risc == risc), "{risc}: {:?}", outcome.failures);
            let noc0 = Noc0Coord { x: core.x, y: core.y };
            let id = |risc| LaneId { chip_id: 0, core: noc0, risc };
            assert_eq!(open_names(&outcome, id(risc)), launch_zones(risc), "{core} {risc}");
        }
    }
}
