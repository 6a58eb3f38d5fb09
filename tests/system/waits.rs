//! Compares the records of waits that the host reads with the waits of the simulated kernels.
//!
//! To repeat a single failing seed:
//!
//! ```text
//! KPROF_WAITS_SEED=7 cargo test -p tests --test system waits
//! ```
//!
//! `KPROF_WAITS_COUNT` sets the number of seeds, half of them fresh.

use crate::support::{Outcome, Session};
use host_reader::{
    analysis::Report,
    causes::{Explanation, StepKind},
    lane::LaneId,
    readout::Readout,
    recording::Recording,
};
use sim::{
    arch::{Arch, TileCoord},
    config::{ChipConfig, MeshConfig, WaitRecords},
    kernel::ObjectKernel,
    program::{CoreSelection, Program},
    random::Stream,
    truth::{RiscKey, Truth},
    workload::{PipelineShape, Plan, WorkloadOptions},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use wire::{
    CoreKind, Risc, RunHostId,
    wait::{
        BlockedWait, SignalKind, SyncWindows, WAIT_TOTAL_ZONE, WaitKind, WaitTotal, WindowedWait,
    },
};

/// A launch on a RISC.
type Run = (RiscKey, RunHostId);
/// Cycles and number of waits, by the kind and key of the wait.
type Totals = BTreeMap<(u8, u32), (u64, u64)>;

/// Cycles from the awaited event to the end of the loop, including the poll that detects the event:
/// a load of at most 8 cycles, a branch, and 4 cycles for a mispredicted branch.
const POLL_CYCLES: u64 = 16;

/// Cycles for which four queued stores of a RISC occupy its L1 port; each store takes five cycles.
/// A reading of the clock waits for earlier stores.
const QUEUE_CYCLES: u64 = 4 * 5;

/// Cycles from the clock reading at the end of a wait to the reading for its record: a call, the
/// comparison with the windows and the prologues of two functions, some 35 instructions.
const RECORD_CYCLES: u64 = 36;

/// Cycles by which two other RISCs may delay a poll of a semaphore in L1. BRISC, NCRISC and TRISC 0
/// share a port, and each may store a signal and a wait at once: ten words of five cycles.
const PORT_CYCLES: u64 = 2 * 10 * 5;

/// Usual maximum difference between the recorded and the true cycles of a wait.
const USUAL_CYCLES: u64 = POLL_CYCLES + QUEUE_CYCLES;

/// Returns the maximum difference, including delays of polls by other RISCs.
fn tolerance_cycles(kind: WaitKind) -> u64 {
    USUAL_CYCLES + if kind == WaitKind::SEM_WAIT { PORT_CYCLES } else { 0 }
}

/// Number of waits that blocked, and number of these waits in which other RISCs delayed a poll.
#[derive(Clone, Copy, Debug, Default)]
struct Blocked {
    count: u64,
    held_up: u64,
}

impl Blocked {
    /// Checks the recorded length of a wait.
    fn add(&mut self, kind: WaitKind, [found, truth]: [u64; 2], place: &str) {
        let off = found.abs_diff(truth);
        assert!(off <= tolerance_cycles(kind), "{kind:?}: {found} cycles for {truth}, {place}");
        self.count += 1;
        self.held_up += u64::from(off > USUAL_CYCLES);
    }

    /// Asserts that other RISCs delay fewer than one wait in a hundred.
    #[track_caller]
    fn assert_seldom_held_up(&self) {
        println!("{self:?}");
        assert!(self.held_up * 100 <= self.count, "{self:?}");
    }
}

/// Records of a launch on a RISC.
#[derive(Default)]
struct Found {
    totals: Totals,
    /// Blocked waits, each with the time of its record.
    waits: Vec<(BlockedWait, u64)>,
    signal_count: usize,
}

fn run_key(lane: LaneId, program: RunHostId) -> Run {
    let coord = |value: u32| u16::try_from(value).unwrap();
    let (x, y) = (u32::from(lane.core.x), u32::from(lane.core.y));
    let core = TileCoord { x: coord(x), y: coord(y) };
    (RiscKey { chip_id: lane.chip_id, core, risc: lane.risc }, program)
}

fn found(readout: &Readout) -> BTreeMap<Run, Found> {
    let mut all: BTreeMap<Run, Found> = BTreeMap::new();
    for lane in readout.devices.iter().flat_map(|device| &device.lanes) {
        let records: Vec<_> = lane.records().collect();
        for (index, run) in lane.runs.iter().enumerate() {
            let found = all.entry(run_key(lane.id, run.program)).or_default();
            for record in &records[lane.run_records(index)] {
                let name = readout.zones.name(record.zone);
                match *record.data {
                    [first, second] if name == WAIT_TOTAL_ZONE => {
                        let total = WaitTotal::from_data([first, second]).unwrap();
                        let sums = (u64::from(total.cycles), u64::from(total.waits));
                        let before = found.totals.insert((total.kind.0, total.key), sums);
                        assert_eq!(before, None, "two totals of one object");
                    }
                    [first, second] => {
                        let windowed = WindowedWait::from_data([first, second]);
                        assert!(windowed.is_none_or(|of| of.windows == WINDOWS));
                        let wait = windowed.map(|of| of.wait);
                        let wait = wait.or_else(|| BlockedWait::from_data([first, second]));
                        let wait = wait.unwrap();
                        assert_eq!(wait.kind.zone_name(), Some(name));
                        found.waits.push((wait, record.time));
                    }
                    [_] => {
                        assert!(SignalKind::from_zone_name(name).is_some(), "{name}");
                        found.signal_count += 1;
                    }
                    _ => {}
                }
            }
        }
    }
    all
}

fn expected(truth: &Truth) -> BTreeMap<Run, Vec<&sim::truth::WaitTruth>> {
    let mut all: BTreeMap<Run, Vec<_>> = BTreeMap::new();
    for (&key, waits) in &truth.waits {
        for wait in waits {
            let program = RunHostId::encode(wait.program_id, key.chip_id);
            all.entry((key, program)).or_default().push(wait);
        }
    }
    all
}

fn random_shape(random: &mut Stream) -> PipelineShape {
    let mut draw = |low, high| u32::try_from(random.between(low, high)).unwrap();
    PipelineShape {
        tiles: draw(1, 40),
        reader: draw(50, 2500),
        unpack: draw(20, 900),
        compute: draw(50, 2500),
        pack: draw(20, 900),
        writer: draw(50, 2500),
        input: draw(1, 8),
        output: draw(1, 8),
        barrier: draw(0, 100),
        straggler: draw(0, 60),
        jitter: draw(0, 60),
        ahead: draw(0, 3),
        group: draw(0, 6),
        unicast: draw(0, 1),
    }
}

fn play(seed: u64, records: WaitRecords, shape: PipelineShape) -> Outcome {
    let arch = Arch::ALL[usize::from(seed % 2 == 1)];
    let config = MeshConfig::new(seed)
        .with_chip(ChipConfig::new(arch).with_epoch_max_cycles(0))
        .with_wait_records(records);
    run_pipeline(&config, seed, shape)
}

/// Runs a pipeline on the first row of worker cores and on the last core, which has the straggler.
fn run_pipeline(config: &MeshConfig, seed: u64, shape: PipelineShape) -> Outcome {
    let options =
        WorkloadOptions { ops: Some(2), seed, pipeline: shape, ..WorkloadOptions::default() };
    let mut session = Session::new(config, "pipeline", &options, Vec::new());
    let cores = session.mesh.chip(0).unwrap().plan().cores().iter();
    let workers = cores.filter(|core| core.kind == CoreKind::Tensix).map(|core| core.coord);
    let rows = workers.clone().map(|core| core.y);
    let rows = [rows.clone().min(), rows.max()];
    let chosen: Vec<_> = workers.filter(|core| rows.contains(&Some(core.y))).collect();
    choose_cores(&mut session, &chosen);
    session.run()
}

fn choose_cores(session: &mut Session, cores: &[TileCoord]) {
    for launch in session.plan.phases.iter_mut().flat_map(|phase| &mut phase.launches) {
        *launch = launch.clone().on(CoreSelection::At(cores.to_vec()));
    }
}

/// Compares a run with the truth.
fn compare(seed: u64, blocked: &mut Blocked) {
    let mut random = Stream::new(seed, &[0x7761_6974]);
    let shape = random_shape(&mut random);
    let records = random_records(&mut random);
    let outcome = play(seed, records, shape);
    compare_outcome(&outcome, records, &format!("seed {seed}, {shape:?}"), blocked);
}

fn random_records(random: &mut Stream) -> WaitRecords {
    if random.below(2) == 0 { WaitRecords::Totals } else { WaitRecords::Events }
}

/// Compares the records read with the truth.
fn compare_outcome(outcome: &Outcome, records: WaitRecords, of: &str, blocked: &mut Blocked) {
    assert!(outcome.failures.is_empty(), "{of}: {:?}", outcome.failures);
    assert!(outcome.readout.anomalies.is_empty(), "{of}: {:?}", outcome.readout.anomalies);
    let place = |run: &Run| format!("{run:?}, {of}");
    let (found, expected) = (found(&outcome.readout), expected(&outcome.truth));
    assert!(expected.keys().all(|run| found.contains_key(run)), "{of}");
    compare_statistics(&outcome.readout, &found, of);
    for (run, found) in found {
        let waits = expected.get(&run).map_or(&[][..], Vec::as_slice);
        let mut totals = Totals::new();
        for wait in waits {
            let sums = totals.entry((wait.kind.0, wait.key)).or_default();
            *sums = (sums.0 + wait.cycles, sums.1 + 1);
        }
        // Records that did not fit into the ring are in the ledger; the truth test counts them.
        let lost = 250 < 4 + 3 * found.waits.len() + 2 * found.signal_count + 3 * totals.len();
        if !lost {
            assert!(found.totals.keys().eq(totals.keys()), "{}", place(&run));
        }
        for (object, &(cycles, count)) in &found.totals {
            let (true_cycles, true_count) = totals[object];
            assert_eq!(count, true_count, "{object:?}, {}", place(&run));
            // Other RISCs delay at most one wait in ten; of fewer than ten waits, at most one.
            let most = USUAL_CYCLES * count
                + (tolerance_cycles(WaitKind(object.0)) - USUAL_CYCLES) * count.div_ceil(10);
            assert!(
                cycles.abs_diff(true_cycles) <= most,
                "{object:?}: {count} waits, {cycles} cycles for {true_cycles}, {}",
                place(&run)
            );
            if records == WaitRecords::Totals {
                blocked.count += count;
            }
        }
        if records == WaitRecords::Totals {
            assert!(found.waits.is_empty() && found.signal_count == 0, "{}", place(&run));
        } else if !lost {
            compare_waits(&found, waits, &place(&run), blocked);
        }
    }
}

/// Compares the figures of waits with the records: with totals if there are any, otherwise with
/// single waits.
fn compare_statistics(readout: &Readout, found: &BTreeMap<Run, Found>, of: &str) {
    #[derive(Default)]
    struct Group {
        cores: BTreeSet<(u16, u16)>,
        count: u64,
        cycles: u64,
        singles: Vec<u64>,
    }
    let mut groups: BTreeMap<(u32, Risc, u8, u32), Group> = BTreeMap::new();
    for ((key, _), found) in found {
        let id = |(kind, object): (u8, u32)| (key.chip_id, key.risc, kind, object);
        let mut sums = Totals::new();
        for (wait, _) in &found.waits {
            let sum = sums.entry((wait.kind.0, wait.key)).or_default();
            *sum = (sum.0 + u64::from(wait.cycles), sum.1 + 1);
            let group = groups.entry(id((wait.kind.0, wait.key))).or_default();
            group.singles.push(wait.cycles.into());
        }
        sums.extend(&found.totals);
        for (object, (cycles, count)) in sums {
            let group = groups.entry(id(object)).or_default();
            group.cores.insert((key.core.x, key.core.y));
            (group.count, group.cycles) = (group.count + count, group.cycles + cycles);
        }
    }
    let is_whole = readout.losses.is_empty();
    let rows = Report::new(readout).waits;
    assert_eq!(rows.len(), groups.len(), "{of}");
    for row in rows {
        let mut group = groups.remove(&(row.chip_id, row.risc, row.kind.0, row.key)).unwrap();
        group.singles.sort_unstable();
        let is_known = group.singles.len() as u64 == group.count;
        let longest = group.singles.last().copied().filter(|_| is_known);
        let count = group.singles.len();
        let middle = || group.singles[(count - 1) / 2].midpoint(group.singles[count / 2]);
        assert_eq!((row.count, row.core_count), (group.count, group.cores.len() as u64), "{of}");
        assert_eq!((row.total_cycles, row.max_cycles), (group.cycles, longest), "{of}");
        assert_eq!(row.median_cycles, is_known.then(middle), "{of}");
        assert!(!row.is_lower_bound || !is_whole, "{row:?} {of}");
    }
}

fn compare_waits(
    found: &Found,
    waits: &[&sim::truth::WaitTruth],
    place: &str,
    blocked: &mut Blocked,
) {
    assert_eq!(found.waits.len(), waits.len(), "{place}");
    for ((record, time), wait) in found.waits.iter().zip(waits) {
        assert_eq!((record.kind, record.key), (wait.kind, wait.key), "{place}");
        blocked.add(wait.kind, [record.cycles.into(), wait.cycles], place);
        assert!(is_at_end(wait, *time), "{time} for {wait:?}, {place}");
    }
}

/// Returns true if the time of a record can be the end of the wait.
fn is_at_end(wait: &sim::truth::WaitTruth, time: u64) -> bool {
    let end = (wait.begin.0 + wait.cycles) & ((1 << 44) - 1);
    time.abs_diff(end) <= tolerance_cycles(wait.kind) + RECORD_CYCLES
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}

#[test]
fn waits_that_are_read_are_those_that_blocked() {
    let mut blocked = Blocked::default();
    if let Some(seed) = number("KPROF_WAITS_SEED") {
        compare(seed, &mut blocked);
        return println!("{blocked:?}");
    }
    let count = number("KPROF_WAITS_COUNT").unwrap_or(4);
    let fresh = Stream::new(u64::from(std::process::id()), &[0x7761_6974]).below(1 << 40);
    println!("fresh seeds from {fresh}");
    let seeds = (0..count / 2).chain(fresh..fresh + count / 2);
    seeds.for_each(|seed| compare(seed, &mut blocked));
    blocked.assert_seldom_held_up();
    assert!(blocked.count > 500 * count, "{blocked:?}");
}

#[test]
fn kernels_that_record_no_waits_leave_none() {
    let outcome = play(4, WaitRecords::Off, PipelineShape::default());
    assert!(outcome.truth.kernel_run_count() > 0);
    let records = outcome.readout.devices.iter().flat_map(|device| &device.lanes);
    assert!(records.flat_map(|lane| &lane.data).next().is_none());
}

/// Runs the kernels of a session on two worker cores of a chip.
fn play_on_two_cores(seed: u64, records: WaitRecords, plan: impl FnOnce(&mut Session)) -> Outcome {
    let arch = Arch::ALL[usize::from(seed % 2 == 1)];
    let config = MeshConfig::new(seed)
        .with_chip(ChipConfig::new(arch).with_epoch_max_cycles(0))
        .with_wait_records(records);
    let mut session = Session::new(&config, "pipeline", &WorkloadOptions::default(), Vec::new());
    plan(&mut session);
    let cores = session.mesh.chip(0).unwrap().plan().cores();
    let workers = cores.iter().filter(|core| core.kind == CoreKind::Tensix);
    let skipped = usize::try_from(seed % 40).unwrap();
    let chosen: Vec<_> = workers.skip(skipped).take(2).map(|core| core.coord).collect();
    choose_cores(&mut session, &chosen);
    session.run()
}

/// Five RISCs form a pipeline with a slow third RISC. The first two wait for room, the last two for
/// tiles, and each RISC records its waits in every launch.
#[test]
fn every_risc_of_both_chips_records_its_waits() {
    const NONE: u32 = u32::MAX;
    const TILES: u32 = 12;
    let chain = [Risc::Ncrisc, Risc::Trisc0, Risc::Trisc1, Risc::Trisc2, Risc::Brisc];
    let cycles = [300, 200, 900, 250, 350];
    for seed in 0..2 {
        let outcome = play_on_two_cores(seed, WaitRecords::Totals, |session| {
            let mut program = Program::new("chain");
            for ((number, risc), cycles) in (0..).zip(chain).zip(cycles) {
                let input = if number == 0 { NONE } else { number };
                let output = if number == 4 { NONE } else { number + 1 };
                let words = [TILES, cycles, 0, input, output, 3, 0, 0, 0, NONE, 0, NONE];
                program = program
                    .with_kernel(risc, Arc::new(ObjectKernel::new("pass_tiles").with_data(words)));
            }
            session.plan = Plan::launching(&Arc::new(program), 3, &[]);
        });
        let place = format!("chain, seed {seed}");
        let mut blocked = Blocked::default();
        compare_outcome(&outcome, WaitRecords::Totals, &place, &mut blocked);
        assert!(blocked.count > 0);
        let found = found(&outcome.readout);
        assert_eq!(found.len(), 2 * 3 * 5, "two cores, three launches");
        for ((key, _), found) in found {
            let number = chain.iter().position(|&risc| risc == key.risc).unwrap();
            // All waits for the slow RISC are recorded, except the waits for the first tiles.
            let (kind, buffer, least) = match number {
                0 | 1 => (WaitKind::CB_RESERVE, number + 1, 5),
                2 => (WaitKind::CB_WAIT, number, 1),
                _ => (WaitKind::CB_WAIT, number, 10),
            };
            let object = (kind.0, u32::try_from(buffer).unwrap());
            let waits = found.totals.get(&object).map_or(0, |sums| sums.1);
            assert!(waits >= least, "{place}, {key:?}: {:?}", found.totals);
        }
    }
}

/// Windows of a mesh that records waits in windows: one eighth of the time.
const WINDOWS: SyncWindows = SyncWindows::DEFAULT;

/// Waits with a record of their own, and the number of waits that are only part of totals.
#[derive(Debug, Default)]
struct Windowed {
    told: Blocked,
    untold: u64,
}

/// Returns the cycles of a wait that are within windows. If there are none, also returns the
/// distance to the nearest window.
fn in_windows(begin: u64, end: u64) -> (u64, u64) {
    let (length, period) = (u64::from(WINDOWS.length()), u64::from(WINDOWS.period()));
    let of_window = |opens: u64| end.min(opens + length).saturating_sub(begin.max(opens));
    let first = begin - begin % period;
    let inside = (0..).map(|n| first + n * period).take_while(|&opens| opens <= end).map(of_window);
    let before = begin.saturating_sub(first + length);
    (inside.sum(), before.min((period - end % period) % period))
}

/// Returns the number of emitted records of waits and signals, from the simulator's count.
fn emitted_data(truth: &Truth) -> u64 {
    truth.launches.values().flatten().map(|launch| launch.emitted.data).sum()
}

fn compare_windows(seed: u64, windowed: &mut Windowed) {
    let mut random = Stream::new(seed, &[0x7769_6E64]);
    let shape = random_shape(&mut random);
    let arch = Arch::ALL[usize::from(seed % 2 == 1)];
    let config = MeshConfig::new(seed)
        .with_chip(ChipConfig::new(arch).with_epoch_max_cycles(0))
        .with_sync_windows();
    let outcome = run_pipeline(&config, seed, shape);
    let of = format!("windows, seed {seed}, {shape:?}");
    assert!(outcome.readout.anomalies.is_empty(), "{of}: {:?}", outcome.readout.anomalies);
    let is_whole = outcome.readout.losses.is_empty();
    let (found, expected) = (found(&outcome.readout), expected(&outcome.truth));
    let mut sums: BTreeMap<(u32, u8, u32, Risc), u64> = BTreeMap::new();
    for (run, waits) in &expected {
        let Some(found) = found.get(run) else { panic!("{run:?}, {of}") };
        let mut told = found.waits.iter();
        let mut next = told.next();
        for wait in waits {
            let begin = wait.begin.0;
            let (inside, apart) = in_windows(begin, begin + wait.cycles);
            // The record's time decides whether the wait is recorded.
            let late = tolerance_cycles(wait.kind) + RECORD_CYCLES;
            let same = |(record, time): &&(BlockedWait, u64)| {
                (record.kind, record.key) == (wait.kind, wait.key) && is_at_end(wait, *time)
            };
            if let Some((record, _)) = next.filter(same) {
                // Each record matches a true wait that may be partly in a window.
                windowed.told.add(wait.kind, [record.cycles.into(), wait.cycles], &of);
                assert!(inside > 0 || apart <= late, "{wait:?}, {of}");
                next = told.next();
            } else {
                let is_told = inside > late && is_whole;
                assert!(!is_told, "{wait:?}: {inside} in windows, next {next:?}, {run:?}, {of}");
                windowed.untold += 1;
            }
            let program = run.1.0;
            let sum = sums.entry((program, wait.kind.0, wait.key, run.0.risc)).or_default();
            *sum += 1;
        }
        assert!(next.is_none(), "{next:?} was none, {run:?}, {of}");
    }
    let kept = found.values().map(|of| of.waits.len() + of.signal_count + of.totals.len());
    let kept: usize = kept.sum();
    assert!(!is_whole || kept as u64 == emitted_data(&outcome.truth), "{kept}, {of}");
    let explanation = Explanation::from_recording(&Recording::from_readout(outcome.readout));
    for op in explanation.ops.iter().filter(|_| is_whole) {
        // The totals include the waits outside of windows.
        for wait in &op.waits {
            for of_object in &wait.sums {
                let is_object = |key: &&(u32, u8, u32, Risc)| {
                    let kind = WaitKind(key.1).name().unwrap();
                    (key.0, kind, key.2, key.3)
                        == (op.run_host_id, of_object.kind, of_object.key, wait.risc)
                };
                let key = sums.keys().find(is_object).copied().unwrap();
                assert_eq!(sums.remove(&key), Some(of_object.waits), "{key:?}, {of}");
            }
        }
        assert_eq!(op.known_percent, None, "{of}");
        if let Some(percent) = op.windows_percent {
            assert!(percent < 100.0, "{of}");
            let question = "the critical path outside of the recorded windows";
            assert!(explanation.untold.iter().any(|of| of.question == question), "{of}");
        }
        if let Some(path) = &op.critical_path {
            assert!(path.cycles > 0, "a path of nothing is unknown, {of}");
        }
    }
    assert!(!is_whole || sums.is_empty(), "{sums:?}, {of}");
}

#[test]
fn waits_in_windows_are_told_and_those_outside_are_only_in_sums() {
    let mut windowed = Windowed::default();
    if let Some(seed) = number("KPROF_WAITS_SEED") {
        compare_windows(seed, &mut windowed);
        return println!("{windowed:?}");
    }
    let count = number("KPROF_WAITS_COUNT").unwrap_or(8);
    let fresh = Stream::new(u64::from(std::process::id()), &[0x7769_6E64]).below(1 << 40);
    println!("fresh seeds from {fresh}");
    (0..count / 2)
        .chain(fresh..fresh + count / 2)
        .for_each(|seed| compare_windows(seed, &mut windowed));
    windowed.told.assert_seldom_held_up();
    let Windowed { told, untold } = windowed;
    assert!(told.count > 100 && untold > told.count, "{told:?}, {untold} untold");
}

/// Numbers of waits by cause, in pipelines with cores that share readers. The steps of critical
/// paths and the waits for semaphores are compared with the true sender of each increment.
#[derive(Default)]
struct Joins {
    /// Steps of paths from one core to another.
    on_paths: u64,
    decided: u64,
    unknown: u64,
}

fn compare_joins(seed: u64, joins: &mut Joins) {
    let mut random = Stream::new(seed, &[0x6A6F_696E]);
    let mut shape = random_shape(&mut random);
    // The rings hold all records, so that each wait is in the recording.
    (shape.tiles, shape.group) = (shape.tiles.min(12), 2 + shape.group);
    let outcome = play(seed, WaitRecords::Events, shape);
    let of = format!("seed {seed}, {shape:?}");
    let is_whole = outcome.readout.losses.is_empty();
    let explanation = Explanation::from_recording(&Recording::from_readout(outcome.readout));
    let expected = expected(&outcome.truth);
    for op in &explanation.ops {
        let program = RunHostId(op.run_host_id);
        // Number of waits at semaphores that each RISC has ended.
        let mut released: BTreeMap<(u32, (u16, u16), Risc), u64> = BTreeMap::new();
        let of_op = || expected.iter().filter(|((_, of), _)| *of == program);
        let semaphores =
            || of_op().flat_map(|(_, waits)| waits).filter(|wait| wait.kind == WaitKind::SEM_WAIT);
        for (wait, by) in semaphores().filter_map(|wait| Some((wait, wait.released_by?))) {
            *released.entry((wait.key, (by.core.x, by.core.y), by.risc)).or_default() += 1;
        }
        let mut total = 0;
        for wait in &op.semaphores {
            total += wait.waits;
            let Some(by) = wait.by else {
                joins.unknown += wait.waits;
                continue;
            };
            joins.decided += wait.waits;
            let truth = released.get(&(wait.key, by.core, by.risc)).copied().unwrap_or(0);
            assert!(wait.waits <= truth, "{wait:?}: {truth}, {of}");
        }
        if is_whole {
            assert_eq!(total, semaphores().count() as u64, "{of}");
        }
        let path = op.critical_path.as_ref().unwrap();
        for pair in path.steps.windows(2) {
            let Some(("SEM_WAIT", key)) =
                pair[1].wait.filter(|_| pair[1].kind == StepKind::Handoff)
            else {
                continue;
            };
            let waiter = |run: &Run| {
                let at = (run.0.core.x, run.0.core.y);
                (at, run.0.risc) == (pair[1].core, pair[1].risc)
            };
            let ended = |wait: &&&sim::truth::WaitTruth| {
                wait.key == key && is_at_end(wait, pair[1].end_cycle)
            };
            let mut waits = of_op().filter(|(run, _)| waiter(run)).flat_map(|(_, waits)| waits);
            let by = waits.find(ended).unwrap().released_by.unwrap();
            let found = (pair[0].core, pair[0].risc);
            assert_eq!(found, ((by.core.x, by.core.y), by.risc), "{pair:?}, {of}");
            let sent = by.sent.0 & ((1 << 44) - 1);
            assert!(sent.abs_diff(pair[1].start_cycle) <= 64, "{sent}, {pair:?}, {of}");
            joins.on_paths += u64::from(pair[0].core != pair[1].core);
        }
    }
}

#[test]
fn waits_for_other_cores_are_joined_to_who_has_ended_them() {
    let mut joins = Joins::default();
    if let Some(seed) = number("KPROF_WAITS_SEED") {
        return compare_joins(seed, &mut joins);
    }
    let count = number("KPROF_WAITS_COUNT").unwrap_or(4);
    let fresh = Stream::new(u64::from(std::process::id()), &[0x6A6F_696E]).below(1 << 40);
    println!("fresh seeds from {fresh}");
    (0..count / 2).chain(fresh..fresh + count / 2).for_each(|seed| compare_joins(seed, &mut joins));
    // Fixed seeds are used until each kind of cause has occurred.
    let mut more = count / 2..400;
    while joins.on_paths < 20 || joins.unknown == 0 {
        compare_joins(more.next().unwrap(), &mut joins);
    }
    let Joins { on_paths, decided, unknown } = joins;
    println!("{on_paths} joins on paths, {decided} waits decided, {unknown} unknown");
    assert!(decided > unknown, "{decided} decided, {unknown} unknown");
}
