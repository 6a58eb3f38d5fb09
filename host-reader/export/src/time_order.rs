//! Sequences of many lanes, merged by time.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    iter::Peekable,
};

/// Iterator over the items of several sequences, ordered by time and then by sequence. Each item
/// comes with its time and the index of its sequence.
///
/// # Cost
/// Only the next item of each sequence is stored.
pub(super) struct TimeOrder<I: Iterator> {
    sequences: Vec<Peekable<I>>,
    /// Time of the next item of each sequence, with the sequence's index.
    next: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<T, I: Iterator<Item = (u64, T)>> TimeOrder<I> {
    /// Merges sequences of times and items.
    pub(super) fn new(sequences: impl IntoIterator<Item = I>) -> Self {
        let mut sequences: Vec<_> = sequences.into_iter().map(Iterator::peekable).collect();
        let firsts = sequences.iter_mut().enumerate();
        let firsts = firsts.filter_map(|(index, items)| Some(Reverse((items.peek()?.0, index))));
        let next = firsts.collect();
        Self { sequences, next }
    }
}

impl<T, I: Iterator<Item = (u64, T)>> Iterator for TimeOrder<I> {
    type Item = (u64, usize, T);

    fn next(&mut self) -> Option<(u64, usize, T)> {
        let mut first = self.next.peek_mut()?;
        let Reverse((_, index)) = *first;
        let items = self.sequences.get_mut(index)?;
        let (time_ns, item) = items.next()?;
        match items.peek() {
            Some(&(next_ns, _)) => *first = Reverse((next_ns, index)),
            None => {
                PeekMut::pop(first);
            }
        }
        Some((time_ns, index, item))
    }
}
