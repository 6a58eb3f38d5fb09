//! Random numbers in independent streams, all derived from one seed.
//!
//! A stream is identified by a path (chip, core, purpose, ...). The random numbers for one tile
//! therefore depend neither on other tiles nor on the order in which tiles run.

/// A stream of random numbers (splitmix64).
///
/// ```
/// use sim::random::Stream;
/// let mut one = Stream::new(7, &[1, 2]);
/// let mut same = Stream::new(7, &[1, 2]);
/// let mut other = Stream::new(7, &[2, 1]);
/// let first = one.next_u64();
/// assert_eq!(first, same.next_u64());
/// assert_ne!(first, other.next_u64());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    state: u64,
}

impl Stream {
    /// Creates the stream that `seed` and `path` identify.
    #[must_use]
    pub fn new(seed: u64, path: &[u64]) -> Self {
        let state = path.iter().fold(mix(seed ^ GOLDEN), |state, &step| {
            mix(state.rotate_left(17) ^ step.wrapping_mul(GOLDEN))
        });
        Self { state }
    }

    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Returns a random number below `bound`, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a random number from `low` to `high`, inclusive.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// Returns true with a probability of `parts_per_million` in a million.
    pub fn chance(&mut self, parts_per_million: u32) -> bool {
        match parts_per_million {
            0 => false,
            1_000_000.. => true,
            _ => self.below(1_000_000) < u64::from(parts_per_million),
        }
    }
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_both_ends() {
        let mut stream = Stream::new(1, &[]);
        let drawn: Vec<u64> = (0..1000).map(|_| stream.between(3, 6)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&3), Some(&6)));
        assert_eq!(stream.below(0), 0);
    }

    #[test]
    fn chances_are_kept_within_sampling_error() {
        let mut stream = Stream::new(2, &[]);
        let hits = (0..100_000).filter(|_| stream.chance(250_000)).count();
        assert!((24_000..26_000).contains(&hits), "{hits}");
        assert!(stream.chance(1_000_000) && !stream.chance(0));
    }

    #[test]
    fn the_generator_is_splitmix64() {
        // First output of the reference generator from state 0.
        let mut stream = Stream { state: 0 };
        assert_eq!(stream.next_u64(), 0xE220_A839_7B1D_CDAF);
    }
}
