//! Joining of the lanes, source locations and launches of all chunks into one log.

use super::{
    blocks::LINE_BYTES_MAX,
    chunk::{ChunkTables, Launches, UnknownRiscs},
    header::LogChip,
    logical,
    packed::{ChunkNumbers, PackedLane},
    places::{KeptPlace, Places},
    unpack::{LogNumbers, PackedLanes, PackedLog},
};
use reader::{
    anomaly::{AnomalyKind, AnomalyLog},
    lane::{LaneId, ZoneIndex},
    ledger::{LossLedger, UncountedSource},
    mesh::Noc0Coord,
    names::{ZoneSource, ZoneTable},
    packed_bytes::PackedMemory,
    readout::{ChipSummary, DeviceReadout, LogSeam, Readout},
    role::ZoneRole,
};
use std::{collections::BTreeMap, sync::Arc};
use wire::ZoneId;

/// All chunks joined so far, and the indices of source locations and launches in the whole log.
pub(super) struct Assembly {
    lanes: BTreeMap<LaneId, PackedLane>,
    memory: Arc<PackedMemory>,
    /// Bytes of memory used by the lanes.
    packed_bytes: u64,
    chunks: Vec<ChunkNumbers>,
    places: Places,
    launches: Launches,
    line_count: u64,
    /// Lines at which another log begins, in ascending order.
    seams: Vec<u64>,
    anomalies: AnomalyLog,
    unknown_riscs: UnknownRiscs,
    logical: BTreeMap<(u32, Noc0Coord), (u16, u16)>,
}

impl Assembly {
    /// Creates an assembly without lanes. Line numbers continue after the header.
    pub(super) fn new(header_line_count: u64, memory: Arc<PackedMemory>) -> Self {
        Self {
            lanes: BTreeMap::new(),
            memory,
            packed_bytes: 0,
            chunks: Vec::new(),
            places: Places::new(),
            launches: Launches::default(),
            line_count: header_line_count,
            seams: Vec::new(),
            anomalies: AnomalyLog::default(),
            unknown_riscs: UnknownRiscs::default(),
            logical: BTreeMap::new(),
        }
    }

    /// Counts a line that was too long to be read, and adds an anomaly for it.
    pub(super) fn skip_long_line(&mut self) {
        self.line_count = self.line_count.saturating_add(1);
        let position = self.line_count;
        self.anomalies.record(AnomalyKind::MalformedLine, None, position, || {
            format!("expected at most {LINE_BYTES_MAX} bytes, found more")
        });
    }

    /// Appends the next chunk.
    ///
    /// The records of the chunk are not copied or changed. If the memory limit is exceeded, all
    /// records in memory are written to the temporary file.
    pub(super) fn append(&mut self, chunk: ChunkTables) {
        let first_line = self.line_count.saturating_add(1);
        let mut places = Vec::with_capacity(chunk.places.kept().len());
        for place in chunk.places.kept() {
            places.push(self.places.number_of_kept(place));
        }
        let launches = chunk.launches.keys.iter().map(|&key| self.launches.number(key));
        let numbers = ChunkNumbers { places, launches: launches.collect(), first_line };
        let number = u32::try_from(self.chunks.len()).unwrap_or(u32::MAX);
        self.chunks.push(numbers);
        for (id, segment) in chunk.lanes.into_lanes() {
            let lane = self.lanes.entry(id).or_insert_with(|| PackedLane::new(id));
            self.packed_bytes = self.packed_bytes.saturating_add(lane.push(number, segment));
        }
        if self.memory.is_too_small_for(self.packed_bytes) {
            self.lanes.values_mut().for_each(|lane| lane.write(&self.memory));
            self.packed_bytes = 0;
        }
        self.seams.extend(chunk.seams.iter().map(|line| first_line.saturating_add(*line)));
        for faults in [chunk.malformed, chunk.stray_values] {
            self.anomalies.merge(faults.moved_by(first_line));
        }
        for (core, logical) in chunk.logical {
            self.logical.entry(core).or_insert(logical);
        }
        for (key, (line, count)) in chunk.unknown_riscs.lines {
            self.unknown_riscs.add(key, first_line.saturating_add(line), count);
        }
        self.line_count = self.line_count.saturating_add(chunk.line_count);
    }

    /// Returns false if a write of records to the temporary file has failed.
    pub(super) fn has_room(&self) -> bool {
        self.memory.check().is_ok()
    }

    /// Builds the log.
    pub(super) fn finish(self, chip: &LogChip) -> PackedLog {
        let (zones, zone_of) = zone_table(self.places.kept());
        let names = self.places.kept().iter().map(|place| &place.name);
        let role_of = |name: &[u8]| ZoneRole::from_name(&String::from_utf8_lossy(name));
        let roles = names.map(|name| role_of(name));
        let (is_firmware, is_kernel) =
            roles.map(|role| (role.is_firmware(), role.is_kernel())).unzip();
        let is_reading = self.places.kept().iter();
        let is_reading =
            is_reading.map(|place| place.marker_id == ZoneId::PERF_COUNTER.0).collect();
        let mut lanes: Vec<_> = self.lanes.into_values().collect();
        lanes.iter_mut().for_each(|lane| lane.hold(&self.memory));
        // Times of joined logs begin again where another log does.
        let wrapped = lanes.iter().filter(|lane| self.seams.is_empty() && lane.has_wrapped());
        let wrapped_chips = wrapped.map(|lane| lane.id.chip_id).collect();
        let seams = log_seams(&lanes, &self.chunks, &self.seams);
        let mut losses = LossLedger::default();
        losses.note_uncounted(UncountedSource::TtMetalLog);
        let mut devices = devices_of(&lanes, chip);
        for device in &mut devices {
            let chip_id = device.chip.chip_id;
            let chip_cores = self.logical.iter().filter(|((chip, _), _)| *chip == chip_id);
            logical::add_lines(&mut device.chip, chip_cores.map(|(&(_, core), &at)| (core, at)));
        }
        let anomalies = self.anomalies;
        let numbers = LogNumbers {
            chunks: self.chunks,
            keys: self.launches.keys,
            is_firmware,
            is_kernel,
            is_reading,
            marker_ids: self.places.kept().iter().map(|place| place.marker_id).collect(),
            zone_of,
            wrapped_chips,
        };
        let mut late = AnomalyLog::default();
        add_unknown_riscs(&mut late, self.unknown_riscs);
        add_nameless(&mut late, self.places.nameless_count);
        PackedLog {
            readout: Readout { devices, zones, seams, losses, anomalies, ..Readout::default() },
            lanes: PackedLanes { lanes, numbers, late, memory: self.memory },
        }
    }
}

/// Returns for each chip where the logs meet that begin at `lines`.
///
/// A lane that cannot be read back is an error where its records are needed.
fn log_seams(lanes: &[PackedLane], chunks: &[ChunkNumbers], lines: &[u64]) -> Vec<LogSeam> {
    if lines.is_empty() {
        return Vec::new();
    }
    // First and last cycle of each log, by chip.
    let mut chips: BTreeMap<u32, BTreeMap<usize, (u64, u64)>> = BTreeMap::new();
    for lane in lanes {
        let Ok(columns) = lane.unpack(chunks) else { continue };
        let logs = chips.entry(lane.id.chip_id).or_default();
        for (record, &cycle) in columns.lane.times.iter().enumerate() {
            let Some((_, line)) = columns.origin(record) else { continue };
            let log = lines.partition_point(|first_line| *first_line < line);
            let (first, last) = logs.entry(log).or_insert((cycle, cycle));
            (*first, *last) = (cycle.min(*first), cycle.max(*last));
        }
    }
    let mut seams = Vec::new();
    for (chip_id, logs) in chips {
        let mut spans: Vec<(u64, u64)> = logs.into_values().collect();
        spans.sort_unstable();
        let mut spans = spans.into_iter();
        let mut end = spans.next().map_or(0, |(_, last)| last);
        for (first, last) in spans {
            let (first_cycle, last_cycle) =
                if end <= first { (end, first) } else { (first, last.min(end)) };
            seams.push(LogSeam { chip_id, first_cycle, last_cycle });
            end = end.max(last);
        }
    }
    seams
}

/// Returns the table of names, and the index of each source location in this table.
///
/// Named source locations are added first. The first named location with a marker id therefore gets
/// this id as its index. If a marker id also occurs without a name (such as the number of an event
/// that equals a zone's id), the unnamed location gets an index of its own.
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
    // Lines are valid UTF-8, so nothing is replaced.
    ZoneSource {
        name: String::from_utf8_lossy(&place.name).into_owned(),
        file: String::from_utf8_lossy(&place.file).into_owned(),
        line: place.line,
    }
}

/// Returns the chips of `lanes`. `lanes` must be sorted. The returned chips have no lanes yet.
fn devices_of(lanes: &[PackedLane], chip: &LogChip) -> Vec<DeviceReadout> {
    let chip_lanes = lanes.chunk_by(|one, other| one.id.chip_id == other.id.chip_id);
    let device = |lane: &PackedLane| DeviceReadout {
        chip: ChipSummary {
            chip_id: lane.id.chip_id,
            arch: chip.arch.clone(),
            aiclk_mhz: chip.aiclk_mhz,
            max_compute_cores: chip.max_compute_cores,
            known_lines: [].into(),
        },
        lanes: Vec::new(),
        pending_runs: 0,
        discarded_launches: 0,
    };
    chip_lanes.filter_map(|lanes| lanes.first()).map(device).collect()
}

fn add_unknown_riscs(anomalies: &mut AnomalyLog, unknown: UnknownRiscs) {
    for ((chip_id, core, label), (line, count)) in unknown.lines {
        let lines = if count == 1 { "line" } else { "lines" };
        let detail =
            || format!("chip {chip_id} core {core} RISC `{label}`: {count} {lines} left out");
        anomalies.record(AnomalyKind::UnknownRisc, None, line, detail);
        anomalies.count_more(AnomalyKind::UnknownRisc, None, count.saturating_sub(1));
    }
}

fn add_nameless(anomalies: &mut AnomalyLog, count: u64) {
    if count > 0 {
        let detail = || format!("{count} names left out: more places than a table can hold");
        anomalies.record(AnomalyKind::MalformedLine, None, 0, detail);
        anomalies.count_more(AnomalyKind::MalformedLine, None, count.saturating_sub(1));
    }
}
