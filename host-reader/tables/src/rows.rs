//! Rows of a table as JSON, either as an object for each row or as an array for each column.

use crate::{Column, Table};
use serde::{Serialize, Serializer, ser::SerializeMap};

/// Rows of a table, serialized as JSON objects.
pub struct Rows<'a, T: Table>(pub Vec<T::Row<'a>>);

/// Rows of a table, serialized as one JSON object with an array for each wanted column.
pub struct Columns<'a, T: Table> {
    /// Rows.
    pub rows: Vec<T::Row<'a>>,
    /// Function that returns true for the columns to be written.
    pub is_wanted: fn(&Column<T>) -> bool,
}

/// A row as a JSON object.
pub(crate) struct RowObject<'t, 'a, T: Table>(pub(crate) &'t T::Row<'a>);

struct ColumnArray<'t, 'a, T: Table> {
    column: &'static Column<T>,
    rows: &'t [T::Row<'a>],
}

impl<T: Table> Serialize for Rows<'_, T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.0.iter().map(RowObject::<T>))
    }
}

impl<T: Table> Serialize for RowObject<'_, '_, T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(
            T::report_columns().map(|column| (column.schema.name, column.value(self.0))),
        )
    }
}

impl<T: Table> Serialize for Columns<'_, T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut map = out.serialize_map(None)?;
        for column in T::report_columns().filter(|column| (self.is_wanted)(column)) {
            map.serialize_entry(column.schema.name, &ColumnArray { column, rows: &self.rows })?;
        }
        map.end()
    }
}

impl<T: Table> Serialize for ColumnArray<'_, '_, T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.rows.iter().map(|row| self.column.value(row)))
    }
}
