//! Parts of an explanation.

use super::{
    arguments::ExplainPart,
    loaded::Part,
    table::{Column, Table, cells, joined},
};
use host_reader::causes::{Explanation, OpCauses, RiscWait, TimeClass, TimeSplit, WaitEvidence};
use serde_json::Value;
use wire::RunHostId;

const EVERYWHERE: &str = "about more than one, or not recorded";

const FINDINGS: [Column; 15] = [
    Column::new("cause"),
    Column::new("sentence"),
    Column::new("why"),
    Column::new("figure"),
    Column::new("threshold"),
    Column::new("where"),
    Column::or_null("rows", "no ops CSV describes it"),
    Column::or_null("chip_id", EVERYWHERE),
    Column::or_null("program", EVERYWHERE),
    Column::or_null("launch", EVERYWHERE),
    Column::or_null("gain_at_most_ns", "cannot be told"),
    Column::or_null("gain_at_most_percent", "cannot be told"),
    Column::new("gain_of"),
    Column::or_null("gain_at_most_percent_of_all", "cannot be told, or the same as gain_of"),
    Column::new("advice"),
];

const UNTOLD: [Column; 3] =
    [Column::new("question"), Column::new("reason"), Column::new("record_with")];

const NO_WAITS: &str = "no waits were recorded: blocked time is in the other classes";
const NO_OVERLAP: &str = "kernels of one kind alone, or not known";
const NO_CLOCK: &str = "not recorded, or unknown clock";
const NO_KERNEL: &str = "no kernel of known length, or unknown clock";

/// Time, and the columns of `shares`.
const SHARES: [Column; 9] = [
    Column::or_null("total_ns", NO_CLOCK),
    Column::new("compute_percent"),
    Column::new("data_movement_percent"),
    Column::new("collective_percent"),
    Column::or_null("wait_percent", NO_WAITS),
    Column::new("dispatch_percent"),
    Column::new("host_late_percent"),
    Column::new("profiler_percent"),
    Column::new("unknown_percent"),
];

const DEVICES: [Column; 15] = joined(&[
    &[Column::or_null("chip_id", "the rows do not give it"), Column::new("op_count")],
    &SHARES,
    &[
        Column::or_null("overlap_at_least_percent", NO_OVERLAP),
        Column::or_null("overlap_at_most_percent", NO_OVERLAP),
        Column::or_null("busy_ns", NO_KERNEL),
        Column::or_null("kernel_sum_ns", NO_KERNEL),
    ],
]);

const NO_CHIP: &str = "no launch on any chip";

const PHASES: [Column; 17] = [
    Column::new("path"),
    Column::new("origin"),
    Column::new("count"),
    Column::new("host_ns"),
    Column::new("op_count"),
    Column::new("kernel_sum_over_devices_ns"),
    Column::or_null("chip_id", NO_CHIP),
    Column::or_null("total_ns", NO_CHIP),
    Column::or_null("compute_percent", NO_CHIP),
    Column::or_null("data_movement_percent", NO_CHIP),
    Column::or_null("collective_percent", NO_CHIP),
    Column::or_null("wait_percent", "no launch, or no waits were recorded"),
    Column::or_null("dispatch_percent", NO_CHIP),
    Column::or_null("host_late_percent", NO_CHIP),
    Column::or_null("profiler_percent", NO_CHIP),
    Column::or_null("unknown_percent", NO_CHIP),
    Column::new("depth"),
];

const NO_PACE: &str = "no waits were recorded";

const OPS: [Column; 18] = joined(&[
    &[
        Column::new("chip_id"),
        Column::new("program"),
        Column::new("launch"),
        Column::or_null("name", "the host gave none"),
    ],
    &SHARES,
    &[
        Column::or_null("gap_ns", "first op, overlap, or not known"),
        Column::or_null("core_max_over_mean", "one core, or times cannot be compared"),
        Column::or_null("pacer", NO_PACE),
        Column::or_null("pacer_margin_at_least", NO_PACE),
        Column::or_null("pacer_margin_at_most", NO_PACE),
    ],
]);

const WAITS: [Column; 11] = [
    Column::new("chip_id"),
    Column::new("program"),
    Column::new("launch"),
    Column::new("risc"),
    Column::new("core_count"),
    Column::new("kernel_cycles_sum"),
    Column::new("blocked_percent"),
    Column::new("barrier_percent"),
    Column::or_null("most_blocked_by", "nothing"),
    Column::or_null("most_blocked_key", "nothing"),
    Column::or_null("most_blocked_cycles", "nothing"),
];

/// Returns the table of one part.
pub(super) fn table(part: Part<'_>, asked: ExplainPart) -> Table<'_> {
    let explanation = part.explanation();
    match asked {
        ExplainPart::Findings => findings(explanation),
        ExplainPart::Untold => Table::new(&UNTOLD, &explanation.untold, |untold| {
            cells![untold.question, untold.reason, untold.record_with]
        }),
        ExplainPart::Groups => groups(explanation),
        ExplainPart::Devices => devices(explanation),
        ExplainPart::Phases => phases(explanation),
        ExplainPart::Ops => ops(explanation),
        ExplainPart::Waits => waits(explanation),
    }
}

fn findings(explanation: &Explanation) -> Table<'_> {
    let table = Table::new(&FINDINGS, &explanation.findings, |finding| {
        let place = &finding.place;
        cells![
            finding.cause,
            finding.sentence,
            finding.why.join("; "),
            finding.figure,
            finding.threshold,
            finding.location,
            Some(rows_of(&finding.rows)).filter(|rows| !rows.is_empty()),
            place.chip_id,
            place.run_host_id.map(|id| RunHostId(id).base()),
            place.launch,
            finding.gain_at_most_ns,
            finding.gain_at_most_percent,
            finding.gain_of,
            finding.gain_at_most_percent_of_all,
            finding.advice,
        ]
    });
    let table = table.with_note("untold_count", explanation.untold.len());
    let time_sums = Some(explanation.time_sums.join("; ")).filter(|sums| !sums.is_empty());
    let sentences = [
        ("window", &explanation.window),
        ("time_sums", &time_sums),
        ("described_by", &explanation.described_by),
        ("noc_events", &explanation.noc_events),
    ];
    let table = sentences.into_iter().fold(table, |table, (name, sentence)| match sentence {
        Some(sentence) => table.with_note(name, sentence.as_str()),
        None => table,
    });
    match &explanation.no_cause {
        Some(no_cause) => table
            .with_note("reason", no_cause.sentence.as_str())
            .with_note("measured", no_cause.measured.join("; "))
            .with_note("where", no_cause.location.as_str())
            .with_note("record_next", no_cause.record_next.as_str()),
        None => table,
    }
}

/// Returns row numbers of an ops CSV as one text.
fn rows_of(rows: &[u64]) -> String {
    rows.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

const NO_MODEL: &str = "not modelled";

const GROUPS: [Column; 16] = [
    Column::new("op"),
    Column::new("op_count"),
    Column::new("duration_ns"),
    Column::new("percent"),
    Column::new("is_layout"),
    Column::or_null("limit_ns", NO_MODEL),
    Column::or_null("flops_percent", NO_MODEL),
    Column::or_null("dram_percent", NO_MODEL),
    Column::or_null("noc_percent", "no NoC events of each op"),
    Column::new("is_noc_lower_bound"),
    Column::or_null("bound", NO_MODEL),
    Column::new("idle_cores_ns"),
    Column::new("rows"),
    Column::or_null("core_count", "not recorded"),
    Column::or_null("available_core_count", "not recorded"),
    Column::new("why"),
];

fn groups(explanation: &Explanation) -> Table<'_> {
    Table::new(&GROUPS, &explanation.groups, |group| {
        let why: Vec<&str> = group.reasons.iter().map(|reason| reason.fact.as_str()).collect();
        cells![
            group.op,
            group.op_count,
            group.duration_ns,
            group.percent,
            group.is_layout,
            group.limit_ns,
            group.flops_percent,
            group.dram_percent,
            group.noc_percent,
            group.is_noc_lower_bound,
            group.bound,
            group.idle_cores_ns,
            rows_of(&group.rows),
            group.core_count,
            group.available_core_count,
            why.join("; "),
        ]
    })
}

/// Returns the shares by class. If no waits were recorded, their shares are unknown.
fn shares(time: &TimeSplit) -> Vec<Value> {
    cells_of(TimeClass::ALL.into_iter().map(|class| {
        let percent = time.percent(class);
        let is_unknown = class == TimeClass::Wait && time.waits == WaitEvidence::None;
        (!is_unknown || percent > 0.0).then_some(percent)
    }))
}

fn cells_of<T: serde::Serialize>(values: impl Iterator<Item = T>) -> Vec<Value> {
    values.map(|value| serde_json::json!(value)).collect()
}

fn devices(explanation: &Explanation) -> Table<'_> {
    Table::new(&DEVICES, &explanation.devices, |device| {
        let mut row = cells![device.chip_id, device.op_count, device.time.total_ns];
        row.extend(shares(&device.time));
        let overlap = device.time.overlap;
        row.extend(cells![
            overlap.map(|overlap| overlap.at_least_percent),
            overlap.map(|overlap| overlap.at_most_percent),
            device.busy_ns,
            device.kernel_sum_ns,
        ]);
        row
    })
}

/// Returns a table with one row for each phase and chip, and one row for a phase without launches.
fn phases(explanation: &Explanation) -> Table<'_> {
    let rows: Vec<_> = explanation
        .phases
        .iter()
        .flat_map(|phase| {
            (0..phase.devices.len().max(1)).map(move |index| (phase, phase.devices.get(index)))
        })
        .collect();
    Table::new(&PHASES, rows, |(phase, device)| {
        let mut row = cells![
            phase.path.join(" / "),
            phase.origin,
            phase.count,
            phase.host_ns,
            phase.op_count,
            phase.kernel_sum_over_devices_ns,
            device.map(|device| device.chip_id),
            device.and_then(|device| device.time.total_ns),
        ];
        match device {
            Some(device) => row.extend(shares(&device.time)),
            None => row.extend(TimeClass::ALL.map(|_| Value::Null)),
        }
        row.extend(cells![phase.path.len()]);
        row
    })
}

fn ops(explanation: &Explanation) -> Table<'_> {
    Table::new(&OPS, &explanation.ops, |op| {
        let mut row = cells![
            op.chip_id,
            RunHostId(op.run_host_id).base(),
            op.launch,
            op.name,
            op.time.total_ns
        ];
        row.extend(shares(&op.time));
        let pace = op.pace.as_ref();
        row.extend(cells![
            op.gap_ns,
            op.balance.as_ref().map(|balance| balance.ratio),
            pace.map(|pace| pace.pacer),
            pace.map(|pace| pace.margin_at_least),
            pace.map(|pace| pace.margin_at_most),
        ]);
        row
    })
}

fn waits(explanation: &Explanation) -> Table<'_> {
    let rows: Vec<(&OpCauses, &RiscWait)> =
        explanation.ops.iter().flat_map(|op| op.waits.iter().map(move |wait| (op, wait))).collect();
    let is_empty = rows.is_empty();
    let table = Table::new(&WAITS, rows, |(op, wait)| {
        let most = wait.sums.iter().max_by_key(|sum| sum.cycles);
        cells![
            op.chip_id,
            RunHostId(op.run_host_id).base(),
            op.launch,
            wait.risc.label(),
            wait.core_count,
            wait.kernel_cycles_sum,
            wait.blocked_percent,
            wait.barrier_percent,
            most.map(|sum| sum.kind),
            most.map(|sum| sum.key),
            most.map(|sum| sum.cycles),
        ]
    });
    if is_empty { table.with_note("reason", NO_PACE) } else { table }
}
