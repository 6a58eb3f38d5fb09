//! Accumulate mode: launches share pushes, and DRAM and L1 together hold exactly what the simulator
//! has recorded.

use crate::{
    accounting::{SHARED_PUSH_ZONE, assert_honest, emitted, kept, total},
    support::{Outcome, outcome},
};
use host_reader::{
    ProfilerOptions, ReadOptions,
    analysis::ops_of,
    decode::CaptureMode,
    init_device_profiler,
    read::{LaneWatermark, Reader},
    readout::Readout,
};
use sim::{
    arch::{Arch, TileCoord},
    config::{ChipConfig, MeshConfig},
    kernel::ObjectKernel,
    mesh::SimulatedMesh,
    program::{CoreSelection, Kernel, Launch, Program},
    workload::Phase,
};
use std::{ops::Range, sync::Arc};
use wire::CoreKind;

const RISCS: usize = 5;

fn config(arch: Arch) -> MeshConfig {
    let chip = ChipConfig::new(arch).with_epoch_max_cycles(1);
    MeshConfig::new(23).with_chip(chip)
}

/// Returns launches of a program with one zone, on all RISCs of some cores. The program ids start
/// at `first`. A run of this program has 16 words.
fn launches(config: &MeshConfig, first: u32, count: u32, cores: usize) -> Vec<Launch> {
    let launch = |launch: Launch| {
        let cycles = 100 + launch.program_id % 97;
        launch.with_args(&[cycles])
    };
    launches_of("work", config, first..first + count, cores).into_iter().map(launch).collect()
}

/// Returns launches of a kernel on all RISCs of some cores.
fn launches_of(kernel: &str, config: &MeshConfig, ids: Range<u32>, cores: usize) -> Vec<Launch> {
    let mesh = SimulatedMesh::new(config).unwrap();
    let workers = mesh.chip(0).unwrap().plan().cores().iter();
    let workers: Vec<TileCoord> = workers
        .filter(|core| core.kind == CoreKind::Tensix)
        .map(|core| core.coord)
        .take(cores)
        .collect();
    let kernel: Arc<dyn Kernel> = Arc::new(ObjectKernel::named(kernel).unwrap());
    let program = Arc::new(Program::new("accumulated").with_kernel_on_all(&kernel));
    let launch = |id| Launch::new(&program, id).on(CoreSelection::At(workers.clone()));
    ids.map(launch).collect()
}

struct Host {
    mesh: SimulatedMesh,
    reader: Reader,
    readout: Readout,
}

impl Host {
    fn new(config: &MeshConfig, mode: CaptureMode) -> Self {
        let mut mesh = SimulatedMesh::new(config).unwrap();
        let options = ProfilerOptions {
            program_support_count: config.program_support_count,
            ..ProfilerOptions::default()
        };
        init_device_profiler(&mut mesh, &options).unwrap();
        let reader = Reader::new(ReadOptions { mode, ..ReadOptions::default() });
        Self { mesh, reader, readout: Readout::default() }
    }

    fn run(&mut self, launches: Vec<Launch>) {
        self.mesh.enqueue_phase(&Phase { launches });
        self.mesh.run_to_completion();
    }

    fn read(&mut self, last_read: bool) {
        self.reader.options_mut().last_read = last_read;
        self.readout.append(self.reader.read(&mut self.mesh).unwrap());
    }

    fn outcome(self) -> Outcome {
        outcome(self.readout, &self.mesh)
    }
}

fn shared_pushes(outcome: &Outcome) -> usize {
    let zones = outcome.timeline.lanes().flat_map(|lane| lane.zones.iter());
    zones.filter(|zone| outcome.readout.zones.name(zone.zone) == SHARED_PUSH_ZONE).count()
}

#[track_caller]
fn assert_whole(outcome: &Outcome) {
    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
    assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
    assert!(outcome.readout.losses.is_empty(), "{:?}", outcome.readout.losses);
    let odd: Vec<_> = outcome.readout.anomalies.kept().iter().collect();
    assert!(odd.is_empty(), "{odd:?}");
}

/// TT-Metal's check of the mode: at least 20,000 rows of workers, including zones of pushes.
#[test]
fn twenty_thousand_rows_come_in_shared_pushes() {
    const CORES: usize = 8;
    const LAUNCHES: u32 = 120;
    for arch in Arch::ALL {
        let plain = config(arch);
        let accumulating = plain.clone().with_accumulation();
        let mut host = Host::new(&accumulating, CaptureMode::Accumulate);
        host.run(launches(&accumulating, 1, LAUNCHES, CORES));
        host.read(true);
        let outcome = host.outcome();
        assert_whole(&outcome);
        let rows: usize = outcome.readout.lanes().map(|lane| lane.record_count()).sum();
        assert!(rows >= 20_000, "{rows} rows");
        // After 25 runs of 16 words, or after 24 runs and the zone of the previous push, fewer than
        // 128 words of a vector are free.
        let expected = (LAUNCHES as usize - 25) / 24 + 1;
        assert_eq!(shared_pushes(&outcome), CORES * expected);
        assert_eq!(outcome.readout.lanes().count(), CORES * RISCS);
        let programs: Vec<u32> =
            ops_of(&outcome.readout).iter().map(|op| op.run_host_id >> 10).collect();
        assert_eq!(programs, (1..=LAUNCHES).collect::<Vec<_>>(), "ops keep their ids");

        // The same launches with one push per launch give the same records.
        let mut host = Host::new(&plain, CaptureMode::Workers);
        host.run(launches(&plain, 1, LAUNCHES, CORES));
        host.read(true);
        let each = host.outcome();
        assert_whole(&each);
        let accounts = [&outcome, &each].map(|it| kept(&it.readout, &it.timeline));
        assert_eq!(accounts[0], accounts[1]);
    }
}

#[test]
fn reads_in_between_neither_repeat_nor_lose_what_waits_in_l1() {
    let config = config(Arch::WormholeB0).with_accumulation();
    let mut host = Host::new(&config, CaptureMode::Accumulate);
    let mut first = 1;
    for (count, is_last) in [(3, false), (40, false), (5, true), (1, true), (60, false), (7, true)]
    {
        host.run(launches(&config, first, count, 2));
        first += count;
        host.read(is_last);
        // A read without new records returns nothing.
        let before = host.readout.lanes().map(|lane| lane.record_count()).sum::<usize>();
        host.read(is_last);
        let after = host.readout.lanes().map(|lane| lane.record_count()).sum::<usize>();
        assert_eq!(before, after);
    }
    let outcome = host.outcome();
    assert_whole(&outcome);
    assert_eq!(total(&kept(&outcome.readout, &outcome.timeline)), total(&emitted(&outcome.truth)));
}

#[test]
fn lanes_that_are_full_refuse_whole_pushes_and_count_them() {
    // 43 programs make lanes of 516 words.
    let config = config(Arch::WormholeB0).with_accumulation().with_program_support_count(43);
    let mut host = Host::new(&config, CaptureMode::Accumulate);
    // These runs have more than 400 words.
    host.run(launches_of("steps", &config, 1..61, 2));
    host.read(true);
    let outcome = host.outcome();
    assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
    assert!(!outcome.readout.losses.is_empty());
    let refused = outcome.readout.losses.total();
    assert!(refused.runs > 20 && !refused.is_lower_bound, "{refused:?}");
}

#[test]
fn launches_that_a_look_finds_room_for_lose_nothing_and_many_more_do() {
    for (more, is_whole) in [(1, true), (4, false)] {
        // These lanes have 2,400 words, for six pushes of 24 launches.
        let config = config(Arch::WormholeB0).with_accumulation().with_program_support_count(200);
        let mut host = Host::new(&config, CaptureMode::Accumulate);
        host.run(launches(&config, 1, 60, 2));
        host.read(false);
        host.run(launches(&config, 61, 30, 2));
        let marks = host.reader.look(&mut host.mesh).unwrap().watermarks;
        let left = marks.lanes().filter_map(LaneWatermark::launches_left).min().unwrap();
        // More than one push fits. A count of pushes instead of launches would be one or two.
        assert!(left > 30, "room for {left} launches");
        host.run(launches(&config, 91, left * more, 2));
        host.read(true);
        let outcome = host.outcome();
        assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
        assert_eq!(outcome.readout.losses.is_empty(), is_whole, "{left} launches, {more} times");
    }
}
