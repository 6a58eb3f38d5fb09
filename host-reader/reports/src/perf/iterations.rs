//! Repeated iterations: the times of each op over all passes of a model, with their variation.
//!
//! Passes are found by trace replays or signposts if there are any, otherwise by a sequence of ops
//! that repeats. Only passes with the same ops are compared.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indices and counts are those of the ops themselves"
)]

use super::{
    op::OpReport,
    spread::Spread,
    variant::{variants, without_numbers},
};
use crate::report::MODULE;
use std::collections::{BTreeMap, HashMap};

/// Rule by which repetitions of ops were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RepetitionRule {
    /// Replays of a trace.
    TraceReplays,
    /// A sequence of ops that repeats.
    RepeatedSequence,
    /// No sequence repeats. Ops with the same name, source and attributes count as repetitions.
    #[default]
    SameProgram,
}

/// Times of one op over all iterations.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct OpStatistics {
    /// Id of the op's first row.
    pub first_id: u64,
    /// Position of the op in an iteration, from 0; `None` if no sequence of ops repeats.
    pub position: Option<usize>,
    /// Op code as in the file.
    pub op_code: String,
    /// Shapes, element types and memories of the op's tensors.
    pub source: String,
    /// Device number.
    pub device: Option<u64>,
    /// Device times in us.
    pub device_time_us: Spread,
    /// Gaps before the op, in us.
    pub op_to_op_gap_us: Spread,
    /// Gap before the op's first repetition, in us, which includes any compilation; `None` if unknown.
    pub first_gap_us: Option<f64>,
    /// Gaps before the op's later repetitions, in us.
    pub later_gaps_us: Spread,
    /// Number of repetitions without a device time.
    pub skipped_count: u64,
}

/// Statistics of ops over repeated iterations.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Iterations {
    /// Rule by which repetitions were found.
    pub rule: RepetitionRule,
    /// Number of complete iterations; 1 if the rows do not repeat.
    pub iteration_count: usize,
    /// Number of ops in one iteration.
    pub ops_per_iteration: usize,
    /// Number of device ops that were left out, because their iteration is incomplete or contains
    /// different ops than the other iterations.
    pub left_out_count: usize,
    /// Statistics of each op, in the order of the ops' first rows.
    pub ops: Vec<OpStatistics>,
}

/// Repetitions of each op, as row indices.
pub(crate) struct Repetitions {
    pub(crate) rule: RepetitionRule,
    pub(crate) iteration_count: usize,
    /// Row indices of the device ops outside of the iterations.
    pub(crate) left_out: Vec<usize>,
    /// Row indices of each op, in the order of iterations.
    pub(crate) ops: Vec<Vec<usize>>,
}

/// Device, name, source, module and number of the attributes, which together identify an op.
type Program<'a> = (Option<u64>, &'a str, &'a str, Option<&'a str>, usize);

impl Iterations {
    /// Finds iterations among the device ops of `rows`.
    pub(super) fn new(rows: &[OpReport]) -> Self {
        let repetitions = Repetitions::find(rows);
        let is_repeated = repetitions.rule != RepetitionRule::SameProgram;
        Self {
            rule: repetitions.rule,
            iteration_count: repetitions.iteration_count,
            ops_per_iteration: repetitions.ops.len(),
            left_out_count: repetitions.left_out.len(),
            ops: repetitions
                .ops
                .iter()
                .enumerate()
                .filter_map(|(position, rows_of_op)| {
                    let members: Vec<_> =
                        rows_of_op.iter().filter_map(|&at| rows.get(at)).collect();
                    op_statistics(&members, is_repeated.then_some(position))
                })
                .collect(),
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
        device_time_us: Spread::from_values(times),
        op_to_op_gap_us: Spread::from_values(gaps),
        first_gap_us: first.op_to_op_gap_us,
        later_gaps_us: Spread::from_values(
            members.iter().skip(1).filter_map(|row| row.op_to_op_gap_us).collect(),
        ),
    })
}

impl Repetitions {
    /// Finds the repetitions of each device op in `rows`.
    pub(super) fn find(rows: &[OpReport]) -> Self {
        Self::among(rows, |_| true)
    }

    /// Finds the repetitions of the device ops of one device in `rows`.
    pub(crate) fn of_device(rows: &[OpReport], device: Option<u64>) -> Self {
        Self::among(rows, |row| row.device == device)
    }

    fn among(rows: &[OpReport], is_wanted: impl Fn(&OpReport) -> bool) -> Self {
        let (ops, rows_of_ops) = device_ops(rows, is_wanted);
        let [exact, stable] = attribute_numbers(&rows_of_ops);
        let programs = |numbers: &[usize]| -> Vec<Program<'_>> {
            rows_of_ops.iter().zip(numbers).map(|(row, number)| program(row, *number)).collect()
        };
        let (exact_programs, programs) = (programs(&exact), programs(&stable));
        let found = [&exact_programs, &programs].map(|programs| by_trace(rows, &ops, programs));
        let by_trace = found.into_iter().flatten().min_by_key(|found| found.left_out.len());
        let repeated = by_trace
            .or_else(|| by_sequence(&ops, &exact_programs))
            .or_else(|| by_sequence(&ops, &programs));
        repeated.unwrap_or_else(|| pooled(&ops, &programs, &exact))
    }
}

/// Returns the device ops that are wanted: their row indices, and their rows.
fn device_ops(
    rows: &[OpReport],
    is_wanted: impl Fn(&OpReport) -> bool,
) -> (Vec<usize>, Vec<&OpReport>) {
    let ops = rows.iter().enumerate().filter(|(_, row)| row.is_device_op() && is_wanted(row));
    ops.unzip()
}

/// Device ops, and numbers of their programs.
pub(super) struct Programs {
    /// Row indices of the ops.
    pub(super) rows: Vec<usize>,
    /// For each op, the number of its program: with all attributes, and without the numbers in them.
    pub(super) numbers: [Vec<usize>; 2],
}

impl Programs {
    /// Numbers the programs of the device ops that are wanted.
    pub(super) fn new(rows: &[OpReport], is_wanted: impl Fn(&OpReport) -> bool) -> Self {
        let (ops, rows_of_ops) = device_ops(rows, is_wanted);
        let numbers = attribute_numbers(&rows_of_ops).map(|attributes| {
            let mut known: HashMap<Program<'_>, usize> = HashMap::new();
            let programs = rows_of_ops.iter().zip(attributes).map(|(row, of)| {
                let next = known.len();
                *known.entry(program(row, of)).or_insert(next)
            });
            programs.collect()
        });
        Self { rows: ops, numbers }
    }
}

/// Returns a number for the attributes of each op, with all numbers in them and without those that
/// may be other ones in each launch.
fn attribute_numbers(rows: &[&OpReport]) -> [Vec<usize>; 2] {
    let mut exact: HashMap<&str, (usize, usize)> = HashMap::new();
    let mut stable: HashMap<String, usize> = HashMap::new();
    let mut numbers = [Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len())];
    for row in rows {
        let next = exact.len();
        let (own, without) = *exact.entry(&row.recorded.attributes).or_insert_with(|| {
            let other = stable.len();
            (next, *stable.entry(without_numbers(&row.recorded.attributes)).or_insert(other))
        });
        let [of_all, of_stable] = &mut numbers;
        of_all.push(own);
        of_stable.push(without);
    }
    numbers
}

fn program(row: &OpReport, attributes: usize) -> Program<'_> {
    // Layers of a model are no iterations, though they run the same ops.
    let module = row.other(MODULE).map(|module| &**module);
    (row.device, &row.raw_op_code, &row.source, module, attributes)
}

/// Pools the launches of each program whose attributes are the same; `exact` has the numbers of all
/// attributes.
fn pooled(ops: &[usize], programs: &[Program<'_>], exact: &[usize]) -> Repetitions {
    let mut groups: HashMap<&Program<'_>, Vec<(usize, usize)>> = HashMap::new();
    for ((&at, program), &attributes) in ops.iter().zip(programs).zip(exact) {
        groups.entry(program).or_default().push((at, attributes));
    }
    let mut ops: Vec<Vec<usize>> = Vec::with_capacity(groups.len());
    for group in groups.into_values() {
        let (launches, attributes): (Vec<usize>, Vec<usize>) = group.into_iter().unzip();
        // All are the same but for numbers.
        let numbers = variants(&attributes, |_| 0);
        let mut by_variant: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, number) in launches.into_iter().zip(numbers) {
            by_variant.entry(number).or_default().push(at);
        }
        ops.extend(by_variant.into_values());
    }
    ops.sort();
    let rule = RepetitionRule::SameProgram;
    Repetitions { rule, iteration_count: 1, left_out: Vec::new(), ops }
}

/// Finds the trace replays that contain the same ops as the longest replay.
fn by_trace(rows: &[OpReport], ops: &[usize], programs: &[Program<'_>]) -> Option<Repetitions> {
    let mut replays: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, &at) in ops.iter().enumerate() {
        if let Some(session) = rows[at].trace_session {
            replays.entry(session).or_default().push(index);
        }
    }
    let longest = replays.values().max_by_key(|replay| replay.len())?;
    let longest: Vec<_> = longest.iter().map(|&index| &programs[index]).collect();
    let same: Vec<_> = replays
        .values()
        .filter(|replay| replay.iter().map(|&index| &programs[index]).eq(longest.iter().copied()))
        .collect();
    if same.len() < 2 {
        return None;
    }
    Some(Repetitions {
        rule: RepetitionRule::TraceReplays,
        iteration_count: same.len(),
        left_out: left_out(ops, &same),
        ops: (0..longest.len())
            .map(|position| same.iter().map(|replay| ops[replay[position]]).collect())
            .collect(),
    })
}

/// Returns the ops that belong to none of the replays.
fn left_out(ops: &[usize], replays: &[&Vec<usize>]) -> Vec<usize> {
    let mut is_kept = vec![false; ops.len()];
    replays.iter().copied().flatten().for_each(|&index| is_kept[index] = true);
    ops.iter().zip(is_kept).filter(|(_, is_kept)| !is_kept).map(|(&at, _)| at).collect()
}

/// Finds the shortest sequence whose repetitions cover all ops. The last repetition may be
/// incomplete.
fn by_sequence(ops: &[usize], programs: &[Program<'_>]) -> Option<Repetitions> {
    let (period, count) = repeated_sequence(programs)?;
    Some(Repetitions {
        rule: RepetitionRule::RepeatedSequence,
        iteration_count: count,
        left_out: ops[count * period..].to_vec(),
        ops: (0..period)
            .map(|position| (0..count).map(|pass| ops[pass * period + position]).collect())
            .collect(),
    })
}

/// Returns the length of the shortest sequence whose repetitions cover all items, and the number of
/// complete repetitions.
///
/// The last repetition may be incomplete. Returns `None` if there are fewer than two complete
/// repetitions.
pub(crate) fn repeated_sequence<T: PartialEq>(items: &[T]) -> Option<(usize, usize)> {
    let period = shortest_period(items);
    let count = items.len().checked_div(period)?;
    (count >= 2).then_some((period, count))
}

/// Returns the length of the sequence whose repetitions up to the last item cover the largest number of items, and
/// the number of complete repetitions; `None` if the end does not repeat.
///
/// If several lengths cover equally many items, the shortest is returned.
///
/// ```
/// use reports::perf::repeated_end;
/// assert_eq!(repeated_end(b"xyabcabcabc"), Some((3, 3)));
/// assert_eq!(repeated_end(b"abcdd"), Some((1, 2)));
/// assert_eq!(repeated_end(b"ababx"), None);
/// ```
#[must_use]
pub fn repeated_end<T: PartialEq>(items: &[T]) -> Option<(usize, usize)> {
    let backwards: Vec<&T> = items.iter().rev().collect();
    let matches = prefix_matches(&backwards);
    let periods = matches.iter().enumerate().skip(1);
    let repeated = periods.filter(|(period, length)| *length >= period);
    let best = repeated.max_by_key(|(period, length)| {
        (period.saturating_add(**length), std::cmp::Reverse(*period))
    });
    best.map(|(period, length)| (period, 1 + length / period))
}

/// Returns the smallest p with `items[i] == items[i + p]` for all i.
fn shortest_period<T: PartialEq>(items: &[T]) -> usize {
    let matches = prefix_matches(items);
    let periods = 1..items.len();
    periods.into_iter().find(|&p| matches[p] == items.len() - p).unwrap_or(items.len())
}

/// Returns, for each index, how many items starting at this index equal the items at the beginning
/// of the list (the Z function). The first number is 0.
///
/// ```
/// assert_eq!(reports::perf::prefix_matches(b"abcabx"), [0, 0, 0, 2, 0, 0]);
/// ```
#[must_use]
pub fn prefix_matches<T: PartialEq>(items: &[T]) -> Vec<usize> {
    let mut matches = vec![0; items.len()];
    // Match that reaches furthest into the list so far.
    let (mut start, mut end) = (0, 0);
    for at in 1..items.len() {
        let mut length = if at < end { matches[at - start].min(end - at) } else { 0 };
        while at + length < items.len() && items[length] == items[at + length] {
            length += 1;
        }
        if at + length > end {
            (start, end) = (at, at + length);
        }
        matches[at] = length;
    }
    matches
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert_eq, proptest};

    #[test]
    fn periods_are_found_though_the_last_one_is_cut() {
        assert_eq!((byte_period("abcabcab"), byte_period("aaaa"), byte_period("abcd")), (3, 1, 4));
        assert_eq!((byte_period("aabaab"), byte_period("")), (3, 0));
    }

    fn byte_period(text: &str) -> usize {
        shortest_period(text.as_bytes())
    }

    /// Reads the rows of a model with two ops. The model ran three times completely, then once
    /// without its second op.
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

    /// The expected means, deviations and medians were computed with Python's `statistics`.
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
        // The first row of a report has no gap before it.
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

    #[test]
    fn the_longest_repeated_end_wins_over_a_loop_within_it() {
        // Two passes of `abbcd`, with the inner loop `bb`.
        assert_eq!(repeated_end(b"abbcdabbcd"), Some((5, 2)));
        assert_eq!(repeated_end(b"zyxabbcdabbcd"), Some((5, 2)), "warm-up differs");
        assert_eq!(repeated_end(b"aaaa"), Some((1, 4)));
        assert_eq!(repeated_end(b"abc"), None);
        assert_eq!(repeated_end(b"babax"), None, "the end does not repeat");
        assert_eq!(repeated_end::<u8>(&[]), None);
    }

    #[test]
    fn matches_are_those_of_the_definition() {
        for number in 0..4096_u32 {
            let items: Vec<u32> = (0..12).map(|bit| number >> bit & 1).collect();
            let slow = (1..12).map(|at| {
                items.iter().zip(&items[at..]).take_while(|(one, other)| one == other).count()
            });
            assert_eq!(prefix_matches(&items)[1..], slow.collect::<Vec<_>>(), "{items:?}");
        }
    }

    proptest! {
        #[test]
        fn the_period_is_that_of_trying_all(items in prop::collection::vec(0_u8..3, 0..40)) {
            let expected = (1..=items.len())
                .find(|&p| (0..items.len() - p).all(|i| items[i] == items[i + p]))
                .unwrap_or(0);
            prop_assert_eq!(shortest_period(&items), expected);
        }
    }
}
