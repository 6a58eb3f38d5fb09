//! Statement that the times of a recording come from a simulator, with the limits of a chip that
//! the simulator does not model, or that the run lifted.
//!
//! Kind 15, version 1.0:
//!
//! ```text
//!  0  u32  limit count
//!  4  u32  number of lifted limits, which are the last ones; 0 in earlier captures
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
        let limits: Vec<&String> = self.unmodelled.iter().chain(&self.lifted).collect();
        put_u32s(buffer, [field_count(limits.len())?, field_count(self.lifted.len())?]);
        for name in limits {
            put_u32s(buffer, [field_count(name.len())?, 0]);
            put_padded_texts(buffer, &[name]);
        }
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let [limit_count, lifted_count] = fields.record("head", 8)?.u32s();
        let mut unmodelled = Vec::new();
        for _ in 0..limit_count {
            let [name_bytes] = fields.record("limit", 8)?.u32s();
            let [name] = fields.padded_texts([("name", name_bytes)])?;
            unmodelled.push(name);
        }
        let Some(kept) = limit_count.checked_sub(lifted_count) else {
            let expected = format!("at most {limit_count}");
            return Err(fields.fault("lifted limit count", &expected, &lifted_count));
        };
        let lifted = unmodelled.split_off(kept as usize);
        Ok(Self { unmodelled, lifted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_lie_where_the_table_says() {
        let (unmodelled, lifted) = (vec!["L1".into()], vec!["compute time".into()]);
        let simulated = SimulatedTime { unmodelled, lifted };
        let mut bytes = Vec::new();
        simulated.encode(&mut bytes).unwrap();
        assert_eq!(bytes[..16], [2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[16..32], *b"L1\0\0\0\0\0\0\x0C\0\0\0\0\0\0\0");
        assert_eq!(bytes[32..], *b"compute time\0\0\0\0");
        assert_eq!(SimulatedTime::decode(&bytes), Ok(simulated));
    }

    #[test]
    fn more_lifted_limits_than_limits_are_a_fault() {
        let bytes = [0, 0, 0, 0, 1, 0, 0, 0];
        let field = SimulatedTime::decode(&bytes).unwrap_err().field;
        assert_eq!(field, "lifted limit count");
    }

    #[test]
    fn a_count_beyond_the_payload_is_a_fault() {
        let bytes = [255, 255, 255, 255, 0, 0, 0, 0];
        assert_eq!(SimulatedTime::decode(&bytes).unwrap_err().field, "limit");
    }
}
