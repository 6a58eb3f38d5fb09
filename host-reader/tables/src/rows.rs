//! Rows of a table as JSON, either as an object for each row or as an array for each column.

use crate::{
    Column, Table,
    objects::{Entries, List},
};
use serde::{Serialize, Serializer};

/// Rows of a table, serialized as JSON objects.
pub struct Rows<'a, T: Table>(pub Vec<T::Row<'a>>);

/// Rows of a table, serialized as one JSON object with an array for each wanted column.
pub struct Columns<'a, T: Table> {
    /// Rows.
    pub rows: Vec<T::Row<'a>>,
    /// Function that returns true for the columns to be written.
    pub is_wanted: fn(&Column<T>) -> bool,
}

/// Returns a row as a JSON object.
pub(crate) fn row_object<T: Table>(row: &T::Row<'_>) -> impl Serialize {
    Entries(move || T::report_columns().map(move |column| (column.schema.name, column.value(row))))
}

impl<T: Table> Serialize for Rows<'_, T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.0.iter().map(row_object::<T>))
    }
}

impl<T: Table> Serialize for Columns<'_, T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let wanted = T::report_columns().filter(|column| (self.is_wanted)(column));
        out.collect_map(wanted.map(|column| {
            let values = move || self.rows.iter().map(move |row| column.value(row));
            (column.schema.name, List(values))
        }))
    }
}
