//! The table `memory` as a CSV file with the names of the columns in its first row.

use crate::CoreSet;
use std::io::Read;
use tables::{CsvCells, CsvFile, CsvFileError, CsvReader, Memory, MemoryRow, RecordingKey};

/// Reads rows that [`tables::write_csv`] has written. Other columns are ignored, missing columns that may
/// be null are null, and rows that cannot be read are counted.
///
/// ```
/// use tables::{Memory, MemoryRow, write_csv};
/// let row = MemoryRow { memory: "L1".into(), size_bytes: 64, ..MemoryRow::default() };
/// let mut file = Vec::new();
/// write_csv::<Memory>(&[row.clone()], &mut file)?;
/// assert_eq!(memory::read_csv(&file[..])?.rows, [row]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the file has no column names, or not all columns.
pub fn read_csv(file: impl Read) -> Result<CsvFile<MemoryRow<'static>>, CsvFileError> {
    let written_by = "kprof record --simulate CHIP --device-memory-profiler";
    CsvReader { written_by, may_lack_nullable_columns: true, row }.read(file)
}

fn row(cells: &CsvCells<'_, Memory>) -> Result<MemoryRow<'static>, String> {
    let (start, size_bytes): (u64, u64) = (cells.number("start")?, cells.number("size_bytes")?);
    if start.checked_add(size_bytes).is_none_or(|end| end > HIGHEST) {
        return Err(format!("expected a range of a memory, found {size_bytes} bytes at {start}"));
    }
    let cores = cells.text("core_ranges");
    if let Some(cores) = &cores {
        cores.parse::<CoreSet>().map_err(|error| error.to_string())?;
    }
    Ok(MemoryRow {
        recording: RecordingKey::default(),
        chip_id: cells.number("chip_id")?,
        run_host_id: cells.number("run_host_id")?,
        op: cells.text("op_name"),
        layout: cells.optional("layout")?,
        launches: cells.optional("launches")?,
        memory: cells.cell("memory").to_owned(),
        cores,
        core_count: cells.optional("core_count")?,
        kind: cells.cell("kind").to_owned(),
        number: cells.optional("number")?,
        content: cells.text("content"),
        start,
        size_bytes,
        counted_bytes: cells.number("counted_bytes")?,
        page_count: cells.optional("page_count")?,
        page_bytes: cells.optional("page_bytes")?,
        owner: cells.text("owner"),
        last_use_run_host_id: cells.optional("last_use_run_host_id")?,
        owner_module: cells.text("owner_module"),
        owner_location: cells.text("owner_location"),
    })
}

/// Highest address of a memory that is accepted.
const HIGHEST: u64 = 1 << 40;

#[cfg(test)]
mod tests {
    use super::*;
    use tables::write_csv;

    fn full() -> MemoryRow<'static> {
        let text = |text: &str| Some(text.to_owned());
        MemoryRow {
            recording: RecordingKey::default(),
            chip_id: 1,
            run_host_id: 77,
            op: text("matmul, \"large\""),
            layout: Some(1),
            launches: Some(2),
            memory: "L1".to_owned(),
            cores: text("1-1:4-3 6-1"),
            core_count: Some(13),
            kind: MemoryRow::CIRCULAR_BUFFER.to_owned(),
            number: Some(16),
            content: text("TRISC_1"),
            start: 105_824,
            size_bytes: 8192,
            counted_bytes: 4096,
            page_count: Some(4),
            page_bytes: Some(2048),
            owner: text("ttnn.add"),
            last_use_run_host_id: Some(5120),
            owner_module: text("Model.layers.0"),
            owner_location: text("model.py:12"),
        }
    }

    #[test]
    fn every_column_is_the_same_after_a_file() {
        let (row, bare) = (full(), MemoryRow::default());
        let mut file = Vec::new();
        write_csv::<Memory>(&[row.clone(), bare.clone()], &mut file).unwrap();
        let found = read_csv(&file[..]).unwrap();
        let rows = vec![row, bare];
        assert_eq!(found, CsvFile { rows, unreadable_count: 0, first_problem: None });
    }

    #[test]
    fn damaged_rows_are_counted_and_the_rest_is_kept() {
        for (from, to, problem) in [
            (
                "1,77",
                "x,77",
                "expected a number in `chip_id`, found `x`: invalid digit found in string",
            ),
            (
                "8192",
                "18446744073709551615",
                "expected a range of a memory, found 18446744073709551615 bytes at 105824",
            ),
            ("1-1:4-3", "1-1:4", "expected cores such as 1-1:8-4, found `1-1:4 6-1`"),
        ] {
            let mut file = Vec::new();
            write_csv::<Memory>(&[full(), full(), full()], &mut file).unwrap();
            let text = String::from_utf8(file).unwrap();
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines[2] = lines[2].replacen(from, to, 1);
            let found = read_csv(lines.join("\n").as_bytes()).unwrap();
            assert_eq!((found.rows, found.unreadable_count), (vec![full(), full()], 1), "{to}");
            assert_eq!(found.first_problem, Some(format!("line 3: {problem}")));
        }
        let error = read_csv("a,b\n1,2\n".as_bytes()).unwrap_err().to_string();
        assert!(error.contains("found no column `chip_id`"), "{error}");
    }
}
