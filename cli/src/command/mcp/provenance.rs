//! What the figures of a recording rest on: its file, its chips, its clocks, what was lost, and what was
//! not recorded.

use super::{
    loaded::{Figures, Loaded, Part, RunFigures},
    table::{Table, table},
};
use crate::command::memory::capture_of;
use host_reader::{
    capture::FileHeader,
    recording::{Recording, clocks_of},
};
use serde_json::{Value, json};
use std::path::Path;

/// A fact about a recording.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    /// Number of the chip that it is about; `None` if it is about the whole recording.
    chip_id: Option<u32>,
    /// Name, which ends with the unit of the value, if it has one.
    name: &'static str,
    /// Null if unknown.
    value: Value,
    /// Meaning of the value, and of null.
    means: String,
}

impl Fact {
    fn new(name: &'static str, value: impl Into<Value>, means: impl Into<String>) -> Self {
        Self { chip_id: None, name, value: value.into(), means: means.into() }
    }
}

/// Returns the facts about the file of a recording.
pub(super) fn of_file(path: &Path, is_ops_csv: bool) -> Vec<Fact> {
    let capture = capture_of(path).ok().filter(|_| !is_ops_csv);
    let header = capture.as_deref().and_then(FileHeader::of_file);
    let kind = match (is_ops_csv, header) {
        (true, _) => "ops CSV",
        (false, Some(_)) => "capture",
        (false, None) => "device log, or another recording without a header",
    };
    let version = header.map(|header| header.version.to_string());
    vec![
        Fact::new("file_kind", kind, "kind of the file"),
        Fact::new("format_version", version, "version of the capture's format; null: no capture"),
        Fact::new(
            "created_unix_ns",
            header.map(|header| header.identity.created_unix_ns),
            "time at which the capture was begun, since the Unix epoch; null: no capture",
        ),
    ]
}

/// Returns the facts about a run that its figures no longer have.
pub(super) fn of_run(run: &Recording) -> Vec<Fact> {
    let readout = &run.readout;
    let simulated = readout.simulated.as_ref();
    let mut facts = vec![
        Fact::new(
            "is_simulated",
            simulated.map(|_| true),
            "true: times come from a simulator; null: from chips, or it is unknown where they come from",
        ),
        Fact::new(
            "simulated_times",
            simulated.map(ToString::to_string),
            "which limits of a chip simulated times leave out; null: not known to be simulated",
        ),
        Fact::new(
            "profiler_options",
            Some(readout.options.to_string()).filter(|options| !options.is_empty()),
            "options of the profiler; null: unknown",
        ),
        Fact::new(
            "profiler_launch_count",
            run.profiler_launch_count,
            "launches of the profiler itself, which are left out",
        ),
        Fact::new(
            "described_op_count",
            run.ops.len(),
            "descriptions of ops by the host, one for each chip: names, tensors, attributes",
        ),
        Fact::new(
            "ops_without_frames_count",
            run.calls.op_without_frames_count,
            "ops whose call in Python is named, but whose frames are missing or unreadable",
        ),
        Fact::new(
            "host_event_count",
            run.host.iter().flat_map(|of| &of.threads).map(|of| of.events.len()).sum::<usize>(),
            "events of the host: zones, messages, signposts",
        ),
    ];
    facts.extend(of_chips(run));
    facts
}

/// Returns the facts about the chips of a run, and about their clocks.
fn of_chips(run: &Recording) -> Vec<Fact> {
    let (clocks, origin_ns) = clocks_of(run);
    let mut facts = vec![Fact::new(
        "have_chips_a_common_clock",
        origin_ns.is_some(),
        "true: times of all chips are times of the host, so that they compare; false: only durations do",
    )];
    for (device, clock) in run.readout.devices.iter().zip(clocks) {
        let chip = &device.chip;
        let of_chip = |name, value: Value, means: &str| Fact {
            chip_id: Some(chip.chip_id),
            ..Fact::new(name, value, means)
        };
        let mhz = Some(chip.aiclk_mhz).filter(|mhz| *mhz > 0);
        facts.extend([
            of_chip("architecture", json!(chip.arch), "architecture of the chip"),
            of_chip("aiclk_mhz", json!(mhz), "clock by which cycles become times; null: unknown"),
            of_chip(
                "worker_core_count",
                json!(chip.max_compute_cores),
                "worker cores of the chip; null: unknown",
            ),
            of_chip("lane_count", json!(device.lanes.len()), "RISCs with records"),
            of_chip(
                "host_clock_error_ns",
                json!(clock.bound_ns()),
                "largest error of times of the host; null: the chip's clock was not compared with it",
            ),
        ]);
    }
    facts
}

/// Returns what the figures of a part of a recording rest on.
pub(super) fn table<'a>(loaded: &'a Loaded, part: &'a Part) -> Table<'a> {
    let mut facts = loaded.facts.clone();
    facts.push(Fact::new(
        "problem_count",
        loaded.problem_count,
        "damaged parts of the file, which are not used",
    ));
    facts.extend(part.facts.iter().cloned());
    let lost = part.lost();
    facts.push(Fact::new("lost_records", lost.records, lost.text));
    match &part.figures {
        Figures::OpsCsv(report) => {
            facts.push(Fact::new("row_count", report.rows.len(), "rows of the file"));
        }
        Figures::Run(run) => facts.extend(of_figures(run)),
    }
    facts.extend(part.explanation.untold.iter().map(|untold| {
        let means = format!("{}; record {}", untold.reason, untold.record_with);
        Fact::new("not_recorded", untold.question, means)
    }));
    table!(facts, |fact| {
        "name" => fact.name,
        "chip_id" or "about the whole recording" => fact.chip_id,
        "value" or "unknown, or there is none: means says which" => fact.value,
        "means" => fact.means,
    })
}

fn of_figures(run: &RunFigures) -> Vec<Fact> {
    let memory = &run.memory;
    let kept = &run.report.summary.kept;
    vec![
        Fact::new("launch_count", run.report.ops.len(), "launches of programs on chips"),
        Fact::new(
            "zone_count",
            kept.zones.saturating_add(kept.open_zones),
            "zones, also those without an end",
        ),
        Fact::new(
            "anomaly_count",
            run.report.summary.anomaly_count,
            "records that contradict others; losses names them",
        ),
        Fact::new(
            "ops_with_memory_count",
            memory.ops.len(),
            "ops of which it is known what L1 or DRAM held; 0: not recorded (--device-memory-profiler)",
        ),
        Fact::new(
            "ops_without_launch_messages_count",
            memory.op_without_launch_count,
            "ops whose circular buffers and kernels in L1 are unknown",
        ),
        Fact::new(
            "has_noc_events",
            run.traffic.why_empty.is_none(),
            "true: transfers over the NoCs were recorded; false: noc says why not",
        ),
    ]
}
