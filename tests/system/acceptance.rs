//! Workloads that mirror TT-Metal's own tests, with figures calculated by hand.
//!
//! A simulated Wormhole has 64 worker cores of five RISCs. Every launch of a kernel leaves two
//! guaranteed zones per RISC, `-FW` and `-KERNEL`.

use crate::{
    accounting::{assert_honest, kept, total},
    support::{Outcome, Session, first_workers, run},
};
use host_reader::ledger::LossCause;
use sim::{
    config::MeshConfig,
    fault::{AppliedFault, FaultEffect},
    program::{CoreSelection, Emission},
    workload::WorkloadOptions,
};
use std::collections::BTreeMap;
use tests::sizes::is_full;
use wire::{CoreKind, PacketKind, Risc};

const CORES: u64 = 64;
const RISCS: u64 = 5;
/// Ethernet cores of a Wormhole, all of them without a link here.
const ETHERNET_CORES: u64 = 16;

fn wormhole() -> MeshConfig {
    MeshConfig::wormhole(1)
}

/// Returns the number of zones with one name, by RISC.
fn zones_named(outcome: &Outcome, name: &str) -> BTreeMap<Risc, u64> {
    let mut counts = BTreeMap::new();
    for lane in outcome.timeline.lanes() {
        let named =
            |zone: &host_reader::timeline::Zone| outcome.readout.zones.name(zone.zone) == name;
        let count = lane.zones.iter().filter(named).count() as u64;
        *counts.entry(lane.id.risc).or_default() += count;
    }
    counts.retain(|_, count| *count > 0);
    counts
}

fn all_zones_named(outcome: &Outcome, name: &str) -> u64 {
    zones_named(outcome, name).values().sum()
}

/// Returns the number of kernel zones kept per core, which must be equal on all cores.
fn kernels_per_core(outcome: &Outcome, cores: u64, risc: Risc, name: &str) -> u64 {
    let count = zones_named(outcome, name).get(&risc).copied().unwrap_or(0);
    assert_eq!(count % cores, 0, "every core kept as many");
    count / cores
}

/// Runs a workload of thousands of launches on every eighth worker core, since the number of
/// launches per lane is what matters.
fn run_on_eight(config: &MeshConfig, workload: &str) -> Outcome {
    let session = Session::new(config, workload, &WorkloadOptions::default(), Vec::new());
    let cores = session.mesh.chip(0).unwrap().plan().cores().iter();
    let workers = cores.filter(|core| core.kind == CoreKind::Tensix).map(|core| core.coord);
    let eight: Vec<_> = workers.step_by(8).collect();
    assert_eq!(eight.len(), 8);
    run_on(session, &CoreSelection::At(eight))
}

/// Runs a workload on all worker cores at full size, else on the first eight, and returns the number
/// of these cores.
fn run_on_some(workload: &str) -> (Outcome, u64) {
    let session = Session::new(&wormhole(), workload, &WorkloadOptions::default(), Vec::new());
    if is_full() {
        return (session.run(), CORES);
    }
    let eight = first_workers(&session.mesh, 8);
    (run_on(session, &eight), 8)
}

/// Runs a session on the given cores instead of all worker cores.
fn run_on(mut session: Session, cores: &CoreSelection) -> Outcome {
    for launch in session.plan.phases.iter_mut().flat_map(|phase| &mut phase.launches) {
        assert!(matches!(launch.cores, CoreSelection::AllTensix));
        *launch = launch.clone().on(cores.clone());
    }
    session.run()
}

#[track_caller]
fn assert_sound(outcome: &Outcome) {
    let odd: Vec<_> = outcome.readout.anomalies.kept().iter().collect();
    assert!(odd.is_empty(), "{odd:?}");
    assert_eq!(outcome.failures, []);
    assert_eq!(outcome.timeline.anomalies.anomaly_count(), 0);
    assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
}

#[test]
fn a_full_buffer_keeps_125_zones_and_counts_the_other_25() {
    let outcome = run(&wormhole(), "full-buffer", None);
    let launches = 23;
    assert_eq!(all_zones_named(&outcome, "TEST-FULL"), CORES * launches * RISCS * 125);
    let missing = outcome.readout.losses.by_cause(LossCause::L1Full);
    assert_eq!(missing.zones, CORES * launches * RISCS * 25);
    let mut of_lanes = BTreeMap::<_, u64>::new();
    for (key, totals) in outcome.readout.losses.entries() {
        assert!(key.cause == LossCause::L1Full && !totals.is_lower_bound);
        assert!(key.program.is_some() || totals.programs.is_some());
        *of_lanes.entry(key.lane).or_default() += totals.zones;
    }
    assert_eq!(of_lanes.len() as u64, CORES * RISCS);
    assert!(of_lanes.values().all(|&zones| zones == launches * 25));
    assert_sound(&outcome);
}

#[test]
fn timestamped_events_keep_every_record_that_500_words_hold() {
    let outcome = run(&wormhole(), "timestamped-events", None);
    // A zone takes 4 words, data 4 words, an event 2 words: 50 such rounds fit exactly into 500.
    let rounds = CORES * RISCS * 2 * 50;
    let fixed_zones = CORES * RISCS * 2 * 2;
    let expected = Emission { zones: rounds + fixed_zones, data: rounds, events: rounds, sums: 0 };
    assert_eq!(total(&kept(&outcome.readout, &outcome.timeline)), expected);
    let others = CORES * RISCS * 2 * 100;
    let missing = outcome.readout.losses.total();
    assert_eq!([missing.zones, missing.data, missing.events], [others; 3]);
    assert_eq!((missing.unknown_markers, missing.is_lower_bound), (0, false));
    assert_sound(&outcome);
}

/// Runs a workload on the worker and Ethernet cores of a chip.
fn run_with_ethernet(workload: &str) -> Outcome {
    let options = WorkloadOptions { has_ethernet: true, ..WorkloadOptions::default() };
    Session::new(&wormhole(), workload, &options, Vec::new()).run()
}

/// `test_full_buffer` counts zones on Ethernet cores separately: their number is not 0, and is a
/// multiple of 23 x 125.
#[test]
fn ethernet_cores_keep_as_many_zones_as_a_risc_of_a_worker() {
    let outcome = run_with_ethernet("full-buffer");
    let of_each = 23 * 125;
    let tensix = [Risc::Brisc, Risc::Ncrisc, Risc::Trisc0, Risc::Trisc1, Risc::Trisc2];
    let expected = tensix.map(|risc| (risc, CORES * of_each)).into_iter();
    let expected = expected.chain([(Risc::Erisc, ETHERNET_CORES * of_each)]);
    assert_eq!(zones_named(&outcome, "TEST-FULL"), expected.collect());
    assert_sound(&outcome);
}

/// `test_timestamped_events`: T Tensix cores of five RISCs and E Ethernet cores together record
/// (T x 5 + E) x 2 x 100 data and events.
#[test]
fn a_hundred_events_and_data_of_each_launch_are_kept_on_ethernet_cores_too() {
    let outcome = run_with_ethernet("timestamped-events");
    let (mut all, mut on_ethernet) = (0, 0);
    for lane in outcome.readout.lanes() {
        let is_event =
            |kind| matches!(kind, PacketKind::TimestampedData | PacketKind::TimestampedEvent);
        let count = lane.records().filter(|record| is_event(record.kind)).count() as u64;
        all += count;
        on_ethernet += if lane.id.risc == Risc::Erisc { count } else { 0 };
    }
    assert_eq!(all, (CORES * RISCS + ETHERNET_CORES) * 2 * 100);
    assert_eq!(on_ethernet, ETHERNET_CORES * 200);
    assert_sound(&outcome);
}

#[test]
fn two_rounds_of_a_thousand_ops_lose_nothing() {
    let config = wormhole().with_program_support_count(1200);
    let outcome = run_on_eight(&config, "multi-op");
    let kernels = zones_named(&outcome, "BRISC-KERNEL");
    assert_eq!(kernels, BTreeMap::from([(Risc::Brisc, 8 * 2000)]));
    assert!(outcome.readout.losses.is_empty());
    assert_sound(&outcome);
}

#[test]
fn an_overflow_keeps_a_thousand_launches_and_names_the_programs_of_the_rest() {
    let (outcome, cores) = run_on_some("multi-op-overflow");
    assert_eq!(kernels_per_core(&outcome, cores, Risc::Brisc, "BRISC-KERNEL"), 1000);
    assert_eq!(kernels_per_core(&outcome, cores, Risc::Ncrisc, "NCRISC-KERNEL"), 1000);
    // TT-Metal keeps 200 launches, as it pushes a TRISC's old words again with every launch. Our
    // runtime pushes only the runs of the launch, so the 280 compute launches fit.
    for risc in [Risc::Trisc0, Risc::Trisc1, Risc::Trisc2] {
        assert_eq!(kernels_per_core(&outcome, cores, risc, "TRISC-KERNEL"), 280);
    }
    for (key, totals) in outcome.readout.losses.entries() {
        let programs = totals.programs.map(|span| [span.first.base(), span.last.base()]);
        let found = (key.cause, key.program, programs, totals.runs);
        assert_eq!(found, (LossCause::DramFull, None, Some([1001, 1400]), 400));
        // Each run has two zones: the firmware's zone and the kernel's zone.
        assert_eq!((totals.unknown_markers, totals.is_lower_bound), (400 * 2 * 2, false));
    }
    assert_eq!(outcome.readout.losses.entries().count() as u64, cores * 2);
    assert_sound(&outcome);
}

#[test]
fn the_support_count_decides_how_many_ops_are_kept() {
    for (support_count, kept_ops) in [(10, 43), (100, 100), (1000, 1000), (5000, 5000)] {
        assert_support_count(support_count, false, kept_ops);
    }
}

#[test]
fn ten_thousand_ops_are_kept_when_dram_is_made_for_them() {
    assert_support_count(10_000, false, 10_000);
}

#[test]
fn lanes_with_room_for_sums_hold_more_ops_that_have_none() {
    // The 64 bytes for each of 200 programs hold 266 programs of 48 bytes.
    assert_support_count(200, true, 266);
}

#[track_caller]
fn assert_support_count(support_count: u32, has_sums: bool, kept_ops: u64) {
    let config = wormhole().with_program_support_count(support_count).with_sums(has_sums);
    let outcome = run_on_eight(&config, "op-support-count");
    assert_eq!(kernels_per_core(&outcome, 8, Risc::Brisc, "BRISC-KERNEL"), kept_ops);
    assert_sound(&outcome);
}

#[test]
fn counted_cycles_are_within_a_hundredth_of_the_truth() {
    let outcome = run(&wormhole(), "cycle-count", None);
    let mut checked = 0;
    let mut of_riscs = BTreeMap::<_, Vec<u64>>::new();
    for (lane, paired) in outcome.readout.lanes().zip(outcome.timeline.lanes()) {
        let key = sim::truth::RiscKey {
            chip_id: lane.id.chip_id,
            core: sim::arch::TileCoord { x: lane.id.core.x, y: lane.id.core.y },
            risc: lane.id.risc,
        };
        let truths = outcome.truth.launches[&key].iter().filter_map(|launch| launch.kernel);
        let is_kernel = |zone: &host_reader::timeline::Zone| {
            outcome.readout.zones.name(zone.zone).ends_with("-KERNEL")
        };
        let kernels = paired.zones.iter().filter(is_kernel);
        for (zone, truth) in kernels.zip(truths) {
            let expected = (truth.end.0 - truth.start.0) as f64;
            assert!(expected > 2000.0 * 52.0);
            let found = zone.duration_cycles() as f64;
            assert!((found / expected - 1.0).abs() < 0.01, "{}: {found}, {expected}", lane.id);
            of_riscs.entry(lane.id.risc).or_default().push(zone.duration_cycles());
            checked += 1;
        }
    }
    // `test_custom_cycle_count`: each RISC takes between a tenth of 4 x 52,000 cycles and five
    // times as many.
    assert_eq!(of_riscs.len() as u64, RISCS);
    for (risc, cycles) in of_riscs {
        let average = cycles.iter().sum::<u64>() / cycles.len() as u64;
        assert!((20_801..1_040_000).contains(&average), "{risc}: {average}");
    }
    assert_eq!(checked % (CORES * RISCS), 0);
    assert!(checked > 0);
}

#[test]
fn two_hours_with_a_wrap_and_a_torn_read_come_out_monotonic() {
    use host_reader::anomaly::AnomalyKind;
    let (outcome, _) = run_on_some("two-hour");
    for lane in outcome.readout.lanes() {
        for run in 0..lane.runs.len() {
            let times = &lane.times[lane.run_records(run)];
            assert!(times.is_sorted(), "{} run {run}", lane.id);
        }
        let starts: Vec<_> =
            (0..lane.runs.len()).map(|run| lane.times[lane.run_records(run).start]).collect();
        assert!(starts.is_sorted(), "{}", lane.id);
    }
    let anomalies = &outcome.readout.anomalies;
    let is_torn_read = |fault: &&AppliedFault| {
        matches!(fault.effect, FaultEffect::ClockReadStalled { is_torn: true, .. })
    };
    let torn = outcome.truth.faults.iter().filter(is_torn_read).count();
    assert!(torn > 0, "the workload tears clock reads");
    assert_eq!(anomalies.count(AnomalyKind::TornTimestamp), torn as u64);
    assert!(anomalies.count(AnomalyKind::TimestampWrap) > 0);
    assert_eq!(anomalies.anomaly_count(), 0);
    assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
}
