//! Options of the profiler with which a recording was made.
//!
//! Kind 16, version 1.0:
//!
//! ```text
//!  0  u32  option count
//!  4  u32  0
//!  8  ...  options
//! ```
//!
//! Layout of an option:
//!
//! ```text
//!  0  u32  bytes of the name
//!  4  u32  bytes of the value
//!  8  ...  the name and the value, then padding
//! ```

use super::{
    Payload, SectionKind,
    fields::{Fields, field_count, put_padded_texts, put_u32s},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use reader::recorded_options::RecordedOptions;

impl<'file> Payload<'file> for RecordedOptions {
    const KIND: SectionKind = SectionKind::RECORDED_OPTIONS;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        put_u32s(buffer, [field_count(self.pairs().count())?, 0]);
        for (name, value) in self.pairs() {
            put_u32s(buffer, [field_count(name.len())?, field_count(value.len())?]);
            put_padded_texts(buffer, &[name, value]);
        }
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let [option_count] = fields.record("head", 8)?.u32s();
        let mut pairs = Vec::new();
        for _ in 0..option_count {
            let [name_bytes, value_bytes] = fields.record("option", 8)?.u32s();
            let [name, value] =
                fields.padded_texts([("name", name_bytes), ("value", value_bytes)])?;
            pairs.push((name, value));
        }
        Ok(Self::from_pairs(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_lie_where_the_table_says() {
        let options = RecordedOptions::from_pairs([("waits", "off")]);
        let mut bytes = Vec::new();
        options.encode(&mut bytes).unwrap();
        assert_eq!(bytes[..16], [1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(bytes[16..], *b"waitsoff");
        assert_eq!(RecordedOptions::decode(&bytes), Ok(options));
    }

    #[test]
    fn a_count_beyond_the_payload_is_a_fault() {
        let bytes = [255, 255, 255, 255, 0, 0, 0, 0];
        assert_eq!(RecordedOptions::decode(&bytes).unwrap_err().field, "option");
    }
}
