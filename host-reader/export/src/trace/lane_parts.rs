//! Division of a long lane into parts, so that only the zones of one part need to be in memory.

use reader::lane::{Lane, Run};
use std::{borrow::Cow, ops::Range};
use wire::Risc;

/// Minimum number of records in each part of a lane except the last one. Once a part has this many
/// records, it ends before the next run that starts later than the preceding record.
const PART_RECORDS: usize = 1 << 15;

/// Part of a lane: consecutive runs. All records of a part are earlier than all records of the next
/// part, so zones of different parts neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LaneRange {
    pub(super) runs: Range<usize>,
    records: Range<usize>,
    data: Range<usize>,
    texts: Range<usize>,
}

/// Returns the parts of a lane in order.
pub(super) fn parts(lane: &Lane) -> Vec<LaneRange> {
    let mut parts = Vec::new();
    let mut part = LaneRange::default();
    // Aggregate lanes are not divided, because their zones can be paired only if all names of the
    // lane are known.
    let is_cut = lane.id.risc != Risc::TensixAggregate && lane.times.is_sorted();
    for (run, &Run { first_record, .. }) in lane.runs.iter().enumerate() {
        let record_count = first_record.saturating_sub(part.records.start);
        if is_cut && record_count >= PART_RECORDS && is_apart(lane, first_record) {
            let next = part.end(lane, run, first_record);
            parts.push(std::mem::replace(&mut part, next));
        }
    }
    part.end(lane, lane.runs.len(), lane.record_count());
    parts.push(part);
    parts
}

/// Returns true if a record is later than the previous record.
fn is_apart(lane: &Lane, record: usize) -> bool {
    let before = record.checked_sub(1).and_then(|before| lane.times.get(before));
    before.zip(lane.times.get(record)).is_some_and(|(before, time)| before < time)
}

impl LaneRange {
    /// Ends this part before the run with index `run`, whose first record has index `record`.
    /// Returns the next part, which begins with this run and is still empty.
    fn end(&mut self, lane: &Lane, run: usize, record: usize) -> Self {
        self.runs.end = run;
        self.records.end = record;
        let heads = lane.heads.get(self.records.clone()).unwrap_or(&[]);
        let counts = heads.iter().map(|head| head.data_count());
        self.data.end = counts.fold(self.data.start, usize::saturating_add);
        self.texts.end = lane.metadata.partition_point(|(number, _)| *number < record);
        Self {
            runs: run..run,
            records: record..record,
            data: self.data.end..self.data.end,
            texts: self.texts.end..self.texts.end,
        }
    }

    /// Returns the records of the part as a separate lane.
    pub(super) fn cut<'l>(&self, lane: &'l Lane) -> Cow<'l, Lane> {
        if self.records == (0..lane.record_count()) {
            return Cow::Borrowed(lane);
        }
        let Self { runs, records, data, texts } = self.clone();
        let first = records.start;
        let run = |run: &Run| Run { first_record: run.first_record.saturating_sub(first), ..*run };
        let text =
            |(record, text): &(usize, Box<str>)| (record.saturating_sub(first), text.clone());
        Cow::Owned(Lane {
            id: lane.id,
            goes_on: lane.goes_on && first == 0,
            runs: lane.runs.get(runs).unwrap_or(&[]).iter().map(run).collect(),
            heads: lane.heads.get(records.clone()).unwrap_or(&[]).to_vec(),
            times: lane.times.get(records).unwrap_or(&[]).to_vec(),
            data: lane.data.get(data).unwrap_or(&[]).to_vec(),
            metadata: lane.metadata.get(texts).unwrap_or(&[]).iter().map(text).collect(),
        })
    }
}
