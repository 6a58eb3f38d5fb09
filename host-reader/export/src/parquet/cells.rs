//! Values of one column of a file: written as part of a row group, or read from a file.

use parquet::{
    column::reader::{ColumnReader, ColumnReaderImpl},
    data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type},
    errors::ParquetError,
    file::{properties::DEFAULT_WRITE_BATCH_SIZE, writer::SerializedColumnWriter},
};
use tables::{ColumnKind, Value};

/// Column of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileColumn {
    pub(super) name: String,
    pub(super) kind: ColumnKind,
    pub(super) is_optional: bool,
}

/// Values of one column in the current row group.
#[derive(Debug)]
pub(super) struct Cells {
    values: Values,
    /// 1 for each row with a value, 0 for each row without a value; `None` for columns without
    /// nulls.
    levels: Option<Vec<i16>>,
}

#[derive(Debug)]
enum Values {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
    Flag(Vec<bool>),
    Real(Vec<f64>),
    Text(Texts),
}

/// Texts of rows. A text that equals one of the latest texts is not stored again, because most
/// columns have few distinct texts.
#[derive(Debug, Default)]
struct Texts {
    /// Stored texts. A text added by `push` differs from each of the `COMPARED_TEXTS` texts before
    /// it.
    encoded: Vec<ByteArray>,
    /// For each row, the index of its text in `encoded`.
    rows: Vec<u32>,
    /// Total length of the texts in `encoded`.
    byte_count: usize,
}

/// Number of stored texts with which a new text is compared. These are the last texts in
/// [`Texts::encoded`].
const COMPARED_TEXTS: usize = 8;

/// Estimated memory of an encoded text in addition to its bytes: the handle and the allocator's
/// overhead.
const TEXT_OVERHEAD_BYTES: usize = size_of::<ByteArray>() + 16;

impl Texts {
    fn push(&mut self, text: &str) {
        let first = self.encoded.len().saturating_sub(COMPARED_TEXTS);
        let latest = self.encoded.iter().enumerate().skip(first);
        let mut equal = latest.filter(|(_, known)| known.data() == text.as_bytes());
        let index = equal.next().map(|(index, _)| index);
        let index = index.unwrap_or_else(|| {
            self.add(ByteArray::from(text));
            self.encoded.len().saturating_sub(1)
        });
        self.rows.push(u32::try_from(index).unwrap_or(u32::MAX));
    }

    /// Adds texts that were read from a file.
    fn extend(&mut self, texts: Vec<ByteArray>) {
        let first = u32::try_from(self.encoded.len()).unwrap_or(u32::MAX);
        self.rows.extend((first..).take(texts.len()));
        texts.into_iter().for_each(|text| self.add(text));
    }

    fn add(&mut self, text: ByteArray) {
        self.byte_count = self.byte_count.saturating_add(text.len());
        self.encoded.push(text);
    }

    fn memory_bytes(&self) -> usize {
        let overhead = self.encoded.len().saturating_mul(TEXT_OVERHEAD_BYTES);
        let rows = self.rows.len().saturating_mul(size_of::<u32>());
        self.byte_count.saturating_add(overhead).saturating_add(rows)
    }

    fn iter(&self) -> impl Iterator<Item = &ByteArray> {
        self.rows.iter().filter_map(|&index| self.encoded.get(index as usize))
    }

    fn clear(&mut self) {
        let Self { encoded, rows, byte_count } = self;
        encoded.clear();
        rows.clear();
        *byte_count = 0;
    }

    /// Writes the texts in batches. A batch has as many rows as the Parquet writer processes at
    /// once.
    fn write(
        &self,
        levels: Option<&[i16]>,
        writer: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        let writer = writer.typed::<ByteArrayType>();
        let mut texts = self.iter().cloned();
        let Some(levels) = levels else {
            loop {
                let batch: Vec<_> = texts.by_ref().take(DEFAULT_WRITE_BATCH_SIZE).collect();
                if batch.is_empty() {
                    return Ok(());
                }
                writer.write_batch(&batch, None, None)?;
            }
        };
        for levels in levels.chunks(DEFAULT_WRITE_BATCH_SIZE) {
            let count = levels.iter().filter(|&&level| level != 0).count();
            let batch: Vec<_> = texts.by_ref().take(count).collect();
            writer.write_batch(&batch, Some(levels), None)?;
        }
        Ok(())
    }
}

impl Cells {
    pub(super) fn new(column: &FileColumn) -> Self {
        let values = match column.kind {
            ColumnKind::Unsigned32 => Values::Narrow(Vec::new()),
            ColumnKind::Unsigned64 | ColumnKind::Signed64 => Values::Wide(Vec::new()),
            ColumnKind::Flag => Values::Flag(Vec::new()),
            ColumnKind::Real => Values::Real(Vec::new()),
            ColumnKind::Text => Values::Text(Texts::default()),
        };
        Self { values, levels: column.is_optional.then(Vec::new) }
    }

    /// Adds the value of a row.
    pub(super) fn push(&mut self, value: Value<'_>) -> Result<(), ParquetError> {
        if let Some(levels) = &mut self.levels {
            levels.push((value != Value::Null).into());
        }
        // Parquet stores an unsigned number as a signed number with the same bits.
        match (&mut self.values, value) {
            (_, Value::Null) if self.levels.is_some() => {}
            (Values::Narrow(values), Value::Unsigned32(value)) => values.push(value.cast_signed()),
            (Values::Wide(values), Value::Unsigned64(value)) => values.push(value.cast_signed()),
            (Values::Wide(values), Value::Signed64(value)) => values.push(value),
            (Values::Flag(values), Value::Flag(value)) => values.push(value),
            (Values::Real(values), Value::Real(value)) => values.push(value),
            (Values::Text(values), Value::Text(text)) => {
                values.push(&text);
            }
            (_, value) => {
                let text = format!("a value of another type than its column: {value:?}");
                return Err(ParquetError::General(text));
            }
        }
        Ok(())
    }

    /// Adds rows without a value. The column must allow nulls.
    pub(super) fn push_nulls(&mut self, count: usize) {
        if let Some(levels) = &mut self.levels {
            levels.resize(levels.len().saturating_add(count), 0);
        }
    }

    /// Appends the next `count` rows of a column chunk, which must have the type of this column.
    pub(super) fn read(
        &mut self,
        reader: ColumnReader,
        is_optional_there: bool,
        count: usize,
    ) -> Result<(), ParquetError> {
        let Self { values, levels } = self;
        let read = match (values, reader) {
            (Values::Narrow(values), ColumnReader::Int32ColumnReader(mut reader)) => {
                read_all::<Int32Type>(&mut reader, is_optional_there, levels, values, count)
            }
            (Values::Wide(values), ColumnReader::Int64ColumnReader(mut reader)) => {
                read_all::<Int64Type>(&mut reader, is_optional_there, levels, values, count)
            }
            (Values::Flag(values), ColumnReader::BoolColumnReader(mut reader)) => {
                read_all::<BoolType>(&mut reader, is_optional_there, levels, values, count)
            }
            (Values::Real(values), ColumnReader::DoubleColumnReader(mut reader)) => {
                read_all::<DoubleType>(&mut reader, is_optional_there, levels, values, count)
            }
            (Values::Text(values), ColumnReader::ByteArrayColumnReader(mut reader)) => {
                let mut texts = Vec::new();
                let read = read_all::<ByteArrayType>(
                    &mut reader,
                    is_optional_there,
                    levels,
                    &mut texts,
                    count,
                );
                values.extend(texts);
                read
            }
            _ => Err(ParquetError::General("a column of another type than its schema".into())),
        }?;
        if read == count {
            return Ok(());
        }
        Err(ParquetError::General(format!("expected {count} rows in a column, found {read}")))
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        if let Some(levels) = &self.levels {
            return levels.len();
        }
        match &self.values {
            Values::Narrow(values) => values.len(),
            Values::Wide(values) => values.len(),
            Values::Flag(values) => values.len(),
            Values::Real(values) => values.len(),
            Values::Text(texts) => texts.rows.len(),
        }
    }

    /// Returns the memory that the values occupy.
    pub(super) fn memory_bytes(&self) -> usize {
        let levels = self.levels.as_ref().map_or(0, |levels| size_of_val(levels.as_slice()));
        let values = match &self.values {
            Values::Narrow(values) => size_of_val(values.as_slice()),
            Values::Wide(values) => size_of_val(values.as_slice()),
            Values::Flag(values) => size_of_val(values.as_slice()),
            Values::Real(values) => size_of_val(values.as_slice()),
            Values::Text(texts) => texts.memory_bytes(),
        };
        levels.saturating_add(values)
    }

    /// Writes the values as a column chunk and clears them.
    pub(super) fn write(
        &mut self,
        writer: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
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
            Values::Text(texts) => {
                texts.write(levels, writer)?;
                texts.clear();
            }
        }
        self.levels.iter_mut().for_each(Vec::clear);
        Ok(())
    }

    /// Returns the values in order, for reading row by row.
    pub(super) fn into_values(self, kind: ColumnKind) -> Vec<Value<'static>> {
        let mut values: Box<dyn Iterator<Item = Value<'static>>> = match self.values {
            Values::Narrow(values) => {
                Box::new(values.into_iter().map(|value| Value::Unsigned32(value.cast_unsigned())))
            }
            Values::Wide(values) if kind == ColumnKind::Unsigned64 => {
                Box::new(values.into_iter().map(|value| Value::Unsigned64(value.cast_unsigned())))
            }
            Values::Wide(values) => Box::new(values.into_iter().map(Value::Signed64)),
            Values::Flag(values) => Box::new(values.into_iter().map(Value::Flag)),
            Values::Real(values) => Box::new(values.into_iter().map(Value::Real)),
            Values::Text(Texts { encoded, rows, .. }) => {
                Box::new(rows.into_iter().filter_map(move |index| {
                    let text = encoded.get(index as usize)?;
                    Some(Value::Text(String::from_utf8_lossy(text.data()).into_owned().into()))
                }))
            }
        };
        let Some(levels) = self.levels else { return values.collect() };
        let cells = levels.into_iter().map(|level| if level == 0 { None } else { values.next() });
        cells.map(|value| value.unwrap_or(Value::Null)).collect()
    }
}

/// Reads rows of a chunk until `count` rows have been read or the chunk ends. Returns the number of
/// rows read.
fn read_all<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    is_optional_there: bool,
    levels: &mut Option<Vec<i16>>,
    values: &mut Vec<T::T>,
    count: usize,
) -> Result<usize, ParquetError> {
    let mut read = 0;
    while read < count {
        let mut found = Vec::new();
        let wanted = if is_optional_there { Some(&mut found) } else { None };
        let (rows, ..) = reader.read_records(count - read, wanted, None, values)?;
        if rows == 0 {
            break;
        }
        if let Some(levels) = levels {
            if is_optional_there {
                levels.append(&mut found);
            } else {
                levels.resize(levels.len().saturating_add(rows), 1);
            }
        } else if found.contains(&0) {
            return Err(ParquetError::General("a null in a column that has none".into()));
        }
        read += rows;
    }
    Ok(read)
}
