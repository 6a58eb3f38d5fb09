//! One row of an ops CSV with typed cells.

use super::{
    cell,
    no_room::NoRoom,
    sending::Sending,
    text_pool::TextPool,
    titles::{Column, KERNEL_DURATION, KeptColumn, LATENCY, OP_NAME, OpsCsvFormat, Titles},
};
use crate::{
    problem::{Position, ProblemLog, quoted},
    report::{CACHE_CLEARED, DISPATCHER, DISPATCHER_WAIT, HOST_BUILD, HOST_DISPATCH},
};
use analysis::MOST_PERCENT;
use std::{fmt::Write, sync::Arc};
use wire::RunHostId;

/// Type of an op that ran on a chip.
const DEVICE_OP: &str = "tt_dnn_device";

/// Dimensions, element type and memory of a tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tensor {
    /// Padded size of each dimension in elements, in the order W, Z, Y, X.
    pub sides: [Option<u64>; 4],
    /// Size of each dimension without its padding, in the same order; `None` if the file does not tell
    /// it apart.
    pub logical_sides: [Option<u64>; 4],
    /// Element type; `None` if there is no tensor.
    pub datatype: Option<Arc<str>>,
    /// Memory of the tensor, and how it is spread over banks.
    pub memory: Option<Arc<str>>,
    /// Layout of the tensor: tiles or rows.
    pub layout: Option<Arc<str>>,
}

impl Tensor {
    /// Returns the number of elements.
    #[must_use]
    pub fn element_count(&self) -> Option<u64> {
        self.sides.iter().try_fold(1_u64, |product, side| product.checked_mul((*side)?))
    }

    /// Returns the memory of the tensor without the number of its chip.
    pub(super) fn place(&self) -> Option<&str> {
        let memory = self.memory.as_deref()?;
        let place = memory.strip_prefix("DEV_").and_then(|rest| rest.split_once('_'));
        Some(place.map_or(memory, |(_, place)| place))
    }

    /// Returns the sides as a text such as `1x1x32x64`. A side that is padded has its own size in
    /// brackets: `1x1x32[19]x64`.
    pub(super) fn shape_text(&self) -> String {
        let mut text = String::new();
        let sides = self.sides.iter().zip(&self.logical_sides);
        for ((side, logical), separator) in sides.zip(["", "x", "x", "x"]) {
            text.push_str(separator);
            push_side(*side, &mut text);
            if let Some(logical) = logical.filter(|logical| Some(*logical) != *side) {
                // Writing to a string cannot fail.
                let _ = write!(text, "[{logical}]");
            }
        }
        text
    }

    /// Returns true if the tensor is in DRAM.
    #[must_use]
    pub fn is_in_dram(&self) -> bool {
        self.memory.as_deref().is_some_and(|memory| memory.contains("DRAM"))
    }
}

/// Times of an op's kernels on its cores, in nanoseconds, from the shortest to the longest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoreTimes {
    /// Time on the core that takes least.
    pub min_ns: f64,
    /// Mean over the cores.
    pub mean_ns: f64,
    /// Time on the core that takes most.
    pub max_ns: f64,
}

impl CoreTimes {
    /// Returns the times if they can be those of cores: positive, and in this order.
    fn new([min_ns, mean_ns, max_ns]: [Option<f64>; 3]) -> Option<Self> {
        let times = Self { min_ns: min_ns?, mean_ns: mean_ns?, max_ns: max_ns? };
        let is_in_order = 0.0 < times.min_ns && times.min_ns <= times.mean_ns;
        (is_in_order && times.mean_ns <= times.max_ns).then_some(times)
    }
}

/// One row of an ops CSV.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpRow {
    /// Index of the file, from 0.
    pub file: usize,
    /// First line of the row in that file, from 1. A row may span several lines.
    pub line: u64,
    /// Row number in a spreadsheet that contains the rows of all files, used in reports.
    pub id: u64,
    /// Name of the op, or of the signpost.
    pub op_code: Arc<str>,
    /// Type of the op: `tt_dnn_device`, `signpost`, `python_fallback` or another one.
    pub op_type: Arc<str>,
    /// Call number as in the file.
    pub global_call_count: String,
    /// Device number.
    pub device: Option<u64>,
    /// Number of devices of whose rows this one is the mean; `None` for a row of one device.
    pub mean_of_device_count: Option<u64>,
    /// The op's attributes as text; the message of a signpost.
    pub attributes: Arc<str>,
    /// Math fidelity as text.
    pub math_fidelity: Arc<str>,
    /// Number of cores that the op used.
    pub core_count: Option<u64>,
    /// Number of cores available to the op.
    pub available_cores: Option<u64>,
    /// Name of the architecture.
    pub arch: Option<Arc<str>>,
    /// Sub-device that ran the op; `None` if the row does not name it.
    pub sub_device: Option<Arc<str>>,
    /// True if the file names sub-devices, and the op ran on none: it had the whole device.
    pub has_whole_device: bool,
    /// Start of the op on the host, in ns on the host's clock.
    pub host_start_ns: Option<f64>,
    /// Time that the host spent on the op.
    pub host_duration_ns: Option<f64>,
    /// How the op came to the chip.
    pub sending: Sending,
    /// Part of the host's time that was spent compiling the op's program.
    pub compile_duration_ns: Option<f64>,
    /// Part of the host's time in which the op made its program, without compiling kernels.
    pub build_duration_ns: Option<f64>,
    /// Part of the host's time in which the op's program was sent to the chips.
    pub dispatch_duration_ns: Option<f64>,
    /// True if the call found its program in the cache of programs; `None` if the file does not say.
    pub is_cache_hit: Option<bool>,
    /// True if no earlier op of the files has this name, these tensors and these attributes.
    pub is_first_call: bool,
    /// True if the program has cleared the cache since the op before.
    pub is_cache_cleared: bool,
    /// Duration of the op's kernels.
    pub kernel_duration_ns: Option<f64>,
    /// True if the cell of this duration has a text that is no number.
    pub has_unreadable_duration: bool,
    /// Time since the end of the previous op.
    pub op_to_op_latency_ns: Option<f64>,
    /// The first two inputs.
    pub inputs: [Tensor; 2],
    /// The first output.
    pub output: Tensor,
    /// The third and further inputs.
    pub more_inputs: Vec<Tensor>,
    /// The second and further outputs.
    pub more_outputs: Vec<Tensor>,
    /// Minimum time of the op, from TT-Metal's performance model.
    pub model_ideal_ns: Option<f64>,
    /// Minimum time for the op's arithmetic, from TT-Metal's performance model.
    pub model_compute_ns: Option<f64>,
    /// Minimum time for the op's transfers, from TT-Metal's performance model.
    pub model_bandwidth_ns: Option<f64>,
    /// Use of the busiest NoC link in percent, as tt-npe computes it.
    pub noc_percent: Option<f64>,
    /// Use of the peak DRAM bandwidth in percent, as tt-npe computes it.
    pub dram_percent: Option<f64>,
    /// Durations of the kernels of BRISC, NCRISC and TRISCs 0 to 2.
    pub risc_kernels_ns: [Option<f64>; 5],
    /// Times of the kernels on the op's cores.
    pub core_times: Option<CoreTimes>,
    /// Time from the first core's kernel start to the last core's.
    pub start_skew_ns: Option<f64>,
    /// Time in which TRISC 0 waited for data in circular buffers, summed over the cores.
    pub compute_data_wait_ns: Option<f64>,
    /// Time in which TRISC 2 waited for room in circular buffers, summed over the cores.
    pub compute_room_wait_ns: Option<f64>,
    /// Number of the trace that the op belongs to.
    pub trace_id: Option<u64>,
    /// Number of the trace replay that the op belongs to.
    pub trace_session: Option<u64>,
    /// Shares of the op's time that hardware counters give, in percent, each with the title of its column.
    pub counters: Vec<(Arc<str>, f64)>,
    /// First cycle of the op's firmware on the chip's clock.
    pub firmware_start_cycle: Option<u64>,
    /// Last cycle of the op's firmware on the chip's clock.
    pub firmware_end_cycle: Option<u64>,
    /// First and last cycle of the op's kernels on the chip's clock.
    pub kernel_cycles: Option<(u64, u64)>,
    /// Duration of the op's firmware; for a row of several devices, that of the devices whose kernel
    /// duration the row has.
    pub firmware_duration_ns: Option<f64>,
    /// Device clock in GHz, if the row has durations in cycles and in ns.
    pub clock_ghz: Option<f64>,
    /// True if a cell of cycles is below 0.
    pub has_negative_cycle: bool,
    /// Another op that left this one too few cores, at the time that its cycles say.
    pub no_room: Option<NoRoom>,
    /// Signpost before the op, or the innermost open range of signposts; `None` without one.
    pub signpost: Option<Arc<str>>,
    /// Cells of columns that no report of TT-Metal has, as texts with their headers; blank cells are
    /// left out.
    pub others: Vec<OtherCell>,
}

/// Header and text of a cell whose column no report of TT-Metal has.
pub type OtherCell = (Arc<str>, Arc<str>);

impl OpRow {
    /// Returns true if the row is a signpost.
    #[must_use]
    pub fn is_signpost(&self) -> bool {
        &*self.op_type == "signpost"
    }

    /// Returns true if the row is an op of a known device.
    #[must_use]
    pub fn is_device_op(&self) -> bool {
        &*self.op_type == DEVICE_OP && self.device.is_some()
    }

    /// Returns true if the op was only captured into a trace: it has no replay and no duration.
    #[must_use]
    pub fn is_captured(&self) -> bool {
        let has_run = self.trace_session.is_some() || self.kernel_duration_ns.is_some();
        self.trace_id.is_some() && !has_run
    }

    /// Returns the text of a column that no report of TT-Metal has; `None` if the cell is blank.
    pub(super) fn other(&self, title: &str) -> Option<&Arc<str>> {
        self.others.iter().find(|(column, _)| **column == *title).map(|(_, cell)| cell)
    }

    /// Returns all inputs and outputs of the op.
    pub(super) fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        let inputs = self.inputs.iter().chain(&self.more_inputs);
        let outputs = std::iter::once(&self.output).chain(&self.more_outputs);
        inputs.chain(outputs).filter(|tensor| tensor.datatype.is_some())
    }

    /// Returns the shapes, element types and memories of the op's tensors, which identify the
    /// program.
    #[must_use]
    pub fn source(&self) -> String {
        let mut text = String::new();
        for tensor in self.inputs.iter().chain([&self.output]) {
            add_tensor(tensor, &mut text);
        }
        text
    }
}

/// Appends an abbreviated tensor, without its device number, to a text.
fn add_tensor(tensor: &Tensor, text: &mut String) {
    let Some(datatype) = &tensor.datatype else { return };
    let place = tensor.place().unwrap_or("");
    text.push_str(if text.is_empty() { "" } else { " " });
    for (side, separator) in tensor.sides.iter().zip(["", "x", "x", "x"]) {
        text.push_str(separator);
        push_side(*side, text);
    }
    let _ = write!(text, ":{datatype}:{place}");
}

/// Appends a side, or a question mark if it is unknown, to a text.
fn push_side(side: Option<u64>, text: &mut String) {
    // Writing to a string cannot fail.
    let _ = match side {
        Some(side) => write!(text, "{side}"),
        None => text.write_char('?'),
    };
}

/// Columns of one tensor.
struct TensorColumns {
    sides: [Column; 4],
    datatype: Column,
    memory: Column,
    layout: Column,
    /// All sides in one cell, `{'W': 1; 'X': 64; 'Y': 32; 'Z': 1}`, in reports of early 2024.
    shape: Column,
    /// Device and memory in one cell, in the same reports.
    storage: Column,
}

const SIDES: [&str; 4] = ["W", "Z", "Y", "X"];

impl TensorColumns {
    /// # Compatibility
    /// Reports of early 2024 (TT-Metal #6689) have the columns `SHAPE` and `STORAGE_TYPE`.
    fn new(titles: &Titles, tensor: &str) -> Self {
        Self {
            sides: SIDES.map(|side| titles.column(&titles.shape_title(tensor, side))),
            datatype: titles.column(&format!("{tensor}_DATATYPE")),
            memory: titles.column(&format!("{tensor}_MEMORY")),
            layout: titles.column(&format!("{tensor}_LAYOUT")),
            shape: titles.column(&format!("{tensor}_SHAPE")),
            storage: titles.column(&format!("{tensor}_STORAGE_TYPE")),
        }
    }
}

/// Returns a value of a dictionary as reports write it, such as the `1` of `'W'` in `{'W': 1; 'X': 64}`.
fn dictionary_value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("'{key}':"))?;
    let value = rest.split([';', ',', '}']).next()?;
    Some(value.trim().trim_matches('\''))
}

/// Maximum number of inputs or outputs whose columns are read.
const MOST_TENSORS: usize = 64;

impl TensorColumns {
    /// Returns the columns of the tensors from number `first` on, up to the first that has none.
    fn all_from(first: usize, titles: &Titles, tensor: &str) -> Vec<Self> {
        let tensors = (first..MOST_TENSORS).map(|at| Self::new(titles, &format!("{tensor}_{at}")));
        tensors.take_while(|columns| columns.datatype.at.is_some()).collect()
    }
}

macro_rules! row_columns {
    ($($column:ident: $title:expr,)*) => {
        /// The columns that are read for each row, with their indices. They are looked up once for
        /// each file.
        pub(super) struct RowColumns {
            format: OpsCsvFormat,
            $($column: Column,)*
            inputs: [TensorColumns; 2],
            output: TensorColumns,
            more_inputs: Vec<TensorColumns>,
            more_outputs: Vec<TensorColumns>,
            others: Vec<KeptColumn>,
            counters: Vec<KeptColumn>,
        }

        impl RowColumns {
            /// Returns the columns of a file; `asked` is a further column to keep as texts.
            pub(super) fn new(titles: &Titles, asked: Option<&str>) -> Self {
                Self {
                    others: titles.kept(asked),
                    counters: titles.counters(),
                    format: titles.format,
                    $($column: titles.column($title),)*
                    inputs: ["INPUT_0", "INPUT_1"].map(|tensor| TensorColumns::new(titles, tensor)),
                    output: TensorColumns::new(titles, "OUTPUT_0"),
                    more_inputs: TensorColumns::all_from(2, titles, "INPUT"),
                    more_outputs: TensorColumns::all_from(1, titles, "OUTPUT"),
                }
            }
        }
    };
}

row_columns! {
    op_code: "OP CODE",
    op_name: OP_NAME,
    op_type: "OP TYPE",
    global_call_count: "GLOBAL CALL COUNT",
    host_start_ns: "HOST START TS",
    available_cores: "AVAILABLE WORKER CORE COUNT",
    arch: "DEVICE ARCH",
    device: "DEVICE ID",
    attributes: "ATTRIBUTES",
    math_fidelity: "MATH FIDELITY",
    core_count: "CORE COUNT",
    sub_device: "SUB DEVICE ID",
    host_duration_ns: "HOST DURATION [ns]",
    compile_duration_ns: "CompileProgram_TT_HOST_FUNC [ns]",
    build_duration_ns: HOST_BUILD,
    dispatch_duration_ns: HOST_DISPATCH,
    dispatcher_ns: DISPATCHER,
    dispatcher_wait_ns: DISPATCHER_WAIT,
    cache_hit: "PROGRAM CACHE HIT",
    cache_cleared: CACHE_CLEARED,
    kernel_duration_ns: KERNEL_DURATION,
    op_to_op_latency_ns: LATENCY,
    trace_id: "METAL TRACE ID",
    trace_session: "METAL TRACE REPLAY SESSION ID",
    firmware_start_cycle: "DEVICE FW START CYCLE",
    firmware_end_cycle: "DEVICE FW END CYCLE",
    firmware_duration_ns: "DEVICE FW DURATION [ns]",
    kernel_start_cycle: "DEVICE KERNEL START CYCLE",
    kernel_end_cycle: "DEVICE KERNEL END CYCLE",
    brisc_kernel_ns: "DEVICE BRISC KERNEL DURATION [ns]",
    ncrisc_kernel_ns: "DEVICE NCRISC KERNEL DURATION [ns]",
    trisc0_kernel_ns: "DEVICE TRISC0 KERNEL DURATION [ns]",
    trisc1_kernel_ns: "DEVICE TRISC1 KERNEL DURATION [ns]",
    trisc2_kernel_ns: "DEVICE TRISC2 KERNEL DURATION [ns]",
    core_min_ns: "DEVICE KERNEL DURATION PER CORE MIN [ns]",
    core_mean_ns: "DEVICE KERNEL DURATION PER CORE AVG [ns]",
    core_max_ns: "DEVICE KERNEL DURATION PER CORE MAX [ns]",
    start_skew_ns: "DEVICE KERNEL FIRST TO LAST START [ns]",
    compute_data_wait_ns: "DEVICE COMPUTE CB WAIT FRONT [ns]",
    compute_room_wait_ns: "DEVICE COMPUTE CB RESERVE BACK [ns]",
    model_ideal_ns: "PM IDEAL [ns]",
    model_compute_ns: "PM COMPUTE [ns]",
    model_bandwidth_ns: "PM BANDWIDTH [ns]",
    noc_percent: "NOC UTIL (%)",
    dram_percent: "DRAM BW UTIL (%)",
}

/// Reader of one row's cells. It logs invalid values as problems.
pub(super) struct RowReader<'a> {
    pub(super) columns: &'a RowColumns,
    pub(super) cells: &'a [&'a str],
    pub(super) file: &'a str,
    pub(super) line: u64,
    pub(super) texts: &'a mut TextPool,
    pub(super) problems: &'a mut ProblemLog,
}

impl<'a> RowReader<'a> {
    pub(super) fn read(mut self) -> OpRow {
        let columns = self.columns;
        let is_signpost = self.cell(&columns.op_type) == "signpost";
        let mut row = OpRow {
            line: self.line,
            op_code: self.shared(&columns.op_code),
            op_type: self.shared(&columns.op_type),
            global_call_count: cell::clean(self.cell(&columns.global_call_count)).into_owned(),
            host_start_ns: self.number(&columns.host_start_ns),
            available_cores: self.cores(&columns.available_cores),
            arch: self.text(&columns.arch),
            ..OpRow::default()
        };
        if matches!(columns.format, OpsCsvFormat::Streaming | OpsCsvFormat::Device) {
            row.op_code = match self.text(&columns.op_name) {
                Some(name) => name,
                None => self.program_name(&row.global_call_count).into(),
            };
            row.op_type = self.texts.shared(DEVICE_OP);
        }
        if is_signpost {
            row.attributes = self.shared(&columns.attributes);
        } else {
            self.read_op(&mut row);
        }
        row.others = self.others();
        row
    }

    /// Returns a name for the op of a program without one. The chip, which is a part of the program's id,
    /// is left out: chips that run one program run the same op.
    fn program_name(&self, id: &str) -> String {
        let device = cell::whole(self.cell(&self.columns.device));
        let run_host_id = id.parse().ok().map(RunHostId);
        let of_chip = run_host_id.filter(|id| device == Some(id.chip().into()));
        of_chip.map_or_else(|| format!("program {id}"), |id| format!("program {}", id.base()))
    }

    fn others(&mut self) -> Vec<OtherCell> {
        let mut others = Vec::new();
        for column in &self.columns.others {
            let cell = self.cells.get(column.at).copied().unwrap_or("");
            if !cell::is_blank(cell) {
                others.push((Arc::clone(&column.title), self.texts.shared(&cell::clean(cell))));
            }
        }
        others
    }

    fn sending(&self) -> Sending {
        let time = |column: &Column| cell::not_negative(self.cell(column));
        Sending {
            queued_ns: None,
            dispatcher_ns: time(&self.columns.dispatcher_ns),
            dispatcher_wait_ns: time(&self.columns.dispatcher_wait_ns),
        }
    }

    fn read_op(&mut self, row: &mut OpRow) {
        let columns = self.columns;
        row.device = self.value(&columns.device, cell::whole, "a whole number from 0");
        row.attributes = self.shared(&columns.attributes);
        row.math_fidelity = self.text(&columns.math_fidelity).unwrap_or_default();
        row.core_count = self.cores(&columns.core_count);
        let sub_device = cell::sub_device(self.cell(&columns.sub_device));
        row.has_whole_device = columns.sub_device.at.is_some() && sub_device.is_none();
        row.sub_device = sub_device.map(|id| self.texts.shared(&id));
        row.host_duration_ns = cell::number(self.cell(&columns.host_duration_ns));
        row.compile_duration_ns = cell::number(self.cell(&columns.compile_duration_ns));
        row.build_duration_ns = cell::not_negative(self.cell(&columns.build_duration_ns));
        row.dispatch_duration_ns = cell::not_negative(self.cell(&columns.dispatch_duration_ns));
        row.sending = self.sending();
        row.is_cache_hit = cell::flag(self.cell(&columns.cache_hit));
        row.is_cache_cleared = cell::flag(self.cell(&columns.cache_cleared)) == Some(true);
        row.kernel_duration_ns = self.number(&columns.kernel_duration_ns);
        row.has_unreadable_duration = row.kernel_duration_ns.is_none()
            && !cell::is_blank(self.cell(&columns.kernel_duration_ns));
        row.op_to_op_latency_ns = self.number(&columns.op_to_op_latency_ns);
        row.inputs = columns.inputs.each_ref().map(|input| self.tensor(input));
        row.output = self.tensor(&columns.output);
        let counters = columns.counters.iter().filter_map(|column| {
            let cell = self.cells.get(column.at).copied()?;
            Some((Arc::clone(&column.title), cell::not_negative(cell)?))
        });
        row.counters = counters.collect();
        row.more_inputs = self.more_tensors(&columns.more_inputs);
        row.more_outputs = self.more_tensors(&columns.more_outputs);
        row.model_ideal_ns = cell::number(self.cell(&columns.model_ideal_ns));
        row.model_compute_ns = cell::number(self.cell(&columns.model_compute_ns));
        row.model_bandwidth_ns = cell::number(self.cell(&columns.model_bandwidth_ns));
        row.risc_kernels_ns = [
            &columns.brisc_kernel_ns,
            &columns.ncrisc_kernel_ns,
            &columns.trisc0_kernel_ns,
            &columns.trisc1_kernel_ns,
            &columns.trisc2_kernel_ns,
        ]
        .map(|column| cell::number(self.cell(column)));
        let core_times = [&columns.core_min_ns, &columns.core_mean_ns, &columns.core_max_ns];
        row.core_times = CoreTimes::new(core_times.map(|column| cell::number(self.cell(column))));
        row.start_skew_ns = cell::not_negative(self.cell(&columns.start_skew_ns));
        [row.compute_data_wait_ns, row.compute_room_wait_ns] =
            [&columns.compute_data_wait_ns, &columns.compute_room_wait_ns]
                .map(|column| cell::not_negative(self.cell(column)));
        // Reports without tt-npe have 0, and a use beyond the peak is wrong.
        [row.noc_percent, row.dram_percent] =
            [&columns.noc_percent, &columns.dram_percent].map(|column| {
                let percent = cell::number(self.cell(column));
                percent.filter(|percent| *percent > 0.0 && *percent <= MOST_PERCENT)
            });
        row.trace_id = cell::whole(self.cell(&columns.trace_id));
        row.trace_session = cell::whole(self.cell(&columns.trace_session));
        row.firmware_start_cycle = cell::whole(self.cell(&columns.firmware_start_cycle));
        row.firmware_end_cycle = cell::whole(self.cell(&columns.firmware_end_cycle));
        row.firmware_duration_ns = cell::number(self.cell(&columns.firmware_duration_ns));
        let kernel = [&columns.kernel_start_cycle, &columns.kernel_end_cycle];
        let firmware = [&columns.firmware_start_cycle, &columns.firmware_end_cycle];
        row.has_negative_cycle = kernel
            .iter()
            .chain(&firmware)
            .any(|column| cell::number(self.cell(column)).is_some_and(|cycle| cycle < 0.0));
        let [start, end] = kernel.map(|column| cell::whole(self.cell(column)));
        row.kernel_cycles = start.zip(end).filter(|(start, end)| start <= end);
        row.clock_ghz = self.clock_ghz().or_else(|| {
            let (start, end) = row.kernel_cycles?;
            let clock = end.checked_sub(start)? as f64 / row.kernel_duration_ns?;
            (clock.is_finite() && clock > 0.0).then_some(clock)
        });
    }

    fn tensor(&mut self, columns: &TensorColumns) -> Tensor {
        let is_there = !cell::is_blank(self.cell(&columns.datatype));
        let mut sides = columns.sides.each_ref().map(|side| self.side(side, is_there));
        let logical_sides = columns.sides.each_ref().map(|side| cell::logical(self.cell(side)));
        let shape = self.cell(&columns.shape);
        if !cell::is_blank(shape) {
            sides = SIDES.map(|side| dictionary_value(shape, side).and_then(cell::dimension));
        }
        Tensor {
            sides,
            logical_sides,
            datatype: self.text(&columns.datatype),
            memory: self.text(&columns.memory).or_else(|| self.memory_in(&columns.storage)),
            layout: self.text(&columns.layout),
        }
    }

    /// Returns the memory in a cell of device and memory, as later reports write it: `DEV_0_DRAM_INTERLEAVED`.
    fn memory_in(&mut self, storage: &Column) -> Option<Arc<str>> {
        let value = |key| dictionary_value(self.cell(storage), key);
        let (buffer, layout) = (value("buffer_type")?, value("memory_layout")?);
        let device = value("device_id").map_or_else(String::new, |id| format!("DEV_{id}_"));
        Some(self.texts.shared(&format!("{device}{buffer}_{layout}")))
    }

    fn more_tensors(&mut self, columns: &[TensorColumns]) -> Vec<Tensor> {
        let tensors = columns.iter().filter(|of| !cell::is_blank(self.cell(&of.datatype)));
        let tensors: Vec<&TensorColumns> = tensors.collect();
        tensors.into_iter().map(|columns| self.tensor(columns)).collect()
    }

    fn side(&mut self, column: &Column, is_there: bool) -> Option<u64> {
        let found = self.cell(column);
        let value = cell::dimension(found);
        if value.is_none() && is_there && !cell::is_blank(found) {
            self.report(column, "the side of a tensor, 1 to 2^32", found);
        }
        value
    }

    fn clock_ghz(&self) -> Option<f64> {
        let columns = self.columns;
        let start = cell::number(self.cell(&columns.firmware_start_cycle))?;
        let cycles = cell::number(self.cell(&columns.firmware_end_cycle))? - start;
        let duration_ns = cell::number(self.cell(&columns.firmware_duration_ns))?;
        let clock = cycles / duration_ns;
        (clock.is_finite() && clock > 0.0).then_some(clock)
    }

    fn cell(&self, column: &Column) -> &'a str {
        column.at.and_then(|at| self.cells.get(at)).copied().unwrap_or("")
    }

    fn shared(&mut self, column: &Column) -> Arc<str> {
        self.texts.shared(&cell::clean(self.cell(column)))
    }

    fn text(&mut self, column: &Column) -> Option<Arc<str>> {
        (!cell::is_blank(self.cell(column))).then(|| self.shared(column))
    }

    fn number(&mut self, column: &Column) -> Option<f64> {
        self.value(column, cell::number, "a finite number")
    }

    fn cores(&mut self, column: &Column) -> Option<u64> {
        self.value(column, cell::core_count, "a number of cores, 1 to 2^20")
    }

    fn value<T>(
        &mut self,
        column: &Column,
        read: fn(&str) -> Option<T>,
        expected: &str,
    ) -> Option<T> {
        let found = self.cell(column);
        let value = read(found);
        if value.is_none() && !cell::is_blank(found) {
            self.report(column, expected, found);
        }
        value
    }

    fn report(&mut self, column: &Column, expected: &str, found: &str) {
        let place = Position { file: self.file, line: self.line, column: &column.title };
        self.problems.add_deviation(place, expected, &quoted(found), "left blank");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_says_which_shapes_ran_and_forgets_the_device() {
        assert_eq!(row("DEV_3_L1_INTERLEAVED").source(), "1x1x32x?:BFLOAT16:L1_INTERLEAVED");
        assert_eq!(row("DEV_0_DRAM").source(), row("DEV_1_DRAM").source());
    }

    #[test]
    fn tensors_of_early_2024_are_read_from_their_dictionaries() {
        let text = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],INPUT_0_DTYPE,INPUT_0_LAYOUT,\
            INPUT_0_SHAPE,INPUT_0_STORAGE_TYPE\n\
            Matmul,tt_dnn_device,0,5,BFLOAT8_B,TILE,{'W': 1; 'X': 8192; 'Y': 2048; 'Z': 3},\
            {'device_id': 2; 'memory_config': {'buffer_type': 'L1'; 'memory_layout': 'BLOCK_SHARDED'}}\n";
        let csv = crate::perf::read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let input = &csv.rows[0].inputs[0];
        assert_eq!(input.sides, [Some(1), Some(3), Some(2048), Some(8192)]);
        assert_eq!(input.datatype.as_deref(), Some("BFLOAT8_B"));
        assert_eq!(input.memory.as_deref(), Some("DEV_2_L1_BLOCK_SHARDED"));
    }

    fn tensor_in(memory: &str) -> Tensor {
        Tensor {
            sides: [Some(1), Some(1), Some(32), None],
            datatype: Some("BFLOAT16".into()),
            memory: Some(memory.into()),
            ..Tensor::default()
        }
    }

    fn row(memory: &str) -> OpRow {
        OpRow { output: tensor_in(memory), ..OpRow::default() }
    }

    #[test]
    fn a_tensor_of_unbelievable_size_has_no_element_count() {
        let tensor = Tensor { sides: [Some(1 << 32); 4], ..Tensor::default() };
        assert_eq!(tensor.element_count(), None);
    }
}
