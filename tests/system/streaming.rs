//! Frequent reads: when they happen, and whether records are lost or repeated between them.

use crate::{
    accounting::{assert_honest, emitted, kept, total},
    support::{Outcome, Session, first_workers, outcome},
};
use host_reader::{
    ReadOptions,
    ledger::LossCause,
    mesh::{CoreSelection, Noc0Coord},
    read::Reader,
    readout::Readout,
};
use sim::{
    arch::Arch,
    config::{ChipConfig, MeshConfig},
    program::{self, Launch},
    workload::WorkloadOptions,
};
use tests::sizes::is_full;
use wire::CoreKind;

/// Returns a session with lanes that hold `support_count` launches of minimum size.
fn session(workload: &str, ops: u32, support_count: u32) -> Session {
    let config = MeshConfig::wormhole(7).with_program_support_count(support_count);
    let options = WorkloadOptions { ops: Some(ops), seed: 7, ..WorkloadOptions::default() };
    Session::new(&config, workload, &options, Vec::new())
}

fn launches(session: &Session) -> Vec<Launch> {
    session.plan.phases.iter().flat_map(|phase| phase.launches.iter().cloned()).collect()
}

/// Runs one launch after the other. After each launch, reads the mesh if a lane would overflow
/// within `launches_ahead` launches. At the end, reads for the last time. Also returns the number
/// of reads.
fn run(mut session: Session, launches_ahead: u32) -> (Outcome, usize) {
    let mut reader = Reader::new(ReadOptions::default());
    let mut whole = Readout::default();
    let mut read_count = 1;
    // Each lane has its own room, so a plain run only fills those of some cores.
    let few = (!is_full()).then(|| first_workers(&session.mesh, 8));
    for launch in launches(&session) {
        let launch = match &few {
            Some(few) => launch.on(few.clone()),
            None => launch,
        };
        session.mesh.enqueue_everywhere(&launch);
        session.mesh.run_to_completion();
        if reader.about_to_overflow(&mut session.mesh, launches_ahead).unwrap() {
            whole.append(reader.read(&mut session.mesh).unwrap());
            read_count += 1;
        }
    }
    reader.options_mut().last_read = true;
    whole.append(reader.read(&mut session.mesh).unwrap());
    (outcome(whole, &session.mesh), read_count)
}

#[test]
fn a_runtime_that_reads_when_it_is_told_to_loses_nothing_where_others_lose() {
    for (workload, ops, support) in [("multi-op-overflow", 300, 100), ("full-buffer", 20, 400)] {
        let (careless, read_count) = run(session(workload, ops, support), 0);
        let lost = careless.readout.losses.by_cause(LossCause::DramFull).unknown_markers;
        assert!(lost > 0 && read_count < 3, "{workload}: {lost} markers, {read_count} reads");

        let (careful, read_count) = run(session(workload, ops, support), 1);
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
    let mesh = &mut session.mesh;
    let mut reader = Reader::new(ReadOptions::default());
    let (mut whole, mut empty_reads, mut rests) = (Readout::default(), 0, 0);
    for number in 0..1_000 {
        // Twenty launches are queued, and reads continue while they run.
        if number % 20 == 0 {
            let queued = launches.iter().skip(number).take(20);
            queued.for_each(|launch| mesh.enqueue(0, launch.clone().on(few.clone())).unwrap());
        }
        mesh.wait_ns(500);
        if number == 999 {
            mesh.run_to_completion();
            reader.options_mut().last_read = true;
        }
        let readout = reader.read(mesh).unwrap();
        empty_reads += usize::from(readout.record_count() == 0);
        rests += readout.lanes().filter(|lane| lane.goes_on).count();
        whole.append(readout);
    }
    let outcome = outcome(whole, &session.mesh);
    assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
    assert_eq!(outcome.readout.anomalies.anomaly_count(), 0);
    assert_eq!(outcome.readout.losses.by_cause(LossCause::DramFull).record_count(), 0);
    assert_eq!(outcome.timeline.anomalies.anomaly_count(), 0);
    let (kept, emitted) =
        (total(&kept(&outcome.readout, &outcome.timeline)), total(&emitted(&outcome.truth)));
    assert!(kept.zones * 2 > emitted.zones, "kept {kept:?} of {emitted:?}");
    // With fewer reads, no read would have happened during a launch.
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
        let mesh = &mut session.mesh;
        let read_cores = CoreSelection::at([Noc0Coord { x: core.x, y: core.y }]);
        let options = ReadOptions { cores: read_cores, ..ReadOptions::default() };
        let mut reader = Reader::new(options);
        let (mut whole, mut read_count, mut is_running) = (Readout::default(), 0, true);
        while is_running {
            is_running = mesh.chip(0).is_some_and(|chip| chip.queued_count() > 0);
            mesh.wait_ns(5_000);
            reader.options_mut().last_read = !is_running;
            whole.append(reader.read(mesh).unwrap());
            read_count += 1;
        }
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
