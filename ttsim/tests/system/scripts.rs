//! Tests of random scripts: ttsim and our simulator keep and lose the same records, also if a host
//! reads while records are written to DRAM.

use crate::{
    accounting::assert_honest,
    support::{
        assert_same, config, initialise, libraries, phases, run_on_ours, run_on_ttsim, shapes,
        start,
    },
};
use host_reader::{
    ReadOptions,
    ledger::LossCause,
    mesh::{CoreSelection, Noc0Coord},
    names::ZoneTable,
    read::Reader,
    readout::Readout,
    timeline::Timeline,
};
use sim::{
    arch::{Arch, TileCoord},
    kernel::{
        ObjectKernel,
        script::{Script, ScriptShape},
    },
    mesh::SimulatedMesh,
    program::{self, Kernel, Launch, Program},
    random::Stream,
};
use std::sync::Arc;
use ttsim::TtsimMesh;
use wire::{CoreKind, Risc, risc::RISCS_PER_CORE};

/// Returns two seeds: a constant one and a new one.
fn seeds() -> [u64; 2] {
    let fresh = tests::seed::fresh();
    eprintln!("seeds 1 and {fresh}");
    [1, fresh]
}

fn riscs() -> impl Iterator<Item = Risc> {
    (0..RISCS_PER_CORE).filter_map(|index| CoreKind::Tensix.risc(index))
}

/// Returns six cores, spread over the chip.
pub(crate) fn cores() -> Vec<TileCoord> {
    [(1, 2), (2, 3), (3, 9), (4, 5), (6, 11), (7, 8)].map(|(x, y)| TileCoord { x, y }).to_vec()
}

/// Returns launches of programs with a different script on every RISC, on the cores in turn.
fn launches(seed: u64, count: u32, shape: &ScriptShape) -> Vec<Launch> {
    let mut random = Stream::new(seed, &[count.into()]);
    let launch = |(id, core): (u32, &TileCoord)| {
        let program = riscs().fold(Program::new("scripts"), |program, risc| {
            program.with_kernel(risc, Arc::new(Script::random(&mut random, shape)))
        });
        Launch::new(&Arc::new(program), id).on(program::CoreSelection::At(vec![*core]))
    };
    let cores = cores();
    (1..=count).zip(cores.iter().cycle()).map(launch).collect()
}

/// Runs scripts on both simulators with a read after each launch, and compares the records; returns
/// the records of ttsim.
fn check(arch: Arch, library: &std::path::Path, seed: u64, launches: Vec<Launch>) -> Readout {
    let config = config(arch, seed).with_sums(seed.is_multiple_of(2));
    let plan = phases(launches);
    let mut mesh = start(&config, library);
    let mut found = run_on_ttsim(&mut mesh, &plan);
    assert_same(&found, &run_on_ours(&config, &plan));
    found.zones = ZoneTable::from_texts(ttsim::runner::zone_texts()).unwrap();
    assert_honest(&found, &Timeline::from_readout(&found), mesh.truth());
    found
}

const SHORT: ScriptShape = ScriptShape { step_max: 60, depth_max: 8, has_pushes: false };

#[test]
fn six_hundred_scripts_leave_the_same_records() {
    for (arch, library) in libraries() {
        for seed in seeds() {
            check(arch, &library, seed, launches(seed, 60, &SHORT));
        }
    }
}

#[test]
fn two_hundred_scripts_that_overflow_lose_exactly_what_they_do_not_keep() {
    let shape = ScriptShape { step_max: 900, ..SHORT };
    for (arch, library) in libraries() {
        for seed in seeds() {
            let found = check(arch, &library, seed, launches(seed, 20, &shape));
            let lost = found.losses.by_cause(LossCause::L1Full);
            assert!(lost.zones > 100, "{arch}, seed {seed}: {lost:?}");
        }
    }
}

#[test]
fn four_hundred_scripts_that_push_within_a_launch_leave_the_same_records() {
    let shape = ScriptShape { step_max: 300, has_pushes: true, ..SHORT };
    for (arch, library) in libraries() {
        for seed in seeds() {
            check(arch, &library, seed, launches(seed, 40, &shape));
        }
    }
}

/// Tests sixty launches without a read, with room in DRAM for 43 of the smallest launches.
#[test]
fn launches_that_find_dram_full_are_counted_to_the_marker() {
    for (arch, library) in libraries() {
        let config = config(arch, 3).with_program_support_count(43);
        let kernel: Arc<dyn Kernel> = Arc::new(ObjectKernel::named("short").unwrap());
        let program = Arc::new(Program::new("short").with_kernel_on_all(&kernel));
        let cores = cores();
        let launch = |id| Launch::new(&program, id).on(program::CoreSelection::At(cores.clone()));
        let plan = crate::support::plan((1..=60).map(launch).collect());
        let mut mesh = start(&config, &library);
        let found = run_on_ttsim(&mut mesh, &plan);
        assert_same(&found, &run_on_ours(&config, &plan));
        // The zones of firmware and kernel: four markers per RISC and launch.
        let emitted = 60 * 4 * 5 * cores.len() as u64;
        let lost = found.losses.by_cause(LossCause::DramFull);
        let kept = found.record_count() as u64;
        eprintln!("{arch}: {kept} kept, {} lost, {emitted} emitted", lost.unknown_markers);
        assert_eq!(kept + lost.unknown_markers, emitted);
        assert!(lost.unknown_markers > 0 && !lost.is_lower_bound, "{lost:?}");
    }
}

/// Tests a host that reads repeatedly while kernels run and while records are written to DRAM.
#[test]
fn runs_that_are_read_while_they_are_pushed_come_once_each() {
    for (arch, library) in libraries() {
        for seed in seeds() {
            let config = config(arch, seed);
            let launches = launches(seed, 80, &SHORT);
            let mut mesh = start(&config, &library);
            let (found, read_count) = read_while_pushed(&mut mesh, seed, &launches);
            assert!(read_count > 10 * launches.len(), "{read_count} reads");
            let mut ours = SimulatedMesh::new(&config).unwrap();
            initialise(&config, &mut ours);
            for launch in &launches {
                ours.enqueue_everywhere(launch);
            }
            ours.run_to_completion();
            let last = ReadOptions { last_read: true, ..ReadOptions::default() };
            assert_same(&found, &Reader::new(last).read(&mut ours).unwrap());
            let runs: usize = found.lanes().map(|lane| lane.runs.len()).sum();
            assert_eq!(runs, 400, "{arch}, seed {seed}");
            assert_eq!(shapes(&found).len(), 30);
        }
    }
}

/// Tests a host that reads continuously while a core runs launches without a pause between them.
///
/// The core's DRAM buffers hold the records of some twenty launches, and are therefore never
/// completely free. No record may be lost or duplicated.
#[test]
fn a_host_that_keeps_up_with_launches_loses_nothing_in_the_smallest_lanes() {
    for (arch, library) in libraries() {
        for seed in seeds() {
            let config = config(arch, seed).with_program_support_count(43);
            let [core, ..] = cores()[..] else { unreachable!() };
            let mut launches = launches(seed, 120, &SHORT);
            for launch in &mut launches {
                *launch = launch.clone().on(program::CoreSelection::At(vec![core]));
            }
            let mut mesh = start(&config, &library);
            let found = read_without_a_pause(&mut mesh, core, &launches);
            let roomy = config.with_program_support_count(4000);
            let mut ours = SimulatedMesh::new(&roomy).unwrap();
            initialise(&roomy, &mut ours);
            for launch in &launches {
                ours.enqueue_everywhere(launch);
            }
            ours.run_to_completion();
            let last = ReadOptions { last_read: true, ..ReadOptions::default() };
            let expected = Reader::new(last).read(&mut ours).unwrap();
            let lost = found.losses.by_cause(LossCause::DramFull);
            eprintln!(
                "{arch}, seed {seed}: {} of {} records, {} refused",
                found.record_count(),
                expected.record_count(),
                lost.unknown_markers
            );
            assert_same(&found, &expected);
            assert_eq!((lost.unknown_markers, lost.runs), (0, 0));
            assert_eq!(found.anomalies.anomaly_count(), 0);
        }
    }
}

/// Starts each launch as soon as the previous one is done, and reads during each launch.
fn read_without_a_pause(mesh: &mut TtsimMesh, core: TileCoord, launches: &[Launch]) -> Readout {
    mesh.set_access_clocks(10);
    let coord = Noc0Coord { x: core.x, y: core.y };
    let cores = CoreSelection::at([coord]);
    let mut reader = Reader::new(ReadOptions { cores, ..ReadOptions::default() });
    let mut found = Readout::default();
    for launch in launches {
        mesh.begin(launch).unwrap();
        while !mesh.is_done().unwrap() {
            mesh.advance(500).unwrap();
            found.append(reader.read(mesh).unwrap());
        }
    }
    mesh.settle().unwrap();
    reader.options_mut().last_read = true;
    found.append(reader.read(mesh).unwrap());
    found
}

/// Starts each launch while the previous launch still writes records to DRAM, and reads the
/// launch's core continuously; returns the records and the number of reads.
fn read_while_pushed(mesh: &mut TtsimMesh, seed: u64, launches: &[Launch]) -> (Readout, usize) {
    mesh.set_access_clocks(10);
    let mut reader = Reader::new(ReadOptions::default());
    let mut random = Stream::new(seed, &[]);
    let (mut found, mut read_count) = (Readout::default(), 0);
    for (launch, core) in launches.iter().zip(cores().iter().cycle()) {
        let coord = Noc0Coord { x: core.x, y: core.y };
        reader.options_mut().cores = CoreSelection::at([coord]);
        mesh.begin(launch).unwrap();
        // A kernel takes some 10,000 clocks. Writing its records to DRAM takes some hundred clocks
        // per RISC.
        let mut reads_behind = random.below(60);
        loop {
            let is_done = mesh.is_done().unwrap();
            mesh.advance(if is_done { 20 } else { 500 }).unwrap();
            found.append(reader.read(mesh).unwrap());
            read_count += 1;
            if is_done {
                let Some(rest) = reads_behind.checked_sub(1) else { break };
                reads_behind = rest;
            }
        }
    }
    mesh.settle().unwrap();
    *reader.options_mut() = ReadOptions { last_read: true, ..ReadOptions::default() };
    found.append(reader.read(mesh).unwrap());
    (found, read_count)
}
