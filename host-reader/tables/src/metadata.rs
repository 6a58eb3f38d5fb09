//! Metadata of ops as JSON.

use host_events::OpMetadata;

/// Formats an op's host metadata as a JSON object; the first value of a repeated key counts.
pub(crate) fn metadata_json(metadata: &OpMetadata) -> String {
    let fields = metadata.fields.iter().rev();
    let object: serde_json::Map<_, _> =
        fields.map(|(key, value)| (key.clone(), value.as_str().into())).collect();
    serde_json::Value::Object(object).to_string()
}
