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
    fields::{Fields, field_count, pad, put, raw_records},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use host_events::OpMetadata;
use wire::RunHostId;
use zerocopy::little_endian::U32;

fn encode_op(op: &OpMetadata, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
    put(
        buffer,
        &RawOp {
            chip_id: U32::new(op.chip_id),
            run_host_id: U32::new(op.run_host_id.0),
            field_count: U32::new(field_count(op.fields.len())?),
            reserved: U32::ZERO,
        },
    );
    for (key, value) in op.fields.iter() {
        let key_bytes = U32::new(field_count(key.len())?);
        let value_bytes = U32::new(field_count(value.len())?);
        put(buffer, &RawField { key_bytes, value_bytes });
        buffer.extend_from_slice(key.as_bytes());
        buffer.extend_from_slice(value.as_bytes());
        pad(buffer);
    }
    Ok(())
}

fn decode_op(fields: &mut Fields<'_>) -> Result<OpMetadata, MalformedPayload> {
    let raw: &RawOp = fields.record("op")?;
    let mut decoded = Vec::new();
    for _ in 0..raw.field_count.get() {
        let field: &RawField = fields.record("field")?;
        let key = fields.text("key", field.key_bytes.get())?.to_owned();
        let value = fields.text("value", field.value_bytes.get())?.to_owned();
        fields.align();
        decoded.push((key, value));
    }
    Ok(OpMetadata {
        chip_id: raw.chip_id.get(),
        run_host_id: RunHostId(raw.run_host_id.get()),
        fields: decoded.into(),
    })
}

impl<'file> Payload<'file> for Vec<OpMetadata> {
    const KIND: SectionKind = SectionKind::OP_METADATA;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        put(buffer, &RawHead { op_count: U32::new(field_count(self.len())?), reserved: U32::ZERO });
        self.iter().try_for_each(|op| encode_op(op, buffer))
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let head: &RawHead = fields.record("head")?;
        (0..head.op_count.get()).map(|_| decode_op(&mut fields)).collect()
    }
}

raw_records! {
    RawHead: 8 => {
        op_count: U32,
        reserved: U32,
    }
    RawOp: 16 => {
        chip_id: U32,
        run_host_id: U32,
        field_count: U32,
        reserved: U32,
    }
    RawField: 8 => {
        key_bytes: U32,
        value_bytes: U32,
    }
}
