//! The data that a memory returned during one read.

use reader::mesh::{AccessError, WordRange};
use std::{borrow::Cow, collections::BTreeMap};

/// Captured results of accesses to one memory, by address and in time order.
#[derive(Debug, Default)]
pub(super) struct CapturedMemory<'file> {
    by_address: BTreeMap<u64, Answers<'file>>,
}

/// Captured results of reads at one address, in time order.
#[derive(Debug, Default)]
struct Answers<'file> {
    answers: Vec<Answer<'file>>,
    given: usize,
}

#[derive(Debug)]
enum Answer<'file> {
    Words(Cow<'file, [u32]>),
    Refusal { word_count: u64, error: AccessError },
}

impl<'file> CapturedMemory<'file> {
    /// Adds the words that one access read at `address`.
    pub(super) fn add_words(&mut self, address: u64, words: Cow<'file, [u32]>) {
        self.by_address.entry(address).or_default().answers.push(Answer::Words(words));
    }

    /// Adds the error of an access to `word_count` words at `address`.
    pub(super) fn add_refusal(&mut self, address: u64, word_count: u64, error: AccessError) {
        let answers = &mut self.by_address.entry(address).or_default().answers;
        answers.push(Answer::Refusal { word_count, error });
    }

    /// Returns true if these words were read at this address, in one or several accesses.
    pub(super) fn holds(&self, address: u64, words: &[u32]) -> bool {
        let mut at = address;
        let mut rest = words;
        while !rest.is_empty() {
            let Some((&start, answers)) = self.by_address.range(..=at).next_back() else {
                return false;
            };
            let found =
                answers.answers.iter().filter_map(|answer| answer.from(at.checked_sub(start)?));
            // For each captured result that matches the beginning of `rest`: the words of `rest`
            // after the match. After the longest match, the fewest words remain.
            let behind = found.filter(|found| !found.is_empty()).filter_map(|found| {
                let (same, behind) = rest.split_at(found.len().min(rest.len()));
                found.starts_with(same).then_some(behind)
            });
            let Some(behind) = behind.min_by_key(|behind| behind.len()) else { return false };
            let count = rest.len().saturating_sub(behind.len());
            (at, rest) = (at.saturating_add((count as u64).saturating_mul(4)), behind);
        }
        true
    }

    /// Fills `words` with the next captured result at this address.
    ///
    /// If the result is too short, the remaining words come from the results at the following
    /// addresses.
    pub(super) fn read(
        &mut self,
        address: u64,
        words: &mut [u32],
        not_held: impl FnOnce() -> AccessError,
    ) -> Result<(), AccessError> {
        if let Some(error) = self.refusal(address, words.len()) {
            return Err(error);
        }
        let (mut at, mut rest) = (address, words);
        while !rest.is_empty() {
            let Some(found) = self.next_words(at) else { return Err(not_held()) };
            let (part, behind) = rest.split_at_mut(found.len().min(rest.len()));
            part.iter_mut().zip(found).for_each(|(word, found)| *word = *found);
            at = at.saturating_add((part.len() as u64).saturating_mul(4));
            rest = behind;
        }
        Ok(())
    }

    /// Returns the next captured result at this address, if it is an error of an access to
    /// `word_count` words.
    pub(super) fn refusal(&mut self, address: u64, word_count: usize) -> Option<AccessError> {
        let answers = self.by_address.get_mut(&address)?;
        let next = answers.answers.get(answers.given)?;
        let Answer::Refusal { word_count: refused, error } = next else { return None };
        if *refused != word_count as u64 {
            return None;
        }
        answers.given = answers.given.saturating_add(1);
        Some(error.clone())
    }

    /// Returns captured words that begin at an address.
    ///
    /// The words come from the next result at this address. If there is no result at this address,
    /// the words come from the last result at the nearest lower address.
    fn next_words(&mut self, address: u64) -> Option<&[u32]> {
        let (&start, answers) = self.by_address.range_mut(..=address).next_back()?;
        if start == address {
            answers.advance();
        }
        let last = answers.given.saturating_sub(1);
        let words = answers.answers.get(last)?.from(address.checked_sub(start)?)?;
        (!words.is_empty()).then_some(words)
    }
}

impl Answers<'_> {
    /// Advances to the next result with words. Stays at the last result if there are no more.
    fn advance(&mut self) {
        let rest = self.answers.get(self.given..).unwrap_or(&[]);
        let next = rest.iter().position(|answer| matches!(answer, Answer::Words(_)));
        if let Some(next) = next {
            self.given = self.given.saturating_add(next).saturating_add(1);
        }
    }
}

impl Answer<'_> {
    /// Returns the words from a byte offset to the end; `None` for an error.
    fn from(&self, offset_bytes: u64) -> Option<&[u32]> {
        let Self::Words(words) = self else { return None };
        let first = offset_bytes.is_multiple_of(4).then_some(offset_bytes / 4)?;
        words.get(usize::try_from(first).ok()?..)
    }
}

/// Returns the error for words that the capture does not contain.
///
/// If the capture contains the end of the read, the words are lost: the read was acknowledged to
/// the chip, so the chip may have overwritten them. If the read is unfinished, the next read may
/// contain the words.
pub(super) fn not_held(range: &WordRange, is_complete: bool) -> AccessError {
    let WordRange { chip_id, memory, address, word_count } = *range;
    let reason =
        format!("the capture does not contain {word_count} words at {address:#x} of {memory}");
    if is_complete {
        AccessError::Gone { chip_id, reason }
    } else {
        AccessError::Unreachable { chip_id, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::mesh::Memory;

    fn fail() -> AccessError {
        let range = WordRange { chip_id: 1, memory: Memory::Dram(2), address: 3, word_count: 4 };
        not_held(&range, true)
    }

    fn read(memory: &mut CapturedMemory<'_>, address: u64, count: usize) -> Option<Vec<u32>> {
        let mut words = vec![0; count];
        memory.read(address, &mut words, fail).ok().map(|()| words)
    }

    #[test]
    fn an_address_that_was_read_twice_answers_as_it_did_each_time() {
        let mut memory = CapturedMemory::default();
        memory.add_words(8, vec![1, 2].into());
        memory.add_words(8, vec![3, 4].into());
        let answers: Vec<_> = (0..3).map(|_| read(&mut memory, 8, 2).unwrap()).collect();
        assert_eq!(answers, [[1, 2], [3, 4], [3, 4]]);
    }

    #[test]
    fn a_piece_is_put_together_from_the_parts_it_was_cut_into() {
        let mut memory = CapturedMemory::default();
        memory.add_words(0, vec![1, 2].into());
        memory.add_words(8, vec![3].into());
        memory.add_words(12, vec![4, 5].into());
        assert_eq!(read(&mut memory, 0, 5), Some(vec![1, 2, 3, 4, 5]));
        assert_eq!(read(&mut memory, 4, 3), Some(vec![2, 3, 4]));
        assert_eq!(read(&mut memory, 0, 6), None);
        assert_eq!(read(&mut memory, 100, 1), None);
        assert_eq!(read(&mut memory, 0, 2), Some(vec![1, 2]), "a failure spoils nothing");
    }

    #[test]
    fn a_refusal_is_met_again_by_the_same_access_only() {
        let mut memory = CapturedMemory::default();
        memory.add_refusal(0, 5, fail());
        memory.add_words(0, vec![1, 2].into());
        assert_eq!(read(&mut memory, 0, 5), None);
        assert_eq!(read(&mut memory, 0, 2), Some(vec![1, 2]));
    }

    #[test]
    fn words_that_were_read_again_are_known() {
        let mut memory = CapturedMemory::default();
        memory.add_words(0, vec![1, 2].into());
        memory.add_words(8, vec![3, 4].into());
        assert!(memory.holds(0, &[1, 2, 3]) && memory.holds(4, &[2]));
        assert!(!memory.holds(0, &[1, 2, 4]) && !memory.holds(8, &[3, 4, 5]));
        assert!(!memory.holds(64, &[1]));
    }
}
