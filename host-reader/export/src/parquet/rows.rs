//! Rows of a table, and how they become row groups of a file.

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
use tables::{Column, ColumnKind, ColumnSchema, Table, Value};

/// Rows of a row group, as DuckDB cuts its own tables: engines read groups in parallel, and
/// what is held in memory is bounded by one of them.
const ROWS_PER_GROUP: usize = 122_880;

/// A table that is being written.
pub(super) struct TableWriter<T: Table, W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<(&'static Column<T>, Cells)>,
    row_count: u64,
}

/// Values of one column in the row group under way.
struct Cells {
    values: Values,
    /// 1 for each row with a value, 0 for each without; `None` of columns without nulls.
    levels: Option<Vec<i16>>,
    /// Latest texts, which rows after each other have in common.
    latest: Vec<ByteArray>,
}

enum Values {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
    Flag(Vec<bool>),
    Real(Vec<f64>),
    Text(Vec<ByteArray>),
}

/// Columns of a file: those of the table that are no folders.
pub(super) fn file_columns<T: Table>() -> impl Iterator<Item = &'static Column<T>> {
    T::COLUMNS.iter().filter(|column| !T::PARTITIONS.contains(&column.schema.name))
}

impl<T: Table, W: Write + Send> TableWriter<T, W> {
    /// Begins a file of a table; `facts` are kept beside the rows.
    pub(super) fn new(out: W, facts: Vec<KeyValue>) -> Result<Self, ParquetError> {
        let columns = || file_columns::<T>().map(|column| &column.schema);
        let schema = Arc::new(parse_message_type(&parquet_message(T::NAME, columns()))?);
        let properties = Arc::new(properties(columns(), facts));
        let file = SerializedFileWriter::new(out, schema, properties)?;
        let columns = file_columns().map(|column| (column, Cells::new(&column.schema))).collect();
        Ok(Self { file, columns, row_count: 0 })
    }

    /// Adds a row.
    pub(super) fn add(&mut self, row: &T::Row<'_>) -> Result<(), ParquetError> {
        self.columns.iter_mut().try_for_each(|(column, cells)| cells.push(column.value(row)))?;
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
        if self.columns.first().is_none_or(|(_, cells)| cells.is_empty()) {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for (_, cells) in &mut self.columns {
            if let Some(mut writer) = group.next_column()? {
                cells.write(&mut writer)?;
                writer.close()?;
            }
        }
        group.close()?;
        Ok(())
    }
}

/// The schema in Parquet's own words.
fn parquet_message<'a>(name: &str, columns: impl Iterator<Item = &'a ColumnSchema>) -> String {
    let column = |column: &ColumnSchema| {
        let repetition = if column.is_optional() { "OPTIONAL" } else { "REQUIRED" };
        let (physical, logical) = match column.kind {
            ColumnKind::Unsigned32 => ("INT32", " (INTEGER(32,false))"),
            ColumnKind::Unsigned64 => ("INT64", " (INTEGER(64,false))"),
            ColumnKind::Signed64 => ("INT64", ""),
            ColumnKind::Flag => ("BOOLEAN", ""),
            ColumnKind::Real => ("DOUBLE", ""),
            ColumnKind::Text => ("BYTE_ARRAY", " (STRING)"),
        };
        format!("{repetition} {physical} {}{logical};", column.name)
    };
    format!("message {name} {{ {} }}", columns.map(column).collect::<Vec<_>>().join(" "))
}

fn properties<'a>(
    columns: impl Iterator<Item = &'a ColumnSchema>,
    facts: Vec<KeyValue>,
) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("kprof ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(facts))
        .set_max_row_group_row_count(None);
    for column in columns {
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

impl Cells {
    fn new(schema: &ColumnSchema) -> Self {
        let values = match schema.kind {
            ColumnKind::Unsigned32 => Values::Narrow(Vec::new()),
            ColumnKind::Unsigned64 | ColumnKind::Signed64 => Values::Wide(Vec::new()),
            ColumnKind::Flag => Values::Flag(Vec::new()),
            ColumnKind::Real => Values::Real(Vec::new()),
            ColumnKind::Text => Values::Text(Vec::new()),
        };
        Self { values, levels: schema.is_optional().then(Vec::new), latest: Vec::new() }
    }

    fn push(&mut self, value: Value<'_>) -> Result<(), ParquetError> {
        if let Some(levels) = &mut self.levels {
            levels.push((value != Value::Null).into());
        }
        // Parquet keeps unsigned numbers in the bits of signed ones.
        match (&mut self.values, value) {
            (_, Value::Null) if self.levels.is_some() => {}
            (Values::Narrow(values), Value::Unsigned32(value)) => values.push(value.cast_signed()),
            (Values::Wide(values), Value::Unsigned64(value)) => values.push(value.cast_signed()),
            (Values::Wide(values), Value::Signed64(value)) => values.push(value),
            (Values::Flag(values), Value::Flag(value)) => values.push(value),
            (Values::Real(values), Value::Real(value)) => values.push(value),
            (Values::Text(values), Value::Text(text)) => {
                values.push(shared_text(&mut self.latest, &text));
            }
            (_, value) => {
                let text = format!("a value of another type than its column: {value:?}");
                return Err(ParquetError::General(text));
            }
        }
        Ok(())
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

/// Encodes a text, or shares the encoding of one of the latest.
fn shared_text(latest: &mut Vec<ByteArray>, text: &str) -> ByteArray {
    const KEPT: usize = 8;
    if let Some(known) = latest.iter().find(|known| known.data() == text.as_bytes()) {
        return known.clone();
    }
    let encoded = ByteArray::from(text);
    if latest.len() == KEPT {
        latest.remove(0);
    }
    latest.push(encoded.clone());
    encoded
}
