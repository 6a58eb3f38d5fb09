//! Tables of a recording as Arrow arrays, independent of Python.

use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int8Array, Int32Array, RecordBatch,
    StringArray, UInt16Array, UInt32Array, UInt64Array,
    builder::{
        BooleanBuilder, Float64Builder, Int64Builder, StringDictionaryBuilder, UInt32Builder,
        UInt64Builder,
    },
    types::{Int8Type, Int32Type},
};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use host_reader::{
    lane::{Lane, LaneId, RecordHead, ZoneIndex},
    names::ZoneTable,
    recording::Recording,
    tables::{self, ColumnKind, Value},
    timeline::{LaneTimeline, Timeline},
};
use std::{collections::BTreeMap, iter, sync::Arc};
use wire::{PacketKind, Risc};

/// A column: its name, whether its cells may be null, and its values.
type Column = (&'static str, bool, ArrayRef);

fn column(name: &'static str, values: impl arrow_array::Array + 'static) -> Column {
    (name, false, Arc::new(values))
}

fn optional(name: &'static str, values: impl arrow_array::Array + 'static) -> Column {
    (name, true, Arc::new(values))
}

fn schema_of(columns: &[Column]) -> SchemaRef {
    Arc::new(Schema::new(
        columns
            .iter()
            .map(|(name, is_optional, values)| {
                Field::new(*name, values.data_type().clone(), *is_optional)
            })
            .collect::<Vec<_>>(),
    ))
}

/// A table in batches. A long lane has its own batch, so that its times need not be copied.
pub(crate) struct Table {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
}

type Made = Result<Table, ArrowError>;

/// Builds a table with one batch for each part.
fn table(parts: Vec<Vec<Column>>, empty: Vec<Column>) -> Made {
    let schema = schema_of(&empty);
    let batches = parts
        .into_iter()
        .map(|columns| {
            let values = columns.into_iter().map(|(_, _, values)| values).collect();
            RecordBatch::try_new(Arc::clone(&schema), values)
        })
        .collect::<Result<_, _>>()?;
    Ok(Table { schema, batches })
}

/// Dictionaries with the names of RISCs and zones, for dictionary-encoded columns.
struct Names {
    riscs: ArrayRef,
    /// For each zone, the position of the zone's name in `labels`.
    zones: BTreeMap<ZoneIndex, i32>,
    labels: ArrayRef,
}

impl Names {
    fn new(table: &ZoneTable, used: impl Iterator<Item = ZoneIndex>) -> Self {
        let mut zones: BTreeMap<ZoneIndex, i32> = used.map(|zone| (zone, 0)).collect();
        // Zones in different source locations may have the same name; the dictionary holds each
        // name once.
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

/// Maximum number of rows in a batch of several lanes.
const BATCH_ROWS: usize = 1 << 16;
/// Number of rows from which on a lane becomes a separate batch. The times of such a batch are not
/// copied.
const OWN_BATCH_ROWS: usize = 1 << 14;

/// Splits lanes into groups, in order. Each group becomes a batch.
fn batches<T>(lanes: Vec<T>, rows: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    const FULL: usize = usize::MAX;
    let mut groups: Vec<Vec<T>> = Vec::new();
    // Number of rows in the last group. A full group gets no more lanes.
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

/// Returns the columns that name each row's lane. `lanes` holds each lane with its number of rows.
fn lane_columns(lanes: &[(LaneId, usize)], names: &Names) -> Vec<Column> {
    let riscs = Int8Array::from(repeated(lanes, |id| names.risc(id.risc)));
    vec![
        column("chip_id", UInt32Array::from(repeated(lanes, |id| id.chip_id))),
        column("core_x", UInt16Array::from(repeated(lanes, |id| id.core.x))),
        column("core_y", UInt16Array::from(repeated(lanes, |id| id.core.y))),
        column("risc", DictionaryArray::new(riscs, Arc::clone(&names.riscs))),
    ]
}

/// Returns a value for each row: the value of the row's lane.
fn repeated<T: Clone>(lanes: &[(LaneId, usize)], value: impl Fn(LaneId) -> T) -> Vec<T> {
    lanes.iter().flat_map(|&(id, rows)| iter::repeat_n(value(id), rows)).collect()
}

/// Times of a lane, borrowed as bytes from its recording.
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

/// A lane with its position in the recording.
struct Place<'recording> {
    device: usize,
    index: usize,
    lane: &'recording Lane,
}

/// Builds the table of all records.
pub(crate) fn records(recording: &Arc<Recording>) -> Made {
    let readout = &recording.readout;
    let used = readout.lanes().flat_map(|lane| lane.heads.iter().map(|head| head.zone()));
    let names = Names::new(&readout.zones, used);
    let places = readout.devices.iter().enumerate().flat_map(|(device, readout)| {
        let lanes = readout.lanes.iter().enumerate();
        lanes.map(move |(index, lane)| Place { device, index, lane })
    });
    let groups = batches(places.collect(), |place| place.lane.record_count());
    let empty = record_columns(&[], &names, Buffer::from_vec(Vec::<u64>::new()));
    let parts = groups.into_iter().map(|places| {
        let lanes: Vec<&Lane> = places.iter().map(|place| place.lane).collect();
        record_columns(&lanes, &names, times_of(recording, &places))
    });
    table(parts.collect(), empty)
}

/// Returns the times of all records in the lanes. If there is only one lane, its times are not
/// copied.
fn times_of(recording: &Arc<Recording>, places: &[Place<'_>]) -> Buffer {
    match *places {
        [Place { device, index, .. }] => {
            let recording = Arc::clone(recording);
            let times = SharedTimes { recording, device, lane: index };
            Buffer::from(bytes::Bytes::from_owner(times))
        }
        _ => {
            let times = places.iter().flat_map(|place| place.lane.times.iter().copied());
            Buffer::from_vec(times.collect::<Vec<u64>>())
        }
    }
}

fn record_columns(lanes: &[&Lane], names: &Names, times: Buffer) -> Vec<Column> {
    let rows: Vec<_> = lanes.iter().map(|lane| (lane.id, lane.record_count())).collect();
    let programs: Vec<u32> = lanes.iter().flat_map(|lane| programs_of(lane)).collect();
    let count = programs.len();
    let value = |index: usize| {
        let records = lanes.iter().flat_map(|lane| lane.records());
        records.map(|record| record.data.get(index).copied()).collect::<UInt64Array>()
    };
    let heads = lanes.iter().flat_map(|lane| &lane.heads);
    let mut columns = lane_columns(&rows, names);
    columns.extend([
        column("run_host_id", UInt32Array::from(programs)),
        column("kind", kinds_of(heads.clone())),
        column("zone", names.zone(heads.map(|head| head.zone()))),
        column("cycle", UInt64Array::new(ScalarBuffer::new(times, 0, count), None)),
        optional("value", value(0)),
        optional("second_value", value(1)),
    ]);
    columns
}

/// Returns the program id of each record in a lane.
fn programs_of(lane: &Lane) -> Vec<u32> {
    let mut programs = vec![0; lane.record_count()];
    for (index, run) in lane.runs.iter().enumerate() {
        if let Some(run_programs) = programs.get_mut(lane.run_records(index)) {
            run_programs.fill(run.program.0);
        }
    }
    programs
}

/// Returns the name of each record's kind, as in device logs. Data records of both sizes have the
/// same name. The dictionary contains this name only once.
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

/// Builds the table of zones, with starts and ends.
pub(crate) fn zones(recording: &Recording) -> Made {
    let readout = &recording.readout;
    let timeline = Timeline::from_readout(readout);
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
        paired.zones.runs.iter().map(|&run| Some(lane.runs.get(run as usize)?.program.0))
    });
    let zones = lanes.iter().map(|(_, paired)| &paired.zones);
    let starts: Vec<u64> = zones.clone().flat_map(|zones| zones.starts.iter().copied()).collect();
    let ends: Vec<u64> = zones.clone().flat_map(|zones| zones.ends.iter().copied()).collect();
    let depths: Vec<u16> = zones.clone().flat_map(|zones| zones.depths.iter().copied()).collect();
    let open: Vec<bool> =
        zones.clone().flat_map(|zones| zones.flags.iter().map(|flags| flags.is_open())).collect();
    let ends: Vec<Option<u64>> =
        ends.into_iter().zip(&open).map(|(end, is_open)| (!is_open).then_some(end)).collect();
    let durations: Vec<Option<u64>> =
        ends.iter().zip(&starts).map(|(end, start)| end.map(|end| end - start)).collect();
    let mut columns = lane_columns(&rows, names);
    columns.extend([
        optional("run_host_id", programs.collect::<UInt32Array>()),
        column("name", names.zone(zones.flat_map(|zones| zones.zones.iter().copied()))),
        column("start_cycle", UInt64Array::from(starts)),
        optional("end_cycle", UInt64Array::from(ends)),
        optional("duration_cycles", UInt64Array::from(durations)),
        column("depth", UInt16Array::from(depths)),
        column("has_synthetic_end", BooleanArray::from(open)),
    ]);
    columns
}

/// Builder of a table with the schema `T`, filled row by row.
pub(crate) struct TableBuilder<T: tables::Table> {
    columns: Vec<(&'static tables::Column<T>, ColumnBuilder)>,
}

enum ColumnBuilder {
    Unsigned32(UInt32Builder),
    Unsigned64(UInt64Builder),
    Signed64(Int64Builder),
    Flag(BooleanBuilder),
    Real(Float64Builder),
    Text(StringDictionaryBuilder<Int32Type>),
}

impl<T: tables::Table> TableBuilder<T> {
    pub(crate) fn new() -> Self {
        Self {
            columns: T::report_columns()
                .map(|column| {
                    let builder = match column.schema.kind {
                        ColumnKind::Unsigned32 => ColumnBuilder::Unsigned32(UInt32Builder::new()),
                        ColumnKind::Unsigned64 => ColumnBuilder::Unsigned64(UInt64Builder::new()),
                        ColumnKind::Signed64 => ColumnBuilder::Signed64(Int64Builder::new()),
                        ColumnKind::Flag => ColumnBuilder::Flag(BooleanBuilder::new()),
                        ColumnKind::Real => ColumnBuilder::Real(Float64Builder::new()),
                        ColumnKind::Text => ColumnBuilder::Text(StringDictionaryBuilder::new()),
                    };
                    (column, builder)
                })
                .collect(),
        }
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, row: &T::Row<'_>) -> Result<(), ArrowError> {
        self.columns.iter_mut().try_for_each(|(column, builder)| builder.push(&column.value(row)))
    }

    /// Builds a table from rows.
    pub(crate) fn from_rows<'a>(rows: impl IntoIterator<Item = T::Row<'a>>) -> Made {
        let mut table = Self::new();
        rows.into_iter().try_for_each(|row| table.add(&row))?;
        table.finish()
    }

    /// Builds the table.
    pub(crate) fn finish(self) -> Made {
        let columns = self.columns.into_iter().map(|(column, builder)| {
            (column.schema.name, column.schema.is_optional(), builder.finish())
        });
        let columns: Vec<Column> = columns.collect();
        let empty = columns
            .iter()
            .map(|(name, is_optional, values)| (*name, *is_optional, values.slice(0, 0)))
            .collect();
        table(vec![columns], empty)
    }
}

impl ColumnBuilder {
    fn push(&mut self, value: &Value<'_>) -> Result<(), ArrowError> {
        match (self, value) {
            (Self::Unsigned32(values), Value::Unsigned32(value)) => values.append_value(*value),
            (Self::Unsigned64(values), Value::Unsigned64(value)) => values.append_value(*value),
            (Self::Signed64(values), Value::Signed64(value)) => values.append_value(*value),
            (Self::Flag(values), Value::Flag(value)) => values.append_value(*value),
            (Self::Real(values), Value::Real(value)) => values.append_value(*value),
            (Self::Text(values), Value::Text(text)) => values.append_value(text),
            (Self::Unsigned32(values), Value::Null) => values.append_null(),
            (Self::Unsigned64(values), Value::Null) => values.append_null(),
            (Self::Signed64(values), Value::Null) => values.append_null(),
            (Self::Flag(values), Value::Null) => values.append_null(),
            (Self::Real(values), Value::Null) => values.append_null(),
            (Self::Text(values), Value::Null) => values.append_null(),
            (_, value) => {
                let text = format!("expected a value of the column's type, found {value:?}");
                return Err(ArrowError::SchemaError(text));
            }
        }
        Ok(())
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Unsigned32(mut values) => Arc::new(values.finish()),
            Self::Unsigned64(mut values) => Arc::new(values.finish()),
            Self::Signed64(mut values) => Arc::new(values.finish()),
            Self::Flag(mut values) => Arc::new(values.finish()),
            Self::Real(mut values) => Arc::new(values.finish()),
            Self::Text(mut values) => Arc::new(values.finish()),
        }
    }
}

/// Builds a table from texts, such as the cells of a CSV. Columns that hold only numbers become
/// numeric, and empty cells become null.
pub(crate) fn texts(header: &[String], columns: &[Vec<String>]) -> Made {
    let values = columns.iter().map(|cells| {
        let is_empty = cells.iter().all(|cell| cell.is_empty());
        if !is_empty && cells.iter().all(|cell| cell.is_empty() || cell.parse::<f64>().is_ok()) {
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
