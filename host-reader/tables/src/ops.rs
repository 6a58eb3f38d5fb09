//! `ops`: launches of programs on chips.

use crate::{Column, DATASET_FOLDERS, RecordingKey, Table, rows::row_object};
use analysis::{Doubt, Op, PackedLaunches, Span};
use host_events::{OpMetadata, OpTexts};
use serde::{
    Serialize, Serializer,
    ser::{Error, SerializeSeq},
};
use std::borrow::Cow;
use wire::RunHostId;

/// Table of launches of programs.
pub struct Ops;

/// One launch of one program on one chip.
#[derive(Clone, Copy, Debug)]
pub struct OpRow<'a> {
    /// Id, launch number, durations and other numbers of the op.
    pub figures: &'a Op,
    /// Name given by the host, and where the program called the op.
    pub texts: OpTexts<'a>,
    /// Position of the op in a dataset; unused in other outputs.
    pub place: OpPlace<'a>,
}

/// Position of an op in a dataset. Only columns of datasets use this position.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpPlace<'a> {
    /// Recording.
    pub recording: RecordingKey<'a>,
    /// Index of the op among all ops of the same chip, ordered by start.
    pub op: u32,
    /// First cycle of the op, on the chip's clock.
    pub start_cycle: u64,
    /// Duration with which traces draw the op, in cycles; `None` if unknown.
    pub duration_cycles: Option<u64>,
    /// Start in ns, relative to the recording's first record.
    pub start_ns: i64,
    /// Duration with which traces draw the op, in ns; `None` if unknown.
    pub duration_ns: Option<i64>,
    /// Start in ns, on the host's clock; `None` if the recording has no host clock.
    pub start_host_ns: Option<i64>,
    /// Metadata from the host.
    pub metadata: Option<&'a OpMetadata>,
}

impl<'a> OpRow<'a> {
    /// Creates a row for outputs other than datasets.
    #[must_use]
    pub fn new(figures: &'a Op, texts: OpTexts<'a>) -> Self {
        Self { figures, texts, place: OpPlace::default() }
    }

    /// Returns `latency`. Returns `None` for the first op of a chip, because it has no previous op.
    fn latency(&self, latency: Option<u64>) -> Option<u64> {
        latency.filter(|_| !self.figures.is_first_of_chip)
    }

    /// Returns `figure`; `None` if no core ran a kernel. `figure` must be derived from the kernels
    /// on single cores.
    fn core_figure(&self, figure: Option<u64>) -> Option<u64> {
        figure.filter(|_| self.figures.core_kernel.count > 0)
    }
}

/// Creates rows of ops for outputs other than datasets. `texts_of` returns what the host reported of
/// an op.
pub fn op_rows<'a>(
    ops: impl IntoIterator<Item = &'a Op>,
    texts_of: impl Fn(&Op) -> OpTexts<'a>,
) -> Vec<OpRow<'a>> {
    ops.into_iter().map(|op| OpRow::new(op, texts_of(op))).collect()
}

/// Function that returns what the host reported of an op.
type TextsOf<'a> = dyn Fn(&Op) -> OpTexts<'a> + 'a;

/// Ops of packed launches, serialized as JSON objects like [`Rows`](crate::Rows). The ops are
/// unpacked one at a time.
pub struct OpObjects<'a> {
    launches: &'a PackedLaunches,
    texts_of: Box<TextsOf<'a>>,
}

impl<'a> OpObjects<'a> {
    /// Creates the objects of launches. `texts_of` returns what the host reported of an op.
    pub fn new(launches: &'a PackedLaunches, texts_of: impl Fn(&Op) -> OpTexts<'a> + 'a) -> Self {
        Self { launches, texts_of: Box::new(texts_of) }
    }
}

impl Serialize for OpObjects<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut objects = out.serialize_seq(Some(self.launches.len()))?;
        for op in self.launches.ops() {
            let row = OpRow::new(&op, (self.texts_of)(&op));
            objects.serialize_element(&row_object::<Ops>(&row))?;
        }
        self.launches.check().map_err(S::Error::custom)?;
        objects.end()
    }
}

fn start(span: Option<Span>) -> Option<u64> {
    Some(span?.start_cycle)
}

fn cycles(span: Option<Span>) -> Option<u64> {
    Some(span?.duration_cycles)
}

fn ns(span: Option<Span>) -> Option<u64> {
    span?.duration_ns
}

fn text(text: Option<&str>) -> Option<Cow<'_, str>> {
    text.map(Cow::Borrowed)
}

fn doubt(doubt: Option<Doubt>) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(doubt?.label()))
}

/// Formats the host's metadata of an op as a JSON object. If a key is repeated, its first value is
/// used.
fn metadata_json(metadata: &OpMetadata) -> String {
    let fields = metadata.fields.iter().rev();
    let object: serde_json::Map<_, _> =
        fields.map(|(key, value)| (key.clone(), value.as_str().into())).collect();
    serde_json::Value::Object(object).to_string()
}

const NO_TRACE: &str = "not a replay of a trace";
const NO_SPAN: &str = "no record, or see duration_doubt";
const NO_NS: &str = "no record, unknown clock, or see duration_doubt";
const NO_RATIO: &str = "no kernel lasted a cycle or more, or see duration_doubt";
const NO_LATENCY: &str = "first op, overlap, or see latency_doubt";
const NO_LATENCY_NS: &str = "first op, overlap, unknown clock, or see latency_doubt";
const NO_STALL: &str = "no wait for the host, or lost records";
const NO_CALL: &str = "not recorded, or no function of the program called the op";
const NO_STALL_NS: &str = "no wait for the host, unknown clock, or lost records";

type OpColumn = Column<Ops>;

impl Table for Ops {
    type Row<'a> = OpRow<'a>;
    const NAME: &'static str = "ops";
    const ROW: &'static str = "one launch of one program on one chip";
    const PARTITIONS: &'static [&'static str] = DATASET_FOLDERS;
    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        OpColumn::text("host", super::HOST, |row| row.place.recording.host.into()).in_dataset(),
        OpColumn::text("recording", super::RECORDING, |row| row.place.recording.recording.into()).in_dataset(),
        OpColumn::small("chip_id", super::CHIP_ID, |row| row.figures.chip_id).titled("chip"),
        OpColumn::small("op", "index of the op on its chip, ordered by start", |row| row.place.op).in_dataset(),
        OpColumn::small("program", "id of the program, without the chip", |row| RunHostId(row.figures.run_host_id).base()).titled("program"),
        OpColumn::small("run_host_id", super::RUN_HOST_ID, |row| row.figures.run_host_id),
        OpColumn::optional_number("trace_id", "id of the replayed trace", NO_TRACE, |row| row.figures.trace_id).titled_if_any("trace"),
        OpColumn::optional_number("trace_replay", "number of the replay, from 1", NO_TRACE, |row| row.figures.trace_replay).titled_if_any("replay"),
        OpColumn::optional_text("name", "name given by the host", "the host gave no name", |row| text(row.texts.name)).titled_if_any("name"),
        OpColumn::optional_small("sub_device_id", "sub-device that ran the op", "the op had the whole chip, or unknown", |row| row.figures.sub_device_id.map(u32::from)).titled_if_any("sub-device"),
        OpColumn::number("launch", "number of the launch among those of the same program and replay, from 1", |row| row.figures.launch).titled("launch"),
        OpColumn::number("core_count", "cores with a firmware zone", |row| row.figures.core_count).in_summary(),
        OpColumn::number("recorded_core_count", "cores with any record", |row| row.figures.recorded_core_count).titled("cores"),
        OpColumn::number("unfinished_core_count", "cores on which a RISC's firmware zone has no end", |row| row.figures.unfinished_core_count),
        OpColumn::number("time_matched_core_count", "cores assigned to the launch by time, because they have fewer launches of the program than other cores", |row| row.figures.time_matched_core_count),
        OpColumn::number("start_cycle", "first firmware start; without firmware zones, first kernel start or first record", |row| row.place.start_cycle).in_dataset(),
        OpColumn::optional_number("duration_cycles", "from start_cycle to the last end of the same zones or records", "see duration_doubt", |row| row.place.duration_cycles).in_dataset(),
        OpColumn::signed("start_ns", super::START_NS, |row| row.place.start_ns).in_dataset(),
        OpColumn::optional_signed("duration_ns", "duration_cycles in ns, by the chip's measured clock", "see duration_doubt", |row| row.place.duration_ns).in_dataset(),
        OpColumn::optional_signed("start_host_ns", super::START_HOST_NS, super::NO_HOST_CLOCK, |row| row.place.start_host_ns).in_dataset(),
        OpColumn::optional_number("firmware_start_cycle", "first start of firmware", NO_SPAN, |row| start(row.figures.firmware)),
        OpColumn::optional_number("firmware_cycles", "first firmware start to last firmware end", NO_SPAN, |row| cycles(row.figures.firmware)),
        OpColumn::optional_number("firmware_ns", "first firmware start to last firmware end", NO_NS, |row| ns(row.figures.firmware)).titled("FW"),
        OpColumn::optional_number("kernel_start_cycle", "first start of a kernel", NO_SPAN, |row| start(row.figures.kernel)),
        OpColumn::optional_number("kernel_cycles", "first kernel start to last kernel end", NO_SPAN, |row| cycles(row.figures.kernel)),
        OpColumn::optional_number("kernel_ns", "first kernel start to last kernel end", NO_NS, |row| ns(row.figures.kernel)).titled("kernel"),
        OpColumn::optional_number("data_movement_kernel_cycles", "first start of a BRISC, NCRISC or ERISC kernel to the last end of any", NO_SPAN, |row| cycles(row.figures.data_movement_kernel)),
        OpColumn::optional_number("data_movement_kernel_ns", "first start of a BRISC, NCRISC or ERISC kernel to the last end of any", NO_NS, |row| ns(row.figures.data_movement_kernel)),
        OpColumn::optional_number("trace_firmware_cycles", "firmware span in trace-only mode, which records all RISCs of a core together", NO_SPAN, |row| cycles(row.figures.trace_firmware)),
        OpColumn::optional_number("trace_firmware_ns", "firmware span in trace-only mode, which records all RISCs of a core together", NO_NS, |row| ns(row.figures.trace_firmware)),
        OpColumn::optional_number("trace_kernel_cycles", "kernel span in trace-only mode, which records all RISCs of a core together", NO_SPAN, |row| cycles(row.figures.trace_kernel)),
        OpColumn::optional_number("trace_kernel_ns", "kernel span in trace-only mode, which records all RISCs of a core together", NO_NS, |row| ns(row.figures.trace_kernel)),
        OpColumn::optional_number("brisc_kernel_cycles", "first start to last end of BRISC's kernels on all cores", NO_SPAN, |row| cycles(row.figures.risc_kernels.brisc)),
        OpColumn::optional_number("brisc_kernel_ns", "first start to last end of BRISC's kernels on all cores", NO_NS, |row| ns(row.figures.risc_kernels.brisc)).titled_if_any("BRISC"),
        OpColumn::optional_number("ncrisc_kernel_cycles", "first start to last end of NCRISC's kernels on all cores", NO_SPAN, |row| cycles(row.figures.risc_kernels.ncrisc)),
        OpColumn::optional_number("ncrisc_kernel_ns", "first start to last end of NCRISC's kernels on all cores", NO_NS, |row| ns(row.figures.risc_kernels.ncrisc)).titled_if_any("NCRISC"),
        OpColumn::optional_number("trisc0_kernel_cycles", "first start to last end of the kernels of TRISC 0 (unpack) on all cores", NO_SPAN, |row| cycles(row.figures.risc_kernels.trisc0)),
        OpColumn::optional_number("trisc0_kernel_ns", "first start to last end of the kernels of TRISC 0 (unpack) on all cores", NO_NS, |row| ns(row.figures.risc_kernels.trisc0)).titled_if_any("TRISC0"),
        OpColumn::optional_number("trisc1_kernel_cycles", "first start to last end of the kernels of TRISC 1 (math) on all cores", NO_SPAN, |row| cycles(row.figures.risc_kernels.trisc1)),
        OpColumn::optional_number("trisc1_kernel_ns", "first start to last end of the kernels of TRISC 1 (math) on all cores", NO_NS, |row| ns(row.figures.risc_kernels.trisc1)).titled_if_any("TRISC1"),
        OpColumn::optional_number("trisc2_kernel_cycles", "first start to last end of the kernels of TRISC 2 (pack) on all cores", NO_SPAN, |row| cycles(row.figures.risc_kernels.trisc2)),
        OpColumn::optional_number("trisc2_kernel_ns", "first start to last end of the kernels of TRISC 2 (pack) on all cores", NO_NS, |row| ns(row.figures.risc_kernels.trisc2)).titled_if_any("TRISC2"),
        OpColumn::optional_number("erisc_kernel_cycles", "first start to last end of ERISC's kernels on all cores", NO_SPAN, |row| cycles(row.figures.risc_kernels.erisc)),
        OpColumn::optional_number("erisc_kernel_ns", "first start to last end of ERISC's kernels on all cores", NO_NS, |row| ns(row.figures.risc_kernels.erisc)).titled_if_any("ERISC"),
        OpColumn::optional_number("quasar_dm_kernel_cycles", "first start to last end of the kernels of a Quasar's data-movement processors", NO_SPAN, |row| cycles(row.figures.risc_kernels.quasar_dm)),
        OpColumn::optional_number("quasar_dm_kernel_ns", "first start to last end of the kernels of a Quasar's data-movement processors", NO_NS, |row| ns(row.figures.risc_kernels.quasar_dm)).titled_if_any("DMs"),
        OpColumn::optional_number("quasar_trisc_kernel_cycles", "first start to last end of the kernels of a Quasar's TRISCs", NO_SPAN, |row| cycles(row.figures.risc_kernels.quasar_trisc)),
        OpColumn::optional_number("quasar_trisc_kernel_ns", "first start to last end of the kernels of a Quasar's TRISCs", NO_NS, |row| ns(row.figures.risc_kernels.quasar_trisc)).titled_if_any("TRISCs"),
        OpColumn::optional_number("core_kernel_min_cycles", "kernel duration of the fastest core", NO_SPAN, |row| row.core_figure(Some(row.figures.core_kernel.min_cycles))),
        OpColumn::optional_number("core_kernel_min_ns", "kernel duration of the fastest core", NO_NS, |row| row.core_figure(row.figures.core_kernel.min_ns)),
        OpColumn::optional_number("core_kernel_median_cycles", "median kernel duration of the cores", NO_SPAN, |row| row.core_figure(Some(row.figures.core_kernel.median_cycles))),
        OpColumn::optional_number("core_kernel_median_ns", "median kernel duration of the cores", NO_NS, |row| row.core_figure(row.figures.core_kernel.median_ns)),
        OpColumn::optional_number("core_kernel_max_cycles", "kernel duration of the slowest core", NO_SPAN, |row| row.core_figure(Some(row.figures.core_kernel.max_cycles))),
        OpColumn::optional_number("core_kernel_max_ns", "kernel duration of the slowest core", NO_NS, |row| row.core_figure(row.figures.core_kernel.max_ns)),
        OpColumn::optional_number("kernel_first_to_last_start_cycles", "first kernel start to last kernel start of all RISCs and cores", NO_SPAN, |row| row.figures.kernel_first_to_last_start_cycles),
        OpColumn::optional_number("kernel_first_to_last_start_ns", "first kernel start to last kernel start of all RISCs and cores", NO_NS, |row| row.figures.kernel_first_to_last_start_ns).titled("start skew"),
        OpColumn::optional_number("op_to_op_latency_cycles", "end of the previous op's kernel to the start of this one's", NO_LATENCY, |row| row.latency(row.figures.op_to_op_latency_cycles)),
        OpColumn::optional_number("op_to_op_latency_ns", "end of the previous op's kernel to the start of this one's", NO_LATENCY_NS, |row| row.latency(row.figures.op_to_op_latency_ns)).titled("op to op"),
        OpColumn::optional_number("data_movement_op_to_op_latency_cycles", "end of the previous op's kernel to this one's first data-movement start", NO_LATENCY, |row| row.latency(row.figures.data_movement_op_to_op_latency_cycles)),
        OpColumn::optional_number("data_movement_op_to_op_latency_ns", "end of the previous op's kernel to this one's first data-movement start", NO_LATENCY_NS, |row| row.latency(row.figures.data_movement_op_to_op_latency_ns)),
        OpColumn::optional_number("stall_count", "waits of the op's RISCs for the host to read records (debug dump only)", NO_STALL, |row| row.figures.stall.map(|stall| stall.count)),
        OpColumn::optional_number("stall_max_cycles", "longest of these waits", NO_STALL, |row| row.figures.stall.map(|stall| stall.longest_cycles)),
        OpColumn::optional_number("stall_cycles", "sum of these waits over all RISCs", NO_STALL, |row| row.figures.stall.map(|stall| stall.cycles)),
        OpColumn::optional_number("stall_ns", "sum of these waits over all RISCs", NO_STALL_NS, |row| row.figures.stall_ns).titled_if_any("stalled"),
        OpColumn::flag("clocks_of_cores_disagree", "whether figures over several cores are null because the cores' clocks disagree", |row| row.figures.is_spread_implausible),
        OpColumn::optional_text("duration_doubt", "why durations are null although records exist", "durations are not in doubt", |row| doubt(row.figures.duration_doubt)).in_summary(),
        OpColumn::optional_text("latency_doubt", "why latencies are null although the ops do not overlap", "latencies are not in doubt", |row| doubt(row.figures.latency_doubt)).in_summary(),
        OpColumn::optional_text("metadata", "host's metadata of the op, as a JSON object", "the host gave no metadata", |row| Some(metadata_json(row.place.metadata?).into())).in_dataset(),
        OpColumn::optional_real("imbalance", "kernel duration of the slowest core divided by the mean over all cores", NO_RATIO, |row| row.figures.imbalance()).titled_if_any("imbalance"),
        OpColumn::optional_text("module", "path of the module of the model that called the op, such as `Model.layers.0`", "not recorded, or the op was called by no module", |row| text(row.texts.module)),
        OpColumn::optional_text("call_function", "function of the program that called the op", NO_CALL, |row| text(row.texts.call_function)),
        OpColumn::optional_text("call_location", "file and line of this call, such as `model.py:12`", NO_CALL, |row| text(row.texts.call_location)),
    ];
}
