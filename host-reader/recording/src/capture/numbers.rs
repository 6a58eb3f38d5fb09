//! Reads and writes records of little-endian numbers.

/// Reader that takes numbers from the front of a record.
///
/// The size of the record was checked before. Numbers beyond that size are 0.
pub(super) struct Record<'file> {
    bytes: &'file [u8],
}

impl<'file> Record<'file> {
    pub(super) const fn new(bytes: &'file [u8]) -> Self {
        Self { bytes }
    }

    pub(super) fn u8s<const COUNT: usize>(&mut self) -> [u8; COUNT] {
        self.numbers(u8::from_le_bytes)
    }

    pub(super) fn u16s<const COUNT: usize>(&mut self) -> [u16; COUNT] {
        self.numbers(u16::from_le_bytes)
    }

    pub(super) fn u32s<const COUNT: usize>(&mut self) -> [u32; COUNT] {
        self.numbers(u32::from_le_bytes)
    }

    pub(super) fn u64s<const COUNT: usize>(&mut self) -> [u64; COUNT] {
        self.numbers(u64::from_le_bytes)
    }

    /// Reads one number and converts its bytes with `from_bytes`.
    pub(super) fn number<const SIZE: usize, T>(&mut self, from_bytes: fn([u8; SIZE]) -> T) -> T {
        let (bytes, rest) = self.bytes.split_first_chunk().unwrap_or((&[0; SIZE], &[]));
        self.bytes = rest;
        from_bytes(*bytes)
    }

    fn numbers<const COUNT: usize, const SIZE: usize, T>(
        &mut self,
        from_bytes: fn([u8; SIZE]) -> T,
    ) -> [T; COUNT] {
        std::array::from_fn(|_| self.number(from_bytes))
    }
}

/// Appends 16-bit numbers.
pub(super) fn put_u16s(buffer: &mut Vec<u8>, numbers: impl IntoIterator<Item = u16>) {
    numbers.into_iter().for_each(|number| buffer.extend_from_slice(&number.to_le_bytes()));
}

/// Appends 32-bit numbers.
pub(super) fn put_u32s(buffer: &mut Vec<u8>, numbers: impl IntoIterator<Item = u32>) {
    numbers.into_iter().for_each(|number| buffer.extend_from_slice(&number.to_le_bytes()));
}

/// Appends 64-bit numbers.
pub(super) fn put_u64s(buffer: &mut Vec<u8>, numbers: impl IntoIterator<Item = u64>) {
    numbers.into_iter().for_each(|number| buffer.extend_from_slice(&number.to_le_bytes()));
}
