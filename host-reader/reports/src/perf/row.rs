//! One row of an ops CSV, each cell as what it is.

use super::{
    cell,
    titles::{OpsCsvFormat, Titles},
};
use crate::problem::{Position, ProblemLog, quoted};

/// Type of ops that ran on a chip.
const DEVICE_OP: &str = "tt_dnn_device";

/// Sides of a tensor, its element type and where it lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tensor {
    /// Physical sides: W, Z, Y, X.
    pub sides: [Option<u64>; 4],
    /// Element type; `None` if there is no such tensor.
    pub datatype: Option<String>,
    /// Memory and layout.
    pub memory: Option<String>,
}

impl Tensor {
    /// The number of elements.
    #[must_use]
    pub fn element_count(&self) -> Option<u64> {
        self.sides.iter().try_fold(1_u64, |product, side| product.checked_mul((*side)?))
    }

    /// Returns true if the tensor is in DRAM.
    #[must_use]
    pub fn is_in_dram(&self) -> bool {
        self.memory.as_deref().is_some_and(|memory| memory.contains("DRAM"))
    }
}

/// One row of an ops CSV.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpRow {
    /// Which of the files it is from, from 0.
    pub file: usize,
    /// Line in that file, from 1; a row may go on over several lines.
    pub line: u64,
    /// Number in reports: the row of a spreadsheet that holds all files.
    pub id: u64,
    /// Name of the op, or of the signpost.
    pub op_code: String,
    /// `tt_dnn_device`, `signpost`, `python_fallback` and others.
    pub op_type: String,
    /// Number of the call, as it was written.
    pub global_call_count: String,
    /// The device.
    pub device: Option<u64>,
    /// The op's attributes as text.
    pub attributes: String,
    /// Math fidelity as text.
    pub math_fidelity: String,
    /// Cores that it ran on.
    pub core_count: Option<u64>,
    /// Cores that it could have had.
    pub available_cores: Option<u64>,
    /// Name of the architecture.
    pub arch: Option<String>,
    /// The sub-device.
    pub sub_device: Option<String>,
    /// When the host began with it, in ns on the host's clock.
    pub host_start_ns: Option<f64>,
    /// How long its kernels ran.
    pub kernel_duration_ns: Option<f64>,
    /// From the end of the op before.
    pub op_to_op_latency_ns: Option<f64>,
    /// The first two inputs.
    pub inputs: [Tensor; 2],
    /// The first output.
    pub output: Tensor,
    /// Which replay of a trace it belongs to.
    pub trace_session: Option<u64>,
    /// Device clock in GHz, if durations in cycles and in ns are both there.
    pub clock_ghz: Option<f64>,
}

impl OpRow {
    /// Returns true if the row is a signpost.
    #[must_use]
    pub fn is_signpost(&self) -> bool {
        self.op_type == "signpost"
    }

    /// Returns true if the row is an op of a known device.
    #[must_use]
    pub fn is_device_op(&self) -> bool {
        self.op_type == DEVICE_OP && self.device.is_some()
    }

    /// Which program ran, as far as shapes, element types and memories show.
    #[must_use]
    pub fn source(&self) -> String {
        let tensors = self.inputs.iter().chain([&self.output]);
        let texts: Vec<_> = tensors.map(tensor_text).filter(|text| !text.is_empty()).collect();
        texts.join(" ")
    }
}

/// A tensor in short, without the number of its device.
fn tensor_text(tensor: &Tensor) -> String {
    let Some(datatype) = &tensor.datatype else { return String::new() };
    let side = |side: &Option<u64>| side.map_or_else(|| "?".to_owned(), |side| side.to_string());
    let sides: Vec<_> = tensor.sides.iter().map(side).collect();
    let memory = tensor.memory.as_deref().unwrap_or("");
    let place = memory.strip_prefix("DEV_").and_then(|rest| rest.split_once('_'));
    let place = place.map_or(memory, |(_, place)| place);
    format!("{}:{datatype}:{place}", sides.join("x"))
}

/// Reads the cells of one row, and notes what does not fit.
pub(super) struct RowReader<'a> {
    pub(super) titles: &'a Titles,
    pub(super) cells: &'a csv::StringRecord,
    pub(super) file: &'a str,
    pub(super) line: u64,
    pub(super) problems: &'a mut ProblemLog,
}

impl RowReader<'_> {
    pub(super) fn read(mut self) -> OpRow {
        let is_signpost = self.cell("OP TYPE") == "signpost";
        let mut row = OpRow {
            line: self.line,
            op_code: cell::clean(self.cell("OP CODE")),
            op_type: cell::clean(self.cell("OP TYPE")),
            global_call_count: cell::clean(self.cell("GLOBAL CALL COUNT")),
            host_start_ns: self.number("HOST START TS"),
            available_cores: self.cores("AVAILABLE WORKER CORE COUNT"),
            arch: self.text("DEVICE ARCH"),
            ..OpRow::default()
        };
        if self.titles.format() == OpsCsvFormat::Streaming {
            row.op_code = format!("program {}", row.global_call_count);
            row.op_type = DEVICE_OP.to_owned();
        }
        if !is_signpost {
            self.read_op(&mut row);
        }
        row
    }

    fn read_op(&mut self, row: &mut OpRow) {
        row.device = self.whole("DEVICE ID", "a whole number from 0");
        row.attributes = cell::clean(self.cell("ATTRIBUTES"));
        row.math_fidelity = self.text("MATH FIDELITY").unwrap_or_default();
        row.core_count = self.cores("CORE COUNT");
        row.sub_device = cell::sub_device(self.cell("SUB DEVICE ID"));
        row.kernel_duration_ns = self.number("DEVICE KERNEL DURATION [ns]");
        row.op_to_op_latency_ns = self.number("OP TO OP LATENCY [ns]");
        row.inputs = [self.tensor("INPUT_0"), self.tensor("INPUT_1")];
        row.output = self.tensor("OUTPUT_0");
        row.trace_session = cell::whole(self.cell("METAL TRACE REPLAY SESSION ID"));
        row.clock_ghz = self.clock_ghz();
    }

    fn tensor(&mut self, tensor: &str) -> Tensor {
        let is_there = !cell::is_blank(self.cell(&format!("{tensor}_DATATYPE")));
        let sides = ["W", "Z", "Y", "X"].map(|side| self.side(tensor, side, is_there));
        Tensor {
            sides,
            datatype: self.text(&format!("{tensor}_DATATYPE")),
            memory: self.text(&format!("{tensor}_MEMORY")),
        }
    }

    fn side(&mut self, tensor: &str, side: &str, is_there: bool) -> Option<u64> {
        let title = self.titles.shape_title(tensor, side);
        let found = self.cell(&title).to_owned();
        let value = cell::dimension(&found);
        if value.is_none() && is_there && !cell::is_blank(&found) {
            self.report(&title, "the side of a tensor, 1 to 2^32", &found, "left blank");
        }
        value
    }

    fn clock_ghz(&self) -> Option<f64> {
        let cycle = |title| cell::number(self.cell(title));
        let cycles = cycle("DEVICE FW END CYCLE")? - cycle("DEVICE FW START CYCLE")?;
        let duration_ns = cell::number(self.cell("DEVICE FW DURATION [ns]"))?;
        let clock = cycles / duration_ns;
        (clock.is_finite() && clock > 0.0).then_some(clock)
    }

    fn cell(&self, title: &str) -> &str {
        self.titles.index(title).and_then(|at| self.cells.get(at)).unwrap_or("")
    }

    fn text(&self, title: &str) -> Option<String> {
        let text = self.cell(title);
        (!cell::is_blank(text)).then(|| cell::clean(text))
    }

    fn number(&mut self, title: &str) -> Option<f64> {
        self.value(title, cell::number, "a finite number")
    }

    fn whole(&mut self, title: &str, expected: &str) -> Option<u64> {
        self.value(title, cell::whole, expected)
    }

    fn cores(&mut self, title: &str) -> Option<u64> {
        self.value(title, cell::core_count, "a number of cores, 1 to 2^20")
    }

    fn value<T>(&mut self, title: &str, read: fn(&str) -> Option<T>, expected: &str) -> Option<T> {
        let found = self.cell(title);
        let value = read(found);
        if value.is_none() && !cell::is_blank(found) {
            let found = found.to_owned();
            self.report(title, expected, &found, "left blank");
        }
        value
    }

    fn report(&mut self, column: &str, expected: &str, found: &str, effect: &str) {
        let place = Position { file: self.file, line: self.line, column };
        self.problems.add_deviation(place, expected, &quoted(found), effect);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_says_which_shapes_ran_and_forgets_the_device() {
        let tensor = |memory: &str| Tensor {
            sides: [Some(1), Some(1), Some(32), None],
            datatype: Some("BFLOAT16".into()),
            memory: Some(memory.into()),
        };
        let row = |memory| OpRow { output: tensor(memory), ..OpRow::default() };
        assert_eq!(row("DEV_3_L1_INTERLEAVED").source(), "1x1x32x?:BFLOAT16:L1_INTERLEAVED");
        assert_eq!(row("DEV_0_DRAM").source(), row("DEV_1_DRAM").source());
    }

    #[test]
    fn a_tensor_of_unbelievable_size_has_no_element_count() {
        let tensor = Tensor { sides: [Some(1 << 32); 4], ..Tensor::default() };
        assert_eq!(tensor.element_count(), None);
    }
}
