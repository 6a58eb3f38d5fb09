//! RISCs that are stopped while their records leave the core through rings.
//!
//! A RISC publishes eight cells at a time, and writes a zone when the zone ends. So of a RISC that is
//! stopped, the ring has every published cell, and lacks the open zones and up to [`CHUNK_CELLS`] cells
//! of its last chunk. A recording has what the ring has, and says what it lacks.

use crate::{
    drained_run::{Case, Relays, assert_each_once, read_into},
    streamed::{Found, Streamed},
    support::{Outcome, Session, first_workers},
};
use host_reader::{
    ProfilerOptions, ReadOptions,
    analysis::{Unfinished, lost_line},
    init_device_profiler,
    lane::LaneId,
    ledger::{LossLedger, UncountedSource},
    mesh::Noc0Coord,
    read::Reader,
};
use sim::{
    arch::Arch,
    config::MeshConfig,
    fault::{
        Rule,
        rules::{Selection, StopRisc},
    },
    machine::{ExecutionFailure, FailureReason},
    mesh::SimulatedMesh,
    random::Stream,
    workload::WorkloadOptions,
};
use std::{collections::BTreeSet, sync::Arc};
use tests::sizes::full_or;
use wire::{
    Risc,
    stream::{CHUNK_CELLS, Policy},
};

/// Launches of a run; a RISC is stopped in the last one.
const LAUNCHES: u32 = 3;

fn case(number: u64) -> Case {
    let policies = [Policy::DropNewest, Policy::Block { cycles_log2: 24 }];
    Case {
        arch: Arch::ALL[(number % 2) as usize],
        seed: 100 + number / 10,
        workload: ["random", "full-buffer"][(number / 10 % 2) as usize],
        ops: LAUNCHES,
        cores: Some(2),
        policy: policies[(number / 5 % 2) as usize],
        pause_ns: Some(20_000),
        failures_ppm: 0,
        relays: Relays::NONE,
    }
}

fn stop(number: u64) -> (Risc, Arc<dyn Rule>) {
    let risc = Risc::ALL[(number % 5) as usize];
    let after_cycles = Stream::new(7, &[number]).between(200, 9_000);
    let launches = u64::from(LAUNCHES) - 1..LAUNCHES.into();
    let selection = Selection::everywhere().risc(risc).launches(launches);
    (risc, Arc::new(StopRisc { selection, after_cycles }))
}

/// Reads live; returns the records that were read, those that RISCs have published, the losses and
/// the failures.
fn live(case: Case, rule: Option<&Arc<dyn Rule>>) -> (Found, Found, LossLedger, SimulatedMesh) {
    let (mut found, mut losses) = (Found::new(), LossLedger::default());
    let mut mesh = case.read(rule, |reader, mesh| {
        read_into(&mut found, &mut losses, reader, mesh);
    });
    let mut published = Streamed::default();
    published.add(mesh.take_cells());
    (found, published.into_records(), losses, mesh)
}

fn failures(mesh: &SimulatedMesh) -> Vec<ExecutionFailure> {
    mesh.execution_failures().cloned().collect()
}

fn lane_of(failure: &ExecutionFailure) -> LaneId {
    let core = Noc0Coord { x: failure.core.x, y: failure.core.y };
    LaneId { chip_id: failure.chip_id, core, risc: failure.risc }
}

/// Checks a case. Returns the number of cells that the stopped RISCs had not published, or `None` if
/// the launch had ended before the stop.
fn check(number: u64) -> Option<u64> {
    let (case, (risc, rule)) = (case(number), stop(number));
    let (found, published, losses, mesh) = live(case, Some(&rule));
    let failures = failures(&mesh);
    assert!(failures.iter().all(|failure| failure.reason == FailureReason::Halted));
    assert!(failures.iter().all(|failure| failure.risc == risc), "{case:?}");
    // Live reads find each published record once, also those of RISCs that were stopped.
    assert_each_once(&case, (&found, &published));

    let (sound, ..) = live(case, None);
    let mut unpublished = 0;
    for failure in &failures {
        let tile = mesh.chip(0).unwrap().tile(failure.core).unwrap();
        let stopped_at = tile.clock.value(failure.chip_cycle).0;
        let (Some(all), lane) = (sound.get(&lane_of(failure)), lane_of(failure)) else { continue };
        let none = Default::default();
        let kept = found.get(&lane).unwrap_or(&none);
        assert!(kept.is_part_of(all), "{case:?}, {lane}");
        let ended = all.zones().filter(|(_, _, end)| *end < stopped_at).count();
        let missing = ended.checked_sub(kept.zones().count());
        let missing = missing.unwrap_or_else(|| panic!("{case:?}, {lane}: zones of no run"));
        // One more zone may be between the reading of the clock and the count of the full chunk.
        let is_all = missing <= CHUNK_CELLS + 1 || !losses.is_intended();
        assert!(is_all, "{case:?}, {lane}: {missing} of {ended} zones are missing");
        unpublished += missing as u64;
    }
    let (outcome, _) = case.run(Some(&rule));
    check_told(case, &failures, &outcome);
    (!failures.is_empty()).then_some(unpublished)
}

/// Checks that a recording says which RISCs had not ended and what it does not know of them.
fn check_told(case: Case, failures: &[ExecutionFailure], outcome: &Outcome) {
    let Outcome { readout, timeline, .. } = outcome;
    let uncounted: Vec<_> = readout.losses.uncounted().collect();
    let line = lost_line(&readout.losses);
    // A RISC whose ring was full has not announced its launch, so that no host can tell whether it has
    // ended.
    if failures.is_empty() {
        assert!(uncounted.iter().all(|of| *of == UncountedSource::UnannouncedStream), "{case:?}");
        return;
    }
    let sources = [UncountedSource::RunningStream, UncountedSource::UnannouncedStream];
    assert!(!uncounted.is_empty(), "{case:?}");
    assert!(uncounted.iter().all(|source| sources.contains(source)), "{case:?}: {uncounted:?}");
    assert!(line.contains(uncounted[0].label()) && !line.contains("nothing"), "{case:?}: {line}");
    // No zone is invented: a ring has no starts without ends.
    let open =
        timeline.lanes().flat_map(|lane| lane.zones.iter()).filter(|zone| zone.flags.is_open());
    assert_eq!(open.count(), 0, "{case:?}");
    let unfinished = Unfinished::from_readout(readout);
    let lanes =
        readout.lanes().filter(|lane| lane.runs.last().is_some_and(|run| run.is_unfinished));
    let unfinished_lanes: BTreeSet<LaneId> = lanes.map(|lane| lane.id).collect();
    assert_eq!(unfinished.unknown_count, unfinished_lanes.len() as u64, "{case:?}");
    // A RISC that has published no cell of the launch has no run that could be marked.
    let cores: BTreeSet<_> = failures.iter().map(|failure| lane_of(failure).core).collect();
    assert!(unfinished_lanes.iter().all(|lane| cores.contains(&lane.core)), "{case:?}");
    let lines = unfinished.lines(str::to_owned);
    if unfinished.run_count > 0 {
        let said = "unknown zones";
        assert!(lines.iter().any(|line| line.contains(said)), "{case:?}: {lines:?}");
    }
}

#[test]
fn of_a_streaming_risc_that_stops_every_published_record_is_kept_and_the_rest_is_unknown() {
    let count = full_or(60, 20);
    let mut stopped = BTreeSet::new();
    let mut unpublished = 0;
    for number in 0..count {
        let found = check(number);
        println!("{number}: {:?}: {found:?}", case(number));
        if let Some(cells) = found {
            stopped.insert((number % 2, number % 5));
            unpublished += cells;
        }
    }
    // Each RISC of both chips; and most have cells that they had not published.
    assert_eq!(stopped.len(), 10, "{stopped:?}");
    assert!(unpublished > 0);
}

/// A host that finds a streaming launch hung sets its cores up anew, as a program that starts does. What
/// that launch had not published is gone, and the next recording of the same reader says so.
#[test]
fn what_a_hung_stream_had_not_published_is_unknown_after_its_core_is_set_up_anew() {
    let config = MeshConfig::wormhole(5).with_streaming();
    let options = WorkloadOptions { ops: Some(2), ..WorkloadOptions::default() };
    let selection = Selection::everywhere().risc(Risc::Ncrisc).launches(0..1);
    let rule: Arc<dyn Rule> = Arc::new(StopRisc { selection, after_cycles: 4_000 });
    let Session { mut mesh, plan } = Session::new(&config, "full-buffer", &options, vec![rule]);
    let cores = first_workers(&mesh, 1);
    let mut launches = plan.phases.iter().flat_map(|phase| phase.launches.iter().cloned());
    let mut reader = Reader::new(ReadOptions::default());
    let mut uncounted = Vec::new();
    for is_last in [false, true] {
        init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
        mesh.enqueue(0, launches.next().unwrap().on(cores.clone())).unwrap();
        mesh.run_to_completion();
        reader.options_mut().last_read = is_last;
        let readout = reader.read(&mut mesh).unwrap();
        uncounted.extend(readout.losses.uncounted().map(|source| (is_last, source)));
    }
    assert_eq!(mesh.execution_failures().count(), 1);
    assert_eq!(uncounted, [(true, UncountedSource::RunningStream)]);
}
