//! Merging of the counters of several runs of a program.

use crate::counters::table::{is_counter_id, is_data};
use reader::{
    lane::{Annotated, Lane, Record, RecordHead, TraceReplay},
    mesh::Noc0Coord,
    names::ZoneTable,
    readout::Readout,
};
use std::collections::HashMap;

/// Statistics of one call of [`merge_passes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassMerge {
    /// Number of counters that were added.
    pub added: u64,
    /// Number of counters left out because the first run has no counter of the same launch and
    /// core.
    pub without_anchor: u64,
}

/// Key of a launch on a core: chip, core, program and replay.
type Key = (u32, Noc0Coord, u32, Option<TraceReplay>);

/// Position of a counter record in a readout. The counter records of later runs are inserted after
/// this record.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    device: usize,
    lane: usize,
    record: usize,
    time: u64,
    zone: reader::lane::ZoneIndex,
}

/// Record to insert after an anchor.
struct Inserted<'a> {
    anchor: Anchor,
    head: RecordHead,
    data: &'a [u64],
    text: Option<&'a str>,
}

/// Adds the counters of a program's later runs to the counters of its first run.
///
/// An added counter gets the time of the first counter of the same launch and core in the first
/// run. If the first run has no such counter, the added counter is left out. Losses of later runs
/// are added to the result, because counters may be among the lost records.
///
/// # Compatibility
/// The rule of `perf_counter_multipass.py`: launches are matched by chip, core, run host id, trace
/// and replay.
pub fn merge_passes(first: &mut Readout, later: &[Readout]) -> PassMerge {
    let anchors = anchors_of(first);
    let mut merge = PassMerge::default();
    let mut inserted: HashMap<(usize, usize), Vec<Inserted<'_>>> = HashMap::new();
    for readout in later {
        first.losses.merge(&readout.losses);
        for lane in readout.lanes() {
            for (key, Annotated { record, text, .. }) in counters_of_lane(lane, &readout.zones) {
                let Some(&anchor) = anchors.get(&key) else {
                    merge.without_anchor = merge.without_anchor.saturating_add(1);
                    continue;
                };
                merge.added = merge.added.saturating_add(1);
                let list = inserted.entry((anchor.device, anchor.lane)).or_default();
                let head = RecordHead::new(record.kind, anchor.zone);
                list.push(Inserted { anchor, head, data: record.data, text });
            }
        }
    }
    for ((device, lane), list) in inserted {
        let found = first.devices.get_mut(device).and_then(|device| device.lanes.get_mut(lane));
        if let Some(lane) = found {
            *lane = with_inserted(lane, list);
        }
    }
    merge
}

/// Returns the first counter record of each launch on each core.
fn anchors_of(readout: &Readout) -> HashMap<Key, Anchor> {
    let mut anchors = HashMap::new();
    for (device, device_readout) in readout.devices.iter().enumerate() {
        for (lane, lane_records) in device_readout.lanes.iter().enumerate() {
            for (key, Annotated { index, record, .. }) in
                counters_of_lane(lane_records, &readout.zones)
            {
                let Record { time, zone, .. } = record;
                anchors.entry(key).or_insert(Anchor { device, lane, record: index, time, zone });
            }
        }
    }
    anchors
}

/// Returns each counter record of a lane with its launch and core.
fn counters_of_lane<'a>(
    lane: &'a Lane,
    zones: &ZoneTable,
) -> impl Iterator<Item = (Key, Annotated<'a>)> {
    let is_counter =
        |record: &Record<'_>| is_data(record.kind) && is_counter_id(zones, record.zone);
    lane.annotated_records().filter(move |one| is_counter(&one.record)).map(|one| {
        let run = one.run.and_then(|run| lane.runs.get(run));
        let (program, trace) = run.map_or((0, None), |run| (run.program.0, run.trace));
        ((lane.id.chip_id, lane.id.core, program, trace), one)
    })
}

/// Returns the lane with the given records inserted after their anchors.
fn with_inserted(lane: &Lane, mut inserted: Vec<Inserted<'_>>) -> Lane {
    inserted.sort_by_key(|one| one.anchor.record);
    let mut inserted = inserted.into_iter().peekable();
    let mut whole = Lane { goes_on: lane.goes_on, ..Lane::new(lane.id) };
    let mut runs = lane.runs.iter().peekable();
    for Annotated { index, record, text, .. } in lane.annotated_records() {
        while let Some(run) = runs.next_if(|run| run.first_record <= index) {
            let first_record = whole.record_count();
            whole.runs.push(reader::lane::Run { first_record, ..*run });
        }
        if let Some(text) = text {
            whole.metadata.push((whole.record_count(), text.into()));
        }
        whole.push(RecordHead::new(record.kind, record.zone), record.time, record.data);
        while let Some(one) = inserted.next_if(|one| one.anchor.record <= index) {
            if let Some(text) = one.text {
                whole.metadata.push((whole.record_count(), text.into()));
            }
            whole.push(one.head, one.anchor.time, one.data);
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{counters::counters_of, launches_of};
    use recording::device_log::read_device_log;

    const TITLES: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,\
zone name,type,source line,source file,meta data\n";

    fn readout(rows: &[(u16, u64, u32, &str, u64)]) -> Readout {
        let mut log = TITLES.to_owned();
        for (x, time, program, name, value) in rows {
            log.push_str(&format!(
                "0,{x},2,BRISC,9090,{time},0,{program},,TS_DATA,0,,\
                 {{\"counter type\":\"{name}\";\"ref cnt\":100;\"value\":{value}}}\n"
            ));
        }
        read_device_log(log.as_bytes(), "test").unwrap()
    }

    #[test]
    fn later_passes_join_the_launch_and_core_that_they_are_of() {
        let mut first = readout(&[
            (1, 10, 1024, "FPU_COUNTER", 1),
            (1, 12, 1024, "SFPU_COUNTER", 2),
            (1, 90, 2048, "FPU_COUNTER", 3),
        ]);
        let second = readout(&[
            (1, 500, 1024, "PACKER_BUSY", 4),
            (1, 501, 2048, "PACKER_BUSY", 5),
            (1, 502, 3072, "PACKER_BUSY", 6),
            (2, 503, 1024, "PACKER_BUSY", 7),
        ]);
        let merge = merge_passes(&mut first, &[second]);
        assert_eq!(merge, PassMerge { added: 2, without_anchor: 2 });
        let launches = launches_of(&first);
        let counters = counters_of(&first, &launches);
        let of = |index: usize| -> Vec<(String, u64, u64)> {
            let samples = counters[index].samples.iter();
            samples.map(|s| (s.sample.name.to_string(), s.time, s.sample.count)).collect()
        };
        assert_eq!(
            of(0),
            [
                ("FPU_COUNTER".to_owned(), 10, 1),
                ("PACKER_BUSY".to_owned(), 10, 4),
                ("SFPU_COUNTER".to_owned(), 12, 2)
            ]
        );
        assert_eq!(of(1), [("FPU_COUNTER".to_owned(), 90, 3), ("PACKER_BUSY".to_owned(), 90, 5)]);
    }

    #[test]
    fn a_merge_with_nothing_changes_nothing() {
        let rows = [(1, 10, 1024, "FPU_COUNTER", 1), (2, 12, 1024, "SFPU_COUNTER", 2)];
        let mut first = readout(&rows);
        let before = first.clone();
        assert_eq!(merge_passes(&mut first, &[]), PassMerge::default());
        assert_eq!(first, before);
    }
}
