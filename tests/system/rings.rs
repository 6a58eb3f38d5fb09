//! Streamed records on whole chips: the host drains rings while kernels run. Kept, lost, skipped
//! and overwritten records add up to the emitted records.
//!
//! `KPROF_RINGS_COUNT` sets the number of random runs, and `KPROF_RINGS_FIRST` the first seed.
//! `.ci/full` makes thousands.

use crate::{
    accounting::{
        assert_honest, assert_part, emitted, kept, lane_account, left_out, lost, sum, total,
    },
    drained_run::{Case, Relays, assert_each_once},
    streamed::LaneRecords,
    support::Outcome,
};
use host_reader::{
    anomaly::AnomalyKind,
    lane::LaneId,
    ledger::{LossCause, LossLedger},
    mesh::Noc0Coord,
    readout::Readout,
    stream::Batch,
    timeline::Timeline,
};
use sim::{
    arch::{Arch, TileCoord},
    kernel::body::FULL_BUFFER_ZONES,
    random::Stream,
    truth::KernelTimes,
};
use std::collections::BTreeMap;
use tests::sizes::is_full;
use wire::{PacketKind, Risc, RunHostId, stream::Policy};

/// Returns a random case on all cores of a chip.
fn random_case(seed: u64) -> Case {
    let mut random = Stream::new(seed, &[0x57_0001]);
    let mut pick = |count: u64| usize::try_from(random.below(count)).unwrap();
    let policy = [
        Policy::DropNewest,
        Policy::DropNewest,
        Policy::OverwriteOldest,
        Policy::Block { cycles_log2: [12, 30][pick(2)] },
        Policy::KeepOneOf { chunks_log2: [1, 3][pick(2)] },
    ];
    let case = Case {
        arch: Arch::ALL[pick(2)],
        seed,
        workload: ["random", "quick-push", "full-buffer", "multi-op"][pick(4)],
        ops: 8,
        cores: None,
        policy: policy[pick(5)],
        pause_ns: [None, Some(5_000), Some(100_000), Some(2_000_000)][pick(4)],
        failures_ppm: [0, 20_000][pick(2)],
        relays: Relays::NONE,
    };
    // If the host read only after the run, kernels with this policy would wait a second for it.
    let waits_long = case.policy == Policy::Block { cycles_log2: 30 };
    Case { pause_ns: case.pause_ns.or(waits_long.then_some(1_000_000)), ..case }
}

/// Checks that emitted records were kept or are in the ledger. The check is by program if the
/// ledger names the programs.
fn check(case: &Case, outcome: &Outcome) {
    let failures: Vec<_> = outcome.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{case:?}: {failures:?}");
    let anomalies = &outcome.readout.anomalies;
    let overwrites = case.policy == Policy::OverwriteOldest;
    let others = anomalies.anomaly_count() - anomalies.count(AnomalyKind::UnreadableCore);
    assert_eq!(others, 0, "{case:?}: {:?}", anomalies.kept());
    let has_unreadable = anomalies.count(AnomalyKind::UnreadableCore) > 0;
    assert!(case.failures_ppm > 0 || !has_unreadable, "{case:?}: {:?}", anomalies.kept());
    let (readout, timeline, truth) = (&outcome.readout, &outcome.timeline, &outcome.truth);
    if !overwrites && !matches!(case.policy, Policy::KeepOneOf { .. }) {
        return assert_honest(readout, timeline, truth);
    }
    assert_eq!(left_out(readout), truth.idle_launches);
    let (kept, emitted) = (kept(readout, timeline), emitted(truth));
    let (known, unknown) = lost(readout);
    let kept = sum(&kept, &known);
    assert_part(&kept, &emitted);
    let lanes: std::collections::BTreeSet<_> = emitted.keys().map(|(lane, _)| *lane).collect();
    for lane in lanes {
        let [kept, emitted] = [&kept, &emitted].map(|account| total(&lane_account(account, lane)));
        let losses = unknown.get(&lane).copied().unwrap_or_default();
        let missing = (emitted.zones + emitted.data + emitted.events)
            - (kept.zones + kept.data + kept.events)
            - (losses.zones + losses.data + losses.events);
        // A record takes at least one cell; skipped cells may have contained no records.
        assert!(missing <= losses.unknown_markers, "{case:?}, {lane}: {missing} of {losses:?}");
        let launches = outcome.truth.launches.iter().filter(|(key, _)| {
            (Noc0Coord { x: key.core.x, y: key.core.y }, key.risc) == (lane.core, lane.risc)
        });
        let launches: u64 = launches.map(|(_, launches)| launches.len() as u64).sum();
        // Records have up to three cells. Further cells repeat launches, and less than a third is
        // padding.
        let most = 3 * missing + 8 * launches + losses.unknown_markers / 2 + 8;
        assert!(losses.unknown_markers <= most, "{case:?}, {lane}: {missing} of {losses:?}");
    }
}

/// Checks live reads of the same run: they find each streamed record, and the same losses as the
/// recording. Records that may be overwritten are either found or counted as lost.
fn check_records(case: &Case, outcome: &Outcome) {
    let (found, truth, losses) = case.run_live(None);
    assert_eq!(losses, outcome.readout.losses, "{case:?}");
    if case.policy != Policy::OverwriteOldest {
        return assert_each_once(case, (&found, &truth));
    }
    let nothing = LaneRecords::default();
    for (lane, all) in &truth {
        let records = found.get(lane).unwrap_or(&nothing);
        assert!(records.is_part_of(all), "{case:?}: {lane} has records that it did not stream");
        let of_lane = losses.entries().filter(|(key, _)| key.lane == *lane);
        let counted: u64 = of_lane.map(|(_, totals)| totals.unknown_markers).sum();
        let missing = (all.len() - records.len()) as u64;
        assert!(missing <= counted, "{case:?}: {lane}: {missing} of {counted}");
    }
    assert!(found.keys().all(|lane| truth.contains_key(lane)), "{case:?}");
}

#[test]
fn what_was_emitted_was_kept_or_is_counted() {
    let number = |name| std::env::var(name).ok().map(|text: String| text.parse::<u64>().unwrap());
    let fresh = number("KPROF_RINGS_FIRST").unwrap_or_else(tests::seed::fresh);
    let count = number("KPROF_RINGS_COUNT").unwrap_or(4);
    eprintln!("{count} fresh seeds from {fresh} on");
    let (mut full, mut unreadable) = (0, 0);
    let on_all_cores = (0..2).chain([822209088262, 244093057840]).map(random_case);
    // With seed 441318403983, a launch cell is overwritten while the RISC is behind its core.
    let seeds = (2..20).chain([441318403983]).chain(fresh..fresh + count);
    for case in on_all_cores.chain(seeds.map(|seed| random_case(seed).on_few_cores())) {
        let (outcome, _) = case.run(None);
        check(&case, &outcome);
        check_records(&case, &outcome);
        let ring_full = outcome.readout.losses.by_cause(LossCause::RingFull);
        full += u32::from(ring_full.record_count() > 0);
        unreadable += outcome.readout.anomalies.count(AnomalyKind::UnreadableCore);
    }
    assert!(unreadable > 0, "no access failed");
    assert!(full > 0, "no ring was full");
}

#[test]
fn kernels_that_wait_for_a_host_that_reads_lose_nothing() {
    for arch in Arch::ALL {
        let case = Case {
            arch,
            seed: tests::seed::fresh(),
            workload: "full-buffer",
            ops: 2,
            policy: Policy::Block { cycles_log2: 30 },
            pause_ns: Some(100_000),
            failures_ppm: 0,
            cores: None,
            relays: Relays::NONE,
        };
        let (outcome, _) = case.run(None);
        check(&case, &outcome);
        assert!(outcome.readout.losses.is_empty(), "{case:?}: {:?}", outcome.readout.losses);
    }
}

/// Maximum cycles of one pause of a waiting RISC and the check that follows the pause.
const CHECK_CYCLES: u64 = 512;

/// Returns by how many cycles two runs of the kernel `full_buffer` may differ because of its loop.
///
/// The loop that waits in each zone takes two rounds or three, as the clock is read. Where all take
/// three, its branch is predicted wrongly once in a zone or twice, for as long as nothing disturbs
/// that, and depending on what came before: a predicted branch has a counter of two bits, which
/// moves up and down by one. A wrong prediction takes up to four cycles.
fn branch_cycles(launch_count: u32) -> u64 {
    4 * u64::from(launch_count) * u64::from(FULL_BUFFER_ZONES)
}

/// Returns the cycles that the kernels of each RISC took in all launches.
fn kernel_cycles(outcome: &Outcome) -> BTreeMap<(TileCoord, Risc), u64> {
    let launches = outcome.truth.launches.iter();
    let cycles = launches.map(|(key, launches)| {
        let kernels = launches.iter().filter_map(|launch| launch.kernel);
        ((key.core, key.risc), kernels.map(|KernelTimes { start, end }| end.0 - start.0).sum())
    });
    cycles.collect()
}

#[test]
fn a_host_that_never_reads_holds_no_kernel_up_for_longer_than_it_may() {
    for arch in Arch::ALL {
        let case = Case {
            arch,
            seed: 3,
            workload: "full-buffer",
            ops: 3,
            policy: Policy::DropNewest,
            pause_ns: None,
            failures_ppm: 0,
            // Each RISC is compared with itself, on all cores at full size.
            cores: (!is_full()).then_some(8),
            relays: Relays::NONE,
        };
        let cycles = |policy| {
            let (outcome, _) = Case { policy, ..case }.run(None);
            check(&Case { policy, ..case }, &outcome);
            kernel_cycles(&outcome)
        };
        let dropping = cycles(Policy::DropNewest);
        // Up to the first wait, runs that wait have the same course, also where the loop's branch is
        // predicted wrongly twice. A run that drops records at once has another one on some cores.
        let briefly = cycles(Policy::Block { cycles_log2: 0 });
        assert!(briefly.keys().eq(dropping.keys()), "{arch}");
        let mut least = BTreeMap::new();
        for (((_, risc), briefly), dropping) in briefly.iter().zip(dropping.values()) {
            let differ = briefly.abs_diff(*dropping);
            assert!(differ < CHECK_CYCLES + branch_cycles(case.ops), "{arch}, {risc}: {differ}");
            let least = least.entry(*risc).or_insert(differ);
            *least = differ.min(*least);
        }
        assert!(least.values().all(|&differ| differ < CHECK_CYCLES), "{arch}: {least:?}");
        for cycles_log2 in [11, 14, 15, 18, 21] {
            let blocking = cycles(Policy::Block { cycles_log2 });
            assert!(blocking.keys().eq(briefly.keys()), "{arch}");
            // Each RISC waits once, since nothing is read after that wait.
            let limit_cycles = 1 << cycles_log2;
            let allowed = limit_cycles - CHECK_CYCLES..limit_cycles + CHECK_CYCLES;
            for ((risc, blocking), briefly) in blocking.iter().zip(briefly.values()) {
                let waited = blocking - briefly;
                assert!(allowed.contains(&waited), "{arch}, {risc:?}: {waited} of {limit_cycles}");
            }
        }
    }
}

#[test]
fn no_recorded_wait_for_a_host_is_longer_than_its_limit() {
    for (arch, cycles_log2) in Arch::ALL.into_iter().flat_map(|arch| [(arch, 19), (arch, 20)]) {
        let case = Case {
            arch,
            seed: 3,
            workload: "full-buffer",
            ops: 3,
            policy: Policy::Block { cycles_log2 },
            pause_ns: Some(50_000),
            failures_ppm: 0,
            cores: None,
            relays: Relays::NONE,
        };
        let (outcome, _) = case.run(None);
        check(&case, &outcome);
        let waits = outcome.wait_cycles();
        let limit_cycles = 1 << cycles_log2;
        // The host reads some rings before their RISCs stop waiting, and others after that.
        assert!(waits.iter().any(|&cycles| cycles > limit_cycles / 2), "{case:?}: {waits:?}");
        let longest = waits.into_iter().max().unwrap();
        assert!(longest < limit_cycles + CHECK_CYCLES, "{case:?}: {longest}");
    }
}

#[test]
fn launches_of_a_stream_have_the_times_of_their_kernels() {
    for arch in Arch::ALL {
        let case = Case {
            arch,
            seed: 5,
            workload: "multi-op",
            ops: 5,
            policy: Policy::DropNewest,
            pause_ns: Some(20_000),
            failures_ppm: 0,
            cores: None,
            relays: Relays::NONE,
        };
        let (outcome, _) = case.run(None);
        assert!(outcome.readout.losses.is_empty());
        let mut compared = 0;
        for (key, launches) in &outcome.truth.launches {
            let core = Noc0Coord { x: key.core.x, y: key.core.y };
            let lane = outcome.readout.lanes().find(|lane| {
                (lane.id.core, lane.id.risc, lane.id.chip_id) == (core, key.risc, key.chip_id)
            });
            let with_kernel: Vec<_> = launches.iter().filter_map(|launch| launch.kernel).collect();
            let Some(lane) = lane else {
                assert!(with_kernel.is_empty(), "{key:?}");
                continue;
            };
            let name = |zone| outcome.readout.zones.name(zone);
            let kernels: Vec<u64> = lane
                .records()
                .filter(|record| name(record.zone).ends_with("-KERNEL"))
                .map(|record| record.time)
                .collect();
            assert_eq!(kernels.len(), 2 * with_kernel.len(), "{key:?}");
            for (found, truth) in kernels.chunks(2).zip(&with_kernel) {
                let [start, end] = found else { panic!() };
                // The true span encloses the recorded zone.
                assert!(*start >= truth.start.0 && *start - truth.start.0 < 60, "{key:?}");
                assert!(*end <= truth.end.0 && truth.end.0 - *end < 400, "{key:?}");
                compared += 1;
            }
        }
        assert!(compared > 1000, "{compared}");
    }
}

/// Records by lane and program: id, start and end, and values. Single records start at their end.
type Records = BTreeMap<(LaneId, RunHostId), Vec<(u32, u64, u64, Vec<u64>)>>;

fn records_of(readout: &Readout) -> Records {
    let mut records = Records::new();
    let timeline = Timeline::from_readout(readout);
    for (lane, paired) in readout.lanes().zip(timeline.lanes()) {
        let program = |run: usize| (lane.id, lane.runs[run].program);
        for zone in paired.zones.iter() {
            let of_program = records.entry(program(zone.run as usize)).or_default();
            of_program.push((zone.zone.0, zone.start_cycle, zone.end_cycle, vec![]));
        }
        let mut all = lane.records();
        for (index, run) in lane.runs.iter().enumerate() {
            let of_program = records.entry((lane.id, run.program)).or_default();
            for record in all.by_ref().take(lane.run_records(index).len()) {
                use PacketKind::{ZoneEnd, ZoneStart};
                if !matches!(record.kind, ZoneStart | ZoneEnd) {
                    let time = record.time;
                    of_program.push((record.zone.0, time, time, record.data.to_vec()));
                }
            }
        }
    }
    sorted(records)
}

fn add_batch(records: &mut Records, batch: &Batch) {
    if batch.record_count() == 0 {
        return; // The batch has new losses only.
    }
    let of_program = records.entry((batch.lane, batch.program.unwrap())).or_default();
    let Batch { zones, data, events, totals, .. } = batch;
    let rows = zones.ids.iter().zip(&zones.starts).zip(&zones.ends);
    of_program.extend(rows.map(|((id, &start), &end)| (id.0.into(), start, end, vec![])));
    let rows = data.ids.iter().zip(&data.times).zip(&data.values);
    of_program.extend(rows.map(|((id, &time), &(first, second))| {
        (id.0.into(), time, time, [first].into_iter().chain(second).collect())
    }));
    let rows = events.ids.iter().zip(&events.times);
    of_program.extend(rows.map(|(id, &time)| (id.0.into(), time, time, vec![])));
    assert!(totals.ids.is_empty(), "the workload sums nothing");
}

fn sorted(mut records: Records) -> Records {
    records.values_mut().for_each(|records| records.sort());
    records
}

#[test]
fn batches_of_a_run_have_the_records_and_losses_of_its_recording() {
    for (arch, failures_ppm) in Arch::ALL.into_iter().zip([0, 20_000]) {
        let case = Case {
            arch,
            seed: 11,
            workload: "full-buffer",
            ops: 3,
            policy: Policy::DropNewest,
            pause_ns: Some(50_000),
            failures_ppm,
            cores: None,
            relays: Relays::NONE,
        };
        let (outcome, _) = case.run(None);
        let (mut live, mut losses, mut unfinished) = (Records::new(), LossLedger::default(), 0);
        case.read(None, |reader, mesh| {
            let Ok(read) = reader.read_live(mesh) else { return };
            assert_eq!(read.readout.record_count(), 0);
            losses.append_read(&read.readout.losses);
            read.batches.iter().for_each(|batch| add_batch(&mut live, batch));
            unfinished += u32::from(read.batches.iter().any(|batch| batch.zones.len() > 100));
        });
        assert_eq!(losses, outcome.readout.losses);
        assert_eq!(sorted(live), records_of(&outcome.readout));
        assert!(losses.by_cause(LossCause::RingFull).zones > 0 && unfinished > 0);
    }
}
