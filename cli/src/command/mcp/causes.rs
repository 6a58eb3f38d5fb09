//! Tables of the tool `explain`, one for each part of an explanation.

use super::{
    arguments::ExplainPart,
    table::{Table, table},
};
use host_reader::causes::{Explanation, OpCauses, RiscWait, Threshold, TimeClass};
use wire::RunHostId;

const EVERYWHERE: &str = "about more than one, or not recorded";

const NO_WAITS: &str = "no waits were recorded: blocked time is in the other classes";
const NO_OVERLAP: &str = "only one kind of kernel at a time, or unknown";
const NO_CLOCK: &str = "not recorded, or unknown clock";
const NO_KERNEL: &str = "no kernel with a known duration, or unknown clock";

const NO_CHIP: &str = "no launch on any chip";

const NO_PACE: &str = "no waits were recorded";

/// Returns the table of the part that the client asked for.
pub(super) fn table(explanation: &Explanation, asked: ExplainPart) -> Table<'_> {
    match asked {
        ExplainPart::Findings => findings(explanation),
        ExplainPart::Untold => table!(&explanation.untold, |untold| {
            "question" => untold.question,
            "reason" => untold.reason,
            "record_with" => untold.record_with,
        }),
        ExplainPart::Groups => groups(explanation),
        ExplainPart::Devices => devices(explanation),
        ExplainPart::Phases => phases(explanation),
        ExplainPart::Ops => ops(explanation),
        ExplainPart::Waits => waits(explanation),
        ExplainPart::Rooms => rooms(explanation),
    }
}

fn findings(explanation: &Explanation) -> Table<'_> {
    let table = table!(&explanation.findings, |finding| {
        let place = &finding.place;
        let threshold = Threshold::named(finding.threshold);
        "cause" => finding.cause,
        "sentence" => finding.sentence,
        "why" => finding.why.join("; "),
        "figure" => finding.figure,
        "figure_unit" or "not a figure with a threshold" => threshold.map(|of| of.unit),
        "figure_means" or "not a figure with a threshold" => threshold.map(|of| of.measures),
        "threshold" => finding.threshold,
        "threshold_value" or "not a figure with a threshold" => threshold.map(|of| of.value),
        "rests_on" => finding.rests_on.to_string(),
        "where" => finding.location,
        "rows" or "no ops CSV describes it" => Some(rows_of(&finding.rows)).filter(|rows| !rows.is_empty()),
        "chip_id" or EVERYWHERE => place.chip_id,
        "program" or EVERYWHERE => place.run_host_id.map(|id| RunHostId(id).base()),
        "launch" or EVERYWHERE => place.launch,
        "gain_at_most_ns" or "cannot be told" => finding.gain_at_most_ns,
        "gain_at_most_percent" or "cannot be told" => finding.gain_at_most_percent,
        "gain_of" => finding.gain_of,
        "gain_at_most_percent_of_all" or "cannot be told, or the same as gain_of" => finding.gain_at_most_percent_of_all,
        "advice" => finding.advice,
    });
    let table = table.with_note("untold_count", explanation.untold.len());
    let time_sums = Some(explanation.time_sums.join("; ")).filter(|sums| !sums.is_empty());
    let unreplayed = Some(explanation.unreplayed_traces.join(" ")).filter(|text| !text.is_empty());
    let not_used = Some(explanation.not_used.join("; ")).filter(|text| !text.is_empty());
    let sentences = [
        ("simulated", &explanation.simulated),
        ("window", &explanation.window),
        ("time_sums", &time_sums),
        ("described_by", &explanation.described_by),
        ("noc_events", &explanation.noc_events),
        ("counters", &explanation.counters),
        ("kernels", &explanation.kernels),
        ("unreplayed_traces", &unreplayed),
        ("not_used", &not_used),
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

/// Returns row numbers of an ops CSV as text, separated by commas.
fn rows_of(rows: &[u64]) -> String {
    rows.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

const UNKNOWN_USE: &str = "launch messages or the host's buffers are unknown";
const NO_CALL: &str = "no module called the op, or calls were not recorded";

fn rooms(explanation: &Explanation) -> Table<'_> {
    let table = table!(&explanation.l1_rooms, |room| {
        "op" => room.op,
        "percent" => room.percent,
        "launch_count" => room.launch_count,
        "full_launch_count" => room.full_launch_count,
        "chip_id" => room.chip_id,
        "program" => RunHostId(room.run_host_id).base(),
        "module" or NO_CALL => room.module,
        "location" or NO_CALL => room.location,
        "tensor_count" => room.tensor_count,
        "needed_bytes" => room.needed_bytes,
        "largest_free_bytes" => room.largest_free_bytes,
        "largest_free_if_freed_bytes" or "every tensor in L1 is one of a later op" => room.largest_free_if_freed_bytes,
        "has_room" => room.has_room,
        "circular_buffer_bytes" or UNKNOWN_USE => room.circular_buffer_bytes,
        "buffer_bytes" or UNKNOWN_USE => room.buffer_bytes,
        "outlived_bytes" => room.outlived_bytes,
        "l1_bytes" or UNKNOWN_USE => room.l1_bytes,
        "sentence" => room.sentence,
    });
    match explanation.l1_rooms.is_empty() {
        true => table.with_note(
            "reason",
            "none of the longest ops has tensors in DRAM and a known use of L1; record with kprof record \
             --device-memory-profiler",
        ),
        false => table,
    }
}

const NO_MODEL: &str = "not modelled";

fn groups(explanation: &Explanation) -> Table<'_> {
    table!(&explanation.groups, |group| {
        let why = group.reasons.iter().map(|reason| reason.fact.as_str()).collect::<Vec<_>>();
        "op" => group.op,
        "op_count" => group.op_count,
        "duration_ns" => group.duration_ns,
        "percent" => group.percent,
        "is_layout" => group.is_layout,
        "limit_ns" or NO_MODEL => group.limit_ns,
        "limit_kind" => group.limit_kind,
        "refuted_model_count" => group.refuted_model_count,
        "flops_percent" or NO_MODEL => group.flops_percent,
        "dram_percent" or NO_MODEL => group.dram_percent,
        "is_dram_lower_bound" => group.is_dram_lower_bound,
        "dram_at_most_percent" or "dram_percent counts all bytes, or too many to have been moved" => group.dram_at_most_percent,
        "noc_percent" or "no NoC events of each op" => group.noc_percent,
        "is_noc_lower_bound" => group.is_noc_lower_bound,
        "bound" or NO_MODEL => group.bound,
        "idle_cores_ns" => group.idle_cores_ns,
        "rows" => rows_of(&group.rows),
        "core_count" or "not recorded" => group.core_count,
        "least_core_count" or "not recorded" => group.least_core_count,
        "most_core_count" or "not recorded" => group.most_core_count,
        "available_core_count" or "not recorded" => group.available_core_count,
        "why" => why.join("; "),
    })
}

fn devices(explanation: &Explanation) -> Table<'_> {
    table!(&explanation.devices, |device| {
        let share = |class| device.time.known_percent(class);
        let overlap = device.time.overlap;
        "chip_id" or "the rows do not give it" => device.chip_id,
        "op_count" => device.op_count,
        "total_ns" or NO_CLOCK => device.time.total_ns,
        "compute_percent" => share(TimeClass::Compute),
        "data_movement_percent" => share(TimeClass::DataMovement),
        "collective_percent" => share(TimeClass::Collective),
        "wait_percent" or NO_WAITS => share(TimeClass::Wait),
        "dispatch_percent" => share(TimeClass::Dispatch),
        "host_late_percent" => share(TimeClass::HostLate),
        "profiler_percent" => share(TimeClass::Profiler),
        "unknown_percent" => share(TimeClass::Unknown),
        "overlap_at_least_percent" or NO_OVERLAP => overlap.map(|overlap| overlap.at_least_percent),
        "overlap_at_most_percent" or NO_OVERLAP => overlap.map(|overlap| overlap.at_most_percent),
        "busy_ns" or NO_KERNEL => device.busy_ns,
        "kernel_sum_ns" or NO_KERNEL => device.kernel_sum_ns,
    })
}

/// Returns a table with one row for each phase and each chip with launches in that phase. A phase
/// without launches has one row.
fn phases(explanation: &Explanation) -> Table<'_> {
    let rows: Vec<_> = explanation
        .phases
        .iter()
        .flat_map(|phase| {
            (0..phase.devices.len().max(1)).map(move |index| (phase, phase.devices.get(index)))
        })
        .collect();
    table!(rows, |(phase, device)| {
        let share = |class| device.as_ref()?.time.known_percent(class);
        "path" => phase.path.join(" / "),
        "origin" => phase.origin,
        "count" => phase.count,
        "host_ns" => phase.host_ns,
        "op_count" => phase.op_count,
        "kernel_sum_over_devices_ns" => phase.kernel_sum_over_devices_ns,
        "chip_id" or NO_CHIP => device.map(|device| device.chip_id),
        "total_ns" or NO_CHIP => device.and_then(|device| device.time.total_ns),
        "compute_percent" or NO_CHIP => share(TimeClass::Compute),
        "data_movement_percent" or NO_CHIP => share(TimeClass::DataMovement),
        "collective_percent" or NO_CHIP => share(TimeClass::Collective),
        "wait_percent" or "no launch, or no waits were recorded" => share(TimeClass::Wait),
        "dispatch_percent" or NO_CHIP => share(TimeClass::Dispatch),
        "host_late_percent" or NO_CHIP => share(TimeClass::HostLate),
        "profiler_percent" or NO_CHIP => share(TimeClass::Profiler),
        "unknown_percent" or NO_CHIP => share(TimeClass::Unknown),
        "depth" => phase.path.len(),
    })
}

fn ops(explanation: &Explanation) -> Table<'_> {
    table!(&explanation.ops, |op| {
        let share = |class| op.time.known_percent(class);
        let pace = op.pace.as_ref();
        "chip_id" => op.chip_id,
        "program" => RunHostId(op.run_host_id).base(),
        "launch" => op.launch,
        "name" or "the host gave none" => op.name,
        "total_ns" or NO_CLOCK => op.time.total_ns,
        "compute_percent" => share(TimeClass::Compute),
        "data_movement_percent" => share(TimeClass::DataMovement),
        "collective_percent" => share(TimeClass::Collective),
        "wait_percent" or NO_WAITS => share(TimeClass::Wait),
        "dispatch_percent" => share(TimeClass::Dispatch),
        "host_late_percent" => share(TimeClass::HostLate),
        "profiler_percent" => share(TimeClass::Profiler),
        "unknown_percent" => share(TimeClass::Unknown),
        "gap_ns" or "first op, overlap, or not known" => op.gap_ns,
        "last_core_over_mean" or "one core, or times cannot be compared" =>
            op.balance.as_ref().map(|balance| balance.ratio),
        "pacer" or NO_PACE => pace.map(|pace| pace.pacer),
        "pacer_margin_at_least" or NO_PACE => pace.map(|pace| pace.margin_at_least),
        "pacer_margin_at_most" or NO_PACE => pace.map(|pace| pace.margin_at_most),
    })
}

fn waits(explanation: &Explanation) -> Table<'_> {
    let rows: Vec<(&OpCauses, &RiscWait)> =
        explanation.ops.iter().flat_map(|op| op.waits.iter().map(move |wait| (op, wait))).collect();
    let is_empty = rows.is_empty();
    let table = table!(rows, |(op, wait)| {
        let most = wait.sums.iter().max_by_key(|sum| sum.cycles);
        "chip_id" => op.chip_id,
        "program" => RunHostId(op.run_host_id).base(),
        "launch" => op.launch,
        "risc" => wait.risc.label(),
        "core_count" => wait.core_count,
        "kernel_cycles_sum" => wait.kernel_cycles_sum,
        "blocked_percent" => wait.blocked_percent,
        "barrier_percent" => wait.barrier_percent,
        "most_blocked_by" or "nothing" => most.map(|sum| sum.kind),
        "most_blocked_key" or "nothing" => most.map(|sum| sum.key),
        "most_blocked_cycles" or "nothing" => most.map(|sum| sum.cycles),
    });
    if is_empty { table.with_note("reason", NO_PACE) } else { table }
}
