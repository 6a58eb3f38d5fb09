//! Rows of a table, and how they become row groups of a file.

use super::schema::{ColumnKind, ColumnSchema, TableKind, TableSchema, schema_of};
use parquet::{
    basic::{Compression, Encoding},
    data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type},
    errors::ParquetError,
    file::{
        metadata::KeyValue,
        properties::{EnabledStatistics, WriterProperties},
        writer::{SerializedColumnWriter, SerializedFileWriter},
    },
    schema::{parser::parse_message_type, types::ColumnPath},
};
use std::{convert::Infallible, io::Write, sync::Arc};

/// Rows of a row group, as DuckDB cuts its own tables: engines read groups in parallel, and
/// what is held in memory is bounded by one of them.
const ROWS_PER_GROUP: usize = 122_880;

/// Destination of rows.
pub(super) trait RowSink {
    /// Error of a row that cannot be kept.
    type Error;

    /// Adds a row, which `fill` fills from its first column to its last.
    fn row(&mut self, fill: impl FnOnce(&mut Row<'_>)) -> Result<(), Self::Error>;
}

/// The rows of one table in memory, column by column.
pub struct TableRows {
    schema: &'static TableSchema,
    columns: Vec<Column>,
    row_count: usize,
}

/// The cells of one column in the order of the rows; `None` where a value is missing.
pub enum ColumnCells<'a> {
    /// Cells of [`ColumnKind::Unsigned32`].
    Unsigned32(Cells<'a, u32>),
    /// Cells of [`ColumnKind::Unsigned64`].
    Unsigned64(Cells<'a, u64>),
    /// Cells of [`ColumnKind::Signed64`].
    Signed64(Cells<'a, i64>),
    /// Cells of [`ColumnKind::Flag`].
    Flag(Cells<'a, bool>),
    /// Cells of [`ColumnKind::Real`].
    Real(Cells<'a, f64>),
    /// Cells of [`ColumnKind::Text`].
    Text(Cells<'a, &'a str>),
}

/// Cells of one type.
pub type Cells<'a, T> = Box<dyn Iterator<Item = Option<T>> + 'a>;

/// A table that is being written.
pub(super) struct TableWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Column>,
    row_count: u64,
}

/// Values of one column in the row group under way.
struct Column {
    values: Values,
    /// 1 for each row with a value, 0 for each without; `None` of columns without gaps.
    levels: Option<Vec<i16>>,
}

enum Values {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
    Flag(Vec<bool>),
    Real(Vec<f64>),
    Text(Vec<ByteArray>),
}

/// One row, filled from its first column to its last.
pub(super) struct Row<'a> {
    columns: std::slice::IterMut<'a, Column>,
}

impl<W: Write + Send> TableWriter<W> {
    /// Begins a file of a table; `facts` are kept beside the rows.
    pub(super) fn new(
        out: W,
        table: &TableSchema,
        facts: Vec<KeyValue>,
    ) -> Result<Self, ParquetError> {
        let schema = Arc::new(parse_message_type(&table.parquet_message())?);
        let properties = Arc::new(properties(table, facts));
        let file = SerializedFileWriter::new(out, schema, properties)?;
        Ok(Self { file, columns: table.columns.iter().map(Column::new).collect(), row_count: 0 })
    }

    /// Writes what is left and the file's end; how many rows there are.
    pub(super) fn finish(mut self) -> Result<u64, ParquetError> {
        self.end_group()?;
        self.file.close()?;
        Ok(self.row_count)
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        if self.columns.first().is_none_or(Column::is_empty) {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            if let Some(mut writer) = group.next_column()? {
                column.write(&mut writer)?;
                writer.close()?;
            }
        }
        group.close()?;
        Ok(())
    }
}

impl<W: Write + Send> RowSink for TableWriter<W> {
    type Error = ParquetError;

    fn row(&mut self, fill: impl FnOnce(&mut Row<'_>)) -> Result<(), ParquetError> {
        add_row(&mut self.columns, fill);
        self.row_count += 1;
        if self.row_count.is_multiple_of(ROWS_PER_GROUP as u64) { self.end_group() } else { Ok(()) }
    }
}

impl TableRows {
    pub(super) fn new(schema: &'static TableSchema) -> Self {
        Self { schema, columns: schema.columns.iter().map(Column::new).collect(), row_count: 0 }
    }

    /// A table without rows.
    #[must_use]
    pub fn empty(kind: TableKind) -> Self {
        Self::new(schema_of(kind))
    }

    /// Number of rows.
    #[must_use]
    pub const fn row_count(&self) -> usize {
        self.row_count
    }

    /// Returns the columns with their cells, in the order of the schema.
    pub fn columns(&self) -> impl Iterator<Item = (&'static ColumnSchema, ColumnCells<'_>)> {
        let cells = |(schema, column): (&'static ColumnSchema, _)| (schema, cells(schema, column));
        self.schema.columns.iter().zip(&self.columns).map(cells)
    }
}

impl RowSink for TableRows {
    type Error = Infallible;

    fn row(&mut self, fill: impl FnOnce(&mut Row<'_>)) -> Result<(), Infallible> {
        add_row(&mut self.columns, fill);
        self.row_count += 1;
        Ok(())
    }
}

fn add_row(columns: &mut [Column], fill: impl FnOnce(&mut Row<'_>)) {
    let mut row = Row { columns: columns.iter_mut() };
    fill(&mut row);
    debug_assert_eq!(row.columns.len(), 0, "every column of a row is filled");
}

/// Returns the cells of a column; signed and unsigned numbers lie in the same bits.
fn cells<'a>(schema: &ColumnSchema, column: &'a Column) -> ColumnCells<'a> {
    let levels = column.levels.as_deref();
    match &column.values {
        Values::Narrow(values) => {
            ColumnCells::Unsigned32(spread(values, levels, |value| value.cast_unsigned()))
        }
        Values::Wide(values) if schema.kind == ColumnKind::Unsigned64 => {
            ColumnCells::Unsigned64(spread(values, levels, |value| value.cast_unsigned()))
        }
        Values::Wide(values) => ColumnCells::Signed64(spread(values, levels, |&value| value)),
        Values::Flag(values) => ColumnCells::Flag(spread(values, levels, |&value| value)),
        Values::Real(values) => ColumnCells::Real(spread(values, levels, |&value| value)),
        // Texts were made of `str`.
        Values::Text(values) => ColumnCells::Text(spread(values, levels, |value| {
            std::str::from_utf8(value.data()).unwrap_or_default()
        })),
    }
}

/// Puts `None` between values where their levels say that one is missing.
fn spread<'a, V, T: 'a>(
    values: &'a [V],
    levels: Option<&'a [i16]>,
    read: fn(&'a V) -> T,
) -> Cells<'a, T> {
    let mut present = values.iter().map(read);
    match levels {
        None => Box::new(present.map(Some)),
        Some(levels) => {
            Box::new(levels.iter().map(move |&level| (level > 0).then(|| present.next()).flatten()))
        }
    }
}

fn properties(table: &TableSchema, facts: Vec<KeyValue>) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("kprof ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(facts))
        .set_max_row_group_row_count(None);
    for column in table.columns {
        // Times hardly ever come twice, and lie close to the one before.
        if matches!(column.kind, ColumnKind::Unsigned64 | ColumnKind::Signed64) {
            let path = ColumnPath::from(column.name);
            builder = builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    builder.build()
}

impl Column {
    fn new(schema: &ColumnSchema) -> Self {
        let values = match schema.kind {
            ColumnKind::Unsigned32 => Values::Narrow(Vec::new()),
            ColumnKind::Unsigned64 | ColumnKind::Signed64 => Values::Wide(Vec::new()),
            ColumnKind::Flag => Values::Flag(Vec::new()),
            ColumnKind::Real => Values::Real(Vec::new()),
            ColumnKind::Text => Values::Text(Vec::new()),
        };
        Self { values, levels: schema.is_optional.then(Vec::new) }
    }

    fn is_empty(&self) -> bool {
        match &self.values {
            Values::Narrow(values) => values.is_empty(),
            Values::Wide(values) => values.is_empty(),
            Values::Flag(values) => values.is_empty(),
            Values::Real(values) => values.is_empty(),
            Values::Text(values) => values.is_empty(),
        }
    }

    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = self.levels.as_deref();
        match &mut self.values {
            Values::Narrow(values) => {
                writer.typed::<Int32Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Wide(values) => {
                writer.typed::<Int64Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Flag(values) => {
                writer.typed::<BoolType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Real(values) => {
                writer.typed::<DoubleType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Text(values) => {
                writer.typed::<ByteArrayType>().write_batch(values, levels, None)?;
                values.clear();
            }
        }
        self.levels.iter_mut().for_each(Vec::clear);
        Ok(())
    }
}

impl Row<'_> {
    /// The next column has this small number.
    pub(super) fn narrow(&mut self, value: u32) -> &mut Self {
        self.maybe_narrow(Some(value))
    }

    /// The next column has this small number, or none.
    pub(super) fn maybe_narrow(&mut self, value: Option<u32>) -> &mut Self {
        // Parquet keeps unsigned numbers in the bits of signed ones.
        self.next(value.map(u32::cast_signed), |values| match values {
            Values::Narrow(values) => Some(values),
            _ => None,
        })
    }

    /// The next column has this number.
    pub(super) fn number(&mut self, value: u64) -> &mut Self {
        self.maybe_number(Some(value))
    }

    /// The next column has this number, or none.
    pub(super) fn maybe_number(&mut self, value: Option<u64>) -> &mut Self {
        self.maybe_signed(value.map(u64::cast_signed))
    }

    /// The next column has these nanoseconds.
    pub(super) fn nanoseconds(&mut self, value: u64) -> &mut Self {
        self.maybe_signed(Some(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    /// The next column has this signed number, or none.
    pub(super) fn maybe_signed(&mut self, value: Option<i64>) -> &mut Self {
        self.next(value, |values| match values {
            Values::Wide(values) => Some(values),
            _ => None,
        })
    }

    /// The next column is this flag.
    pub(super) fn flag(&mut self, value: bool) -> &mut Self {
        self.maybe_flag(Some(value))
    }

    /// The next column is this flag, or none.
    pub(super) fn maybe_flag(&mut self, value: Option<bool>) -> &mut Self {
        self.next(value, |values| match values {
            Values::Flag(values) => Some(values),
            _ => None,
        })
    }

    /// The next column has this number with fractions, or none.
    pub(super) fn maybe_real(&mut self, value: Option<f64>) -> &mut Self {
        self.next(value, |values| match values {
            Values::Real(values) => Some(values),
            _ => None,
        })
    }

    /// The next column has this text.
    pub(super) fn text(&mut self, value: &ByteArray) -> &mut Self {
        self.maybe_text(Some(value))
    }

    /// The next column has this text, or none.
    pub(super) fn maybe_text(&mut self, value: Option<&ByteArray>) -> &mut Self {
        self.next(value.cloned(), |values| match values {
            Values::Text(values) => Some(values),
            _ => None,
        })
    }

    fn next<T>(
        &mut self,
        value: Option<T>,
        of_kind: fn(&mut Values) -> Option<&mut Vec<T>>,
    ) -> &mut Self {
        if let Some(column) = self.columns.next() {
            if let Some(levels) = &mut column.levels {
                levels.push(value.is_some().into());
            }
            let values = of_kind(&mut column.values);
            debug_assert!(values.is_some(), "the value is of the column's kind");
            if let (Some(values), Some(value)) = (values, value) {
                values.push(value);
            }
        }
        self
    }
}
