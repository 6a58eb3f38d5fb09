//! Reservations of the cycles of a unit.

/// Number of cycles that the reservations cover.
const WINDOW_CYCLES: u64 = 128;

/// Cycles in which a unit begins instructions.
///
/// The RISCs that push instructions run one after another, each for a number of cycles, so
/// reservations are not made in order of time. The recent past is therefore kept: an instruction of
/// one thread can begin before one of another thread that was reserved earlier.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slots {
    /// First cycle of the window.
    first: u64,
    /// Busy cycles of the window.
    busy: u128,
    /// First cycle after all busy cycles.
    idle_from: u64,
}

impl Slots {
    /// Returns the first of `length` (at most 16) consecutive free cycles at or after `from`.
    #[inline]
    pub(super) fn find(&self, from: u64, length: u64) -> u64 {
        if from >= self.idle_from || from < self.first {
            return from;
        }
        let free = !(self.busy >> (from - self.first));
        let runs = (1..length).fold(free, |runs, shift| runs & (free >> shift));
        from + u64::from(runs.trailing_zeros())
    }

    /// Occupies `length` (at most 16) cycles from `start` on.
    #[inline]
    pub(super) fn occupy(&mut self, start: u64, length: u64) {
        if start < self.first || length == 0 {
            return;
        }
        let end = start + length;
        if end > self.first + WINDOW_CYCLES {
            let first = end - WINDOW_CYCLES / 2;
            let moved = first - self.first;
            self.busy = if moved < WINDOW_CYCLES { self.busy >> moved } else { 0 };
            self.first = first;
        }
        self.busy |= ((1_u128 << length) - 1) << (start.saturating_sub(self.first));
        self.idle_from = self.idle_from.max(end);
    }
}
