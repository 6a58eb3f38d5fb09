//! Items packed one after the other; items beyond the memory limit go to a temporary file.

use host_reader::{
    packed_bytes::{PackedBytes, PackedMemory},
    packed_numbers::{push, take},
};
use std::{borrow::Cow, marker::PhantomData, slice::Iter, sync::Arc};

/// Item that is packed into a few bytes.
pub(super) trait Packed {
    /// Appends the item.
    fn push(&self, bytes: &mut Vec<u8>);

    /// Reads an item that [`Self::push`] has appended.
    fn take(bytes: &mut Iter<'_, u8>) -> Self;
}

/// Packed items, in the order in which they were added.
pub(super) struct PackedItems<T> {
    memory: Arc<PackedMemory>,
    parts: Vec<PackedBytes>,
    /// Items that do not fill a part.
    last: Vec<u8>,
    item: PhantomData<fn() -> T>,
}

/// Bytes of items that are kept together.
const PART_BYTES: usize = 1 << 14;

impl<T: Packed> PackedItems<T> {
    pub(super) fn new(memory: &Arc<PackedMemory>) -> Self {
        let (parts, last) = (Vec::new(), Vec::new());
        Self { memory: Arc::clone(memory), parts, last, item: PhantomData }
    }

    pub(super) fn push(&mut self, item: &T) {
        item.push(&mut self.last);
        if self.last.len() >= PART_BYTES {
            let mut full = std::mem::take(&mut self.last);
            full.shrink_to_fit();
            self.parts.push(self.memory.keep(full));
        }
    }

    /// Unpacks the items. If the temporary file cannot be read, items are missing, and
    /// [`PackedMemory::check`] returns the error.
    pub(super) fn iter(&self) -> impl Iterator<Item = T> + '_ {
        (0..=self.parts.len()).flat_map(move |number| {
            let part = match self.parts.get(number) {
                Some(part) => part.read().unwrap_or_default(),
                None => Cow::Borrowed(&*self.last),
            };
            let mut place = 0;
            std::iter::from_fn(move || {
                let left = part.get(place..).filter(|left| !left.is_empty())?;
                let mut bytes = left.iter();
                let item = T::take(&mut bytes);
                place += left.len() - bytes.len();
                Some(item)
            })
        })
    }
}

pub(super) fn push_optional(bytes: &mut Vec<u8>, number: Option<u64>) {
    push(bytes, number.is_some().into());
    number.into_iter().for_each(|number| push(bytes, number));
}

pub(super) fn take_optional(bytes: &mut Iter<'_, u8>) -> Option<u64> {
    (take(bytes) != 0).then(|| take(bytes))
}

/// Appends the number of a host or a name.
pub(super) fn push_index(bytes: &mut Vec<u8>, index: u32) {
    push(bytes, index.into());
}

pub(super) fn take_index(bytes: &mut Iter<'_, u8>) -> u32 {
    u32::try_from(take(bytes)).unwrap_or(u32::MAX)
}

/// Appends a signed number of 128 bits.
pub(super) fn push_wide(bytes: &mut Vec<u8>, number: i128) {
    let [low, high] = halves(number);
    push(bytes, low);
    push(bytes, high);
}

pub(super) fn take_wide(bytes: &mut Iter<'_, u8>) -> i128 {
    let (low, high) = (u128::from(take(bytes)), u128::from(take(bytes)));
    (high << 64 | low).cast_signed()
}

fn halves(number: i128) -> [u64; 2] {
    let bits = number.cast_unsigned();
    [bits, bits >> 64].map(|half| u64::try_from(half & u128::from(u64::MAX)).unwrap_or(0))
}
