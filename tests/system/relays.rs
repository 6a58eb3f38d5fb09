//! Relays on whole chips: spare cores gather streamed records while kernels run.
//!
//! The host reads the relays' frames from DRAM, or finds them in its own memory. Whatever stops or
//! dies, each emitted record is read or counted.
//!
//! `KPROF_RELAYS_COUNT` sets the number of random runs; `.ci/full` makes many.

use crate::{
    accounting::{assert_honest, emitted, kept, lane_account, lost, sum, total},
    drained_run::{Case, HostMesh, Relays, assert_each_once, read_into},
    streamed::{Found, LaneRecords},
    support::Outcome,
};
use host_reader::{
    ReadOptions,
    anomaly::AnomalyKind,
    ledger::{LossCause, LossLedger},
    mesh::Mesh,
    read::Reader,
    readout::Readout,
};
use sim::{
    arch::Arch,
    config::{MeshConfig, RelaySink},
    fault::{Rule, rules::PushRule},
    mesh::SimulatedMesh,
    program::Emission,
    random::Stream,
};
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};
use tests::sizes::is_full;
use wire::stream::Policy;

fn random_case(seed: u64) -> Case {
    let mut random = Stream::new(seed, &[0x4B_0001]);
    let mut pick = |count: u64| usize::try_from(random.below(count)).unwrap();
    let case = Case {
        arch: Arch::ALL[pick(2)],
        seed,
        workload: ["random", "quick-push", "full-buffer", "multi-op"][pick(4)],
        ops: 6,
        cores: None,
        policy: [Policy::DropNewest, Policy::Block { cycles_log2: 14 }][pick(2)],
        failures_ppm: 0,
        relays: Relays::living([1, 2, 4][pick(3)], [1 << 16, 1 << 24][pick(2)]),
        pause_ns: [None, Some(20_000), Some(100_000)][pick(3)],
    };
    let death_ns = [None, Some(110_000 + 10_000 * pick(20) as u64)][pick(2)];
    let is_before_telling = pick(2) == 0;
    // A successor begins before or after the host has noticed that the relay is dead.
    let after_ns = [None, Some(30_000), Some(2_200_000)][pick(3)];
    let can_be_succeeded = case.relays.count == 1 && case.pause_ns.is_some();
    let succession_ns = death_ns.zip(after_ns).filter(|_| can_be_succeeded);
    let succession_ns = succession_ns.map(|(death_ns, after_ns)| death_ns + after_ns);
    let sink = SINKS[pick(2)];
    let relays = Relays { sink, death_ns, is_before_telling, succession_ns, ..case.relays };
    Case { relays, ..case }
}

/// Returns the number of cores on which launches run: at full size, all that the workload chooses.
fn core_count() -> Option<usize> {
    (!is_full()).then_some(32)
}

/// Memories to which relays write.
const SINKS: [RelaySink; 2] = [RelaySink::Dram, RelaySink::HostMemory];

fn check(case: &Case, outcome: &Outcome) {
    let failures: Vec<_> = outcome.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{case:?}: {failures:?}");
    let anomalies = &outcome.readout.anomalies;
    let dead = u64::from(case.relays.death_ns.is_some());
    assert!(anomalies.anomaly_count() <= dead, "{case:?}: {:?}", anomalies.kept());
    let (readout, timeline, truth) = (&outcome.readout, &outcome.timeline, &outcome.truth);
    assert_honest(readout, timeline, truth);
    let damaged = readout.losses.by_cause(LossCause::Damaged);
    assert_eq!(damaged.record_count(), 0, "{case:?}: {:?}", readout.losses);
    assert_in_order(case, readout);
}

/// Asserts that the records of each launch are in time order. The records of a launch come in
/// several frames, and a zone that ends in a later frame may have begun before records of an
/// earlier frame.
fn assert_in_order(case: &Case, readout: &Readout) {
    for lane in readout.lanes() {
        for run in 0..lane.runs.len() {
            let mut times = lane.times[lane.run_records(run)].windows(2);
            let id = lane.id;
            assert!(times.all(|pair| pair[0] <= pair[1]), "{case:?}: {id}, run {run}");
        }
    }
}

/// Returns for each lane the number of records that are neither kept nor in the ledger by kind, and
/// the maximum number of missing records of unknown kind in the ledger.
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
    let fresh = tests::seed::fresh();
    let count = std::env::var("KPROF_RELAYS_COUNT").map_or(1, |count| count.parse().unwrap());
    eprintln!("{count} fresh seeds from {fresh} on");
    let on_all_cores = (0..1).map(random_case);
    let seeds = (1..8).chain(fresh..fresh + count);
    for case in on_all_cores.chain(seeds.map(|seed| random_case(seed).on_few_cores())) {
        let (outcome, _) = case.run(None);
        check(&case, &outcome);
        let (found, truth, losses) = case.run_live(None);
        assert_each_once(&case, (&found, &truth));
        assert_eq!(losses, outcome.readout.losses, "{case:?}");
    }
}

/// Cycles of a gatherer's visit to one core; see `docs/streaming.md`. A relay has two gatherers.
const VISIT_CYCLES: u64 = 1000;

/// Tests that a RISC that waits for a relay continues after the relay has read the RISC's ring.
#[test]
fn a_wait_for_a_relay_ends_when_the_relay_has_read() {
    for arch in Arch::ALL {
        let case = Case {
            arch,
            seed: 9,
            workload: "full-buffer",
            ops: 3,
            policy: Policy::Block { cycles_log2: 24 },
            pause_ns: None,
            failures_ppm: 0,
            cores: None,
            relays: Relays::living(1, 1 << 24),
        };
        let (outcome, _) = case.run(None);
        check(&case, &outcome);
        let cores: BTreeSet<_> = outcome.truth.launches.keys().map(|key| key.core).collect();
        let round_cycles = VISIT_CYCLES * (cores.len() as u64).div_ceil(2);
        let waits = outcome.wait_cycles();
        let longest = *waits.iter().max().unwrap();
        assert!(longest < 2 * round_cycles, "{arch}: {longest} of {round_cycles}");
    }
}

#[test]
fn a_relay_that_dies_is_replaced_by_the_host() {
    let case = Case {
        arch: Arch::WormholeB0,
        seed: tests::seed::fresh(),
        workload: "full-buffer",
        ops: 3,
        policy: Policy::Block { cycles_log2: 24 },
        pause_ns: Some(100_000),
        cores: None,
        failures_ppm: 0,
        relays: Relays { death_ns: Some(150_000), ..Relays::living(2, 1 << 20) },
    };
    let (outcome, _) = case.run(None);
    check(&case, &outcome);
    let anomalies = &outcome.readout.anomalies;
    assert_eq!(anomalies.count(AnomalyKind::UnreadableCore), 1, "{case:?}");
    // Kernels waited for the host, so nothing was lost.
    assert!(outcome.readout.losses.is_empty(), "{case:?}: {:?}", outcome.readout.losses);
}

#[test]
fn a_relay_that_dies_is_succeeded_by_another_and_each_record_is_read_once() {
    // The new relay begins before the host has noticed the death of the first relay; after the host
    // has noticed it; or before the host has read the last frames of the first relay.
    let [wormhole, blackhole] = Arch::ALL;
    let cases =
        [(wormhole, 30_000, 20_000), (blackhole, 2_200_000, 20_000), (wormhole, 30_000, 400_000)];
    for (arch, after_ns, pause_ns) in cases {
        let case = Case {
            arch,
            seed: 6,
            workload: "full-buffer",
            ops: 12,
            policy: Policy::Block { cycles_log2: 24 },
            pause_ns: Some(pause_ns),
            cores: core_count(),
            failures_ppm: 0,
            relays: Relays {
                death_ns: Some(150_000),
                is_before_telling: true,
                succession_ns: Some(150_000 + after_ns),
                ..Relays::living(1, 1 << 20)
            },
        };
        let (found, truth, losses) = case.run_live(None);
        assert_each_once(&case, (&found, &truth));
        assert!(losses.is_empty(), "{case:?}: {losses:?}");
        let records: usize = truth.values().map(LaneRecords::len).sum();
        let expected = case.cores.map_or(100_000, |cores| 100_000 / 64 * cores);
        assert!(records > expected, "{records}");
    }
}

/// Zeroes the signature of the relay that has no predecessor.
fn forget_first_relay(mesh: &mut HostMesh<'_>) {
    let device = mesh.device(0).unwrap();
    let mut forgotten = 0;
    for core in device.description().cores.clone() {
        let mut control = [0; 64];
        device.read_l1(core.noc0, core.control_address, &mut control).unwrap();
        if (control[5], control[34]) == (0x4B52_1000, 0) {
            device.write_l1(core.noc0, core.control_address + 20, &[0]).unwrap();
            forgotten += 1;
        }
    }
    assert_eq!(forgotten, 1);
}

#[test]
fn a_reader_that_meets_a_successor_says_what_may_be_lost_before_it() {
    for is_first_gone in [false, true] {
        let case = Case {
            arch: Arch::WormholeB0,
            seed: 8,
            workload: "full-buffer",
            ops: 12,
            policy: Policy::Block { cycles_log2: 24 },
            pause_ns: Some(20_000),
            cores: None,
            failures_ppm: 0,
            relays: Relays {
                death_ns: Some(150_000),
                succession_ns: Some(200_000),
                ..Relays::living(1, 1 << 20)
            },
        };
        let (mut before, mut found, mut losses) =
            (Found::new(), Found::new(), LossLedger::default());
        let (mut earlier_losses, mut begun) = (LossLedger::default(), None);
        let mut mesh = case.read(None, |reader, mesh| {
            let now_ns = mesh.simulated.now_ps() / 1000;
            let begun_ns = *begun.get_or_insert(now_ns - 20_000);
            let has_successor = now_ns >= begun_ns + 200_000;
            if has_successor && found.is_empty() && !reader.options_mut().last_read {
                if is_first_gone {
                    forget_first_relay(mesh);
                }
                *reader = Reader::new(ReadOptions::default());
            }
            let now = if has_successor { &mut found } else { &mut before };
            let lost = if has_successor { &mut losses } else { &mut earlier_losses };
            read_into(now, lost, reader, mesh);
        });
        let truth = case.streamed(&mut mesh);
        assert!(earlier_losses.is_empty(), "{earlier_losses:?}");
        let mut not_found = 0;
        for (lane, all) in &truth {
            let records = &found[lane];
            assert!(records.are_last_of(all), "{lane} has other records");
            let earlier = before.get(lane).map_or(0, LaneRecords::len);
            // If the first relay is gone, its unread frames are lost.
            let is_missing = earlier + records.len() < all.len();
            assert!(is_first_gone || !is_missing, "{lane} has records that nobody has read");
            not_found += all.len() - records.len();
        }
        let all_before: usize = before.values().map(LaneRecords::len).sum();
        assert!(all_before > 10_000, "{all_before}");
        let damaged = losses.by_cause(LossCause::Damaged);
        if is_first_gone {
            // The new reader cannot know that another reader has read these records.
            assert!(damaged.unknown_markers >= not_found as u64, "{damaged:?}, {not_found}");
            assert!(not_found >= all_before, "{not_found}");
        } else {
            assert!(losses.is_empty(), "{losses:?}");
        }
    }
}

#[test]
fn a_host_that_does_not_read_delays_no_kernel() {
    let case = Case {
        arch: Arch::WormholeB0,
        seed: 4,
        workload: "full-buffer",
        ops: 3,
        policy: Policy::DropNewest,
        pause_ns: None,
        cores: None,
        failures_ppm: 0,
        relays: Relays::living(1, 1 << 16),
    };
    let (full, full_mesh) = case.run(None);
    check(&case, &full);
    let roomy = Case { relays: Relays::living(1, 1 << 24), ..case };
    let (outcome, mesh) = roomy.run(None);
    check(&roomy, &outcome);
    let [lost, lost_with_room] = [&full, &outcome]
        .map(|outcome| outcome.readout.losses.by_cause(LossCause::RingFull).record_count());
    assert!(lost > lost_with_room + 1000, "64 KiB hold few of the frames: {lost}");
    let [full_us, roomy_us] = [full_mesh, mesh].map(|mesh| mesh.now_ps() / 1_000_000);
    assert!(full_us < roomy_us + 2_000, "{full_us} us, with room {roomy_us} us");
}

#[test]
fn frames_that_are_damaged_or_never_land_are_counted() {
    let words = [(1, Some(0)), (2, Some(2)), (3, Some(7)), (4, None), (5, Some(30))];
    let dram = words.map(|(seed, word)| (RelaySink::Dram, seed, word));
    let host = [(RelaySink::HostMemory, 6, Some(2)), (RelaySink::HostMemory, 7, None)];
    for (sink, seed, word) in dram.into_iter().chain(host) {
        let case = Case {
            arch: Arch::WormholeB0,
            seed,
            workload: "full-buffer",
            ops: 2,
            policy: Policy::DropNewest,
            pause_ns: Some(100_000),
            cores: core_count(),
            failures_ppm: 0,
            relays: Relays { sink, ..Relays::living(2, 1 << 20) },
        };
        let damage: Arc<dyn Rule> = Arc::new(PushRule::new("damage", move |push, fate, random| {
            // The second part of a long frame contains only cells, which have no checksum.
            let is_begin = push.words.first() == Some(&0x4B46_1000);
            let is_chosen = is_begin || word.is_none();
            if is_chosen && push.words.len() > 16 && random.chance(150_000) {
                match word {
                    Some(word) => fate.flip(word, 1 << random.below(32)),
                    None => fate.lose(),
                }
            }
        }));
        let (outcome, _) = case.run(Some(&damage));
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
        let (found, truth, losses) = case.run_live(Some(&damage));
        let mut missing = 0;
        for (lane, all) in &truth {
            let nothing = LaneRecords::default();
            let records = found.get(lane).unwrap_or(&nothing);
            assert!(records.is_part_of(all), "{word:?}: {lane} has records that it did not stream");
            missing += all.len() - records.len();
        }
        let damaged = losses.by_cause(LossCause::Damaged).unknown_markers;
        assert!((1..=damaged).contains(&(missing as u64)), "{word:?}: {missing} of {damaged}");
    }
}

#[test]
fn a_host_that_cannot_read_the_frames_says_so_and_counts_their_cells() {
    let case = Case {
        arch: Arch::Blackhole,
        seed: 13,
        workload: "full-buffer",
        ops: 2,
        policy: Policy::DropNewest,
        pause_ns: Some(100_000),
        cores: None,
        failures_ppm: 0,
        relays: Relays {
            sink: RelaySink::HostMemory,
            is_sink_hidden: true,
            ..Relays::living(2, 1 << 20)
        },
    };
    let (outcome, _) = case.run(None);
    assert!(outcome.failures.is_empty());
    let anomalies = &outcome.readout.anomalies;
    assert!(anomalies.count(AnomalyKind::UnreadableCore) > 0, "{:?}", anomalies.kept());
    let is_reason = |text: &str| text.contains("no access to the host's memory");
    assert!(anomalies.kept().iter().any(|anomaly| is_reason(&anomaly.detail)));
    let mut all_missing = 0;
    for (missing, unknown) in rest(&outcome) {
        assert!(missing <= unknown, "{missing} of {unknown}");
        all_missing += missing;
    }
    assert!(all_missing > 1000, "{all_missing}");
}

#[test]
fn a_frame_is_counted_only_when_all_of_it_has_arrived() {
    let delayed = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&delayed);
    let delay: Arc<dyn Rule> = Arc::new(PushRule::new("delay", move |_, fate, random| {
        if random.chance(200_000) {
            count.fetch_add(1, Ordering::Relaxed);
            fate.delay(20_000);
        }
    }));
    for (arch, sink) in Arch::ALL.into_iter().flat_map(|arch| SINKS.map(|sink| (arch, sink))) {
        let case = Case {
            arch,
            seed: 12,
            workload: "full-buffer",
            ops: 2,
            policy: Policy::Block { cycles_log2: 24 },
            pause_ns: Some(20_000),
            cores: core_count(),
            failures_ppm: 0,
            relays: Relays { sink, ..Relays::living(2, 1 << 20) },
        };
        let (outcome, _) = case.run(Some(&delay));
        check(&case, &outcome);
        assert!(outcome.readout.losses.is_empty(), "{case:?}: {:?}", outcome.readout.losses);
        let (found, truth, losses) = case.run_live(Some(&delay));
        assert_each_once(&case, (&found, &truth));
        assert!(losses.is_empty(), "{case:?}: {losses:?}");
        assert!(delayed.swap(0, Ordering::Relaxed) > 20, "{case:?}");
    }
}

/// A gatherer without a producer does nothing, whether its relay's other gatherer has producers
/// (24 relays) or not (40 relays).
#[test]
fn relays_may_have_more_gatherers_than_producers() {
    for (arch, count) in [(Arch::WormholeB0, 24), (Arch::WormholeB0, 40), (Arch::Blackhole, 60)] {
        let case = Case {
            arch,
            seed: 14,
            workload: "full-buffer",
            ops: 2,
            policy: Policy::Block { cycles_log2: 24 },
            pause_ns: Some(50_000),
            cores: None,
            failures_ppm: 0,
            relays: Relays::living(count, 1 << 16),
        };
        let (found, truth, losses) = case.run_live(None);
        assert_each_once(&case, (&found, &truth));
        assert!(losses.is_empty(), "{case:?}: {losses:?}");
    }
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
    let large = config.clone().with_relay_ring_bytes(1 << 31);
    let in_dram = error(&large);
    assert!(in_dram.ends_with("choose fewer relays or smaller rings"), "{in_dram}");
    assert_eq!(
        error(&large.with_relay_sink(RelaySink::HostMemory)),
        "chip 0: the rings of its relays need 2147483648 bytes of the host's memory, of which the \
         chip can write 1073741824; choose fewer relays or smaller rings"
    );
}
