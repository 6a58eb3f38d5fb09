//! Little-endian fields without padding, as in Tracy's files.

use super::strings::StringIndex;

/// Bytes of a file that is being written.
#[derive(Default)]
pub(super) struct Bytes(Vec<u8>);

impl Bytes {
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn put_u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn put_i16(&mut self, value: i16) {
        self.put(&value.to_le_bytes());
    }

    pub(super) fn put_u16(&mut self, value: u16) {
        self.put(&value.to_le_bytes());
    }

    /// Appends the lowest 24 bits.
    pub(super) fn put_u24(&mut self, value: u32) {
        let [low, middle, high, _] = value.to_le_bytes();
        self.put(&[low, middle, high]);
    }

    pub(super) fn put_u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    pub(super) fn put_u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    pub(super) fn put_i64(&mut self, value: i64) {
        self.put(&value.to_le_bytes());
    }

    pub(super) fn put_f32(&mut self, value: f32) {
        self.put(&value.to_le_bytes());
    }

    pub(super) fn put_f64(&mut self, value: f64) {
        self.put(&value.to_le_bytes());
    }

    /// Appends the number of entries that follow.
    pub(super) fn put_count(&mut self, count: usize) {
        self.put_u64(count as u64);
    }

    /// Appends the length of a text, then the text.
    pub(super) fn put_text(&mut self, text: &str) {
        self.put_count(text.len());
        self.put(text.as_bytes());
    }

    /// Appends a reference to a text by its index.
    pub(super) fn put_string_ref(&mut self, index: StringIndex) {
        /// Flags of a reference to a text: the reference is in use, and contains an index, not a
        /// pointer.
        const ACTIVE_INDEX: u8 = 0b11;
        self.put_u64(index.0.into());
        self.put_u8(ACTIVE_INDEX);
    }
}
