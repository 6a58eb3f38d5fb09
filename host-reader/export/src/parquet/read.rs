//! Reading of a dataset's files: their schema, and the values of selected columns.

use super::{
    cells::{Cells, FileColumn},
    location::DatasetLocation,
};
use parquet::{
    basic::{LogicalType, Repetition, Type as PhysicalType},
    errors::ParquetError,
    file::{
        metadata::{FooterTail, ParquetMetaData, ParquetMetaDataReader},
        reader::{FileReader, RowGroupReader, SerializedFileReader},
    },
    schema::types::{ColumnDescriptor, SchemaDescriptor},
};
use std::fs::File;
use tables::{ColumnKind, Recordings, Table, Value};

/// Open file of a dataset.
pub(super) struct TableFile {
    reader: SerializedFileReader<File>,
    pub(super) columns: Vec<FileColumn>,
}

impl TableFile {
    /// Opens a file and reads its schema.
    ///
    /// # Errors
    /// If the file is not a Parquet file, or has a column whose type occurs in no table of a
    /// dataset.
    pub(super) fn open(dataset: &DatasetLocation, path: &str) -> Result<Self, ParquetError> {
        Self::new(dataset.open(path)?)
    }

    pub(super) fn new(file: File) -> Result<Self, ParquetError> {
        let reader = SerializedFileReader::new(file)?;
        let columns = columns_of(reader.metadata().file_metadata().schema_descr())?;
        Ok(Self { reader, columns })
    }

    pub(super) fn group_count(&self) -> usize {
        self.reader.num_row_groups()
    }

    /// Returns the number of rows of a row group.
    pub(super) fn row_count(&self, group: usize) -> Result<usize, ParquetError> {
        let count = self.group(group)?.metadata().num_rows();
        usize::try_from(count)
            .map_err(|_| ParquetError::General(format!("a row group of {count} rows")))
    }

    /// Appends one column's values in a row group. If the file lacks the column, nulls are
    /// appended.
    pub(super) fn read(
        &self,
        group: usize,
        column: &FileColumn,
        cells: &mut Cells,
    ) -> Result<(), ParquetError> {
        let row_count = self.row_count(group)?;
        let Some(place) = self.columns.iter().position(|here| here.name == column.name) else {
            cells.push_nulls(row_count);
            return Ok(());
        };
        let group = self.group(group)?;
        let is_optional = self.columns.get(place).is_some_and(|here| here.is_optional);
        cells.read(group.get_column_reader(place)?, is_optional, row_count)
    }

    fn group(&self, group: usize) -> Result<Box<dyn RowGroupReader + '_>, ParquetError> {
        self.reader.get_row_group(group)
    }
}

/// Maximum length in bytes of a footer that is read.
const MAX_FOOTER_BYTES: u64 = 256 << 20;

/// Reads the footer of a file, without its rows.
pub(super) fn read_footer(
    dataset: &DatasetLocation,
    path: &str,
    byte_count: u64,
) -> Result<ParquetMetaData, ParquetError> {
    const TAIL_BYTES: u64 = 8;
    let too_short = || ParquetError::General("expected a footer, found too few bytes".into());
    let tail_start = byte_count.checked_sub(TAIL_BYTES).ok_or_else(too_short)?;
    let tail = FooterTail::try_from(&*dataset.read(path, tail_start..byte_count)?)?;
    let footer_bytes = tail.metadata_length() as u64;
    let start = tail_start.checked_sub(footer_bytes).ok_or_else(too_short)?;
    if footer_bytes > MAX_FOOTER_BYTES {
        let text = format!("expected a footer of at most {MAX_FOOTER_BYTES} bytes");
        return Err(ParquetError::General(text));
    }
    ParquetMetaDataReader::decode_metadata(&dataset.read(path, start..tail_start)?)
}

/// Returns the value of a key in a file's metadata.
pub(super) fn fact<'f>(footer: &'f ParquetMetaData, key: &str) -> Option<&'f str> {
    let facts = footer.file_metadata().key_value_metadata()?;
    facts.iter().find(|fact| fact.key == key)?.value.as_deref()
}

/// Reads some columns of each row of a file, row group by row group. Columns that the file lacks are
/// null.
pub(super) fn for_each_row(
    file: &TableFile,
    columns: &[FileColumn],
    mut visit: impl FnMut(&[Value<'static>]),
) -> Result<(), ParquetError> {
    for group in 0..file.group_count() {
        let read = |column: &FileColumn| {
            let mut cells = Cells::new(&FileColumn { is_optional: true, ..column.clone() });
            file.read(group, column, &mut cells)?;
            Ok(cells.into_values(column.kind).into_iter())
        };
        let mut values: Vec<_> = columns.iter().map(read).collect::<Result<_, ParquetError>>()?;
        while let Some(row) = values.iter_mut().map(Iterator::next).collect::<Option<Vec<_>>>() {
            visit(&row);
        }
    }
    Ok(())
}

/// Returns the host and the name of each recording in a file of the table `recordings`.
pub(super) fn recording_keys(
    dataset: &DatasetLocation,
    path: &str,
) -> Result<Vec<(String, String)>, ParquetError> {
    let mut keys = Vec::new();
    let file = TableFile::open(dataset, path)?;
    for_each_row(&file, &columns_named::<Recordings>(&KEY_COLUMNS), |row| keys.push(key_of(row)))?;
    Ok(keys)
}

/// Returns the columns of a table with these names.
pub(super) fn columns_named<T: Table>(names: &[&str]) -> Vec<FileColumn> {
    let columns = names.iter().filter_map(|name| T::column(name));
    columns.map(|column| FileColumn::from(&column.schema)).collect()
}

/// Columns that identify a recording. Every table has them.
pub(super) const KEY_COLUMNS: [&str; 2] = ["host", "recording"];

/// Returns the host and the recording of a row whose first columns are [`KEY_COLUMNS`].
pub(super) fn key_of(row: &[Value<'static>]) -> (String, String) {
    (text(row, 0).unwrap_or_default(), text(row, 1).unwrap_or_default())
}

/// Returns the text in a column of a row, if there is one.
pub(super) fn text(row: &[Value<'static>], at: usize) -> Option<String> {
    match row.get(at)? {
        Value::Text(text) => Some(text.to_string()),
        _ => None,
    }
}

pub(super) fn columns_of(schema: &SchemaDescriptor) -> Result<Vec<FileColumn>, ParquetError> {
    schema
        .columns()
        .iter()
        .map(|column| {
            let kind = kind_of(column).ok_or_else(|| {
                let name = column.path().string();
                ParquetError::General(format!("column `{name}` is of no type that tables have"))
            })?;
            let is_optional =
                column.self_type().get_basic_info().repetition() != Repetition::REQUIRED;
            Ok(FileColumn { name: column.name().to_owned(), kind, is_optional })
        })
        .collect()
}

/// Returns the kind of a column; `None` for types that occur in no table.
fn kind_of(column: &ColumnDescriptor) -> Option<ColumnKind> {
    if column.max_rep_level() != 0 || column.max_def_level() > 1 || column.path().parts().len() != 1
    {
        return None;
    }
    let integer = column.logical_type_ref();
    let is_signed = |bits: i8| match integer {
        None => Some(true),
        Some(LogicalType::Integer(integer)) if integer.bit_width == bits => Some(integer.is_signed),
        Some(_) => None,
    };
    match column.physical_type() {
        PhysicalType::INT32 => {
            is_signed(32).filter(|signed| !signed).map(|_| ColumnKind::Unsigned32)
        }
        PhysicalType::INT64 => is_signed(64).map(|signed| match signed {
            true => ColumnKind::Signed64,
            false => ColumnKind::Unsigned64,
        }),
        PhysicalType::BOOLEAN => Some(ColumnKind::Flag),
        PhysicalType::DOUBLE => Some(ColumnKind::Real),
        PhysicalType::BYTE_ARRAY if matches!(integer, Some(LogicalType::String)) => {
            Some(ColumnKind::Text)
        }
        _ => None,
    }
}
