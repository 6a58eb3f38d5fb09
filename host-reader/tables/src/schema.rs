//! Description of tables and columns, apart from their values.

use crate::Table;
use serde::{Serialize, Serializer, ser::SerializeStruct};

/// Description of one table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableSchema {
    /// Name.
    pub name: &'static str,
    /// Meaning of one row.
    pub row: &'static str,
    /// Columns that a Parquet dataset keeps as folders, from the outermost; empty if the table is
    /// not part of a dataset.
    pub partitions: &'static [&'static str],
    /// Columns in order.
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
    /// Name, ending with the unit if there is one.
    pub name: &'static str,
    /// Type of its values.
    pub kind: ColumnKind,
    /// Meaning.
    pub meaning: &'static str,
    /// Meaning of null; `None` if a value is never null.
    pub null_means: Option<&'static str>,
    /// Outputs that have it.
    pub scope: Scope,
    /// Title in tables of the terminal; `None` if they leave it out.
    pub title: Option<&'static str>,
    /// True if the terminal leaves it out of a table in which it is null in every row.
    pub is_hidden_if_empty: bool,
    /// True of a figure that may be more in rows whose `is_lower_bound` is true.
    pub is_bounded: bool,
}

impl ColumnSchema {
    /// Unit, which is the last word of the name.
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

    /// True if values may be null.
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

/// Outputs that have a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Every output.
    Summary,
    /// Every output but the terminal and the MCP server, whose tables are narrow.
    Report,
    /// Parquet datasets alone.
    Dataset,
}

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Numbers of 32 bits from 0.
    Unsigned32,
    /// Numbers of 64 bits from 0, such as cycles.
    Unsigned64,
    /// Signed numbers of 64 bits, such as times; saturated.
    Signed64,
    /// Yes or no.
    Flag,
    /// Numbers with fractions.
    Real,
    /// Low-cardinality text, dictionary-encoded.
    Text,
}

impl ColumnKind {
    /// Name in SQL engines.
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
    ]
}
