//! Chip data of the timeline: every zone and point of a core's lanes, as packed columns.
//!
//! Columns of each lane; a step is the difference from the previous value:
//!
//! | column | content |
//! |---|---|
//! | counts | numbers of zones, points and runs |
//! | zones: names | number of the name |
//! | zones: starts | steps, from the chip's first cycle |
//! | zones: durations | cycles, after clipping |
//! | zones: depths | number of enclosing zones |
//! | zones: runs | step of the run's number, plus one; 0 for a zone outside of runs |
//! | zones without a recorded end | count, then steps of the zones' indices |
//! | clipped zones | count, then all steps of the indices, then all recorded durations in cycles |
//! | runs | number of the op plus one; 0 for none |
//! | points: kinds | number of the [`PointCategory`](crate::PointCategory) |
//! | points: names | number of the name |
//! | points: times | steps, from the chip's first cycle |
//! | points: values | for each point: number of values, then each value as two halves |
//! | texts | count, then all steps of the points' indices, then all texts |

use super::packed::PackedColumns;
use crate::{NameId, TraceLane, TraceZone, point_words::PointWords};

/// Packs the lanes of one core. `first_cycle` is the first cycle of the chip's records.
pub(super) fn pack_core(
    lanes: &[TraceLane<'_>],
    first_cycle: u64,
    words: &PointWords<'_>,
) -> PackedColumns {
    let mut columns = PackedColumns::default();
    for lane in lanes {
        columns.count(lane.zones.len());
        columns.count(lane.points.len());
        columns.count(lane.runs.len());
        record_zones(&mut columns, &lane.zones, |zone| zone.name, first_cycle);
        lane.run_ops.iter().for_each(|op| columns.number(plus_one(*op)));
        add_points(&mut columns, lane, first_cycle, words);
    }
    columns
}

fn plus_one(index: Option<u32>) -> u64 {
    index.map_or(0, |index| u64::from(index) + 1)
}

/// Adds the zones of a lane, with the numbers of their names.
pub(super) fn record_zones(
    columns: &mut PackedColumns,
    zones: &[TraceZone],
    name: impl Fn(&TraceZone) -> NameId,
    first_cycle: u64,
) {
    zones.iter().for_each(|zone| columns.number(name(zone).0.into()));
    columns.rising(first_cycle, zones.iter().map(|zone| zone.start_cycle));
    for zone in zones {
        columns.number(zone.end_cycle.saturating_sub(zone.start_cycle));
    }
    zones.iter().for_each(|zone| columns.number(zone.depth.into()));
    let (mut latest_run, mut synthetic, mut clipped) = (0, Vec::new(), Vec::new());
    for (index, zone) in zones.iter().enumerate() {
        let run = plus_one(zone.run).cast_signed();
        columns.signed(run - latest_run);
        latest_run = run;
        if zone.has_synthetic_end {
            synthetic.push(index as u64);
        }
        if zone.is_clipped {
            clipped.push((index as u64, zone.duration_cycles));
        }
    }
    columns.count(synthetic.len());
    columns.rising(0, synthetic);
    columns.count(clipped.len());
    columns.rising(0, clipped.iter().map(|&(index, _)| index));
    clipped.iter().for_each(|&(_, cycles)| columns.number(cycles));
}

fn add_points(
    columns: &mut PackedColumns,
    lane: &TraceLane<'_>,
    first_cycle: u64,
    words: &PointWords<'_>,
) {
    let points = &lane.points;
    points.iter().for_each(|point| columns.number(point.category() as u64));
    points.iter().for_each(|point| columns.number(point.name.0.into()));
    columns.rising(first_cycle, points.iter().map(|point| point.cycle));
    for point in points {
        columns.count(point.values.len());
        point.values.iter().for_each(|&value| columns.exact(value));
    }
    let texts = points.iter().map(|point| {
        let text = point.text.map(str::to_owned);
        text.or_else(|| Some(words.meaning(lane.id, point)?.label().into_owned()))
    });
    columns.present(texts, |columns, text| columns.text(text));
}
