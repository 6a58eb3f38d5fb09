//! Records of a launch, counted by the stores of the RISC that makes them.
//!
//! A kernel declares how many records it makes, but a kernel that hangs, or whose RISC is stopped,
//! makes fewer. The stores on the bus show how many: a RISC stores a record's words in order, and
//! the record is complete with its last word.

use crate::{program::Emission, tile::Tile};
use wire::{Header, PacketKind, loss::LossKind, vector};

/// Records that a RISC has made in a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredRecords {
    emitted: Emission,
    /// Index in the vector of the next record's first word.
    next: usize,
    /// The record that is being stored: its kind, and the index of its last word.
    open: Option<(PacketKind, usize)>,
    /// Index of the guaranteed slot whose header was stored last, if it starts a zone.
    slot: Option<usize>,
}

impl Default for StoredRecords {
    fn default() -> Self {
        Self { emitted: Emission::NONE, next: vector::FIRST_OPTIONAL, open: None, slot: None }
    }
}

impl StoredRecords {
    /// Returns the number of complete records, and of records that the RISC has counted as lost.
    pub(crate) const fn emitted(&self) -> Emission {
        self.emitted
    }

    /// Returns true if the RISC has stored only some words of its latest record.
    pub(crate) const fn is_in_record(&self) -> bool {
        self.open.is_some() || self.slot.is_some()
    }

    /// Counts the record that a RISC completes with the store of `value` at `address`.
    pub(crate) fn note(&mut self, tile: &Tile, risc_index: usize, (address, value): (u64, u32)) {
        let first = tile.vector_word_address(risc_index, 0);
        let word = address.checked_sub(first).map(|bytes| (bytes / 4) as usize);
        match word {
            Some(word @ vector::FIRST_OPTIONAL..vector::VECTOR_WORDS) => {
                self.note_word(word, value)
            }
            Some(word @ vector::MAIN_START..vector::FIRST_OPTIONAL) => self.note_slot(word, value),
            _ => self.note_loss(tile, risc_index, (address, value)),
        }
    }

    fn note_word(&mut self, word: usize, value: u32) {
        if word == vector::FIRST_OPTIONAL {
            // A push in the middle of a launch has emptied the vector.
            (self.next, self.open) = (word, None);
        }
        match self.open {
            None if word == self.next => {
                let header = Header(value);
                let kind = header.kind().filter(|_| header.is_marker() && !header.is_empty());
                self.open = kind.map(|kind| (kind, word + kind.record_words() - 1));
            }
            Some((kind, last)) if word == last => {
                self.next = last + 1;
                self.open = None;
                match kind {
                    PacketKind::ZoneStart => self.emitted.zones += 1,
                    PacketKind::ZoneEnd => {}
                    PacketKind::ZoneTotal => self.emitted.sums += 1,
                    PacketKind::TimestampedEvent => self.emitted.events += 1,
                    PacketKind::TimestampedData | PacketKind::TimestampedData16B => {
                        self.emitted.data += 1;
                    }
                }
            }
            _ => {}
        }
    }

    /// Counts a zone of the firmware or of the kernel when both words of its start are stored.
    fn note_slot(&mut self, word: usize, value: u32) {
        let is_start = word == vector::MAIN_START || word == vector::CHILD_START;
        if self.slot.take().is_some_and(|slot| word == slot + 1) {
            self.emitted.zones += 1;
        } else if is_start && !Header(value).is_empty() {
            self.slot = Some(word);
        }
    }

    fn note_loss(&mut self, tile: &Tile, risc_index: usize, (address, value): (u64, u32)) {
        for kind in LossKind::ALL {
            let counter = tile.control_word_address(kind.control_word() + risc_index);
            if address != counter {
                continue;
            }
            let count = u64::from(value.wrapping_sub(tile.load(address)));
            match kind {
                LossKind::Zone => self.emitted.zones += count,
                LossKind::Data => self.emitted.data += count,
                LossKind::Event => self.emitted.events += count,
            }
        }
    }
}
