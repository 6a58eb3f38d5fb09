//! Times that have passed the largest time stamp of a chip.
//!
//! A time stamp has 44 bits, so the times of a log begin again at 0 after 3.6 hours at 1.35 GHz.
//! The lines of a RISC are in the order in which it recorded them: a time that is less than the one
//! before it by more than half of all times has begun again. Then all low times of the chip have, also
//! those of RISCs without an earlier record.

use wire::cycles::TIMESTAMP_BITS;

/// Number of different time stamps.
const PERIOD: u64 = 1 << TIMESTAMP_BITS;

const HALF: u64 = PERIOD / 2;

/// Returns true if the times have begun again between two records.
#[inline]
pub(super) const fn is_wrap(before: u64, after: u64) -> bool {
    before < PERIOD && before.saturating_sub(after) > HALF
}

/// Extends the times of one RISC, in the order of its records, on a chip whose times have begun
/// again.
pub(super) fn extend(times: &mut [u64]) {
    let is_own =
        times.windows(2).any(|pair| matches!(*pair, [before, after] if is_wrap(before, after)));
    if !is_own {
        // Without a record from before, low times are those after it.
        for time in times.iter_mut().filter(|time| **time < HALF) {
            *time = time.saturating_add(PERIOD);
        }
        return;
    }
    let mut before = times.first().copied().unwrap_or(0);
    let mut period = 0_u64;
    for time in times {
        let stamp = *time;
        if is_wrap(before, stamp) {
            period = period.saturating_add(PERIOD);
        } else if is_wrap(stamp, before) {
            // A record from before that was recorded later, such as a sum.
            period = period.saturating_sub(PERIOD);
        }
        before = stamp;
        *time = stamp.saturating_add(period);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn times_are_those_of_a_clock_without_an_end(
            first in PERIOD - 1_000_000..PERIOD,
            steps in prop::collection::vec(0_u64..HALF, 1..20),
        ) {
            let mut time = first;
            let times: Vec<u64> = steps.iter().map(|step| { time += step; time }).collect();
            let mut stamps: Vec<u64> = times.iter().map(|time| time % PERIOD).collect();
            let has_wrapped = stamps.windows(2).any(|pair| is_wrap(pair[0], pair[1]));
            extend(&mut stamps);
            let base = times[0] - stamps[0];
            prop_assert!(!has_wrapped || base.is_multiple_of(PERIOD));
            if has_wrapped {
                let relative: Vec<u64> = times.iter().map(|time| time - base).collect();
                prop_assert_eq!(stamps, relative);
            }
        }
    }

    #[test]
    fn a_sum_from_before_keeps_its_time_and_low_times_alone_come_after() {
        let late = PERIOD - 10;
        let mut times = [late, 5, late + 2, 9];
        extend(&mut times);
        assert_eq!(times, [late, PERIOD + 5, late + 2, PERIOD + 9]);
        let mut others = [7, 20];
        extend(&mut others);
        assert_eq!(others, [PERIOD + 7, PERIOD + 20]);
        let mut before = [late - 5, late];
        extend(&mut before);
        assert_eq!(before, [late - 5, late]);
        assert!(!is_wrap(HALF, 0) && !is_wrap(5, 5) && is_wrap(HALF + 1, 0));
        // A clock of 64 bits.
        assert!(!is_wrap(PERIOD + HALF + 1, 0));
    }
}
