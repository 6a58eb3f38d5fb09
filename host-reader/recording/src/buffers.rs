//! Buffers of a host's allocator: what was allocated, used and freed before each launch of an op.
//!
//! A capture has them as JSON in the field [`BUFFERS`] of an op. They describe no op, so they are
//! taken out of its metadata.

use host_events::OpMetadata;
use wire::RunHostId;

/// Metadata key of the buffers that were allocated, used and freed before the launch of an op.
pub const BUFFERS: &str = "buffers";

/// What the host said of its buffers, by op, in no particular order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpBufferTexts {
    /// Chip and id of each op, with the JSON of its field [`BUFFERS`]; the id is as in the metadata of
    /// the op.
    pub texts: Vec<(u32, RunHostId, String)>,
}

impl OpBufferTexts {
    /// Takes the buffers out of the metadata of ops.
    pub(crate) fn take_from(ops: &mut [OpMetadata]) -> Self {
        let mut texts = Vec::new();
        for op in ops.iter_mut() {
            let Some(text) = op.value(BUFFERS) else { continue };
            texts.push((op.chip_id, op.run_host_id, text.to_owned()));
            let fields = op.fields.iter().filter(|(key, _)| key != BUFFERS).cloned();
            op.fields = fields.collect();
        }
        Self { texts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_no_metadata_of_an_op() {
        let fields = |fields: &[(&str, &str)]| {
            fields.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let op = |chip_id, id, of: &[(&str, &str)]| OpMetadata {
            chip_id,
            run_host_id: RunHostId(id),
            fields: fields(of),
        };
        let mut ops = [
            op(0, 1024, &[("name", "Add"), (BUFFERS, "{}"), ("tile", "32")]),
            op(1, 2049, &[("name", "Copy")]),
            op(1, 3073, &[(BUFFERS, "no JSON")]),
        ];
        let found = OpBufferTexts::take_from(&mut ops);
        let text = |text: &str| text.to_owned();
        let expected =
            vec![(0, RunHostId(1024), text("{}")), (1, RunHostId(3073), text("no JSON"))];
        assert_eq!(found.texts, expected);
        assert_eq!(ops[0], op(0, 1024, &[("name", "Add"), ("tile", "32")]));
        assert_eq!(ops[1], op(1, 2049, &[("name", "Copy")]));
        assert_eq!(ops[2], op(1, 3073, &[]));
    }
}
