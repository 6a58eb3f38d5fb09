//! Ops of an ops CSV without a known length: which times the file has in its place, and how to get it.

use crate::rules::duration;
use recording::problem::quoted;
use reports::perf::{DurationDoubt, KernelColumn, OpReport, PerfReport};

/// How to record the lengths of ops with TT-Metal.
///
/// # Compatibility
/// TT-Metal's documentation "Device Program Profiler" describes the environment variable
/// `TT_METAL_DEVICE_PROFILER`. `python -m tracy` sets this variable, and `-r` writes the report.
/// tt-mlir's `ttrt perf --host-only` does not profile the chip.
pub(crate) const RECORD_LENGTHS: &str = "the chip's times, too: `python -m tracy -r -p -v model.py`, `kprof record \
    -r -- python model.py`, or TT_METAL_DEVICE_PROFILER=1 before another program; with tt-mlir `ttrt \
    perf` without --host-only";

/// What to use in place of a file whose durations are no numbers.
const NUMBERS_AS_WRITTEN: &str = "nothing again: use the file as the profiler wrote it, with a point before decimals and no other sign in \
     a number";

/// What to use in place of a file whose column has another unit or spelling.
const TITLES_AS_WRITTEN: &str = "nothing again: use the file as the profiler wrote it, with its titles, and durations in the \
     unit that they name";

/// What to use in place of a file that has lost the column.
const COLUMNS_AS_WRITTEN: &str = "nothing again, if the profiler wrote DEVICE KERNEL DURATION [ns]: use the file with this column";

/// What shows why rows with other times of a chip have no length.
const RECORDS: &str =
    "the device log or capture that it was made from, which shows the records behind these rows";

/// Title of a column, or words for several, and whether a row has a value there.
type ChipTime = (&'static str, fn(&OpReport) -> bool);

/// Times of a chip that a row may have beside the length of its kernels.
const CHIP_TIMES: [ChipTime; 6] = [
    ("DEVICE FW DURATION [ns]", |row| row.firmware_duration_ns.is_some()),
    ("DEVICE FW START CYCLE", |row| row.firmware_start_cycle.is_some()),
    ("DEVICE FW END CYCLE", |row| row.firmware_end_cycle.is_some()),
    ("kernels' first and last cycles", |row| row.kernel_cycles.is_some()),
    ("kernel durations of RISCs", |row| row.recorded.risc_kernels_ns.iter().any(Option::is_some)),
    ("kernel durations of cores", |row| row.recorded.core_times.is_some()),
];

/// Returns what to record or use if ops have no usable length. `ops` are all ops on chips.
pub(crate) fn advice(report: &PerfReport, ops: &[&OpReport]) -> &'static str {
    let mut doubts = ops.iter().filter_map(|row| row.duration_doubt);
    if doubts.clone().all(|doubt| doubt == DurationDoubt::Unreadable) {
        return NUMBERS_AS_WRITTEN;
    }
    if doubts.any(|doubt| doubt != DurationDoubt::Missing) {
        return RECORDS;
    }
    if ops.iter().any(|row| row.device_time_us.is_some()) {
        return "fewer zones, or read after fewer programs (ttnn.ReadDeviceProfiler)";
    }
    let has_times = ops.iter().any(|row| CHIP_TIMES.iter().any(|(_, has)| has(row)));
    match report.kernel_column {
        KernelColumn::OtherTitle(_) => TITLES_AS_WRITTEN,
        _ if !has_times => RECORD_LENGTHS,
        KernelColumn::Missing => COLUMNS_AS_WRITTEN,
        KernelColumn::Known => RECORDS,
    }
}

/// Returns a text about the column in which the lengths of ops are missing.
pub(crate) fn column_text(report: &PerfReport, rows: &[&OpReport]) -> String {
    let of_rows = |count: usize, of: &str| match rows.len() {
        1 => "the only row of an op".to_owned(),
        all if of == "all" => format!("all {all} rows of ops"),
        all => format!("{count} of {all} rows of ops"),
    };
    if rows.iter().all(|row| row.duration_doubt == Some(DurationDoubt::Unreadable)) {
        return format!(
            "DEVICE KERNEL DURATION [ns] is no number in {}",
            of_rows(rows.len(), "all")
        );
    }
    let without = rows.iter().filter(|row| row.device_time_us.is_none()).count();
    match &report.kernel_column {
        KernelColumn::Known => {
            format!("DEVICE KERNEL DURATION [ns] has no usable value in {}", of_rows(without, ""))
        }
        KernelColumn::OtherTitle(found) => format!(
            "expected the column `DEVICE KERNEL DURATION [ns]`, found {}, which is not read",
            quoted(found)
        ),
        KernelColumn::Missing => "the file has no column DEVICE KERNEL DURATION [ns]".to_owned(),
    }
}

/// Returns facts about the times of chips in rows without kernel durations.
pub(crate) fn chip_facts(report: &PerfReport, rows: &[&OpReport]) -> Vec<String> {
    let values =
        |title: &str, count: usize| format!("{title} has {count} of {} values", rows.len());
    let mut facts = Vec::new();
    if let KernelColumn::OtherTitle(found) = &report.kernel_column {
        let has = |row: &&&OpReport| row.others.iter().any(|(title, _)| title == found);
        facts.push(values(&quoted(found), rows.iter().filter(has).count()));
    }
    let times = CHIP_TIMES.iter().filter_map(|(title, has)| {
        let count = rows.iter().filter(|row| has(row)).count();
        (count > 0).then(|| values(title, count))
    });
    let mut times: Vec<String> = times.collect();
    let firmware_ns: f64 = rows.iter().filter_map(|row| row.firmware_duration_ns).sum();
    if let Some(first) = times.first_mut().filter(|_| firmware_ns > 0.0) {
        first.push_str(&format!(", {} in all, with the kernels in it", duration(firmware_ns)));
    }
    if times.is_empty() && facts.is_empty() {
        facts.push(
            "DEVICE FW DURATION [ns], DEVICE FW START CYCLE and the kernels' times of RISCs and cores are \
             empty, too"
                .to_owned(),
        );
    }
    facts.extend(times);
    facts
}
