//! Statement that the times of a recording come from a simulator, with the limits of a chip that
//! the simulator does not model.
//!
//! Kind 15, version 1.0:
//!
//! ```text
//!  0  u32  limit count
//!  4  u32  0
//!  8  ...  limits
//! ```
//!
//! Layout of a limit:
//!
//! ```text
//!  0  u32  bytes of the name
//!  4  u32  0
//!  8  ...  the name, then padding
//! ```

use super::{
    Payload, SectionKind,
    fields::{Fields, field_count, put_padded_texts, put_u32s},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use reader::simulated_time::SimulatedTime;

impl<'file> Payload<'file> for SimulatedTime {
    const KIND: SectionKind = SectionKind::SIMULATED_TIME;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        put_u32s(buffer, [field_count(self.unmodelled.len())?, 0]);
        for name in &self.unmodelled {
            put_u32s(buffer, [field_count(name.len())?, 0]);
            put_padded_texts(buffer, &[name]);
        }
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let [limit_count] = fields.record("head", 8)?.u32s();
        let mut unmodelled = Vec::new();
        for _ in 0..limit_count {
            let [name_bytes] = fields.record("limit", 8)?.u32s();
            let [name] = fields.padded_texts([("name", name_bytes)])?;
            unmodelled.push(name);
        }
        Ok(Self { unmodelled })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_lie_where_the_table_says() {
        let simulated = SimulatedTime { unmodelled: vec!["L1".into(), "compute time".into()] };
        let mut bytes = Vec::new();
        simulated.encode(&mut bytes).unwrap();
        assert_eq!(bytes[..16], [2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[16..32], *b"L1\0\0\0\0\0\0\x0C\0\0\0\0\0\0\0");
        assert_eq!(bytes[32..], *b"compute time\0\0\0\0");
        assert_eq!(SimulatedTime::decode(&bytes), Ok(simulated));
    }

    #[test]
    fn a_count_beyond_the_payload_is_a_fault() {
        let bytes = [255, 255, 255, 255, 0, 0, 0, 0];
        assert_eq!(SimulatedTime::decode(&bytes).unwrap_err().field, "limit");
    }
}
