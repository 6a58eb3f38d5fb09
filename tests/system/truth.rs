//! Hundreds of random runs with faults: what was kept and lost is what was emitted.

use crate::{
    accounting::{Account, emitted, kept, left_out, lost, sum},
    support::{Outcome, Session, has_object_code, outcome},
};
use host_reader::{ReadOptions, lane::LaneId, mesh::Noc0Coord, read::Reader, readout::Readout};
use sim::{
    config::MeshConfig,
    fault::{
        ClockPlacement, Rule,
        rules::{
            CorruptWord, DelayWrite, LateSubordinate, PushRule, Selection, TearClock, WordChoice,
            WrapClock,
        },
    },
    machine::KernelKind,
    program::Emission,
    workload::WorkloadOptions,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use wire::vector::FIRST_OPTIONAL;

#[test]
fn kept_and_lost_add_up_to_emitted_in_two_hundred_runs_with_faults() {
    check_runs(KernelKind::Native, 0..200);
}

#[test]
fn kept_and_lost_add_up_to_emitted_in_sixty_runs_of_object_code_with_faults() {
    if has_object_code() {
        check_runs(KernelKind::Riscv, 1000..1060);
    }
}

fn check_runs(kernels: KernelKind, seeds: std::ops::Range<u64>) {
    let mut faults_seen = BTreeMap::<String, usize>::new();
    let mut idle_launch_count = 0;
    for seed in seeds {
        let session = session(kernels, seed);
        let outcome = if seed % 4 == 3 { read_while_running(seed, session) } else { session.run() };
        let failures: Vec<_> = outcome.failures.iter().map(ToString::to_string).collect();
        assert!(failures.is_empty(), "seed {seed}: {failures:?}");
        for fault in &outcome.truth.faults {
            *faults_seen.entry(fault.rule.to_string()).or_default() += 1;
        }
        check(seed, &outcome);
        idle_launch_count += outcome.truth.idle_launches.values().sum::<u64>();
    }
    assert!(idle_launch_count > 0, "every launch ran a kernel on every core");
    for rule in ["corrupt-word", "delay-write", "late-subordinate", "lose-write"] {
        assert!(faults_seen.contains_key(rule), "{rule} never happened: {faults_seen:?}");
    }
}

fn session(kernels: KernelKind, seed: u64) -> Session {
    // Small lanes, so that DRAM overflows in many of the runs.
    let support_count = [43, 60, 100, 1000][usize::try_from(seed % 4).unwrap()];
    let config = MeshConfig::wormhole(seed)
        .with_program_support_count(support_count)
        .with_sums(seed.is_multiple_of(2))
        .with_kernels(kernels);
    let workload = if seed.is_multiple_of(3) { "quick-push" } else { "random" };
    let options = WorkloadOptions { ops: Some(12), seed, ..WorkloadOptions::default() };
    Session::new(&config, workload, &options, rules(seed))
}

fn rules(seed: u64) -> Vec<Arc<dyn Rule>> {
    let rarely = || Selection::everywhere().parts_per_million(2_000);
    let placement = ClockPlacement { bits: 32, at_ns: 200_000 };
    match seed % 8 {
        0 => vec![],
        1 => vec![lose_run()],
        2 => vec![Arc::new(CorruptWord { selection: rarely(), word: WordChoice::Any, mask: 0 })],
        3 => vec![Arc::new(DelayWrite { selection: rarely(), cycles: 5_000 })],
        4 => vec![Arc::new(LateSubordinate(rarely()))],
        5 => vec![Arc::new(WrapClock { selection: Selection::everywhere(), placement })],
        6 => vec![Arc::new(TearClock { selection: rarely(), at_ns: 200_000, within_us: 50 })],
        _ => vec![lose_run(), Arc::new(LateSubordinate(rarely()))],
    }
}

/// Loses the write of a run now and then. A trailer alone is left: it is eight words in which
/// a record of an earlier read can lie that nothing tells from a new one.
fn lose_run() -> Arc<dyn Rule> {
    Arc::new(PushRule::new("lose-write", |push, fate, random| {
        if push.words.len() >= FIRST_OPTIONAL && random.chance(2_000) {
            fate.lose();
        }
    }))
}

/// Reads again and again while launches and pushes are under way.
fn read_while_running(seed: u64, session: Session) -> Outcome {
    let Session { mut mesh, plan } = session;
    let mut reader = Reader::new(ReadOptions::default());
    let mut readout = Readout::default();
    for launch in plan.phases.iter().flat_map(|phase| &phase.launches) {
        mesh.enqueue_everywhere(launch);
        mesh.wait_ns(7_000 + seed * 13);
        if launch.program_id % 3 == 0 {
            readout.append(reader.read(&mut mesh).unwrap());
        }
    }
    mesh.run_to_completion();
    readout.append(reader.read(&mut mesh).unwrap());
    reader.options_mut().last_read = true;
    readout.append(reader.read(&mut mesh).unwrap());
    outcome(readout, &mesh)
}

fn check(seed: u64, outcome: &Outcome) {
    let (known, unknown) = lost(&outcome.readout);
    let found = sum(&kept(&outcome.readout, &outcome.timeline), &known);
    let expected = emitted(&outcome.truth);
    assert_eq!(left_out(&outcome.readout), outcome.truth.idle_launches, "seed {seed}");
    let damaged = damaged_lanes(outcome);
    let lanes: BTreeSet<_> = found.keys().chain(expected.keys()).map(|key| key.0).collect();
    for &lane in &lanes {
        let (found, expected) = (of_lane(&found, lane), of_lane(&expected, lane));
        match damaged.get(&lane) {
            None => assert_eq!(found, expected, "seed {seed}, good lane {lane}"),
            Some(_) if found == expected => {}
            Some(rules) => {
                assert_accounted(seed, lane, rules, &found, &expected, outcome, &unknown);
            }
        }
    }
    assert!(
        unknown.keys().all(|lane| damaged.contains_key(lane)),
        "seed {seed}: losses of unknown kind in a good lane"
    );
}

/// Lanes in which a fault destroyed words.
fn damaged_lanes(outcome: &Outcome) -> BTreeMap<LaneId, BTreeSet<String>> {
    let mut lanes = BTreeMap::<LaneId, BTreeSet<String>>::new();
    let destructive = |rule: &str| matches!(rule, "lose-write" | "corrupt-word");
    for fault in outcome.truth.faults.iter().filter(|fault| destructive(&fault.rule)) {
        let Some(site) = fault.site else { continue };
        // BRISC pushes for all five: the fault is in one of the core's lanes.
        let core = Noc0Coord { x: site.core.x, y: site.core.y };
        for risc in wire::Risc::ALL {
            let lane = LaneId { chip_id: site.chip_id, core, risc };
            lanes.entry(lane).or_default().insert(fault.rule.to_string());
        }
    }
    lanes
}

type Programs = BTreeMap<wire::RunHostId, Emission>;

fn of_lane(account: &Account, lane: LaneId) -> Programs {
    let of_lane = account.iter().filter(|(key, _)| key.0 == lane);
    of_lane.map(|(key, &emission)| (key.1, emission)).collect()
}

/// A lane that lost words says so: in its ledger or as an anomaly.
fn assert_accounted(
    seed: u64,
    lane: LaneId,
    rules: &BTreeSet<String>,
    found: &Programs,
    expected: &Programs,
    outcome: &Outcome,
    unknown: &BTreeMap<LaneId, host_reader::ledger::LossTotals>,
) {
    use host_reader::anomaly::AnomalyKind;
    let anomalies = [
        AnomalyKind::NotAMarker,
        AnomalyKind::UnknownPacketType,
        AnomalyKind::TruncatedRecord,
        AnomalyKind::ForeignRun,
        AnomalyKind::StaleRun,
        AnomalyKind::MissingRun,
        AnomalyKind::OrphanEnd,
        AnomalyKind::OpenZone,
        AnomalyKind::BackwardTime,
        AnomalyKind::AmbiguousPadding,
    ];
    let logs = [&outcome.readout.anomalies, &outcome.timeline.anomalies];
    let is_noticed =
        logs.iter().any(|log| anomalies.iter().any(|&kind| log.lane_count(Some(lane), kind) > 0));
    let is_in_ledger = unknown.contains_key(&lane);
    let only_flipped = rules.iter().all(|rule| rule == "corrupt-word");
    // One flipped bit may turn a record into another that is as good, such as another id
    // or another program; everything else must be noticed.
    assert!(
        is_noticed || is_in_ledger || only_flipped,
        "seed {seed}, {lane}: {rules:?} went unnoticed\nfound    {found:?}\nexpected {expected:?}"
    );
    let is_lower_bound = unknown.get(&lane).is_some_and(|totals| totals.is_lower_bound);
    assert!(
        !is_in_ledger || is_lower_bound,
        "seed {seed}, {lane}: what was lost may have been a trailer, so the count is no exact one"
    );
    // Where a short write is lost, markers of an earlier read can lie behind the run before
    // it. They are no run of their own and are told by their times alone.
    let has_old_times =
        logs.iter().any(|log| log.lane_count(Some(lane), AnomalyKind::BackwardTime) > 0);
    if rules.contains("lose-write") && !has_old_times {
        assert_nothing_was_invented(seed, lane, found, expected);
    }
}

/// A lost write takes records away; it never adds any.
fn assert_nothing_was_invented(seed: u64, lane: LaneId, found: &Programs, expected: &Programs) {
    for (program, found) in found {
        let expected = expected.get(program).copied().unwrap_or_default();
        let is_within = found.zones <= expected.zones
            && found.data <= expected.data
            && found.events <= expected.events
            && found.sums <= expected.sums;
        assert!(is_within, "seed {seed}, {lane} {program}: found {found:?}, emitted {expected:?}");
    }
}
