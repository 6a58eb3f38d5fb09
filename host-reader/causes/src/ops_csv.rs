//! Explanation of ops CSVs: gaps, ops on the host, and modelled limits.

use crate::{
    counter_sentence::counter_sentence_of_rows,
    duration::duration,
    explanation::{Explanation, SCHEMA_VERSION, sentences},
    finding::{Finding, GainOf, Place, Untold},
    host_time::{add_host_facts, built_again},
    iteration::{Doubt, KnownIteration, Lengths},
    iteration_rows::{IterationRows, gaps_before, iteration_times, op_before},
    missing_lengths,
    no_cause::{NoCause, has_no_length},
    noc_use::NocUses,
    op_code_group::{OpCodeGroup, op_code_groups},
    parallel::{ChipOp, busiest_share, measure_on_own_chip, rounds},
    row_slots::{Leads, RowSlots, are_all_there, class_of, devices, rows_by_device, slots_of_rows},
    rules::{self, Compilation, Dispatcher, IterationScope, ModelFacts, TracedGaps, Waiting},
    steady::{Scope, SteadyPart, Window, ops_of_part, rows_text, steady_iteration, steps_of_rows},
    threshold::{LAUNCH_GAP, SMALL_OP},
    time_class::TimeClass,
    time_sum::time_sums,
    timeline::DeviceTime,
};
use recording::problem::counted;
use reports::perf::{BoundAnalysis, OpReport, PerfReport, Problem, ProgramBuilds, RowKind};
use std::{borrow::Cow, collections::BTreeMap};

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
            let times = iteration_times(&all_rows, &found.equal, of_loop);
            let gap_of = |chip_id: Option<u32>| match chip_id {
                Some(_) => gaps.get(&chip_id).copied(),
                None => gaps.values().next().copied(),
            };
            SteadyPart::from_rows(&all_rows, &found, [&all, &devices], (times, gap_of))
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
        let part_rule = steady.as_ref().map(|steady| steady.rule);
        let mut explanation = Self {
            schema_version: SCHEMA_VERSION,
            untold: untold(report, &all_rows),
            steady,
            // The sentence is left out if no op has a known length.
            window: (!devices.iter().all(has_no_length)).then_some(sentence),
            time_sums: time_sums(&devices),
            counters: counter_sentence_of_rows(rows),
            by: by.and_then(|by| report.column(by)).map(|by| ops_of_part(rows, &by, part_rule)),
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
                .chain(
                    removed_rows(rows)
                        .or_else(|| removed_rows(&all_rows))
                        .filter(|_| !report.has_joined_runs),
                )
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
        kernels.extend(rules::start_skew_of_rows(rows));
        kernels.extend(rules::modelled(&model_facts(rows, Place::from_row), &kernels));
        let device_rows = rows.iter().filter(|row| row.kind == RowKind::Device);
        let durations_ns: Vec<(Option<u32>, f64)> = device_rows
            .filter_map(|row| Some((row.chip_id(), row.device_time_us? * 1000.0)))
            .collect();
        let small = rules::small_ops(&durations_ns, whole);
        kernels.extend(small.map(|of| at_rows(of, &small_rows(rows))));
        let [chip_ops, all_ops] = [rows, all_rows].map(ChipOp::from_rows);
        kernels.extend(slow_chips(&chip_ops, &all_ops));
        kernels.extend(rules::collective_skew(&chip_ops, &all_ops, None));
        self.untold.extend(rules::chip_starts(&all_ops, None).1);
        for finding in &mut kernels {
            finding.measure_against(whole);
            measure_on_own_chip(finding, &self.devices);
        }
        let waits = WAITING_CLASSES
            .map(|class| rules::waiting(&waiting(all, &self.devices, (class, iterations))?));
        self.findings.extend(waits.into_iter().flatten());
        add_host_facts(&mut self.findings, rows, all_rows);
        self.findings.extend(built_again(rows, builds, Place::from_row));
        self.findings.extend(kernels);
        self.findings.extend(host_ops(rows));
        self.rank();
    }
}

/// Returns the findings about chips that are slow in the explained part, and those about ops of which only
/// all rows together have enough launches. The gain of the latter is what the chip takes longer in the part.
fn slow_chips(part: &[ChipOp<'_>], all: &[ChipOp<'_>]) -> Vec<Finding> {
    let of_part: BTreeMap<String, Finding> = rules::slow_chips(part).into_iter().collect();
    let rounds = rounds(part);
    let more = rules::slow_chips(all).into_iter().filter_map(|(name, mut finding)| {
        let own = rounds.iter().filter(|round| round.name() == name);
        let chip_id = finding.place.chip_id?;
        let excess = own.map(|round| round.excess(&[chip_id], |op| op.duration_ns));
        let excess: f64 = excess.map(|ns| ns.unwrap_or(0.0).max(0.0)).sum();
        finding.limit_gain(excess);
        (excess > 0.0 && !of_part.contains_key(&name)).then_some(finding)
    });
    let more: Vec<Finding> = more.collect();
    of_part.into_values().chain(more).collect()
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
            _ => class.part_of_gap(gap_ns?, row.was_called_before(gap_ns?))?,
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
        dispatcher: (class == TimeClass::Dispatch).then(|| Dispatcher::of_rows(own.clone())),
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
