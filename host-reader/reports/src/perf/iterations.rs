//! Repeated iterations: the same op in every pass of a model, with what its times varied.
//!
//! Passes are found by trace replays or signposts where there are such, else by the
//! sequence of ops repeating itself. Only passes that ran the same ops are compared.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indices and counts are those of the ops themselves"
)]

use super::{
    op::{OpReport, RowKind},
    spread::Spread,
};
use std::collections::{BTreeMap, HashMap};

/// How repetitions of an op were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RepetitionRule {
    /// By the replays of a trace.
    TraceReplays,
    /// By a sequence of ops that runs again and again.
    RepeatedSequence,
    /// The rows do not repeat; ops of one name and source are taken together.
    #[default]
    SameProgram,
}

/// Times of one op over all iterations.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct OpStatistics {
    /// Id of its first row.
    pub first_id: u64,
    /// Place within an iteration, from 0; `None` where rows do not repeat.
    pub position: Option<usize>,
    /// Op code as it was written.
    pub op_code: String,
    /// Shapes, element types and memories of its tensors.
    pub source: String,
    /// The device.
    pub device: Option<u64>,
    /// Device times in us.
    pub device_time_us: Spread,
    /// Gaps before it in us.
    pub op_to_op_gap_us: Spread,
    /// Repetitions without a device time.
    pub skipped_count: u64,
}

/// Ops over repeated iterations.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Iterations {
    /// How repetitions were found.
    pub rule: RepetitionRule,
    /// Whole iterations; 1 where rows do not repeat.
    pub iteration_count: usize,
    /// Ops of one iteration.
    pub ops_per_iteration: usize,
    /// Device ops in iterations that are not whole, or that differ; they have no part.
    pub left_out_count: usize,
    /// Each op, in the order of its first row.
    pub ops: Vec<OpStatistics>,
}

/// Which rows repeat one another: for each op the indices of its rows.
pub(crate) struct Repetitions {
    pub(crate) rule: RepetitionRule,
    pub(crate) iteration_count: usize,
    pub(crate) left_out_count: usize,
    /// For each op, its rows in the order of iterations.
    pub(crate) ops: Vec<Vec<usize>>,
}

/// Key that distinguishes ops: device, name and source.
type Program<'a> = (Option<u64>, &'a str, &'a str);

impl Iterations {
    /// Finds iterations among the device ops of `rows`.
    pub(super) fn new(rows: &[OpReport]) -> Self {
        let repetitions = Repetitions::find(rows);
        let is_repeated = repetitions.rule != RepetitionRule::SameProgram;
        let statistics = |(position, rows_of_op): (usize, &Vec<usize>)| {
            let members: Vec<_> = rows_of_op.iter().filter_map(|&at| rows.get(at)).collect();
            op_statistics(&members, is_repeated.then_some(position))
        };
        Self {
            rule: repetitions.rule,
            iteration_count: repetitions.iteration_count,
            ops_per_iteration: repetitions.ops.len(),
            left_out_count: repetitions.left_out_count,
            ops: repetitions.ops.iter().enumerate().filter_map(statistics).collect(),
        }
    }
}

fn op_statistics(members: &[&OpReport], position: Option<usize>) -> Option<OpStatistics> {
    let first = members.first()?;
    let times: Vec<f64> = members.iter().filter_map(|row| row.device_time_us).collect();
    let gaps: Vec<f64> = members.iter().filter_map(|row| row.op_to_op_gap_us).collect();
    Some(OpStatistics {
        first_id: first.id,
        position,
        op_code: first.raw_op_code.to_string(),
        source: first.source.to_string(),
        device: first.device,
        skipped_count: (members.len() - times.len()) as u64,
        device_time_us: Spread::of(times),
        op_to_op_gap_us: Spread::of(gaps),
    })
}

impl Repetitions {
    /// Finds which device ops repeat one another.
    pub(crate) fn find(rows: &[OpReport]) -> Self {
        let (ops, programs) = device_ops(rows);
        let by_trace = by_trace(rows, &ops, &programs);
        let repeated = by_trace.or_else(|| by_sequence(&ops, &programs));
        repeated.unwrap_or_else(|| pooled(&ops, &programs))
    }

    /// Takes all device ops of one name and source together.
    pub(crate) fn by_program(rows: &[OpReport]) -> Self {
        let (ops, programs) = device_ops(rows);
        pooled(&ops, &programs)
    }
}

/// Indices of the device ops, and which program each of them ran.
fn device_ops(rows: &[OpReport]) -> (Vec<usize>, Vec<Program<'_>>) {
    let ops = rows.iter().enumerate().filter(|(_, row)| row.kind == RowKind::Device);
    ops.map(|(at, row)| (at, (row.device, &*row.raw_op_code, &*row.source))).unzip()
}

fn pooled(ops: &[usize], programs: &[Program<'_>]) -> Repetitions {
    let mut groups: HashMap<&Program<'_>, Vec<usize>> = HashMap::new();
    for (&at, program) in ops.iter().zip(programs) {
        groups.entry(program).or_default().push(at);
    }
    let mut ops: Vec<Vec<usize>> = groups.into_values().collect();
    ops.sort();
    let rule = RepetitionRule::SameProgram;
    Repetitions { rule, iteration_count: 1, left_out_count: 0, ops }
}

/// Replays of a trace that ran the same ops as the longest one.
fn by_trace(rows: &[OpReport], ops: &[usize], programs: &[Program<'_>]) -> Option<Repetitions> {
    let mut replays: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, &at) in ops.iter().enumerate() {
        if let Some(session) = rows[at].trace_session {
            replays.entry(session).or_default().push(index);
        }
    }
    let sequence = |replay: &Vec<usize>| -> Vec<&Program<'_>> {
        replay.iter().map(|&index| &programs[index]).collect()
    };
    let longest = replays.values().max_by_key(|replay| replay.len()).map(sequence)?;
    let same: Vec<_> = replays.values().filter(|replay| sequence(replay) == longest).collect();
    if same.len() < 2 {
        return None;
    }
    let of_position = |position: usize| same.iter().map(|replay| ops[replay[position]]).collect();
    Some(Repetitions {
        rule: RepetitionRule::TraceReplays,
        iteration_count: same.len(),
        left_out_count: ops.len() - same.len() * longest.len(),
        ops: (0..longest.len()).map(of_position).collect(),
    })
}

/// The shortest sequence whose repetition all ops are, the last one cut perhaps.
fn by_sequence(ops: &[usize], programs: &[Program<'_>]) -> Option<Repetitions> {
    let period = shortest_period(programs);
    let count = ops.len().checked_div(period)?;
    if count < 2 {
        return None;
    }
    let of_position = |position| (0..count).map(|pass| ops[pass * period + position]).collect();
    Some(Repetitions {
        rule: RepetitionRule::RepeatedSequence,
        iteration_count: count,
        left_out_count: ops.len() - count * period,
        ops: (0..period).map(of_position).collect(),
    })
}

/// The least p with `items[i] == items[i + p]` throughout, by the borders of prefixes.
pub(crate) fn shortest_period<T: PartialEq>(items: &[T]) -> usize {
    let mut borders = vec![0; items.len()];
    for end in 1..items.len() {
        let mut border: usize = borders[end - 1];
        while border > 0 && items[border] != items[end] {
            border = borders[border - 1];
        }
        borders[end] = if items[border] == items[end] { border + 1 } else { 0 };
    }
    items.len() - borders.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert_eq, proptest};

    #[test]
    fn periods_are_found_though_the_last_one_is_cut() {
        let period = |text: &str| shortest_period(text.as_bytes());
        assert_eq!((period("abcabcab"), period("aaaa"), period("abcd")), (3, 1, 4));
        assert_eq!((period("aabaab"), period("")), (3, 0));
    }

    /// A model of two ops that ran three times, then once without its second op.
    fn read_rows(sessions: [&str; 7]) -> Iterations {
        let mut text =
            "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns],\
             METAL TRACE REPLAY SESSION ID\n"
                .to_owned();
        let rows = [2000, 400, 4000, 400, 4500, 700, 9000];
        for ((at, duration), session) in rows.iter().enumerate().zip(sessions) {
            let op = ["Matmul", "Softmax"][at % 2];
            text += &format!("{op},tt_dnn_device,0,{duration},{},{session}\n", 100 * at);
        }
        let csv = crate::perf::read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let report = crate::perf::PerfReport::new(vec![csv], &Default::default()).unwrap();
        report.iterations
    }

    /// Means, deviations and medians were made by Python's `statistics`.
    #[test]
    fn each_op_is_summed_up_over_the_whole_iterations() {
        let iterations = read_rows([""; 7]);
        assert_eq!(iterations.rule, RepetitionRule::RepeatedSequence);
        assert_eq!((iterations.iteration_count, iterations.left_out_count), (3, 1));
        let [matmul, softmax] = &iterations.ops[..] else { panic!("{iterations:?}") };
        assert_eq!((matmul.position, matmul.device_time_us.count), (Some(0), 3));
        assert_eq!((matmul.device_time_us.mean, matmul.device_time_us.median), (3.5, 4.0));
        assert!((matmul.device_time_us.std.unwrap() - 1.322_875_655_532_295_4).abs() < 1e-12);
        assert_eq!((softmax.device_time_us.mean, softmax.device_time_us.max), (0.5, 0.7));
        assert!(
            (softmax.device_time_us.std_percent().unwrap() - 34.641_016_151_377_54).abs() < 1e-9
        );
        // The first row of a report has no gap.
        assert_eq!((matmul.op_to_op_gap_us.count, softmax.op_to_op_gap_us.mean), (2, 0.3));
    }

    #[test]
    fn replays_of_a_trace_are_iterations_though_other_ops_ran_before() {
        let iterations = read_rows(["", "", "1", "1", "2", "2", "3"]);
        assert_eq!(iterations.rule, RepetitionRule::TraceReplays);
        assert_eq!((iterations.iteration_count, iterations.left_out_count), (2, 3));
        let means: Vec<f64> = iterations.ops.iter().map(|op| op.device_time_us.mean).collect();
        assert_eq!(means, [4.25, 0.55]);
    }

    proptest! {
        #[test]
        fn the_period_is_that_of_trying_all(items in prop::collection::vec(0_u8..3, 0..40)) {
            let fits = |p: usize| (0..items.len() - p).all(|i| items[i] == items[i + p]);
            let expected = (1..=items.len()).find(|&p| fits(p)).unwrap_or(0);
            prop_assert_eq!(shortest_period(&items), expected);
        }
    }
}
