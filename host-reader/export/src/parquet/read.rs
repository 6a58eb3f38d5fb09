//! Reading of a dataset's files: their schema, and the values of selected columns.

use super::{
    WriteError,
    cells::{Cells, FileColumn},
    location::DatasetLocation,
    write_refused,
};
use parquet::{
    basic::{LogicalType, Repetition, Type as PhysicalType},
    errors::ParquetError,
    file::{
        metadata::{FooterTail, ParquetMetaData, ParquetMetaDataReader},
        reader::{FileReader, RowGroupReader, SerializedFileReader},
    },
    schema::types::ColumnDescriptor,
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
    pub(super) fn open(dataset: &DatasetLocation, path: &str) -> Result<Self, WriteError> {
        let file = dataset.open(path)?;
        let opened = SerializedFileReader::new(file).and_then(|reader| {
            let columns = columns_of(reader.metadata())?;
            Ok(Self { reader, columns })
        });
        opened.map_err(|error| write_refused(dataset, path, error))
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

    /// Reads the values of a column from one row group, and appends them to `cells`. If the file
    /// lacks the column, nulls are appended.
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
) -> Result<ParquetMetaData, WriteError> {
    const TAIL_BYTES: u64 = 8;
    let refuse = |error| write_refused(dataset, path, error);
    let refuse_text = |text: String| refuse(ParquetError::General(text));
    let too_short = || refuse_text("expected a footer, found too few bytes".into());
    let tail_start = byte_count.checked_sub(TAIL_BYTES).ok_or_else(too_short)?;
    let tail = dataset.read(path, tail_start..byte_count)?;
    let tail = FooterTail::try_from(&*tail).map_err(refuse)?;
    let footer_bytes = tail.metadata_length() as u64;
    let start = tail_start.checked_sub(footer_bytes).ok_or_else(too_short)?;
    if footer_bytes > MAX_FOOTER_BYTES {
        let text = format!("expected a footer of at most {MAX_FOOTER_BYTES} bytes");
        return Err(refuse_text(text));
    }
    let footer = dataset.read(path, start..tail_start)?;
    ParquetMetaDataReader::decode_metadata(&footer).map_err(refuse)
}

/// Returns the value of a key in a file's metadata.
pub(super) fn key_value<'f>(footer: &'f ParquetMetaData, key: &str) -> Option<&'f str> {
    let pairs = footer.file_metadata().key_value_metadata()?;
    pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
}

/// Reads some columns of each row of a file, row group by row group. Columns that the file lacks are
/// null.
pub(super) fn for_each_row(
    dataset: &DatasetLocation,
    path: &str,
    columns: &[FileColumn],
    mut visit: impl FnMut(&[Value<'static>]),
) -> Result<(), WriteError> {
    let file = TableFile::open(dataset, path)?;
    for group in 0..file.group_count() {
        let values = columns.iter().map(|column| {
            let mut cells = Cells::new(&FileColumn { is_optional: true, ..column.clone() });
            file.read(group, column, &mut cells)?;
            Ok(cells.into_values(column.kind).into_iter())
        });
        let values: Result<Vec<_>, ParquetError> = values.collect();
        let mut values = values.map_err(|error| write_refused(dataset, path, error))?;
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
) -> Result<Vec<(String, String)>, WriteError> {
    let mut keys = Vec::new();
    let columns = columns_named::<Recordings>(&KEY_COLUMNS);
    for_each_row(dataset, path, &columns, |row| keys.push(key_of(row)))?;
    Ok(keys)
}

/// Returns the columns of a table with these names.
pub(super) fn columns_named<T: Table>(names: &[&str]) -> Vec<FileColumn> {
    let columns = names.iter().filter_map(|name| T::column(name));
    columns.map(|column| FileColumn::from(&column.schema)).collect()
}

/// Columns that identify a recording. Every table has these columns.
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

/// Returns the columns of a file.
pub(super) fn columns_of(footer: &ParquetMetaData) -> Result<Vec<FileColumn>, ParquetError> {
    let schema = footer.file_metadata().schema_descr();
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
