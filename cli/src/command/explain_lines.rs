//! Lines of source in `kprof explain`: where the kernels of each op stood most of the time.

use super::lines::{lines_of_recording, percent, place, share_text, without_arguments};
use crate::{
    failure::Failure,
    numbers::{counted, grouped},
    terminal::{LONGEST_NAME, printable},
};
use host_reader::{
    lines::{BusiestLine, busiest_lines},
    tables::SampleShare,
};
use serde::Serialize;
use std::path::Path;

/// Least share of the kernels' cycles of a line that is worth a sentence.
const LEAST_PERCENT: f64 = 20.0;

/// Line that takes a large part of the cycles that a RISC spends in the kernels of an op.
#[derive(Debug, Serialize)]
pub(super) struct LineShare {
    op: String,
    risc: String,
    function: String,
    file: Option<String>,
    line: Option<u32>,
    /// `None` if the lines were sampled.
    cycles: Option<u64>,
    /// Cycles of all lines of these kernels; `None` if the lines were sampled.
    kernel_cycles: Option<u64>,
    /// Samples of the line; `None` if its cycles were counted exactly.
    samples: Option<u64>,
    /// Samples of all lines of these kernels; `None` if their cycles were counted exactly.
    kernel_samples: Option<u64>,
    percent: f64,
    /// Object that most of these cycles wait for.
    waits_for: Option<String>,
    launches: u64,
    core_count: u32,
    pub(super) sentence: String,
}

/// Returns the lines of the table that belongs to an input; none if it has no such table.
pub(super) fn lines_of(input: &Path) -> Result<Vec<LineShare>, Failure> {
    let rows = lines_of_recording(input)?.unwrap_or_default();
    let shares = busiest_lines(&rows).into_iter().map(LineShare::new);
    Ok(shares.filter(|share| share.percent >= LEAST_PERCENT).collect())
}

impl LineShare {
    fn new(busiest: BusiestLine) -> Self {
        let BusiestLine { op, kernel_weight, launches, cores, line } = busiest;
        let weight = line.weight();
        let is_sampled = line.samples.is_some();
        let exact = |number: u64| (!is_sampled).then_some(number);
        let sampled = |number: u64| is_sampled.then_some(number);
        let share = line.samples.map(|samples| {
            let share = SampleShare::new(samples.count, kernel_weight, samples.effective);
            format!("{} of {} samples", share_text(share), grouped(kernel_weight))
        });
        let share = share.unwrap_or_else(|| {
            format!("{} of {} cycles", percent(weight, kernel_weight), grouped(kernel_weight))
        });
        let waits_for = line.main_wait().map(|(object, _)| object.to_owned());
        let waits = waits_for.as_ref().map_or_else(String::new, |of| format!(", waiting for {of}"));
        let at = match &line.file {
            Some(_) => format!("at {}", place(&line)),
            None => "without a known line".to_owned(),
        };
        let sentence = format!(
            "{} in {}: {share} are in {} {at}{waits} ({} on {})",
            line.risc,
            printable(&op, LONGEST_NAME),
            printable(without_arguments(&line.function), LONGEST_NAME),
            counted(launches, "launch", "launches"),
            counted(cores.into(), "core", "cores"),
        );
        Self {
            op,
            risc: line.risc,
            function: line.function,
            file: line.file,
            line: line.line,
            cycles: exact(weight),
            kernel_cycles: exact(kernel_weight),
            samples: sampled(weight),
            kernel_samples: sampled(kernel_weight),
            percent: if kernel_weight == 0 {
                0.0
            } else {
                weight as f64 * 100.0 / kernel_weight as f64
            },
            waits_for,
            launches,
            core_count: cores,
            sentence,
        }
    }
}
