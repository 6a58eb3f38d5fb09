//! Rows under way, and how they become row groups of a file.

use super::schema::{ColumnKind, ColumnSchema, TableSchema};
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
use std::{io::Write, sync::Arc};

/// Rows of a row group, as DuckDB cuts its own tables: engines read groups in parallel, and
/// what is held in memory is bounded by one of them.
const ROWS_PER_GROUP: usize = 122_880;

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

    /// Adds a row.
    pub(super) fn row(&mut self, fill: impl FnOnce(&mut Row<'_>)) -> Result<(), ParquetError> {
        let mut row = Row { columns: self.columns.iter_mut() };
        fill(&mut row);
        debug_assert_eq!(row.columns.len(), 0, "every column of a row is filled");
        self.row_count += 1;
        if self.row_count.is_multiple_of(ROWS_PER_GROUP as u64) { self.end_group() } else { Ok(()) }
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
        self.next(Some(value), |values| match values {
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
