//! The steady part of a recording: its last iteration, without warm-up and compilation.

use crate::{
    finding::percent,
    gap_before::GapBefore,
    iteration::{Doubt, KnownIteration, Lengths, OpStep, Setting, SteadyRule, Step},
    rules::duration,
    threshold::{LONG_GAP, STEADY},
    time_class::TimeClass,
    timeline::DeviceTime,
};
use recording::problem::counted;
use reports::perf::{OpReport, OpsByColumn, RowKind, ops_by_column};
use std::collections::HashMap;

/// Part of a recording that an explanation covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Window {
    /// The last iteration if ops repeat and iterations have most of the kernels' time, otherwise the
    /// whole recording.
    #[default]
    Steady,
    /// The last iteration if ops repeat, whatever its part of the kernels' time, otherwise the whole
    /// recording.
    Last,
    /// The whole recording.
    All,
}

/// Part of a recording that an explanation covers, and the column by which it groups ops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope<'a> {
    /// Part that is explained.
    pub window: Window,
    /// Column of the ops report by which ops are also grouped, as a user writes it.
    pub by: Option<&'a str>,
}

impl Scope<'_> {
    /// The steady part, whose ops are also grouped by the module that called them.
    pub const BY_MODULE: Self = Self { window: Window::Steady, by: Some("module") };
}

impl From<Window> for Scope<'_> {
    fn from(window: Window) -> Self {
        Self { window, by: None }
    }
}

/// The steady part of a recording: its last iteration.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SteadyPart {
    /// Rule that found the part.
    pub rule: SteadyRule,
    /// First row of the part in the ops CSV, numbered as in a spreadsheet; `None` for launches.
    pub first_row: Option<u64>,
    /// Last row of the part in the ops CSV.
    pub last_row: Option<u64>,
    /// First launch of the part on the chip with the longest total time, counted from 1 in time
    /// order; `None` for rows.
    pub first_launch: Option<u64>,
    /// Last launch of the part on the same chip as `first_launch`.
    pub last_launch: Option<u64>,
    /// Number of device ops in the part.
    pub op_count: u64,
    /// Time of kernels and gaps, in nanoseconds, on the chip on which this time is longest.
    pub total_ns: f64,
    /// Part of `total_ns` that is the gap before the first op: each iteration of the loop has one; `None`
    /// if the gap is unknown, or if no other iteration shows that it belongs to the loop.
    pub gap_before_ns: Option<f64>,
    /// Share of the recording's kernel time that all iterations like this one have, on the same chip as
    /// `first_launch`.
    pub kernel_percent: f64,
}

/// Groups the ops of a part by a column. `rule` is the rule that found the part; `None` if it is the whole.
pub(crate) fn ops_of_part(
    rows: &[OpReport],
    column: &str,
    rule: Option<SteadyRule>,
) -> OpsByColumn {
    let by = ops_by_column(rows, column);
    match rule {
        Some(SteadyRule::TraceReplay | SteadyRule::Signpost | SteadyRule::RepeatedOps) => {
            by.of_one_iteration()
        }
        Some(SteadyRule::RepeatedOp) | None => by,
    }
}

/// Finds the last iteration with data that an explanation of `window` covers.
///
/// # Errors
/// If the whole is to be explained: why iterations that were found are not used; `None` if there are
/// none.
pub(crate) fn steady_iteration<F: Fn(usize) -> Option<f64>>(
    steps: &[Step<'_>],
    lengths: &Lengths<F>,
    window: Window,
) -> Result<KnownIteration, Option<Box<Doubt>>> {
    match (window, KnownIteration::new(steps, lengths)) {
        (Window::All, _) => Err(None),
        (Window::Last, Err(Some(doubt))) => Ok(doubt.into_iteration()),
        (_, found) => found,
    }
}

impl Doubt {
    /// Returns the sentence which says why the whole is explained, though ops repeat. `part` returns a
    /// text about steps, and `what` is all of them.
    pub(crate) fn sentence(&self, part: impl Fn(&KnownIteration) -> String, what: &str) -> String {
        let (iteration, why) = match self {
            Self::Parts(iteration, [one, other]) => (
                iteration,
                format!(
                    "ops repeat, but signposts mark the repetitions as parts of one iteration ({one}, \
                     {other})"
                ),
            ),
            Self::Small(iteration) => (iteration, iteration.coverage.doubt(iteration.rule)),
        };
        format!(
            "All {what} are explained, with any compilation: {why}. --window last explains only {}.",
            part(iteration)
        )
    }
}

/// Converts the rows of an ops CSV to the steps of a program: device ops, signposts and other
/// steps.
pub(crate) fn steps_of_rows(rows: &[OpReport]) -> Vec<Step<'_>> {
    let steps = rows.iter().map(|row| match row.kind {
        RowKind::Device => Step::Op(OpStep {
            device: row.device,
            name: &row.raw_op_code,
            form: &row.source,
            setting: Setting::from_row(row),
            replay: row.trace_session.map(|session| (0, session)),
        }),
        RowKind::Signpost => Step::Signpost(&row.raw_op_code),
        RowKind::Host => Step::Other,
    });
    let mut steps: Vec<Step<'_>> = steps.collect();
    fill_core_counts(&mut steps);
    steps
}

/// Gives ops without a known number of cores the number of the other ops that are like them, if this
/// is one number: a row without records of the device does not show that the op differs.
fn fill_core_counts(steps: &mut [Step<'_>]) {
    let is_unknown = |step: &Step<'_>| step.op().is_some_and(|op| op.setting.core_count.is_none());
    if !steps.iter().any(is_unknown) {
        return;
    }
    let mut counts = HashMap::new();
    for op in steps.iter().filter_map(Step::op) {
        let Some(count) = op.setting.core_count else { continue };
        let of_all = counts.entry(op.without_core_count()).or_insert(Some(count));
        *of_all = of_all.filter(|of_all| *of_all == count);
    }
    for step in steps {
        if let Step::Op(op) = step
            && op.setting.core_count.is_none()
        {
            op.setting.core_count = counts.get(&op.without_core_count()).copied().flatten();
        }
    }
}

/// Total time of one chip, and the percentage of this time in which the chip waits for the host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct HostWait {
    /// Chip; `None` if there is only one.
    pub(crate) chip_id: Option<u32>,
    pub(crate) total_ns: f64,
    /// `None` if no gap between ops is known.
    pub(crate) late_percent: Option<f64>,
    /// Number of ops without a known length, and of all ops.
    pub(crate) untimed_ops: (u64, u64),
}

impl HostWait {
    /// Returns the figures of the chip with the longest total time.
    pub(crate) fn from_devices(devices: &[DeviceTime]) -> Self {
        Self::of_longest(devices.iter(), devices.len() > 1)
    }

    /// Returns the figures of a whole recording and of a part of it. A chip without an op in the part is in
    /// neither: what it waited for says nothing about the part.
    pub(crate) fn of_part(all: &[DeviceTime], own: &[DeviceTime]) -> [Self; 2] {
        let is_in_part = |device: &&DeviceTime| own.iter().any(|of| of.chip_id == device.chip_id);
        let are_several = all.len() > 1;
        [
            Self::of_longest(all.iter().filter(is_in_part), are_several),
            Self::of_longest(own.iter(), are_several),
        ]
    }

    fn of_longest<'a>(devices: impl Iterator<Item = &'a DeviceTime>, are_several: bool) -> Self {
        let longest = devices.max_by_key(|device| device.time.total_ns);
        longest.map_or_else(Self::default, |device| Self {
            chip_id: device.chip_id.filter(|_| are_several),
            total_ns: device.time.total_ns.unwrap_or(0) as f64,
            late_percent: device.time.known_percent(TimeClass::HostLate),
            untimed_ops: (device.untimed_op_count, device.op_count),
        })
    }
}

/// Returns a sentence for each chip that has no op in a part of a recording, the busiest first; at most
/// [`NAMED_CHIPS`].
pub(crate) fn chips_outside(all: &[DeviceTime], own: &[DeviceTime]) -> String {
    let kernels_ns = |device: &DeviceTime| device.kernel_sum_ns.unwrap_or(0) as f64;
    let whole_ns: f64 = all.iter().map(kernels_ns).sum();
    let is_outside = |device: &&DeviceTime| own.iter().all(|of| of.chip_id != device.chip_id);
    let mut outside: Vec<(u32, &DeviceTime)> =
        all.iter().filter(is_outside).filter_map(|of| Some((of.chip_id?, of))).collect();
    outside.sort_by(|(_, one), (_, other)| kernels_ns(other).total_cmp(&kernels_ns(one)));
    let named = outside.iter().take(NAMED_CHIPS).map(|(chip_id, device)| {
        let ops = counted(device.op_count, "op", "ops");
        let ns = kernels_ns(device);
        format!(
            " Chip {chip_id} has no op in it: its {ops} take {} of kernels, {:.1} % of all chips' kernels.",
            duration(ns),
            percent(ns, whole_ns)
        )
    });
    let more = match outside.len().saturating_sub(NAMED_CHIPS) {
        0 => String::new(),
        count => format!(" Nor have {}.", counted(count as u64, "other chip", "other chips")),
    };
    named.chain([more]).collect()
}

/// Maximum number of chips outside of a part that are named.
const NAMED_CHIPS: usize = 3;

/// Comparison of the steady part with the whole recording.
pub(crate) struct Apart {
    /// Text about the rule that found the part.
    pub(crate) rule: String,
    /// Text about the part, such as "rows 3 to 9".
    pub(crate) part: String,
    /// Sentences about ops without a known length.
    pub(crate) unknown_ops: String,
    /// Sentence about kernels outside of the iterations.
    pub(crate) coverage: String,
    /// Sentences about chips without an op in the part.
    pub(crate) outside: String,
    pub(crate) all: HostWait,
    pub(crate) own: HostWait,
    /// Gaps of the chip of `all` before the steady part.
    pub(crate) gaps_before_ns: Vec<f64>,
    /// Gap before the first op of the steady part; `None` if it is unknown.
    pub(crate) gap_before: Option<GapBefore>,
    /// Sum of all gaps of this chip.
    pub(crate) gaps_ns: f64,
    pub(crate) iterations: IterationTimes,
}

/// Times of the iterations in which each op has a known length.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct IterationTimes {
    /// Number of iterations; 0 if unknown.
    pub(crate) count: usize,
    /// Number of iterations in which each op has a known length.
    pub(crate) complete_count: usize,
    /// Times of the last complete iterations, in time order.
    pub(crate) last_ns: Vec<f64>,
    /// Kernel time of each chip in the last complete iteration and in the one before.
    pub(crate) chips_ns: Vec<(u32, [f64; 2])>,
}

/// Maximum number of iterations whose times a sentence lists.
pub(crate) const NAMED_ITERATIONS: usize = 5;

impl IterationTimes {
    /// Returns the sentence about the times of iterations; empty for a single iteration.
    ///
    /// The first iteration includes compilation, so two iterations do not show whether the last one
    /// is steady.
    fn sentence(&self) -> String {
        let Self { count, complete_count, last_ns, .. } = self;
        let Some((last, others)) = last_ns.split_last().filter(|(_, others)| !others.is_empty())
        else {
            return String::new();
        };
        let named: Vec<String> = others.iter().map(|ns| duration(*ns)).collect();
        let which = match last_ns.len() {
            shown if shown < *complete_count && complete_count < count => {
                format!(
                    "The last {shown} of {complete_count} complete iterations, of {count} in all,"
                )
            }
            shown if shown < *complete_count => format!("The last {shown} of {count} iterations"),
            shown if shown < *count => format!("The {shown} complete ones of {count} iterations"),
            _ => format!("The {count} iterations"),
        };
        let ratio = others.last().map_or(1.0, |before| before.max(*last) / before.min(*last));
        let steady = match *complete_count > 2 && ratio >= STEADY.value {
            true => format!(": the last may not be steady{}", self.changed_chips()),
            false => String::new(),
        };
        format!(" {which} take {} and {}{steady}.", named.join(", "), duration(*last))
    }
}

impl IterationTimes {
    /// Returns which chips have changed if others have not; empty otherwise.
    fn changed_chips(&self) -> String {
        let changes =
            self.chips_ns.iter().map(|(chip_id, [last, before])| (chip_id, last / before));
        let is_change = |times: f64| times >= STEADY.value || times <= 1.0 / STEADY.value;
        let changed: Vec<(&u32, f64)> = changes.filter(|(_, times)| is_change(*times)).collect();
        if changed.is_empty() || changed.len() == self.chips_ns.len() {
            return String::new();
        }
        let chips: Vec<String> = changed
            .iter()
            .map(|(chip_id, times)| format!("those of chip {chip_id} {times:.2} times as long"))
            .collect();
        let all = self.chips_ns.len();
        format!("; of {all} chips, the kernels of {} changed: {}", changed.len(), chips.join(", "))
    }
}

impl Apart {
    /// Returns the sentence that compares the part with the whole recording.
    pub(crate) fn sentence(&self) -> String {
        let long: Vec<f64> =
            self.gaps_before_ns.iter().copied().filter(|gap| *gap > LONG_GAP.value * 1e6).collect();
        let long_gaps = percent(long.iter().sum(), self.gaps_ns);
        let long_gaps = match long.len() {
            0 => String::new(),
            1 => format!("; 1 gap over 10 ms before the steady part is {long_gaps:.0} % of that"),
            count => {
                format!(
                    "; {count} gaps over 10 ms before the steady part are {long_gaps:.0} % of that"
                )
            }
        };
        let chip =
            |id: Option<u32>| id.map_or_else(|| "the chip".to_owned(), |id| format!("chip {id}"));
        let it = if self.own.chip_id == self.all.chip_id {
            "it".to_owned()
        } else {
            chip(self.own.chip_id)
        };
        let (rule, part, own) = (&self.rule, &self.part, duration(self.own.total_ns));
        let Self { coverage, outside, unknown_ops, .. } = self;
        let rest = format!("{coverage}{outside}{unknown_ops}{}", self.iterations.sentence());
        let (Some(all_percent), Some(own_percent)) = (self.all.late_percent, self.own.late_percent)
        else {
            return format!(
                "How long {} waited for the host is unknown: the gaps between ops are not recorded. The \
                 steady part ({rule}: {part}) has {own} of kernels; all below is about that \
                 part.{rest}",
                chip(self.all.chip_id),
            );
        };
        let untimed = match self.all.untimed_ops {
            (0, _) => String::new(),
            (count, all) => {
                format!(", as far as they are known: {count} of {all} ops have no length")
            }
        };
        let before = self.gap_before.map_or_else(String::new, |gap| gap.told());
        format!(
            "{all_percent:.1} % of {} {} waited for the host{untimed}{long_gaps}. In the steady part ({rule}: {part}, \
             {own}{before}) {it} waits {own_percent:.1} %; all below is about that part.{rest}",
            duration(self.all.total_ns),
            chip(self.all.chip_id),
        )
    }
}

/// Returns a text about the rows of an iteration.
pub(crate) fn rows_text(rows: &[OpReport], iteration: &KnownIteration) -> String {
    let own = rows.get(iteration.steps.clone()).unwrap_or(&[]);
    let mut ids = own.iter().filter(|row| row.kind == RowKind::Device).map(|row| row.id);
    let first = ids.next();
    match (first, ids.next_back()) {
        (Some(first), Some(last)) => format!("rows {first} to {last}"),
        (Some(only), None) => format!("row {only}"),
        (None, _) => String::new(),
    }
}

impl SteadyPart {
    /// Returns the part of `rows` that an iteration covers, and the sentence that compares this part
    /// with the whole recording.
    ///
    /// `devices` has the times of chips in all rows, and those in the part.
    pub(crate) fn from_rows(
        rows: &[OpReport],
        iteration: &KnownIteration,
        devices: [&[DeviceTime]; 2],
        (iterations, gap_of): (IterationTimes, impl Fn(Option<u32>) -> Option<GapBefore>),
    ) -> Option<(Self, String)> {
        let [all, own] = HostWait::of_part(devices[0], devices[1]);
        let (rule, first) = (iteration.rule, iteration.steps.start);
        let part = rows.get(iteration.steps.clone())?;
        let ops = part.iter().enumerate().filter(|(_, row)| row.kind == RowKind::Device);
        let (first_op, &OpReport { id: first_row, .. }) = ops.clone().next()?;
        let (_, &OpReport { id: last_row, .. }) = ops.clone().next_back()?;
        let is_of_chip = |row: &&OpReport| all.chip_id.is_none_or(|_| row.chip_id() == all.chip_id);
        let gaps = |rows: &[OpReport]| -> Vec<f64> {
            let own = rows.iter().filter(is_of_chip);
            own.filter_map(|row| row.op_to_op_gap_us.map(|us| us * 1e3)).collect()
        };
        let part_of = |gap: Option<GapBefore>| gap.and_then(|gap| gap.of_loop_ns());
        // The gap of the chip whose waiting is told.
        let begin = part.iter().position(|row| row.kind == RowKind::Device && is_of_chip(&row));
        let begin = first.saturating_add(begin.unwrap_or(first_op));
        let is_left_out = part_of(gap_of(all.chip_id)).is_none();
        let gap_before = gap_of(own.chip_id);
        let apart = Apart {
            rule: iteration.label(),
            unknown_ops: iteration.unknown_ops(),
            coverage: iteration.coverage.sentence(rule),
            outside: chips_outside(devices[0], devices[1]),
            part: rows_text(rows, iteration),
            all,
            own,
            gaps_before_ns: gaps(rows.get(..begin.saturating_add(usize::from(is_left_out)))?),
            gap_before,
            gaps_ns: gaps(rows).iter().fold(0.0, |sum, ns| sum + ns.max(0.0)),
            iterations,
        };
        let part = Self {
            rule,
            first_row: Some(first_row),
            last_row: Some(last_row),
            first_launch: None,
            last_launch: None,
            op_count: ops.count() as u64,
            total_ns: own.total_ns,
            gap_before_ns: part_of(gap_before),
            kernel_percent: iteration.coverage.percent,
        };
        Some((part, apart.sentence()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chip_that_has_changed_alone_is_named() {
        let told = |chips_ns: &[(u32, [f64; 2])]| {
            let last_ns = vec![246e3, 246e3, 342e3];
            let chips_ns = chips_ns.to_vec();
            IterationTimes { count: 3, complete_count: 3, last_ns, chips_ns }.sentence()
        };
        let one = told(&[(0, [240e3, 240e3]), (1, [336e3, 240e3])]);
        let wanted = "the last may not be steady; of 2 chips, the kernels of 1 changed: those of chip 1 \
                      1.40 times as long.";
        assert!(one.ends_with(wanted), "{one}");
        for all in [&[(0, [336e3, 240e3]), (1, [336e3, 240e3])][..], &[(0, [336e3, 240e3])], &[]] {
            assert!(told(all).ends_with("the last may not be steady."));
        }
    }

    #[test]
    fn iterations_of_different_times_are_hardly_steady() {
        let told = |count, complete_count, last_ns: &[f64]| {
            let last_ns = last_ns.to_vec();
            IterationTimes { count, complete_count, last_ns, ..IterationTimes::default() }
                .sentence()
        };
        assert_eq!(told(0, 0, &[]), "");
        assert_eq!(told(1, 1, &[5e6]), "");
        // The host compiles kernels in the first iteration.
        assert_eq!(told(2, 2, &[9e9, 5e6]), " The 2 iterations take 9.00 s and 5.0 ms.");
        assert_eq!(
            told(3, 3, &[9e9, 5.9e6, 5e6]),
            " The 3 iterations take 9.00 s, 5.9 ms and 5.0 ms."
        );
        assert_eq!(
            told(7, 7, &[6e6, 5e6, 6e6]),
            " The last 3 of 7 iterations take 6.0 ms, 5.0 ms and 6.0 ms: the last may not be steady."
        );
        assert_eq!(
            told(4, 3, &[6e6, 5e6, 5e6]),
            " The 3 complete ones of 4 iterations take 6.0 ms, 5.0 ms and 5.0 ms."
        );
        assert_eq!(
            told(9, 6, &[5e6, 5e6]),
            " The last 2 of 6 complete iterations, of 9 in all, take 5.0 ms and 5.0 ms."
        );
    }
}
