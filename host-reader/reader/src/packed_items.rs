//! List of items, each packed into bytes. Items beyond the memory limit are stored in a temporary
//! file.

use crate::packed_bytes::{PackedBytes, PackedMemory};
use std::{borrow::Cow, slice::Iter, sync::Arc};

/// Size in bytes at which a part of the list is full. A full part is moved to the [`PackedMemory`]
/// as a whole.
const PART_BYTES: usize = 1 << 14;

/// Packed items, in the order in which they were added.
///
/// ```
/// use reader::{packed_bytes::PackedMemory, packed_items::PackedItems, packed_numbers::{push, take}};
/// let mut items = PackedItems::new(&PackedMemory::unlimited());
/// for item in [7, 300] {
///     items.push(|bytes| push(bytes, item));
/// }
/// assert_eq!(items.iter(take).collect::<Vec<_>>(), [7, 300]);
/// ```
#[derive(Debug)]
pub struct PackedItems {
    memory: Arc<PackedMemory>,
    parts: Vec<PackedBytes>,
    /// Bytes of the last items, which do not fill a part yet.
    last: Vec<u8>,
}

/// Position of an item: the number of its part, and its offset in the part. Later items have higher
/// positions.
pub type ItemPlace = (u32, u32);

impl PackedItems {
    /// Creates an empty list, whose items will be stored in `memory`.
    #[must_use]
    pub fn new(memory: &Arc<PackedMemory>) -> Self {
        Self { memory: Arc::clone(memory), parts: Vec::new(), last: Vec::new() }
    }

    /// Returns the memory that stores the items.
    #[must_use]
    pub const fn memory(&self) -> &Arc<PackedMemory> {
        &self.memory
    }

    /// Adds an item and returns its position. `pack` appends the item's bytes.
    pub fn push(&mut self, pack: impl FnOnce(&mut Vec<u8>)) -> ItemPlace {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let place = (number(self.parts.len()), number(self.last.len()));
        pack(&mut self.last);
        if self.last.len() >= PART_BYTES {
            let full = Vec::with_capacity(self.last.capacity());
            let mut full = std::mem::replace(&mut self.last, full);
            full.shrink_to_fit();
            self.parts.push(self.memory.keep(full));
        }
        place
    }

    /// Frees memory that is reserved but not used by items.
    pub fn shrink_to_fit(&mut self) {
        self.last.shrink_to_fit();
    }

    /// Returns the bytes of a part; no bytes if the temporary file cannot be read.
    #[must_use]
    pub fn part(&self, number: u32) -> Cow<'_, [u8]> {
        match self.parts.get(number as usize) {
            Some(part) => part.read().unwrap_or_default(),
            None => Cow::Borrowed(&self.last),
        }
    }

    /// Iterates over the unpacked items; `take` unpacks one item. If the temporary file cannot be
    /// read, items are missing, and [`PackedMemory::check`] returns the error.
    pub fn iter<T>(&self, take: impl Fn(&mut Iter<'_, u8>) -> T + Copy) -> impl Iterator<Item = T> {
        (0_u32..).zip(0..=self.parts.len()).flat_map(move |(number, _)| {
            let part = self.part(number);
            let mut place = 0;
            std::iter::from_fn(move || {
                let left = part.get(place..).filter(|left| !left.is_empty())?;
                let mut bytes = left.iter();
                let item = take(&mut bytes);
                place = place.saturating_add(left.len().saturating_sub(bytes.len()));
                Some(item)
            })
        })
    }
}
