//! Tables of a recording, in Arrow's form. Nothing here knows of Python.

use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int8Array, Int32Array, Int64Array,
    RecordBatch, StringArray, UInt16Array, UInt32Array, UInt64Array,
    types::{Int8Type, Int32Type},
};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use host_reader::{
    analysis::{Op, Report, Span, ZoneStatistics},
    export::{ColumnCells, TableRows},
    lane::{Lane, LaneId, RecordHead, ZoneIndex},
    ledger::{LossKey, LossTotals},
    names::ZoneTable,
    recording::Recording,
    timeline::{LaneTimeline, Timeline},
};
use std::{collections::BTreeMap, iter, sync::Arc};
use wire::{PacketKind, Risc, RunHostId};

/// A column: its name, whether cells may be empty, and its values.
type Column = (&'static str, bool, ArrayRef);

fn column(name: &'static str, values: impl arrow_array::Array + 'static) -> Column {
    (name, false, Arc::new(values))
}

fn optional(name: &'static str, values: impl arrow_array::Array + 'static) -> Column {
    (name, true, Arc::new(values))
}

fn schema_of(columns: &[Column]) -> SchemaRef {
    let field = |(name, is_optional, values): &Column| {
        Field::new(*name, values.data_type().clone(), *is_optional)
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// A table, in the parts that make no copy of long lanes necessary.
pub(crate) struct Table {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
}

type Made = Result<Table, ArrowError>;

/// Puts the columns of each part behind those of the one before.
fn table(parts: Vec<Vec<Column>>, empty: Vec<Column>) -> Made {
    let schema = schema_of(&empty);
    let batch = |columns: Vec<Column>| {
        let values = columns.into_iter().map(|(_, _, values)| values).collect();
        RecordBatch::try_new(Arc::clone(&schema), values)
    };
    let batches = parts.into_iter().map(batch).collect::<Result<_, _>>()?;
    Ok(Table { schema, batches })
}

/// Labels that occur again and again.
struct Names {
    riscs: ArrayRef,
    /// Zones of the recording, in the order of their labels.
    zones: BTreeMap<ZoneIndex, i32>,
    labels: ArrayRef,
}

impl Names {
    fn new(table: &ZoneTable, used: impl Iterator<Item = ZoneIndex>) -> Self {
        let mut zones: BTreeMap<ZoneIndex, i32> = used.map(|zone| (zone, 0)).collect();
        // Zones of several sources may have one name, and a category occurs once.
        let mut places = BTreeMap::new();
        let mut labels = Vec::new();
        for (&zone, place) in &mut zones {
            let label = table.label(zone);
            *place = *places.entry(label).or_insert_with_key(|label| {
                labels.push(label.to_string());
                i32::try_from(labels.len() - 1).unwrap_or(i32::MAX)
            });
        }
        let labels = StringArray::from(labels);
        let riscs: StringArray = Risc::ALL.iter().map(|risc| Some(risc.label())).collect();
        Self { riscs: Arc::new(riscs), zones, labels: Arc::new(labels) }
    }

    fn risc(&self, risc: Risc) -> i8 {
        let place = Risc::ALL.iter().position(|&known| known == risc).unwrap_or(0);
        i8::try_from(place).unwrap_or(0)
    }

    fn zone(&self, zones: impl Iterator<Item = ZoneIndex>) -> DictionaryArray<Int32Type> {
        let keys: Int32Array = zones.map(|zone| self.zones.get(&zone).copied()).collect();
        DictionaryArray::new(keys, Arc::clone(&self.labels))
    }
}

/// Rows of a batch that holds several lanes, at most.
const BATCH_ROWS: usize = 1 << 16;
/// Rows from which on a lane is a batch of its own, so that its times need no copy.
const OWN_BATCH_ROWS: usize = 1 << 14;

/// Splits lanes into the groups that become batches, in their order.
fn batches<T>(lanes: Vec<T>, rows: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    const FULL: usize = usize::MAX;
    let mut groups: Vec<Vec<T>> = Vec::new();
    // Rows of the last group, to which nothing is added once it is full.
    let mut row_count = FULL;
    for lane in lanes {
        let own = rows(&lane);
        let all = row_count.saturating_add(own);
        match groups.last_mut() {
            Some(group) if own < OWN_BATCH_ROWS && all <= BATCH_ROWS => {
                group.push(lane);
                row_count = all;
            }
            _ => {
                groups.push(vec![lane]);
                row_count = if own < OWN_BATCH_ROWS { own } else { FULL };
            }
        }
    }
    groups
}

/// The first columns of a table of lanes, which have a number of rows each.
fn lane_columns(lanes: &[(LaneId, usize)], names: &Names) -> Vec<Column> {
    let riscs = Int8Array::from(repeated(lanes, |id| names.risc(id.risc)));
    vec![
        column("chip", UInt32Array::from(repeated(lanes, |id| id.chip_id))),
        column("core_x", UInt16Array::from(repeated(lanes, |id| id.core.x))),
        column("core_y", UInt16Array::from(repeated(lanes, |id| id.core.y))),
        column("risc", DictionaryArray::new(riscs, Arc::clone(&names.riscs))),
    ]
}

/// A value that all rows of a lane share, once for each row.
fn repeated<T: Clone>(lanes: &[(LaneId, usize)], value: impl Fn(LaneId) -> T) -> Vec<T> {
    lanes.iter().flat_map(|&(id, rows)| iter::repeat_n(value(id), rows)).collect()
}

/// The times of a lane, as bytes of the recording that holds them.
struct SharedTimes {
    recording: Arc<Recording>,
    device: usize,
    lane: usize,
}

impl AsRef<[u8]> for SharedTimes {
    fn as_ref(&self) -> &[u8] {
        let device = self.recording.readout.devices.get(self.device);
        let lane = device.and_then(|device| device.lanes.get(self.lane));
        lane.map_or(&[], |lane| bytemuck::cast_slice(&lane.times))
    }
}

/// A lane, and where its recording has it.
struct Place<'recording> {
    device: usize,
    index: usize,
    lane: &'recording Lane,
}

/// Every record.
pub(crate) fn records(recording: &Arc<Recording>) -> Made {
    let readout = &recording.readout;
    let used = readout.lanes().flat_map(|lane| lane.heads.iter().map(|head| head.zone()));
    let names = Names::new(&readout.zones, used);
    let places = readout.devices.iter().enumerate().flat_map(|(device, of_device)| {
        let lanes = of_device.lanes.iter().enumerate();
        lanes.map(move |(index, lane)| Place { device, index, lane })
    });
    let part = |places: Vec<Place<'_>>| {
        let times = match places[..] {
            [Place { device, index, .. }] => {
                let recording = Arc::clone(recording);
                let times = SharedTimes { recording, device, lane: index };
                Buffer::from(bytes::Bytes::from_owner(times))
            }
            _ => {
                let times = places.iter().flat_map(|place| place.lane.times.iter().copied());
                Buffer::from_vec(times.collect::<Vec<u64>>())
            }
        };
        let lanes: Vec<&Lane> = places.iter().map(|place| place.lane).collect();
        record_columns(&lanes, &names, times)
    };
    let groups = batches(places.collect(), |place| place.lane.record_count());
    let empty = record_columns(&[], &names, Buffer::from_vec(Vec::<u64>::new()));
    table(groups.into_iter().map(part).collect(), empty)
}

fn record_columns(lanes: &[&Lane], names: &Names, times: Buffer) -> Vec<Column> {
    let rows: Vec<_> = lanes.iter().map(|lane| (lane.id, lane.record_count())).collect();
    let programs: Vec<u32> = lanes.iter().flat_map(|lane| programs_of(lane)).collect();
    let count = programs.len();
    let value = |index: usize| {
        let records = lanes.iter().flat_map(|lane| lane.records());
        records.map(|record| record.data.get(index).copied()).collect::<UInt64Array>()
    };
    let heads = || lanes.iter().flat_map(|lane| &lane.heads);
    let mut columns = lane_columns(&rows, names);
    columns.extend([
        column("run_host_id", UInt32Array::from(programs)),
        column("kind", kinds_of(heads())),
        column("zone", names.zone(heads().map(|head| head.zone()))),
        column("cycle", UInt64Array::new(ScalarBuffer::new(times, 0, count), None)),
        optional("value", value(0)),
        optional("second_value", value(1)),
    ]);
    columns
}

/// The program of each record.
fn programs_of(lane: &Lane) -> Vec<u32> {
    let mut programs = vec![0; lane.record_count()];
    for (index, run) in lane.runs.iter().enumerate() {
        if let Some(of_run) = programs.get_mut(lane.run_records(index)) {
            of_run.fill(run.program.0);
        }
    }
    programs
}

/// Names of the kinds of records, as device logs have them: data of both sizes have one name, and
/// a category occurs once.
fn kinds_of<'lane>(heads: impl Iterator<Item = &'lane RecordHead>) -> DictionaryArray<Int8Type> {
    let mut labels: Vec<&str> = Vec::new();
    let places = PacketKind::ALL.map(|kind| {
        let place = labels.iter().position(|&label| label == kind.label());
        let place = place.unwrap_or_else(|| {
            labels.push(kind.label());
            labels.len() - 1
        });
        i8::try_from(place).ok()
    });
    let keys = heads.map(|head| places.get(head.kind() as usize).copied().flatten());
    DictionaryArray::new(keys.collect(), Arc::new(StringArray::from(labels)))
}

/// Zones with their starts and ends.
pub(crate) fn zones(recording: &Recording) -> Made {
    let readout = &recording.readout;
    let timeline = Timeline::of_readout(readout);
    let used = timeline.lanes().flat_map(|lane| lane.zones.zones.iter().copied());
    let names = Names::new(&readout.zones, used);
    let lanes: BTreeMap<_, _> = readout.lanes().map(|lane| (lane.id, lane)).collect();
    let paired = timeline.lanes();
    let paired = paired.filter_map(|paired| Some((*lanes.get(&paired.id)?, paired)));
    let groups = batches(paired.collect(), |(_, paired)| paired.zones.len());
    let parts = groups.iter().map(|lanes| zone_columns(lanes, &names));
    table(parts.collect(), zone_columns(&[], &names))
}

fn zone_columns(lanes: &[(&Lane, &LaneTimeline)], names: &Names) -> Vec<Column> {
    let rows: Vec<_> = lanes.iter().map(|(lane, paired)| (lane.id, paired.zones.len())).collect();
    let programs = lanes.iter().flat_map(|(lane, paired)| {
        let program = |&run: &u32| Some(lane.runs.get(run as usize)?.program.0);
        paired.zones.runs.iter().map(program)
    });
    let zones = || lanes.iter().map(|(_, paired)| &paired.zones);
    let starts: Vec<u64> = zones().flat_map(|zones| zones.starts.iter().copied()).collect();
    let ends: Vec<u64> = zones().flat_map(|zones| zones.ends.iter().copied()).collect();
    let durations = starts.iter().zip(&ends).map(|(start, end)| end.saturating_sub(*start));
    let durations: Vec<u64> = durations.collect();
    let depths: Vec<u16> = zones().flat_map(|zones| zones.depths.iter().copied()).collect();
    let open: Vec<bool> =
        zones().flat_map(|zones| zones.flags.iter().map(|flags| flags.is_open())).collect();
    let mut columns = lane_columns(&rows, names);
    columns.extend([
        optional("run_host_id", programs.collect::<UInt32Array>()),
        column("zone", names.zone(zones().flat_map(|zones| zones.zones.iter().copied()))),
        column("start_cycle", UInt64Array::from(starts)),
        column("end_cycle", UInt64Array::from(ends)),
        column("duration_cycles", UInt64Array::from(durations)),
        column("depth", UInt16Array::from(depths)),
        column("is_open", BooleanArray::from(open)),
    ]);
    columns
}

/// Launches of programs.
pub(crate) fn ops(recording: &Recording, report: &Report) -> Made {
    let names = recording.op_names();
    let ops = &report.ops;
    let numbers = |of: fn(&Op) -> u64| ops.iter().map(|op| Some(of(op))).collect::<UInt64Array>();
    let optionals = |of: fn(&Op) -> Option<u64>| ops.iter().map(of).collect::<UInt64Array>();
    let ids: Vec<u32> = ops.iter().map(|op| op.run_host_id).collect();
    let programs: Vec<u32> = ids.iter().map(|&id| RunHostId(id).base()).collect();
    let chips: Vec<u32> = ops.iter().map(|op| op.chip_id).collect();
    let name = |op: &Op| names.get(&(op.chip_id, RunHostId(op.run_host_id))).copied();
    let doubt = |op: &Op| op.duration_doubt.map(|doubt| doubt.label());
    let latency_doubt = |op: &Op| op.latency_doubt.map(|doubt| doubt.label());
    let columns = vec![
        column("chip", UInt32Array::from(chips)),
        column("run_host_id", UInt32Array::from(ids)),
        column("program", UInt32Array::from(programs)),
        optional("name", ops.iter().map(name).collect::<StringArray>()),
        column("launch", numbers(|op| op.launch)),
        optional("trace_id", optionals(|op| op.trace_id)),
        optional("trace_replay", optionals(|op| op.trace_replay)),
        optional("sub_device_id", optionals(|op| op.sub_device_id.map(u64::from))),
        column("core_count", numbers(|op| op.core_count)),
        optional("firmware_start_cycle", optionals(|op| start(op.firmware))),
        optional("firmware_end_cycle", optionals(|op| end(op.firmware))),
        optional("firmware_ns", optionals(|op| op.firmware?.duration_ns)),
        optional("kernel_start_cycle", optionals(|op| start(op.kernel))),
        optional("kernel_end_cycle", optionals(|op| end(op.kernel))),
        optional("kernel_ns", optionals(|op| op.kernel?.duration_ns)),
        optional("brisc_kernel_ns", optionals(|op| op.risc_kernels.brisc?.duration_ns)),
        optional("ncrisc_kernel_ns", optionals(|op| op.risc_kernels.ncrisc?.duration_ns)),
        optional("trisc0_kernel_ns", optionals(|op| op.risc_kernels.trisc0?.duration_ns)),
        optional("trisc1_kernel_ns", optionals(|op| op.risc_kernels.trisc1?.duration_ns)),
        optional("trisc2_kernel_ns", optionals(|op| op.risc_kernels.trisc2?.duration_ns)),
        optional("op_to_op_latency_ns", optionals(|op| op.op_to_op_latency_ns)),
        optional("stall_cycles", optionals(|op| op.stall.map(|stall| stall.cycles))),
        optional("stall_ns", optionals(|op| op.stall_ns)),
        optional("duration_doubt", ops.iter().map(doubt).collect::<StringArray>()),
        optional("latency_doubt", ops.iter().map(latency_doubt).collect::<StringArray>()),
    ];
    whole(columns)
}

fn start(span: Option<Span>) -> Option<u64> {
    Some(span?.start_cycle)
}

fn end(span: Option<Span>) -> Option<u64> {
    Some(span?.end_cycle)
}

/// A table of one part.
fn whole(columns: Vec<Column>) -> Made {
    let cut = |(name, is_optional, values): &Column| (*name, *is_optional, values.slice(0, 0));
    let empty = columns.iter().map(cut).collect();
    table(vec![columns], empty)
}

/// Statistics of zones.
pub(crate) fn zone_statistics(report: &Report) -> Made {
    let zones = &report.zones;
    let numbers = |of: fn(&ZoneStatistics) -> u64| {
        zones.iter().map(|zone| Some(of(zone))).collect::<UInt64Array>()
    };
    let optionals =
        |of: fn(&ZoneStatistics) -> Option<u64>| zones.iter().map(of).collect::<UInt64Array>();
    let texts =
        |of: fn(&ZoneStatistics) -> Option<&str>| zones.iter().map(of).collect::<StringArray>();
    let small = |of: fn(&ZoneStatistics) -> u32| {
        zones.iter().map(|zone| Some(of(zone))).collect::<UInt32Array>()
    };
    whole(vec![
        column("chip", small(|zone| zone.chip_id)),
        optional("risc", texts(|zone| zone.risc.map(Risc::label))),
        column("zone", texts(|zone| Some(&zone.name))),
        optional("file", texts(|zone| Some(&*zone.source_file).filter(|file| !file.is_empty()))),
        column("line", small(|zone| zone.source_line)),
        column("count", numbers(|zone| zone.cycles.count)),
        column("total_cycles", numbers(|zone| zone.cycles.total_cycles)),
        column("self_total_cycles", numbers(|zone| zone.self_total_cycles)),
        column("min_cycles", numbers(|zone| zone.cycles.min_cycles)),
        column("median_cycles", numbers(|zone| zone.cycles.median_cycles)),
        column("p99_cycles", numbers(|zone| zone.cycles.p99_cycles)),
        column("max_cycles", numbers(|zone| zone.cycles.max_cycles)),
        optional("total_ns", optionals(|zone| zone.cycles.total_ns)),
        optional("median_ns", optionals(|zone| zone.cycles.median_ns)),
        column("open_zone_count", numbers(|zone| zone.open_zone_count)),
    ])
}

/// Lost records.
pub(crate) fn losses(recording: &Recording) -> Made {
    let rows: Vec<(&LossKey, &LossTotals)> = recording.readout.losses.entries().collect();
    let numbers = |of: fn(&LossTotals) -> u64| {
        rows.iter().map(|(_, totals)| Some(of(totals))).collect::<UInt64Array>()
    };
    let texts = |of: fn(&LossKey) -> &'static str| {
        rows.iter().map(|(key, _)| Some(of(key))).collect::<StringArray>()
    };
    let program = |(key, _): &(&LossKey, &LossTotals)| key.program.map(|program| program.0);
    let chips: Vec<u32> = rows.iter().map(|(key, _)| key.lane.chip_id).collect();
    let xs: Vec<u16> = rows.iter().map(|(key, _)| key.lane.core.x).collect();
    let ys: Vec<u16> = rows.iter().map(|(key, _)| key.lane.core.y).collect();
    let bounds: Vec<bool> = rows.iter().map(|(_, totals)| totals.is_lower_bound).collect();
    let intended: Vec<bool> = rows.iter().map(|(key, _)| key.cause.is_intended()).collect();
    whole(vec![
        column("chip", UInt32Array::from(chips)),
        column("core_x", UInt16Array::from(xs)),
        column("core_y", UInt16Array::from(ys)),
        column("risc", texts(|key| key.lane.risc.label())),
        column("cause", texts(|key| key.cause.label())),
        optional("run_host_id", rows.iter().map(program).collect::<UInt32Array>()),
        column("zones", numbers(|totals| totals.zones)),
        column("data", numbers(|totals| totals.data)),
        column("events", numbers(|totals| totals.events)),
        column("sums", numbers(|totals| totals.sums)),
        column("unknown_markers", numbers(|totals| totals.unknown_markers)),
        column("is_lower_bound", BooleanArray::from(bounds)),
        column("is_intended", BooleanArray::from(intended)),
    ])
}

/// A table of a dataset, with the columns that its Parquet file has.
pub(crate) fn dataset_table(rows: &TableRows) -> Made {
    whole(dataset_columns(rows).collect())
}

fn dataset_columns(rows: &TableRows) -> impl Iterator<Item = Column> {
    rows.columns().map(|(schema, cells)| {
        let values: ArrayRef = match cells {
            ColumnCells::Unsigned32(cells) => Arc::new(cells.collect::<UInt32Array>()),
            ColumnCells::Unsigned64(cells) => Arc::new(cells.collect::<UInt64Array>()),
            ColumnCells::Signed64(cells) => Arc::new(cells.collect::<Int64Array>()),
            ColumnCells::Flag(cells) => Arc::new(cells.collect::<BooleanArray>()),
            ColumnCells::Real(cells) => Arc::new(cells.collect::<Float64Array>()),
            ColumnCells::Text(cells) => Arc::new(cells.collect::<DictionaryArray<Int32Type>>()),
        };
        (schema.name, schema.is_optional, values)
    })
}

/// Tables of a dataset with the chip of each, as one with the chip in front.
pub(crate) fn dataset_table_of_chips(chips: &[(u32, TableRows)], empty: &TableRows) -> Made {
    let with_chip = |chip: u32, rows: &TableRows| {
        let chips = UInt32Array::from(vec![chip; rows.row_count()]);
        iter::once(column("chip", chips)).chain(dataset_columns(rows)).collect()
    };
    let parts = chips.iter().map(|(chip, rows)| with_chip(*chip, rows));
    table(parts.collect(), with_chip(0, empty))
}

/// A table of texts, such as a CSV; columns of numbers become numbers, empty cells stay empty.
pub(crate) fn texts(header: &[String], columns: &[Vec<String>]) -> Made {
    let values = columns.iter().map(|cells| {
        let is_empty = cells.iter().all(|cell| cell.is_empty());
        let is_number = |cell: &String| cell.is_empty() || cell.parse::<f64>().is_ok();
        if !is_empty && cells.iter().all(is_number) {
            let numbers = cells.iter().map(|cell| cell.parse().ok());
            return Arc::new(numbers.collect::<Float64Array>()) as ArrayRef;
        }
        let texts = cells.iter().map(|cell| Some(cell.as_str()).filter(|cell| !cell.is_empty()));
        Arc::new(texts.collect::<StringArray>())
    });
    let values: Vec<ArrayRef> = values.collect();
    let field =
        |(name, values): (&String, &ArrayRef)| Field::new(name, values.data_type().clone(), true);
    let schema = Schema::new(header.iter().zip(&values).map(field).collect::<Vec<_>>());
    let schema: SchemaRef = Arc::new(schema);
    let batch = RecordBatch::try_new(Arc::clone(&schema), values)?;
    Ok(Table { schema, batches: vec![batch] })
}
