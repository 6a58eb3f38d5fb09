//! Rules for every table, and the generated page that shows all tables.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::collections::{BTreeMap, BTreeSet};
use tables::{ColumnKind, TableSchema, schemas};

const BEGIN: &str = "<!-- tables: BLESS=1 cargo test -p kprof-tables --test schema -->";

/// Formats a dataset table for the page.
fn shown(table: &TableSchema) -> String {
    let mut text = format!(
        "\n## `{}`: {}\n\n| column | type | unit | meaning | null means |\n|---|---|---|---|---|\n",
        table.name, table.row
    );
    for column in &table.columns {
        let (kind, unit) = (column.kind.sql_label(), column.unit().unwrap_or_default());
        let null = column.null_means.unwrap_or_default();
        text += &format!("| `{}` | {kind} | {unit} | {} | {null} |\n", column.name, column.meaning);
    }
    text
}

/// Set `BLESS=1` to regenerate the page, then review the difference.
#[test]
fn the_page_of_the_dataset_shows_every_column() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/parquet.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (before, _) = text.split_once(BEGIN).expect("the page has the beginning of the tables");
    let tables: String =
        schemas().iter().filter(|table| !table.partitions.is_empty()).map(shown).collect();
    let current = format!("{before}{BEGIN}\n{tables}");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(page, &current).unwrap();
    }
    assert_eq!(std::fs::read_to_string(page).unwrap(), current, "{page}");
}

/// Checks that a column name has the same type in all tables, and appears only once in each table.
#[test]
fn a_name_means_one_type_in_all_tables() {
    let mut kinds: BTreeMap<&str, (&str, ColumnKind)> = BTreeMap::new();
    for table in schemas() {
        let names: BTreeSet<&str> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), table.columns.len(), "{}", table.name);
        for column in table.columns {
            // `value` is an integer in `markers` and `counters`, and a real number in
            // `host_events`.
            if column.name == "value" {
                continue;
            }
            let first = *kinds.entry(column.name).or_insert((table.name, column.kind));
            assert_eq!(first.1, column.kind, "{} of {} and {}", column.name, first.0, table.name);
        }
    }
}

/// Checks the unit and the meaning of null of columns that scripts use.
#[test]
fn scripts_find_the_columns_that_they_ask_for() {
    let tables = schemas();
    let find = |table: &str, name: &str| {
        let table = tables.iter().find(|found| found.name == table).unwrap();
        let column = table.columns.iter().find(|column| column.name == name);
        column.map(|column| (column.unit(), column.null_means))
    };
    assert_eq!(
        find("ops", "op_to_op_latency_ns"),
        Some((Some("ns"), Some("first op, overlap, unknown clock, or see latency_doubt")))
    );
    assert_eq!(find("ops", "kernel_start_cycle").unwrap().0, Some("cycles"));
    assert_eq!(find("ops", "core_count"), Some((None, None)));
    assert_eq!(
        find("ops", "imbalance"),
        Some((None, Some("no kernel lasted a cycle or more, or see duration_doubt")))
    );
    assert_eq!(find("buffers", "held_bytes"), Some((Some("bytes"), None)));
    assert_eq!(find("losses", "runs").unwrap().1, Some("the device does not count runs"));
    for old in ["op_to_op_ns", "gap_cycles", "no_duration_because", "cores", "source_file"] {
        assert!(tables.iter().all(|table| find(table.name, old).is_none()), "{old}");
    }
}
