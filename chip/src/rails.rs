//! Rules that every access to a chip must follow, enforced by [`Rails`].
//!
//! # Rules
//! 1. Only ranges that were permitted with [`Rails::name`] are accessed: the profiler's data at the
//!    addresses in the firmware's ELF files, the DRAM region whose address the control vectors
//!    contain, and the two words of a tile's wall clock.
//! 2. Only NoC 1 is used; TT-Metal's own host traffic uses NoC 0.
//! 3. The first word of each access is read separately. If the tile does not answer, the remaining
//!    words are not read.
//! 4. The bus returns a word of all ones if the chip no longer answers. After such a word, the
//!    first word of a control vector is read. That word is never all ones. If it cannot be read or
//!    reads as all ones, the chip is not accessed again.
//! 5. Nothing is written unless the caller permits it, and then only to control vectors.
//!
//! # Compatibility
//! Hosts crashed after reads of registers that did not answer: tt-metal #32929, tt-umd #1673,
//! tt-exalens #895.

use crate::access::{AccessFailure, ChipAccess, NocTile};
use std::collections::BTreeMap;

/// NoC that all accesses use.
pub const NOC: u8 = 1;

/// Permission to write to a chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writes {
    /// Nothing may be written.
    #[default]
    Refused,
    /// Control vectors may be written, in order to release lanes that have been read.
    ControlVectors,
}

/// Content of a named range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RangeUse {
    /// A control vector. Its first word is never all ones.
    Control,
    /// Memory of an Ethernet core that may be a control vector. It is a control vector only if the
    /// core runs the firmware from which the address was taken.
    Candidate,
    /// Markers in L1 or DRAM.
    Markers,
    /// The wall clock of a tile.
    Clock,
}

/// Range of addresses in a tile that may be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedRange {
    /// First address.
    pub start: u64,
    /// Size in bytes.
    pub size_bytes: u64,
    /// What the range contains.
    pub range_use: RangeUse,
}

impl NamedRange {
    fn holds(&self, address: u64, size_bytes: u64) -> bool {
        let end = address.checked_add(size_bytes);
        let own_end = self.start.checked_add(self.size_bytes);
        address >= self.start && end.zip(own_end).is_some_and(|(end, own)| end <= own)
    }
}

/// Reason why an access was refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Part of the access is outside the named ranges.
    #[error("{size_bytes} bytes at {address:#x} behind tile {tile} are not the profiler's")]
    NotNamed {
        /// The tile.
        tile: NocTile,
        /// First address of the access.
        address: u64,
        /// Size of the access in bytes.
        size_bytes: u64,
    },
    /// The access writes to a range that must not be written.
    #[error("writing was not allowed: {size_bytes} bytes at {address:#x} behind tile {tile}")]
    ReadOnly {
        /// The tile.
        tile: NocTile,
        /// First address of the access.
        address: u64,
        /// Size of the access in bytes.
        size_bytes: u64,
    },
    /// The chip stopped answering and is no longer accessed.
    #[error("the chip is no longer touched, since tile {tile} gave 0xffffffff at {address:#x}")]
    Stopped {
        /// Tile with the word that was all ones.
        tile: NocTile,
        /// Address of the word that was all ones.
        address: u64,
    },
    /// The back end reported a failure.
    #[error("tile {tile}, address {address:#x}: {failure}")]
    Failed {
        /// The tile.
        tile: NocTile,
        /// First address of the access.
        address: u64,
        /// The back end's message.
        failure: AccessFailure,
    },
}

/// Access to a chip that checks every request against the rules of this module.
#[derive(Debug)]
pub struct Rails<A> {
    access: A,
    writes: Writes,
    ranges: BTreeMap<NocTile, Vec<NamedRange>>,
    /// Tile and address of a word that is never all ones while the chip answers.
    anchor: Option<(NocTile, u64)>,
    stopped: Option<Refusal>,
}

impl<A: ChipAccess> Rails<A> {
    /// Creates `Rails` without named ranges, so that no access is permitted yet.
    #[must_use]
    pub const fn new(access: A, writes: Writes) -> Self {
        Self { access, writes, ranges: BTreeMap::new(), anchor: None, stopped: None }
    }

    /// Permits access to an address range of a tile.
    ///
    /// If a range with the use [`RangeUse::Candidate`] and the same start address exists, the new
    /// range replaces it.
    pub fn name(&mut self, tile: NocTile, range: NamedRange) {
        let ranges = self.ranges.entry(tile).or_default();
        ranges.retain(|known| known.range_use != RangeUse::Candidate || known.start != range.start);
        ranges.push(range);
    }

    /// Returns the named ranges, by tile.
    pub fn named(&self) -> impl Iterator<Item = (NocTile, &NamedRange)> {
        self.ranges.iter().flat_map(|(&tile, ranges)| ranges.iter().map(move |range| (tile, range)))
    }

    /// Returns why the chip is no longer accessed; `None` while the chip is accessible.
    #[must_use]
    pub const fn stopped(&self) -> Option<&Refusal> {
        self.stopped.as_ref()
    }

    /// Reads words in address order.
    ///
    /// # Errors
    /// [`Refusal`] if a rule forbids the access or the chip does not answer.
    pub fn read(&mut self, tile: NocTile, address: u64, words: &mut [u32]) -> Result<(), Refusal> {
        let range = self.permitted(tile, address, words.len())?;
        let Some((first, rest)) = words.split_first_mut() else { return Ok(()) };
        *first = self.probe(tile, address, range)?;
        if let Some(last) = rest.len().checked_sub(1) {
            let start = address.saturating_add(4);
            let mut bytes = vec![0; rest.len().saturating_mul(4)];
            let read = self.access.noc_read(NOC, tile, start, &mut bytes);
            read.map_err(|failure| Refusal::Failed { tile, address: start, failure })?;
            for (word, bytes) in rest.iter_mut().zip(bytes.as_chunks().0) {
                *word = u32::from_le_bytes(*bytes);
            }
            if rest.last() == Some(&ALL_ONES) {
                let end = start.saturating_add((last as u64).saturating_mul(4));
                self.confirm(tile, end)?;
            }
        }
        Ok(())
    }

    /// Writes words of a control vector.
    ///
    /// # Errors
    /// The errors of [`Rails::read`], or [`Refusal`] if writing is not permitted.
    pub fn write(&mut self, tile: NocTile, address: u64, words: &[u32]) -> Result<(), Refusal> {
        let range = self.permitted(tile, address, words.len())?;
        if self.writes == Writes::Refused || range.range_use != RangeUse::Control {
            let size_bytes = (words.len() as u64).saturating_mul(4);
            return Err(Refusal::ReadOnly { tile, address, size_bytes });
        }
        if words.is_empty() {
            return Ok(());
        }
        self.probe(tile, address, range)?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let written = self.access.noc_write(NOC, tile, address, &bytes);
        written.map_err(|failure| Refusal::Failed { tile, address, failure })
    }

    /// Returns the named range that contains all words of an access; an error if there is none.
    fn permitted(
        &self,
        tile: NocTile,
        address: u64,
        word_count: usize,
    ) -> Result<NamedRange, Refusal> {
        if let Some(stopped) = &self.stopped {
            return Err(stopped.clone());
        }
        let size_bytes = (word_count as u64).saturating_mul(4);
        let ranges = self.ranges.get(&tile).into_iter().flatten();
        let mut holding = ranges.filter(|range| range.holds(address, size_bytes));
        let range = holding.next().filter(|_| address.is_multiple_of(4));
        range.copied().ok_or(Refusal::NotNamed { tile, address, size_bytes })
    }

    /// Reads one word. If the word is all ones, confirms that the chip still answers.
    fn probe(&mut self, tile: NocTile, address: u64, range: NamedRange) -> Result<u32, Refusal> {
        let word = self.word(tile, address)?;
        if word == ALL_ONES {
            self.confirm(tile, address)?;
        } else if range.range_use == RangeUse::Control && address == range.start {
            self.anchor = Some((tile, address));
        }
        Ok(word)
    }

    /// Checks that the chip still answers, by reading a word that is never all ones.
    ///
    /// If the chip does not answer, returns an error for the access to `address`, and refuses all
    /// later accesses.
    fn confirm(&mut self, tile: NocTile, address: u64) -> Result<(), Refusal> {
        if let Some((anchor, anchor_address)) = self.anchor
            && (anchor, anchor_address) != (tile, address)
            && self.word(anchor, anchor_address).is_ok_and(|word| word != ALL_ONES)
        {
            return Ok(());
        }
        let stopped = Refusal::Stopped { tile, address };
        self.stopped = Some(stopped.clone());
        Err(stopped)
    }

    fn word(&self, tile: NocTile, address: u64) -> Result<u32, Refusal> {
        let mut bytes = [0; 4];
        let read = self.access.noc_read(NOC, tile, address, &mut bytes);
        read.map_err(|failure| Refusal::Failed { tile, address, failure })?;
        Ok(u32::from_le_bytes(bytes))
    }
}

const ALL_ONES: u32 = u32::MAX;

#[cfg(test)]
mod tests;
