//! Durations of ops, from the rows of an ops CSV or from the launches of a readout.

use super::{
    measured::{DeviceOps, Measured, MeasuredKind, Measurements, Slot},
    traits::{Aspect, COMPARED_TENSORS, OpTraits, bare, memory_name},
};
use crate::perf::{
    OpReport, OpSpan, PerfReport, RecordedOp, RepetitionRule, Repetitions, SideBySide, Tensor,
};
use analysis::Op;
use host_events::OpMetadata;
use reader::readout::Readout;
use recording::{OF_CALL, host_ops::value::Value};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};
use wire::RunHostId;

/// Reason for which rows of ops are skipped that no chip ran.
const NEVER_RAN: &str = "ops that were only captured into a trace";

impl Measurements {
    /// Measures the ops of an ops CSV. The repetitions of an op are the iterations of the model, or
    /// the replays of a trace.
    ///
    /// The report must keep devices apart ([`PerfOptions::is_by_device`]): in the merged row of
    /// several devices, one slow device stands for all.
    ///
    /// [`PerfOptions::is_by_device`]: crate::perf::PerfOptions::is_by_device
    #[must_use]
    pub fn from_report(report: &PerfReport) -> Self {
        let mut measurements = Self::default();
        measurements.between.set_side_by_side(&report.side_by_side);
        let device_ops = report.rows.iter().filter(|row| row.is_device_op());
        let numbers: BTreeSet<Option<u64>> = device_ops.map(|row| row.device).collect();
        let mut traits = HashMap::new();
        for number in numbers {
            let found = Repetitions::of_device(&report.rows, number);
            let mut indices: Vec<usize> = found.ops.iter().flatten().copied().collect();
            indices.extend(&found.left_out);
            indices.sort_unstable();
            let count = indices.len();
            indices.retain(|&at| report.rows.get(at).is_some_and(|row| !row.is_captured));
            measurements.skip(NEVER_RAN, count.saturating_sub(indices.len()) as u64);
            let place: Arc<str> = place(number).into();
            let rows = || indices.iter().filter_map(|&at| report.rows.get(at));
            measurements.between.add_rows(rows());
            let mut launches: Vec<Slot> =
                rows().map(|row| measurements.launch_of(row, &place, &mut traits)).collect();
            for (slot, row) in launches.iter_mut().zip(rows()).skip(1) {
                let gap_us = row.op_to_op_gap_us.filter(|us| *us >= 0.0);
                slot.gap_ns = gap_us.map(|us| us * 1000.0);
                slot.between_gaps_ns = match report.has_firmware_gaps {
                    true => row.firmware_duration_ns,
                    false => slot.time_ns(),
                };
            }
            forget_shared_gaps(&mut launches, number, &report.side_by_side);
            let mut ops = DeviceOps { place, launches, iteration_count: 1, ..DeviceOps::default() };
            if found.rule != RepetitionRule::SameProgram {
                let order = indices.iter().enumerate();
                let launch_at: HashMap<_, _> = order.map(|(launch, &row)| (row, launch)).collect();
                let launches = |rows: &Vec<usize>| {
                    rows.iter().filter_map(|row| launch_at.get(row).copied()).collect()
                };
                let positions: Vec<Vec<usize>> = found.ops.iter().map(launches).collect();
                ops.set_iterations(&positions, found.iteration_count);
            } else {
                ops.find_loop();
            }
            measurements.devices.push(ops);
        }
        measurements.skip("ops of the host", report.totals.host_op_count);
        measurements.skip("lines of the file", report.skipped_line_count);
        measurements
    }

    fn launch_of(
        &mut self,
        row: &OpReport,
        place: &Arc<str>,
        traits: &mut HashMap<OpTraits, Arc<OpTraits>>,
    ) -> Slot {
        let known =
            traits.entry(traits_of_row(&row.recorded)).or_insert_with_key(|key| key.clone().into());
        let duration_ns = row.device_time_us.map(|us| us * 1000.0);
        Slot::of(self.measurable(Measured {
            kind: MeasuredKind::Op,
            place: place.clone(),
            name: row.raw_op_code.clone(),
            source: row.source.clone(),
            traits: known.clone(),
            attributes: row.recorded.attributes.clone(),
            clock_mhz: row.recorded.clock_mhz,
            durations_ns: duration_ns.into_iter().collect(),
            in_runs: None,
        }))
    }

    /// Adds the ops of a readout. `described` contains the host's descriptions of programs.
    ///
    /// If a sequence of ops repeats, the repetitions of an op are the passes through that sequence.
    pub(super) fn add_ops(
        &mut self,
        readout: &Readout,
        described: &[OpMetadata],
        ops: impl IntoIterator<Item = Op>,
    ) {
        let named: BTreeMap<(u32, RunHostId), &OpMetadata> =
            described.iter().map(|op| ((op.chip_id, op.run_host_id), op)).collect();
        let mut programs: HashMap<(u32, RunHostId, u64), Program> = HashMap::new();
        let mut devices: BTreeMap<u32, Vec<Slot>> = BTreeMap::new();
        let mut spans: BTreeMap<u32, Option<Vec<OpSpan>>> = BTreeMap::new();
        for op in ops {
            self.between.add_op(&op);
            let id = RunHostId(op.run_host_id);
            let metadata = named.get(&(op.chip_id, id)).copied();
            let key = (op.chip_id, id, op.core_count);
            let program = programs.entry(key).or_insert_with(|| Program::new(&op, metadata));
            let clock_mhz = clock_mhz(readout, op.chip_id);
            let duration_ns =
                op.kernel.map(|span| span.duration_cycles as f64 * 1000.0 / clock_mhz);
            let launch = self.measurable(Measured {
                kind: MeasuredKind::Op,
                place: program.place.clone(),
                name: program.name.clone(),
                source: program.source.clone(),
                traits: program.traits.clone(),
                attributes: program.attributes.clone(),
                clock_mhz: Some(clock_mhz),
                durations_ns: duration_ns.into_iter().collect(),
                in_runs: None,
            });
            let span = op.kernel.map(|span| OpSpan {
                start_cycle: span.start_cycle,
                end_cycle: span.end_cycle,
                kernel_ns: span.duration_cycles as f64 * 1000.0 / clock_mhz,
            });
            let of_chip = spans.entry(op.chip_id).or_insert_with(|| Some(Vec::new()));
            match (of_chip.as_mut(), span) {
                (Some(spans), Some(span)) => spans.push(span),
                _ => *of_chip = None,
            }
            let gap_ns = op.op_to_op_latency_ns.filter(|_| !op.is_first_of_chip);
            let gap_ns = gap_ns.map(|ns| ns as f64);
            let slot = Slot::of(launch);
            let slot = Slot { gap_ns, between_gaps_ns: slot.time_ns(), ..slot };
            devices.entry(op.chip_id).or_default().push(slot);
        }
        let side_by_side: Vec<SideBySide> = spans
            .into_iter()
            .filter_map(|(chip_id, spans)| {
                SideBySide::of_spans(chip_id.into(), spans?, clock_mhz(readout, chip_id) / 1000.0)
            })
            .collect();
        self.between.set_side_by_side(&side_by_side);
        self.devices.extend(devices.into_iter().map(|(chip_id, mut launches)| {
            forget_shared_gaps(&mut launches, Some(chip_id.into()), &side_by_side);
            DeviceOps::new(place(Some(chip_id.into())).into(), launches)
        }));
    }
}

/// Forgets the gaps of a device whose ops ran side by side: they are no time between ops.
fn forget_shared_gaps(launches: &mut [Slot], device: Option<u64>, known: &[SideBySide]) {
    if known.iter().any(|of| Some(of.device) == device && of.op_count > 0) {
        launches.iter_mut().for_each(|slot| slot.gap_ns = None);
    }
}

/// Returns what a row says of its op, besides its name.
fn traits_of_row(op: &RecordedOp) -> OpTraits {
    let function = op.function.as_deref().map(str::to_owned);
    let mut traits = OpTraits { function, ..OpTraits::default() };
    for (tensor, name) in op.tensors.iter().zip(COMPARED_TENSORS) {
        add_tensor(tensor, name, &mut traits);
    }
    let cores = op.core_count.map(|count| count.to_string()).unwrap_or_default();
    traits.set(Aspect::Cores, "", &cores);
    traits.set(Aspect::Fidelity, "", op.fidelity.as_deref().unwrap_or(""));
    let config = op.program_config.as_deref();
    let is_none = op.attributes.contains("'program_config': 'std::nullopt'");
    let unnamed = if is_none { NO_CONFIG } else { "" };
    traits.set(Aspect::ProgramConfig, "", config.unwrap_or(unnamed));
    traits
}

/// Program configuration of an op that says that it has none.
const NO_CONFIG: &str = "none";

fn add_tensor(tensor: &Tensor, name: &'static str, traits: &mut OpTraits) {
    let Some(datatype) = &tensor.datatype else { return };
    let side = |side: Option<u64>| side.map_or_else(|| "?".to_owned(), |side| side.to_string());
    traits.add_shape(&tensor.sides.map(side));
    traits.set(Aspect::Datatype, name, bare(datatype));
    traits.set(Aspect::Memory, name, memory_name(tensor.memory.as_deref().unwrap_or("")));
    traits.set(Aspect::Layout, name, bare(tensor.layout.as_deref().unwrap_or("")));
}

/// Device, name, source and properties of a program, as the host describes it.
struct Program {
    place: Arc<str>,
    name: Arc<str>,
    source: Arc<str>,
    traits: Arc<OpTraits>,
    attributes: Arc<str>,
}

impl Program {
    fn new(op: &Op, metadata: Option<&OpMetadata>) -> Self {
        let id = RunHostId(op.run_host_id);
        let (name, source) = metadata
            .map_or_else(|| (format!("program {}", id.base()), String::new()), |op| words(op, id));
        let mut traits = metadata.map_or_else(OpTraits::default, traits_of_metadata);
        traits.set(Aspect::Cores, "", &op.core_count.to_string());
        let place = place(Some(op.chip_id.into())).into();
        let attributes = metadata.and_then(|op| op.value("attributes")).unwrap_or_default();
        Self {
            place,
            name: name.into(),
            source: source.into(),
            traits: traits.into(),
            attributes: attributes.into(),
        }
    }
}

/// Returns what the host says of an op, besides its name.
fn traits_of_metadata(op: &OpMetadata) -> OpTraits {
    let parsed = |key: &str| serde_json::from_str::<Value>(op.value(key)?).ok();
    let mut traits = OpTraits::default();
    let (inputs, outputs) = (parsed("input_tensors"), parsed("output_tensors"));
    let [inputs, outputs] =
        [&inputs, &outputs].map(|list| list.as_ref().map_or(&[][..], Value::elements));
    let tensors = [inputs.first(), inputs.get(1), outputs.first()];
    for (tensor, name) in tensors.into_iter().zip(COMPARED_TENSORS) {
        let Some(tensor) = tensor else { continue };
        // The padded size comes first, as in `32[1]`.
        let padded = |side: String| side.split('[').next().unwrap_or("?").to_owned();
        traits.add_shape(&sides_of(tensor).map(padded));
        let text = |key: &str| tensor.get(key).map(Value::cell).unwrap_or_default();
        traits.set(Aspect::Datatype, name, bare(&text("dtype")));
        traits.set(Aspect::Memory, name, &memory_of(tensor));
        traits.set(Aspect::Layout, name, bare(&text("layout")));
    }
    let attributes = parsed("attributes");
    let attribute = |key: &str| {
        let value = attributes.as_ref().and_then(|all| all.get(key));
        value.map(Value::cell).filter(|text| !text.ends_with("nullopt")).unwrap_or_default()
    };
    if let Some((_, rest)) = attribute("compute_kernel_config").split_once("math_fidelity=") {
        traits.set(Aspect::Fidelity, "", bare(rest.split([',', ';', ')']).next().unwrap_or("")));
    }
    let config = attributes.as_ref().and_then(|all| all.get("program_config")).map(Value::cell);
    let config = config.unwrap_or_default();
    let config = if config.ends_with("nullopt") { NO_CONFIG } else { &config };
    traits.set(Aspect::ProgramConfig, "", config);
    let function = attribute("binary_op_type");
    traits.function = (!function.is_empty()).then(|| bare(&function).to_owned());
    traits
}

/// Returns the clock of a chip in MHz; 1000 if it is unknown, so that one cycle counts as one
/// nanosecond.
pub(super) fn clock_mhz(readout: &Readout, chip_id: u32) -> f64 {
    let chips = readout.devices.iter().map(|device| &device.chip);
    let clock = chips.filter(|chip| chip.chip_id == chip_id).map(|chip| chip.aiclk_mhz).next();
    f64::from(clock.filter(|&mhz| mhz > 0).unwrap_or(1000))
}

fn place(device: Option<u64>) -> String {
    device.map_or_else(|| "no device".to_owned(), |device| format!("device {device}"))
}

/// Keys of an op's description that are left out of the op's source. The name is compared
/// separately; the other values may differ between recordings of the same op.
const OF_ONE_RUN: [&str; 6] = [
    OpMetadata::NAME,
    "op_hash",
    "program_cache_hit",
    "kernel_info",
    "performance_model",
    "attributes",
];
/// Keys of an op's description whose values are lists of tensors.
const TENSORS: [&str; 3] = ["input_tensors", "optional_input_tensors", "output_tensors"];

/// Returns an op's name and its source. The source consists of all keys that are not in
/// [`OF_ONE_RUN`], with their values; tensors are abbreviated.
fn words(op: &OpMetadata, id: RunHostId) -> (String, String) {
    let name = op.value(OpMetadata::NAME);
    let name = name.map_or_else(|| format!("program {}", id.base()), str::to_owned);
    let others = op
        .fields
        .iter()
        .filter(|(key, _)| !OF_ONE_RUN.contains(&key.as_str()) && !OF_CALL.contains(&key.as_str()));
    let source: Vec<_> = others
        .map(|(key, value)| match serde_json::from_str::<Value>(value) {
            Ok(Value::List(tensors)) if TENSORS.contains(&key.as_str()) => {
                tensors.iter().map(tensor_text).collect::<Vec<_>>().join(" ")
            }
            _ => format!("{key}={value}"),
        })
        .collect();
    (name, source.join(" "))
}

/// Returns a tensor's dimensions, element type and memory as a short text, in the same form as for
/// ops of an ops CSV.
fn tensor_text(tensor: &Value) -> String {
    let (datatype, memory) = (text_or_unknown(tensor.get("dtype")), memory_of(tensor));
    format!("{}:{datatype}:{memory}", sides_of(tensor).join("x"))
}

/// Returns a tensor's dimensions, in the order W, Z, Y, X.
fn sides_of(tensor: &Value) -> [String; 4] {
    let shape = tensor.get("shape");
    ["W", "Z", "Y", "X"].map(|name| text_or_unknown(shape.and_then(|shape| shape.get(name))))
}

/// Returns a tensor's memory and how it is spread over banks; empty if unknown.
fn memory_of(tensor: &Value) -> String {
    let memory = tensor.get("storage_type").map(|storage| match storage.get("memory_config") {
        Some(config) => ["buffer_type", "memory_layout"]
            .map(|key| bare(&text_or_unknown(config.get(key))).to_owned())
            .join("_"),
        None => storage.cell(),
    });
    memory.unwrap_or_default()
}

fn text_or_unknown(value: Option<&Value>) -> String {
    value.map_or_else(|| "?".to_owned(), Value::cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_is_the_same_in_another_run_and_of_other_shapes_another() {
        let text = "1x1x32[32]x64:BFLOAT16:L1_INTERLEAVED ?x?x?x?:?:HOST tile=32x32";
        assert_eq!(op_words("7", "false", 64), ("Matmul".to_owned(), text.to_owned()));
        assert_eq!(op_words("8", "true", 64), op_words("7", "false", 64));
        assert_ne!(op_words("7", "false", 96), op_words("7", "false", 64));
    }

    fn op_words(hash: &str, hit: &str, x: u32) -> (String, String) {
        let fields = [
            ("name", "Matmul".to_owned()),
            ("op_hash", hash.to_owned()),
            ("input_tensors", format!("[{}, {}]", tensor_json(x), r#"{"storage_type":"HOST"}"#)),
            ("tile", "32x32".to_owned()),
            ("program_cache_hit", hit.to_owned()),
        ];
        let fields = fields.map(|(key, value)| (key.to_owned(), value)).into();
        words(&OpMetadata { fields, ..OpMetadata::default() }, RunHostId(1024))
    }

    fn tensor_json(x: u32) -> String {
        format!(
            r#"{{"shape":{{"W":1,"Z":1,"Y":"32[32]","X":{x}}},"dtype":"BFLOAT16","storage_type":
                    {{"device_id":0,"memory_config":{{"buffer_type":"L1","memory_layout":"INTERLEAVED"}}}}}}"#
        )
    }
}
