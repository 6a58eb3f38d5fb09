//! Unreadable words are reported: in captures that are truncated, have flipped bits, are wrongly
//! assembled or were never finished, and in banks that do not answer.
//!
//! If records are missing, the ledger is not empty, and kept records and known losses never exceed
//! the emitted records. Losses are the same in every output. The seeds are fresh;
//! `KPROF_UNKNOWN_SEED` runs a single seed. `KPROF_UNKNOWN_COUNT` sets the number of wrongly
//! assembled captures; `.ci/full` tries thousands.

use crate::accounting;
use host_reader::{
    ProfilerOptions, ReadOptions,
    analysis::ops_of,
    capture::{Capture, CaptureWriter, CapturedRun, MeshRecorder, SyncPolicy},
    export::{Trace, TraceLoss},
    init_device_profiler,
    lane::LaneId,
    ledger::{LossCause, LossKey, LossTotals, UncountedSource},
    mesh::{AccessError, CoreSelection, Device, DeviceDescription, Mesh, Noc0Coord},
    read::Reader,
    readout::Readout,
    recording::{Recording, TraceFilter},
    report::{OpsOptions, OpsReport},
    tables::{LossRow, Losses, Rows},
    timeline::Timeline,
};
use serde_json::Value;
use sim::{
    arch::Arch,
    config::{ChipConfig, MeshConfig},
    mesh::SimulatedMesh,
    workload::{Workload, WorkloadOptions},
};
use std::collections::BTreeMap;
use tests::{
    fuzz::WholeCapture,
    noise::{self, Dice},
};

const WORKLOADS: [&str; 5] = ["random", "full-buffer", "multi-op-overflow", "matmul", "multi-op"];
const CUTS: usize = 100;
const FLIPS: usize = 1_000;
const DAMAGES: usize = 100;
/// Number of damaged captures from one recording.
const DAMAGES_OF_ONE: usize = 100;

/// A recording in several reads, and its capture.
struct Recorded {
    bytes: Vec<u8>,
    whole: Readout,
    by_lane: BTreeMap<LaneId, u64>,
}

#[test]
fn a_capture_that_was_cut_says_that_records_are_missing() {
    let (mut dice, recorded) = recorded("cut");
    let length = recorded.bytes.len();
    for _ in 0..CUTS {
        let end = dice.below(length);
        check(&recorded, recorded.bytes[..end].to_vec(), || format!("cut at {end} of {length}"));
    }
}

#[test]
fn a_capture_that_was_cut_between_two_sections_says_so_too() {
    let (_, recorded) = recorded("cut between sections");
    let capture = Capture::from_bytes(recorded.bytes.clone()).unwrap();
    let ends: Vec<_> = capture.sections().map(|section| section.offset).collect();
    for &end in ends.iter().step_by(1 + ends.len() / CUTS) {
        let end = usize::try_from(end).unwrap();
        check(&recorded, recorded.bytes[..end].to_vec(), || format!("cut at {end}"));
    }
}

#[test]
fn a_capture_with_a_flipped_byte_says_that_records_are_missing() {
    let (mut dice, recorded) = recorded("flipped");
    for _ in 0..FLIPS {
        let mut bytes = recorded.bytes.clone();
        let at = dice.below(bytes.len());
        let flip = 1 + dice.below(255);
        bytes[at] ^= u8::try_from(flip).unwrap();
        check(&recorded, bytes, || format!("byte {at} flipped by {flip:#x}"));
    }
}

#[test]
fn a_capture_with_sections_removed_repeated_or_moved_is_read_right_or_says_so() {
    let count = std::env::var("KPROF_UNKNOWN_COUNT").ok().map(|count| count.parse().unwrap());
    let count: usize = count.unwrap_or(DAMAGES);
    let mut changed = 0;
    for _ in 0..count.div_ceil(DAMAGES_OF_ONE) {
        let (mut dice, recorded) = recorded("put together wrongly");
        let whole = WholeCapture::from_bytes(recorded.bytes.clone()).unwrap();
        for _ in 0..DAMAGES_OF_ONE {
            let changes = 1 + dice.below(3);
            let script = dice.bytes(changes * noise::DAMAGE_BYTES);
            let damaged = whole.damaged(&script);
            whole.judge(damaged.clone());
            if damaged != recorded.bytes {
                changed += 1;
                let what = || format!("damaged by {script:?}");
                check(&recorded, damaged.clone(), what);
                assert_outputs_agree(damaged, what);
            }
        }
    }
    assert!(changed * 10 >= count * 9, "{changed} of {count} were damaged");
}

#[test]
fn a_whole_capture_says_nothing_of_the_kind() {
    let (_, recorded) = recorded("whole");
    let capture = Capture::from_bytes(recorded.bytes).unwrap();
    assert_eq!(capture.is_finished(), Some(true));
    assert_eq!(capture.runs().unwrap().remove(0).readout, recorded.whole);
}

#[test]
fn a_bank_that_is_dead_at_the_last_read_leaves_losses_of_its_lanes() {
    let (mut dice, seed) = dice("dead bank");
    for arch in Arch::ALL {
        for answers_again in [false, true] {
            let (mut mesh, workload) = begin(arch, "matmul", &mut dice);
            let mut reader = Reader::new(ReadOptions::default());
            workload.run(&mut mesh);
            let mut readout = reader.read(&mut mesh).unwrap();
            workload.run(&mut mesh);
            reader.options_mut().last_read = true;
            let bank = u32::try_from(dice.below(4)).unwrap();
            let mut dead = DeadBank::new(&mut mesh, bank);
            readout.append(reader.read(&mut dead).unwrap());
            assert!(readout.losses.has_failures(), "seed {seed}, bank {bank}");
            let of_bank = readout.losses.by_cause(LossCause::Unread);
            assert!(of_bank.unknown_markers > 0 && of_bank.is_lower_bound, "{of_bank:?}");
            assert_at_most_emitted(&readout, &mesh, seed);
            if answers_again {
                readout.append(reader.read(&mut mesh).unwrap());
                assert!(readout.losses.is_empty(), "seed {seed}: {:?}", readout.losses);
                assert_eq!(kept(&readout), emitted(&mesh), "seed {seed}");
            }
        }
    }
}

#[test]
fn a_bank_that_dies_takes_no_figure_of_launches_that_were_read_before() {
    let (mut dice, seed) = dice("figures before a dead bank");
    for arch in Arch::ALL {
        let (mut mesh, workload) = begin(arch, "matmul", &mut dice);
        let mut reader = Reader::new(ReadOptions::default());
        workload.run(&mut mesh);
        let mut readout = reader.read(&mut mesh).unwrap();
        let figures = |readout: &Readout, mesh: &SimulatedMesh| -> Vec<_> {
            let mut readout = crate::support::outcome(readout.clone(), mesh).readout;
            crate::figures::align(&mut readout, mesh);
            ops_of(&readout).iter().map(|op| (op.kernel, op.op_to_op_latency_cycles)).collect()
        };
        let first = figures(&readout, &mesh);
        assert!(
            first.iter().any(|(_, latency)| latency.is_some()),
            "seed {seed}: {first:?} {:?}",
            ops_of(&readout).first()
        );
        workload.run(&mut mesh);
        reader.options_mut().last_read = true;
        let bank = u32::try_from(dice.below(4)).unwrap();
        readout.append(reader.read(&mut DeadBank::new(&mut mesh, bank)).unwrap());
        let all = figures(&readout, &mesh);
        assert!(all.len() > first.len(), "seed {seed}, bank {bank}");
        assert_eq!(all[..first.len()], first, "seed {seed}, bank {bank}");
        let later = all.iter().skip(first.len());
        assert!(later.clone().all(|(_, latency)| latency.is_none()), "seed {seed}: {later:?}");
    }
}

/// Checks a damaged capture of a recording: no result exceeds the original, and all missing records
/// are reported.
fn check(recorded: &Recorded, bytes: Vec<u8>, what: impl Fn() -> String) {
    let Ok(capture) = Capture::from_bytes(bytes) else { return };
    assert!(!capture.check().is_clean(), "{}", what());
    let Ok(runs) = capture.runs() else { return };
    for CapturedRun { readout, .. } in &runs {
        assert!(readout.losses.has_failures(), "{}", what());
    }
    let readouts = runs.into_iter().map(|run| run.readout);
    let readout = readouts.reduce(|mut whole, readout| {
        whole.append(readout);
        whole
    });
    let readout = readout.unwrap();
    assert!(readout.losses.has_failures(), "{}", what());
    for (lane, count) in accounted(&readout) {
        let there_was = recorded.by_lane.get(&lane).copied().unwrap_or(0);
        assert!(count <= there_was, "{}: {count} of {there_was} records of {lane}", what());
    }
    check_unread_lanes(recorded, &capture, &readout, &what);
}

/// Asserts that losses are equal in the JSON report, in the report of ops, and in the trace from
/// which exports and datasets are made.
fn assert_outputs_agree(bytes: Vec<u8>, what: impl Fn() -> String) {
    let Ok(capture) = Capture::from_bytes(bytes) else { return };
    for run in capture.runs().unwrap_or_default() {
        assert_outputs_of_run_agree(run, &what);
    }
}

fn assert_outputs_of_run_agree(run: CapturedRun, what: &impl Fn() -> String) {
    let recording = Recording::from_captured_run(run);
    let losses = &recording.readout.losses;
    let expected: BTreeMap<LossKey, LossTotals> =
        losses.entries().map(|(key, totals)| (*key, *totals)).collect();
    let json = serde_json::to_value(Rows::<Losses>(LossRow::from_ledger(losses))).unwrap();
    let counts = |row: &Value| {
        let count = |name: &str| row[name].as_u64().unwrap();
        count("zones") + count("data") + count("events") + count("sums") + count("unknown_markers")
    };
    let json: Vec<u64> = json.as_array().unwrap().iter().map(counts).collect();
    let of_ledger: Vec<_> = expected.values().map(LossTotals::record_count).collect();
    assert_eq!(json, of_ledger, "{}", what());
    let ops = OpsReport::from_recording(&recording, &OpsOptions::default());
    assert_eq!(&ops.losses, losses, "{}", what());
    let trace = Trace::new(&recording, &TraceFilter::default());
    let lanes = trace.devices.iter().flat_map(|device| &device.lanes);
    let placed = lanes.flat_map(|lane| {
        lane.losses.iter().map(|&TraceLoss { program, cause, totals, .. }| {
            (LossKey { lane: lane.id, cause, program }, totals)
        })
    });
    let found: Vec<_> = placed.chain(trace.unplaced_losses.iter().copied()).collect();
    assert_eq!(found.len(), expected.len(), "{}", what());
    assert_eq!(found.into_iter().collect::<BTreeMap<_, _>>(), expected, "{}", what());
    let sources: Vec<_> = losses.uncounted().collect();
    assert_eq!(trace.uncounted, sources, "{}", what());
}

/// Checks that the ledger has an entry for each lane with losses, if every section except the
/// memory sections is undamaged.
fn check_unread_lanes(
    recorded: &Recorded,
    capture: &Capture,
    readout: &Readout,
    what: &impl Fn() -> String,
) {
    let is_memory = |problem: &host_reader::capture::Problem| {
        let of = problem.section.map(|section| section.kind);
        of == Some(host_reader::capture::SectionKind::MEMORY)
    };
    let problems = capture.check().problems;
    if !problems.iter().all(is_memory) || readout.devices.is_empty() {
        return;
    }
    let sources: Vec<_> = readout.losses.uncounted().collect();
    assert_eq!(sources, [UncountedSource::DamagedCapture], "{}", what());
    let kept_of = |readout: &Readout| -> BTreeMap<LaneId, usize> {
        readout.lanes().map(|lane| (lane.id, lane.record_count())).collect()
    };
    let now = kept_of(readout);
    for (lane, count) in kept_of(&recorded.whole) {
        let is_missing = now.get(&lane).copied().unwrap_or(0) < count;
        let mut entries = readout.losses.entries();
        let is_named = entries.any(|(key, totals)| key.lane == lane && totals.is_lower_bound);
        assert!(!is_missing || is_named, "{}: {lane} lacks records", what());
    }
}

/// Returns the kept and lost markers of each lane; a zone has a start and an end.
fn accounted(readout: &Readout) -> BTreeMap<LaneId, u64> {
    let mut counts: BTreeMap<LaneId, u64> = BTreeMap::new();
    for lane in readout.lanes() {
        *counts.entry(lane.id).or_default() += lane.record_count() as u64;
    }
    for (key, totals) in readout.losses.entries() {
        let LossTotals { zones, .. } = totals;
        *counts.entry(key.lane).or_default() += totals.record_count() + zones;
    }
    counts
}

fn kept(readout: &Readout) -> accounting::Account {
    accounting::kept(readout, &Timeline::from_readout(readout))
}

fn emitted(mesh: &SimulatedMesh) -> accounting::Account {
    accounting::emitted(&mesh.truth())
}

fn assert_at_most_emitted(readout: &Readout, mesh: &SimulatedMesh, seed: u64) {
    let mut emitted_of: BTreeMap<LaneId, u64> = BTreeMap::new();
    for ((lane, _), emission) in emitted(mesh) {
        let count = 2 * emission.zones + emission.data + emission.events + emission.sums;
        *emitted_of.entry(lane).or_default() += count;
    }
    for (lane, count) in accounted(readout) {
        let there_was = emitted_of.get(&lane).copied().unwrap_or(0);
        assert!(count <= there_was, "seed {seed}, {lane}: {count} of {there_was}");
    }
}

/// Asserts that the kept and the lost markers do not exceed the emitted markers. A data record has
/// at most three markers, and a lost run may have two empty markers.
fn assert_at_most_emitted_markers(readout: &Readout, mesh: &SimulatedMesh, seed: u64) {
    let mut markers: BTreeMap<LaneId, u64> = BTreeMap::new();
    for ((lane, _), emission) in emitted(mesh) {
        let count = 2 * emission.zones + 3 * emission.data + emission.events + emission.sums;
        *markers.entry(lane).or_default() += count;
    }
    for (key, totals) in readout.losses.entries() {
        *markers.entry(key.lane).or_default() += 2 * totals.runs;
    }
    for (lane, count) in accounted(readout) {
        let there_was = markers.get(&lane).copied().unwrap_or(0);
        assert!(count <= there_was, "seed {seed}, {lane}: {count} of {there_was}");
    }
}

/// Returns a random generator with a fresh seed, and prints the seed.
fn dice(what: &str) -> (Dice, u64) {
    let named = std::env::var("KPROF_UNKNOWN_SEED").ok();
    let seed = named.map_or_else(tests::seed::fresh, |seed| seed.parse().unwrap());
    eprintln!("{what}: seed {seed}");
    (Dice::new(seed), seed)
}

/// A plan of launches that can be enqueued repeatedly.
struct Work {
    plan: sim::workload::Plan,
}

impl Work {
    fn run(&self, mesh: &mut SimulatedMesh) {
        for phase in &self.plan.phases {
            mesh.enqueue_phase(phase);
            mesh.run_to_completion();
        }
    }
}

fn begin(arch: Arch, workload: &str, dice: &mut Dice) -> (SimulatedMesh, Work) {
    let chip = ChipConfig::new(arch).with_worker_core_count(arch.facts().worker_core_counts[0]);
    let config = MeshConfig::new(dice.roll()).with_chip(chip).with_program_support_count(20);
    let mut mesh = SimulatedMesh::new(&config).unwrap();
    let ops = Some(3);
    let options = WorkloadOptions { ops, seed: dice.roll(), ..WorkloadOptions::default() };
    let plan = Workload::named(workload).unwrap().plan(&mesh, &options);
    let options = ProfilerOptions { program_support_count: 20, ..ProfilerOptions::default() };
    init_device_profiler(&mut mesh, &options).unwrap();
    (mesh, Work { plan })
}

/// Records a workload in three reads.
fn recorded(what: &str) -> (Dice, Recorded) {
    let (mut dice, seed) = dice(what);
    let arch = Arch::ALL[dice.below(Arch::ALL.len())];
    let workload = WORKLOADS[dice.below(WORKLOADS.len())];
    let (mut mesh, work) = begin(arch, workload, &mut dice);
    let folder = std::env::temp_dir();
    let path = folder.join(format!("kprof-unknown-{}-{}.kprof", std::process::id(), dice.roll()));
    let writer = CaptureWriter::create(&path).unwrap().with_sync(SyncPolicy::Never);
    // A few cores are used, so that a capture is decoded a thousand times in a few seconds.
    let cores = &mesh.device(0).unwrap().description().cores;
    let chosen: Vec<_> = (0..3).map(|_| cores[dice.below(cores.len())].noc0).collect();
    let cores = CoreSelection::at(chosen);
    let options = ReadOptions { program_support_count: 20, cores, ..ReadOptions::default() };
    let mut recorder = MeshRecorder::new(options, Some(writer));
    for read in 0..3 {
        work.run(&mut mesh);
        recorder.options_mut().last_read = read == 2;
        recorder.read(&mut mesh).unwrap();
    }
    let whole = recorder.finish().unwrap().readout;
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    eprintln!("{workload} on {arch:?}, {} bytes, {} records", bytes.len(), whole.record_count());
    let by_lane = accounted(&whole);
    assert_at_most_emitted_markers(&whole, &mesh, seed);
    (dice, Recorded { bytes, whole, by_lane })
}

/// A mesh of one chip with one DRAM bank that does not answer.
struct DeadBank<'a> {
    mesh: &'a mut SimulatedMesh,
    description: DeviceDescription,
    bank: u32,
}

impl<'a> DeadBank<'a> {
    fn new(mesh: &'a mut SimulatedMesh, bank: u32) -> Self {
        let description = mesh.device(0).unwrap().description().clone();
        Self { mesh, description, bank }
    }

    fn chip(&mut self) -> &mut dyn Device {
        self.mesh.device(0).unwrap()
    }
}

impl Mesh for DeadBank<'_> {
    fn device_count(&self) -> usize {
        1
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        (index == 0).then_some(self)
    }
}

impl Device for DeadBank<'_> {
    fn description(&self) -> &DeviceDescription {
        &self.description
    }

    fn read_l1(&mut self, core: Noc0Coord, at: u64, words: &mut [u32]) -> Result<(), AccessError> {
        self.chip().read_l1(core, at, words)
    }

    fn write_l1(&mut self, core: Noc0Coord, at: u64, words: &[u32]) -> Result<(), AccessError> {
        self.chip().write_l1(core, at, words)
    }

    fn read_dram(&mut self, bank: u32, at: u64, words: &mut [u32]) -> Result<(), AccessError> {
        if bank == self.bank {
            let (chip_id, reason) = (self.description.chip_id, "the bank is dead".into());
            return Err(AccessError::Unreachable { chip_id, reason });
        }
        self.chip().read_dram(bank, at, words)
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        self.chip().read_wall_clock(core)
    }

    fn host_time_ns(&mut self) -> u64 {
        self.chip().host_time_ns()
    }
}
