//! Columns of a Delta table.
//!
//! Delta has no unsigned numbers. In the log, unsigned 32-bit numbers are `long`, and unsigned
//! 64-bit numbers are `decimal(20,0)`. Spark uses the same types for the unsigned columns of
//! Parquet files.

use super::cells::FileColumn;
use ::tables::{ColumnKind, schemas};
use serde_json::{Value, json};

/// Columns of a table, in the format of Spark's `StructType`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schema {
    fields: Vec<Value>,
}

/// Returns the columns that this version of the library writes, and the columns derived from folder
/// names.
pub(super) fn schema_of(table: &str) -> Schema {
    let schemas = schemas();
    let columns = schemas.iter().filter(|schema| schema.name == table);
    let columns = columns.flat_map(|schema| &schema.columns);
    let mut fields: Vec<_> = columns.map(|column| field(column.name, column.kind)).collect();
    fields.push(nullable("date", "date"));
    fields.push(nullable("run", "string"));
    Schema { fields }
}

impl Schema {
    /// Parses the columns in a `metaData` action.
    pub(super) fn parse(metadata: &Value) -> Result<Self, String> {
        let text = metadata["schemaString"].as_str().unwrap_or_default();
        let fields = serde_json::from_str::<Value>(text)
            .ok()
            .and_then(|schema| schema["fields"].as_array().cloned());
        let fields = fields.ok_or("expected the columns of a table in schemaString, found none")?;
        Ok(Self { fields })
    }

    pub(super) const fn len(&self) -> usize {
        self.fields.len()
    }

    pub(super) fn to_text(&self) -> String {
        json!({"type": "struct", "fields": self.fields}).to_string()
    }

    /// Adds those columns of a file that the table does not have yet.
    pub(super) fn add_columns(&mut self, columns: &[FileColumn]) -> Result<(), String> {
        for column in columns {
            let new = field(&column.name, column.kind);
            match self.fields.iter().find(|field| field["name"] == new["name"]) {
                None => self.fields.push(new),
                Some(known) if known["type"] == new["type"] => {}
                Some(known) => {
                    let (name, new, known) = (&column.name, &new["type"], &known["type"]);
                    return Err(format!(
                        "expected the type {known} of column `{name}` in a new file, found {new}"
                    ));
                }
            }
        }
        Ok(())
    }
}

fn field(name: &str, kind: ColumnKind) -> Value {
    nullable(
        name,
        match kind {
            ColumnKind::Unsigned32 | ColumnKind::Signed64 => "long",
            ColumnKind::Unsigned64 => "decimal(20,0)",
            ColumnKind::Flag => "boolean",
            ColumnKind::Real => "double",
            ColumnKind::Text => "string",
        },
    )
}

/// Returns a column that allows nulls, because files of other versions may lack it.
fn nullable(name: &str, kind: &str) -> Value {
    json!({"name": name, "type": kind, "nullable": true, "metadata": {}})
}
