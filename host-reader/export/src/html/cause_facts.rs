//! Data of the page about causes of slowness: findings with links to their ops and chips, and each
//! op's time by class.

use crate::{
    Trace,
    op_causes::{names_of_ops, with_causes},
};
use causes::{
    Explanation, Finding, NoCause, OpCauses, Pace, Place, RiscWait, TimeClass, TimeSplit,
};
use serde::Serialize;
use serde_json::json;
use std::cmp::Reverse;
use tables::{Object, Objects};

/// Explanation of a recording: findings, and time by class.
#[derive(Serialize)]
pub(super) struct CauseFacts<'a> {
    /// Sentence that the times are simulated.
    simulated: Option<&'a str>,
    /// Sentence that states which part of the recording is explained.
    window: Option<&'a str>,
    /// For each chip, a text that shows the chip's time as a sum of its parts.
    time_sums: &'a [String],
    /// Sentences about traces that were captured and never replayed.
    unreplayed_traces: &'a [String],
    /// Sentences about what could not be used.
    not_used: &'a [String],
    /// Sentence that names the ops CSV whose rows describe the launches.
    described_by: Option<&'a str>,
    /// Sentence about the NoC traces in the folder of the log.
    noc_events: Option<&'a str>,
    /// Sentence about hardware counters.
    counters: Option<&'a str>,
    /// Sentence about the kernels of the longest launch.
    kernels: Option<&'a str>,
    findings: Vec<FindingRow<'a>>,
    /// Statement shown instead of findings if there are none.
    no_cause: Option<&'a NoCause>,
    /// Open questions: the question, the reason why it has no answer, and how to record the answer.
    untold: Vec<(&'static str, &'a str, &'static str)>,
    /// Names of the classes of time.
    classes: Vec<&'static str>,
    /// For each chip, its id, if known, and the share of each class in the chip's time, in percent.
    devices: Vec<(Option<u32>, Vec<f64>)>,
    /// For each op, the share of each class in the op's time, in percent; `None` if unknown.
    op_times: Vec<Option<Vec<f64>>>,
    /// For each op, the use of its stages (such as reader and writer) and the stage that limits its
    /// speed; `None` if unknown.
    op_paces: Vec<Option<Object<&'a Pace>>>,
    /// For each op, the blocked time of its RISCs.
    op_waits: Vec<Objects<&'a RiscWait>>,
}

/// One finding.
#[derive(Serialize)]
struct FindingRow<'a> {
    cause: &'static str,
    sentence: &'a str,
    /// Facts that support the finding.
    why: &'a [String],
    advice: &'a str,
    /// Text that says how much time the advice may save.
    gain: String,
    gain_ns: Option<f64>,
    gain_percent: Option<f64>,
    /// Index of the op on the page.
    op: Option<usize>,
    /// Indices of all further ops to which the finding applies, in addition to `op`.
    more_ops: Vec<usize>,
    /// Index of the chip on the page.
    device: Option<usize>,
    core: Option<(u16, u16)>,
    risc: Option<&'static str>,
    zone: Option<&'a str>,
}

/// Maximum number of waits that the page shows for one RISC and op.
const SHOWN_WAITS: usize = 3;

impl<'a> CauseFacts<'a> {
    /// Returns the page data; `None` if the trace has no explanation.
    pub(super) fn new(trace: &'a Trace<'_>) -> Option<Self> {
        let explanation = trace.explanation.as_ref()?;
        let ops = trace.devices.iter().flat_map(|device| {
            let ops = with_causes(trace, device.chip.chip_id, device.ops.iter());
            ops.map(|(causes, _)| causes)
        });
        let ops: Vec<_> = ops.collect();
        let names: Vec<_> =
            trace.devices.iter().flat_map(|device| names_of_ops(trace, device)).collect();
        Some(Self {
            op_times: ops.iter().map(|op| op.map(|op| percents(&op.time))).collect(),
            op_paces: ops.iter().map(|op| Some(pace_object((*op)?.pace.as_ref()?))).collect(),
            op_waits: ops.iter().map(|op| op.map(wait_objects).unwrap_or_default()).collect(),
            ..Self::from_explanation(explanation, |place| {
                (op_of(trace, &names, place), device_of(trace, place))
            })
        })
    }

    /// Returns the page data without the data of single ops. `place` finds the op and the chip of a
    /// [`Place`], and returns their indices on the page.
    pub(super) fn from_explanation(
        explanation: &'a Explanation,
        place: impl Fn(&Place) -> (Option<usize>, Option<usize>),
    ) -> Self {
        Self {
            simulated: explanation.simulated.as_deref(),
            window: explanation.window.as_deref(),
            time_sums: &explanation.time_sums,
            described_by: explanation.described_by.as_deref(),
            noc_events: explanation.noc_events.as_deref(),
            counters: explanation.counters.as_deref(),
            kernels: explanation.kernels.as_deref(),
            unreplayed_traces: &explanation.unreplayed_traces,
            not_used: &explanation.not_used,
            findings: findings(explanation, place),
            no_cause: explanation.no_cause.as_ref(),
            untold: explanation
                .untold
                .iter()
                .map(|untold| (untold.question, untold.reason.as_str(), untold.record_with))
                .collect(),
            classes: TimeClass::ALL.map(TimeClass::label).to_vec(),
            devices: explanation
                .devices
                .iter()
                .map(|device| (device.chip_id, percents(&device.time)))
                .collect(),
            op_times: Vec::new(),
            op_paces: Vec::new(),
            op_waits: Vec::new(),
        }
    }
}

fn percents(split: &TimeSplit) -> Vec<f64> {
    TimeClass::ALL.map(|class| split.percent(class)).to_vec()
}

/// Returns the stage that limits the speed of an op.
fn pace_object(pace: &Pace) -> Object<&Pace> {
    Object::new(
        pace,
        [
            ("stage", |pace| pace.pacer.label().into()),
            ("is_certain", |pace| pace.is_certain().into()),
            // Each stage of the op, with the lower and upper bound of its utilization in percent.
            ("uses", |pace| {
                let uses = pace.stages.iter().map(|of| {
                    json!((
                        of.stage.label(),
                        tenths(of.at_least_percent),
                        tenths(of.at_most_percent)
                    ))
                });
                uses.collect()
            }),
        ],
    )
}

/// Returns the blocked time of each RISC, over all cores of an op.
fn wait_objects(op: &OpCauses) -> Objects<&RiscWait> {
    Objects::new(
        &op.waits,
        [
            ("risc", |wait| (wait.risc as usize).into()),
            ("blocked_percent", |wait| tenths(wait.blocked_percent).into()),
            ("barrier_percent", |wait| tenths(wait.barrier_percent).into()),
            // For each object that the RISC waited for: the kind of wait, the object's key, the
            // total cycles and the number of waits. The largest total comes first.
            ("sums", |wait| {
                let sums = wait.sums.iter().take(SHOWN_WAITS);
                sums.map(|sum| json!((sum.kind, sum.key, sum.cycles, sum.waits))).collect()
            }),
        ],
    )
}

/// Rounds a percentage to one decimal, as shown on the page.
fn tenths(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0
}

fn findings(
    explanation: &Explanation,
    place: impl Fn(&Place) -> (Option<usize>, Option<usize>),
) -> Vec<FindingRow<'_>> {
    let rows = explanation.findings.iter().map(|finding| {
        let Finding { place: at, rows, .. } = finding;
        let (op, device) = place(at);
        let more = rows
            .iter()
            .filter_map(|row| place(&Place { row: Some(*row), ..Place::default() }).0)
            .filter(|other| Some(*other) != op);
        FindingRow {
            cause: finding.cause.label(),
            sentence: &finding.sentence,
            why: &finding.why,
            advice: &finding.advice,
            gain: explanation.gain_text(finding),
            gain_ns: finding.gain_at_most_ns,
            gain_percent: finding.gain_at_most_percent.map(tenths),
            op,
            more_ops: more.collect(),
            device,
            core: at.core,
            risc: at.risc,
            zone: at.zone.as_deref(),
        }
    });
    rows.collect()
}

fn device_of(trace: &Trace<'_>, place: &Place) -> Option<usize> {
    let chip_id = place.chip_id?;
    trace.devices.iter().position(|device| device.chip.chip_id == chip_id)
}

/// Returns the index of the op at a [`Place`]. If several launches match, returns the longest one.
fn op_of(trace: &Trace<'_>, names: &[Option<&str>], place: &Place) -> Option<usize> {
    if place.run_host_id.is_none() && place.op.is_none() {
        return None;
    }
    let ops = trace
        .devices
        .iter()
        .flat_map(|device| device.ops.iter().map(move |op| (device.chip.chip_id, op)));
    let fitting = ops.enumerate().filter(|(number, (chip_id, op))| {
        let figures = &op.figures;
        place.chip_id.is_none_or(|wanted| wanted == *chip_id)
            && place.run_host_id.is_none_or(|wanted| wanted == figures.run_host_id)
            && place.launch.is_none_or(|wanted| wanted == figures.launch)
            && place.op.as_deref().is_none_or(|of| names.get(*number) == Some(&Some(of)))
    });
    let longest = fitting.max_by_key(|&(number, (_, op))| {
        (op.figures.kernel.map(|kernel| kernel.duration_cycles), Reverse(number))
    });
    longest.map(|(number, _)| number)
}
