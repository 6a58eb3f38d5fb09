//! Ops CSVs as input of every output of the performance report.

use super::numbers_of;
use host_reader::{
    diff::{Diff, DiffOptions, Measurements},
    perf::{
        CsvOptions, PerfOptions, PerfReport, StackBy, TableOptions, read_ops_csv, write_ops_csv,
        write_stacked_csv, write_table,
    },
};

/// Reads bytes as an ops CSV, classifies its ops and writes every output. The bytes also select the
/// options.
///
/// # Panics
/// If there are more rows than lines, or if an output cannot be written.
pub fn ops_csv(data: &[u8]) {
    let Ok(csv) = read_ops_csv(data, "ops.csv") else { return };
    let line_count = data.split(|&byte| byte == b'\n' || byte == b'\r').count();
    assert!(csv.rows.len() <= line_count, "{} rows", csv.rows.len());
    let [choice, experts] = numbers_of(data);
    let bit = |bit: u64| choice >> bit & 1 != 0;
    let options = PerfOptions {
        keeps_file_order: bit(0),
        leaves_out_host_ops: bit(1),
        is_by_device: !bit(2),
        is_upstream_exact: bit(3),
        stack_by: if bit(4) { StackBy::Category } else { StackBy::Op },
        active_experts: bit(5).then_some(experts),
        ..PerfOptions::default()
    };
    let Ok(report) = PerfReport::new(vec![csv], &options) else { return };
    let mut text = Vec::new();
    let table = TableOptions {
        is_coloured: bit(7),
        min_percentage: 0.5,
        has_advice: bit(6),
        summary: bit(4).then_some(StackBy::Memory),
        has_iterations: bit(2),
    };
    write_table(&report, table, &mut text).unwrap_or_else(|error| refused(&error));
    let columns = CsvOptions { has_advice: bit(6), ..CsvOptions::default() };
    write_ops_csv(&report, columns, &mut text).unwrap_or_else(|error| refused(&error));
    let written = write_stacked_csv(&report, options.stack_by, &mut text);
    written.unwrap_or_else(|error| refused(&error));
    let measured = Measurements::from_report(&report);
    let diff = Diff::new(&measured, &measured, DiffOptions::default());
    assert!(diff.a.only_here.is_empty(), "{:?}", diff.a.only_here);
}

fn refused(error: &std::io::Error) {
    panic!("writing to memory failed: {error}");
}
