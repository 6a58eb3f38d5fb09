//! Numbers of recorded data values and events per RISC and id. The ids of data are grouped by
//! purpose.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "indices and counts are those of lists in memory"
)]

use crate::counters::is_data;
use reader::{
    lane::{Annotated, Lane, ZoneIndex},
    mesh::Noc0Coord,
    names::ZoneTable,
};
use std::collections::{BTreeMap, BTreeSet};
use wire::{PacketKind, Risc, ZoneId};

/// Purpose of a value, derived from its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DataKind {
    /// A hardware counter.
    Counter,
    /// A transfer on the NoC.
    NocEvent,
    /// A transfer on the NoC, recorded for TT-Metal's NoC debugger.
    NocDebugging,
    /// Any other value that a kernel records.
    Value,
}

impl DataKind {
    fn from_marker_id(marker_id: u32) -> Self {
        match u16::try_from(marker_id).map(ZoneId) {
            Ok(ZoneId::PERF_COUNTER) => Self::Counter,
            Ok(ZoneId::NOC_TRACING) => Self::NocEvent,
            Ok(ZoneId::NOC_DEBUGGING) => Self::NocDebugging,
            _ => Self::Value,
        }
    }
}

/// Statistics of the data values with the same chip, RISC and id.
///
/// ```
/// use analysis::{DataKind, Report};
/// use recording::device_log::read_device_log;
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,12345,110,7,1024,,TS_DATA
/// 0,1,3,BRISC,12345,120,8,1024,,TS_DATA
/// ";
/// let data = Report::new(&read_device_log(log.as_bytes(), "my log")?).data;
/// assert_eq!((data[0].kind, data[0].count, data[0].core_count), (DataKind::NocEvent, 2, 2));
/// # Ok::<(), recording::device_log::LogError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DataStatistics {
    /// Number of the chip.
    pub chip_id: u32,
    /// RISC that recorded the values.
    #[serde(serialize_with = "reader::probe_cost::risc_label")]
    pub risc: Risc,
    /// Purpose of the values.
    pub kind: DataKind,
    /// Id of the values.
    pub marker_id: u32,
    /// Name of the values; empty if there is none.
    pub name: String,
    /// Number of values.
    pub count: u64,
    /// Number of cores that recorded at least one of the values.
    pub core_count: u64,
    /// Number of distinct texts that a log attached to the values; 0 if there are no texts.
    ///
    /// Texts that differ only after the first `;` or `,` count as one text. The text of a hardware
    /// counter begins with the counter's name, so for hardware counters this is the number of
    /// counters.
    pub text_count: u64,
    /// Smallest 64-bit value; a 16-byte record has two. `None` for hardware counters and transfers,
    /// whose bits are the fields of a reading or a transfer.
    pub min_value: Option<u64>,
    /// Largest 64-bit value; `None` as for `min_value`.
    pub max_value: Option<u64>,
}

/// Statistics of the events with the same chip, RISC and id. An event is a time without a value.
///
/// ```
/// use analysis::Report;
/// use recording::device_log::read_device_log;
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,51,110,0,1024,SYNC,TS_EVENT
/// 0,1,3,BRISC,51,120,0,1024,SYNC,TS_EVENT
/// ";
/// let events = Report::new(&read_device_log(log.as_bytes(), "my log")?).events;
/// assert_eq!((events[0].name.as_str(), events[0].count, events[0].core_count), ("SYNC", 2, 2));
/// # Ok::<(), recording::device_log::LogError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct EventStatistics {
    /// Number of the chip.
    pub chip_id: u32,
    /// RISC that recorded the events.
    #[serde(serialize_with = "reader::probe_cost::risc_label")]
    pub risc: Risc,
    /// Id of the events.
    pub marker_id: u32,
    /// Name of the events; empty if there is none.
    pub name: String,
    /// Number of events.
    pub count: u64,
    /// Number of cores that recorded at least one of the events.
    pub core_count: u64,
}

/// Accumulator of [`DataStatistics`], to which lanes are added one by one.
#[derive(Debug, Default)]
pub(super) struct DataGroups(BTreeMap<(u32, Risc, ZoneIndex), DataGroup>);

#[derive(Debug, Default)]
struct DataGroup {
    count: u64,
    cores: BTreeSet<Noc0Coord>,
    texts: BTreeSet<Box<str>>,
    /// Smallest and largest value.
    range: Option<(u64, u64)>,
}

/// Accumulator of [`EventStatistics`], to which lanes are added one by one.
#[derive(Debug, Default)]
pub(super) struct EventGroups(BTreeMap<(u32, Risc, ZoneIndex), (u64, BTreeSet<Noc0Coord>)>);

/// Returns the smaller of the first and the larger of the second numbers.
fn widened(range: Option<(u64, u64)>, (low, high): (u64, u64)) -> Option<(u64, u64)> {
    Some(range.map_or((low, high), |(least, most)| (least.min(low), most.max(high))))
}

/// Returns the name of values or events; two names of one id are both in it.
fn name_of(names: &ZoneTable, zone: ZoneIndex) -> String {
    match names.sources(zone) {
        [_, _, ..] => names.label(zone).into_owned(),
        _ => names.name(zone).to_owned(),
    }
}

impl EventGroups {
    /// Adds the events of a lane.
    pub(super) fn add_lane(&mut self, lane: &Lane) {
        let heads = lane.heads.iter();
        for head in heads.filter(|head| head.kind() == PacketKind::TimestampedEvent) {
            let (count, cores) =
                self.0.entry((lane.id.chip_id, lane.id.risc, head.zone())).or_default();
            *count += 1;
            cores.insert(lane.id.core);
        }
    }

    /// Adds the events of `other`.
    pub(super) fn merge(&mut self, other: Self) {
        for (key, (others, cores_of_others)) in other.0 {
            let (count, cores) = self.0.entry(key).or_default();
            *count += others;
            cores.extend(cores_of_others);
        }
    }

    pub(super) fn statistics(self, names: &ZoneTable) -> Vec<EventStatistics> {
        let rows = self.0.into_iter();
        rows.map(|((chip_id, risc, zone), (count, cores))| EventStatistics {
            chip_id,
            risc,
            marker_id: names.id(zone),
            name: name_of(names, zone),
            count,
            core_count: cores.len() as u64,
        })
        .collect()
    }
}

impl DataGroups {
    /// Adds the values of a lane.
    pub(super) fn add_lane(&mut self, lane: &Lane) {
        // The words of all data records are in `lane.data`.
        if lane.data.is_empty() {
            return;
        }
        let data = lane.annotated_records().filter(|one| is_data(one.record.kind));
        for Annotated { record, text, .. } in data {
            let key = (lane.id.chip_id, lane.id.risc, record.zone);
            let group = self.0.entry(key).or_default();
            group.count += 1;
            group.cores.insert(lane.id.core);
            for &value in record.data {
                group.range = widened(group.range, (value, value));
            }
            if let Some(text) = text.map(first_value)
                && !group.texts.contains(text)
            {
                group.texts.insert(text.into());
            }
        }
    }

    /// Adds the values of `other`.
    pub(super) fn merge(&mut self, other: Self) {
        for (key, others) in other.0 {
            let group = self.0.entry(key).or_default();
            group.count += others.count;
            group.cores.extend(others.cores);
            group.texts.extend(others.texts);
            if let Some(range) = others.range {
                group.range = widened(group.range, range);
            }
        }
    }

    pub(super) fn statistics(self, names: &ZoneTable) -> Vec<DataStatistics> {
        self.0
            .into_iter()
            .map(|((chip_id, risc, zone), group)| {
                let marker_id = names.id(zone);
                let kind = DataKind::from_marker_id(marker_id);
                let range = group.range.filter(|_| kind == DataKind::Value);
                DataStatistics {
                    chip_id,
                    risc,
                    kind,
                    marker_id,
                    name: name_of(names, zone),
                    count: group.count,
                    core_count: group.cores.len() as u64,
                    text_count: group.texts.len() as u64,
                    min_value: range.map(|(least, _)| least),
                    max_value: range.map(|(_, most)| most),
                }
            })
            .collect()
    }
}

/// Returns the part of a text such as `{"counter type":"FPU_COUNTER";"ref cnt":4317}` up to the
/// first separator.
fn first_value(text: &str) -> &str {
    text.split([';', ',']).next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use captures::read_capture;

    #[test]
    fn counters_and_transfers_of_real_chips_are_one_row_each() {
        assert_eq!(data_rows("wormhole-counters-elw"), [("BRISC", DataKind::Counter, 59, 59)]);
        let transfers: u64 = data_rows("wormhole-noc-256").iter().map(|row| row.2).sum();
        assert_eq!(transfers, 50);
        assert!(data_rows("wormhole-noc-256").iter().all(|row| row.1 == DataKind::NocEvent));
    }

    fn data_rows(capture: &str) -> Vec<(&'static str, DataKind, u64, u64)> {
        let data = crate::Report::new(&read_capture(capture)).data;
        data.iter().map(|d| (d.risc.label(), d.kind, d.count, d.text_count)).collect::<Vec<_>>()
    }
}
