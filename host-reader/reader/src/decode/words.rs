//! A lane's words, and the search for positions at which runs can begin.

use super::LaneContext;
use wire::{Header, PacketKind, RunHeader, run, vector};

/// Words of a run header and of the guaranteed slots after it.
pub(super) type RunWords = [u32; vector::FIRST_OPTIONAL];

/// Returns `index` plus `count` words.
#[inline]
pub(super) const fn after(index: usize, count: usize) -> usize {
    index.saturating_add(count)
}

/// Returns the two words of a guaranteed slot in a run.
#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "slots are constants, and lie within the words of a run"
)]
pub(super) const fn slot_words(run: &RunWords, slot: usize) -> [u32; 2] {
    [run[slot], run[slot + 1]]
}

/// The words of one lane. Indices are counted in words, from 0, and always refer to the first word
/// of a pair.
#[derive(Clone, Copy)]
pub(super) struct LaneWords<'a> {
    words: &'a [u32],
    context: &'a LaneContext,
}

impl<'a> LaneWords<'a> {
    pub(super) const fn new(words: &'a [u32], context: &'a LaneContext) -> Self {
        Self { words, context }
    }

    pub(super) const fn len(self) -> usize {
        self.words.len()
    }

    /// Returns the words from `index` on.
    pub(super) fn from(self, index: usize) -> &'a [u32] {
        self.words.get(index..).unwrap_or(&[])
    }

    /// Returns the pair of words at `index`; `None` at the end of the words.
    #[inline]
    pub(super) fn pair(self, index: usize) -> Option<[u32; 2]> {
        self.from(index).first_chunk().copied()
    }

    /// Returns the run that begins at `index`, if the words have the form of a run.
    ///
    /// A run header has zeros at fixed positions, no reserved bits set, and a marker in each
    /// guaranteed slot.
    pub(super) fn run_at(self, index: usize) -> Option<&'a RunWords> {
        let run: &RunWords = self.from(index).first_chunk()?;
        let packing = self.context.generation.id_packing;
        let generation_bits = match self.context.lane_generation {
            Some(_) => packing.generation_field(u32::MAX),
            None => 0,
        };
        let id_bits = packing.pack(u32::MAX, u32::MAX, u32::MAX) | generation_bits;
        let is_run = run[0] == 0
            && run[1] == 0
            && run[run::ID_LH] & !id_bits == 0
            && run[run::RUN_HEADER_WORDS..].iter().step_by(2).all(|&word| Header(word).is_marker());
        is_run.then_some(run)
    }

    /// Returns the header of the run.
    pub(super) const fn run_header(self, run: &RunWords) -> RunHeader {
        let packing = self.context.generation.id_packing;
        RunHeader::from_id_words(packing, run[run::ID_LH], run[run::ID_LL])
    }

    /// Returns true if a run of this lane's RISC, core and generation begins at `index`.
    pub(super) fn own_run_at(self, index: usize) -> bool {
        self.run_at(index).is_some_and(|run| {
            let header = self.run_header(run);
            self.is_own(header) && self.is_current(header)
        })
    }

    /// Returns true if the header has the lane's generation, or the lane has no generation.
    pub(super) fn is_current(self, header: RunHeader) -> bool {
        self.context.lane_generation.is_none_or(|generation| header.generation == generation)
    }

    /// Returns true if the header has this lane's RISC and core.
    pub(super) const fn is_own(self, header: RunHeader) -> bool {
        let packing = self.context.generation.id_packing;
        let own = packing.pack(self.context.risc_index, self.context.flat_id, 0);
        own == packing.pack(header.risc_index, header.flat_id, 0)
    }

    /// Returns the index of this lane's next run at or after `from`; the number of words if there
    /// is none.
    pub(super) fn next_own_run(self, from: usize) -> usize {
        let mut index = from;
        while index < self.len() {
            if self.own_run_at(index) {
                return index;
            }
            index = after(index, 2);
        }
        self.len()
    }

    /// Iterates over the header and low word of each record that has a time, from `index` on, up to
    /// the first word that is not a valid marker.
    pub(super) fn timed_records(self, index: usize) -> impl Iterator<Item = [u32; 2]> {
        let mut next = index;
        let records = std::iter::from_fn(move || {
            let [header, low] = self.pair(next)?;
            let kind = Header(header).kind().filter(|_| Header(header).is_marker())?;
            next = after(next, kind.record_words());
            Some((kind, [header, low]))
        });
        records
            .filter(|(kind, [header, _])| {
                !Header(*header).is_empty() && *kind != PacketKind::ZoneTotal
            })
            .map(|(_, words)| words)
    }

    /// Returns the index after the pairs of zeros that begin at `from`.
    pub(super) fn zeros_end(self, from: usize) -> usize {
        let (pairs, _) = self.from(from).as_chunks::<2>();
        let zeros = pairs.iter().take_while(|pair| **pair == [0, 0]).count();
        after(from, zeros.saturating_mul(2))
    }

    /// Returns the index of a run that begins inside the payload of the record at `index`; `None`
    /// if no run begins there.
    ///
    /// If a run begins there, the type in the record's header is damaged: after the payload of an
    /// intact record, the next word is a marker or zero, not a word of a run header. Only a run
    /// that begins in the last pair of the payload is recognized: a run that begins earlier looks
    /// like a valid payload.
    #[inline]
    pub(super) fn run_in_payload(self, index: usize, kind: PacketKind) -> Option<usize> {
        let payload_words = kind.payload_words();
        let last_pair = after(index, payload_words);
        (payload_words != 0 && self.pair(last_pair) == Some([0, 0]) && self.own_run_at(last_pair))
            .then_some(last_pair)
    }
}
