//! Times of the first markers of a run, read before the records of the run are decoded.

use super::words::{LaneWords, RunWords, after, slot_words};
use wire::{Header, PacketKind, marker::HeaderLayout, vector};

/// Times (stamps) of the first markers of a run; `None` for each marker that is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FirstStamps {
    /// Stamps of the guaranteed zone starts: the firmware's zone, then the kernel's zone.
    pub(super) starts: [Option<u64>; 2],
    /// Stamps of the first two optional records that carry a time.
    optional: [Option<u64>; 2],
    /// Header and low word of the first optional record that carries a time.
    pub(super) first_optional: Option<[u32; 2]>,
}

impl FirstStamps {
    /// Collects the times of the first markers of the run at `index`.
    pub(super) fn from_run(
        words: LaneWords<'_>,
        index: usize,
        run: &RunWords,
        layout: HeaderLayout,
    ) -> Self {
        let starts = [vector::MAIN_START, vector::CHILD_START].map(|slot| stamp(run, slot, layout));
        let mut records = words.timed_records(after(index, vector::FIRST_OPTIONAL));
        let optional = [records.next(), records.next()];
        let [first_optional, _] = optional;
        let stamps = optional.map(|record| record.map(|[header, low]| layout.time(header, low).0));
        Self { starts, optional: stamps, first_optional }
    }

    /// Returns the two stamps that the device wrote first, out of the two zone starts and the first
    /// two optional records. If the run has only one of these stamps, returns it twice.
    ///
    /// Callers compare both stamps, so a single damaged stamp has no effect.
    pub(super) fn leading(&self) -> Option<[u64; 2]> {
        let mut stamps = self.starts.iter().chain(&self.optional).flatten().copied();
        let first = stamps.next()?;
        Some([first, stamps.next().unwrap_or(first)])
    }

    /// Returns true if the start of the firmware's zone or of the kernel's zone is present.
    pub(super) fn has_starts(&self) -> bool {
        self.starts.iter().any(Option::is_some)
    }

    /// Returns the stamps of the first two optional records, if there are two.
    pub(super) const fn optional_pair(&self) -> Option<[u64; 2]> {
        match self.optional {
            [Some(first), Some(second)] => Some([first, second]),
            _ => None,
        }
    }
}

/// Returns the stamp in a guaranteed slot, if the slot holds a zone's start or end.
pub(super) fn stamp(run: &RunWords, slot: usize, layout: HeaderLayout) -> Option<u64> {
    let [header, low] = slot_words(run, slot);
    let header = Header(header);
    let is_zone = matches!(header.kind(), Some(PacketKind::ZoneStart | PacketKind::ZoneEnd));
    (is_zone && !header.is_empty()).then(|| layout.time(header.0, low).0)
}
