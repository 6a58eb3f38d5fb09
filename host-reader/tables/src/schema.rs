//! Description of tables and columns, without their values.

use crate::Table;
use serde::{Serialize, Serializer, ser::SerializeStruct};

/// Description of one table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableSchema {
    /// Name of the table.
    pub name: &'static str,
    /// Meaning of one row.
    pub row: &'static str,
    /// Columns that a Parquet dataset stores as folders, outermost first.
    ///
    /// Empty if the table is not part of a dataset.
    pub partitions: &'static [&'static str],
    /// Columns, in the order in which outputs show them.
    pub columns: Vec<ColumnSchema>,
}

impl TableSchema {
    /// Describes a table.
    #[must_use]
    pub fn from_table<T: Table>() -> Self {
        let columns = T::COLUMNS.iter().map(|column| column.schema).collect();
        Self { name: T::NAME, row: T::ROW, partitions: T::PARTITIONS, columns }
    }
}

/// Description of one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnSchema {
    /// Name of the column, ending with the unit if it has one.
    pub name: &'static str,
    /// Type of the column's values.
    pub kind: ColumnKind,
    /// Meaning of a value.
    pub meaning: &'static str,
    /// Meaning of null; `None` if the column is never null.
    pub null_means: Option<&'static str>,
    /// Outputs that contain the column.
    pub scope: Scope,
    /// Header in tables of the terminal; `None` if the terminal does not show the column.
    pub title: Option<&'static str>,
    /// True if the terminal hides the column when its values are null in all rows.
    pub is_hidden_if_empty: bool,
    /// True if the column's values are lower bounds in rows whose column `is_lower_bound` is true.
    pub is_bounded: bool,
}

impl ColumnSchema {
    /// Returns the unit, which is the last part of the name.
    ///
    /// ```
    /// use tables::{Ops, Table};
    /// assert_eq!(Ops::column("kernel_ns").unwrap().schema.unit(), Some("ns"));
    /// ```
    #[must_use]
    pub fn unit(&self) -> Option<&'static str> {
        let last = self.name.rsplit('_').next().unwrap_or_default();
        match last {
            "ns" => Some("ns"),
            "cycle" | "cycles" => Some("cycles"),
            "bytes" => Some("bytes"),
            _ => None,
        }
    }

    /// Returns true if values may be null.
    #[must_use]
    pub const fn is_optional(&self) -> bool {
        self.null_means.is_some()
    }
}

impl Serialize for ColumnSchema {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut fields = out.serialize_struct("ColumnSchema", 7)?;
        fields.serialize_field("name", self.name)?;
        fields.serialize_field("type", self.kind.sql_label())?;
        fields.serialize_field("unit", &self.unit())?;
        fields.serialize_field("meaning", self.meaning)?;
        fields.serialize_field("null_means", &self.null_means)?;
        fields.serialize_field("scope", &self.scope)?;
        fields.serialize_field("title", &self.title)?;
        fields.end()
    }
}

/// Outputs that contain a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Every output.
    Summary,
    /// Every output except the two narrow ones: the terminal and the answers of the MCP server.
    Report,
    /// Only Parquet datasets.
    Dataset,
}

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Unsigned 32-bit numbers.
    Unsigned32,
    /// Unsigned 64-bit numbers, such as cycles.
    Unsigned64,
    /// Signed 64-bit numbers, such as times. Larger numbers are stored as the maximum.
    Signed64,
    /// True or false.
    Flag,
    /// Floating-point numbers.
    Real,
    /// Low-cardinality text, dictionary-encoded.
    Text,
}

impl ColumnKind {
    /// Returns the name of the type in SQL engines.
    #[must_use]
    pub const fn sql_label(self) -> &'static str {
        match self {
            Self::Unsigned32 => "UINTEGER",
            Self::Unsigned64 => "UBIGINT",
            Self::Signed64 => "BIGINT",
            Self::Flag => "BOOLEAN",
            Self::Real => "DOUBLE",
            Self::Text => "VARCHAR",
        }
    }
}

/// Describes every table.
#[must_use]
pub fn schemas() -> Vec<TableSchema> {
    vec![
        TableSchema::from_table::<crate::Ops>(),
        TableSchema::from_table::<crate::ZoneStatisticsTable>(),
        TableSchema::from_table::<crate::SumStatisticsTable>(),
        TableSchema::from_table::<crate::WaitStatisticsTable>(),
        TableSchema::from_table::<crate::Losses>(),
        TableSchema::from_table::<crate::LossGroups>(),
        TableSchema::from_table::<crate::Zones>(),
        TableSchema::from_table::<crate::Markers>(),
        TableSchema::from_table::<crate::Counters>(),
        TableSchema::from_table::<crate::NocEvents>(),
        TableSchema::from_table::<crate::Waits>(),
        TableSchema::from_table::<crate::WaitSums>(),
        TableSchema::from_table::<crate::ProfilerTime>(),
        TableSchema::from_table::<crate::HostZones>(),
        TableSchema::from_table::<crate::HostEvents>(),
        TableSchema::from_table::<crate::Buffers>(),
        TableSchema::from_table::<crate::OpBuffers>(),
        TableSchema::from_table::<crate::OpsReportCells>(),
        TableSchema::from_table::<crate::Recordings>(),
        TableSchema::from_table::<crate::Lines>(),
        TableSchema::from_table::<crate::Memory>(),
        TableSchema::from_table::<crate::Standing>(),
    ]
}
