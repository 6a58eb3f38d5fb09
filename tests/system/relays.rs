//! Relays on whole chips: spare cores gather streamed records while kernels run, and the host reads
//! their frames from DRAM. Whatever ends, records that were emitted are read or counted.

use crate::{
    accounting::{assert_honest, emitted, kept, lane_account, lost, sum, total},
    support::{Outcome, has_object_code, outcome},
};
use host_reader::{
    ProfilerOptions, ReadOptions, anomaly::AnomalyKind, init_device_profiler, ledger::LossCause,
    read::Reader, readout::Readout,
};
use sim::{
    arch::Arch,
    config::{ChipConfig, MeshConfig},
    fault::{
        Rule,
        rules::{KillRelay, PushRule},
    },
    kernel::ObjectKernel,
    mesh::SimulatedMesh,
    program::{CoreSelection, Emission, Kernel, Launch, Program},
    random::Stream,
    workload::{Workload, WorkloadOptions},
};
use std::{collections::BTreeSet, sync::Arc};
use wire::stream::Policy;

/// Configuration of one run.
#[derive(Clone, Copy, Debug)]
struct Case {
    arch: Arch,
    seed: u64,
    workload: &'static str,
    ops: u32,
    policy: Policy,
    relays: u32,
    ring_bytes: u32,
    /// Simulated time between two reads; `None` for a host that reads after the run.
    pause_ns: Option<u64>,
    /// When the first relay dies, from the first launch on.
    death_ns: Option<u64>,
}

impl Case {
    fn random(seed: u64) -> Self {
        let mut random = Stream::new(seed, &[0x4B_0001]);
        let mut pick = |count: u64| usize::try_from(random.below(count)).unwrap();
        Self {
            arch: Arch::ALL[pick(2)],
            seed,
            workload: ["random", "quick-push", "full-buffer", "multi-op"][pick(4)],
            ops: 6,
            policy: [Policy::DropNewest, Policy::Block { cycles_log2: 14 }][pick(2)],
            relays: [1, 2, 4][pick(3)],
            ring_bytes: [1 << 16, 1 << 24][pick(2)],
            pause_ns: [None, Some(20_000), Some(100_000)][pick(3)],
            death_ns: [None, Some(110_000 + 10_000 * pick(20) as u64)][pick(2)],
        }
    }

    fn run(self) -> (Outcome, SimulatedMesh) {
        self.run_with(None)
    }

    fn run_with(self, rule: Option<&Arc<dyn Rule>>) -> (Outcome, SimulatedMesh) {
        let config = MeshConfig::new(self.seed)
            .with_chip(ChipConfig::new(self.arch))
            .with_streaming()
            .with_relays(self.relays)
            .with_relay_ring_bytes(self.ring_bytes);
        let mut mesh = SimulatedMesh::new(&config).unwrap();
        if let Some(rule) = rule {
            mesh.add_shared_rule(rule);
        }
        let options = ProfilerOptions { stream_policy: self.policy, ..ProfilerOptions::default() };
        init_device_profiler(&mut mesh, &options).unwrap();
        let options =
            WorkloadOptions { ops: Some(self.ops), seed: self.seed, ..WorkloadOptions::default() };
        if let Some(death_ns) = self.death_ns {
            let at_ns = mesh.now_ps() / 1000 + death_ns;
            mesh.add_rule(KillRelay { chip_id: 0, relay: 0, at_ns });
        }
        let plan = Workload::named(self.workload).unwrap().plan(&mesh, &options);
        for launch in plan.phases.iter().flat_map(|phase| &phase.launches) {
            mesh.enqueue_everywhere(launch);
        }
        let mut reader = Reader::new(ReadOptions::default());
        let mut readout = Readout::default();
        while let Some(pause_ns) = self.pause_ns.filter(|_| mesh.has_launches_to_run()) {
            mesh.wait_ns(pause_ns);
            readout.append(reader.read(&mut mesh).unwrap());
        }
        mesh.run_to_completion();
        reader.options_mut().last_read = true;
        readout.append(reader.read(&mut mesh).unwrap());
        let outcome = outcome(readout, &mesh);
        (outcome, mesh)
    }
}

fn check(case: &Case, outcome: &Outcome) {
    let failures: Vec<_> = outcome.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{case:?}: {failures:?}");
    let anomalies = &outcome.readout.anomalies;
    // Both gatherers of a relay that dies are missed.
    let dead = 2 * u64::from(case.death_ns.is_some());
    assert!(anomalies.anomaly_count() <= dead, "{case:?}: {:?}", anomalies.kept());
    let (readout, timeline, truth) = (&outcome.readout, &outcome.timeline, &outcome.truth);
    assert_honest(readout, timeline, truth);
    let damaged = readout.losses.by_cause(LossCause::Damaged);
    assert_eq!(damaged.record_count(), 0, "{case:?}: {:?}", readout.losses);
}

/// Returns how many records are neither kept nor in the ledger under their kind, and the most that the
/// ledger says may be missing besides, by lane.
fn rest(outcome: &Outcome) -> Vec<(u64, u64)> {
    let Outcome { readout, timeline, truth, .. } = outcome;
    let (kept, emitted) = (kept(readout, timeline), emitted(truth));
    let (known, unknown) = lost(readout);
    let kept = sum(&kept, &known);
    let lanes: BTreeSet<_> = emitted.keys().chain(kept.keys()).map(|(lane, _)| *lane).collect();
    let rest = lanes.into_iter().map(|lane| {
        let [kept, emitted] = [&kept, &emitted].map(|account| total(&lane_account(account, lane)));
        let losses = unknown.get(&lane).copied().unwrap_or_default();
        let counts = |of: Emission| of.zones + of.data + of.events;
        let missing = counts(emitted) - counts(kept) - losses.zones - losses.data - losses.events;
        (missing, losses.unknown_markers)
    });
    rest.collect()
}

#[test]
fn what_was_emitted_is_in_frames_or_rings_or_is_counted() {
    if !has_object_code() {
        return;
    }
    let fresh = tests::seed::fresh();
    eprintln!("fresh seeds from {fresh}");
    for seed in (0..4).chain(fresh..fresh + 4) {
        let case = Case::random(seed);
        let (outcome, _) = case.run();
        check(&case, &outcome);
    }
}

#[test]
fn a_relay_that_dies_is_replaced_by_the_host() {
    if !has_object_code() {
        return;
    }
    let case = Case {
        arch: Arch::WormholeB0,
        seed: tests::seed::fresh(),
        workload: "full-buffer",
        ops: 3,
        policy: Policy::Block { cycles_log2: 24 },
        relays: 2,
        ring_bytes: 1 << 20,
        pause_ns: Some(100_000),
        death_ns: Some(150_000),
    };
    let (outcome, _) = case.run();
    check(&case, &outcome);
    let anomalies = &outcome.readout.anomalies;
    assert_eq!(anomalies.count(AnomalyKind::UnreadableCore), 2, "{case:?}");
    // Kernels waited for the host rather than lose anything.
    assert!(outcome.readout.losses.is_empty(), "{case:?}: {:?}", outcome.readout.losses);
}

#[test]
fn a_host_that_does_not_read_delays_no_kernel() {
    if !has_object_code() {
        return;
    }
    let case = Case {
        arch: Arch::WormholeB0,
        seed: 4,
        workload: "full-buffer",
        ops: 3,
        policy: Policy::DropNewest,
        relays: 1,
        ring_bytes: 1 << 16,
        pause_ns: None,
        death_ns: None,
    };
    let (full, full_mesh) = case.run();
    check(&case, &full);
    let roomy = Case { ring_bytes: 1 << 24, ..case };
    let (outcome, mesh) = roomy.run();
    check(&roomy, &outcome);
    let [lost, lost_with_room] = [&full, &outcome]
        .map(|outcome| outcome.readout.losses.by_cause(LossCause::RingFull).record_count());
    assert!(lost > lost_with_room + 1000, "64 KiB hold few of the frames: {lost}");
    let [full_us, roomy_us] = [full_mesh, mesh].map(|mesh| mesh.now_ps() / 1_000_000);
    assert!(full_us < roomy_us + 2_000, "{full_us} us, with room {roomy_us} us");
}

#[test]
fn frames_that_are_damaged_or_never_land_are_counted() {
    if !has_object_code() {
        return;
    }
    for (seed, word) in [(1, Some(0)), (2, Some(2)), (3, Some(7)), (4, None), (5, Some(30))] {
        let case = Case {
            arch: Arch::WormholeB0,
            seed,
            workload: "full-buffer",
            ops: 2,
            policy: Policy::DropNewest,
            relays: 2,
            ring_bytes: 1 << 20,
            pause_ns: Some(100_000),
            death_ns: None,
        };
        let damage: Arc<dyn Rule> = Arc::new(PushRule::new("damage", move |push, fate, random| {
            if push.words.len() > 16 && random.chance(150_000) {
                match word {
                    Some(word) => fate.flip(word, 1 << random.below(32)),
                    None => fate.lose(),
                }
            }
        }));
        let (outcome, _) = case.run_with(Some(&damage));
        assert!(outcome.failures.is_empty());
        let damaged = outcome.readout.anomalies.count(AnomalyKind::TruncatedRecord);
        assert!(damaged > 0, "{word:?}: {damaged}");
        let mut all_missing = 0;
        for (missing, unknown) in rest(&outcome) {
            // A record takes at least one cell.
            assert!(missing <= unknown, "{word:?}: {missing} of {unknown}");
            all_missing += missing;
        }
        assert!(all_missing > 0, "{word:?}: {all_missing}");
    }
}

/// Runs zones on all RISCs of cores, and returns the outcome with the cycles of each zone and the cycles
/// from one zone to the next.
fn run_zones(relays: u32, cores: usize, zones: u32, reads: u32) -> (Outcome, Vec<u64>, u64) {
    // A chip with 64 cores has no spare one.
    let config = MeshConfig::new(9)
        .with_chip(ChipConfig::new(Arch::WormholeB0).with_worker_core_count(72))
        .with_streaming()
        .with_relays(relays)
        .with_relay_ring_bytes(1 << 29)
        .with_cycle_budget(u64::MAX / 2);
    let mut mesh = SimulatedMesh::new(&config).unwrap();
    init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
    let kernel: Arc<dyn Kernel> = Arc::new(ObjectKernel::named("reads").unwrap());
    let program = Arc::new(Program::new("zones").with_kernel_on_all(&kernel));
    let workers: Vec<_> = mesh.chip(0).unwrap().workers().map(|place| place.coord).collect();
    let chosen = CoreSelection::At(workers.into_iter().take(cores).collect());
    let launch = Launch::new(&program, 1).with_args(&[zones, reads, 0]).on(chosen);
    mesh.enqueue_everywhere(&launch);
    mesh.run_to_completion();
    let mut reader = Reader::new(ReadOptions { last_read: true, ..ReadOptions::default() });
    let readout = reader.read(&mut mesh).unwrap();
    let outcome = outcome(readout, &mesh);
    let mut durations = Vec::new();
    let mut period = 0;
    for lane in outcome.timeline.lanes() {
        let zones = lane.zones.iter();
        let zones: Vec<_> = zones
            .filter(|zone| outcome.readout.zones.name(zone.zone) == "READS")
            .map(|zone| (zone.start_cycle, zone.end_cycle))
            .collect();
        durations.extend(zones.iter().map(|(start, end)| end - start));
        if let [(first, _), .., (last, _)] = zones[..] {
            period = (last - first) / (zones.len() as u64 - 1);
        }
    }
    durations.sort_unstable();
    (outcome, durations, period)
}

#[test]
fn two_relays_keep_up_with_a_zone_every_110_cycles_on_320_lanes() {
    if !has_object_code() {
        return;
    }
    let zones = std::env::var("KPROF_RELAY_ZONES").map_or(1_500, |count| count.parse().unwrap());
    let (outcome, durations, period) = run_zones(2, 64, zones, ZONE_READS);
    eprintln!("a zone every {period} cycles, {} zones", durations.len());
    assert!(outcome.failures.is_empty());
    assert_eq!(outcome.readout.anomalies.anomaly_count(), 0);
    assert!((90..=110).contains(&period), "{period}");
    assert_honest(&outcome.readout, &outcome.timeline, &outcome.truth);
    assert!(outcome.readout.losses.is_empty(), "{:?}", outcome.readout.losses);
    assert_eq!(durations.len(), 64 * 5 * zones as usize);
}

#[test]
fn draining_hardly_changes_how_long_zones_take() {
    if !has_object_code() {
        return;
    }
    // Rings have room for so many zones, so that a kernel without relays loses none either.
    let [alone, drained] = [0, 2].map(|relays| run_zones(relays, 16, 240, ZONE_READS).1);
    let median = |durations: &[u64]| durations[durations.len() / 2];
    let mean = |durations: &[u64]| durations.iter().sum::<u64>() as f64 / durations.len() as f64;
    eprintln!(
        "median {} and {} cycles, mean {:.3} and {:.3}",
        median(&alone),
        median(&drained),
        mean(&alone),
        mean(&drained)
    );
    assert_eq!(alone.len(), drained.len());
    // Half a percent is what the phases of five RISCs on two ports make of it in either direction.
    assert!(median(&drained) <= median(&alone) + 1, "jitter of the median");
    assert!(mean(&drained) < 1.0021 * mean(&alone));
}

#[test]
fn relays_need_room_and_streams() {
    let error = |config: &MeshConfig| SimulatedMesh::new(config).unwrap_err().to_string();
    let config = MeshConfig::wormhole(1).with_relays(2);
    assert_eq!(
        error(&config),
        "relays gather streamed records, and these kernels do not stream; choose streaming, too"
    );
    let config = config.with_streaming();
    assert_eq!(
        error(&config.clone().with_relays(64)),
        "chip 0 has 64 cores that run kernels, and 64 relays would leave none of them to kernels; \
         choose fewer relays"
    );
    assert_eq!(
        error(&config.clone().with_relay_ring_bytes(100_000)),
        "the ring of a relay has a power of two of bytes, at least 65536, but 100000 were asked for"
    );
    let error = error(&config.with_relay_ring_bytes(1 << 31));
    assert!(error.ends_with("choose fewer relays or smaller rings"), "{error}");
}

/// Reads of L1 in a zone, so that the next zone begins 110 cycles later at most.
const ZONE_READS: u32 = 2;
