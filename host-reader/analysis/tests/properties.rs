//! Compares statistics of lanes that are paired one by one with statistics of a whole timeline.

use analysis::{Report, paired_zone_statistics, zone_statistics};
use proptest::prelude::{Strategy, any, prop, prop_assert_eq, proptest};
use reader::{
    lane::{Lane, LaneId, RecordHead, Run, ZoneIndex},
    mesh::Noc0Coord,
    names::{ZoneSource, ZoneTable},
    readout::{ChipSummary, DeviceReadout, Readout},
    timeline::{LaneTimeline, Timeline},
};
use wire::{PacketKind, Risc, RunHostId, ZoneId};

const RISCS: [Risc; 3] = [Risc::Trisc0, Risc::Brisc, Risc::TensixAggregate];

/// Kinds of records, with zone starts and ends first.
const KINDS: [PacketKind; 4] = [
    PacketKind::ZoneStart,
    PacketKind::ZoneEnd,
    PacketKind::TimestampedEvent,
    PacketKind::ZoneTotal,
];

fn names() -> ZoneTable {
    let mut names = ZoneTable::new();
    for (id, name) in [(1, "A-FW"), (2, "B"), (3, "C")] {
        names.add(ZoneId(id), ZoneSource { name: name.into(), file: "/k".into(), line: 3 });
    }
    names
}

/// One step of a run: kind of record, zone number, and cycles since the previous record.
type Step = (usize, u32, u64);

/// Generates runs of arbitrary records, which open and close zones at random.
fn odd_runs() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let step = (0..KINDS.len(), 0_u32..3, gaps());
    prop::collection::vec(prop::collection::vec(step, 0..30), 0..5)
}

/// Generates gaps between records. A few are so long that a zone needs more than 32 bits.
fn gaps() -> impl Strategy<Value = u64> {
    (0_u64..90, prop::bool::weighted(0.02))
        .prop_map(|(gap, is_long)| if is_long { gap + (1 << 33) } else { gap })
}

/// Converts every run to one in which all zones end, each inside the zone around it.
fn nested(runs: Vec<Vec<Step>>) -> Vec<Vec<Step>> {
    let close_all = |run: Vec<Step>| {
        let (mut steps, mut open) = (Vec::new(), Vec::new());
        for (kind, zone, gap) in run {
            match KINDS[kind] {
                PacketKind::ZoneStart => open.push(zone),
                PacketKind::ZoneEnd => {
                    let Some(innermost) = open.pop() else { continue };
                    steps.push((kind, innermost, gap));
                    continue;
                }
                _ => {}
            }
            steps.push((kind, zone, gap));
        }
        steps.extend(open.into_iter().rev().map(|zone| (1, zone, 7)));
        steps
    };
    runs.into_iter().map(close_all).collect()
}

fn lane(number: usize, runs: &[Vec<Step>]) -> Lane {
    let x = u16::try_from(1 + number / RISCS.len()).unwrap();
    let core = Noc0Coord { x, y: 2 };
    let mut lane = Lane::new(LaneId { chip_id: 1, core, risc: RISCS[number % RISCS.len()] });
    let mut time = 1_000;
    for (program, run) in (1..).zip(runs) {
        lane.runs.push(Run {
            first_record: lane.record_count(),
            program: RunHostId(program),
            trace_counter: 0,
            origin: 0,
            is_unfinished: false,
            trace: None,
        });
        for &(kind, zone, gap) in run {
            time += gap;
            let data: &[u64] = if KINDS[kind] == PacketKind::ZoneTotal { &[gap] } else { &[] };
            lane.push(RecordHead::new(KINDS[kind], ZoneIndex(1 + zone)), time, data);
        }
    }
    lane
}

proptest! {
    #[test]
    fn zones_of_lanes_paired_one_by_one_are_those_of_a_timeline(
        lanes in prop::collection::vec((odd_runs(), any::<bool>()), 1..8),
    ) {
        let lanes = lanes.into_iter().enumerate().map(|(number, (runs, is_nested))| {
            lane(number, &if is_nested { nested(runs) } else { runs })
        });
        let mut lanes: Vec<_> = lanes.collect();
        lanes.sort_by_key(|lane| lane.id);
        let arch = "wormhole_b0".to_owned();
        let chip = ChipSummary { chip_id: 1, arch, aiclk_mhz: 1000, max_compute_cores: None, known_lines: [].into() };
        let device = DeviceReadout { chip, lanes, pending_runs: 0, discarded_launches: 0 };
        let readout = Readout { devices: vec![device], zones: names(), ..Readout::default() };
        let timeline = Timeline::from_readout(&readout);
        let expected = zone_statistics(&readout, &timeline);
        let (zones, anomalies) = paired_zone_statistics(&readout);
        let kept = Report::new(&readout).summary.kept;
        let sum = |count: fn(&LaneTimeline) -> u64| timeline.lanes().map(count).sum::<u64>();
        prop_assert_eq!(kept.zones, sum(LaneTimeline::whole_zone_count));
        prop_assert_eq!(kept.open_zones, sum(|lane| lane.open_zone_count));
        prop_assert_eq!(kept.orphan_ends, sum(|lane| lane.orphan_end_count));
        prop_assert_eq!(zones, expected);
        prop_assert_eq!(anomalies, timeline.anomalies);
    }
}
