//! Tests that run every workload to its end, and compare memory with words that were computed by
//! hand.

use super::{Plan, Workload, WorkloadOptions};
use crate::{
    arch::{Arch, floorplan::CorePlace},
    config::{ChipConfig, MeshConfig},
    fault::FaultEffect,
    prepared::{Bench, CONTROL, id_word, is_full},
    program::{CoreSelection, Emission},
    truth::{LaunchTruth, RiscKey},
};
use wire::{Risc, control::ext};

fn wormhole() -> Bench {
    Bench::new(&MeshConfig::wormhole(3))
}

/// Queues a plan on every chip. In a plain run, launches on all worker cores run on 16 of them.
fn enqueue(bench: &mut Bench, plan: &Plan) {
    if is_full() {
        return plan.phases.iter().for_each(|phase| bench.mesh.enqueue_phase(phase));
    }
    let some_of_each = bench
        .mesh
        .chips()
        .map(|chip| CoreSelection::At(chip.workers().map(|place| place.coord).take(16).collect()));
    let some_of_each: Vec<_> = some_of_each.collect();
    for launch in plan.phases.iter().flat_map(|phase| &phase.launches) {
        for (chip_id, some) in (0..).zip(&some_of_each) {
            let launch = match launch.cores {
                CoreSelection::AllTensix => launch.clone().on(some.clone()),
                _ => launch.clone(),
            };
            bench.mesh.enqueue(chip_id, launch).unwrap();
        }
    }
}

/// Returns the packet types of the markers that begin at these words.
fn types_at(words: &[u32], at: impl IntoIterator<Item = usize>) -> Vec<u32> {
    at.into_iter().map(|index| words[index] >> 28).collect()
}

#[test]
fn every_workload_runs_on_every_architecture_and_is_described() {
    for workload in Workload::all() {
        assert!(workload.description.len() < 90, "{}", workload.name);
        for arch in Arch::ALL {
            let chip = ChipConfig::new(arch).with_active_ethernet(1);
            let mut bench = Bench::new(&MeshConfig::new(5).with_chip(chip).with_sums(true));
            let options =
                WorkloadOptions { ops: Some(3), has_ethernet: true, seed: 1, ..Default::default() };
            let plan = bench.plan(workload.name, options);
            assert!(plan.launch_count() >= 3);
            enqueue(&mut bench, &plan);
            bench.mesh.run_to_completion();
            let truth = bench.mesh.truth();
            assert!(truth.kernel_run_count() > 0, "{}", workload.name);
            let ids = truth.launches.values().flatten().map(|launch| launch.program_id);
            assert_eq!(ids.min(), Some(1));
        }
    }
}

/// Returns a RISC's counts of zones, data and events that did not fit in L1.
fn lost(bench: &mut Bench, core: &CorePlace, risc: usize) -> [u32; 3] {
    let control = bench.control(core);
    [29, 34, 39].map(|word| control[word + risc])
}

#[test]
fn full_buffers_keep_125_zones_and_say_that_25_were_lost() {
    let mut bench = wormhole();
    bench.run("full-buffer");
    let core = bench.worker(17);
    for risc in 0..5 {
        let run = bench.lane(&core, risc, 22 * 512, 512);
        assert_eq!(run[..4], [0, 0, id_word(&core, risc), 23]);
        assert_eq!(types_at(&run, (4..512).step_by(4)), [8; 127]);
        assert_eq!(types_at(&run, (6..512).step_by(4)), [9; 127]);
        assert_eq!(lost(&mut bench, &core, risc as usize), [23 * 25, 0, 0]);
    }
    assert_eq!(bench.control(&core)[..5], [23 * 512; 5]);
    let truth = bench.mesh.truth().total_emitted();
    assert_eq!(truth, Emission::zones(64 * 5 * 23 * 152));
}

#[test]
fn fifty_events_of_a_launch_fit() {
    let mut bench = wormhole();
    bench.run("timestamped-events");
    let core = bench.worker(0);
    let run = bench.lane(&core, 3, 0, 512);
    assert_eq!(
        types_at(&run, [12, 14, 18, 20, 22, 502, 504, 508, 510]),
        [8, 11, 12, 9, 8, 8, 11, 12, 9]
    );
    assert_eq!(run[16..18], [1, 0]);
    assert_eq!(run[26..28], [1, 1]);
    assert_eq!((run[28] >> 12) & 0xFFFF, 1);
    assert_eq!(lost(&mut bench, &core, 3), [200; 3]);
    assert_eq!(bench.control(&core)[..5], [2 * 512; 5]);
}

#[test]
fn a_lane_takes_as_many_launches_as_dram_was_kept_for() {
    let mut bench = wormhole();
    bench.run_on("op-support-count", &[63]);
    let core = bench.worker(63);
    assert_eq!(bench.lane(&core, 0, 999 * 12, 4), [0, 0, id_word(&core, 0), 1000]);
    let control = bench.control(&core);
    assert_eq!(control[..5], [12_000, 0, 0, 0, 0]);
    assert_eq!((control[ext::REFUSED_RUNS], control[ext::REFUSED_MARKERS]), (250, 250 * 4));
    assert_eq!(control[CONTROL.dropped_zones], 1);
}

#[test]
fn a_lane_starts_anew_once_the_host_has_read_it() {
    let mut bench = wormhole();
    let plan = bench.plan("multi-op", WorkloadOptions { ops: Some(40), ..Default::default() });
    let core = bench.worker(5);
    for (phase, (generation, first_id)) in plan.phases.iter().zip([(1, 1), (2, 41)]) {
        bench.mesh.enqueue_phase(phase);
        bench.mesh.run_to_completion();
        for risc in 0..5 {
            let id = id_word(&core, risc) & !(7 << 29) | generation << 29;
            assert_eq!(bench.lane(&core, risc, 0, 4)[2..], [id, first_id]);
        }
        assert_eq!(bench.control(&core)[..5], [40 * 12; 5]);
        bench.acknowledge();
    }
    assert_eq!(bench.mesh.truth().kernel_run_count(), 64 * 5 * 80);
}

#[test]
fn compute_kernels_run_in_every_fifth_launch() {
    let mut bench = wormhole();
    bench.run_on("multi-op-overflow", &[0]);
    let core = bench.worker(0);
    let control = bench.control(&core);
    assert_eq!(control[..5], [12_000, 12_000, 280 * 12, 280 * 12, 280 * 12]);
    assert_eq!(control[ext::REFUSED_RUNS..][..5], [400, 400, 0, 0, 0]);
    let programs =
        [ext::FIRST_REFUSED_PROGRAM, ext::LAST_REFUSED_PROGRAM].map(|word| control[word]);
    assert_eq!(programs, [1001, 1400]);
    assert_eq!(bench.lane(&core, 2, 12, 4), [0, 0, id_word(&core, 2), 6]);
    let truth = bench.mesh.truth();
    let key = |risc| RiscKey { chip_id: 0, core: core.coord, risc };
    assert_eq!(truth.launches[&key(Risc::Ncrisc)].len(), 1400);
    assert_eq!(truth.launches[&key(Risc::Trisc1)].len(), 280);
    assert_eq!(truth.launches[&key(Risc::Trisc1)][1].program_id, 6);
}

#[test]
fn loops_take_their_cycles_on_every_risc() {
    let mut bench = wormhole();
    bench.run("cycle-count");
    let truth = bench.mesh.truth();
    let cycles = |launch: &LaunchTruth| launch.kernel.map(|kernel| kernel.end.0 - kernel.start.0);
    for launches in truth.launches.values() {
        let cycles = cycles(&launches[0]).unwrap();
        // Each pass ends late by up to one clock reading, and contains a few further instructions.
        assert!((104_000..140_000).contains(&cycles), "{cycles}");
    }
    let core = bench.worker(9);
    let run = bench.lane(&core, 1, 0, 16);
    let time = |at: usize| u64::from(run[at] & 0xFFF) << 32 | u64::from(run[at + 1]);
    let key = RiscKey { chip_id: 0, core: core.coord, risc: Risc::Ncrisc };
    let kernel_cycles = cycles(&truth.launches[&key][0]).unwrap();
    let zone_cycles = time(14) - time(12);
    assert!(
        (kernel_cycles - 200..kernel_cycles).contains(&zone_cycles),
        "{zone_cycles} of {kernel_cycles}"
    );
}

#[test]
fn two_hours_wrap_one_clock_and_tear_one_read() {
    let mut bench = wormhole();
    if is_full() {
        bench.run("two-hour");
    } else {
        bench.run_on("two-hour", &[0, 1, 2, 3]);
    }
    let starts = |bench: &Bench, core: &CorePlace| -> Vec<u64> {
        // 100 zones per launch: 12 + 400 words.
        let runs = (0..24).map(|launch| bench.lane(core, 0, launch * 412, 412));
        let time =
            |run: &[u32], at: usize| u64::from(run[at] & 0xFFF) << 32 | u64::from(run[at + 1]);
        runs.flat_map(|run| (12..412).step_by(2).map(move |at| time(&run, at)).collect::<Vec<_>>())
            .collect()
    };
    let wrapping = starts(&bench, &bench.worker(0));
    assert_eq!(count_steps_back(&wrapping), 1);
    let at = wrapping.windows(2).position(|pair| pair[1] < pair[0]).unwrap();
    assert!(wrapping[at] > (1 << 44) - 2_000 && wrapping[at + 1] < 2_000);
    let torn = starts(&bench, &bench.worker(1));
    assert_eq!(count_steps_back(&torn), 1);
    let at = torn.windows(2).position(|pair| pair[1] < pair[0]).unwrap();
    // The low word is from the 2 us before the wrap.
    assert!(torn[at] & 0xFFFF_FFFF >= (1 << 32) - 2_700);
    assert!((torn[at] - torn[at + 1]) > (1 << 32) - 4_200);
    let torn_reads = bench.mesh.truth().faults;
    let torn_reads = torn_reads.iter().filter(|fault| {
        matches!(fault.effect, FaultEffect::ClockReadStalled { is_torn: true, .. })
    });
    assert_eq!(torn_reads.count(), 1);
    assert!(bench.mesh.now_ps() > 110 * 60 * 1_000_000_000_000);
}

fn count_steps_back(times: &[u64]) -> usize {
    times.windows(2).filter(|pair| pair[1] < pair[0]).count()
}

/// Runs a workload on two chips and returns its results.
fn outcome(seed: u64, workload: &str) -> impl PartialEq + use<> {
    let config = MeshConfig::new(seed)
        .with_chip(ChipConfig::new(Arch::WormholeB0).with_active_ethernet(2))
        .with_chip(ChipConfig::new(Arch::Blackhole))
        .with_sums(true);
    let mut bench = Bench::new(&config);
    let plan = bench.plan(workload, WorkloadOptions { ops: Some(5), seed, ..Default::default() });
    enqueue(&mut bench, &plan);
    bench.mesh.run_to_completion();
    let dram: Vec<_> = bench.mesh.chips().map(|chip| chip.dram().clone()).collect();
    (dram, bench.mesh.truth(), bench.mesh.now_ps())
}

#[test]
fn the_same_seed_gives_the_same_words_and_truth() {
    for workload in ["random", "quick-push", "matmul"] {
        let first = outcome(8, workload);
        assert!(first == outcome(8, workload), "{workload}");
        assert!(first != outcome(9, workload), "{workload}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let with_threads = |count| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        pool.install(|| outcome(10, "random"))
    };
    assert!(with_threads(1) == with_threads(7));
}

#[test]
fn a_trace_replay_shows_in_the_runs_that_follow() {
    let mut bench = wormhole();
    let plan = bench.plan("cycle-count", WorkloadOptions { ops: Some(1), ..Default::default() });
    let launch = &plan.phases[0].launches[0];
    bench.mesh.enqueue_everywhere(launch);
    bench.mesh.enqueue_everywhere(&launch.clone().beginning_trace_replay());
    bench.mesh.enqueue_everywhere(launch);
    bench.mesh.run_to_completion();
    let core = bench.worker(2);
    let id_words: Vec<u32> = (0..3).map(|run| bench.lane(&core, 4, run * 16 + 2, 1)[0]).collect();
    let id = id_word(&core, 4);
    assert_eq!(id_words, [id, 1 << 13 | id, 1 << 13 | id]);
}
