//! Compares figures of ops with the simulator's truth: figures that are shown are correct, and
//! figures of an op with a gap in its records are empty.
//!
//! To repeat a single failing run:
//!
//! ```text
//! KPROF_FIGURES_SEED=7 cargo test -p tests --test system figures
//! ```
//!
//! `KPROF_FIGURES_COUNT` sets the number of fresh seeds; two thirds of this number are fixed seeds.

use crate::support::{Session, outcome};
use host_reader::{
    ProfilerOptions, ReadOptions,
    analysis::{Op, ops_of},
    init_device_profiler,
    mesh::Noc0Coord,
    origins::TileOrigins,
    read::Reader,
    readout::Readout,
};
use sim::{
    arch::{Arch, TileCoord},
    config::{ChipConfig, MeshConfig},
    fault::{
        Rule,
        rules::{DelayWrite, LateSubordinate, PushRule, Selection},
    },
    kernel::ObjectKernel,
    mesh::SimulatedMesh,
    program::{CoreSelection, Kernel, Launch, Program},
    random::Stream,
    truth::Truth,
    workload::WorkloadOptions,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

const FRESH_SEEDS: u64 = 2;
/// Seeds that failed in the past: an old payload was read as a marker with a time in the future,
/// which shifted all later times by 2^44 cycles.
const MENDED_SEEDS: [u64; 5] =
    [795_357_502_075, 795_357_502_987, 795_357_503_174, 795_357_503_301, 795_357_503_342];

/// Maximum cycles around a kernel's zone that belong to the kernel in the truth, but not to the
/// zone.
const AROUND_ZONE: u64 = 1_000;

const SECOND_NS: u64 = 1_000_000_000;

/// Time span of a launch's kernels, on the clock of the chip.
#[derive(Clone, Copy, Debug)]
struct TrueSpan {
    program_id: u32,
    start: u64,
    end: u64,
}

/// Returns the launches with kernels of one chip, by start.
fn true_spans(mesh: &SimulatedMesh, truth: &Truth, chip_id: u32) -> Vec<TrueSpan> {
    let chip = mesh.chip(chip_id).unwrap();
    let mut spans = BTreeMap::<u64, TrueSpan>::new();
    for (key, launches) in truth.launches.iter().filter(|(key, _)| key.chip_id == chip_id) {
        let epoch = chip.tile(key.core).unwrap().clock.epoch();
        for launch in launches {
            let Some(kernel) = launch.kernel else { continue };
            let (start, end) = (kernel.start.0 - epoch, kernel.end.0 - epoch);
            let program_id = launch.program_id;
            let span =
                spans.entry(launch.launch_index).or_insert(TrueSpan { program_id, start, end });
            (span.start, span.end) = (span.start.min(start), span.end.max(end));
        }
    }
    let mut spans: Vec<_> = spans.into_values().collect();
    spans.sort_by_key(|span| span.start);
    spans
}

/// Converts all times to the clocks of their chips.
pub(crate) fn align(readout: &mut Readout, mesh: &SimulatedMesh) {
    let mut origins = TileOrigins::default();
    let tiles: BTreeSet<(u32, Noc0Coord)> = readout
        .lanes()
        .map(|lane| lane.id)
        .chain(readout.losses.entries().map(|(key, _)| key.lane))
        .map(|id| (id.chip_id, id.core))
        .collect();
    for (chip_id, core) in tiles {
        let tile = TileCoord { x: core.x, y: core.y };
        let epoch = mesh.chip(chip_id).unwrap().tile(tile).unwrap().clock.epoch();
        origins.set(chip_id, core, i64::try_from(epoch).unwrap());
    }
    origins.align(readout);
}

/// Numbers of figures that were shown and that were empty.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    durations: usize,
    latencies: usize,
    empty: usize,
}

/// Compares every figure shown with the truth.
fn check(readout: &Readout, mesh: &SimulatedMesh, truth: &Truth) -> Result<Shown, String> {
    let mut shown = Shown::default();
    let chip_ids = truth.launches.keys().map(|key| key.chip_id);
    for chip_id in chip_ids.collect::<BTreeSet<_>>() {
        let spans = true_spans(mesh, truth, chip_id);
        for op in ops_of(readout).iter().filter(|op| op.chip_id == chip_id) {
            check_op(op, &spans, &mut shown)?;
        }
    }
    Ok(shown)
}

fn check_op(op: &Op, spans: &[TrueSpan], shown: &mut Shown) -> Result<(), String> {
    let Some(kernel) = op.kernel else {
        shown.empty += 1;
        if op.op_to_op_latency_cycles.is_some() {
            return Err(format!("a latency without a kernel: {op:?}"));
        }
        return Ok(());
    };
    let of_op = |span: &TrueSpan| {
        let overlaps = span.start <= kernel.end_cycle && kernel.start_cycle <= span.end;
        span.program_id == op.run_host_id >> 10 && overlaps
    };
    let index = spans.iter().position(of_op).ok_or_else(|| format!("no launch is {op:?}"))?;
    let span = spans[index];
    shown.durations += 1;
    let is_close = |found: u64, least: u64, most: u64| (least..=most).contains(&found);
    let true_duration = span.end - span.start;
    let least = true_duration.saturating_sub(2 * AROUND_ZONE);
    if !is_close(kernel.duration_cycles, least, true_duration) {
        return Err(format!("took {true_duration}, not {}: {op:?}", kernel.duration_cycles));
    }
    let Some(latency) = op.op_to_op_latency_cycles else {
        shown.empty += usize::from(op.latency_doubt.is_some());
        return Ok(());
    };
    shown.latencies += 1;
    let Some(before) = index.checked_sub(1).map(|before| spans[before]) else {
        return if latency == 0 { Ok(()) } else { Err(format!("the first op waited: {op:?}")) };
    };
    let gap = span.start.saturating_sub(before.end);
    if !is_close(latency, gap, gap + 2 * AROUND_ZONE) {
        return Err(format!("came {gap} cycles after {before:?}, not {latency}: {op:?}"));
    }
    Ok(())
}

fn faults(random: &mut Stream) -> Vec<Arc<dyn Rule>> {
    let part = |parts| Selection::everywhere().parts_per_million(parts);
    let mut rules: Vec<Arc<dyn Rule>> = Vec::new();
    if random.below(2) == 0 {
        rules.push(Arc::new(PushRule::new("lose-write", |_, fate, random| {
            if random.chance(2_000) {
                fate.lose();
            }
        })));
    }
    if random.below(4) == 0 {
        rules.push(Arc::new(DelayWrite { selection: part(1_000), cycles: 10_000_000 }));
    }
    if random.below(4) == 0 {
        rules.push(Arc::new(LateSubordinate { selection: part(3_000), cycles: 1_000_000 }));
    }
    rules
}

/// Runs a workload with lost writes, full lanes and reads during the run.
fn run(seed: u64) -> Result<Shown, String> {
    let mut random = Stream::new(seed, &[0x4649_4755]);
    let arch = [Arch::WormholeB0, Arch::Blackhole][usize::from(random.below(2) == 0)];
    let support_count = [43, 44, 47, 60, 1000][usize::try_from(random.below(5)).unwrap()];
    let config = MeshConfig::new(seed)
        .with_program_support_count(support_count)
        .with_chip(ChipConfig::new(arch));
    let ops = Some(6 + u32::try_from(random.below(20)).unwrap());
    let options = WorkloadOptions { ops, seed, ..WorkloadOptions::default() };
    let rules = faults(&mut random);
    let Session { mut mesh, plan } = Session::new(&config, "random", &options, rules);
    let mut reader = Reader::new(ReadOptions::default());
    let mut readout = Readout::default();
    let (every, wait_ns) = (1 + random.below(8), 200 + random.below(60_000));
    let launches: Vec<_> = plan.phases.iter().flat_map(|phase| &phase.launches).collect();
    for (number, launch) in (0_u64..).zip(launches) {
        mesh.enqueue_everywhere(launch);
        mesh.wait_ns(wait_ns);
        if number % every == 0 {
            readout.append(reader.read(&mut mesh).unwrap());
        }
    }
    mesh.run_to_completion();
    readout.append(reader.read(&mut mesh).unwrap());
    reader.options_mut().last_read = true;
    readout.append(reader.read(&mut mesh).unwrap());
    let mut outcome = outcome(readout, &mesh);
    align(&mut outcome.readout, &mesh);
    check(&outcome.readout, &mesh, &outcome.truth)
}

#[test]
fn no_figure_of_an_op_goes_over_a_hole() {
    let one = std::env::var("KPROF_FIGURES_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let first = tests::seed::fresh();
    let count = std::env::var("KPROF_FIGURES_COUNT");
    let count = count.map_or(FRESH_SEEDS, |count| count.parse().unwrap());
    let fresh = first..first + count;
    let seeds: Vec<u64> = one.map_or_else(
        || (0..count * 2 / 3).chain(MENDED_SEEDS).chain(fresh).collect(),
        |seed| vec![seed],
    );
    println!("fresh seeds from {first} on");
    let (mut total, mut failures) = (Shown::default(), Vec::new());
    for &seed in &seeds {
        match run(seed) {
            Ok(shown) => {
                total.durations += shown.durations;
                total.latencies += shown.latencies;
                total.empty += shown.empty;
            }
            Err(what) => failures.push(format!("seed {seed}: {what}")),
        }
    }
    println!("{total:?}");
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
    if one.is_none() {
        assert!(total.empty > 0, "{total:?}");
        assert!(total.latencies > total.durations / 3, "most are shown: {total:?}");
    }
}

#[test]
fn no_op_of_eight_hours_is_longer_than_it_was() {
    const HOURS: u64 = 8;
    let chip = ChipConfig::new(Arch::WormholeB0).with_epoch_max_cycles(1 << 47);
    let mut mesh = SimulatedMesh::new(&MeshConfig::new(5).with_chip(chip)).unwrap();
    init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
    let kernel: Arc<dyn Kernel> = Arc::new(ObjectKernel::named("work").unwrap());
    let program = Arc::new(Program::new("spin").with_kernel_on_all(&kernel));
    let workers: Vec<TileCoord> = {
        let cores = mesh.chip(0).unwrap().plan().cores();
        cores.iter().filter(|core| core.kind == wire::CoreKind::Tensix).map(|c| c.coord).collect()
    };
    let mut reader = Reader::new(ReadOptions::default());
    let mut readout = Readout::default();
    // Launches are ten minutes apart, and each runs on cores that were idle before.
    let count = u32::try_from(HOURS * 6).unwrap();
    for number in 1..=count {
        let reached = workers.len() * number as usize / count as usize;
        let cores = CoreSelection::At(workers[..reached.max(1)].to_vec());
        let at_ns = u64::from(number) * 600 * SECOND_NS;
        mesh.enqueue_everywhere(
            &Launch::new(&program, number).with_args(&[5_000]).on(cores).not_before_ns(at_ns),
        );
        mesh.run_to_completion();
        readout.append(reader.read(&mut mesh).unwrap());
    }
    reader.options_mut().last_read = true;
    readout.append(reader.read(&mut mesh).unwrap());
    let mut outcome = outcome(readout, &mesh);
    assert!(outcome.readout.losses.is_empty());
    align(&mut outcome.readout, &mesh);
    let shown = check(&outcome.readout, &mesh, &outcome.truth).unwrap();
    assert_eq!((shown.durations, shown.latencies, shown.empty), (48, 48, 0));
    let last = true_spans(&mesh, &outcome.truth, 0).pop().unwrap();
    assert!(last.end > HOURS * 3600 * SECOND_NS * 9 / 10, "eight hours: {last:?}");
}
