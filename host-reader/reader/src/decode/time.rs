//! Time within a lane: converts stamps of 44 bits to 64-bit times in ascending order.
//!
//! A lane's records are in the order in which the RISC read the clock. A time that is earlier than
//! the time before it is therefore an error. Errors with a known cause are corrected and counted;
//! other errors are reported:
//!
//! | observation | reason | correction |
//! |---|---|---|
//! | step up by 2^32 or more, then back by at most 2^32 | this project's runtime read the low word just before the low word's wrap and the high word just after the wrap | the earlier time is lowered by 2^32 |
//! | step back by at most 2^32, low word just past its wrap, TT-Metal's runtime | TT-Metal reads the high word first | the time is raised by 2^32 |
//! | step back by about 2^44, and the clock, if read, confirms this | the stamp wrapped | this and all later times are raised by 2^44 |
//! | any other step back | unknown | none; reported as [`AnomalyKind::BackwardTime`] |
//!
//! If the tile's 64-bit clock was read after the words, the clock's value determines the range of
//! 2^44 cycles that contains the first stamps of the read. A lane whose first record is later than
//! the first wrap of the stamps therefore has the same time scale as the other lanes.

use crate::anomaly::AnomalyKind;

/// Maximum number of cycles between the loads of the low and the high word in a torn clock reading.
const TEAR_WINDOW_CYCLES: u64 = 4096;
/// Error of a torn clock reading, in cycles.
const TEAR_CYCLES: u64 = 1 << 32;
/// Maximum number of cycles by which a torn stamp can be later than the clock reading:
/// [`TEAR_CYCLES`] plus a margin of the same size.
const AHEAD_CYCLES: u64 = 2 * TEAR_CYCLES;

/// Time of a lane's last record and the offset of the lane's stamps, kept from one read to the
/// next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TimeState {
    /// Offset that is added to a stamp to get its time: a multiple of 2^`bits`, where `bits` is the
    /// width of a stamp.
    pub(super) epoch: u64,
    /// The time of the last record.
    pub(super) last: u64,
}

/// Times after handling a record that is earlier than the previous record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    /// The record's time.
    pub(super) time: u64,
    /// The corrected time of the previous record, if it was wrong.
    pub(super) previous: Option<u64>,
    /// Cause of the step backwards.
    pub(super) finding: AnomalyKind,
}

/// Rules for ordering a lane's stamps in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StampOrder {
    /// Width of a stamp, in bits.
    pub(super) bits: u32,
    /// The tile's wall clock, read after the lane was written; `None` if not read.
    pub(super) read_at: Option<u64>,
    /// True if the runtime reads the clock's low word first, as this project's runtime does.
    pub(super) low_first: bool,
}

impl StampOrder {
    /// Returns true if stamp `a` is older than stamp `b`.
    ///
    /// If the tile's clock was read, the result is correct for all stamps within one range
    /// (2^`bits` cycles). Otherwise, it is correct for stamps that differ by less than half a
    /// range.
    pub(super) const fn is_before(self, a: u64, b: u64) -> bool {
        match self.read_at {
            Some(now) => self.age(now, a) > self.age(now, b),
            None => self.mask() & a.wrapping_sub(b) > self.mask() / 2,
        }
    }

    /// Returns the oldest of several stamps; `None` if there are no stamps.
    ///
    /// A torn clock reading gives a stamp that is too high, so the oldest stamp is correct.
    pub(super) fn oldest(self, stamps: impl Iterator<Item = u64>) -> Option<u64> {
        stamps.reduce(|one, other| if self.is_before(other, one) { other } else { one })
    }

    /// Returns true if `stamp`, although lower than `last`, was taken later: the stamps have
    /// wrapped.
    const fn has_wrapped(self, stamp: u64, last: u64) -> bool {
        match self.read_at {
            // A damaged stamp that is later than the clock appears to have nearly the maximum age.
            Some(now) => {
                let age = self.age(now, last);
                self.age(now, stamp) <= age && age < self.mask().saturating_sub(self.mask() / 8)
            }
            None => !self.is_before(stamp, last),
        }
    }

    /// Returns the number of cycles from this stamp to the latest possible stamp.
    ///
    /// A torn stamp may be later than `now`, the reading of the tile's clock. Such a stamp is
    /// treated as recent, not as a stamp from before the last wrap.
    const fn age(self, now: u64, stamp: u64) -> u64 {
        now.wrapping_add(AHEAD_CYCLES).wrapping_sub(stamp) & self.mask()
    }

    /// Returns the offset that converts a stamp to a time, if the clock was read.
    fn epoch_of(self, stamp: u64) -> Option<u64> {
        let now = self.read_at?;
        let latest = now.wrapping_add(AHEAD_CYCLES);
        Some(latest.checked_sub(self.age(now, stamp)).map_or(0, |time| time.saturating_sub(stamp)))
    }

    /// Returns the correct value of `time` if it comes from a torn clock reading with the low word
    /// `low`; otherwise returns `time`. All times are modulo the range with this mask.
    pub(super) const fn mended(self, time: u64, low: u32, range_mask: u64) -> u64 {
        let low = low as u64;
        match self.low_first {
            true if low >= TEAR_CYCLES.saturating_sub(TEAR_WINDOW_CYCLES) => {
                time.wrapping_sub(TEAR_CYCLES) & range_mask
            }
            false if low < TEAR_WINDOW_CYCLES => time.wrapping_add(TEAR_CYCLES) & range_mask,
            _ => time,
        }
    }

    /// Returns the latest valid time of a stamp; the maximum of `u64` if the clock was not read.
    pub(super) const fn latest(self) -> u64 {
        match self.read_at {
            Some(now) => now.saturating_add(AHEAD_CYCLES),
            None => u64::MAX,
        }
    }

    #[expect(clippy::arithmetic_side_effects, reason = "a layout has 32 to 63 bits of time")]
    const fn mask(self) -> u64 {
        (1 << self.bits) - 1
    }
}

impl TimeState {
    /// Derives the stamps' offset from the clock reading and the first two stamps of a read.
    ///
    /// Returns true if stamps have wrapped since the last record. The offset stays the same if the
    /// clock was not read, or if the new time would be before the time of the last record.
    pub(super) fn anchor(&mut self, leading: [u64; 2], order: StampOrder) -> bool {
        let [Some(first), Some(second)] = leading.map(|stamp| order.epoch_of(stamp)) else {
            return false;
        };
        // If the two stamps give different offsets, the stamp with the smaller offset is damaged,
        // unless the stamps wrapped between the two.
        let [one, other] = leading;
        let is_wrap_between = one.checked_sub(other).is_some_and(|step| step > order.mask() / 2);
        let epoch = if is_wrap_between { first } else { first.max(second) };
        let time = epoch.wrapping_add(if epoch == first { one } else { other });
        let is_first = self.last == 0;
        if !is_first && time.saturating_add(AHEAD_CYCLES) < self.last {
            return false;
        }
        let has_wrapped = !is_first && epoch > self.epoch;
        self.epoch = epoch;
        has_wrapped
    }

    /// Returns the time of a stamp and stores it as the last time; `None` if it is earlier than the
    /// last time.
    #[inline]
    pub(super) const fn advance(&mut self, stamp: u64) -> Option<u64> {
        let time = self.epoch.wrapping_add(stamp);
        if time < self.last {
            return None;
        }
        self.last = time;
        Some(time)
    }

    /// Returns the time of a stamp for which [`Self::advance`] returned `None`.
    ///
    /// `before_last` is the time of the record before the last record, if known.
    #[cold]
    pub(super) fn resolve(
        &mut self,
        stamp: u64,
        before_last: Option<u64>,
        order: StampOrder,
    ) -> Resolved {
        let time = self.epoch.wrapping_add(stamp);
        let lowered = self.lowered_previous(time, before_last, order);
        // If there are only two records, either of them may be wrong. The choice depends on the
        // runtime: stamps of this project's runtime are never too low.
        let torn =
            if order.low_first { lowered } else { self.raised_stamp(time, stamp).or(lowered) };
        let resolved = torn
            .or_else(|| self.wrapped(time, stamp, before_last, order))
            .unwrap_or(Resolved { time, previous: None, finding: AnomalyKind::BackwardTime });
        self.last = resolved.time;
        resolved
    }

    /// Lowers the time of the last record if it is later than the clock reading; returns the
    /// corrected time.
    pub(super) fn lower_last(
        &mut self,
        before_last: Option<u64>,
        order: StampOrder,
    ) -> Option<u64> {
        let now = order.read_at.filter(|&now| order.low_first && self.last > now)?;
        let lowered = self.last.checked_sub(TEAR_CYCLES)?;
        if lowered > now || before_last.is_some_and(|before| before > lowered) {
            return None;
        }
        self.last = lowered;
        Some(lowered)
    }

    /// Returns a correction that lowers the previous time by 2^32 cycles, if the lowered time is
    /// plausible.
    ///
    /// If there is a record before the previous record, the lowered time must not be earlier than
    /// the time of that record. If there is no such record, one of two conditions must hold. Either
    /// the previous time is just before a wrap of its low word. Or this project's runtime wrote the
    /// records, and the step from the lowered time to `time` is less than 2^31 cycles. The limit
    /// rejects damage: a single flipped bit below bit 32, in either stamp, leaves a step of 2^31
    /// cycles or more.
    fn lowered_previous(
        &self,
        time: u64,
        before_last: Option<u64>,
        order: StampOrder,
    ) -> Option<Resolved> {
        let lowered = self.last.checked_sub(TEAR_CYCLES)?;
        let step = time.checked_sub(lowered)?;
        let was_torn = match before_last {
            Some(before) => before <= lowered,
            None => {
                self.last % TEAR_CYCLES >= TEAR_CYCLES - TEAR_WINDOW_CYCLES
                    || (order.low_first && step < TEAR_CYCLES / 2)
            }
        };
        let finding = AnomalyKind::TornTimestamp;
        was_torn.then_some(Resolved { time, previous: Some(lowered), finding })
    }

    const fn raised_stamp(&self, time: u64, stamp: u64) -> Option<Resolved> {
        let raised = time.wrapping_add(TEAR_CYCLES);
        if stamp % TEAR_CYCLES >= TEAR_WINDOW_CYCLES || raised < self.last {
            return None;
        }
        Some(Resolved { time: raised, previous: None, finding: AnomalyKind::TornTimestamp })
    }

    fn wrapped(
        &mut self,
        time: u64,
        stamp: u64,
        before_last: Option<u64>,
        order: StampOrder,
    ) -> Option<Resolved> {
        let last_is_outlier = before_last.is_some_and(|before| before <= time);
        if last_is_outlier || !order.has_wrapped(stamp, self.last & order.mask()) {
            return None;
        }
        let range = order.mask().wrapping_add(1);
        let raised = time.wrapping_add(range);
        if raised > order.latest() {
            return None;
        }
        self.epoch = self.epoch.wrapping_add(range);
        Some(Resolved { time: raised, previous: None, finding: AnomalyKind::TimestampWrap })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: StampOrder = StampOrder { bits: 44, read_at: None, low_first: true };
    const UPSTREAM: StampOrder = StampOrder { low_first: false, ..ORDER };
    const RANGE: u64 = 1 << 44;

    /// Returns the times and findings for a lane with these stamps.
    fn times(stamps: &[u64], order: StampOrder) -> (Vec<u64>, Vec<AnomalyKind>) {
        let mut state = TimeState::default();
        let (mut times, mut findings): (Vec<u64>, _) = (Vec::new(), Vec::new());
        for &stamp in stamps {
            let time = state.advance(stamp).unwrap_or_else(|| {
                let before = times.len().checked_sub(2).map(|index| times[index]);
                let resolved = state.resolve(stamp, before, order);
                if let (Some(previous), Some(last)) = (resolved.previous, times.last_mut()) {
                    *last = previous;
                }
                findings.push(resolved.finding);
                resolved.time
            });
            times.push(time);
        }
        (times, findings)
    }

    #[test]
    fn a_wrap_raises_everything_after_it() {
        let (times, findings) = times(&[RANGE - 10, 5, 7], ORDER);
        assert_eq!(times, [RANGE - 10, RANGE + 5, RANGE + 7]);
        assert_eq!(findings, [AnomalyKind::TimestampWrap]);
    }

    #[test]
    fn a_low_word_read_before_its_wrap_is_lowered() {
        let wrap = 3 << 32;
        let torn = wrap - 2 + (1 << 32);
        let (lane, findings) = times(&[wrap - 90, torn, wrap + 40], ORDER);
        assert_eq!(lane, [wrap - 90, wrap - 2, wrap + 40]);
        assert_eq!(findings, [AnomalyKind::TornTimestamp]);
        let (lane, _) = times(&[torn, wrap + 40], ORDER);
        assert_eq!(lane, [wrap - 2, wrap + 40], "also if it is the lane's first");
    }

    #[test]
    fn a_lane_that_begins_with_a_reading_torn_far_from_the_wrap_is_mended() {
        // The RISC was interrupted between the two loads: the low word is 38,669 cycles before the
        // wrap.
        let wrap = 2035 << 32;
        let torn = wrap - 38_669 + (1 << 32);
        let (lane, findings) = times(&[torn, wrap + 0x23, wrap + 0x104], ORDER);
        assert_eq!(lane, [wrap - 38_669, wrap + 0x23, wrap + 0x104]);
        assert_eq!(findings, [AnomalyKind::TornTimestamp]);
    }

    #[test]
    fn a_flipped_bit_in_the_first_of_a_lane_moves_no_other() {
        for bit in 0..44 {
            let good: Vec<u64> = (0..4).map(|i| (5 << 40) + i * 1_000).collect();
            let mut stamps = good.clone();
            stamps[0] ^= 1 << bit;
            let (lane, _) = times(&stamps, ORDER);
            assert_eq!(lane[1..], good[1..], "bit {bit}");
            let is_mended = bit == 32;
            assert_eq!(lane[0], if is_mended { good[0] } else { stamps[0] }, "bit {bit}");
        }
    }

    #[test]
    fn a_high_word_read_before_the_wrap_is_raised() {
        let wrap = 3 << 32;
        let (lane, findings) = times(&[wrap - 90, wrap + 3 - (1 << 32), wrap + 40], UPSTREAM);
        assert_eq!(lane, [wrap - 90, wrap + 3, wrap + 40]);
        assert_eq!(findings, [AnomalyKind::TornTimestamp]);
    }

    #[test]
    fn a_torn_reading_at_the_wrap_of_the_stamp_is_both() {
        use AnomalyKind::{TimestampWrap, TornTimestamp};
        // This project's runtime reads the low word before the wrap, and the high word 0 after the
        // wrap.
        let (lane, findings) = times(&[RANGE - 90, (1 << 32) - 2, 5], ORDER);
        assert_eq!(lane, [RANGE - 90, RANGE - 2, RANGE + 5]);
        assert_eq!(findings, [TimestampWrap, TornTimestamp]);
        // TT-Metal reads the high word before the wrap, and the low word after the wrap.
        let (lane, findings) = times(&[RANGE - 90, RANGE - (1 << 32) + 3, 5], UPSTREAM);
        assert_eq!(lane, [RANGE - 90, RANGE + 3, RANGE + 5]);
        assert_eq!(findings, [TornTimestamp, TimestampWrap]);
    }

    #[test]
    fn one_damaged_stamp_moves_no_other() {
        for bit in 0..44 {
            let mut stamps: Vec<u64> = (0..6).map(|i| (5 << 40) + 1_000_000 + i * 1_000).collect();
            let good = stamps.clone();
            stamps[3] ^= 1 << bit;
            let (lane, _) = times(&stamps, ORDER);
            for index in [0, 1, 2, 4, 5] {
                assert_eq!(lane[index], good[index], "bit {bit}");
            }
        }
    }

    #[test]
    fn the_wall_clock_tells_a_long_pause_from_a_step_back() {
        let (before, after) = (RANGE - 100, RANGE * 3 / 4);
        let with_clock = |now| StampOrder { read_at: Some(now), ..ORDER };
        let (lane, _) = times(&[before, after], with_clock(2 * RANGE * 7 / 8));
        assert_eq!(lane, [before, RANGE + after]);
        let (_, findings) = times(&[before, after], with_clock(RANGE - 50));
        assert_eq!(findings, [AnomalyKind::BackwardTime]);
    }

    #[test]
    fn the_wall_clock_says_in_which_range_a_lane_begins() {
        let order = StampOrder { read_at: Some(3 * RANGE + 1_000), ..ORDER };
        let anchored = |last, leading| {
            let mut state = TimeState { epoch: 0, last };
            (state.anchor(leading, order), state.epoch)
        };
        assert_eq!(anchored(0, [10, 20]), (false, 3 * RANGE));
        assert_eq!(anchored(0, [RANGE - 10, 20]), (false, 2 * RANGE), "the wrap lies in between");
        assert_eq!(anchored(0, [(1 << 32) + 10, 20]), (false, 3 * RANGE), "a torn stamp");
        assert_eq!(anchored(0, [1 << 43, 20]), (false, 3 * RANGE), "a damaged stamp");
        assert_eq!(anchored(0, [20, 1 << 43]), (false, 3 * RANGE), "a damaged stamp");
        assert_eq!(anchored(7, [10, 20]), (true, 3 * RANGE));
        assert_eq!(anchored(4 * RANGE, [10, 20]), (false, 0), "never back");
    }

    #[test]
    fn order_is_that_of_a_wrapping_clock() {
        assert!(ORDER.is_before(1, 2) && !ORDER.is_before(2, 1) && !ORDER.is_before(2, 2));
        assert!(ORDER.is_before(RANGE - 1, 1));
        let clock = StampOrder { read_at: Some(RANGE + 10), ..ORDER };
        assert!(clock.is_before(1 << 34, 5), "2^34 lies a range back");
        assert!(clock.is_before(5, 1 << 32), "2^32 ahead is a torn stamp");
    }
}
