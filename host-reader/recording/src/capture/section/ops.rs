//! Metadata of ops: arbitrary keys and values, by chip and run host id.
//!
//! Kind 8, version 1.0:
//!
//! ```text
//!  0  u32  op count
//!  4  u32  0
//!  8  ...  ops
//! ```
//!
//! Layout of an op (left), and of each field of an op (right):
//!
//! ```text
//!  0  u32  chip id                0  u32  bytes of the key
//!  4  u32  run host id            4  u32  bytes of the value
//!  8  u32  field count            8  ...  the key, then the value, then padding
//! 12  u32  0
//! 16  ...  fields
//! ```

use super::{
    Payload, SectionKind,
    fields::{Fields, field_count, put_padded_texts, put_u32s},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use host_events::OpMetadata;
use wire::RunHostId;

impl<'file> Payload<'file> for Vec<OpMetadata> {
    const KIND: SectionKind = SectionKind::OP_METADATA;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        put_u32s(buffer, [field_count(self.len())?, 0]);
        for op in self {
            let field_count_of_op = field_count(op.fields.len())?;
            put_u32s(buffer, [op.chip_id, op.run_host_id.0, field_count_of_op, 0]);
            for (key, value) in op.fields.iter() {
                put_u32s(buffer, [field_count(key.len())?, field_count(value.len())?]);
                put_padded_texts(buffer, &[key, value]);
            }
        }
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let [op_count] = fields.record("head", 8)?.u32s();
        (0..op_count).map(|_| decode_op(&mut fields)).collect()
    }
}

fn decode_op(fields: &mut Fields<'_>) -> Result<OpMetadata, MalformedPayload> {
    let [chip_id, run_host_id, field_count] = fields.record("op", 16)?.u32s();
    let mut decoded = Vec::new();
    for _ in 0..field_count {
        let [key_bytes, value_bytes] = fields.record("field", 8)?.u32s();
        let texts = fields.padded_texts([("key", key_bytes), ("value", value_bytes)])?;
        decoded.push(texts.into());
    }
    Ok(OpMetadata { chip_id, run_host_id: RunHostId(run_host_id), fields: decoded.into() })
}
