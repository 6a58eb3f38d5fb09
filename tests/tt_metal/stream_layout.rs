//! A model of the cells in which a launch's records are stored if the ring is never full.

use crate::stream_script::{Expected, Name, Said};
use wire::stream::CHUNK_CELLS;

/// The entry that begins in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A launch, with its number.
    Launch(u16),
    /// A record, with its number. The records of all launches are numbered together.
    Record(usize),
    /// Number of cells skipped so far.
    Skipped(u32),
}

/// Cells of a lane in which one chunk in `kept_of` is kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    kept_of: usize,
    /// Number of completed chunks, including skipped ones.
    chunks: usize,
    pub(crate) skipped: u32,
    /// Number of published cells.
    written: usize,
    records: usize,
    /// Entries in the current chunk, by cell; `used` and `published` count its cells.
    chunk: Vec<(usize, Slot)>,
    used: usize,
    published: usize,
    /// Published entries, with the number of their first cell.
    pub(crate) slots: Vec<(u32, Slot)>,
}

/// Returns the number of cells of a record. Zones are assumed to be short enough for one cell.
fn cells(said: &Said) -> usize {
    match said {
        Said::Zone(Name::Escape) => 2,
        Said::Zone(_) | Said::Event(_) | Said::Total(_) => 1,
        Said::Data(values) => 1 + values.len(),
    }
}

impl Layout {
    pub(crate) fn new(kept_of: usize) -> Self {
        Self { kept_of, ..Self::default() }
    }

    /// Adds a launch.
    pub(crate) fn launch(&mut self, number: u16, records: &[Expected]) {
        // A launch is published at once, so it is never the last entry of a chunk.
        if self.used + 3 > CHUNK_CELLS {
            self.used = CHUNK_CELLS;
            self.end_chunk();
        }
        self.add(Slot::Launch(number), 2);
        self.publish();
        for record in records {
            self.add(Slot::Record(self.records), cells(&record.said));
            self.records += 1;
        }
        self.publish();
    }

    fn add(&mut self, slot: Slot, count: usize) {
        if self.used + count > CHUNK_CELLS {
            self.used = CHUNK_CELLS;
            self.end_chunk();
        }
        self.chunk.push((self.used, slot));
        self.used += count;
    }

    fn publish(&mut self) {
        let number = self.written - self.published;
        let new = self.chunk.iter().filter(|(cell, _)| *cell >= self.published);
        self.slots.extend(new.map(|(cell, slot)| (u32::try_from(number + cell).unwrap(), *slot)));
        self.written += self.used - self.published;
        self.published = self.used;
        if self.used == CHUNK_CELLS {
            self.begin_chunk();
        }
    }

    fn begin_chunk(&mut self) {
        self.chunks += 1;
        self.chunk.clear();
        (self.used, self.published) = (0, 0);
    }

    fn end_chunk(&mut self) {
        if self.chunks.is_multiple_of(self.kept_of) || self.published != 0 {
            self.publish();
            return;
        }
        self.begin_chunk();
        self.skipped += u32::try_from(CHUNK_CELLS).unwrap();
        self.add(Slot::Skipped(self.skipped), 1);
    }
}
