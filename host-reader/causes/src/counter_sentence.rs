//! What hardware counters say of the longest op.

use crate::{
    counter_shares::FPU,
    op::OpCauses,
    rules::{kernel_ns, label_of},
};
use reports::perf::OpReport;

/// Most stalls and waits that the sentence names.
const MOST_WAITS: usize = 4;

/// Returns a sentence about the longest op with counters: the use of the matrix engine, and the largest
/// stalls and waits.
pub(crate) fn counter_sentence(ops: &[&OpCauses]) -> Option<String> {
    let with = ops.iter().filter(|op| !op.counter_shares.is_empty());
    let op = with.max_by(|one, other| kernel_ns(one).total_cmp(&kernel_ns(other)))?;
    let shares = op.counter_shares.iter().map(|(label, percent)| (*label, *percent));
    let shown = shown(shares)?;
    Some(format!(
        "Hardware counters of launch {} of {}, in the mean of its cores: {shown}; waits in which a RISC polls \
         are in none of them (kprof report shows all).",
        op.launch,
        label_of(op),
    ))
}

/// Returns the same sentence about the rows of an ops CSV.
pub(crate) fn counter_sentence_of_rows(rows: &[OpReport]) -> Option<String> {
    let with = rows.iter().filter(|row| !row.recorded.counters.is_empty());
    let time_us = |row: &OpReport| row.device_time_us.unwrap_or(0.0);
    let row = with.max_by(|one, other| time_us(one).total_cmp(&time_us(other)))?;
    let shares = row.recorded.counters.iter();
    let shares =
        shares.map(|(title, percent)| (title.strip_suffix(" (%)").unwrap_or(title), *percent));
    let shown = shown(shares)?;
    Some(format!(
        "Hardware counters of {} in row {}, on its cores: {shown}; waits in which a RISC polls are in none of \
         them.",
        row.raw_op_code, row.id,
    ))
}

/// Returns a text with the use of the matrix engine and the largest stalls and waits; `None` if there are
/// neither.
fn shown<'a>(shares: impl Iterator<Item = (&'a str, f64)>) -> Option<String> {
    let (fpu, mut waits): (Vec<_>, Vec<_>) = shares.partition(|(label, _)| label.starts_with(FPU));
    let is_wait = |label: &str| ["Stall", "Wait"].iter().any(|word| label.contains(word));
    waits.retain(|(label, percent)| is_wait(label) && *percent > 0.0);
    waits.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let shown: Vec<String> = fpu
        .into_iter()
        .chain(waits.into_iter().take(MOST_WAITS))
        .map(|(label, percent)| format!("{label} {percent:.1} %"))
        .collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

#[cfg(test)]
mod tests {
    use crate::Explanation;
    use reports::perf::{PerfReport, read_ops_csv};

    /// Figures of tt-metal pull request 56322.
    #[test]
    fn counters_in_an_ops_csv_are_told_of_the_longest_op() {
        let text = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],FPU Util Min (%),FPU Util Median (%),\
            Avg FPU util on full grid (%),Packer Efficiency Avg (%),Thread 1 Stall Rate Avg (%),\
            Thread 2 Stall Rate Max (%),Thread 2 Stall Rate Avg (%),SrcA Valid Wait Avg (%)\n\
            BinaryNg,tt_dnn_device,0,61000,30,34.5,20.0,92.0,11.0,40.0,28.3,5\n\
            Matmul,tt_dnn_device,0,240000,30,35.8,20.8,92.0,,70.0,53.0,0\n";
        let explained = |text: &str| {
            let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
            let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
            Explanation::from_perf_report(&report).counters
        };
        let expected = "Hardware counters of Matmul in row 3, on its cores: FPU Util Median 35.8 %, Thread 2 Stall \
                        Rate Avg 53.0 %; waits in which a RISC polls are in none of them.";
        assert_eq!(explained(text).as_deref(), Some(expected));
        assert_eq!(explained(&text.replace("(%)", "")), None);
    }
}
