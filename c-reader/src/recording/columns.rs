//! Tables of a recording as C columns, built once.

use super::rows::KprofText;
use host_reader::{
    analysis::Report,
    recording::Recording,
    tables::{
        ColumnKind, ColumnSchema, LossRow, Losses, Ops, SumStatisticsTable, Table, Value,
        WaitStatisticsTable, ZoneStatisticsTable, op_rows,
    },
};
use std::ffi::c_void;
use wire::RunHostId;

/// Type of a column's values: `uint32_t`.
pub const KPROF_COLUMN_UINT32: u32 = 0;
/// Type of a column's values: `uint64_t`.
pub const KPROF_COLUMN_UINT64: u32 = 1;
/// Type of a column's values: `int64_t`.
pub const KPROF_COLUMN_INT64: u32 = 2;
/// Type of a column's values: `uint8_t`, 1 for yes and 0 for no.
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
    /// Meaning of an unknown value; empty if all values are known.
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

/// Tables by name.
#[derive(Debug)]
pub(super) struct Columns(Vec<(&'static str, Vec<Column>)>);

#[derive(Debug)]
struct Column {
    schema: ColumnSchema,
    values: Values,
    is_known: Option<Vec<u8>>,
    row_count: usize,
}

/// Values in the memory that C reads.
#[derive(Debug)]
enum Values {
    Unsigned32(Vec<u32>),
    Unsigned64(Vec<u64>),
    Signed64(Vec<i64>),
    Flag(Vec<u8>),
    Real(Vec<f64>),
    /// Texts, and pointers to these texts.
    Text {
        _texts: Vec<Box<str>>,
        pointers: Vec<KprofText>,
    },
}

impl Columns {
    pub(super) fn new(recording: &Recording, report: &Report) -> Self {
        let names = recording.op_names();
        let ops: Vec<_> = report.ops.ops().collect();
        Self(vec![
            columns_of::<Ops>(&op_rows(&ops, |op| {
                names.get(&(op.chip_id, RunHostId(op.run_host_id))).copied()
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
        found.find(|(index, column)| is_wanted(*index, column.schema.name)).map(|(_, of)| of.to_c())
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
        let is_known = schema
            .is_optional()
            .then(|| cells.iter().map(|cell| (*cell != Value::Null).into()).collect());
        let cells = cells.into_iter();
        let values = match schema.kind {
            ColumnKind::Unsigned32 => Values::Unsigned32(cells.map(number).collect()),
            ColumnKind::Unsigned64 => Values::Unsigned64(cells.map(number).collect()),
            ColumnKind::Signed64 => Values::Signed64(cells.map(number).collect()),
            ColumnKind::Flag => {
                Values::Flag(cells.map(|cell| (cell == Value::Flag(true)).into()).collect())
            }
            ColumnKind::Real => Values::Real(cells.map(real).collect()),
            ColumnKind::Text => {
                let texts: Vec<Box<str>> = cells.map(text).collect();
                let pointers = texts.iter().map(|text| KprofText::from_text(text)).collect();
                Values::Text { _texts: texts, pointers }
            }
        };
        Self { schema, values, is_known, row_count }
    }

    fn to_c(&self) -> KprofColumn {
        let (kind, values): (_, *const c_void) = match &self.values {
            Values::Unsigned32(values) => (KPROF_COLUMN_UINT32, values.as_ptr().cast()),
            Values::Unsigned64(values) => (KPROF_COLUMN_UINT64, values.as_ptr().cast()),
            Values::Signed64(values) => (KPROF_COLUMN_INT64, values.as_ptr().cast()),
            Values::Flag(values) => (KPROF_COLUMN_FLAG, values.as_ptr().cast()),
            Values::Real(values) => (KPROF_COLUMN_DOUBLE, values.as_ptr().cast()),
            Values::Text { pointers, .. } => (KPROF_COLUMN_TEXT, pointers.as_ptr().cast()),
        };
        KprofColumn {
            struct_size: size_of::<KprofColumn>(),
            name: KprofText::from_text(self.schema.name),
            unit: KprofText::from_text(self.schema.unit().unwrap_or_default()),
            null_means: KprofText::from_text(self.schema.null_means.unwrap_or_default()),
            kind,
            row_count: self.row_count,
            values,
            is_known: self.is_known.as_ref().map_or(std::ptr::null(), Vec::as_ptr),
        }
    }
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
