//! Reads fields one after the other, with bounds checks.

/// The rest of a file's content.
pub(crate) struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    pub(crate) const fn new(content: &'a [u8]) -> Self {
        Self(content)
    }

    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        assert!(count <= self.0.len(), "{count} bytes wanted, {} left", self.0.len());
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        self.take(N).try_into().unwrap()
    }

    pub(crate) fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    pub(crate) fn i16(&mut self) -> i16 {
        i16::from_le_bytes(self.array())
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    pub(crate) fn u24(&mut self) -> u32 {
        let [low, middle, high] = self.array();
        u32::from_le_bytes([low, middle, high, 0])
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    pub(crate) fn i64(&mut self) -> i64 {
        i64::from_le_bytes(self.array())
    }

    pub(crate) fn f32(&mut self) -> f32 {
        f32::from_le_bytes(self.array())
    }

    pub(crate) fn f64(&mut self) -> f64 {
        f64::from_le_bytes(self.array())
    }

    /// Reads the number of entries that follow; each entry has at least `entry_bytes` bytes.
    pub(crate) fn count(&mut self, entry_bytes: usize) -> usize {
        let count = usize::try_from(self.u64()).unwrap();
        assert!(count.saturating_mul(entry_bytes) <= self.0.len(), "{count} entries do not fit");
        count
    }

    pub(crate) fn text(&mut self) -> String {
        let size = self.count(1);
        String::from_utf8(self.take(size).to_vec()).unwrap()
    }
}
