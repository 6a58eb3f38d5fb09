//! Fields of an item. The fields follow each other without padding.

use crate::protocol::{FAR_NS, NEAR_NS, TracyProtocol};

/// Remaining bytes of an item. Fields are read from the front.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'frame> {
    bytes: &'frame [u8],
    /// Protocol version in which the fields are encoded.
    pub(crate) protocol: &'static TracyProtocol,
}

impl<'frame> Fields<'frame> {
    pub(crate) const fn new(protocol: &'static TracyProtocol, bytes: &'frame [u8]) -> Self {
        Self { bytes, protocol }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Reads the next `count` bytes; `None` if fewer bytes remain.
    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'frame [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub(crate) fn f32(&mut self) -> Option<f32> {
        self.array().map(f32::from_le_bytes)
    }

    pub(crate) fn f64(&mut self) -> Option<f64> {
        self.array().map(f64::from_le_bytes)
    }

    /// Reads the number of a device's context.
    pub(crate) fn context(&mut self) -> Option<u16> {
        match self.protocol.context_bytes() {
            1 => self.u8().map(u16::from),
            _ => self.u16(),
        }
    }

    /// Reads a zone's 64-bit time difference.
    pub(crate) fn far_distance(&mut self) -> Option<i64> {
        let field = self.i64()?;
        let is_short = self.protocol.has_short_times() && field >= 0;
        Some(if is_short { field.wrapping_add(FAR_NS) } else { field })
    }

    /// Reads a zone's 32-bit time difference.
    pub(crate) fn near_distance(&mut self) -> Option<i64> {
        Some(i64::from(self.u32()?).wrapping_add(NEAR_NS))
    }

    /// Reads a colour of three bytes, blue first, and returns it as 0xRRGGBB.
    pub(crate) fn color(&mut self) -> Option<u32> {
        let [blue, green, red] = self.array()?;
        Some(u32::from_be_bytes([0, red, green, blue]))
    }

    /// Reads a 16-bit length and a text of this length.
    pub(crate) fn sized_text(&mut self) -> Option<Box<str>> {
        let count = self.u16()?;
        self.bytes(count.into()).map(text)
    }

    /// Reads a text and the byte 0 that terminates it.
    pub(crate) fn terminated_text(&mut self) -> Option<Box<str>> {
        let end = self.bytes.iter().position(|byte| *byte == 0)?;
        let taken = self.bytes(end)?;
        self.u8()?;
        Some(text(taken))
    }

    /// Returns all remaining bytes as a text.
    pub(crate) fn rest_as_text(self) -> Box<str> {
        text(self.bytes)
    }
}

/// Converts bytes to a text; invalid UTF-8 is replaced.
pub(crate) fn text(bytes: &[u8]) -> Box<str> {
    String::from_utf8_lossy(bytes).into()
}

/// Converts a zero-padded field to a text.
pub(crate) fn padded_text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}
