//! Rows of a device log in the order of TT-Metal's scripts: by chip, core, RISC, time.

use crate::{
    problem::ProblemLog,
    report::{
        counters::{
            COUNTER_ID, CounterArch, CounterScale, OpCounters, add_grid_cells, add_metric_cells,
            is_l1_client_title,
        },
        device_op::{Cells, DeviceOp},
    },
};
use analysis::counters::Sample;
use reader::{lane::TraceReplay, mesh::Noc0Coord};
use recording::device_log::{LogChip, LogLine, walk_device_log};
use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
};
use wire::{PacketKind, Risc};

/// One row of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) time: u64,
    pub(super) value: u64,
    pub(super) core: Noc0Coord,
    pub(super) program: u32,
    /// Index of the zone's name in [`DeviceLog::names`].
    pub(super) name: u32,
    pub(super) marker_id: u16,
    pub(super) risc: Risc,
    pub(super) kind: PacketKind,
}

/// All rows of one core, in the order of [`sort_rows`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CoreSeries {
    pub(super) core: Noc0Coord,
    pub(super) rows: Vec<Row>,
}

/// Sub-device of each op, by chip, op, and trace replay.
pub(in crate::report) type SubDevices = BTreeMap<(u64, u64, Option<TraceReplay>), String>;

/// Hardware counters, by chip, op and replay.
#[derive(Default)]
pub(in crate::report) struct ExactCounters {
    op_counters: BTreeMap<(u64, u64, Option<u64>), OpCounters>,
    scale: CounterScale,
}

impl ExactCounters {
    fn record(&mut self, line: &LogLine<'_>) {
        let is_data =
            matches!(line.kind, PacketKind::TimestampedData | PacketKind::TimestampedEvent);
        // The counters of a Quasar are in the records of its TRISCs.
        let risc = line.lane.risc;
        let is_reader = risc == Risc::Brisc || (risc.is_quasar() && !risc.moves_data());
        if line.marker_id == COUNTER_ID
            && is_data
            && is_reader
            && let Some(sample) = Sample::from_text(&String::from_utf8_lossy(line.metadata))
        {
            let replay = line.key.trace.map(|trace| trace.counter);
            let key = (line.lane.chip_id.into(), line.key.program.into(), replay);
            self.op_counters.entry(key).or_default().add(line.lane.core, risc, sample);
        }
    }

    /// Adds the cells for the counters of a launch.
    ///
    /// Reports without data from the host lack the mean values over the compute grid. Only these
    /// reports show the counters of Quasar's L1 clients.
    pub(in crate::report) fn add_cells(
        &self,
        cells: &mut Cells,
        device: &DeviceOp,
        replay: Option<u64>,
        has_grid: bool,
    ) {
        let key = (device.device_id, device.run_host_id, replay);
        let Some(counters) = self.op_counters.get(&key) else { return };
        let kernel_cycles =
            device.kernel.map(|span| span.end_cycle.saturating_sub(span.start_cycle));
        let scale = CounterScale { kernel_cycles, ..self.scale };
        add_metric_cells(counters, cells, scale);
        if has_grid {
            add_grid_cells(counters, cells, scale);
            // TT-Metal's script copies a fixed list of columns, which does not contain these
            // columns.
            cells.retain(|title, _| !is_l1_client_title(title));
        }
    }
}

/// A log, interpreted as in TT-Metal's scripts.
#[derive(Default)]
pub(super) struct DeviceLog {
    pub(super) aiclk_mhz: u32,
    pub(super) is_quasar: bool,
    /// Names of zones. Rows refer to them by index.
    pub(super) names: Vec<String>,
    /// Index of each name in `names`, by the name's bytes in the log.
    numbers: HashMap<Vec<u8>, u32>,
    /// Cores of each chip, in the order of their first rows in the log.
    pub(super) chips: BTreeMap<u64, Vec<CoreSeries>>,
    /// Index of each core in the list of its chip's cores.
    positions: HashMap<(u64, Noc0Coord), usize>,
    pub(super) sub_devices: SubDevices,
    pub(super) counters: ExactCounters,
}

impl DeviceLog {
    /// Reads a log; returns `None` if it is not a device log.
    pub(super) fn read(text: &[u8], file: &str, problems: &mut ProblemLog) -> Option<Self> {
        let mut log = Self::default();
        let fault = |line, detail: String| {
            problems.add_to_log_line(file, line, &format!("{detail}; the line is left out"));
        };
        let chip = match walk_device_log(text, file, |line| log.record(line), fault) {
            Ok(chip) => chip,
            Err(error) => {
                problems.add_to_file(file, error.to_string());
                return None;
            }
        };
        log.finish(&chip);
        Some(log)
    }

    /// Returns the index of a name. A new name is added to the log.
    pub(super) fn number_of(&mut self, name: &[u8]) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(String::from_utf8_lossy(name).into_owned());
        self.numbers.insert(name.to_vec(), number);
        number
    }

    /// Returns the index of a name; `None` if the log does not contain the name.
    pub(super) fn name_number(&self, name: &str) -> Option<u32> {
        self.numbers.get(name.as_bytes()).copied()
    }

    fn record(&mut self, line: &LogLine<'_>) {
        let chip_id = u64::from(line.lane.chip_id);
        let row = Row {
            time: line.time,
            value: line.value,
            core: line.lane.core,
            program: line.key.program,
            name: self.number_of(line.place.name),
            marker_id: line.marker_id,
            risc: line.lane.risc,
            kind: line.kind,
        };
        self.counters.record(line);
        if let Some(sub_device) = sub_device_of(line.metadata) {
            let key = (chip_id, u64::from(line.key.program), line.key.trace);
            self.sub_devices.insert(key, sub_device);
        }
        let cores = self.chips.entry(chip_id).or_default();
        let position = *self.positions.entry((chip_id, row.core)).or_insert_with(|| {
            cores.push(CoreSeries { core: row.core, rows: Vec::new() });
            cores.len().saturating_sub(1)
        });
        if let Some(core) = cores.get_mut(position) {
            core.rows.push(row);
        }
    }

    /// Sorts the rows, and adds the data about the chip from the first line of the log.
    fn finish(&mut self, chip: &LogChip) {
        for CoreSeries { rows, .. } in self.chips.values_mut().flatten() {
            sort_rows(rows, |row| (row.time, row.risc));
        }
        let arch = chip.arch.to_lowercase();
        self.counters.scale = CounterScale {
            arch: CounterArch::from_name(&arch),
            max_compute_cores: chip.max_compute_cores,
            kernel_cycles: None,
        };
        self.aiclk_mhz = chip.aiclk_mhz;
        self.is_quasar = arch.contains("quasar");
    }
}

/// Sorts the rows of a core by time. Rows of the same time are sorted by the order in which their
/// RISCs first appear.
pub(super) fn sort_rows<R>(rows: &mut [R], key: impl Fn(&R) -> (u64, Risc)) {
    let mut riscs: Vec<Risc> = Vec::new();
    for (_, risc) in rows.iter().map(&key) {
        if !riscs.contains(&risc) {
            riscs.push(risc);
        }
    }
    rows.sort_by_key(|row| {
        let (time, risc) = key(row);
        (time, riscs.iter().position(|&known| known == risc))
    });
}

/// Groups rows by a key. The groups are in the order of their first rows.
pub(super) fn grouped<K: Copy + Eq + Hash>(
    rows: &[Row],
    key: impl Fn(&Row) -> K,
) -> Vec<(K, Vec<Row>)> {
    let mut positions: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<(K, Vec<Row>)> = Vec::new();
    for row in rows {
        let key = key(row);
        let position = *positions.entry(key).or_insert_with(|| {
            groups.push((key, Vec::new()));
            groups.len().saturating_sub(1)
        });
        if let Some((_, rows)) = groups.get_mut(position) {
            rows.push(*row);
        }
    }
    groups
}

/// Returns the sub-device named in a row's metadata, if any.
fn sub_device_of(metadata: &[u8]) -> Option<String> {
    memchr::memmem::find(metadata, b"sub_device_id")?;
    let text = String::from_utf8_lossy(metadata).replace(';', ",");
    let value: crate::report::value::Value = serde_json::from_str(&text).ok()?;
    value.get("sub_device_id").map(crate::report::value::Value::cell)
}
