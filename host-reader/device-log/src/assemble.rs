//! Joining chunks into lanes, and lanes into a readout.

use super::{
    chunk::{ChunkTables, Faults, LaneColumns, LaneTable, Launches, UnknownRiscs},
    header::ChipLine,
    places::{KeptPlace, Places},
    runs::{SplitRuns, split_runs},
};
use rayon::prelude::*;
use reader::{
    anomaly::{AnomalyKind, AnomalyLog},
    lane::{Lane, LaneId, RecordHead, ZoneIndex},
    ledger::{LossLedger, UncountedSource},
    names::{ZoneSource, ZoneTable},
    readout::{ChipSummary, DeviceReadout, Readout},
    role::ZoneRole,
};
use std::collections::BTreeMap;
use wire::ZoneId;

/// Everything read so far, with numbers that hold for the whole log.
pub(super) struct Assembly {
    lanes: LaneTable,
    places: Places,
    launches: Launches,
    line_count: u64,
    anomalies: AnomalyLog,
    unknown_riscs: UnknownRiscs,
}

impl Assembly {
    /// Begins after the header, whose lines are counted already.
    pub(super) fn new(header_line_count: u64) -> Self {
        Self {
            lanes: LaneTable::default(),
            places: Places::new(),
            launches: Launches::default(),
            line_count: header_line_count,
            anomalies: AnomalyLog::default(),
            unknown_riscs: UnknownRiscs::default(),
        }
    }

    /// Counts a line that was too long to be read.
    pub(super) fn skip_long_line(&mut self) {
        self.line_count += 1;
        let position = self.line_count;
        self.anomalies.record(AnomalyKind::MalformedLine, None, position, || {
            format!("expected at most {} bytes, found more", super::blocks::BLOCK_BYTES)
        });
    }

    /// Appends a chunk that follows what is here.
    pub(super) fn append(&mut self, chunk: ChunkTables) {
        let first_line = self.line_count + 1;
        let mut places = Vec::with_capacity(chunk.places.kept().len());
        for place in chunk.places.kept() {
            places.push(self.places.number_of_kept(place));
        }
        let launches = chunk.launches.keys.iter().map(|&key| self.launches.number(key));
        let numbers = Numbers { places, launches: launches.collect(), first_line };
        for lane in chunk.lanes.lanes {
            append_lane(self.lanes.lane(lane.id), lane, &numbers);
        }
        self.enter_faults(AnomalyKind::MalformedLine, first_line, chunk.malformed);
        self.enter_faults(AnomalyKind::StrayValue, first_line, chunk.stray_values);
        for (key, (line, count)) in chunk.unknown_riscs.lines {
            self.unknown_riscs.enter(key, first_line + line, count);
        }
        self.line_count += chunk.line_count;
    }

    fn enter_faults(&mut self, kind: AnomalyKind, first_line: u64, faults: Faults) {
        let unkept = faults.count - faults.kept.len() as u64;
        for (line, detail) in faults.kept {
            self.anomalies.record(kind, None, first_line + line, || detail);
        }
        self.anomalies.count_more(kind, None, unkept);
    }

    /// Makes the readout.
    pub(super) fn finish(mut self, chip: &ChipLine) -> Readout {
        let (zones, zone_of) = zone_table(self.places.kept());
        let names = self.places.kept().iter().map(|place| &place.name);
        let role_of = |name: &[u8]| ZoneRole::of_name(&String::from_utf8_lossy(name));
        let is_firmware: Vec<_> = names.map(|name| role_of(name).is_firmware()).collect();
        let keys = &self.launches.keys;
        let finish = |lane| finish_lane(lane, keys, &is_firmware, &zone_of);
        let mut lanes: Vec<_> = self.lanes.lanes.into_par_iter().map(finish).collect();
        lanes.sort_by_key(|(lane, _)| lane.id);
        for (lane, relabelled_count) in &lanes {
            enter_relabelled(&mut self.anomalies, lane, *relabelled_count);
        }
        enter_unknown_riscs(&mut self.anomalies, self.unknown_riscs);
        enter_nameless(&mut self.anomalies, self.places.nameless_count);
        let devices = devices_of(lanes.into_iter().map(|(lane, _)| lane), chip);
        let mut losses = LossLedger::default();
        losses.note_uncounted(UncountedSource::TtMetalLog);
        Readout { devices, zones, losses, anomalies: self.anomalies, ..Readout::default() }
    }
}

/// Maps a chunk's own numbers to those of the whole log.
struct Numbers {
    places: Vec<u32>,
    launches: Vec<u32>,
    first_line: u64,
}

fn append_lane(lane: &mut LaneColumns, chunk: LaneColumns, numbers: &Numbers) {
    let first_record = lane.heads.len();
    lane.heads.extend(chunk.heads.iter().map(|head| {
        let place = numbers.places[head.zone().0 as usize];
        RecordHead::new(head.kind(), ZoneIndex(place))
    }));
    lane.launches.extend(chunk.launches.iter().map(|&n| numbers.launches[n as usize]));
    lane.lines.extend(chunk.lines.iter().map(|line| numbers.first_line + line));
    lane.times.extend(chunk.times);
    lane.data.extend(chunk.data);
    let metadata = chunk.metadata.into_iter();
    lane.metadata.extend(metadata.map(|(record, text)| (first_record + record, text)));
}

/// The table of names, and each place's index in it.
///
/// Named places come first, so that an id alone stands for its name; a line without a
/// name, such as an event whose number equals some zone's id, then stays without.
fn zone_table(places: &[KeptPlace]) -> (ZoneTable, Vec<ZoneIndex>) {
    let mut zones = ZoneTable::new();
    let mut indices: Vec<_> =
        places.iter().map(|place| ZoneIndex(u32::from(place.marker_id))).collect();
    for (index, place) in indices.iter_mut().zip(places).filter(|(_, place)| !place.is_unnamed()) {
        *index = zones.intern(ZoneId(place.marker_id), source_of(place));
    }
    for (index, place) in indices.iter_mut().zip(places).filter(|(_, place)| place.is_unnamed()) {
        if !zones.sources(*index).is_empty() {
            *index = zones.intern(ZoneId(place.marker_id), source_of(place));
        }
    }
    (zones, indices)
}

fn source_of(place: &KeptPlace) -> ZoneSource {
    // Lines were found to be UTF-8, so nothing is replaced.
    ZoneSource {
        name: String::from_utf8_lossy(&place.name).into_owned(),
        file: String::from_utf8_lossy(&place.file).into_owned(),
        line: place.line,
    }
}

/// Brings a lane into time order, cuts it into runs and numbers its zones for good.
fn finish_lane(
    mut lane: LaneColumns,
    keys: &[super::row::LaunchKey],
    is_firmware: &[bool],
    zone_of: &[ZoneIndex],
) -> (Lane, u64) {
    if !lane.times.is_sorted() {
        lane = in_time_order(&lane);
    }
    let SplitRuns { runs, relabelled_count } = split_runs(&lane, keys, is_firmware);
    for head in &mut lane.heads {
        *head = RecordHead::new(head.kind(), zone_of[head.zone().0 as usize]);
    }
    let LaneColumns { id, heads, times, data, metadata, .. } = lane;
    (Lane { runs, heads, times, data, metadata, ..Lane::new(id) }, relabelled_count)
}

/// The lane sorted by time; records of one time keep the order of their lines.
fn in_time_order(lane: &LaneColumns) -> LaneColumns {
    let mut order: Vec<usize> = (0..lane.times.len()).collect();
    order.sort_by_key(|&record| lane.times[record]);
    let mut first_value = Vec::with_capacity(lane.heads.len());
    let mut next = 0;
    for head in &lane.heads {
        first_value.push(next);
        next += head.data_count();
    }
    let texts: BTreeMap<_, _> = lane.metadata.iter().map(|(at, text)| (*at, text)).collect();
    let mut sorted = LaneColumns::new(lane.id);
    for record in order {
        let head = lane.heads[record];
        let values = first_value[record]..first_value[record] + head.data_count();
        if let Some(&text) = texts.get(&record) {
            sorted.metadata.push((sorted.heads.len(), text.clone()));
        }
        sorted.data.extend_from_slice(&lane.data[values]);
        sorted.heads.push(head);
        sorted.times.push(lane.times[record]);
        sorted.launches.push(lane.launches[record]);
        sorted.lines.push(lane.lines[record]);
    }
    sorted
}

fn devices_of(lanes: impl Iterator<Item = Lane>, chip: &ChipLine) -> Vec<DeviceReadout> {
    let mut devices: Vec<DeviceReadout> = Vec::new();
    for lane in lanes {
        let LaneId { chip_id, .. } = lane.id;
        match devices.last_mut() {
            Some(device) if device.chip.chip_id == chip_id => device.lanes.push(lane),
            _ => devices.push(DeviceReadout {
                chip: ChipSummary {
                    chip_id,
                    arch: chip.arch.clone(),
                    aiclk_mhz: chip.aiclk_mhz,
                    max_compute_cores: chip.max_compute_cores,
                },
                lanes: vec![lane],
                pending_runs: 0,
                discarded_launches: 0,
            }),
        }
    }
    devices
}

fn enter_relabelled(anomalies: &mut AnomalyLog, lane: &Lane, count: u64) {
    if count > 0 {
        let detail = || format!("{count} records kept in the launch that encloses them");
        anomalies.record(AnomalyKind::RelabelledRecord, Some(lane.id), 0, detail);
        anomalies.count_more(AnomalyKind::RelabelledRecord, Some(lane.id), count - 1);
    }
}

fn enter_unknown_riscs(anomalies: &mut AnomalyLog, unknown: UnknownRiscs) {
    for ((chip_id, core, label), (line, count)) in unknown.lines {
        let detail =
            || format!("chip {chip_id} core {core} RISC `{label}`: {count} lines left out");
        anomalies.record(AnomalyKind::UnknownRisc, None, line, detail);
        anomalies.count_more(AnomalyKind::UnknownRisc, None, count.saturating_sub(1));
    }
}

fn enter_nameless(anomalies: &mut AnomalyLog, count: u64) {
    if count > 0 {
        let detail = || format!("{count} names left out: more places than a table can hold");
        anomalies.record(AnomalyKind::MalformedLine, None, 0, detail);
        anomalies.count_more(AnomalyKind::MalformedLine, None, count - 1);
    }
}
