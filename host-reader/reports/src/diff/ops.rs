//! Durations of ops, from the rows of an ops CSV or from the launches of a readout.

use super::measured::{Measured, MeasuredKind, Measurements};
use crate::perf::{OpReport, PerfReport, Repetitions, repeated_sequence};
use analysis::{Op, ops_of};
use host_events::OpMetadata;
use reader::readout::Readout;
use recording::host_ops::value::Value;
use std::collections::BTreeMap;
use wire::RunHostId;

impl Measurements {
    /// Measures the ops of an ops CSV. The repetitions of an op are the iterations of the model.
    ///
    /// If `pools` is true, or if no sequence of rows repeats, all rows with the same name and
    /// source are repetitions of one op.
    #[must_use]
    pub fn from_report(report: &PerfReport, pools: bool) -> Self {
        let mut measurements = Self::default();
        let repetitions = if pools {
            Repetitions::by_program(&report.rows)
        } else {
            Repetitions::find(&report.rows)
        };
        for rows in &repetitions.ops {
            let members: Vec<&OpReport> =
                rows.iter().filter_map(|&at| report.rows.get(at)).collect();
            let Some(first) = members.first() else { continue };
            let times: Vec<f64> = members.iter().filter_map(|row| row.device_time_us).collect();
            measurements
                .skip("ops without a duration", members.len().saturating_sub(times.len()) as u64);
            measurements.add(Measured {
                kind: MeasuredKind::Op,
                place: place(first.device),
                name: first.raw_op_code.to_string(),
                source: first.source.to_string(),
                durations_ns: times.into_iter().map(|us| us * 1000.0).collect(),
            });
        }
        let cut = repetitions.left_out_count as u64;
        measurements.skip("ops in iterations that are cut or differ", cut);
        measurements.skip("ops of the host", report.totals.host_op_count);
        measurements.skip("lines of the file", report.skipped_line_count);
        measurements
    }

    /// Adds the ops of a readout. `ops` contains the host's descriptions of programs.
    ///
    /// If a sequence of ops repeats, the repetitions of an op are the passes through that sequence.
    /// Otherwise they are the launches of one program.
    pub(super) fn add_ops(&mut self, readout: &Readout, ops: &[OpMetadata]) {
        let named: BTreeMap<(u32, RunHostId), &OpMetadata> =
            ops.iter().map(|op| ((op.chip_id, op.run_host_id), op)).collect();
        let mut launches: BTreeMap<u32, Vec<NamedLaunch>> = BTreeMap::new();
        for op in ops_of(readout) {
            let id = RunHostId(op.run_host_id);
            let (name, source) = named.get(&(op.chip_id, id)).map_or_else(
                || (format!("program {}", id.base()), String::new()),
                |op| words(op, id),
            );
            launches.entry(op.chip_id).or_default().push(NamedLaunch { op, name, source });
        }
        for (chip_id, launches) in launches {
            let clock = clock_mhz(readout, chip_id);
            for repetitions in self.repetitions_of(&launches) {
                self.add_launches(chip_id, clock, &repetitions);
            }
        }
    }

    /// Groups the launches of a chip that are repetitions of the same op.
    fn repetitions_of<'a>(&mut self, launches: &'a [NamedLaunch]) -> Vec<Vec<&'a NamedLaunch>> {
        let identities: Vec<_> = launches.iter().map(|one| (&one.name, &one.source)).collect();
        let Some((period, pass_count)) = repeated_sequence(&identities) else {
            let mut programs: BTreeMap<u32, Vec<&NamedLaunch>> = BTreeMap::new();
            for launched in launches {
                programs.entry(launched.op.run_host_id).or_default().push(launched);
            }
            return programs.into_values().collect();
        };
        let passes = launches.chunks_exact(period);
        self.skip("ops in iterations that are cut or differ", passes.remainder().len() as u64);
        (0..period)
            .map(|position| {
                launches.iter().skip(position).step_by(period).take(pass_count).collect()
            })
            .collect()
    }

    fn add_launches(&mut self, chip_id: u32, clock_mhz: f64, launches: &[&NamedLaunch]) {
        let Some(first) = launches.first() else { return };
        let spans: Vec<_> = launches.iter().filter_map(|launched| launched.op.kernel).collect();
        self.skip(
            "ops without a known duration",
            launches.len().saturating_sub(spans.len()) as u64,
        );
        self.add(Measured {
            kind: MeasuredKind::Op,
            place: place(Some(chip_id.into())),
            name: first.name.clone(),
            source: first.source.clone(),
            durations_ns: spans
                .iter()
                .map(|span| span.duration_cycles as f64 * 1000.0 / clock_mhz)
                .collect(),
        });
    }
}

/// Launch, with the name and source of its program.
struct NamedLaunch {
    op: Op,
    name: String,
    source: String,
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
    let others = op.fields.iter().filter(|(key, _)| !OF_ONE_RUN.contains(&key.as_str()));
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
    let sides: Vec<_> = ["W", "Z", "Y", "X"]
        .iter()
        .map(|name| text_or_unknown(tensor.get("shape").and_then(|shape| shape.get(name))))
        .collect();
    let memory = tensor.get("storage_type").map(|storage| match storage.get("memory_config") {
        Some(config) => {
            ["buffer_type", "memory_layout"].map(|key| text_or_unknown(config.get(key))).join("_")
        }
        None => storage.cell(),
    });
    let memory = memory.unwrap_or_default();
    format!("{}:{}:{memory}", sides.join("x"), text_or_unknown(tensor.get("dtype")))
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
