//! Statement that an explanation makes if it has no findings: which causes were checked, what was
//! measured, and what to record next.

use crate::{
    explanation::Explanation,
    finding::{Place, percent},
    missing_lengths::{self, RECORD_LENGTHS},
    noc_use::NocUses,
    op::OpCauses,
    recorded::Recorded,
    rules::{LENGTHS, duration, kernel_ns, label_of, launch_place, rounded},
    threshold::{BARRIERS, WAITING},
    time_class::{TimeClass, WaitEvidence},
    timeline::DeviceTime,
};
use recording::problem::counted;
use reports::perf::{OpReport, PerfReport, RowKind};
use std::collections::BTreeMap;
use wire::RunHostId;

/// Statement that an explanation makes if it has no findings.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct NoCause {
    /// Sentence about what is missing, or about the rules that did not fire.
    pub sentence: String,
    /// Facts that the recording shows.
    pub measured: Vec<String>,
    /// Location of the longest op; empty if nothing ran.
    #[serde(rename = "where")]
    pub location: String,
    /// What to record in order to learn more.
    pub record_next: String,
}

/// Advice if the host's durations include compilation.
const RUN_TWICE: &str = "run the model at least twice in one process: only the first run compiles";

impl NoCause {
    /// Returns the statement that an ops CSV shows no cause.
    pub(crate) fn from_csv(explanation: &Explanation, report: &PerfReport) -> Self {
        let rows: Vec<&OpReport> =
            report.rows.iter().filter(|row| row.kind == RowKind::Device).collect();
        if rows.is_empty() {
            return Self::without_ops(
                "This file has no op of a chip, so there is nothing to explain",
            );
        }
        if !explanation.devices.iter().all(has_no_length) {
            return Self::from_figures(explanation, None);
        }
        let lengths = explanation.untold.iter().find(|of| of.question == LENGTHS);
        let advice = lengths.map_or(RECORD_LENGTHS, |of| of.record_with);
        let chip = missing_lengths::chip_facts(report, &rows);
        let measured = chip.into_iter().chain(host_fact(&rows)).chain(compile_fact(&rows));
        let longest = longest_on_host(&rows).or_else(|| rows.first().copied());
        let compiles = rows.iter().any(|row| row.compile_duration_ns.is_some());
        Self {
            sentence: format!(
                "No op has a known duration: {}",
                missing_lengths::column_text(report, &rows)
            ),
            measured: measured.collect(),
            location: longest.map_or_else(String::new, |row| Place::from_row(row).to_string()),
            record_next: if compiles && advice == RECORD_LENGTHS {
                format!("{advice}; {RUN_TWICE}")
            } else {
                advice.to_owned()
            },
        }
    }

    /// Returns the statement that a recording's launches show no cause.
    pub(crate) fn from_launches(explanation: &Explanation, recorded: (&NocUses, Recorded)) -> Self {
        if explanation.devices.is_empty() && !explanation.not_used.is_empty() {
            return Self {
                sentence: "No record could be used, so there is nothing to explain".to_owned(),
                record_next: "what the lines below name, as the profiler writes it".to_owned(),
                ..Self::default()
            };
        }
        if explanation.devices.is_empty() {
            return Self::without_ops("Nothing was recorded, so there is nothing to explain");
        }
        if explanation.devices.iter().all(|device| device.op_count == 0) {
            return Self::without_ops("No op was recorded, so there is nothing to explain");
        }
        if !explanation.devices.iter().all(has_no_length) {
            return Self::from_figures(explanation, Some(recorded));
        }
        let without = explanation.ops.iter().filter(|op| op.kernel.is_none()).count();
        let launches = match explanation.ops.len() {
            1 => "the only launch lacks".to_owned(),
            all => format!("{without} of {all} launches lack"),
        };
        let time = explanation.devices.iter().filter_map(|device| {
            let ns = duration(whole_ns(device)?);
            Some(format!("{}: {ns} from its first record to its last", chip_of(device)))
        });
        let first = explanation.ops.first();
        let lengths = explanation.untold.iter().find(|of| of.question == LENGTHS);
        Self {
            sentence: format!(
                "No op has a known duration: {launches} the start or the end of a kernel"
            ),
            measured: time.collect(),
            location: first.map_or_else(String::new, |op| launch_place(op).to_string()),
            record_next: lengths.map_or_else(String::new, |of| of.record_with.to_owned()),
        }
    }

    fn without_ops(sentence: &str) -> Self {
        Self {
            sentence: sentence.to_owned(),
            record_next: "a program that launches kernels and does not fail before the first, with the \
                          profiler on (TT_METAL_DEVICE_PROFILER=1; `kprof record` sets it) and read before the program ends \
                          (ttnn.ReadDeviceProfiler, or closing the device)"
                .to_owned(),
            ..Self::default()
        }
    }

    /// Returns the statement for a recording with known lengths in which no rule fired. `recorded` is
    /// what launches show, and `None` for an ops CSV.
    fn from_figures(explanation: &Explanation, recorded: Option<(&NocUses, Recorded)>) -> Self {
        let none = NocUses::new();
        let (uses, recorded) = recorded.unzip();
        let uses = uses.unwrap_or(&none);
        let sentence = format!(
            "No cause stands out: {} did not reach their thresholds",
            looked_at(explanation, uses)
        );
        let mut measured: Vec<String> = explanation.devices.iter().filter_map(classes).collect();
        measured.extend(longest_launch(explanation));
        measured.extend(noc_fact(uses));
        measured.extend(barrier_fact(uses));
        measured.extend(group_fact(explanation));
        let location = match explanation.groups.first() {
            Some(group) => {
                let place = Place {
                    op: Some(group.op.clone()),
                    row: group.rows.first().copied(),
                    ..Place::default()
                };
                place.text(&group.rows)
            }
            None => {
                longest(explanation).map_or_else(String::new, |op| launch_place(op).to_string())
            }
        };
        Self { sentence, measured, location, record_next: record_next(explanation, recorded) }
    }
}

/// Returns true if no op of the chip has a known length.
pub(crate) fn has_no_length(device: &DeviceTime) -> bool {
    device.kernel_sum_ns.unwrap_or(0) == 0 && device.time.percent(TimeClass::Unknown) >= 100.0
}

fn chip_of(device: &DeviceTime) -> String {
    device.chip_id.map_or_else(|| "the chip".to_owned(), |chip| format!("chip {chip}"))
}

fn whole_ns(device: &DeviceTime) -> Option<f64> {
    device.time.total_ns.map(|ns| ns as f64)
}

fn host_ns(row: &OpReport) -> f64 {
    row.host_duration_ns.unwrap_or(0.0)
}

fn longest_on_host<'a>(rows: &[&'a OpReport]) -> Option<&'a OpReport> {
    let known = rows.iter().copied().filter(|row| row.host_duration_ns.is_some());
    known.max_by(|one, other| host_ns(one).total_cmp(&host_ns(other)))
}

/// Maximum number of op codes in the fact about the host.
const NAMED_OPS: usize = 3;

/// Returns a fact about the host's time by op code.
fn host_fact(rows: &[&OpReport]) -> Option<String> {
    let count = rows.iter().filter(|row| row.host_duration_ns.is_some()).count();
    let whole: f64 = rows.iter().map(|row| host_ns(row)).sum();
    let mut by_op: BTreeMap<&str, f64> = BTreeMap::new();
    rows.iter().for_each(|row| *by_op.entry(&row.raw_op_code).or_default() += host_ns(row));
    let mut ops: Vec<_> = by_op.into_iter().collect();
    ops.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let names =
        ops.iter().take(NAMED_OPS).map(|(op, ns)| format!("{op} {:.1} %", percent(*ns, whole)));
    let names: Vec<String> = names.collect();
    (whole > 0.0).then(|| {
        let calls = counted(count as u64, "call", "calls");
        format!("the host took {} for {calls} of ops: {}", duration(whole), names.join(", "))
    })
}

/// Returns a fact about the part of the host's time that is compilation.
fn compile_fact(rows: &[&OpReport]) -> Option<String> {
    let compiled =
        rows.iter().filter_map(|row| Some((row.compile_duration_ns?, row.host_duration_ns?)));
    let (ns, whole) = compiled.fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    let host: f64 = rows.iter().map(|row| host_ns(row)).sum();
    (ns > 0.0 && whole > 0.0).then(|| {
        format!(
            "{:.1} % of that is the compilation of kernels, as in a first run",
            percent(ns, host)
        )
    })
}

/// Lists the rules for which the recording contains evidence.
fn looked_at(explanation: &Explanation, uses: &NocUses) -> String {
    let mut rules = vec!["the host", "launches", "short ops"];
    if explanation.ops.iter().any(|op| op.balance.is_some()) {
        rules.push("late cores");
    }
    if explanation.devices.len() > 1 {
        rules.push("late chips");
    }
    if !explanation.groups.is_empty() {
        rules.push("limits of shapes");
    }
    if !uses.is_empty() {
        rules.push("links of the NoC");
    }
    if uses.values().any(|of| of.barriers.is_some()) {
        rules.push("NoC barriers");
    }
    if explanation.sync.has_waits() {
        rules.push("waits");
    }
    if explanation.ops.iter().any(|op| !op.zones.is_empty()) {
        rules.push("zones");
    }
    match rules.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => rules.concat(),
    }
}

/// Returns a fact about the program whose cores wait longest at NoC barriers; `None` if no barrier is known.
fn barrier_fact(uses: &NocUses) -> Option<String> {
    let known = uses.iter().filter_map(|((_, program), of)| Some((program, of.barriers?)));
    let (program, of) =
        known.max_by(|(_, one), (_, other)| one.percent.total_cmp(&other.percent))?;
    Some(format!(
        "program {} waits at NoC barriers for {:.1} % of its kernels' time on core ({},{}) ({}): {} (a cause \
         from {} % in which no kernel computes)",
        RunHostId(*program).base(),
        of.percent,
        of.core.0,
        of.core.1,
        of.whose(),
        of.transfers(),
        BARRIERS.value
    ))
}

/// Returns a fact about a chip's time by class.
fn classes(device: &DeviceTime) -> Option<String> {
    let mut shares: Vec<_> = device.time.shares.iter().filter(|of| of.percent > 0.0).collect();
    shares.sort_by(|one, other| other.percent.total_cmp(&one.percent));
    // Without recorded waits, kernels count whole.
    let is_whole = device.time.waits == WaitEvidence::None;
    let label = |class: TimeClass| match class {
        TimeClass::Compute if is_whole => "kernels that compute",
        TimeClass::DataMovement if is_whole => "kernels that move data",
        class => class.label(),
    };
    let named: Vec<String> =
        shares.iter().map(|of| format!("{} {:.1} %", label(of.class), of.percent)).collect();
    let waits = if is_whole { ", with any waits within kernels" } else { "" };
    Some(format!(
        "{}: {} are {}{waits} (a class of waiting is reported from {} %)",
        chip_of(device),
        duration(whole_ns(device)?),
        named.join(", "),
        WAITING.value
    ))
}

/// Returns the launches that the explanation covers.
fn covered(explanation: &Explanation) -> impl Iterator<Item = &OpCauses> {
    explanation.ops.iter().filter(|op| {
        let window = explanation.devices.iter().find(|device| device.chip_id == Some(op.chip_id));
        window.zip(op.kernel).is_some_and(|(DeviceTime { window: (first, last), .. }, kernel)| {
            (*first..=*last).contains(&kernel.start_cycle)
        })
    })
}

fn longest(explanation: &Explanation) -> Option<&OpCauses> {
    covered(explanation).max_by(|one, other| kernel_ns(one).total_cmp(&kernel_ns(other)))
}

/// Returns a fact about the launch with the longest kernels.
fn longest_launch(explanation: &Explanation) -> Option<String> {
    let op = longest(explanation)?;
    let name = label_of(op);
    let whole: f64 = covered(explanation).map(kernel_ns).sum();
    (whole > 0.0).then(|| {
        format!(
            "the longest launch is of {name}: kernels of {}, {:.1} % of the kernels' time",
            duration(kernel_ns(op)),
            percent(kernel_ns(op), whole)
        )
    })
}

/// Returns a fact about the use of the busiest link.
fn noc_fact(uses: &NocUses) -> Option<String> {
    let busiest = uses.values().max_by(|one, other| one.percent.total_cmp(&other.percent))?;
    let least = if busiest.is_lower_bound { "at least " } else { "" };
    Some(format!(
        "the busiest link of the NoC carries {least}{} % of its peak",
        rounded(busiest.percent)
    ))
}

/// Returns a fact about the group of ops that takes the most time: its share of the kernel time,
/// and its time as a multiple of the minimum time that the ops' shapes require.
fn group_fact(explanation: &Explanation) -> Option<String> {
    let group = explanation.groups.first()?;
    let limit = match (group.exact_limit_ns(), group.limit_ns) {
        (Some(ns), _) => format!("{:.1} times the limit of its shapes", group.duration_ns / ns),
        (None, Some(ns)) => {
            let times = group.duration_ns / ns;
            format!("at most {times:.1} times its limit, of which only a part is modelled")
        }
        (None, None) => "its limit is not known".to_owned(),
    };
    Some(format!("{} takes {:.1} % of the kernels' time: {limit}", group.op, group.percent))
}

/// Maximum number of recording modes that one statement suggests.
const NAMED_RECORDINGS: usize = 2;

/// Returns what to record in order to answer the open questions. `recorded` is what launches show; an ops
/// CSV has no room for more.
fn record_next(explanation: &Explanation, recorded: Option<Recorded>) -> String {
    let mut recordings: Vec<&str> =
        explanation.untold.iter().map(|of| of.record_with).take(NAMED_RECORDINGS).collect();
    let lacks = |has: fn(&Recorded) -> bool| recorded.as_ref().is_some_and(|of| !has(of));
    if lacks(|of| of.has_noc_events) {
        recordings.push("NoC events (TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1)");
    }
    if recordings.is_empty() && lacks(|of| of.has_counters) {
        recordings.push("hardware counters (TT_METAL_PROFILE_PERF_COUNTERS)");
    }
    if recordings.is_empty() {
        recordings.push("zones inside the longest zones of the kernels (docs/kernels.md)");
    }
    recordings.join("; ")
}
