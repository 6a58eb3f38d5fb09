//! Cells of a row that come from the host's description of an op.

use super::{
    buffer_peaks::op_peaks,
    device_op::Cells,
    sheet::{
        BUFFER_PEAK_SUFFIX, CHILD_CALL_SUFFIX, KERNEL_DURATION, OF_HOST, TENSOR_COLUMNS,
        fixed_column, tensor_title,
    },
    value::{Value, float_text},
};
use crate::problem::ProblemLog;
use host_events::BufferUsage;
use recording::host_ops::{HostOp, Signpost};

/// Returns the cells of an op, except the host times and the device's data. Problems name `file` as
/// the file with the description of the op.
pub(super) fn op_cells(op: &HostOp, file: &str, problems: &mut ProblemLog) -> Cells {
    let mut cells = Cells::new();
    for (key, value) in op.description.fields() {
        if let Some(column) = fixed_column(key) {
            cells.insert(column.into(), value.cell());
        }
    }
    let mut set = |column: &'static str, text: String| cells.insert(column.into(), text);
    set("GLOBAL CALL COUNT", op.id.to_string());
    if let Some(hash) = op.description.get("op_hash") {
        set("PROGRAM HASH", hash.cell());
    }
    match op.is_cache_hit {
        Some(is_hit) => set("PROGRAM CACHE HIT", Value::Bool(is_hit).cell()),
        None => op
            .description
            .get("program_cache_hit")
            .and_then(|hit| set("PROGRAM CACHE HIT", hit.cell())),
    };
    add_kernels(&mut cells, op);
    add_tensors(&mut cells, op, (file, problems));
    add_model(&mut cells, op);
    cells
}

/// Keys of the fields of an op's description for the columns [`OF_HOST`].
pub(super) const KEYS_OF_HOST: [&str; 3] =
    ["host_build_ns", "host_dispatch_ns", "program_cache_cleared"];

/// Adds the host times of the op and of the functions called by it.
pub(super) fn add_times(cells: &mut Cells, op: &HostOp) {
    if let Some(time) = op.time {
        let end = time.start_ns.saturating_add(time.duration_ns);
        cells.insert("HOST START TS".into(), time.start_ns.to_string());
        cells.insert("HOST END TS".into(), end.to_string());
        cells.insert("HOST DURATION [ns]".into(), time.duration_ns.to_string());
    }
    for (name, ns) in &op.child_calls_ns {
        cells.insert(format!("{name}{CHILD_CALL_SUFFIX}").into(), ns.to_string());
    }
    for (column, key) in OF_HOST.into_iter().zip(KEYS_OF_HOST) {
        if let Some(value) = op.description.get(key) {
            cells.insert(column.into(), value.cell());
        }
    }
}

fn add_kernels(cells: &mut Cells, op: &HostOp) {
    let Some(info) = op.description.get("kernel_info") else { return };
    let compute = info.get("compute_kernels").map_or(&[][..], Value::elements);
    let data_movement = info.get("datamovement_kernels").map_or(&[][..], Value::elements);
    for (column, kernels, key) in [
        ("COMPUTE KERNEL SOURCE", compute, "source"),
        ("COMPUTE KERNEL HASH", compute, "name"),
        ("DATA MOVEMENT KERNEL SOURCE", data_movement, "source"),
        ("DATA MOVEMENT KERNEL HASH", data_movement, "name"),
    ] {
        let list = kernels.iter().map(|kernel| kernel.get(key).cloned().unwrap_or(Value::Null));
        cells.insert(column.into(), Value::List(list.collect()).cell());
    }
    if let Some(fidelity) = compute.last().and_then(|kernel| kernel.get("math_fidelity")) {
        cells.insert("MATH FIDELITY".into(), fidelity.cell());
    }
    for (kernel, size) in info.get("kernel_sizes").map_or(&[][..], Value::fields) {
        let column = format!("{} [B]", kernel.to_uppercase().replace('_', " "));
        cells.insert(column.into(), size.cell());
    }
}

fn add_model(cells: &mut Cells, op: &HostOp) {
    let Some(model) = op.description.get("performance_model") else { return };
    for (column, key) in [
        ("PM IDEAL [ns]", "ideal_ns"),
        ("PM COMPUTE [ns]", "compute_ns"),
        ("PM BANDWIDTH [ns]", "bandwidth_ns"),
        ("PM REQ I BW", "input_bws"),
        ("PM REQ O BW", "output_bws"),
    ] {
        if let Some(value) = model.get(key) {
            cells.insert(column.into(), value.cell());
        }
    }
}

/// Adds the maximum number of bytes that were allocated on the op's chip while the host worked on
/// the op.
pub(super) fn add_buffer_peaks(cells: &mut Cells, op: &HostOp, buffers: &BufferUsage) {
    for (pool, bytes) in op_peaks(op, buffers) {
        let title = format!("DEVICE {}{BUFFER_PEAK_SUFFIX}", pool.kind);
        cells.insert(title.into(), bytes.to_string());
    }
}

/// Adds the modelled compute time as a percentage of the kernel duration.
pub(super) fn add_utilisation(cells: &mut Cells, op: &HostOp) {
    let model = op.description.get("performance_model");
    let compute_ns = model.and_then(|model| model.get("compute_ns")).and_then(Value::float);
    let kernel_ns = cells.get(KERNEL_DURATION).and_then(|text| text.parse::<f64>().ok());
    let (Some(compute_ns), Some(kernel_ns)) = (compute_ns, kernel_ns) else { return };
    let percent = if kernel_ns == 0.0 { 0.0 } else { 100.0 * compute_ns / kernel_ns };
    // Rounding via text is correct to the last digit, as in Python.
    let rounded = format!("{percent:.3}").parse().unwrap_or(percent);
    cells.insert("PM FPU UTIL (%)".into(), float_text(rounded));
}

fn add_tensors(cells: &mut Cells, op: &HostOp, (file, problems): (&str, &mut ProblemLog)) {
    let [inputs, optional, outputs] = ["input_tensors", "optional_input_tensors", "output_tensors"]
        .map(|key| op.description.get(key).map_or(&[][..], Value::elements));
    let inputs = inputs.iter().chain(optional).enumerate();
    let outputs = outputs.iter().enumerate();
    let inputs = inputs.map(|(number, tensor)| ("INPUT", number, tensor));
    let outputs = outputs.map(|(number, tensor)| ("OUTPUT", number, tensor));
    for (which, number, tensor) in inputs.chain(outputs) {
        for (column, text) in TENSOR_COLUMNS.into_iter().zip(tensor_texts(tensor)) {
            let title = tensor_title(which, number, column);
            if text.is_none() {
                let detail = format!("op {} does not say it; the cell is empty", op.id);
                problems.add_to_field(file, op.line, title.clone(), detail);
            }
            cells.insert(title.into(), text.unwrap_or_default());
        }
    }
}

/// Returns the fields of a tensor, in the order of [`TENSOR_COLUMNS`].
fn tensor_texts(tensor: &Value) -> [Option<String>; 7] {
    let dimension = |name| tensor.get("shape").and_then(|shape| shape.get(name)).map(Value::cell);
    let field = |key| tensor.get(key).map(Value::cell);
    [
        dimension("W"),
        dimension("Z"),
        dimension("Y"),
        dimension("X"),
        field("layout"),
        field("dtype"),
        tensor.get("storage_type").and_then(memory_text),
    ]
}

/// Formats the memory of a tensor as `DEV_<chip>_<buffer>_<layout>`. If `storage` is a text
/// already, returns this text.
fn memory_text(storage: &Value) -> Option<String> {
    if let Value::Text(text) = storage {
        return Some(text.clone());
    }
    let device_id = storage.get("device_id")?.cell();
    let config = storage.get("memory_config")?;
    let buffer = config.get("buffer_type")?.cell().to_uppercase();
    let layout = config.get("memory_layout")?.cell().to_uppercase();
    Some(format!("DEV_{device_id}_{buffer}_{layout}"))
}

/// Returns the cells of a signpost: header, message and time.
///
/// TT-Metal's script reads the header and the message from the text after the last `: ` of the
/// signpost. If the message contains `: `, the header is therefore wrong. The script shows only the
/// first line of the message.
pub(super) fn signpost_cells(signpost: &Signpost, is_exact: bool) -> Cells {
    let text = signpost.text.as_str();
    let shown = if is_exact {
        text.rsplit(": ").next().unwrap_or(text)
    } else {
        text.split_once("TT_SIGNPOST:").map_or(text, |(_, shown)| shown.trim_start_matches(' '))
    };
    let (header, message) = shown.split_once('\n').map_or((shown, None), |(h, m)| (h, Some(m)));
    let mut cells = Cells::new();
    cells.insert("OP CODE".into(), header.to_owned());
    cells.insert("OP TYPE".into(), "signpost".to_owned());
    if let Some(message) = message {
        let first = message.split('\n').next().unwrap_or(message);
        let message = if is_exact { first.to_owned() } else { message.replace('\n', "; ") };
        cells.insert("ATTRIBUTES".into(), message);
    }
    cells.insert("HOST START TS".into(), signpost.time_ns.to_string());
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colon_in_a_signpost_does_not_destroy_it() {
        let text = "TT_SIGNPOST: phase: decode\nstep: 3\nof 9".to_owned();
        let signpost = Signpost { text, time_ns: 5 };
        let cells = signpost_cells(&signpost, false);
        assert_eq!((&*cells["OP CODE"], &*cells["ATTRIBUTES"]), ("phase: decode", "step: 3; of 9"));
        let exact = signpost_cells(&signpost, true);
        assert_eq!((&*exact["OP CODE"], &*exact["ATTRIBUTES"]), ("3", "of 9"));
    }
}
