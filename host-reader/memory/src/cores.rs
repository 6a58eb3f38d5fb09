//! Sets of cores, as text.

use std::{collections::BTreeSet, fmt, str::FromStr};
use thiserror::Error;

/// Most cores of a chip in one row or column.
const MOST_IN_ROW: u32 = 64;

/// Cores of a chip by their NoC-0 coordinates.
///
/// The text has the rectangles of the set, separated by blanks: `X-Y` for one core, and `X-Y:X-Y`
/// for the cores between two corners.
///
/// ```
/// use memory::CoreSet;
/// let cores: CoreSet = [(1, 1), (2, 1), (1, 2), (2, 2), (5, 2)].into_iter().collect();
/// assert_eq!(cores.to_string(), "1-1:2-2 5-2");
/// assert_eq!("1-1:2-2 5-2".parse(), Ok(cores));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CoreSet(BTreeSet<(u32, u32)>);

/// Reason why a text is not a set of cores.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("expected cores such as 1-1:8-4, found `{0}`")]
pub struct CoreSetError(String);

impl CoreSet {
    /// Returns the number of cores.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there is no core.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the core is in the set.
    #[must_use]
    pub fn contains(&self, core: (u32, u32)) -> bool {
        self.0.contains(&core)
    }

    /// Returns the core with the lowest x, and of these the one with the lowest y.
    #[must_use]
    pub fn first(&self) -> Option<(u32, u32)> {
        self.0.first().copied()
    }
}

impl FromIterator<(u32, u32)> for CoreSet {
    fn from_iter<I: IntoIterator<Item = (u32, u32)>>(cores: I) -> Self {
        Self(cores.into_iter().collect())
    }
}

impl fmt::Display for CoreSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Columns of consecutive cores, then neighbours with the same rows.
        let mut left = self.0.clone();
        let mut separator = "";
        while let Some((x, y)) = left.pop_first() {
            let mut last_y = y;
            while left.remove(&(x, last_y + 1)) {
                last_y += 1;
            }
            let mut last_x = x;
            while (y..=last_y).all(|row| left.contains(&(last_x + 1, row))) {
                last_x += 1;
                (y..=last_y).for_each(|row| {
                    left.remove(&(last_x, row));
                });
            }
            write!(f, "{separator}{x}-{y}")?;
            if (last_x, last_y) != (x, y) {
                write!(f, ":{last_x}-{last_y}")?;
            }
            separator = " ";
        }
        Ok(())
    }
}

impl FromStr for CoreSet {
    type Err = CoreSetError;

    fn from_str(text: &str) -> Result<Self, CoreSetError> {
        let wrong = || CoreSetError(text.chars().take(80).collect());
        let mut cores = BTreeSet::new();
        for part in text.split_whitespace() {
            let (first, last) = part.split_once(':').unwrap_or((part, part));
            let (x, y) = core(first).ok_or_else(wrong)?;
            let (last_x, last_y) = core(last).ok_or_else(wrong)?;
            if last_x < x || last_y < y {
                return Err(wrong());
            }
            cores.extend((x..=last_x).flat_map(|x| (y..=last_y).map(move |y| (x, y))));
        }
        Ok(Self(cores))
    }
}

fn core(text: &str) -> Option<(u32, u32)> {
    let (x, y) = text.split_once('-')?;
    let number = |text: &str| text.parse().ok().filter(|&number| number < MOST_IN_ROW);
    Some((number(x)?, number(y)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_the_same_after_its_text() {
        // A linear congruential generator of fixed seeds.
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            u32::try_from(state >> 33).unwrap()
        };
        for round in 0..500 {
            let count = random() % 40;
            let cores: CoreSet = (0..count).map(|_| (random() % 9, random() % 7)).collect();
            let text = cores.to_string();
            assert_eq!(text.parse(), Ok(cores), "{round}: {text}");
        }
    }

    #[test]
    fn a_grid_with_a_gap_is_two_rectangles() {
        let grid = (1..=9).filter(|&x| x != 5).flat_map(|x| (1..=3).map(move |y| (x, y)));
        assert_eq!(grid.collect::<CoreSet>().to_string(), "1-1:4-3 6-1:9-3");
        assert_eq!("".parse(), Ok(CoreSet::default()));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in
            ["1", "1-", "1-1:", "2-2:1-1", "1-1:64-1", "-1-1", "1-1,2-2", "0-0:63-4294967295"]
        {
            assert!(text.parse::<CoreSet>().is_err(), "{text}");
        }
    }
}
