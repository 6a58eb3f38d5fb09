//! Metadata of ops as JSON.

use host_events::OpMetadata;

/// Formats the host's metadata of an op as a JSON object. If a key is repeated, its first value is
/// used.
pub(crate) fn metadata_json(metadata: &OpMetadata) -> String {
    let fields = metadata.fields.iter().rev();
    let object: serde_json::Map<_, _> =
        fields.map(|(key, value)| (key.clone(), value.as_str().into())).collect();
    serde_json::Value::Object(object).to_string()
}
