//! One file of a table: its schema, encoding and row groups.

use super::cells::{Cells, FileColumn};
use parquet::{
    basic::{Compression, Encoding, ZstdLevel},
    errors::ParquetError,
    file::{
        metadata::{KeyValue, SortingColumn},
        properties::{EnabledStatistics, WriterProperties},
        writer::SerializedFileWriter,
    },
    schema::{parser::parse_message_type, types::ColumnPath},
};
use std::{io::Write, sync::Arc};
use tables::{ColumnKind, ColumnSchema, Table};

/// Maximum number of rows in a row group. DuckDB uses the same size for its own tables. Engines read
/// row groups in parallel.
pub(super) const ROWS_PER_GROUP: usize = 122_880;

/// Memory limit of a row group's values, in bytes. A row group that reaches the limit ends.
///
/// The limit bounds the memory of an export. A row of the table `ops`, which has the most columns,
/// takes half a kilobyte; a row of `zones` takes an eighth of a kilobyte.
const GROUP_BYTES: usize = 8 << 20;

/// Number of rows after which the memory of the values is computed again.
const ROWS_PER_CHECK: usize = 1 << 10;

/// Version of the table schema, stored in each file. A new column does not change the version; a
/// changed meaning of a column increases it.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// File that is being written, one row group after the other.
pub(super) struct RowFile<W: Write + Send> {
    file: SerializedFileWriter<W>,
    pub(super) cells: Vec<Cells>,
    row_count: u64,
}

/// Returns the columns of a table's files.
pub(super) fn file_columns<T: Table>() -> Vec<FileColumn> {
    T::COLUMNS.iter().map(|column| FileColumn::from(&column.schema)).collect()
}

impl From<&ColumnSchema> for FileColumn {
    fn from(schema: &ColumnSchema) -> Self {
        Self { name: schema.name.to_owned(), kind: schema.kind, is_optional: schema.is_optional() }
    }
}

impl<W: Write + Send> RowFile<W> {
    /// Starts a file. Rows must be added in the order of the columns `sorted_by`. `key_values`
    /// become the metadata of the file.
    pub(super) fn new(
        out: W,
        table: &str,
        columns: &[FileColumn],
        sorted_by: &[&str],
        key_values: Vec<KeyValue>,
    ) -> Result<Self, ParquetError> {
        let schema = Arc::new(parse_message_type(&parquet_message(table, columns))?);
        let properties = Arc::new(properties(columns, sorted_by, key_values));
        let file = SerializedFileWriter::new(out, schema, properties)?;
        let cells = columns.iter().map(Cells::new).collect();
        Ok(Self { file, cells, row_count: 0 })
    }

    /// Counts rows whose values have been added to all columns. Writes a row group if there are
    /// enough rows, or if they take enough memory.
    pub(super) fn added(&mut self, row_count: usize) -> Result<(), ParquetError> {
        self.row_count += row_count as u64;
        let pending = self.pending();
        let is_checked = pending % ROWS_PER_CHECK < row_count;
        if pending < ROWS_PER_GROUP && !(is_checked && self.memory_bytes() >= GROUP_BYTES) {
            return Ok(());
        }
        self.end_group()
    }

    fn memory_bytes(&self) -> usize {
        self.cells.iter().map(Cells::memory_bytes).fold(0, usize::saturating_add)
    }

    fn pending(&self) -> usize {
        self.cells.first().map_or(0, Cells::len)
    }

    /// Returns the number of bytes of the complete row groups.
    pub(super) fn byte_count(&self) -> u64 {
        self.file.bytes_written() as u64
    }

    /// Writes the remaining rows and the footer. Returns the output and the number of rows.
    pub(super) fn finish(mut self) -> Result<(W, u64), ParquetError> {
        self.end_group()?;
        Ok((self.file.into_inner()?, self.row_count))
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        if self.pending() == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for cells in &mut self.cells {
            if let Some(mut writer) = group.next_column()? {
                cells.write(&mut writer)?;
                writer.close()?;
            }
        }
        group.close()?;
        Ok(())
    }
}

/// Returns the schema in Parquet's schema language.
fn parquet_message(name: &str, columns: &[FileColumn]) -> String {
    let columns = columns.iter().map(|column| {
        let repetition = if column.is_optional { "OPTIONAL" } else { "REQUIRED" };
        let (physical, logical) = match column.kind {
            ColumnKind::Unsigned32 => ("INT32", " (INTEGER(32,false))"),
            ColumnKind::Unsigned64 => ("INT64", " (INTEGER(64,false))"),
            ColumnKind::Signed64 => ("INT64", ""),
            ColumnKind::Flag => ("BOOLEAN", ""),
            ColumnKind::Real => ("DOUBLE", ""),
            ColumnKind::Text => ("BYTE_ARRAY", " (STRING)"),
        };
        format!("{repetition} {physical} {}{logical};", column.name)
    });
    format!("message {name} {{ {} }}", columns.collect::<Vec<_>>().join(" "))
}

/// Returns the writer's properties. Statistics are stored per page, so engines can skip pages.
fn properties(
    columns: &[FileColumn],
    sorted_by: &[&str],
    mut key_values: Vec<KeyValue>,
) -> WriterProperties {
    key_values.push(KeyValue::new("kprof.schema".to_owned(), SCHEMA_VERSION.to_string()));
    let place = |name: &&str| columns.iter().position(|column| column.name == **name);
    let sorting = sorted_by.iter().map_while(place).filter_map(|place| {
        Some(SortingColumn {
            column_idx: i32::try_from(place).ok()?,
            descending: false,
            nulls_first: false,
        })
    });
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("kprof ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_key_value_metadata(Some(key_values))
        .set_sorting_columns(Some(sorting.collect()))
        .set_max_row_group_row_count(None);
    for column in columns {
        // Most 64-bit columns contain times, which are mostly unique and close to the previous
        // time. A dictionary would not make such a column smaller.
        if matches!(column.kind, ColumnKind::Unsigned64 | ColumnKind::Signed64) {
            let path = ColumnPath::from(column.name.as_str());
            builder = builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    builder.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use tables::Value;

    /// Returns the number of rows in each row group of a file with one column.
    fn group_rows(
        kind: ColumnKind,
        row_count: u64,
        value: impl Fn(u64) -> Value<'static>,
    ) -> Vec<i64> {
        let column = FileColumn { name: "column".to_owned(), kind, is_optional: false };
        let out = tempfile::tempfile().unwrap();
        let mut file = RowFile::new(out, "table", &[column], &[], Vec::new()).unwrap();
        for row in 0..row_count {
            file.cells[0].push(value(row)).unwrap();
            file.added(1).unwrap();
        }
        let (out, written_count) = file.finish().unwrap();
        assert_eq!(written_count, row_count);
        let file = SerializedFileReader::new(out).unwrap();
        file.metadata().row_groups().iter().map(|group| group.num_rows()).collect()
    }

    #[test]
    fn a_row_group_ends_with_many_rows_or_with_much_memory() {
        assert_eq!(
            group_rows(ColumnKind::Unsigned64, 200_000, Value::Unsigned64),
            [122_880, 77_120]
        );
        // Each text takes 1,000 bytes, 48 bytes of overhead and 4 bytes for its index: 7,974 texts
        // take 8 MiB.
        let text = |row| Value::Text(format!("{row:01000}").into());
        assert_eq!(group_rows(ColumnKind::Text, 20_000, text), [8_192, 8_192, 3_616]);
        // Equal texts are stored only once.
        let text = |_| Value::Text("equal".into());
        assert_eq!(group_rows(ColumnKind::Text, 122_881, text), [122_880, 1]);
    }
}
