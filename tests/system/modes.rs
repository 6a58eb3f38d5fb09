//! Profiler modes that TT-Metal's own tests cover, with their figures: trace replays, trace-only
//! mode, sub-devices.

use crate::{
    accounting::assert_honest,
    support::{Outcome, first_workers, mesh_after, outcome},
};
use host_reader::{
    ProfilerOptions, ReadOptions,
    analysis::{Op, ops_of},
    decode::CaptureMode,
    init_device_profiler,
    lane::TraceReplay,
    log::write_device_log,
    read::Reader,
    readout::Readout,
    timeline::Zone,
    traces::{NamedRuns, TraceBook},
};
use sim::{
    arch::{Arch, TileCoord},
    config::{ChipConfig, MeshConfig},
    kernel::{
        ObjectKernel,
        script::{Movement, Script, Step},
    },
    mesh::SimulatedMesh,
    program::{CoreSelection, Kernel, Launch, Program},
    truth::RiscKey,
    workload::{Phase, Trace, Workload, WorkloadOptions},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tests::sizes::full_or;
use wire::{CoreKind, Risc};

const CORES: usize = 64;
const RISCS: usize = 5;

fn wormhole() -> MeshConfig {
    MeshConfig::wormhole(11)
}

/// Returns a chip with tiles that share an epoch, so that times of different cores can be compared.
fn in_one_epoch(arch: Arch) -> MeshConfig {
    let chip = ChipConfig::new(arch).with_epoch_max_cycles(1);
    MeshConfig::new(14).with_chip(chip)
}

/// Runs launches and reads them once, like a host in this mode.
fn run(config: &MeshConfig, launches: Vec<Launch>, mode: CaptureMode) -> Outcome {
    let mut mesh = mesh_after(config, launches);
    let options = ReadOptions { mode, last_read: true, ..ReadOptions::default() };
    let readout = Reader::new(options).read(&mut mesh).unwrap();
    outcome(readout, &mesh)
}

/// Returns the trace book of a host that enqueued these launches.
fn book_of(launches: &[Launch]) -> TraceBook {
    let mut book = TraceBook::default();
    for launch in launches {
        let Some(trace_id) = launch.trace_id else { continue };
        book.add_program(0, trace_id, launch.program_id);
        if launch.begins_trace_replay {
            book.add_replay(0, trace_id);
        }
    }
    book
}

fn launches_of_workload(config: &MeshConfig, name: &str) -> Vec<Launch> {
    let mesh = SimulatedMesh::new(config).unwrap();
    let plan = Workload::named(name).unwrap().plan(&mesh, &WorkloadOptions::default());
    plan.phases.into_iter().flat_map(|phase| phase.launches).collect()
}

fn workers(config: &MeshConfig) -> Vec<TileCoord> {
    let mesh = SimulatedMesh::new(config).unwrap();
    let cores = mesh.chip(0).unwrap().plan().cores().iter();
    cores.filter(|core| core.kind == CoreKind::Tensix).map(|core| core.coord).collect()
}

fn step_program() -> Arc<Program> {
    let kernel: Arc<dyn Kernel> = Arc::new(ObjectKernel::named("steps").unwrap());
    Arc::new(Program::new("step").with_kernel_on_all(&kernel))
}

/// Returns the number of runs by their trace and replay.
fn runs_by_replay(readout: &Readout) -> BTreeMap<Option<TraceReplay>, usize> {
    let mut counts = BTreeMap::new();
    for run in readout.lanes().flat_map(|lane| &lane.runs) {
        *counts.entry(run.trace).or_default() += 1;
    }
    counts
}

#[test]
fn five_replays_of_a_hundred_ops_are_five_sessions_of_a_hundred() {
    let config = wormhole();
    let workers = workers(&config);
    // A few cores are enough: a run on all cores would take a minute.
    let launches = launches_of_workload(&config, "trace-replay").into_iter();
    let launches: Vec<Launch> =
        launches.map(|launch| launch.on(CoreSelection::At(workers[..4].to_vec()))).collect();
    let mut outcome = run(&config, launches.clone(), CaptureMode::Workers);
    assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
    assert!(outcome.readout.losses.is_empty());
    let lanes = 4 * RISCS;
    let named = book_of(&launches).name_runs(&mut outcome.readout);
    assert_eq!(named, NamedRuns { named: (lanes * 500) as u64, unknown: 0 });
    let replay = |counter| Some(TraceReplay { trace_id: 1, counter });
    let expected = (1..=5).map(|counter| (replay(counter), lanes * 100));
    let expected: BTreeMap<_, _> = expected.chain([(None, lanes)]).collect();
    assert_eq!(runs_by_replay(&outcome.readout), expected);
    let mut sessions: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for Op { trace_id, trace_replay, run_host_id, launch, .. } in ops_of(&outcome.readout) {
        assert_eq!(launch, 1, "a program runs once in a replay");
        let session = sessions.entry((trace_id, trace_replay)).or_default();
        session.push(run_host_id >> 10);
    }
    assert_eq!(sessions.remove(&(None, None)), Some(vec![1]));
    let ids: Vec<u32> = (2..102).collect();
    let expected = (1..=5).map(|replay| ((Some(1), Some(replay)), ids.clone()));
    assert_eq!(sessions, expected.collect());
}

/// Asserts that on every RISC the launches of two traces carry the number of their replay, and that
/// earlier and later launches carry no replay number.
fn assert_replays(plain: u32, [first, second]: [u32; 2], replays: u64) {
    let program = step_program();
    // All lanes of the 64 cores at full size, and of a plain run's cores, are checked alike.
    let core_count = full_or(CORES, 8);
    let cores = first_workers(&SimulatedMesh::new(&wormhole()).unwrap(), core_count);
    let launch = |id| Launch::new(&program, id).on(cores.clone());
    let (of_first, of_second) = (101..101 + first, 201..201 + second);
    let traces =
        [Trace::new(4, of_first.clone().map(launch)), Trace::new(9, of_second.clone().map(launch))];
    // A launch after the last replay belongs to no replay.
    let mut launches: Vec<Launch> = (1..plain).map(launch).collect();
    for _ in 0..replays {
        launches.extend(traces.iter().flat_map(Trace::replay));
    }
    launches.push(launch(plain));
    let mut outcome = run(&wormhole(), launches.clone(), CaptureMode::Workers);
    book_of(&launches).name_runs(&mut outcome.readout);
    assert_eq!(outcome.readout.lanes().count(), core_count * RISCS);
    for lane in outcome.readout.lanes() {
        let mut programs: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        for run in &lane.runs {
            programs.entry(run.trace).or_default().push(run.program.base());
        }
        let replays = (1..=replays).flat_map(|counter| {
            [(4, of_first.clone()), (9, of_second.clone())].map(|(trace_id, programs)| {
                (Some(TraceReplay { trace_id, counter }), programs.collect())
            })
        });
        let expected = replays.chain([(None, (1..=plain).collect())]);
        assert_eq!(programs, expected.collect(), "{}", lane.id);
    }
}

/// TT-Metal's `test_trace_run` in two sizes: 4 launches outside of traces, 5 ops in traces and
/// three replays of each trace; then 12 launches, 10 ops and two replays.
#[test]
fn each_of_two_traces_has_every_replay_once() {
    assert_replays(4, [3, 2], 3);
    assert_replays(12, [6, 4], 2);
}

#[test]
fn cores_count_replays_that_begin_on_others() {
    let program = step_program();
    let config = wormhole();
    let workers = workers(&config);
    let on =
        |id, cores: &[TileCoord]| Launch::new(&program, id).on(CoreSelection::At(cores.to_vec()));
    // The first op of the trace runs on one core only.
    let trace = Trace::new(3, [on(1, &workers[..1]), on(2, &workers[1..])]);
    let launches: Vec<Launch> = (0..4).flat_map(|_| trace.replay()).collect();
    let mut outcome = run(&config, launches.clone(), CaptureMode::Workers);
    let named = book_of(&launches).name_runs(&mut outcome.readout);
    assert_eq!(named, NamedRuns { named: (CORES * RISCS * 4) as u64, unknown: 0 });
    for lane in outcome.readout.lanes() {
        let counters: Vec<_> = lane.runs.iter().map(|run| run.trace.unwrap().counter).collect();
        assert_eq!(counters, [1, 2, 3, 4], "{}", lane.id);
    }
}

/// Returns a program in which the two data-movement RISCs record more NoC events than their vectors
/// hold, so they push within the launch.
fn noc_program() -> Arc<Program> {
    const EVENTS: usize = 24;
    let steps = (0..EVENTS).flat_map(|event| {
        let push = (event % 10 == 9).then_some(Step::QuickPush);
        std::iter::once(Step::TransferWithAddresses(Movement::Write(2048, false))).chain(push)
    });
    let kernel = Script::new(steps.collect()).unwrap();
    let kernel: Arc<dyn Kernel> = Arc::new(kernel);
    let program = Program::new("noc").with_kernel(Risc::Brisc, Arc::clone(&kernel));
    Arc::new(program.with_kernel(Risc::Ncrisc, kernel))
}

/// TT-Metal's `test_quick_push_on_noc_profiler`: five ops with NoC events, replayed 600 times (in a
/// plain run, 150 times). All pushed parts of a run belong to the same replay.
#[test]
fn what_is_pushed_on_the_way_keeps_its_replay_on_both_riscs_that_move_data() {
    let config = wormhole();
    let cores = workers(&config)[..2].to_vec();
    let program = noc_program();
    let launch = |id| Launch::new(&program, id).on(CoreSelection::At(cores.clone()));
    let trace = Trace::new(7, (1..=5).map(launch));
    let mut mesh = SimulatedMesh::new(&config).unwrap();
    init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
    let mut reader = Reader::new(ReadOptions::default());
    let (mut readout, mut launches) = (Readout::default(), Vec::new());
    let replay_count = full_or(600, 150);
    let parts = replay_count / 10;
    for part in 0..parts {
        let replays: Vec<Launch> = (0..10).flat_map(|_| trace.replay()).collect();
        launches.extend(replays.iter().cloned());
        mesh.enqueue_phase(&Phase { launches: replays });
        mesh.run_to_completion();
        reader.options_mut().last_read = part + 1 == parts;
        readout.append(reader.read(&mut mesh).unwrap());
    }
    let mut outcome = outcome(readout, &mesh);
    assert!(outcome.readout.losses.is_empty(), "{:?}", outcome.readout.losses.total());
    assert_eq!(book_of(&launches).name_runs(&mut outcome.readout).unknown, 0);
    let mut noc_events = 0;
    let expected: Vec<_> =
        (1..=replay_count).flat_map(|n| (1..=5).map(move |id| (7, n, id))).collect();
    for lane in
        outcome.readout.lanes().filter(|lane| matches!(lane.id.risc, Risc::Brisc | Risc::Ncrisc))
    {
        let mut found: Vec<_> = lane
            .runs
            .iter()
            .map(|run| {
                let replay = run.trace.unwrap();
                (replay.trace_id, replay.counter, run.program.base())
            })
            .collect();
        noc_events += lane.records().filter(|record| !record.data.is_empty()).count();
        found.dedup();
        assert!(found == expected, "{}: {} runs", lane.id, found.len());
    }
    let mut log = Vec::new();
    write_device_log(&outcome.readout, &mut log).unwrap();
    let mut starts = BTreeMap::<_, usize>::new();
    for row in String::from_utf8(log).unwrap().lines().skip(2) {
        let cells: Vec<&str> = row.split(',').map(str::trim).collect();
        assert_eq!(cells[8], "7", "{row}");
        assert!((1..=replay_count).contains(&cells[9].parse().unwrap()), "{row}");
        if cells[10].ends_with("RISC-KERNEL") && cells[11] == "ZONE_START" {
            *starts.entry((cells[3].to_owned(), cells[9].to_owned())).or_default() += 1;
        }
    }
    let runs = usize::try_from(5 * replay_count).unwrap();
    assert_eq!(noc_events, 2 * 2 * 24 * runs);
    let is_push = |zone: &Zone| outcome.readout.zones.name(zone.zone) == "PROFILER-NOC-QUICK-PUSH";
    let pushes =
        outcome.timeline.lanes().flat_map(|lane| lane.zones.iter()).filter(is_push).count();
    assert!(pushes >= 2 * 2 * runs, "runs were pushed on their way: {pushes}");
    assert_eq!(starts.len() as u64, 2 * replay_count);
    assert!(starts.values().all(|&count| count == 2 * 5), "five kernels on each of two cores");
}

/// Returns the first kernel start and last kernel end of each replay on one core, from the
/// simulator's truth.
fn envelope_truth(outcome: &Outcome, core: TileCoord, first: u64, ops: u64) -> Vec<(u64, u64)> {
    let mut envelopes: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for risc in (0..RISCS).filter_map(|index| CoreKind::Tensix.risc(index)) {
        let key = RiscKey { chip_id: 0, core, risc };
        for launch in &outcome.truth.launches[&key] {
            let (Some(index), Some(kernel)) =
                (launch.launch_index.checked_sub(first), launch.kernel)
            else {
                continue;
            };
            let envelope = envelopes.entry(index / ops).or_insert((u64::MAX, 0));
            envelope.0 = envelope.0.min(kernel.start.0);
            envelope.1 = envelope.1.max(kernel.end.0);
        }
    }
    envelopes.into_values().collect()
}

/// TT-Metal's `test_device_trace_run`: five firmware and five kernel durations.
#[test]
fn trace_only_mode_records_one_envelope_per_replay_and_core() {
    for arch in Arch::ALL {
        let config = in_one_epoch(arch).with_trace_only();
        let mut launches = launches_of_workload(&config, "trace-replay");
        let mut cores = workers(&config);
        // A run on all cores would take a minute.
        cores.truncate(4);
        let few = |launch: Launch| launch.on(CoreSelection::At(cores.clone()));
        launches = launches.into_iter().map(few).collect();
        let outcome = run(&config, launches, CaptureMode::TraceOnly);
        let readout = &outcome.readout;
        assert!(readout.losses.is_empty(), "{:?}", readout.losses);
        let odd: Vec<_> = readout.anomalies.kept().iter().collect();
        assert!(odd.is_empty(), "{odd:?}");
        assert_eq!(readout.lanes().count(), cores.len());
        for (lane, paired) in readout.lanes().zip(outcome.timeline.lanes()) {
            assert_eq!((lane.id.risc, lane.runs.len()), (Risc::TensixAggregate, 5));
            let programs: Vec<u32> = lane.runs.iter().map(|run| run.program.base()).collect();
            assert_eq!(programs, [1, 2, 3, 4, 5], "the number of the replay");
            let names = paired.zones.iter().map(|zone| readout.zones.name(zone.zone));
            let names: Vec<&str> = names.collect();
            assert_eq!(names.iter().filter(|name| name.ends_with("-FW")).count(), 5);
            let kernels = paired.zones.iter().zip(&names);
            let kernels: Vec<_> = kernels
                .filter(|(_, name)| name.ends_with("-KERNEL"))
                .map(|(zone, _)| zone)
                .collect();
            let core = TileCoord { x: lane.id.core.x, y: lane.id.core.y };
            let truth = envelope_truth(&outcome, core, 1, 100);
            assert_eq!((kernels.len(), truth.len()), (5, 5));
            for (zone, (start, end)) in kernels.into_iter().zip(truth) {
                let end_cycle = zone.end_cycle;
                // The probe reads the clock some cycles after the kernel's begin and before its
                // end.
                assert!((start..start + 80).contains(&zone.start_cycle), "{start} {zone:?}");
                assert!((end - 80..=end).contains(&end_cycle), "{end} {zone:?}");
            }
        }
        let ops = ops_of(readout);
        let durations = |span: fn(&Op) -> bool| ops.iter().filter(|op| span(op)).count();
        assert_eq!(durations(|op| op.trace_firmware.is_some()), 5);
        assert_eq!(durations(|op| op.trace_kernel.is_some()), 5);
        assert_eq!(durations(|op| op.kernel.is_some()), 5);
    }
}

/// TT-Metal's `test_sub_device_profiler`: three programs on two sub-devices.
#[test]
fn sub_devices_run_side_by_side_on_disjoint_cores() {
    let config = in_one_epoch(Arch::WormholeB0);
    let launches = launches_of_workload(&config, "sub-devices");
    let outcome = run(&config, launches, CaptureMode::Workers);
    assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
    let mut cores: BTreeMap<u32, BTreeSet<_>> = BTreeMap::new();
    for lane in outcome.readout.lanes() {
        for run in &lane.runs {
            cores.entry(run.program.base()).or_default().insert(lane.id.core);
        }
    }
    assert_eq!(cores.values().map(BTreeSet::len).collect::<Vec<_>>(), [32, 32, 32]);
    assert!(cores[&1].is_disjoint(&cores[&2]));
    assert_eq!(cores[&2], cores[&3]);
    let ops = ops_of(&outcome.readout);
    let kernels: BTreeMap<u32, _> =
        ops.iter().map(|op| (op.run_host_id >> 10, op.kernel.unwrap())).collect();
    let [first, second, third] = [kernels[&1], kernels[&2], kernels[&3]];
    assert!(first.start_cycle < second.start_cycle && second.start_cycle < first.end_cycle);
    assert!(third.start_cycle > second.end_cycle);
    // The chip is idle from the time at which nothing runs, not from the end of the previous op.
    let idle_from = first.end_cycle.max(second.end_cycle);
    let latencies: Vec<_> = ops.iter().map(|op| op.op_to_op_latency_cycles).collect();
    assert_eq!(latencies, [Some(0), None, third.start_cycle.checked_sub(idle_from)]);
}
