//! The table `lines` as a CSV file with the names of the columns in its first row.

use std::{
    io::Read,
    path::{Path, PathBuf},
};
use tables::{CsvCells, CsvFile, CsvFileError, CsvReader, LineRow, LineSamples, Lines, REASONS};

/// Name of the file with the table in the folder of a recording.
pub const LINES_FILE: &str = "kprof_lines.csv";

/// Name of the file with the table of sampled lines in the folder of a recording.
pub const SAMPLES_FILE: &str = "kprof_samples.csv";

/// Returns the path of the table that belongs to a capture.
#[must_use]
pub fn beside_capture(capture: &Path) -> PathBuf {
    capture.with_extension("lines.csv")
}

/// Returns the path of the table of sampled lines that belongs to a capture.
#[must_use]
pub fn samples_beside_capture(capture: &Path) -> PathBuf {
    capture.with_extension("samples.csv")
}

/// Returns the path of the table of sampled lines that belongs to a recording, as
/// [`beside_recording`].
#[must_use]
pub fn samples_beside_recording(recording: &Path) -> PathBuf {
    beside(recording, SAMPLES_FILE, samples_beside_capture)
}

/// Returns the path of the table that belongs to a recording: a capture, a device log, or a folder
/// with one. The table may not exist.
#[must_use]
pub fn beside_recording(recording: &Path) -> PathBuf {
    beside(recording, LINES_FILE, beside_capture)
}

fn beside(recording: &Path, name: &str, of_capture: fn(&Path) -> PathBuf) -> PathBuf {
    if recording.is_dir() {
        let in_logs = recording.join(".logs").join(name);
        return if in_logs.exists() { in_logs } else { recording.join(name) };
    }
    match recording.extension().is_some_and(|extension| extension == "kprof") {
        true => of_capture(recording),
        false => recording.with_file_name(name),
    }
}

/// Reads rows that [`tables::write_csv`] has written. Other columns are ignored, and rows that cannot
/// be read are counted.
///
/// ```
/// use tables::{LineRow, Lines, write_csv};
/// let row = LineRow { risc: "BRISC".into(), address: 64, ..LineRow::default() };
/// let mut file = Vec::new();
/// write_csv::<Lines>(&[row.clone()], &mut file)?;
/// assert_eq!(lines::read_csv(&file[..])?.rows, [row]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the file has no column names, or not all columns.
pub fn read_csv(file: impl Read) -> Result<CsvFile<LineRow>, CsvFileError> {
    // Tables of earlier versions lack the nullable columns that were added since.
    let written_by = "kprof run --lines";
    CsvReader { written_by, may_lack_nullable_columns: true, row }.read(file)
}

fn row(cells: &CsvCells<'_, Lines>) -> Result<LineRow, String> {
    let samples = samples(cells)?;
    let exact = |name: &str| match samples {
        None => cells.number(name),
        Some(_) if cells.cell(name).is_empty() => Ok(0),
        Some(_) => Err(format!("expected no `{name}` in a row with samples, found one")),
    };
    let mut cycles = [0; REASONS];
    for (cycles, name) in cycles.iter_mut().zip(REASON_COLUMNS) {
        *cycles = exact(name)?;
    }
    let total = cycles.iter().try_fold(0_u64, |sum, &cycles| sum.checked_add(cycles));
    let stated: u64 = exact("total_cycles")?;
    if total != Some(stated) {
        return Err(format!("`total_cycles` is {stated}, which is not the sum of the reasons"));
    }
    let core = cells.optional("core_x")?.zip(cells.optional("core_y")?);
    Ok(LineRow {
        chip_id: cells.number("chip_id")?,
        core,
        cores: cells.number("core_count")?,
        run_host_id: cells.number("run_host_id")?,
        op: cells.text("op_name"),
        launches: cells.number("launches")?,
        risc: cells.cell("risc").to_owned(),
        code: cells.cell("code").to_owned(),
        elf: cells.text("elf"),
        address: cells.number("address")?,
        instruction: cells.number("instruction")?,
        function: cells.text("function"),
        file: cells.text("file"),
        line: cells.optional("line")?,
        source_text: cells.text("source_text"),
        inlined_into: cells.text("inlined_into"),
        waits_for: cells.text("waits_for"),
        samples,
        instructions: exact("instructions")?,
        core_cycles: [
            exact("min_core_cycles")?,
            exact("median_core_cycles")?,
            exact("max_core_cycles")?,
        ],
        cycles,
    })
}

/// Returns the samples of a row; `None` for exact rows, also of earlier versions. Shares and intervals
/// follow from the numbers.
fn samples(cells: &CsvCells<'_, Lines>) -> Result<Option<LineSamples>, String> {
    let Some(count) = cells.optional("samples")? else { return Ok(None) };
    let samples = LineSamples {
        count,
        waiting: cells.number("waiting_samples")?,
        empty: cells.number("empty_samples")?,
        of_risc: cells.number("risc_samples")?,
        effective: cells.number("effective_samples")?,
    };
    if samples.share().is_none() || samples.waiting.checked_add(samples.empty) > Some(count) {
        return Err(format!(
            "`samples` is {count}, which is impossible with {} of the RISC",
            samples.of_risc
        ));
    }
    Ok(Some(samples))
}

/// Names of the columns with the cycles of one reason.
pub(crate) const REASON_COLUMNS: [&str; REASONS] = [
    "issue_cycles",
    "arithmetic_cycles",
    "private_load_cycles",
    "l1_load_cycles",
    "register_load_cycles",
    "store_cycles",
    "branch_cycles",
    "fetch_cycles",
    "l1_port_cycles",
    "stopped_cycles",
];

#[cfg(test)]
mod tests {
    use super::*;
    use tables::{Table, write_csv};

    #[test]
    fn the_columns_of_reasons_are_the_last_ones_in_order() {
        let names: Vec<_> = Lines::COLUMNS.iter().map(|column| column.schema.name).collect();
        assert_eq!(names[names.len() - REASONS..], REASON_COLUMNS);
    }

    #[test]
    fn every_column_is_the_same_after_a_file() {
        let text = |text: &str| Some(text.to_owned());
        let row = LineRow {
            chip_id: 1,
            core: Some((3, 4)),
            cores: 1,
            run_host_id: 77,
            op: text("matmul, \"large\""),
            launches: 2,
            risc: "TRISC_1".to_owned(),
            code: "kernel".to_owned(),
            elf: text("a b/kernel.elf"),
            address: 0x1_0040,
            instruction: 0x0000_0013,
            function: text("f(int)"),
            file: text("src/kernel.cpp"),
            line: Some(12),
            source_text: text("    x = \"a,b\"; // "),
            inlined_into: text("g at src/kernel.cpp:30 < main at src/main.cpp"),
            waits_for: text("CB_WAIT 3"),
            samples: None,
            instructions: 9,
            core_cycles: [45, 45, 45],
            cycles: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        };
        let bare = LineRow { core: None, ..LineRow::default() };
        let samples = LineSamples { count: 30, waiting: 7, empty: 3, of_risc: 90, effective: 45 };
        let sampled = LineRow { samples: Some(samples), ..LineRow::default() };
        let mut file = Vec::new();
        write_csv::<Lines>(&[row.clone(), bare.clone(), sampled.clone()], &mut file).unwrap();
        let found = read_csv(&file[..]).unwrap();
        let rows = vec![row, bare, sampled];
        assert_eq!(found, CsvFile { rows, unreadable_count: 0, first_problem: None });
    }

    #[test]
    fn damaged_rows_are_counted_and_the_rest_is_kept() {
        let good = LineRow { address: 8, ..LineRow::default() };
        let mut file = Vec::new();
        write_csv::<Lines>(&[good.clone(), good.clone(), good.clone()], &mut file).unwrap();
        let text = String::from_utf8(file).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines[2] = lines[2].replacen('0', "x", 1);
        let found = read_csv(lines.join("\n").as_bytes()).unwrap();
        assert_eq!((found.rows.len(), found.unreadable_count), (2, 1));
        let problem = found.first_problem.unwrap();
        assert!(
            problem.starts_with("line 3: expected a number in `chip_id`, found `x`"),
            "{problem}"
        );
        let error = read_csv("a,b\n1,2\n".as_bytes()).unwrap_err().to_string();
        assert!(error.contains("found no column `chip_id`"), "{error}");
    }
}
