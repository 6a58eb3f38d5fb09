//! Debug dump on whole chips: RISCs with full lanes wait for a host that reads while kernels run.
//!
//! The records read equal the pushed and the emitted records. If the host stops reading, RISCs wait
//! for a limited time, and then count the records that they drop.

use crate::{
    accounting::assert_honest,
    support::{Outcome, outcome},
};
use host_reader::{
    ProfilerOptions, ReadOptions,
    analysis::OwnZone,
    init_device_profiler,
    lane::{self, Lane, LaneId, Record},
    ledger::LossCause,
    mesh::Noc0Coord,
    read::Reader,
    readout::Readout,
};
use sim::{
    arch::{Arch, TileCoord},
    config::{ChipConfig, MeshConfig},
    fault::Rule,
    mesh::SimulatedMesh,
    program::{CoreSelection, Launch},
    random::Stream,
    truth::RiscKey,
    workload::{Plan, Workload, WorkloadOptions},
};
use std::{collections::BTreeMap, sync::Arc};
use tests::pushed::{PushedLaunch, PushedRecord, PushedRuns, unexplained_noc_event};
use tests::sizes::full_or;
use wire::{CoreKind, PacketKind, RunHostId};

/// Words of a lane for each program that DRAM has room for.
const WORDS_PER_PROGRAM: u32 = 12;

/// Maximum cycles that a RISC waits for the host: a second at 1 GHz.
const PATIENCE_CYCLES: u64 = 1 << 30;
/// Maximum cycles of the launches apart from the wait.
const BUSY_CYCLES: u64 = 8_000_000;

/// Configuration of one run.
#[derive(Clone, Copy, Debug)]
struct Case {
    arch: Arch,
    seed: u64,
    workload: &'static str,
    ops: u32,
    /// Number of worker cores that take part; `None` for all.
    core_count: Option<usize>,
    support_count: u32,
    /// Simulated time between two reads; `None` for a host that reads after the run.
    pause_ns: Option<u64>,
}

/// Readout of a run, and the pushed records of each RISC.
struct Run {
    outcome: Outcome,
    pushed: BTreeMap<RiscKey, Vec<PushedLaunch>>,
    read_count: usize,
    /// Cycles from the first launch to the end of the last.
    cycles: u64,
}

impl Case {
    /// Returns a case of long launches on the first cores, with lanes as in TT-Metal's debug dump.
    fn long_kernels(arch: Arch, (ops, core_count): (u32, usize), pause_ns: Option<u64>) -> Self {
        Self {
            arch,
            seed: tests::seed::fresh(),
            workload: "long-kernel",
            ops,
            core_count: Some(core_count),
            support_count: 500,
            pause_ns,
        }
    }

    fn run(self) -> Run {
        let config = MeshConfig::new(self.seed)
            .with_chip(ChipConfig::new(self.arch))
            .with_program_support_count(self.support_count)
            .with_noc_truth()
            .with_debug_dump();
        let mut mesh = SimulatedMesh::new(&config).unwrap();
        let pushed = Arc::new(PushedRuns::default());
        mesh.add_shared_rule(&(pushed.clone() as Arc<dyn Rule>));
        let options = ProfilerOptions {
            program_support_count: self.support_count,
            ..ProfilerOptions::default()
        };
        init_device_profiler(&mut mesh, &options).unwrap();
        for launch in self.launches(&mesh) {
            mesh.enqueue_everywhere(&launch);
        }
        let mut reader = Reader::new(ReadOptions::default());
        let (mut readout, mut read_count) = (Readout::default(), 0);
        let start_ps = mesh.now_ps();
        while let Some(pause_ns) = self.pause_ns.filter(|_| mesh.has_launches_to_run()) {
            mesh.wait_ns(pause_ns);
            readout.append(reader.read(&mut mesh).unwrap());
            read_count += 1;
        }
        mesh.run_to_completion();
        let cycles =
            (mesh.now_ps() - start_ps) * u64::from(self.arch.facts().aiclk_mhz) / 1_000_000;
        reader.options_mut().last_read = true;
        readout.append(reader.read(&mut mesh).unwrap());
        let outcome = outcome(readout, &mesh);
        let pushed = pushed.launches(&outcome.truth);
        Run { outcome, pushed, read_count, cycles }
    }

    /// Returns true if lanes have room for pushes within a launch: twice the words of the largest
    /// run.
    const fn has_room_for_pushes(&self) -> bool {
        self.support_count * WORDS_PER_PROGRAM >= 1048
    }

    fn launches(&self, mesh: &SimulatedMesh) -> Vec<Launch> {
        let options =
            WorkloadOptions { ops: Some(self.ops), seed: self.seed, ..WorkloadOptions::default() };
        let plan: Plan = Workload::named(self.workload).unwrap().plan(mesh, &options);
        let cores = mesh.chip(0).unwrap().plan().cores().iter();
        let workers = cores.filter(|core| core.kind == CoreKind::Tensix);
        let workers: Vec<TileCoord> = workers.map(|core| core.coord).collect();
        let launches = plan.phases.into_iter().flat_map(|phase| phase.launches);
        let on_some = |launch: Launch| match self.core_count {
            Some(count) => launch.on(CoreSelection::At(workers[..count].to_vec())),
            None => launch,
        };
        launches.map(on_some).collect()
    }
}

impl Run {
    /// Checks that exactly the pushed records were read, in order, and that the pushed records and
    /// the records without room in L1 add up to the emitted records.
    fn check(&self, case: &Case) {
        let failures: Vec<_> = self.outcome.failures.iter().map(ToString::to_string).collect();
        assert!(failures.is_empty(), "{case:?}: {failures:?}");
        let anomalies = &self.outcome.readout.anomalies;
        assert_eq!(anomalies.anomaly_count(), 0, "{case:?}: {:?}", anomalies.kept());
        for (key, pushed) in &self.pushed {
            let lane = self.lane(*key);
            let (read, told) =
                (lane.map(read_of).unwrap_or_default(), pushed_of(key.chip_id, pushed));
            let differs = read.iter().zip(&told).position(|(read, told)| read != told);
            assert!(
                read.len() == told.len() && differs.is_none(),
                "{case:?}, {key:?}: {} launches of {}, first other {differs:?}: {:?}",
                read.len(),
                pushed.len(),
                differs.map(|at| first_difference(&read[at], &told[at])),
            );
            let events = pushed.iter().flat_map(|launch| &launch.records);
            let requests = self.outcome.truth.noc_requests.get(key).map_or(&[][..], Vec::as_slice);
            let may_lack = key.risc.index() > 1 || !case.has_room_for_pushes();
            let error = unexplained_noc_event(events, requests, may_lack);
            assert_eq!(error, None, "{case:?}, {key:?}");
        }
        let lanes = self.outcome.readout.lanes().filter(|lane| !lane.runs.is_empty());
        assert_eq!(lanes.count(), self.pushed.len(), "{case:?}");
        assert_honest(&self.outcome.readout, &self.outcome.timeline, &self.outcome.truth);
    }

    /// Checks that the only lost records had no room in L1, on a RISC that cannot push.
    fn check_nothing_is_dropped(&self, case: &Case) {
        assert_eq!(self.outcome.timeline.anomalies.anomaly_count(), 0, "{case:?}");
        for (entry, totals) in self.outcome.readout.losses.entries() {
            let is_left_out = entry.cause == LossCause::ValidateOff;
            let is_compute = entry.lane.risc.index() > 1;
            let is_in_l1 = entry.cause == LossCause::L1Full && is_compute;
            assert!(is_left_out || is_in_l1, "{case:?}: {entry:?}, {totals:?}");
        }
    }

    fn lane(&self, key: RiscKey) -> Option<&Lane> {
        let core = Noc0Coord { x: key.core.x, y: key.core.y };
        let id = LaneId { chip_id: key.chip_id, core, risc: key.risc };
        self.outcome.readout.lanes().find(|lane| lane.id == id)
    }

    /// Returns the cycles of each wait for the host, by lane.
    fn waits(&self) -> BTreeMap<LaneId, Vec<u64>> {
        let zones = &self.outcome.readout.zones;
        let waits = self.outcome.readout.lanes().map(|lane| {
            let is_wait = |zone| zones.name(zone) == OwnZone::Stall.zone_name();
            let ends: Vec<_> = lane.records().filter(|record| is_wait(record.zone)).collect();
            let pairs = ends.chunks(2).map(|pair| {
                let [start, end] = pair else { panic!("{}: a wait without its end", lane.id) };
                let kinds = [start.kind, end.kind];
                assert_eq!(kinds, [PacketKind::ZoneStart, PacketKind::ZoneEnd], "{}", lane.id);
                end.time - start.time
            });
            (lane.id, pairs.collect())
        });
        waits.filter(|(_, waits): &(_, Vec<_>)| !waits.is_empty()).collect()
    }
}

/// A launch, as pushed or read.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    program: RunHostId,
    trace_counter: u32,
    records: Vec<PushedRecord>,
}

fn read_of(lane: &Lane) -> Vec<Told> {
    let record = |record: Record<'_>| PushedRecord {
        kind: record.kind as u8,
        id: u16::try_from(record.zone.0).unwrap(),
        cycle: record.time,
        values: record.data.to_vec(),
    };
    let records: Vec<_> = lane.records().map(record).collect();
    let told = |(index, run): (usize, &lane::Run)| Told {
        program: run.program,
        trace_counter: run.trace_counter,
        records: records[lane.run_records(index)].to_vec(),
    };
    lane.runs.iter().enumerate().map(told).collect()
}

fn pushed_of(chip_id: u32, launches: &[PushedLaunch]) -> Vec<Told> {
    let told = |launch: &PushedLaunch| Told {
        program: RunHostId::encode(launch.program_id, chip_id),
        trace_counter: launch.trace_counter,
        records: launch.records.clone(),
    };
    launches.iter().map(told).collect()
}

fn first_difference(read: &Told, pushed: &Told) -> String {
    let mut pairs = read.records.iter().zip(&pushed.records);
    let differs = pairs.position(|(read, pushed)| read != pushed);
    let [read_at, pushed_at] = [read, pushed].map(|launch| differs.map(|at| &launch.records[at]));
    format!(
        "{} and {} records of {} and {}, at {differs:?} {read_at:?} and {pushed_at:?}",
        read.records.len(),
        pushed.records.len(),
        read.program,
        pushed.program,
    )
}

#[test]
fn random_kernels_are_read_to_the_last_record() {
    let fresh = tests::seed::fresh();
    eprintln!("fresh seeds from {fresh}");
    let (mut waits, mut reads, mut full_runs) = (0, 0, 0);
    let (fixed_count, fresh_count) = full_or((6, 8), (4, 2));
    for seed in (0..fixed_count).chain(fresh..fresh + fresh_count) {
        let mut random = Stream::new(seed, &[0xD0_0001]);
        let case = Case {
            arch: Arch::ALL[usize::from(random.chance(500_000))],
            seed,
            workload: ["random", "quick-push"][usize::from(random.chance(500_000))],
            ops: 12,
            core_count: [None, Some(16)][usize::from(random.chance(600_000))],
            support_count: [43, 88, 100, 200][usize::try_from(random.below(4)).unwrap()],
            pause_ns: Some(1_000 + random.below(40_000)),
        };
        let run = case.run();
        run.check(&case);
        if case.has_room_for_pushes() {
            run.check_nothing_is_dropped(&case);
            full_runs += 1;
        }
        waits += run.waits().values().map(Vec::len).sum::<usize>();
        reads += run.read_count;
    }
    eprintln!("{waits} waits, {reads} reads, {full_runs} runs in which nothing may be lost");
    assert!(waits > 100, "{waits} waits");
}

#[test]
fn ten_thousand_records_of_each_mover_arrive_and_waits_are_zones() {
    for arch in Arch::ALL {
        let case = Case::long_kernels(arch, (2, 3), Some(100_000));
        let run = case.run();
        run.check(&case);
        run.check_nothing_is_dropped(&case);
        assert!(run.outcome.readout.losses.is_empty(), "{case:?}");
        let waits = run.waits();
        for (key, pushed) in &run.pushed {
            if key.risc.index() > 1 {
                continue;
            }
            let numbers = pushed.iter().flat_map(|launch| &launch.records);
            let numbers = numbers.filter(|record| record.kind == 3);
            let numbers: Vec<u64> = numbers.map(|record| record.values[0] >> 32).collect();
            let expected: Vec<u64> = (0..5000).chain(0..5000).collect();
            assert_eq!(numbers, expected, "{case:?}, {key:?}");
            // A launch has 40,000 words or more, and the lane has 6,000.
            let lane = run.lane(*key).unwrap().id;
            let waits = &waits[&lane];
            assert!(waits.len() >= 12, "{case:?}, {lane}: {waits:?}");
        }
        eprintln!("{arch}: {} reads, {} cycles, {waits:?}", run.read_count, run.cycles);
    }
}

#[test]
fn a_host_that_stops_reading_holds_kernels_up_once_and_losses_are_counted() {
    for arch in Arch::ALL {
        let case = Case::long_kernels(arch, (3, 2), None);
        let run = case.run();
        run.check(&case);
        // All RISCs wait at the same time until the time-out, and then never again.
        let within = PATIENCE_CYCLES..PATIENCE_CYCLES + BUSY_CYCLES;
        assert!(within.contains(&run.cycles), "{case:?}: {} cycles", run.cycles);
        let losses = &run.outcome.readout.losses;
        let lost = losses.by_cause(LossCause::L1Full);
        assert!(lost.zones > 20_000 && lost.data > 20_000, "{case:?}: {lost:?}");
        assert!(!lost.is_lower_bound, "{case:?}: {lost:?}");
        assert!(losses.by_cause(LossCause::DramFull).runs > 0, "{case:?}");
    }
}
