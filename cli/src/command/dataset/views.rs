//! `kprof schema --views`: SQL statements that create a view for each table of a dataset.
//!
//! A table without rows has no file, and SQL engines refuse to read a table without files. The view
//! of such a table returns no rows instead.

use crate::{args::SqlEngine, failure::Failure};
use host_reader::tables::{ColumnKind, TableSchema};
use std::{io::Write, path::Path};

/// Writes an SQL statement for each table of a dataset.
pub(crate) fn write(
    tables: &[TableSchema],
    dataset: &Path,
    engine: SqlEngine,
    out: &mut impl Write,
) -> Result<(), Failure> {
    for table in tables.iter().filter(|table| !table.partitions.is_empty()) {
        writeln!(out, "{}", view(table, dataset, engine)?)?;
    }
    Ok(())
}

fn view(table: &TableSchema, dataset: &Path, engine: SqlEngine) -> Result<String, Failure> {
    let folder = dataset.join(table.name);
    let path = quoted(&folder.display().to_string());
    let name = table.name;
    Ok(match (engine, has_files(dataset, name)?) {
        (SqlEngine::Duckdb, true) => {
            let pattern = quoted(&format!("{}/*/*/*.parquet", folder.display()));
            format!(
                "CREATE OR REPLACE VIEW {name} AS FROM read_parquet({pattern}, \
                 hive_partitioning = true, union_by_name = true);"
            )
        }
        (SqlEngine::Spark, true) => format!(
            "CREATE OR REPLACE TEMPORARY VIEW {name} USING parquet OPTIONS (path {path}, \
             mergeSchema 'true');"
        ),
        (_, false) => {
            let temporary = if engine == SqlEngine::Spark { "TEMPORARY " } else { "" };
            let nulls: Vec<_> = columns(table, engine)
                .map(|(column, kind)| format!("CAST(NULL AS {kind}) AS {column}"))
                .collect();
            let nulls = nulls.join(", ");
            format!("CREATE OR REPLACE {temporary}VIEW {name} AS SELECT {nulls} WHERE false;")
        }
    })
}

fn columns(
    table: &TableSchema,
    engine: SqlEngine,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let kind = move |kind: ColumnKind| match (engine, kind) {
        (SqlEngine::Duckdb, kind) => kind.sql_label(),
        // Spark reads unsigned numbers as the next larger signed type.
        (SqlEngine::Spark, ColumnKind::Unsigned32 | ColumnKind::Signed64) => "BIGINT",
        (SqlEngine::Spark, ColumnKind::Unsigned64) => "DECIMAL(20,0)",
        (SqlEngine::Spark, ColumnKind::Flag) => "BOOLEAN",
        (SqlEngine::Spark, ColumnKind::Real) => "DOUBLE",
        (SqlEngine::Spark, ColumnKind::Text) => "STRING",
    };
    let folder = move |name: &'static str| match (name, engine) {
        ("date", _) => (name, "DATE"),
        (_, SqlEngine::Duckdb) => (name, "VARCHAR"),
        (_, SqlEngine::Spark) => (name, "STRING"),
    };
    let columns: Vec<_> =
        table.columns.iter().map(|column| (column.name, kind(column.kind))).collect();
    columns.into_iter().chain(table.partitions.iter().map(move |name| folder(name)))
}

/// Returns true if a table of a dataset has at least one file.
#[cfg(feature = "parquet")]
fn has_files(dataset: &Path, table: &str) -> Result<bool, Failure> {
    use crate::failure::OrFail;
    super::location::location(dataset)?.has_files(table).or_fail()
}

#[cfg(not(feature = "parquet"))]
fn has_files(dataset: &Path, table: &str) -> Result<bool, Failure> {
    Ok(has_files_below(&dataset.join(table), 2))
}

/// Returns true if a Parquet file exists `depth` levels below the folder.
#[cfg(not(feature = "parquet"))]
fn has_files_below(folder: &Path, depth: usize) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| match depth {
        0 => path.extension().is_some_and(|ending| ending == "parquet"),
        depth => path.is_dir() && has_files_below(&path, depth - 1),
    })
}

/// Returns a text as a quoted SQL literal.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
