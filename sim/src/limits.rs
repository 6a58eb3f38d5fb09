//! Limits of real chips: those that the timing model leaves out, and those that it can lift.
//!
//! Everything that says which limits are missing takes the list from here: the output of simulated
//! runs, captures, and the documentation, which a test compares with this list.

use reader::simulated_time::SimulatedTime;
use std::{fmt, str::FromStr};

/// Limits that are not modelled. A limit leaves this list when its model is complete.
pub const UNMODELLED: [&str; 1] = ["L1 banks"];

/// Environment variable with the limits that `libkprof_chip.so` lifts, as text of [`LiftedLimits`].
pub const WHAT_IF_VARIABLE: &str = "KPROF_CHIP_WHAT_IF";

/// A limit of the timing model that can be lifted: the same program then shows what the limit costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Rates and latencies of DRAM. Without them, DRAM answers like the L1 of a tile at its place.
    Dram,
    /// Rates of the links of the NoC and of the tiles' interfaces to it. Without them, a packet
    /// takes the time of its way, whatever its size, and waits for no other packet.
    Noc,
    /// Times of the coprocessor's instructions. Without them, the RISCs' speed limits what threads
    /// execute, and threads wait only for data and semaphores.
    Compute,
    /// Misses in instruction caches, and branches that their predictor does not know. Without them,
    /// all code counts as executed before.
    Caches,
}

impl Limit {
    /// All limits that can be lifted.
    pub const ALL: [Self; 4] = [Self::Dram, Self::Noc, Self::Compute, Self::Caches];

    /// Returns the name of the limit in sentences.
    ///
    /// ```
    /// assert_eq!(sim::limits::Limit::Noc.label(), "NoC rates");
    /// ```
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Dram => "DRAM",
            Self::Noc => "NoC rates",
            Self::Compute => "compute",
            Self::Caches => "instruction caches",
        }
    }

    /// Returns the text that lifts the limit.
    const fn request(self) -> &'static str {
        match self {
            Self::Dram => "dram=free",
            Self::Noc => "noc=free",
            Self::Compute => "compute=free",
            Self::Caches => "caches=warm",
        }
    }
}

/// Limits that a simulation lifts.
///
/// Its text form lists them:
///
/// ```
/// use sim::limits::{Limit, LiftedLimits};
/// let lifted: LiftedLimits = "dram=free,caches=warm".parse().unwrap();
/// assert!(lifted.has(Limit::Dram) && !lifted.has(Limit::Noc));
/// assert_eq!(lifted.to_string(), "dram=free,caches=warm");
/// assert!("dram".parse::<LiftedLimits>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiftedLimits([bool; Limit::ALL.len()]);

impl LiftedLimits {
    /// No limit is lifted.
    pub const NONE: Self = Self([false; Limit::ALL.len()]);

    /// Returns the same limits and one more.
    #[must_use]
    pub const fn and(mut self, limit: Limit) -> Self {
        self.0[limit as usize] = true;
        self
    }

    /// Returns true if a limit is lifted.
    #[must_use]
    pub const fn has(self, limit: Limit) -> bool {
        self.0[limit as usize]
    }

    /// Returns the limits that [`WHAT_IF_VARIABLE`] lifts; none without it.
    ///
    /// # Errors
    /// If the variable holds another text.
    pub fn from_environment() -> Result<Self, UnknownLimit> {
        std::env::var(WHAT_IF_VARIABLE).map_or(Ok(Self::NONE), |text| text.parse())
    }

    /// Returns the lifted limits.
    ///
    /// ```
    /// use sim::limits::{Limit, LiftedLimits};
    /// let lifted = LiftedLimits::NONE.and(Limit::Noc);
    /// assert!(lifted.limits().eq([Limit::Noc]));
    /// ```
    pub fn limits(self) -> impl Iterator<Item = Limit> {
        Limit::ALL.into_iter().filter(move |&limit| self.has(limit))
    }
}

impl fmt::Display for LiftedLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, limit) in self.limits().enumerate() {
            let separator = if index > 0 { "," } else { "" };
            write!(f, "{separator}{}", limit.request())?;
        }
        Ok(())
    }
}

/// Reason why a text lifts no limits: one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {}, found `{found}`", expected())]
pub struct UnknownLimit {
    found: String,
}

fn expected() -> String {
    let [first @ .., last] = &Limit::ALL;
    let first: Vec<_> = first.iter().map(|limit| limit.request()).collect();
    format!("{} or {}, or several of them separated by commas", first.join(", "), last.request())
}

impl FromStr for LiftedLimits {
    type Err = UnknownLimit;

    fn from_str(text: &str) -> Result<Self, UnknownLimit> {
        text.split(',').map(str::trim).try_fold(Self::NONE, |lifted, found| {
            let limit = Limit::ALL.into_iter().find(|limit| limit.request() == found);
            let limit = limit.ok_or_else(|| UnknownLimit { found: found.to_owned() })?;
            Ok(lifted.and(limit))
        })
    }
}

/// Returns what a recording of simulated chips says about its times.
///
/// ```
/// use sim::limits::{LiftedLimits, simulated_time};
/// let sentence = simulated_time(LiftedLimits::NONE).to_string();
/// assert!(sentence.starts_with("Simulated times leave out "));
/// ```
#[must_use]
pub fn simulated_time(lifted: LiftedLimits) -> SimulatedTime {
    SimulatedTime {
        unmodelled: UNMODELLED.map(str::to_owned).to_vec(),
        lifted: lifted.limits().map(|limit| limit.label().to_owned()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_of_limits_is_read_back_from_its_text() {
        for bits in 1..1_usize << Limit::ALL.len() {
            let chosen = Limit::ALL.into_iter().filter(|&limit| bits >> limit as usize & 1 != 0);
            let lifted = chosen.clone().fold(LiftedLimits::NONE, LiftedLimits::and);
            assert_eq!(lifted.to_string().parse(), Ok(lifted));
            assert!(lifted.limits().eq(chosen));
        }
    }

    #[test]
    fn another_limit_is_refused_in_words() {
        let refused = |text: &str| text.parse::<LiftedLimits>().unwrap_err().to_string();
        let expected = "expected dram=free, noc=free, compute=free or caches=warm, or several of \
                        them separated by commas, found `dram=warm`";
        assert_eq!(refused("noc=free,dram=warm"), expected);
        assert!(refused("").ends_with("found ``"));
    }
}
