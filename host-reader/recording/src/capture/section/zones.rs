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
//! A place is a source location. Several places may have the same marker id. Layout of a place:
//!
//! ```text
//!  0  u32  marker id              8  u32  bytes of the name
//!  4  u32  line, 0 if unknown    12  u32  bytes of the file's name
//!                                16  ...  the name, then the file's name, then padding
//! ```

use super::{
    Payload, SectionKind,
    fields::{Fields, field_count, pad, put, raw_records},
};
use crate::capture::{error::CaptureError, problem::MalformedPayload};
use reader::names::{ZoneSource, ZoneTable};
use wire::ZoneId;
use zerocopy::little_endian::U32;

impl<'file> Payload<'file> for ZoneTable {
    const KIND: SectionKind = SectionKind::ZONE_NAMES;

    fn encode(&self, buffer: &mut Vec<u8>) -> Result<(), CaptureError> {
        let place_count = U32::new(field_count(self.places().count())?);
        put(buffer, &RawHead { place_count, reserved: U32::ZERO });
        for (id, source) in self.places() {
            put(
                buffer,
                &RawPlace {
                    id: U32::new(u32::from(id.0)),
                    line: U32::new(source.line),
                    name_bytes: U32::new(field_count(source.name.len())?),
                    file_bytes: U32::new(field_count(source.file.len())?),
                },
            );
            buffer.extend_from_slice(source.name.as_bytes());
            buffer.extend_from_slice(source.file.as_bytes());
            pad(buffer);
        }
        Ok(())
    }

    fn decode(payload: &'file [u8]) -> Result<Self, MalformedPayload> {
        let mut fields = Fields::new(payload);
        let head: &RawHead = fields.record("head")?;
        let mut zones = Self::new();
        for _ in 0..head.place_count.get() {
            let place: &RawPlace = fields.record("place")?;
            let id = u16::try_from(place.id.get())
                .map_err(|_| fields.fault("id", "16 bits", &place.id.get()))?;
            let name = fields.text("name", place.name_bytes.get())?.to_owned();
            let file = fields.text("file", place.file_bytes.get())?.to_owned();
            fields.align();
            zones.add(ZoneId(id), ZoneSource { name, file, line: place.line.get() });
        }
        Ok(zones)
    }
}

raw_records! {
    RawHead: 8 => {
        place_count: U32,
        reserved: U32,
    }
    RawPlace: 16 => {
        id: U32,
        line: U32,
        name_bytes: U32,
        file_bytes: U32,
    }
}
