//! Names of zones.
//!
//! Kind 6, version 1.0:
//!
//! ```text
//!  0  u32  place count
//!  4  u32  0
//!  8  ...  places
//! ```
//!
//! A place is the source location of a zone. Several places may have the same marker id. Layout of
//! a place:
//!
//! ```text
//!  0  u32  marker id              8  u32  bytes of the name
//!  4  u32  line, 0 if unknown    12  u32  bytes of the file's name
//!                                16  ...  the name, then the file's name, then padding
//! ```

use super::{
    Payload, SectionKind,
    fields::{Fields, field_count, put_padded_texts, put_u32s},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use reader::names::{ZoneSource, ZoneTable};
use wire::ZoneId;

impl<'file> Payload<'file> for ZoneTable {
    const KIND: SectionKind = SectionKind::ZONE_NAMES;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        put_u32s(buffer, [field_count(self.places().count())?, 0]);
        for (id, ZoneSource { name, file, line }) in self.places() {
            let [name_bytes, file_bytes] = [field_count(name.len())?, field_count(file.len())?];
            put_u32s(buffer, [id.0.into(), *line, name_bytes, file_bytes]);
            put_padded_texts(buffer, &[name, file]);
        }
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let [place_count] = fields.record("head", 8)?.u32s();
        let mut zones = Self::new();
        for _ in 0..place_count {
            let [id, line, name_bytes, file_bytes] = fields.record("place", 16)?.u32s();
            let id = u16::try_from(id).map_err(|_| fields.fault("id", "16 bits", &id))?;
            let texts = [("name", name_bytes), ("file", file_bytes)];
            let [name, file] = fields.padded_texts(texts)?;
            zones.add(ZoneId(id), ZoneSource { name, file, line });
        }
        Ok(zones)
    }
}
