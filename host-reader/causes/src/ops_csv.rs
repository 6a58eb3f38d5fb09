//! Explanation of ops CSVs: gaps, ops on the host, and modelled limits.

use crate::{
    counter_sentence::counter_sentence_of_rows,
    duration::duration,
    explanation::{Explanation, SCHEMA_VERSION, sentences},
    finding::{Finding, GainOf, Place, Untold},
    gap_before::GapBefore,
    host_time::{add_host_facts, built_again},
    iteration::{Doubt, KnownIteration, Lengths, SteadyRule},
    missing_lengths,
    no_cause::{NoCause, has_no_length},
    noc_use::NocUses,
    op_code_group::{OpCodeGroup, op_code_groups},
    parallel::{ChipOp, busiest_share},
    rules::{self, Compilation, IterationScope, ModelFacts, TracedGaps, Waiting},
    steady::{
        HostWait, IterationTimes, NAMED_ITERATIONS, Scope, SteadyPart, Window, rows_text,
        steady_iteration, steps_of_rows,
    },
    threshold::{LAUNCH_GAP, SMALL_OP},
    time_class::{ClassTimes, TimeClass, TimeSplit},
    time_sum::time_sums,
    timeline::{DeviceTime, SideBySide, Slot, alone_cycles, slot_times},
};
use recording::problem::counted;
use reports::perf::{
    BoundAnalysis, DurationDoubt, OpCategory, OpReport, PerfReport, Problem, ProgramBuilds,
    RowKind, ops_by_column,
};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

/// Sentence about rows that contain no repeated sequence of ops.
const NOTHING_REPEATS: &str = "No second iteration was found: times include any compilation, and \
    gains of kernels are shares of the kernels' time.";

/// Sentence about an explanation that covers all rows.
const ALL_ROWS: &str = "All rows, as asked for: warm-up and compilation are part of the time.";

impl Explanation {
    /// Explains ops CSVs. `report` must list each device separately, without merging devices.
    ///
    /// ```
    /// use causes::{Cause, Explanation};
    /// use reports::perf::{PerfOptions, PerfReport, read_ops_csv};
    /// let mut text = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]\n".to_owned();
    /// for _ in 0..5 {
    ///     text.push_str("Softmax,tt_dnn_device,0,10000,90000\n");
    /// }
    /// let csv = read_ops_csv(text.as_bytes(), "ops.csv")?;
    /// let options = PerfOptions { is_by_device: true, ..PerfOptions::default() };
    /// let explanation = Explanation::from_perf_report(&PerfReport::new(vec![csv], &options)?);
    /// assert_eq!(explanation.findings[0].cause, Cause::Host);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn from_perf_report(report: &PerfReport) -> Self {
        Self::from_perf_window(report, Window::Steady)
    }

    /// Explains a part of the rows.
    #[must_use]
    pub fn from_perf_window<'a>(report: &PerfReport, scope: impl Into<Scope<'a>>) -> Self {
        let Scope { window, by } = scope.into();
        let all_rows = rows_that_ran(report);
        let steps = steps_of_rows(&all_rows);
        let length = |at: usize| {
            let row = all_rows.get(at).filter(|row| row.kind == RowKind::Device)?;
            row.device_time_us.map(|us| us * 1000.0)
        };
        let found = steady_iteration(&steps, &Lengths { of: length, are_ns: true }, window);
        let (found, doubt) = (found.as_ref().ok().cloned(), found.err().flatten());
        let gaps = found.as_ref().map(|found| gaps_before(&all_rows, found)).unwrap_or_default();
        let of_loop = |chip_id: Option<u32>| gaps.get(&chip_id)?.of_loop_ns();
        let part = |of: &KnownIteration| IterationRows::new(&all_rows, of.steps.clone(), of_loop);
        let own = found.as_ref().and_then(part);
        let (rows, devices) = match &own {
            Some(own) => (&*own.rows, own.devices()),
            None => (&*all_rows, devices(&all_rows, &Leads::new())),
        };
        let steady = found.and_then(|found| {
            let all = self::devices(&all_rows, &Leads::new());
            let waits = [&all, &devices].map(|of| HostWait::from_devices(of));
            let times = iteration_times(&all_rows, &found.equal, of_loop);
            let gap_of = |chip_id: Option<u32>| match chip_id {
                Some(_) => gaps.get(&chip_id).copied(),
                None => gaps.values().next().copied(),
            };
            SteadyPart::from_rows(&all_rows, &found, waits, (times, gap_of))
        });
        let doubted = |doubt: &Doubt| {
            let gains = "Gains of kernels are shares of the kernels' time.";
            let part = |of: &KnownIteration| rows_text(&all_rows, of);
            format!("{} {gains}", doubt.sentence(part, "rows"))
        };
        let (steady, sentence) = match (steady, window) {
            (Some((steady, sentence)), _) => (Some(steady), sentence),
            (None, Window::All) => (None, ALL_ROWS.to_owned()),
            (None, _) => (None, doubt.as_deref().map_or(NOTHING_REPEATS.to_owned(), doubted)),
        };
        let mut explanation = Self {
            schema_version: SCHEMA_VERSION,
            untold: untold(report, &all_rows),
            steady,
            // The sentence is left out if no op has a known length.
            window: (!devices.iter().all(has_no_length)).then_some(sentence),
            time_sums: time_sums(&devices),
            counters: counter_sentence_of_rows(rows),
            by: by.and_then(|by| report.column(by)).map(|by| ops_by_column(rows, &by)),
            devices,
            unreplayed_traces: sentences(&report.unreplayed_traces),
            not_used: report
                .problems
                .iter()
                .map(without_file)
                .chain(guessed_chip(report))
                .chain(report.chip.clock.clone())
                .chain(refuted_models(rows))
                // Cycles of several runs are far apart, though no row is missing.
                .chain(removed_rows(rows).filter(|_| !report.has_joined_runs))
                .collect(),
            ..Self::default()
        };
        let iterations = IterationScope::new(explanation.steady.is_some(), doubt.is_some(), window);
        explanation.add_row_findings((rows, &all_rows), iterations, &report.builds);
        explanation.no_cause =
            explanation.findings.is_empty().then(|| NoCause::from_csv(&explanation, report));
        explanation
    }

    /// Adds the findings from the rows of an ops CSV, and ranks all findings. `all_rows` shows which
    /// chips are late again and again.
    fn add_row_findings(
        &mut self,
        all @ (rows, all_rows): (&[OpReport], &[OpReport]),
        iterations: IterationScope,
        builds: &ProgramBuilds,
    ) {
        self.groups = op_code_groups(rows, &NocUses::new());
        // Compared with hours of compilation, any gain in kernels is negligible. So gains are
        // shares of the last iteration if there is one, otherwise of the kernel time.
        let whole = match &self.steady {
            Some(steady) => (steady.total_ns, GainOf::Steady),
            None => (busiest_ns(&self.groups), GainOf::Kernels),
        };
        let mut kernels = rules::op_groups(&self.groups);
        kernels.extend(rules::conversions(&self.groups, rows));
        kernels.extend(rules::modelled(&model_facts(rows, Place::from_row), &kernels));
        let device_rows = rows.iter().filter(|row| row.kind == RowKind::Device);
        let durations_ns: Vec<(Option<u32>, f64)> = device_rows
            .filter_map(|row| Some((row.chip_id(), row.device_time_us? * 1000.0)))
            .collect();
        let small = rules::small_ops(&durations_ns, whole);
        kernels.extend(small.map(|of| at_rows(of, &small_rows(rows))));
        let [chip_ops, all_ops] = [rows, all_rows].map(ChipOp::from_rows);
        let (slow, slow_in_all) = slow_chips(&chip_ops, &all_ops);
        kernels.extend(slow);
        kernels.extend(rules::collective_skew(&chip_ops, &all_ops, None));
        self.untold.extend(rules::chip_starts(&all_ops, None).1);
        for finding in &mut kernels {
            finding.measure_against(whole);
        }
        let waits = WAITING_CLASSES
            .map(|class| rules::waiting(&waiting(all, &self.devices, (class, iterations))?));
        self.findings.extend(waits.into_iter().flatten());
        add_host_facts(&mut self.findings, rows, all_rows);
        self.findings.extend(built_again(rows, builds, Place::from_row));
        self.findings.extend(kernels);
        self.findings.extend(slow_in_all);
        self.findings.extend(host_ops(rows));
        self.rank();
    }
}

/// Returns the findings about chips that are slow in the explained part, and those about ops of which only
/// all rows together have enough launches. The latter are not measured against the part.
fn slow_chips(part: &[ChipOp<'_>], all: &[ChipOp<'_>]) -> (Vec<Finding>, Vec<Finding>) {
    let of_part: BTreeMap<String, Finding> = rules::slow_chips(part).into_iter().collect();
    let names: BTreeSet<&str> = part.iter().map(|op| &*op.name).collect();
    let more = rules::slow_chips(all)
        .into_iter()
        .filter(|(name, _)| names.contains(name.as_str()) && !of_part.contains_key(name));
    let more = more.map(|(_, finding)| finding).collect();
    (of_part.into_values().collect(), more)
}

/// Returns a problem as a sentence without the name of the file, which is the only one.
fn without_file(problem: &Problem) -> String {
    let text = problem.to_string();
    let rest = text.strip_prefix(&problem.file).unwrap_or(&text);
    rest.trim_start_matches([':', ' ']).to_owned()
}

/// Returns a sentence about ops that would have been faster than the chip's peak rates.
fn refuted_models(rows: &[OpReport]) -> Option<String> {
    let refuted: Vec<_> = rows.iter().filter(|row| row.is_model_refuted).collect();
    let first = refuted.first()?;
    let op_count = rows.iter().filter(|row| row.kind == RowKind::Device).count() as u64;
    Some(format!(
        "the model of {} of {} exceeds a peak rate of the chip, so it is wrong and its figures are left out: \
         {} in row {}{}",
        refuted.len(),
        counted(op_count, "op", "ops"),
        first.raw_op_code,
        first.id,
        if refuted.len() > 1 { " and others" } else { "" },
    ))
}

/// Returns a sentence about the chips whose ops are much further apart by their cycles than by their gaps.
fn removed_rows(rows: &[OpReport]) -> Option<String> {
    let spans = rows_by_device(rows).into_iter().filter_map(|(chip_id, rows)| {
        let RowSlots { slots, side_by_side, .. } = slots_of_rows(&rows)?;
        let is_whole = side_by_side.is_some() || are_all_there(&slots, &rows);
        let span_ns = slots.iter().map(|slot| slot.end).max()?;
        (!is_whole).then_some((chip_id, span_ns))
    });
    let spans: Vec<_> = spans.collect();
    let (chip_id, span_ns) = spans.iter().max_by_key(|(_, span_ns)| *span_ns)?;
    let chip = chip_id.map_or_else(String::new, |chip_id| format!(" of chip {chip_id}"));
    let others = match spans.len().saturating_sub(1) {
        0 => String::new(),
        count => format!(", and those of {}", counted(count as u64, "other chip", "other chips")),
    };
    Some(format!(
        "the ops{chip} span {} by their cycles{others}, far more than they and their gaps take: rows between \
         them are missing, or their gaps are wrong; the time is the sum of the rows that are there",
        duration(*span_ns as f64)
    ))
}

/// Returns a sentence about a chip whose architecture was guessed, if any figure rests on it, or
/// that could not be guessed.
fn guessed_chip(report: &PerfReport) -> Option<String> {
    if let Some(why) = &report.chip.contradiction {
        return Some(format!(
            "the file does not name its chip, and {why}: there are no peak rates and no limits; kprof \
             perf takes a chip (--arch)"
        ));
    }
    let rests_on_it = |row: &OpReport| {
        let has_rate = row.dram_percent.is_some() || row.flops_percent.is_some();
        has_rate || row.limit.is_some() || row.core_count.is_some()
    };
    let guess = report.chip.guess.as_ref().filter(|_| report.rows.iter().any(rests_on_it))?;
    let arch = report.chip.arch.as_ref()?;
    Some(format!(
        "the file does not name its chip: peak rates and {} available cores are those of a guess \
         ({guess}); kprof perf takes another (--arch)",
        report.chip.worker_core_count.unwrap_or(arch.worker_cores)
    ))
}

/// Classes of time that get their own sentence if their share is large.
const WAITING_CLASSES: [TimeClass; 3] =
    [TimeClass::HostLate, TimeClass::Dispatch, TimeClass::Collective];

/// Returns the ops that are shorter than the limit for short ops, sorted by descending length.
fn small_rows(rows: &[OpReport]) -> Vec<&OpReport> {
    let ops = rows.iter().filter(|row| row.kind == RowKind::Device);
    let timed = ops.filter_map(|row| Some((row.device_time_us?, row)));
    let mut small: Vec<_> = timed.filter(|(us, _)| *us < SMALL_OP.value).collect();
    small.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    small.into_iter().map(|(_, row)| row).collect()
}

/// Returns the finding about ops on the host, located at their rows.
pub(crate) fn host_ops(rows: &[OpReport]) -> Option<Finding> {
    let rows: Vec<&OpReport> = rows.iter().filter(|row| row.kind == RowKind::Host).collect();
    let names: Vec<&str> = rows.iter().map(|row| &*row.raw_op_code).collect();
    Some(at_rows(rules::host_ops(&names)?, &rows))
}

/// Sets the location of a finding to the first of these rows, and lists up to three of the rows.
fn at_rows(mut finding: Finding, rows: &[&OpReport]) -> Finding {
    finding.rows = rows.iter().take(3).map(|row| row.id).collect();
    finding.place.row = finding.rows.first().copied();
    finding
}

/// Returns the rows without ops that were only captured into a trace, which take no time.
fn rows_that_ran(report: &PerfReport) -> Cow<'_, [OpReport]> {
    if report.rows.iter().any(|row| row.is_captured) {
        report.rows.iter().filter(|row| !row.is_captured).cloned().collect()
    } else {
        Cow::Borrowed(&report.rows)
    }
}

/// Gap before the first op of an iteration on a chip that is part of the iteration.
#[derive(Clone, Copy, Debug)]
struct Lead {
    gap_ns: f64,
    /// Replay of a trace that launched the op before the gap.
    replay: Option<u64>,
}

/// Gaps that are part of the covered time, by chip.
type Leads = BTreeMap<Option<u32>, Lead>;

/// Rows of an iteration.
struct IterationRows {
    rows: Vec<OpReport>,
    leads: Leads,
}

impl IterationRows {
    /// Returns the rows of `range`. `of_loop` returns the gap before a chip's first op as far as it is
    /// part of the iteration; the rest of this gap precedes the iteration.
    fn new(
        all: &[OpReport],
        range: Range<usize>,
        of_loop: impl Fn(Option<u32>) -> Option<f64>,
    ) -> Option<Self> {
        let mut rows = all.get(range.clone())?.to_vec();
        let earlier = all.get(..range.start)?;
        let mut begun = BTreeSet::new();
        let mut leads = Leads::new();
        for row in rows.iter_mut().filter(|row| row.kind == RowKind::Device) {
            let chip_id = row.chip_id();
            if !begun.insert(chip_id) {
                continue;
            }
            let gap_ns = of_loop(chip_id).filter(|ns| *ns > 0.0);
            (row.op_to_op_gap_us, row.is_gap_unknown) = (gap_ns.map(|ns| ns / 1e3), false);
            let before = op_before(earlier, chip_id);
            let replay = before.and_then(|row| row.trace_session);
            leads.extend(gap_ns.map(|gap_ns| (chip_id, Lead { gap_ns, replay })));
        }
        Some(Self { rows, leads })
    }

    fn devices(&self) -> Vec<DeviceTime> {
        devices(&self.rows, &self.leads)
    }
}

/// Returns the last op of a chip.
fn op_before(rows: &[OpReport], chip_id: Option<u32>) -> Option<&OpReport> {
    rows.iter().rev().find(|row| row.kind == RowKind::Device && row.chip_id() == chip_id)
}

/// Number of ops before another one that may end after its start, because they run side by side.
const MOST_SIDE_BY_SIDE: usize = 32;

/// Returns the gap before the iteration on each chip whose gap is known.
fn gaps_before(rows: &[OpReport], found: &KnownIteration) -> BTreeMap<Option<u32>, GapBefore> {
    let is_device = |row: &&OpReport| row.kind == RowKind::Device;
    // Each run of a single op is one iteration; the first one is not in the part.
    let runs = || {
        let own = found.steps.clone().filter(|at| rows.get(*at).as_ref().is_some_and(is_device));
        let first =
            rows.get(..found.steps.start).and_then(|of| of.iter().rposition(|row| is_device(&row)));
        first.into_iter().chain(own).map(|at| at..at.saturating_add(1)).collect()
    };
    let (iterations, at): (Vec<Range<usize>>, Option<usize>) = match found.rule {
        SteadyRule::RepeatedOp => (runs(), Some(1)),
        _ => (found.equal.clone(), found.equal.iter().position(|of| *of == found.steps)),
    };
    let own = rows.get(found.steps.clone()).unwrap_or(&[]);
    let chips: BTreeSet<Option<u32>> =
        own.iter().filter(is_device).map(OpReport::chip_id).collect();
    let gap_in = |range: &Range<usize>, chip_id: Option<u32>| {
        let own = range.clone().filter_map(|at| Some((at, rows.get(at)?)));
        let own = own.filter(|(_, row)| is_device(row) && row.chip_id() == chip_id);
        let begin = own.clone().map(|(at, _)| at).next()?;
        // Of ops side by side, another one than the first may start first, and than the last end last.
        let start = |row: &OpReport| firmware_cycles(row).map(|(start, _)| start);
        let (_, row) = own.min_by_key(|(_, row)| (start(row).is_none(), start(row)))?;
        let earlier = rows.get(..begin)?.iter().rev();
        let own = earlier.filter(|of| is_device(of) && of.chip_id() == chip_id);
        let mut earlier = own.take(MOST_SIDE_BY_SIDE).peekable();
        earlier.peek()?;
        let by_column = row.op_to_op_gap_us.map(|us| us * 1e3);
        let by_cycles = earlier.filter_map(|before| gap_by_cycles(before, row));
        let known = by_column.into_iter().chain(by_cycles);
        known.reduce(f64::min).filter(|ns| *ns > 0.0)
    };
    let gaps = chips.into_iter().filter_map(|chip_id| {
        let own_ns = gap_in(&found.steps, chip_id)?;
        let mut gaps: Vec<_> = iterations.iter().map(|range| gap_in(range, chip_id)).collect();
        if let Some(own) = at.and_then(|at| gaps.get_mut(at)) {
            *own = Some(own_ns);
        }
        let alone = || GapBefore::new(&[Some(own_ns)], 0);
        Some((chip_id, at.and_then(|at| GapBefore::new(&gaps, at)).or_else(alone)?))
    });
    gaps.collect()
}

/// Returns the time between two ops of a chip by the cycles of their firmware; `None` if it is unknown, and
/// not positive for ops that overlap.
fn gap_by_cycles(before: &OpReport, after: &OpReport) -> Option<f64> {
    let (_, end) = firmware_cycles(before)?;
    let (start, _) = firmware_cycles(after)?;
    let clock_ghz = after.clock_ghz.or(before.clock_ghz)?;
    Some((start as f64 - end as f64) / clock_ghz)
}

/// Returns the times of the last [`NAMED_ITERATIONS`] iterations in which each op has a known
/// length. The gap before an iteration is included as in the part that is explained: `of_loop` returns
/// it for each chip that has one there.
fn iteration_times(
    rows: &[OpReport],
    iterations: &[Range<usize>],
    of_loop: impl Fn(Option<u32>) -> Option<f64>,
) -> IterationTimes {
    let is_complete = |range: &&Range<usize>| {
        let ops = rows.get((*range).clone()).unwrap_or(&[]).iter();
        ops.filter(|row| row.kind == RowKind::Device).all(|row| row.device_time_us.is_some())
    };
    let ranges: Vec<&Range<usize>> = iterations.iter().filter(is_complete).collect();
    let complete: Vec<&[OpReport]> =
        ranges.iter().filter_map(|range| rows.get((*range).clone())).collect();
    let named = ranges.iter().skip(ranges.len().saturating_sub(NAMED_ITERATIONS));
    let times = named.filter_map(|range| {
        let has_gap = iterations.first() != Some(*range);
        let first = |chip_id: Option<u32>| {
            let mut own = rows.get((*range).clone())?.iter();
            own.find(|row| row.kind == RowKind::Device && row.chip_id() == chip_id)
        };
        let gap_ns = |chip_id: Option<u32>| {
            of_loop(chip_id).filter(|_| has_gap)?;
            first(chip_id)?.op_to_op_gap_us.map(|us| us * 1e3)
        };
        let own = IterationRows::new(rows, (*range).clone(), gap_ns)?;
        Some(HostWait::from_devices(&own.devices()).total_ns)
    });
    IterationTimes {
        count: iterations.len(),
        complete_count: complete.len(),
        last_ns: times.collect(),
        chips_ns: match complete.as_slice() {
            [.., before, last] => kernels_by_chip(last, before),
            _ => Vec::new(),
        },
    }
}

/// Returns the kernel time of each chip that both iterations have, in nanoseconds.
fn kernels_by_chip(last: &[OpReport], before: &[OpReport]) -> Vec<(u32, [f64; 2])> {
    let sums = |rows: &[OpReport]| {
        let mut chips: BTreeMap<u32, f64> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.kind == RowKind::Device) {
            if let Some((chip_id, us)) = row.chip_id().zip(row.device_time_us) {
                *chips.entry(chip_id).or_default() += us * 1000.0;
            }
        }
        chips
    };
    let before = sums(before);
    let both = sums(last).into_iter().filter_map(|(chip_id, last_ns)| {
        let before_ns = before.get(&chip_id).filter(|ns| **ns > 0.0)?;
        Some((chip_id, [last_ns, *before_ns]))
    });
    both.collect()
}

/// Returns the kernel time of groups on the chip that has most of it.
pub(crate) fn busiest_ns(groups: &[OpCodeGroup]) -> f64 {
    let chips = groups.iter().flat_map(|group| group.chips_ns.iter().copied());
    let whole_ns: f64 = groups.iter().map(|group| group.duration_ns).sum();
    whole_ns * busiest_share(chips)
}

/// Returns the time in `class` on the chip on which this class has the largest share of the time,
/// and the gaps or collectives of this chip.
fn waiting(
    (rows, all_rows): (&[OpReport], &[OpReport]),
    devices: &[DeviceTime],
    (class, iterations): (TimeClass, IterationScope),
) -> Option<Waiting> {
    let (most, waiting) = Waiting::on_chip(devices, class, iterations)?;
    let own =
        rows.iter().filter(|row| row.kind == RowKind::Device && row.chip_id() == most.chip_id);
    let launch_gap_ns = LAUNCH_GAP.value * 1000.0;
    let parts = own.clone().filter_map(|row| {
        let gap_ns = row.op_to_op_gap_us.map(|us| us * 1000.0);
        let ns = match class {
            // For collectives, the parts are the ops themselves.
            TimeClass::Collective => {
                row.device_time_us.filter(|_| class_of(row.category) == class)? * 1000.0
            }
            _ => class.part_of_gap(gap_ns?, false)?,
        };
        Some((ns, Place { row: Some(row.id), ..Place::default() }))
    });
    let after_gaps = own.clone().filter_map(|row| {
        let gap_ns = row.op_to_op_gap_us? * 1000.0;
        (gap_ns > launch_gap_ns).then_some((gap_ns, row.compile_duration_ns))
    });
    Some(Waiting {
        parts: parts.collect(),
        between: between_rows(
            before_part(rows, all_rows, most.chip_id).into_iter().chain(own.clone()),
        ),
        compilation: Compilation::in_gaps(after_gaps),
        traced: TracedGaps::new(
            own.clone().filter_map(|row| Some((row.is_of_trace, row.op_to_op_gap_us? * 1000.0))),
        ),
        ..waiting
    })
}

/// Returns the last op of a chip before the part of all rows.
fn before_part<'a>(
    part: &[OpReport],
    all: &'a [OpReport],
    chip_id: Option<u32>,
) -> Option<&'a OpReport> {
    let first = part.first()?;
    let at = all.iter().position(|row| (row.id, row.kind) == (first.id, first.kind))?;
    op_before(all.get(..at)?, chip_id)
}

/// Returns texts about the rows before and after the longest gap of a chip.
fn between_rows<'a>(rows: impl Iterator<Item = &'a OpReport> + Clone) -> Option<[String; 2]> {
    let pairs = rows.clone().zip(rows.skip(1));
    let (before, after) = pairs.max_by(|one, other| {
        let [one, other] = [one, other].map(|(_, row)| row.op_to_op_gap_us.unwrap_or(0.0));
        one.total_cmp(&other)
    })?;
    Some([before, after].map(|row| format!("row {} ({})", row.id, row.raw_op_code)))
}

/// Returns, for each device op, its length and its percentages of the peak DRAM bandwidth and of
/// the peak FLOP/s. Ops with an unknown length are left out.
pub(crate) fn model_facts(
    rows: &[OpReport],
    place: impl Fn(&OpReport) -> Place,
) -> Vec<ModelFacts> {
    let rows = rows.iter().filter(|row| row.kind == RowKind::Device);
    rows.filter_map(|row| {
        Some(ModelFacts {
            chip_id: row.chip_id(),
            place: place(row),
            duration_ns: row.device_time_us? * 1000.0,
            dram_percent: row.dram_percent.filter(|_| row.bound_analysis == BoundAnalysis::Full),
            flops_percent: row.flops_percent,
            fidelity_phases: row.recorded.fidelity.as_deref().and_then(fidelity_phases),
            cores_part: match row.is_dram_sharded {
                true => Some(1.0),
                false => row
                    .core_count
                    .zip(row.available_core_count)
                    .filter(|(own, of)| 0 < *own && *own <= *of)
                    .map(|(own, of)| own as f64 / of as f64),
            },
        })
    })
    .collect()
}

/// Returns how many times as long an op computes as it would with the lowest math fidelity.
///
/// # Compatibility
/// The names number the phases of the matrix engine, as in the ISA documentation (`SrcASrcB.md`).
fn fidelity_phases(name: &str) -> Option<f64> {
    let phases = [("LoFi", 1.0), ("HiFi2", 2.0), ("HiFi3", 3.0), ("HiFi4", 4.0)];
    phases.into_iter().find(|(of, _)| *of == name).map(|(_, count)| count)
}

/// Returns the time of each device: from the first start to the last end if these are known, else
/// the sum of kernels and gaps. `leads` are gaps before the first ops that count as well.
fn devices(rows: &[OpReport], leads: &Leads) -> Vec<DeviceTime> {
    let devices = rows_by_device(rows).into_iter().map(|(chip_id, rows)| {
        let kernels = rows.iter().filter_map(|row| row.device_time_us).sum::<f64>() * 1000.0;
        let kernel_sum_ns = Some(whole_ns(kernels));
        let lead = leads.get(&chip_id).copied();
        let of_cycles = row_slots(&rows).map(|slots| time_of_slots(chip_id, (slots, lead)));
        let device = of_cycles.unwrap_or_else(|| sum_of_rows(chip_id, &rows));
        let untimed = rows.iter().filter(|row| row.device_time_us.is_none());
        let (op_count, untimed_op_count) = (rows.len() as u64, untimed.count() as u64);
        DeviceTime { kernel_sum_ns, op_count, untimed_op_count, ..device }
    });
    devices.collect()
}

/// Returns the ops of each device.
fn rows_by_device(rows: &[OpReport]) -> BTreeMap<Option<u32>, Vec<&OpReport>> {
    let mut by_device: BTreeMap<Option<u32>, Vec<&OpReport>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.kind == RowKind::Device) {
        by_device.entry(row.chip_id()).or_default().push(row);
    }
    by_device
}

#[expect(clippy::cast_possible_truncation, reason = "saturates")]
const fn whole_ns(ns: f64) -> u64 {
    ns.round() as u64
}

/// Frequency of the clock of times in nanoseconds: one cycle is one nanosecond.
const NANOSECONDS_MHZ: u32 = 1000;

/// Firmware of one op, or its kernels if the file has no firmware, in nanoseconds since the first
/// start.
struct RowSpan<'a> {
    start: u64,
    end: u64,
    row: &'a OpReport,
}

impl RowSpan<'_> {
    fn length(&self) -> f64 {
        self.end.saturating_sub(self.start) as f64
    }

    /// Returns the time of the op's kernels; `None` if unknown.
    fn kernels(&self) -> Option<f64> {
        self.row.device_time_us.map(|us| (us * 1000.0).min(self.length()))
    }
}

/// Time of a device's ops on its clock.
struct RowSlots {
    slots: Vec<Slot>,
    side_by_side: Option<SideBySide>,
    /// Time in which collectives ran and no other op, in nanoseconds.
    collectives_alone_ns: u64,
    has_firmware: bool,
}

/// Returns the time of ops by class, and the ops that ran side by side; `None` unless the first and
/// last cycle of each op are known, or if rows between them were removed.
fn row_slots(rows: &[&OpReport]) -> Option<RowSlots> {
    // The gap column of a file says nothing about ops side by side.
    slots_of_rows(rows).filter(|of| of.side_by_side.is_some() || are_all_there(&of.slots, rows))
}

/// Returns the slots of ops; `None` unless the first and last cycle of each op's firmware are known, or
/// those of each op's kernels.
///
/// Ops whose firmware overlaps form one slot, because the rows do not say when within the firmware
/// the kernels ran.
fn slots_of_rows(rows: &[&OpReport]) -> Option<RowSlots> {
    let has_firmware = rows.iter().all(|row| firmware_cycles(row).is_some());
    let cycles = rows.iter().map(|&row| {
        let kernels = || row.kernel_cycles.map(|of| sound_cycles(row, of));
        let cycles = if has_firmware { firmware_cycles(row) } else { kernels() };
        Some((cycles?, row))
    });
    let cycles = cycles.collect::<Option<Vec<_>>>()?;
    let first = cycles.iter().map(|((start, _), _)| *start).min()?;
    let clock_ghz = one_clock_ghz(rows)?;
    let at = |cycle: u64| Some(whole_ns(cycle.checked_sub(first)? as f64 / clock_ghz));
    let spans = cycles.iter().map(|&((start, end), row)| {
        let (start, end) = (at(start)?, at(end)?);
        (start <= end).then_some(RowSpan { start, end, row })
    });
    let mut spans = spans.collect::<Option<Vec<_>>>()?;
    spans.sort_by_key(|span| (span.start, span.end));
    let intervals = spans
        .iter()
        .map(|span| (class_of(span.row.category) == TimeClass::Collective, (span.start, span.end)));
    let collectives_alone_ns = alone_cycles(intervals.collect());
    let (mut slots, mut side_by_side) = (Vec::new(), SideBySide::at_least());
    let mut rest = spans.as_slice();
    while let Some(first) = rest.first() {
        let mut end = first.end;
        let mut count = 1_usize;
        while let Some(span) = rest.get(count).filter(|span| span.start < end) {
            end = end.max(span.end);
            count = count.saturating_add(1);
        }
        let (group, others) = rest.split_at_checked(count)?;
        slots.push(group_slot(group, end, &mut side_by_side));
        rest = others;
    }
    let side_by_side = Some(side_by_side).filter(|of| of.op_count > 0);
    Some(RowSlots { slots, side_by_side, collectives_alone_ns, has_firmware })
}

/// Part by which the clock of a row may differ from that of the others. The times of short ops are rounded.
const CLOCK_TOLERANCE: f64 = 0.2;

/// Returns the clock that the cycles and the durations of all rows agree on; `None` if they do not, as
/// where a spreadsheet has rounded the cycles.
fn one_clock_ghz(rows: &[&OpReport]) -> Option<f64> {
    let sound = || rows.iter().filter(|row| !has_wrong_start(row));
    let clock_ghz = sound().find_map(|row| row.clock_ghz)?;
    let is_other = |row: &&OpReport| match row.clock_ghz {
        Some(clock) => (clock / clock_ghz - 1.0).abs() > CLOCK_TOLERANCE,
        // Firmware that takes no cycle has no clock, but a duration.
        None => {
            row.firmware_start_cycle.is_some() && row.firmware_start_cycle == row.firmware_end_cycle
        }
    };
    (!sound().copied().any(|row| is_other(&row))).then_some(clock_ghz)
}

/// Returns true if the start of an op is wrong: it begins too early, or has no room. Its end is sound.
const fn has_wrong_start(row: &OpReport) -> bool {
    matches!(
        row.duration_doubt,
        Some(
            DurationDoubt::BeginsBefore(_)
                | DurationDoubt::NoRoom(_)
                | DurationDoubt::NegativeCycle
        )
    )
}

/// Returns the cycles of an op, or its end alone if its start is wrong.
const fn sound_cycles(row: &OpReport, (start, end): (u64, u64)) -> (u64, u64) {
    (if has_wrong_start(row) { end } else { start }, end)
}

/// Returns the cycles of the firmware of an op, or its end alone if its start is wrong.
fn firmware_cycles(row: &OpReport) -> Option<(u64, u64)> {
    let end = row.firmware_end_cycle?;
    let start = row.firmware_start_cycle.or_else(|| has_wrong_start(row).then_some(end))?;
    Some(sound_cycles(row, (start, end)))
}

/// Returns false if the gaps between the ops' cycles are much longer than the rows say: then rows
/// between them were removed, and their time is not a gap.
fn are_all_there(slots: &[Slot], rows: &[&OpReport]) -> bool {
    let ends = slots.iter().zip(slots.iter().skip(1));
    let by_cycles: f64 = ends.map(|(one, next)| next.start.saturating_sub(one.end) as f64).sum();
    let later = rows.iter().skip(1);
    let told: Option<f64> = later.map(|row| Some(row.op_to_op_gap_us? * 1000.0)).sum();
    let launches = LAUNCH_GAP.value * 1000.0 * rows.len() as f64;
    told.is_none_or(|told| by_cycles <= told * 1.5 + launches)
}

/// Returns the slot of ops whose firmware overlaps. If their kernels take longer than the slot, they
/// ran side by side.
fn group_slot(group: &[RowSpan<'_>], end: u64, side_by_side: &mut SideBySide) -> Slot {
    let start = group.first().map_or(end, |span| span.start);
    let length = end.saturating_sub(start) as f64;
    let mut kernels = ClassTimes::default();
    for span in group {
        match span.kernels() {
            Some(ns) => kernels.add(class_of(span.row.category), ns),
            None => kernels.add(TimeClass::Unknown, span.length()),
        }
    }
    let excess = kernels.total() - length;
    // Times are rounded to nanoseconds.
    if excess > group.len() as f64 {
        side_by_side.op_count = side_by_side.op_count.saturating_add(group.len() as u64);
        side_by_side.duration_ns = side_by_side.duration_ns.saturating_add(whole_ns(excess));
    }
    // Firmware around kernels of unknown length is unknown, and may be next to nothing.
    let firmware =
        group.iter().map(|span| span.kernels().map_or(0.0, |kernels| span.length() - kernels));
    let least_firmware = firmware.fold(length, f64::min);
    let busy = kernels.total().min(length - least_firmware);
    let mut inside = ClassTimes::default();
    if kernels.total() > 0.0 {
        inside.add_all(&kernels, busy / kernels.total());
    }
    inside.add(TimeClass::Dispatch, length - busy);
    let replay = |span: &RowSpan<'_>| span.row.trace_session.map(|session| (0, session));
    let first_replay = group.first().and_then(replay);
    Slot {
        has_bounds: true,
        start,
        end,
        kernel: (start, end),
        inside,
        around: ClassTimes::default(),
        is_gap_doubted: group.first().is_some_and(|span| span.row.duration_doubt.is_some()),
        replay: first_replay.filter(|_| group.iter().all(|span| replay(span) == first_replay)),
    }
}

fn time_of_slots(chip_id: Option<u32>, (of, lead): (RowSlots, Option<Lead>)) -> DeviceTime {
    let RowSlots { mut slots, side_by_side, collectives_alone_ns, has_firmware } = of;
    if let Some(lead) = lead {
        let gap = whole_ns(lead.gap_ns);
        for slot in &mut slots {
            for time in [&mut slot.start, &mut slot.end, &mut slot.kernel.0, &mut slot.kernel.1] {
                *time = time.saturating_add(gap);
            }
        }
        slots.push(Slot::before(lead.replay.map(|session| (0, session))));
    }
    let end = slots.iter().map(|slot| slot.end).max().unwrap_or(0);
    let times = slot_times(slots, (0, end), NANOSECONDS_MHZ);
    DeviceTime {
        chip_id,
        window: (0, end),
        op_count: 0,
        untimed_op_count: 0,
        time: TimeSplit::new(&times, end, NANOSECONDS_MHZ),
        busy_ns: None,
        kernel_sum_ns: None,
        side_by_side,
        collectives_alone_ns: side_by_side.map(|_| collectives_alone_ns as f64),
        has_firmware,
        do_clocks_disagree: false,
    }
}

/// Returns the time of a device as the sum of kernels and gaps. Kernels are classified by op
/// category, and gaps are divided into dispatch and waiting for the host.
fn sum_of_rows(chip_id: Option<u32>, rows: &[&OpReport]) -> DeviceTime {
    let mut times = ClassTimes::default();
    for row in rows {
        times.add(class_of(row.category), row.device_time_us.unwrap_or(0.0) * 1000.0);
        let gap = row.op_to_op_gap_us.unwrap_or(0.0) * 1000.0;
        for class in [TimeClass::Dispatch, TimeClass::HostLate] {
            class.part_of_gap(gap, false).into_iter().for_each(|ns| times.add(class, ns));
        }
    }
    let total = whole_ns(times.total());
    let later = rows.iter().skip(1);
    let has_gaps = later.len() == 0 || later.clone().any(|row| !row.is_gap_unknown);
    DeviceTime {
        chip_id,
        window: (0, total),
        op_count: 0,
        untimed_op_count: 0,
        time: TimeSplit { has_gaps, ..TimeSplit::new(&times, total, NANOSECONDS_MHZ) },
        busy_ns: None,
        kernel_sum_ns: None,
        side_by_side: None,
        collectives_alone_ns: None,
        has_firmware: false,
        do_clocks_disagree: false,
    }
}

const fn class_of(category: Option<OpCategory>) -> TimeClass {
    match category {
        Some(OpCategory::Compute) => TimeClass::Compute,
        Some(OpCategory::Ccl) => TimeClass::Collective,
        Some(OpCategory::TensorManipulation | OpCategory::DataMovement) => TimeClass::DataMovement,
        Some(OpCategory::Host | OpCategory::Other) | None => TimeClass::Unknown,
    }
}

fn untold(report: &PerfReport, rows: &[OpReport]) -> Vec<Untold> {
    let device_rows = || rows.iter().filter(|row| row.kind == RowKind::Device);
    let has_waits = device_rows().any(|row| {
        row.recorded.compute_data_wait_ns.or(row.recorded.compute_room_wait_ns).is_some()
    });
    let has_core_times = device_rows().any(|row| row.recorded.core_times.is_some());
    let mut untold = vec![Untold {
        question: "which stage waits for which, and which core determines an op's duration",
        reason: match (has_core_times, has_waits) {
            (false, false) => "an ops CSV names neither cores nor what a RISC waits for",
            (true, false) => {
                "this one has times of the shortest and the longest core, but names neither cores nor \
                 what a RISC waits for"
            }
            (false, true) => {
                "this one has the waits of the compute kernel for data and for room, summed over the \
                 cores, but names neither cores nor buffers"
            }
            (true, true) => {
                "this one has times of the shortest and the longest core, and the waits of the compute \
                 kernel for data and for room, summed over the cores, but names neither cores nor \
                 buffers"
            }
        }
        .to_owned(),
        record_with: "the device log or capture that it was made from",
    }];
    let ops = rows.iter().filter(|row| row.kind == RowKind::Device);
    let op_count = ops.clone().count() as u64;
    let without = |count: u64, what: &str| {
        format!("{count} of {} no {what}", counted(op_count, "op has", "ops have"))
    };
    let unknown = ops.clone().filter(|row| row.chip_id().is_none()).count() as u64;
    if unknown > 0 {
        untold.push(Untold {
            question: "which chip ran an op",
            reason: without(unknown, "device number"),
            record_with: "an ops CSV with the column DEVICE ID",
        });
    }
    let invalid = ops.clone().filter(|row| row.duration_doubt.is_some()).count() as u64;
    if invalid > 0 {
        untold.push(Untold {
            question: rules::LENGTHS,
            reason: without(invalid, "usable duration"),
            record_with: missing_lengths::advice(report, &ops.clone().collect::<Vec<_>>()),
        });
    }
    let gaps = ops.filter(|row| row.is_gap_unknown && row.device_time_us.is_some());
    let gaps = gaps.count() as u64;
    if gaps > 0 {
        untold.push(Untold {
            question: "how long the chip waited between ops, for the host or for a launch",
            reason: format!(
                "the gap before {gaps} of {} is not known",
                counted(op_count, "op", "ops")
            ),
            record_with: "an ops CSV with usable values in the column OP TO OP LATENCY [ns]",
        });
    }
    untold
}
