//! Description of a file in a Delta log: length, folder, and statistics of its columns.

use super::{
    WriteError,
    cells::FileColumn,
    folders::{partition_value, percent_encoded},
    location::DatasetLocation,
    read::{columns_of, read_footer},
    write_refused,
};
use ::parquet::file::{metadata::ParquetMetaData, statistics::Statistics};
use ::tables::ColumnKind;
use serde_json::{Map, Value, json};

/// File that a commit adds to a table.
#[derive(Debug)]
pub(super) struct AddedFile {
    /// Path relative to the dataset.
    pub(super) path: String,
    pub(super) byte_count: u64,
    pub(super) columns: Vec<FileColumn>,
    changed_at_ms: i64,
    statistics: Value,
}

/// Maximum length in bytes of a text that is stored as a bound in a log.
const MAX_BOUND_BYTES: usize = 64;

impl AddedFile {
    /// Reads the footer of a file.
    pub(super) fn read(dataset: &DatasetLocation, path: &str) -> Result<Self, WriteError> {
        let (byte_count, changed_at_ms) = dataset.size_and_time(path)?;
        let footer = read_footer(dataset, path, byte_count)?;
        let columns = columns_of(&footer).map_err(|error| write_refused(dataset, path, error))?;
        let statistics = statistics_of(&footer, &columns);
        Ok(Self { path: path.to_owned(), byte_count, columns, changed_at_ms, statistics })
    }

    /// Returns the `add` action for the file.
    pub(super) fn action(&self, table: &str, is_data_change: bool) -> Value {
        json!({"add": {
            "path": encoded_path(table, &self.path),
            "partitionValues": partition_values(&self.path),
            "size": self.byte_count,
            "modificationTime": self.changed_at_ms,
            "dataChange": is_data_change,
            "stats": self.statistics.to_string(),
        }})
    }
}

/// Returns the partition values in the path of a file.
pub(super) fn partition_values(path: &str) -> Value {
    json!({"date": partition_value(path, "date"), "run": partition_value(path, "run")})
}

/// Returns the URL-encoded path of a file relative to its table.
pub(super) fn encoded_path(table: &str, path: &str) -> String {
    let relative = path.strip_prefix(table).and_then(|rest| rest.strip_prefix('/'));
    percent_encoded(relative.unwrap_or(path), |_, letter| {
        letter.is_ascii_alphanumeric() || "-._~/=".contains(letter)
    })
}

/// Returns the number of rows, and the bounds and the number of nulls of each column. Bounds and
/// numbers that the footer does not contain are left out.
fn statistics_of(footer: &ParquetMetaData, columns: &[FileColumn]) -> Value {
    let (mut least, mut greatest, mut nulls) = (Map::new(), Map::new(), Map::new());
    for (place, column) in columns.iter().enumerate() {
        let groups = footer.row_groups().iter().map(|group| group.column(place).statistics());
        let Some(groups) = groups.collect::<Option<Vec<_>>>() else { continue };
        let mut null_counts = groups.iter().map(|group| group.null_count_opt());
        let null_count = null_counts.try_fold(0_u64, |sum, count| sum.checked_add(count?));
        if let Some(null_count) = null_count {
            nulls.insert(column.name.clone(), null_count.into());
        }
        if let Some((min, max)) = bounds_of(&groups, column.kind) {
            least.insert(column.name.clone(), min);
            greatest.insert(column.name.clone(), max);
        }
    }
    json!({
        "numRecords": footer.file_metadata().num_rows(),
        "minValues": least,
        "maxValues": greatest,
        "nullCount": nulls,
    })
}

/// Returns the bounds of a column; `None` if the bounds are not exact in every row group.
fn bounds_of(groups: &[&Statistics], kind: ColumnKind) -> Option<(Value, Value)> {
    let is_exact = groups.iter().all(|group| group.min_is_exact() && group.max_is_exact());
    if !is_exact {
        return None;
    }
    match kind {
        ColumnKind::Unsigned32 => extremes(groups, |group| match group {
            Statistics::Int32(group) => {
                Some((group.min_opt()?.cast_unsigned(), group.max_opt()?.cast_unsigned()))
            }
            _ => None,
        }),
        ColumnKind::Unsigned64 => extremes(groups, |group| match group {
            Statistics::Int64(group) => {
                Some((group.min_opt()?.cast_unsigned(), group.max_opt()?.cast_unsigned()))
            }
            _ => None,
        }),
        ColumnKind::Signed64 => extremes(groups, |group| match group {
            Statistics::Int64(group) => Some((*group.min_opt()?, *group.max_opt()?)),
            _ => None,
        }),
        ColumnKind::Text => extremes(groups, |group| {
            Some((text(group.min_bytes_opt()?)?, text(group.max_bytes_opt()?)?))
        }),
        // Bounds of flags would never exclude a file. Bounds of fractions would need a special case
        // for NaN.
        ColumnKind::Flag | ColumnKind::Real => None,
    }
}

/// Returns the overall minimum and maximum; `None` if any row group has no bounds.
fn extremes<T: Ord + Into<Value>>(
    groups: &[&Statistics],
    bounds: impl Fn(&Statistics) -> Option<(T, T)>,
) -> Option<(Value, Value)> {
    let bounds = groups.iter().map(|group| bounds(group)).collect::<Option<Vec<_>>>()?;
    let (least, greatest): (Vec<T>, Vec<T>) = bounds.into_iter().unzip();
    Some((least.into_iter().min()?.into(), greatest.into_iter().max()?.into()))
}

/// Returns a bound of a text column; `None` if it is too long or not UTF-8.
fn text(bytes: &[u8]) -> Option<String> {
    let bytes = bytes.get(..bytes.len().min(MAX_BOUND_BYTES + 1))?;
    (bytes.len() <= MAX_BOUND_BYTES).then(|| String::from_utf8(bytes.to_vec()).ok()).flatten()
}
