//! Tools and their arguments, as clients see them.

use super::table::SortOrder;
use crate::failure::{Failure, failure};
use rmcp::{
    handler::server::tool::schema_for_input,
    model::{JsonObject, Tool, ToolAnnotations},
    schemars::JsonSchema,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// Defines the arguments of a tool.
macro_rules! arguments {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[schemars(crate = "rmcp::schemars")]
        pub(super) struct $name { $($(#[$field_doc])* pub(super) $field: $type,)* }
    };
}

/// Defines a choice between parts of a tool's data.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$option_doc:meta])* $option:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[schemars(crate = "rmcp::schemars")]
        pub(super) enum $name { $($(#[$option_doc])* $option,)* }
    };
}

arguments! {
    /// Arguments of `load`.
    LoadArguments {
        /// Path of a device log, a capture, a folder with tt-metal's logs, or an ops CSV, inside the
        /// folder that the server was given as --root.
        path: String,
    }
}

arguments! {
    /// Arguments of `recordings`.
    RecordingsArguments {
        /// Only this recording, such as r1.
        recording: Option<String>,
    }
}

arguments! {
    /// Arguments of `provenance`.
    ProvenanceArguments {
        /// The recording, such as r1. Default: the recording loaded last.
        recording: Option<String>,
        /// Number of the run in a capture with several runs, from 1.
        run: Option<usize>,
    }
}

arguments! {
    /// Arguments of `ops`.
    OpsArguments {
        /// The recording, such as r1. Default: the recording loaded last.
        recording: Option<String>,
        /// Number of the run in a capture with several runs, from 1.
        run: Option<usize>,
        /// Only some ops: terms with device and op, such as device=0,op=Matmul* or op=3..9.
        filter: Option<String>,
        /// Column to sort by, such as kernel_ns. Default: by chip and start.
        sort: Option<String>,
        /// Direction of the sort.
        #[serde(default)]
        order: SortOrder,
    }
}

arguments! {
    /// Arguments of `zones`.
    ZonesArguments {
        /// The recording, such as r1. Default: the recording loaded last.
        recording: Option<String>,
        /// Number of the run in a capture with several runs, from 1.
        run: Option<usize>,
        /// Only some zones: terms with device, risc and zone, such as risc=trisc*,zone!=*-FW.
        filter: Option<String>,
        /// Zones, sum zones, waits by object, or time of the profiler itself.
        #[serde(default)]
        kind: ZoneKind,
        /// Column to sort by, such as p99_ns. Default: by chip and RISC, most cycles first.
        sort: Option<String>,
        /// Direction of the sort.
        #[serde(default)]
        order: SortOrder,
    }
}

choice! {
    /// Kind of zones.
    ZoneKind {
        /// Zones with a start and an end.
        #[default]
        Zones,
        /// Sum zones: totals per launch.
        Sums,
        /// Waits for circular buffers, semaphores and NoCs.
        Waits,
        /// Data values: counts, and the smallest and largest value.
        Data,
        /// Events: times without a value.
        Events,
        /// Time in which the profiler waits for the host, or writes the records of several launches
        /// to DRAM.
        ProfilerTime,
    }
}

arguments! {
    /// Arguments of `by`.
    ByArguments {
        /// The recording, such as r1. Default: the recording loaded last.
        recording: Option<String>,
        /// Number of the run in a capture with several runs, from 1.
        run: Option<usize>,
        /// The column: module (a tree of the model's layers), function or location of the ops' calls
        /// in Python, signpost (the last one before each op), or a column of another tool, such as LOC.
        /// Default: module.
        column: Option<String>,
        /// Only groups with this text in their name, such as layers.1.mlp; figures stay those of all ops.
        /// Default: all groups.
        name: Option<String>,
        /// Column of the answer to sort by, such as device_time_us. Default: a tree in the order of
        /// the ops; other groups by device time.
        sort: Option<String>,
        /// Direction of the sort.
        #[serde(default)]
        order: SortOrder,
    }
}

arguments! {
    /// Arguments of `noc`.
    NocArguments {
        /// The recording, such as r1. Default: the recording loaded last.
        recording: Option<String>,
        /// Number of the run in a capture with several runs, from 1.
        run: Option<usize>,
        /// Part of the traffic.
        #[serde(default)]
        part: NocPart,
        /// Column to sort by, such as bytes. Default: as `kprof noc` shows them.
        sort: Option<String>,
        /// Direction of the sort.
        #[serde(default)]
        order: SortOrder,
    }
}

choice! {
    /// Part of the traffic of the NoCs.
    NocPart {
        /// Events, bytes and waits by program, core, RISC, NoC and kind.
        #[default]
        Events,
        /// Bytes from tile to tile.
        Pairs,
        /// Bytes over each link.
        Links,
        /// Bytes that are in no pair of tiles, with the reason.
        Outside,
    }
}

arguments! {
    /// Arguments of `counters`.
    CountersArguments {
        /// The recording, such as r1. Default: the recording loaded last.
        recording: Option<String>,
        /// Number of the run in a capture with several runs, from 1.
        run: Option<usize>,
        /// Metrics, or the counters from which they are computed.
        #[serde(default)]
        part: CountersPart,
        /// Only ops or programs with this text in their name.
        op: Option<String>,
        /// Only metrics or counters with this text in their name.
        counter: Option<String>,
        /// Column to sort by, such as median. Default: by launch.
        sort: Option<String>,
        /// Direction of the sort.
        #[serde(default)]
        order: SortOrder,
    }
}

choice! {
    /// Part of what hardware counters show.
    CountersPart {
        /// Metrics over the cores of each launch, with what they cannot see.
        #[default]
        Metrics,
        /// Counts of events on a core.
        Counters,
    }
}

arguments! {
    /// Arguments of `lines`.
    LinesArguments {
        /// The recording, such as r1. Default: the recording loaded last.
        recording: Option<String>,
        /// Lines of source, or functions.
        #[serde(default)]
        part: LinesPart,
        /// Only ops or programs with this text in their name.
        op: Option<String>,
        /// Only this RISC: BRISC, NCRISC or TRISC_0 to TRISC_2.
        risc: Option<String>,
        /// Column to sort by, such as instructions. Default: most cycles first.
        sort: Option<String>,
        /// Direction of the sort.
        #[serde(default)]
        order: SortOrder,
    }
}

choice! {
    /// What cycles are summed by.
    LinesPart {
        /// Lines of source.
        #[default]
        Lines,
        /// Functions, without those that they call.
        Functions,
    }
}

arguments! {
    /// Arguments of `memory`.
    MemoryArguments {
        /// The recording, such as r1. Default: the recording loaded last.
        recording: Option<String>,
        /// Number of the run in a capture with several runs, from 1.
        run: Option<usize>,
        /// Part of the figures.
        #[serde(default)]
        part: MemoryPart,
        /// Only ops with this text in their name, or the op with this number. Default: all ops.
        op: Option<String>,
        /// For the part map: only ranges of the core with these NoC-0 coordinates, such as 1-2, and of
        /// all cores. Default: every core.
        core: Option<String>,
        /// For the part map: only ranges of this kind, such as circular buffer, tensor or kernel. Default:
        /// all.
        kind: Option<String>,
        /// Column to sort by, such as size_bytes. Default: by address.
        sort: Option<String>,
        /// Direction of the sort.
        #[serde(default)]
        order: SortOrder,
    }
}

arguments! {
    /// Arguments of `programs`.
    ProgramsArguments {
        /// The recording, such as r1. Default: the recording loaded last.
        recording: Option<String>,
        /// Number of the run in a capture with several runs, from 1.
        run: Option<usize>,
        /// Part of the figures.
        #[serde(default)]
        part: ProgramsPart,
        /// Column to sort by, such as rebuilt_count. Default: most time of the host first.
        sort: Option<String>,
        /// Direction of the sort.
        #[serde(default)]
        order: SortOrder,
    }
}

choice! {
    /// Part of what is known of programs.
    ProgramsPart {
        /// Places whose calls built programs.
        #[default]
        Places,
        /// Calls that built a program although an earlier one had one, each with the reason.
        Rebuilds,
    }
}

choice! {
    /// Part of what is known of memory.
    MemoryPart {
        /// For each chip, the op during which a core's L1 is fullest, and the one for DRAM.
        #[default]
        Peaks,
        /// What is at which address during the op with the peak of L1, on each group of cores.
        Map,
        /// What fills the memories at the peaks: bytes of circular buffers, tensors and kernels by the op
        /// or call that they belong to, with its line of Python and module.
        Makers,
        /// Tensors at the peaks that no later op has as a tensor, largest first.
        Outlived,
        /// The fullest core's L1 during each op.
        Ops,
    }
}

arguments! {
    /// Arguments of `explain`.
    ExplainArguments {
        /// The recording, such as r1. Default: the recording loaded last.
        recording: Option<String>,
        /// Number of the run in a capture with several runs, from 1.
        run: Option<usize>,
        /// Part of the explanation.
        #[serde(default)]
        part: ExplainPart,
    }
}

choice! {
    /// Part of an explanation.
    ExplainPart {
        /// At most ten sentences, sorted by gain.
        #[default]
        Findings,
        /// Questions that this recording cannot answer, and the kind of recording that can answer
        /// them.
        Untold,
        /// Ops by op code: their time, the minimum time for their shapes, what bounds them, and why
        /// they take longer.
        Groups,
        /// Breakdown of the time of each chip by class, in percent.
        Devices,
        /// Phases of the host's program, by chip.
        Phases,
        /// Breakdown of the time of each op by class, and the op's bottleneck stage.
        Ops,
        /// Blocked time of each RISC in each op.
        Waits,
        /// Whether what the longest ops have in DRAM would fit into L1.
        Rooms,
    }
}

arguments! {
    /// Arguments of `critical_path`.
    PathArguments {
        /// The recording, such as r1. Default: the recording loaded last.
        recording: Option<String>,
        /// Number of the run in a capture with several runs, from 1.
        run: Option<usize>,
        /// Number of the chip; requires program. Default: the first chip that ran the program.
        chip_id: Option<u32>,
        /// Number of the program, as shown by the tool `ops`. Default: one row for each op that has
        /// a path.
        program: Option<u32>,
        /// Number of the program's launch, from 1; requires program. Default: 1.
        launch: Option<u64>,
        /// True to list all steps in order of time; false to list total times by core, RISC and
        /// kind. Requires program.
        #[serde(default)]
        steps: bool,
    }
}

arguments! {
    /// Arguments of `losses`.
    LossesArguments {
        /// The recording, such as r1. Default: the recording loaded last.
        recording: Option<String>,
        /// Number of the run in a capture with several runs, from 1.
        run: Option<usize>,
        /// Part of the losses.
        #[serde(default)]
        part: LossesPart,
    }
}

choice! {
    /// Part of the losses.
    LossesPart {
        /// Lost records by cause, chip and RISC, with remedies.
        #[default]
        Causes,
        /// Lost records by core, RISC, cause and program.
        Lanes,
        /// Anomalies in the records by kind, and repaired anomalies by kind.
        Anomalies,
    }
}

arguments! {
    /// Arguments of `diff`.
    DiffArguments {
        /// Baseline recording, such as r1.
        a: String,
        /// Recording to compare with the baseline, such as r2.
        b: String,
        /// Part of the comparison.
        #[serde(default)]
        part: DiffPart,
        /// Confidence level of the intervals in percent. Default: 95.
        confidence: Option<f64>,
        /// For the part by: the column, as for the tool `by`. Default: module.
        column: Option<String>,
    }
}

choice! {
    /// Part of a comparison.
    DiffPart {
        /// Significant changes, and changes without a confidence interval, because there is only
        /// one repetition.
        #[default]
        Changes,
        /// Every op and zone of both recordings.
        All,
        /// Time gained and lost by kind and shapes of ops.
        Groups,
        /// Times of groups by a column, such as the model's modules, whatever the ops are called.
        By,
        /// Lines of source whose cycles changed, if both were recorded on the simulator with --lines.
        Lines,
        /// Ops and zones that only the baseline has.
        OnlyInA,
        /// Ops and zones that only recording b has.
        OnlyInB,
        /// Items left out of the comparison, by reason.
        Skipped,
    }
}

arguments! {
    /// Arguments of `more`.
    MoreArguments {
        /// Handle of an answer that had more rows, such as h1.
        handle: String,
    }
}

/// Arguments that all tools about one run have.
#[derive(Deserialize)]
pub(super) struct RunArguments {
    pub(super) recording: Option<String>,
    pub(super) run: Option<usize>,
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: JsonObject,
}

impl Call {
    /// Parses the arguments.
    ///
    /// # Errors
    /// If the arguments do not match the tool's input schema.
    pub(super) fn parsed<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_value(Value::Object(self.arguments.clone())).map_err(|error| {
            let tool = &self.tool;
            failure!(
                "expected arguments that match the input schema of {tool}, found: {error}; \
                 tools/list shows the schema"
            )
        })
    }
}

/// Returns all tools, as described to clients.
///
/// # Errors
/// If the schema of a tool is not the schema of an object.
pub(super) fn tools() -> Result<Vec<Tool>, String> {
    let mut tools = tools_of_figures()?;
    tools.extend(tools_of_causes()?);
    Ok(tools)
}

/// Returns the tools that load recordings and show their figures.
fn tools_of_figures() -> Result<Vec<Tool>, String> {
    Ok(vec![
        tool::<LoadArguments>(
            "load",
            "Load a recording of kernels on Tenstorrent chips: device log, capture, folder of \
             tt-metal's logs, or ops CSV. Returns the recording's name for other tools.",
        )?,
        tool::<RecordingsArguments>("recordings", "List the loaded recordings and their runs.")?,
        tool::<OpsArguments>(
            "ops",
            "Launches of programs with durations by RISC, in ns; rows of an ops CSV with \
             duration, gap and modelled bound.",
        )?,
        tool::<ZonesArguments>(
            "zones",
            "Statistics of zones by chip and RISC: count, total, min, median, p99, max.",
        )?,
        tool::<ByArguments>(
            "by",
            "Time of ops by module of the model, by function or line of the caller in Python, or by \
             another tool's column: device and host time, share, per iteration.",
        )?,
        tool::<NocArguments>(
            "noc",
            "Traffic of the NoCs: events, bytes and waits by core and kind, between tiles, and over \
             links.",
        )?,
        tool::<CountersArguments>(
            "counters",
            "Hardware counters of launches: metrics over cores with their units and what they \
             cannot see, or the counts of events.",
        )?,
        tool::<LinesArguments>(
            "lines",
            "Lines of source of kernels by cycles, with what they wait for; of recordings that were \
             made on the simulator with --lines.",
        )?,
        tool::<MemoryArguments>(
            "memory",
            "What L1 and DRAM hold while ops run: the peak, what makes it and on which line of Python, \
             circular buffers, tensors, free bytes, tensors that outlive their use.",
        )?,
        tool::<ProgramsArguments>(
            "programs",
            "Calls of ops that built programs, instead of finding one in the program cache: the host's \
             time for them, and which argument had changed since the most similar call.",
        )?,
    ])
}

/// Returns the tools that explain, compare, and say what figures rest on.
fn tools_of_causes() -> Result<Vec<Tool>, String> {
    Ok(vec![
        tool::<ExplainArguments>(
            "explain",
            "Why it is slow: ranked sentences with figure and its unit, location, maximum gain and advice; \
             where the time went; what the recording cannot show; room in L1.",
        )?,
        tool::<PathArguments>(
            "critical_path",
            "Chain of RISCs and waits that determined the end of an op.",
        )?,
        tool::<LossesArguments>(
            "losses",
            "Missing records, by cause or by core, with remedies; anomalies.",
        )?,
        tool::<ProvenanceArguments>(
            "provenance",
            "What the figures of a recording rest on: kind and format of the file, simulated or not, \
             chips and clocks, what was lost, and what was not recorded. Each row says what it means.",
        )?,
        tool::<DiffArguments>(
            "diff",
            "Compare two loaded recordings: ops and zones that became slower or faster, with \
             intervals.",
        )?,
        tool::<MoreArguments>(
            "more",
            "The next rows of an answer that has a handle in its field `more`.",
        )?,
    ])
}

fn tool<T: JsonSchema + 'static>(
    name: &'static str,
    description: &'static str,
) -> Result<Tool, String> {
    // Each call of `load` adds a recording.
    let annotations =
        ToolAnnotations::new().read_only(true).open_world(false).idempotent(name != "load");
    Ok(Tool::new(name, description, schema_for_input::<T>()?).with_annotations(annotations))
}
