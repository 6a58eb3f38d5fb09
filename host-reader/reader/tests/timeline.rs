//! Tests of pairing: examples, a simple reference implementation, and property tests that compare
//! the real implementation with the reference.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, proptest};
use reader::{
    anomaly::{AnomalyKind, AnomalyLog},
    lane::{Lane, LaneId, RecordHead, Run, ZoneIndex},
    mesh::Noc0Coord,
    names::{ZoneSource, ZoneTable},
    timeline::{LaneTimeline, NO_RUN, Zone, ZoneFlags, pair_lane},
};
use wire::{PacketKind, Risc, RunHostId, ZoneId};

const START: PacketKind = PacketKind::ZoneStart;
const END: PacketKind = PacketKind::ZoneEnd;

fn lane_of(risc: Risc, runs: &[&[(PacketKind, u32, u64)]]) -> Lane {
    let id = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 2 }, risc };
    let mut lane = Lane::new(id);
    for (origin, records) in (10..).zip(runs) {
        lane.runs.push(Run {
            program: RunHostId(1024),
            trace_counter: 0,
            trace: None,
            first_record: lane.record_count(),
            origin,
            is_unfinished: false,
        });
        for &(kind, zone, time) in *records {
            let head = RecordHead::new(kind, ZoneIndex(zone));
            lane.push(head, time, &[0, 0][..head.data_count()]);
        }
    }
    lane
}

fn paired(lane: &Lane) -> (LaneTimeline, AnomalyLog) {
    let mut anomalies = AnomalyLog::default();
    let timeline = pair_lane(lane, &ZoneTable::new(), &mut anomalies);
    (timeline, anomalies)
}

/// Returns zone, start, end, depth and the open flag for each zone of one run.
fn brief(records: &[(PacketKind, u32, u64)]) -> Vec<(u32, u64, u64, u16, bool)> {
    let (timeline, _) = paired(&lane_of(Risc::Brisc, &[records]));
    let brief = |z: Zone| (z.zone.0, z.start_cycle, z.end_cycle, z.depth, z.flags.is_open());
    timeline.zones.iter().map(brief).collect()
}

#[test]
fn guaranteed_markers_come_first_in_memory_and_last_in_time() {
    let records =
        [(START, 1, 10), (END, 1, 90), (START, 2, 20), (END, 2, 80), (START, 3, 30), (END, 3, 40)];
    assert_eq!(
        brief(&records),
        [(1, 10, 90, 0, false), (2, 20, 80, 1, false), (3, 30, 40, 2, false)]
    );
}

#[test]
fn an_open_zone_ends_with_its_parent_or_its_run() {
    let records = [(START, 1, 10), (START, 2, 20), (END, 1, 30), (START, 3, 40)];
    let data = (PacketKind::TimestampedData, 9, 55);
    assert_eq!(
        brief(&[records.as_slice(), &[data]].concat()),
        [(1, 10, 30, 0, false), (2, 20, 30, 1, true), (3, 40, 55, 0, true)]
    );
}

#[test]
fn an_open_zone_does_not_reach_into_the_next_run() {
    let lane = lane_of(Risc::Brisc, &[&[(START, 1, 10), (START, 2, 15)], &[(END, 1, 20)]]);
    let (timeline, anomalies) = paired(&lane);
    assert_eq!((timeline.zones.len(), timeline.open_zone_count), (2, 2));
    assert_eq!(timeline.orphan_end_count, 1);
    assert_eq!(anomalies.count(AnomalyKind::OpenZone), 2);
    let orphan = anomalies.kept().last().unwrap();
    assert_eq!((orphan.kind, orphan.position), (AnomalyKind::OrphanEnd, 11));
    let detail = "zone `id 1` at cycle 20, program 1024, record 2 of the lane, in the run that begins at \
        this position";
    assert_eq!(orphan.detail, detail);
}

#[test]
fn an_end_sorted_after_the_start_that_follows_it_still_comes_first() {
    // Zone 9 ends and zone 2 begins in one cycle; a log sorts zone 2 first.
    let records = [(START, 9, 10), (START, 2, 20), (END, 9, 20), (END, 2, 30)];
    assert_eq!(brief(&records), [(9, 10, 20, 0, false), (2, 20, 30, 0, false)]);
}

#[test]
fn zones_that_begin_together_are_nested_by_their_ends() {
    // Zone 9 encloses zone 2; a log sorts the start of zone 2 first.
    let records = [(START, 2, 10), (START, 9, 10), (END, 2, 20), (END, 9, 30)];
    assert_eq!(brief(&records), [(9, 10, 30, 0, false), (2, 10, 20, 1, false)]);
}

#[test]
fn zones_that_end_together_are_all_whole() {
    let records = [(START, 1, 10), (START, 2, 20), (END, 1, 30), (END, 2, 30)];
    assert_eq!(brief(&records), [(1, 10, 30, 0, false), (2, 20, 30, 1, false)]);
}

#[test]
fn a_zone_without_length_is_whole_in_either_order() {
    assert_eq!(brief(&[(START, 1, 10), (END, 1, 10)]), [(1, 10, 10, 0, false)]);
    assert_eq!(brief(&[(END, 1, 10), (START, 1, 10)]), [(1, 10, 10, 0, false)]);
}

#[test]
fn aggregate_lanes_match_zones_of_different_riscs() {
    let mut names = ZoneTable::new();
    for (id, name) in [(1, "BRISC-FW"), (2, "NCRISC-FW"), (3, "BRISC-KERNEL"), (4, "TRISC-KERNEL")]
    {
        names.add(ZoneId(id), ZoneSource { name: name.into(), file: "/fw".into(), line: 1 });
    }
    let records = [(START, 1, 10), (START, 4, 20), (END, 3, 30), (END, 2, 40)];
    let count = |risc| {
        let mut anomalies = AnomalyLog::default();
        let timeline = pair_lane(&lane_of(risc, &[&records]), &names, &mut anomalies);
        (timeline.whole_zone_count(), anomalies.anomaly_count())
    };
    assert_eq!(count(Risc::TensixAggregate), (2, 0));
    assert_eq!(count(Risc::Brisc), (0, 4));
}

#[test]
fn records_before_the_first_run_are_paired_too() {
    let mut lane = lane_of(Risc::Brisc, &[&[(START, 1, 10), (END, 1, 20), (START, 2, 30)]]);
    lane.runs[0].first_record = 2;
    let (timeline, _) = paired(&lane);
    assert_eq!(timeline.zones.runs, [NO_RUN, 0]);
}

#[test]
fn runs_out_of_bounds_and_out_of_order_lose_nothing() {
    let mut lane = lane_of(Risc::Brisc, &[&[(START, 1, 10), (END, 1, 20)], &[], &[(START, 1, 30)]]);
    lane.runs[0].first_record = 1;
    lane.runs[1].first_record = usize::MAX;
    let (timeline, _) = paired(&lane);
    assert_eq!(timeline.zones.len(), 2);
}

#[test]
fn a_flood_of_ties_takes_linear_time() {
    let starts = (0..200_000).map(|i| (START, i % 1000, 5));
    let ends = (0..200_000).map(|i| (END, i % 1000, 5));
    let records: Vec<_> = starts.chain(ends).collect();
    let (timeline, _) = paired(&lane_of(Risc::Brisc, &[&records]));
    assert_eq!(timeline.zones.len(), 200_000);
}

/// Reference implementation: pairs one run whose times are all different. Returns the zones,
/// ordered by start, and the number of orphan ends.
fn oracle(records: &[(PacketKind, u32, u64)]) -> (Vec<Zone>, u64) {
    let mut ordered = records.to_vec();
    ordered.sort_by_key(|&(_, _, time)| time);
    let last_time = ordered.last().map_or(0, |&(_, _, time)| time);
    let mut open: Vec<Zone> = Vec::new();
    let mut closed = Vec::new();
    let mut orphans = 0;
    for (kind, zone, time) in ordered {
        let depth = u16::try_from(open.len()).unwrap();
        if kind == START {
            let flags = ZoneFlags::OPEN;
            let zone = ZoneIndex(zone);
            open.push(Zone { start_cycle: time, end_cycle: last_time, zone, depth, run: 0, flags });
        } else if kind == END {
            match open.iter().rposition(|candidate| candidate.zone.0 == zone) {
                None => orphans += 1,
                Some(position) => {
                    closed.extend(open.drain(position..).map(|z| Zone { end_cycle: time, ..z }));
                    let above = closed.len() - (usize::from(depth) - position);
                    closed[above].flags = ZoneFlags::default();
                }
            }
        }
    }
    closed.extend(open);
    closed.sort_by_key(|zone| zone.start_cycle);
    (closed, orphans)
}

/// Generates records of any kind with different times, in the order in which a lane contains them.
fn any_records() -> impl Strategy<Value = Vec<(PacketKind, u32, u64)>> {
    let kind = prop::sample::select(vec![
        START,
        START,
        START,
        END,
        END,
        END,
        PacketKind::TimestampedEvent,
    ]);
    prop::collection::vec((kind, 0_u32..5), 0..60).prop_flat_map(|records| {
        let times: Vec<u64> = (0..records.len() as u64).map(|i| 100 + 3 * i).collect();
        (Just(records), Just(times).prop_shuffle()).prop_map(|(records, times)| {
            records.into_iter().zip(times).map(|((kind, zone), time)| (kind, zone, time)).collect()
        })
    })
}

/// Generates properly nested zones with many equal times, in the order in which they really began
/// and ended.
fn nested_records() -> impl Strategy<Value = Vec<(PacketKind, u32, u64)>> {
    prop::collection::vec(
        (any::<bool>(), 0_u32..6, prop::sample::select(vec![0_u64, 0, 0, 1])),
        0..80,
    )
    .prop_map(|steps| {
        let mut records = Vec::new();
        let mut open = Vec::new();
        let mut time = 7;
        for (opens, zone, pause) in steps {
            time += pause;
            if opens || open.is_empty() {
                open.push(zone);
                records.push((START, zone, time));
            } else {
                records.push((END, open.pop().unwrap(), time));
            }
        }
        records.extend(open.into_iter().rev().map(|zone| (END, zone, time)));
        records
    })
}

/// Checks that each zone is inside its parent. The parent is the last earlier zone whose depth is
/// one less.
fn assert_nested(timeline: &LaneTimeline) -> Result<(), proptest::test_runner::TestCaseError> {
    let mut around: Vec<Zone> = Vec::new();
    for zone in timeline.zones.iter() {
        around.truncate(usize::from(zone.depth));
        prop_assert_eq!(around.len(), usize::from(zone.depth));
        if let Some(parent) = around.last() {
            prop_assert_eq!(parent.start_cycle.min(zone.start_cycle), parent.start_cycle);
            prop_assert_eq!(parent.end_cycle.max(zone.end_cycle), parent.end_cycle);
        }
        around.push(zone);
    }
    Ok(())
}

proptest! {
    #[test]
    fn pairing_equals_the_naive_one(records in any_records()) {
        let (timeline, anomalies) = paired(&lane_of(Risc::Brisc, &[&records]));
        let (zones, orphans) = oracle(&records);
        let open = zones.iter().filter(|zone| zone.flags.is_open()).count() as u64;
        prop_assert_eq!(timeline.zones.iter().collect::<Vec<_>>(), zones);
        prop_assert_eq!(timeline.orphan_end_count, orphans);
        prop_assert_eq!(timeline.open_zone_count, open);
        prop_assert_eq!(anomalies.anomaly_count(), open + orphans);
    }

    #[test]
    fn counts_of_records_and_zones_add_up(records in prop::collection::vec(
        (prop::sample::select(vec![START, END]), 0_u32..4, 0_u64..6), 0..60,
    )) {
        let (timeline, _) = paired(&lane_of(Risc::Brisc, &[&records]));
        let count = |kind| records.iter().filter(|record| record.0 == kind).count() as u64;
        prop_assert_eq!(timeline.zones.len() as u64, count(START));
        prop_assert_eq!(timeline.whole_zone_count() + timeline.orphan_end_count, count(END));
        assert_nested(&timeline)?;
    }

    #[test]
    fn equal_times_sorted_by_id_lose_no_zone(mut records in nested_records()) {
        let (truth, _) = paired(&lane_of(Risc::Brisc, &[&records]));
        let zones = |timeline: &LaneTimeline| {
            let mut zones: Vec<_> =
                timeline.zones.iter().map(|z| (z.zone, z.start_cycle, z.end_cycle)).collect();
            zones.sort_unstable();
            zones
        };
        records.sort_by_key(|&(_, zone, time)| (time, zone));
        let (sorted, anomalies) = paired(&lane_of(Risc::Brisc, &[&records]));
        prop_assert_eq!(anomalies.anomaly_count(), 0);
        prop_assert_eq!(zones(&sorted), zones(&truth));
        assert_nested(&sorted)?;
    }
}
