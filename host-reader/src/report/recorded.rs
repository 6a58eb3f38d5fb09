//! Ops as a capture keeps them, in the form in which upstream's host announces ops.

use super::{
    host::{HostLog, HostOp, HostTime},
    sheet::fixed_column,
    value::Value,
};
use crate::capture::OpMetadata;
use std::{collections::BTreeMap, sync::Arc};

/// Keys of structures that have columns of their own, as JSON.
const STRUCTURES: [&str; 8] = [
    "attributes",
    "input_tensors",
    "optional_input_tensors",
    "output_tensors",
    "kernel_info",
    "performance_model",
    "op_hash",
    "program_cache_hit",
];

/// The ops of a capture. Fields with a column of their own fill it; the others become
/// attributes.
pub(super) fn host_log_of(ops: &[OpMetadata]) -> HostLog {
    HostLog { ops: ops.iter().map(host_op).collect(), ..HostLog::default() }
}

fn host_op(op: &OpMetadata) -> HostOp {
    let mut fields = vec![
        ("op_type".to_owned(), Value::Text("tt_dnn_device".into())),
        ("device_id".to_owned(), Value::Unsigned(op.chip_id.into())),
    ];
    let mut attributes = Vec::new();
    for (key, text) in &op.fields {
        let key = if key == OpMetadata::NAME { "op_code" } else { key };
        let value = || serde_json::from_str(text).unwrap_or_else(|_| Value::Text(text.clone()));
        if STRUCTURES.contains(&key) {
            fields.push((key.to_owned(), value()));
        } else if fixed_column(key).is_some() {
            fields.push((key.to_owned(), Value::Text(text.clone())));
        } else if !matches!(key, START | DURATION) {
            attributes.push((key.to_owned(), Value::Text(text.clone())));
        }
    }
    if !attributes.is_empty() {
        fields.push(("attributes".to_owned(), Value::Object(attributes)));
    }
    let number = |key| op.value(key).and_then(|text| text.parse().ok());
    let time = number(START)
        .map(|start_ns| HostTime { start_ns, duration_ns: number(DURATION).unwrap_or(0) });
    HostOp {
        id: op.run_host_id.0.into(),
        description: Arc::new(Value::Object(fields)),
        is_cache_hit: None,
        device_id: Some(op.chip_id.into()),
        trace_id: None,
        message_ns: 0,
        time,
        child_calls_ns: BTreeMap::new(),
        line: 0,
    }
}

const START: &str = "host_start_ns";
const DURATION: &str = "host_duration_ns";

#[cfg(test)]
mod tests {
    use super::*;
    use wire::RunHostId;

    #[test]
    fn fields_without_a_column_become_attributes() {
        let fields = [("name", "Matmul"), ("math_fidelity", "HiFi2"), ("tile", "32x32")];
        let op = OpMetadata {
            chip_id: 1,
            run_host_id: RunHostId::encode(2, 1),
            fields: fields.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec(),
        };
        let log = host_log_of(&[op]);
        let cell = |key: &str| log.ops[0].description.get(key).unwrap().cell();
        assert_eq!((cell("op_code"), cell("math_fidelity")), ("Matmul".into(), "HiFi2".into()));
        assert_eq!(cell("attributes"), "{'tile': '32x32'}");
    }
}
