//! Frequent reads: when they happen, and whether records are lost or repeated between them.

use crate::{
    accounting::{assert_honest, emitted, kept, total},
    support::{Outcome, Session, outcome},
};
use host_reader::{
    ReadOptions,
    ledger::LossCause,
    mesh::{CoreSelection, Noc0Coord},
    read::{NextRead, Reader},
    readout::Readout,
};
use sim::{
    arch::Arch,
    config::{ChipConfig, MeshConfig},
    mesh::SimulatedMesh,
    program::{self, Launch},
    workload::WorkloadOptions,
};
use wire::CoreKind;

/// Returns a session whose lanes hold a given number of the smallest launches.
fn session(workload: &str, ops: u32, support_count: u32) -> Session {
    let config = MeshConfig::wormhole(7).with_program_support_count(support_count);
    let options = WorkloadOptions { ops: Some(ops), seed: 7, ..WorkloadOptions::default() };
    Session::new(&config, workload, &options, Vec::new())
}

fn launches(session: &Session) -> Vec<Launch> {
    session.plan.phases.iter().flat_map(|phase| phase.launches.iter().cloned()).collect()
}

/// Runs one launch after the other. After each launch, makes the reads that `between` requests, and
/// at the end a last read. Also returns the number of reads.
fn run(mut session: Session, between: NextRead) -> (Outcome, usize) {
    let mut launches = launches(&session).into_iter();
    let next = |mesh: &mut SimulatedMesh| match launches.next() {
        None => NextRead::Last,
        Some(launch) => {
            mesh.enqueue_everywhere(&launch);
            mesh.run_to_completion();
            between
        }
    };
    let mut reader = Reader::new(ReadOptions::default());
    let mut whole = Readout::default();
    let mut read_count = 0;
    for read in reader.reads(&mut session.mesh, next) {
        whole.append(read.unwrap().into_readout());
        read_count += 1;
    }
    (outcome(whole, &session.mesh), read_count)
}

#[test]
fn a_runtime_that_reads_when_it_is_told_to_loses_nothing_where_others_lose() {
    for (workload, ops, support) in [("multi-op-overflow", 300, 100), ("full-buffer", 20, 400)] {
        let never = NextRead::IfAboutToOverflow { launches: 0 };
        let (careless, read_count) = run(session(workload, ops, support), never);
        let lost = careless.readout.losses.by_cause(LossCause::DramFull).unknown_markers;
        assert!(lost > 0 && read_count < 3, "{workload}: {lost} markers, {read_count} reads");

        let when_told = NextRead::IfAboutToOverflow { launches: 1 };
        let (careful, read_count) = run(session(workload, ops, support), when_told);
        assert_eq!(careful.readout.losses.by_cause(LossCause::DramFull).record_count(), 0);
        assert_honest(&careful.readout, &careful.timeline, &careful.truth);
        let most_needed = ops as usize / 2;
        assert!((2..most_needed).contains(&read_count), "{workload}: {read_count} reads");
    }
}

#[test]
fn a_look_reads_control_vectors_only_and_says_what_a_read_then_finds() {
    let mut session = session("multi-op", 50, 1000);
    let launch = launches(&session).into_iter().take(50);
    launch.for_each(|launch| session.mesh.enqueue_everywhere(&launch));
    session.mesh.run_to_completion();
    let mut reader = Reader::new(ReadOptions::default());
    let look = reader.look(&mut session.mesh).unwrap();
    let readout = reader.read(&mut session.mesh).unwrap();
    assert!(look.words_read.is_multiple_of(64) && look.words_read * 4 < readout.words_read);
    assert_eq!(look.anomalies.anomaly_count(), 0);
    let brisc = |lane: &&host_reader::read::LaneWatermark| lane.lane.risc == wire::Risc::Brisc;
    let marks: Vec<_> = look.watermarks.lanes().filter(brisc).collect();
    assert_eq!(marks.len(), 64);
    for mark in marks {
        // Fifty launches, each with a firmware and a kernel zone in twelve words, in lanes of
        // 12,000. One launch may fill a whole vector of 512 words.
        assert_eq!((mark.used_words, mark.free_words(), mark.words_per_launch), (600, 11_400, 12));
        assert_eq!((mark.pushed_launches, mark.launches_left()), (50, Some((11_400 - 512) / 12)));
        assert_eq!(readout.watermarks.lane(mark.lane), Some(mark));
    }
    let after = reader.look(&mut session.mesh).unwrap().watermarks;
    assert_eq!(after.fullest(), None, "what was read fills nothing");
}

#[test]
fn a_thousand_reads_that_race_pushes_lose_nothing_and_repeat_nothing() {
    let mut session = session("quick-push", 1_000, 2_000);
    let launches = launches(&session);
    let cores = session.mesh.chip(0).unwrap().plan().cores();
    let workers = cores.iter().filter(|core| core.kind == CoreKind::Tensix);
    let few = program::CoreSelection::At(workers.take(16).map(|core| core.coord).collect());
    let mut read_count = 0;
    let next = |mesh: &mut SimulatedMesh| {
        // Twenty launches are queued, and reads continue while they run.
        if read_count % 20 == 0 {
            let queued = launches.iter().skip(read_count).take(20);
            queued.for_each(|launch| mesh.enqueue(0, launch.clone().on(few.clone())).unwrap());
        }
        read_count += 1;
        mesh.wait_ns(500);
        if read_count < 1_000 {
            return NextRead::Now;
        }
        mesh.run_to_completion();
        NextRead::Last
    };
    let mut reader = Reader::new(ReadOptions::default());
    let (mut whole, mut empty_reads, mut rests) = (Readout::default(), 0, 0);
    let mut take = |readout: &Readout| {
        empty_reads += usize::from(readout.record_count() == 0);
        rests += readout.lanes().filter(|lane| lane.goes_on).count();
        whole.append(readout.clone());
    };
    reader.for_each_read(&mut session.mesh, next, &mut take).unwrap();
    let outcome = outcome(whole, &session.mesh);
    assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
    assert_eq!(outcome.readout.anomalies.anomaly_count(), 0);
    assert_eq!(outcome.readout.losses.by_cause(LossCause::DramFull).record_count(), 0);
    assert_eq!(outcome.timeline.anomalies.anomaly_count(), 0);
    let (kept, emitted) =
        (total(&kept(&outcome.readout, &outcome.timeline)), total(&emitted(&outcome.truth)));
    assert!(kept.zones * 2 > emitted.zones, "kept {kept:?} of {emitted:?}");
    // With fewer reads, no read would have raced with a launch.
    assert!(
        rests > 100 && empty_reads <= 900,
        "{rests} rests of launches, {empty_reads} empty reads"
    );
}

/// Launches follow each other without pause, in lanes that hold some twenty launches. At the start
/// of a launch the host has never read all records, so the lanes are never reset.
#[test]
fn a_host_that_keeps_up_with_launches_loses_nothing_in_the_smallest_lanes() {
    for arch in [Arch::WormholeB0, Arch::Blackhole] {
        let chip = ChipConfig::new(arch);
        let config = MeshConfig::new(11).with_chip(chip).with_program_support_count(43);
        let options = WorkloadOptions { ops: Some(600), seed: 11, ..WorkloadOptions::default() };
        let mut session = Session::new(&config, "multi-op", &options, Vec::new());
        let cores = session.mesh.chip(0).unwrap().plan().cores();
        let core = cores.iter().find(|core| core.kind == CoreKind::Tensix).unwrap().coord;
        for launch in launches(&session) {
            let launch = launch.on(program::CoreSelection::At(vec![core]));
            session.mesh.enqueue(0, launch).unwrap();
        }
        let mut read_count = 0;
        let next = |mesh: &mut SimulatedMesh| {
            read_count += 1;
            let is_running = mesh.chip(0).is_some_and(|chip| chip.queued_count() > 0);
            mesh.wait_ns(5_000);
            if is_running { NextRead::Now } else { NextRead::Last }
        };
        let read_cores = CoreSelection::at([Noc0Coord { x: core.x, y: core.y }]);
        let options = ReadOptions { cores: read_cores, ..ReadOptions::default() };
        let mut reader = Reader::new(options);
        let mut whole = Readout::default();
        reader
            .for_each_read(&mut session.mesh, next, |readout| whole.append(readout.clone()))
            .unwrap();
        let outcome = outcome(whole, &session.mesh);
        assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
        let (kept, emitted) =
            (total(&kept(&outcome.readout, &outcome.timeline)), total(&emitted(&outcome.truth)));
        eprintln!("{arch}: {} of {} zones in {read_count} reads", kept.zones, emitted.zones);
        assert_eq!(outcome.readout.anomalies.anomaly_count(), 0);
        assert!(outcome.readout.losses.is_empty());
        assert_eq!(kept.zones, emitted.zones);
        assert!(read_count > 20, "{read_count} reads");
    }
}
