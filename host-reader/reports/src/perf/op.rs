//! One row of a report: an op, with the figures that can be computed from the row alone.

use super::{
    category::{OpCategory, is_host_op},
    fidelity::{FidelityAdvice, judge_fidelity},
    model::{
        BoundAnalysis, LimitKind, ModelContext, Modelled, ShapeLimit, attribute_value,
        first_number, has_program_config, model_of,
    },
    no_room::NoRoom,
    row::{CoreTimes, OpRow, OtherCell, Tensor},
    sending::Sending,
    signposts::SIGNPOST,
    text_pool::TextPool,
    tried_changes::TriedChanges,
};
use crate::report::CALL_LOCATION;
use serde::Serializer;
use std::sync::Arc;

/// Minimum percentage of a limit that an op must reach to be reported as bound by this limit.
const BOUND_PERCENT: f64 = 65.0;

/// Length in ns above which a gap before an op is checked.
///
/// A longer gap is left out if this op or the previous op has an invalid duration. If a negative
/// gap is longer, and also longer than half of the op's duration, the op's duration is invalid.
const DOUBTED_GAP_NS: f64 = 1e6;

/// A kernel that takes more than this many times its firmware, and `DOUBTED_KERNEL_NS` more, has a
/// wrong start or end: the firmware surrounds it. Columns are rounded, clocks are inexact, and files
/// are edited to try a comparison; the start of an earlier launch is much farther away.
const MOST_OF_FIRMWARE: f64 = 2.0;

/// See [`MOST_OF_FIRMWARE`].
const DOUBTED_KERNEL_NS: f64 = 1000.0;

/// Kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// An op on a device.
    Device,
    /// An op on the host.
    Host,
    /// A signpost set by the program.
    Signpost,
}

reader::labelled! {
    /// Resource that limits an op's speed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
    #[serde(rename_all = "UPPERCASE")]
    pub enum Bound {
        /// DRAM and FLOPs.
        Both = "BOTH",
        /// DRAM bandwidth.
        Dram = "DRAM",
        /// FLOPs.
        Flop = "FLOP",
        /// Neither DRAM nor FLOPs.
        Slow = "SLOW",
        /// The op ran on the host.
        Host = "HOST",
    }
}

/// Block sizes with which a matmul was configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ProgramBlocks {
    /// Width of blocks of the inner dimension, in tiles.
    pub inner_block_tiles: Option<u64>,
    /// Height of blocks of the output, in tiles.
    pub output_subblock_height_tiles: Option<u64>,
    /// Width of blocks of the output, in tiles.
    pub output_subblock_width_tiles: Option<u64>,
}

/// What a row says of its op, without what a model makes of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedOp {
    /// The first two inputs and the first output.
    pub tensors: [Tensor; 3],
    /// Number of cores. The model of an op may count other cores.
    pub core_count: Option<u64>,
    /// Math fidelity.
    pub fidelity: Option<Arc<str>>,
    /// Program configuration; `None` if the row names none.
    pub program_config: Option<Arc<str>>,
    /// Attributes as text.
    pub attributes: Arc<str>,
    /// Function of a binary op, such as `ADD`; `None` if the row does not name it.
    pub function: Option<Arc<str>>,
    /// Durations of the kernels of BRISC, NCRISC and TRISCs 0 to 2 in nanoseconds.
    pub risc_kernels_ns: [Option<f64>; 5],
    /// Times of the kernels on the op's cores.
    pub core_times: Option<CoreTimes>,
    /// Time from the first core's kernel start to the last core's, in nanoseconds.
    pub start_skew_ns: Option<f64>,
    /// Time in which TRISC 0 waited for data in circular buffers, in nanoseconds, summed over the cores.
    pub compute_data_wait_ns: Option<f64>,
    /// Time in which TRISC 2 waited for room in circular buffers, in nanoseconds, summed over the cores.
    pub compute_room_wait_ns: Option<f64>,
    /// Clock of the device in MHz, if the row has durations in cycles and in ns.
    pub clock_mhz: Option<f64>,
    /// Use of the busiest NoC link in percent, which tt-npe has computed; `None` if the row has none.
    pub noc_percent: Option<f64>,
    /// Shares of the op's time that hardware counters give, in percent, each with the title of its column.
    pub counters: Vec<(Arc<str>, f64)>,
}

impl RecordedOp {
    /// Returns true if the row has attributes: without any, nothing is known of them, whatever the op was
    /// called with.
    #[must_use]
    pub fn has_attributes(&self) -> bool {
        let is_frame = |of: char| of.is_whitespace() || matches!(of, '{' | '}' | '[' | ']');
        !self.attributes.trim_matches(is_frame).is_empty()
    }
}

impl RecordedOp {
    fn new(row: &OpRow, texts: &mut TextPool) -> Self {
        let [first, second] = row.inputs.clone();
        Self {
            tensors: [first, second, row.output.clone()],
            core_count: row.core_count,
            fidelity: (!row.math_fidelity.is_empty()).then(|| row.math_fidelity.clone()),
            program_config: program_config(row).map(|config| texts.shared(config)),
            attributes: row.attributes.clone(),
            function: function_of(row).map(|function| texts.shared(function)),
            risc_kernels_ns: row.risc_kernels_ns,
            core_times: row.core_times,
            start_skew_ns: row.start_skew_ns,
            compute_data_wait_ns: row.compute_data_wait_ns,
            compute_room_wait_ns: row.compute_room_wait_ns,
            clock_mhz: row.clock_ghz.map(|clock| clock * 1000.0),
            noc_percent: row.noc_percent,
            counters: row.counters.clone(),
        }
    }
}

/// One row of a report.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct OpReport {
    /// Row number in a spreadsheet that contains the rows of all files.
    pub id: u64,
    /// Index of the file, from 0.
    pub file: usize,
    /// Line of the row in the file.
    pub line: u64,
    /// Kind of the row.
    pub kind: RowKind,
    /// Time of the row's op and of the gap before it, as a percentage of the sum of these times
    /// over all rows.
    pub total_percent: Option<f64>,
    /// Resource that limits the op's speed; `None` if the work of the op is not known.
    pub bound: Option<Bound>,
    /// Op code with the text of the op's model appended.
    pub op_code: Arc<str>,
    /// Op code as in the file.
    pub raw_op_code: Arc<str>,
    /// Shapes, element types and memories of the op's tensors.
    pub source: Arc<str>,
    /// Device number. If the row is the mean of several devices, the lowest of their numbers.
    pub device: Option<u64>,
    /// Number of devices of whose times the row has the mean; `None` for the time of one device.
    pub mean_of_device_count: Option<u64>,
    /// Sub-device that ran the op; `None` if the row does not name it.
    pub sub_device: Option<Arc<str>>,
    /// Duration of the op's kernels.
    pub device_time_us: Option<f64>,
    /// Time since the end of the previous op.
    pub op_to_op_gap_us: Option<f64>,
    /// Number of cores that the op used.
    pub core_count: Option<u64>,
    /// Number of cores available to the op.
    pub available_core_count: Option<u64>,
    /// Modelled number of bytes read from and written to DRAM.
    pub dram_bytes: Option<f64>,
    /// Whether `dram_bytes` and the figures made of it count all bytes of the op, or only a part.
    /// Without bytes, `exact` means that the op moves none.
    pub dram_kind: LimitKind,
    /// DRAM bandwidth in 10^9 bytes per second.
    pub dram_gb_per_s: Option<f64>,
    /// Percentage of the architecture's DRAM bandwidth.
    pub dram_percent: Option<f64>,
    /// Speed in 10^12 floating-point operations per second.
    pub tflops: Option<f64>,
    /// Percentage of the peak FLOPs of the cores used.
    pub flops_percent: Option<f64>,
    /// Minimum time for the op's shape; `None` if unknown.
    pub limit: Option<ShapeLimit>,
    /// True if the model of the op exceeds a peak rate of the chip by more than 5 %. The model is
    /// then wrong, and its figures are left out.
    pub is_model_refuted: bool,
    /// Fidelity and element types as text.
    pub math_fidelity: Arc<str>,
    /// Element type of the first output.
    pub output_datatype: Option<Arc<str>>,
    /// Element types of the first two inputs.
    pub input_datatypes: [Option<Arc<str>>; 2],
    /// True if the weights are sharded over DRAM banks.
    pub is_dram_sharded: bool,
    /// Memory and layout of the first input.
    pub input_0_memory: Option<Arc<str>>,
    /// Block sizes with which a matmul was configured.
    pub blocks: ProgramBlocks,
    /// Call number as in the file.
    pub global_call_count: String,
    /// Category of the op; signposts have none.
    pub category: Option<OpCategory>,
    /// Limits to which the op's figures are compared.
    pub bound_analysis: BoundAnalysis,
    /// Verdict on the math fidelity; `None` if the report has no model for this kind of op.
    pub fidelity: Option<FidelityAdvice>,
    /// Optimisation advice for a matmul; `None` for other ops, and for one of unknown duration.
    pub advice: Option<Vec<String>>,
    /// Changes that other rows of the same matmul show to make it no faster.
    #[serde(skip)]
    pub tried: TriedChanges,
    /// Why the duration is not used; `None` if nothing speaks against it. Serialised as whether it is
    /// used.
    #[serde(rename = "is_duration_invalid", serialize_with = "serialize_is_some")]
    pub duration_doubt: Option<DurationDoubt>,
    /// True if the gap before the op is missing or implausible. The first op of a device has none,
    /// and nor has an op that overlaps the previous one.
    #[serde(skip)]
    pub is_gap_unknown: bool,
    /// Number of the trace replay that the op belongs to.
    pub trace_session: Option<u64>,
    /// True if the op belongs to a trace.
    #[serde(skip)]
    pub is_of_trace: bool,
    /// True if the op was only captured into a trace: no chip ran it in this row.
    #[serde(skip)]
    pub is_captured: bool,
    /// First cycle of the op's firmware on the chip's clock. A device log contains the same cycle.
    #[serde(skip)]
    pub firmware_start_cycle: Option<u64>,
    /// Last cycle of the op's firmware on the chip's clock.
    #[serde(skip)]
    pub firmware_end_cycle: Option<u64>,
    /// Duration of the op's firmware.
    #[serde(skip)]
    pub firmware_duration_ns: Option<f64>,
    /// First and last cycle of the op's kernels on the chip's clock.
    #[serde(skip)]
    pub kernel_cycles: Option<(u64, u64)>,
    /// Frequency of the chip's clock, from the row's cycles and nanoseconds.
    #[serde(skip)]
    pub clock_ghz: Option<f64>,
    /// Start of the host's call of the op, on the host's clock.
    #[serde(skip)]
    pub host_start_ns: Option<f64>,
    /// Time that the host spent on the op.
    #[serde(skip)]
    pub host_duration_ns: Option<f64>,
    /// How the op came to the chip.
    #[serde(skip)]
    pub sending: Sending,
    /// Part of the host's time that was spent compiling the op's program.
    #[serde(skip)]
    pub compile_duration_ns: Option<f64>,
    /// True if the call found its program in the cache of programs; `None` if the file does not say.
    #[serde(skip)]
    pub is_cache_hit: Option<bool>,
    /// True if no earlier op of the files has this name, these tensors and these attributes.
    #[serde(skip)]
    pub is_first_call: bool,
    /// Part of the host's time in which the op made its program, without compiling kernels.
    #[serde(skip)]
    pub build_duration_ns: Option<f64>,
    /// True for a sparse matmul with an unknown number of active experts.
    pub is_active_unknown: bool,
    /// Signpost before the op, or the innermost open range of signposts; `None` without one.
    #[serde(skip)]
    pub signpost: Option<Arc<str>>,
    /// What the row says of the op itself, as recorded.
    #[serde(skip)]
    pub recorded: RecordedOp,
    /// Cells of columns that no report of TT-Metal has, by their headers; blank cells are left out.
    #[serde(serialize_with = "serialize_cells")]
    pub others: Vec<OtherCell>,
}

/// Serialises whether there is a doubt.
fn serialize_is_some<S: Serializer>(
    doubt: &Option<DurationDoubt>,
    out: S,
) -> Result<S::Ok, S::Error> {
    out.serialize_bool(doubt.is_some())
}

/// Serialises cells as an object.
fn serialize_cells<S: Serializer>(cells: &[OtherCell], out: S) -> Result<S::Ok, S::Error> {
    out.collect_map(cells.iter().map(|(title, cell)| (&**title, &**cell)))
}

impl OpReport {
    /// Returns true if the host had called the op before a gap before it began, so that the device did not wait for
    /// the host.
    #[must_use]
    pub fn was_called_before(&self, gap_ns: f64) -> bool {
        self.sending.queued_ns.is_some_and(|queued_ns| queued_ns > 0.0 && queued_ns >= gap_ns)
    }

    /// Returns true if the row is an op on a device.
    #[must_use]
    pub fn is_device_op(&self) -> bool {
        self.kind == RowKind::Device
    }

    /// Returns true if the DRAM figures of the op may leave out bytes.
    #[must_use]
    pub fn is_dram_lower_bound(&self) -> bool {
        self.dram_kind != LimitKind::Exact
    }

    /// Returns true if the op comes to more than 100 % of a peak rate, within the error of its model.
    pub(super) fn is_over_peak(&self) -> bool {
        [self.flops_percent, self.dram_percent].into_iter().flatten().any(|of| of > 100.0)
    }

    /// Returns true if the op is any kind of matrix product.
    #[must_use]
    pub fn is_matmul(&self) -> bool {
        self.raw_op_code.contains("Matmul")
    }

    /// Returns the number of the op's chip; `None` if it is unknown.
    #[must_use]
    pub fn chip_id(&self) -> Option<u32> {
        u32::try_from(self.device?).ok()
    }

    /// Returns the chip and the run host id of the op's program; `None` if either is unknown.
    #[must_use]
    pub fn program(&self) -> Option<(u32, u32)> {
        Some((self.chip_id()?, self.global_call_count.parse().ok()?))
    }

    /// Returns the text of a column that no report of TT-Metal has; `None` if the cell is blank. The
    /// column `SIGNPOST`, which no file needs to have, is [`OpReport::signpost`].
    #[must_use]
    pub fn other(&self, title: &str) -> Option<&Arc<str>> {
        let cell = self.others.iter().find(|(column, _)| **column == *title).map(|(_, cell)| cell);
        cell.or_else(|| self.signpost.as_ref().filter(|_| title == SIGNPOST))
    }

    /// Returns the file and the line of the op's call; `None` if unknown.
    #[must_use]
    pub fn call_location(&self) -> Option<&Arc<str>> {
        self.other(CALL_LOCATION)
    }

    /// Returns the sum of device time and gap; `None` if both are blank.
    #[must_use]
    pub fn total_us(&self) -> Option<f64> {
        match (self.device_time_us, self.op_to_op_gap_us) {
            (None, None) => None,
            (time, gap) => Some(time.unwrap_or(0.0) + gap.unwrap_or(0.0)),
        }
    }
}

/// Analyses a single row. `is_previous_invalid` is true if the previous row has an invalid
/// duration, and `None` if there is no previous row.
pub(super) fn analyse(
    row: OpRow,
    is_previous_invalid: Option<bool>,
    available_core_count: Option<u64>,
    context: ModelContext<'_>,
    texts: &mut TextPool,
) -> OpReport {
    let kind = kind_of(&row, context.is_upstream_exact);
    let doubt = duration_doubt(&row, context.is_upstream_exact);
    let is_duration_invalid = kind != RowKind::Signpost && doubt.is_some();
    let duration_ns = row.kernel_duration_ns.filter(|_| !is_duration_invalid);
    let is_op = kind == RowKind::Device;
    let gap = gap_us(&row, kind, is_duration_invalid, is_previous_invalid);
    let available_core_count = available_cores(&row, available_core_count, context);
    let context = ModelContext { duration_ns, ..context };
    let figures = is_op.then(|| Figures::new(&row, available_core_count, &context));
    let Figures { modelled, limit, is_refuted, dram_kind } = figures.unwrap_or_default();
    OpReport {
        id: row.id,
        file: row.file,
        line: row.line,
        kind,
        total_percent: None,
        bound: bound_of_row((&row, kind), &modelled, limit, context),
        op_code: shown_op_code(&row.op_code, kind, &modelled.suffix, texts),
        source: texts.shared(&row.source()),
        device: row.device,
        mean_of_device_count: row.mean_of_device_count,
        device_time_us: duration_ns.filter(|_| is_op).map(|ns| ns / 1000.0),
        op_to_op_gap_us: gap,
        is_gap_unknown: is_op && is_previous_invalid.is_some() && gap.is_none() && !overlaps(&row),
        core_count: modelled.cores.or(row.core_count),
        available_core_count,
        dram_bytes: modelled.dram_bytes,
        dram_gb_per_s: modelled.dram_gb_per_s,
        dram_percent: modelled.dram_percent,
        tflops: modelled.tflops,
        flops_percent: modelled.flops_percent,
        dram_kind,
        limit,
        is_model_refuted: is_refuted,
        math_fidelity: texts.shared(&fidelity_text(&row, modelled.analysis)),
        is_dram_sharded: modelled.is_dram_sharded,
        blocks: blocks_of(&row),
        category: category_of(&row, kind, context.is_upstream_exact),
        bound_analysis: modelled.analysis,
        fidelity: (modelled.analysis != BoundAnalysis::None).then(|| judge_fidelity(&row)),
        advice: None,
        tried: TriedChanges::default(),
        duration_doubt: doubt.filter(|_| is_op),
        trace_session: row.trace_session,
        is_of_trace: row.trace_session.or(row.trace_id).is_some(),
        is_captured: is_op && row.is_captured(),
        firmware_start_cycle: row.firmware_start_cycle,
        firmware_end_cycle: row.firmware_end_cycle,
        firmware_duration_ns: row.firmware_duration_ns.filter(|&ns| ns >= 0.0),
        kernel_cycles: row.kernel_cycles,
        clock_ghz: row.clock_ghz,
        host_start_ns: row.host_start_ns,
        sending: row.sending,
        build_duration_ns: row.build_duration_ns,
        is_cache_hit: row.is_cache_hit,
        is_first_call: row.is_first_call,
        host_duration_ns: row.host_duration_ns.filter(|&ns| ns >= 0.0),
        compile_duration_ns: row.compile_duration_ns.filter(|&ns| ns >= 0.0),
        is_active_unknown: modelled.is_active_unknown,
        input_0_memory: row.inputs[0].memory.clone(),
        input_datatypes: row.inputs.each_ref().map(|input| input.datatype.clone()),
        recorded: RecordedOp::new(&row, texts),
        others: row.others,
        output_datatype: row.output.datatype,
        signpost: row.signpost,
        raw_op_code: row.op_code,
        sub_device: row.sub_device,
        global_call_count: row.global_call_count,
    }
}

/// What models say of an op.
#[derive(Default)]
struct Figures {
    modelled: Modelled,
    limit: Option<ShapeLimit>,
    is_refuted: bool,
    dram_kind: LimitKind,
}

impl Figures {
    fn new(row: &OpRow, available_core_count: Option<u64>, context: &ModelContext<'_>) -> Self {
        let mut modelled = model_of(row, context);
        let limit = ShapeLimit::from_row(row, &modelled, available_core_count, context);
        let duration_us = context.duration_ns.map(|ns| ns / 1000.0);
        let is_over_limit = limit.zip(duration_us).is_some_and(|(of, us)| of.is_refuted(us));
        // tt-perf-report shows such figures.
        let is_refuted = !context.is_upstream_exact && (is_over_limit || modelled.is_refuted());
        if is_refuted {
            modelled.remove_figures();
        }
        let limit = limit.filter(|_| !is_refuted);
        let dram_kind = dram_kind(&modelled, limit);
        // tt-perf-report knows the bytes of matrix products alone.
        let dram_us = limit.filter(|_| !context.is_upstream_exact).and_then(|of| of.dram_us);
        if let (None, Some(dram_us)) = (modelled.dram_bytes, dram_us) {
            modelled.record_dram(dram_us, context);
        }
        Self { modelled, limit, is_refuted, dram_kind }
    }
}

/// Returns whether the DRAM bytes of an op are known, and all of them.
fn dram_kind(modelled: &Modelled, limit: Option<ShapeLimit>) -> LimitKind {
    match limit {
        _ if modelled.dram_bytes.is_some() => LimitKind::Exact,
        None => LimitKind::Unknown,
        // What all tensors would take says nothing of what the op moves.
        Some(limit) if limit.kind == LimitKind::Unknown => LimitKind::Unknown,
        Some(limit) if limit.dram_at_most_us.is_some() => LimitKind::LowerBound,
        Some(_) => LimitKind::Exact,
    }
}

/// Returns the number of cores available to an op: that of the row, else that of the chip. An op
/// cannot use more cores than there are: then the number is unknown.
fn available_cores(row: &OpRow, of_chip: Option<u64>, context: ModelContext<'_>) -> Option<u64> {
    let is_possible = |count: &u64| row.core_count.is_none_or(|used| used <= *count);
    let count = row.available_cores.or(of_chip);
    count.filter(|count| context.is_upstream_exact || is_possible(count))
}

fn category_of(row: &OpRow, kind: RowKind, is_upstream_exact: bool) -> Option<OpCategory> {
    match kind {
        RowKind::Signpost => None,
        RowKind::Host => Some(OpCategory::Host),
        RowKind::Device if is_upstream_exact => Some(OpCategory::of_tt_perf_report(&row.op_code)),
        RowKind::Device => Some(OpCategory::from_op_code(&row.op_code)),
    }
}

/// Returns an op code with what a report adds to it.
fn shown_op_code(
    op_code: &Arc<str>,
    kind: RowKind,
    suffix: &str,
    texts: &mut TextPool,
) -> Arc<str> {
    match kind {
        RowKind::Signpost => texts.shared(&format!("{op_code} (signpost)")),
        RowKind::Device | RowKind::Host if suffix.is_empty() => Arc::clone(op_code),
        RowKind::Device | RowKind::Host => texts.shared(&format!("{op_code}{suffix}")),
    }
}

/// Returns the text of the row's program configuration.
fn program_config(row: &OpRow) -> Option<&str> {
    let is_named = has_program_config(&row.attributes);
    let config = is_named.then(|| attribute_value(&row.attributes, "program_config")).flatten();
    config.filter(|config| !config.ends_with("nullopt"))
}

/// Returns the function of a binary op. The name of other ops says what they compute.
fn function_of(row: &OpRow) -> Option<&str> {
    let is_binary = row.op_code.contains("Binary");
    let value = is_binary.then(|| attribute_value(&row.attributes, "binary_op_type")).flatten();
    value.map(|value| value.rsplit("::").next().unwrap_or(value))
}

/// Types of ops that ran on the host: Python functions, and ops on the CPU in files until 2024.
const HOST_TYPES: [&str; 2] = ["python_fallback", "tt_dnn_cpu"];

/// Returns the kind of a row. tt-perf-report knows ops on the host by their names only.
pub(super) fn kind_of(row: &OpRow, is_upstream_exact: bool) -> RowKind {
    let is_of_host = HOST_TYPES.contains(&&*row.op_type) && row.kernel_duration_ns.is_none();
    if row.is_signpost() {
        RowKind::Signpost
    } else if is_host_op(&row.op_code) || is_of_host && !is_upstream_exact {
        RowKind::Host
    } else {
        RowKind::Device
    }
}

/// Why the duration of a row is not used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DurationDoubt {
    /// The cell is blank.
    Missing,
    /// The cell is no number.
    Unreadable,
    /// The duration is below 0.
    Negative,
    /// The firmware, which surrounds the kernels, takes only this many nanoseconds.
    LongerThanFirmware(f64),
    /// The op would have begun this many nanoseconds before the previous one ended.
    BeginsBefore(f64),
    /// A cycle of the op is below 0.
    NegativeCycle,
    /// By their cycles, this op and another one ran at the same time on more cores than there are.
    NoRoom(NoRoom),
}

/// Returns why the row's duration cannot be right; `None` if nothing speaks against it.
///
/// An op that begins too early has a wrong start, or the op before it a wrong end. Its firmware
/// tells which: with a start that is wrong by the gap, it would take at least as long as the gap.
/// tt-perf-report knows no firmware.
pub(super) fn duration_doubt(row: &OpRow, is_upstream_exact: bool) -> Option<DurationDoubt> {
    let Some(duration) = row.kernel_duration_ns else {
        let no_room = row.no_room.filter(|_| !is_upstream_exact).map(DurationDoubt::NoRoom);
        let missing = match row.has_unreadable_duration && !is_upstream_exact {
            true => DurationDoubt::Unreadable,
            false => DurationDoubt::Missing,
        };
        return Some(no_room.unwrap_or(missing));
    };
    if duration < 0.0 {
        return Some(DurationDoubt::Negative);
    }
    let firmware_ns = row.firmware_duration_ns.filter(|_| !is_upstream_exact);
    if let Some(ns) = firmware_ns.filter(|ns| duration > ns * MOST_OF_FIRMWARE + DOUBTED_KERNEL_NS)
    {
        return Some(DurationDoubt::LongerThanFirmware(ns));
    }
    if !is_upstream_exact && row.has_negative_cycle {
        return Some(DurationDoubt::NegativeCycle);
    }
    if let Some(no_room) = row.no_room.filter(|_| !is_upstream_exact) {
        return Some(DurationDoubt::NoRoom(no_room));
    }
    let early_ns = -row.op_to_op_latency_ns?;
    let is_early = early_ns > DOUBTED_GAP_NS && early_ns > duration / 2.0;
    let is_start_wrong = firmware_ns.is_none_or(|ns| ns >= early_ns);
    (is_early && is_start_wrong).then_some(DurationDoubt::BeginsBefore(early_ns))
}

/// Returns true if the op began while the previous one still ran, as on sub-devices.
fn overlaps(row: &OpRow) -> bool {
    row.op_to_op_latency_ns.is_some_and(|gap| (-DOUBTED_GAP_NS..0.0).contains(&gap))
}

fn gap_us(
    row: &OpRow,
    kind: RowKind,
    is_duration_invalid: bool,
    is_previous_invalid: Option<bool>,
) -> Option<f64> {
    let is_doubted = is_previous_invalid? || is_duration_invalid;
    let gap = row.op_to_op_latency_ns.filter(|&gap| gap >= 0.0)?;
    let is_kept = kind != RowKind::Signpost && !(is_doubted && gap > DOUBTED_GAP_NS);
    is_kept.then_some(gap / 1000.0)
}

/// Returns what limits the op of a row, as [`bound_of`]. An op that uses the NoC near its peak is not
/// called slow: the NoC is a limit, too.
fn bound_of_row(
    (row, kind): (&OpRow, RowKind),
    modelled: &Modelled,
    limit: Option<ShapeLimit>,
    context: ModelContext<'_>,
) -> Option<Bound> {
    let is_exact = context.is_upstream_exact;
    let is_noc = row.noc_percent.is_some_and(|percent| percent >= BOUND_PERCENT) && !is_exact;
    // Without a duration, an op reaches no limit and is not slow.
    let is_timed = context.duration_ns.is_some();
    let bound = bound_of(kind, modelled, limit.filter(|_| !is_exact && is_timed));
    bound.filter(|bound| *bound != Bound::Slow || !is_noc)
}

/// Returns what limits an op. `limit` is the minimum time of its shape; tt-perf-report, which has
/// none, names a bound of matrix products alone.
fn bound_of(kind: RowKind, modelled: &Modelled, limit: Option<ShapeLimit>) -> Option<Bound> {
    if kind == RowKind::Host {
        return Some(Bound::Host);
    }
    let reaches = |percent: Option<f64>| percent.map(|percent| percent >= BOUND_PERCENT);
    let [dram, flop] = [modelled.dram_percent, modelled.flops_percent].map(reaches);
    let are_both_known =
        modelled.analysis == BoundAnalysis::Full && dram.is_some() && flop.is_some();
    let limit = limit.filter(|limit| limit.us().is_some());
    if !are_both_known && limit.is_none() {
        return None;
    }
    let is_all_known = are_both_known || limit.is_some_and(|of| of.kind == LimitKind::Exact);
    match [dram, flop].map(Option::unwrap_or_default) {
        [true, true] => Some(Bound::Both),
        [true, false] => Some(Bound::Dram),
        [false, true] => Some(Bound::Flop),
        // The op may do more than is counted.
        [false, false] => is_all_known.then_some(Bound::Slow),
    }
}

fn fidelity_text(row: &OpRow, analysis: BoundAnalysis) -> String {
    match analysis {
        BoundAnalysis::None => datatypes_text(row, ", "),
        _ => format!("{} {}", row.math_fidelity, datatypes_text(row, " x ")).trim().to_owned(),
    }
}

/// Formats the datatypes of the inputs and the output, such as `BF16 x BFP8 => BF16`.
fn datatypes_text(row: &OpRow, separator: &str) -> String {
    let inputs = row.inputs.iter().filter_map(|tensor| tensor.datatype.as_deref());
    let inputs = inputs.map(short_datatype).collect::<Vec<_>>().join(separator);
    match row.output.datatype.as_deref().map(short_datatype) {
        Some(output) if inputs.is_empty() => output.to_owned(),
        Some(output) => format!("{inputs} => {output}"),
        None => inputs,
    }
}

fn short_datatype(datatype: &str) -> &str {
    match datatype {
        "FLOAT32" => "FP32",
        "BFLOAT16" => "BF16",
        "BFLOAT8_B" => "BFP8",
        "BFLOAT4_B" => "BFP4",
        other => other,
    }
}

fn blocks_of(row: &OpRow) -> ProgramBlocks {
    if !has_program_config(&row.attributes) {
        return ProgramBlocks::default();
    }
    let attributes = &row.attributes;
    ProgramBlocks {
        inner_block_tiles: first_number(attributes, "in0_block_w"),
        output_subblock_height_tiles: first_number(attributes, "out_subblock_h"),
        output_subblock_width_tiles: first_number(attributes, "out_subblock_w"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(duration: Option<f64>, gap: f64) -> OpRow {
        OpRow {
            op_code: "A".into(),
            kernel_duration_ns: duration,
            op_to_op_latency_ns: Some(gap),
            ..OpRow::default()
        }
    }

    fn is_invalid(row: &OpRow, is_upstream_exact: bool) -> bool {
        duration_doubt(row, is_upstream_exact).is_some()
    }

    #[test]
    fn a_short_firmware_vouches_for_a_start_that_only_the_op_before_contradicts() {
        let doubt = |firmware_ns: f64, is_exact: bool| {
            let row = OpRow { firmware_duration_ns: Some(firmware_ns), ..row(Some(5.0), -2e9) };
            duration_doubt(&row, is_exact)
        };
        assert_eq!(doubt(7.0, false), None);
        assert_eq!(doubt(7.0, true), Some(DurationDoubt::BeginsBefore(2e9)));
        // A start that is wrong by the gap makes the firmware as long as the gap.
        assert_eq!(doubt(2e9, false), Some(DurationDoubt::BeginsBefore(2e9)));
        let longer = OpRow { firmware_duration_ns: Some(7.0), ..row(Some(2e9), -1.0) };
        assert_eq!(duration_doubt(&longer, false), Some(DurationDoubt::LongerThanFirmware(7.0)));
    }

    #[test]
    fn a_gap_far_below_zero_makes_its_duration_invalid() {
        assert!(is_invalid(&row(None, 0.0), false));
        assert!(is_invalid(&row(Some(-1.0), 0.0), false));
        assert!(is_invalid(&row(Some(5.0), -1_000_001.0), false));
        assert!(!is_invalid(&row(Some(5.0), -1_000_000.0), false));
        // Ops on different sub-devices overlap, so a long op may begin before the previous one has
        // ended.
        assert!(!is_invalid(&row(Some(4_000_000.0), -2_000_000.0), false));
    }

    #[test]
    fn gaps_are_blank_where_nothing_came_before_or_they_cannot_be() {
        assert_eq!(gap(&row(Some(1.0), 2000.0), None), None);
        assert_eq!(gap(&row(Some(1.0), 2000.0), Some(false)), Some(2.0));
        assert_eq!(gap(&row(Some(1.0), -1.0), Some(false)), None);
        assert_eq!(gap(&row(None, 1_000_001.0), Some(false)), None);
        assert_eq!(gap(&row(Some(1.0), 1_000_001.0), Some(true)), None);
        assert_eq!(gap(&row(Some(1.0), 1_000_000.0), Some(true)), Some(1000.0));
    }

    fn gap(row: &OpRow, previous: Option<bool>) -> Option<f64> {
        gap_us(row, RowKind::Device, is_invalid(row, false), previous)
    }

    #[test]
    fn an_op_is_bound_from_65_percent() {
        assert_eq!(bound(65.0, 65.0), Some(Bound::Both));
        assert_eq!(bound(65.0, 64.9), Some(Bound::Dram));
        assert_eq!(bound(0.0, 70.0), Some(Bound::Flop));
        assert_eq!(bound(0.0, 0.0), Some(Bound::Slow));
        assert_eq!(bound_of(RowKind::Host, &Modelled::default(), None), Some(Bound::Host));
    }

    fn bound(dram: f64, flops: f64) -> Option<Bound> {
        let modelled = Modelled {
            analysis: BoundAnalysis::Full,
            dram_percent: Some(dram),
            flops_percent: Some(flops),
            ..Modelled::default()
        };
        bound_of(RowKind::Device, &modelled, None)
    }
}
