//! Sparse memory: only pages that were written are allocated, and the rest reads as zero.

use std::{collections::BTreeMap, iter, ops::Range};

/// Number of items (bytes or words) in a page.
const PAGE_ITEMS: usize = 4096;

/// A sparse memory of bytes or words, without a size limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SparseMemory<T> {
    pages: BTreeMap<u64, Box<[T]>>,
}

impl<T: Copy + Default> SparseMemory<T> {
    pub(crate) fn read(&self, index: u64, items: &mut [T]) {
        for (page, first, piece) in pieces(index, items.len()) {
            let target = &mut items[piece];
            match self.pages.get(&page) {
                Some(stored) => target.copy_from_slice(&stored[first..first + target.len()]),
                None => target.fill(T::default()),
            }
        }
    }

    pub(crate) fn write(&mut self, index: u64, items: &[T]) {
        for (page, first, piece) in pieces(index, items.len()) {
            let new = || vec![T::default(); PAGE_ITEMS].into();
            let stored = self.pages.entry(page).or_insert_with(new);
            stored[first..first + piece.len()].copy_from_slice(&items[piece]);
        }
    }
}

/// Splits a range of items into pieces that are each within one page. Returns for each piece the
/// page number, the index within the page of the piece's first item, and the position of the piece
/// within the range.
fn pieces(index: u64, length: usize) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
    let mut done = 0;
    iter::from_fn(move || {
        let at = index + done as u64;
        let first = usize::try_from(at % PAGE_ITEMS as u64).unwrap_or(0);
        let piece = done..length.min(done + PAGE_ITEMS - first);
        done = piece.end;
        (!piece.is_empty()).then_some((at / PAGE_ITEMS as u64, first, piece))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_across_pages_come_back_and_others_are_zero() {
        let mut memory = SparseMemory::default();
        let bytes: Vec<u8> = (0..40_000_u32).map(|index| (index % 251) as u8).collect();
        memory.write(PAGE_ITEMS as u64 - 7, &bytes);
        let mut found = vec![9; bytes.len() + 2];
        memory.read(PAGE_ITEMS as u64 - 8, &mut found);
        assert_eq!((found[0], found[found.len() - 1]), (0, 0));
        assert_eq!(found[1..found.len() - 1], bytes);
    }
}
