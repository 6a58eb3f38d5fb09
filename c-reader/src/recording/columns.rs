//! Tables of a recording as C columns. They are built once for each recording.

use super::rows::KprofText;
use host_reader::{
    analysis::Report,
    recording::Recording,
    tables::{
        ColumnKind, ColumnSchema, LossRow, Losses, Ops, SumStatisticsTable, Table, Value,
        WaitStatisticsTable, ZoneStatisticsTable, op_rows,
    },
};
use std::{ffi::c_void, fmt::Debug};
use wire::RunHostId;

/// Type of a column's values: `uint32_t`.
pub const KPROF_COLUMN_UINT32: u32 = 0;
/// Type of a column's values: `uint64_t`.
pub const KPROF_COLUMN_UINT64: u32 = 1;
/// Type of a column's values: `int64_t`.
pub const KPROF_COLUMN_INT64: u32 = 2;
/// Type of a column's values: `uint8_t`, 1 for true and 0 for false.
pub const KPROF_COLUMN_FLAG: u32 = 3;
/// Type of a column's values: `double`.
pub const KPROF_COLUMN_DOUBLE: u32 = 4;
/// Type of a column's values: `KprofText`.
pub const KPROF_COLUMN_TEXT: u32 = 5;

/// One column of a table. All arrays and texts belong to the recording. `kprof schema` shows the
/// tables and the meaning of their columns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofColumn {
    /// `sizeof(KprofColumn)`. Must be set before the call.
    pub struct_size: usize,
    /// Name, ending with the unit if there is one.
    pub name: KprofText,
    /// Unit; empty if none.
    pub unit: KprofText,
    /// Reason why a value of the column can be unknown; empty if all values are known.
    pub null_means: KprofText,
    /// Type of the values.
    pub kind: u32,
    /// Number of rows in the table.
    pub row_count: usize,
    /// Array with one value per row; an unknown value is 0 or an empty text.
    pub values: *const c_void,
    /// Array with one flag per row: 1 if the value is known, else 0. Null if all values are known.
    pub is_known: *const u8,
}

/// Columns of each table, by table name.
#[derive(Debug)]
pub(super) struct Columns(Vec<(&'static str, Vec<Column>)>);

/// A column in the form that C reads, and the memory that the column points to.
#[derive(Debug)]
struct Column {
    name: &'static str,
    c: KprofColumn,
    _memory: [Box<dyn Debug>; 3],
}

impl Columns {
    pub(super) fn new(recording: &Recording, report: &Report) -> Self {
        let texts = recording.op_texts();
        let ops: Vec<_> = report.ops.ops().collect();
        Self(vec![
            columns_of::<Ops>(&op_rows(&ops, |op| {
                texts.get(&(op.chip_id, RunHostId(op.run_host_id))).copied().unwrap_or_default()
            })),
            columns_of::<ZoneStatisticsTable>(&report.zones.iter().collect::<Vec<_>>()),
            columns_of::<SumStatisticsTable>(&report.sums.iter().collect::<Vec<_>>()),
            columns_of::<WaitStatisticsTable>(&report.waits.iter().collect::<Vec<_>>()),
            columns_of::<Losses>(&LossRow::from_ledger(&recording.readout.losses)),
        ])
    }

    /// Returns the names of the tables.
    pub(super) fn table_names(&self) -> Vec<&'static str> {
        self.0.iter().map(|(name, _)| *name).collect()
    }

    /// Returns the column of a table that `is_wanted` selects by index and name.
    pub(super) fn find(
        &self,
        table: &str,
        is_wanted: impl Fn(usize, &str) -> bool,
    ) -> Option<KprofColumn> {
        let (_, columns) = self.0.iter().find(|(name, _)| *name == table)?;
        let mut found = columns.iter().enumerate();
        found.find(|(index, column)| is_wanted(*index, column.name)).map(|(_, column)| column.c)
    }
}

fn columns_of<T: Table>(rows: &[T::Row<'_>]) -> (&'static str, Vec<Column>) {
    (
        T::NAME,
        T::report_columns()
            .map(|column| {
                Column::new(column.schema, rows.iter().map(|row| column.value(row)).collect())
            })
            .collect(),
    )
}

impl Column {
    fn new(schema: ColumnSchema, cells: Vec<Value<'_>>) -> Self {
        let row_count = cells.len();
        let known = cells.iter().map(|cell| (*cell != Value::Null).into());
        let is_known: Option<Vec<u8>> = schema.is_optional().then(|| known.collect());
        let cells = cells.into_iter();
        let mut texts: Vec<Box<str>> = Vec::new();
        let (kind, (values, memory)) = match schema.kind {
            ColumnKind::Unsigned32 => (KPROF_COLUMN_UINT32, array(cells.map(number::<u32>))),
            ColumnKind::Unsigned64 => (KPROF_COLUMN_UINT64, array(cells.map(number::<u64>))),
            ColumnKind::Signed64 => (KPROF_COLUMN_INT64, array(cells.map(number::<i64>))),
            ColumnKind::Flag => {
                (KPROF_COLUMN_FLAG, array(cells.map(|cell| u8::from(cell == Value::Flag(true)))))
            }
            ColumnKind::Real => (KPROF_COLUMN_DOUBLE, array(cells.map(real))),
            ColumnKind::Text => {
                texts.extend(cells.map(text));
                (KPROF_COLUMN_TEXT, array(texts.iter().map(|text| KprofText::from_text(text))))
            }
        };
        let c = KprofColumn {
            struct_size: size_of::<KprofColumn>(),
            name: KprofText::from_text(schema.name),
            unit: KprofText::from_text(schema.unit().unwrap_or_default()),
            null_means: KprofText::from_text(schema.null_means.unwrap_or_default()),
            kind,
            row_count,
            values,
            is_known: is_known.as_ref().map_or(std::ptr::null(), Vec::as_ptr),
        };
        Self { name: schema.name, c, _memory: [memory, Box::new(is_known), Box::new(texts)] }
    }
}

/// Collects values in an array. Returns the address of the array, and the vector that owns the
/// array.
///
/// The owner is a vector, because moving a boxed slice would invalidate the address.
fn array<T: Debug + 'static>(values: impl Iterator<Item = T>) -> (*const c_void, Box<dyn Debug>) {
    let values: Vec<T> = values.collect();
    (values.as_ptr().cast(), Box::new(values))
}

/// Converts a value to an integer. Null becomes 0; the column's `is_known` flag marks it as
/// unknown.
fn number<N: TryFrom<i128> + Default>(value: Value<'_>) -> N {
    let number = match value {
        Value::Unsigned32(number) => number.into(),
        Value::Unsigned64(number) => number.into(),
        Value::Signed64(number) => number.into(),
        _ => 0,
    };
    N::try_from(number).unwrap_or_default()
}

fn real(value: Value<'_>) -> f64 {
    if let Value::Real(number) = value { number } else { 0.0 }
}

fn text(value: Value<'_>) -> Box<str> {
    if let Value::Text(text) = value { text.into() } else { "".into() }
}
