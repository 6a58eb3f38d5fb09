//! `kprof schema`: describes the tables of all outputs.

use super::dataset::write_views;
use crate::{
    args::SchemaArgs,
    failure::{Failure, failure},
    output::print,
    terminal::{Style, styled},
};
use comfy_table::{Table, presets};
use host_reader::tables::{ColumnSchema, TableSchema, schemas};
use std::io::Write;

/// Prints the columns of all tables, or of the one table given as an argument.
pub(crate) fn run(args: &SchemaArgs) -> Result<(), Failure> {
    let mut tables = schemas();
    if let Some(name) = &args.table {
        let names: Vec<_> = tables.iter().map(|table| table.name).collect();
        let names = names.join(", ");
        tables.retain(|table| table.name == name);
        if tables.is_empty() {
            return Err(failure!("expected a table, one of {names}, found `{name}`"));
        }
    }
    match args.views {
        Some(engine) => write_views(&tables, &args.dataset, engine, &mut std::io::stdout().lock()),
        None => print(args.json.then_some(&tables), |out| {
            tables.iter().try_for_each(|table| write(table, out))
        }),
    }
}

fn write(schema: &TableSchema, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "{}: {}\n", styled(schema.name, Style::Bold), schema.row)?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "column",
        "type",
        "unit",
        "meaning",
        "null means",
    ]);
    for column in &schema.columns {
        let ColumnSchema { name, kind, meaning, null_means, .. } = *column;
        let unit = column.unit().unwrap_or_default();
        table.add_row([name, kind.sql_label(), unit, meaning, null_means.unwrap_or("never null")]);
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    writeln!(out)
}
