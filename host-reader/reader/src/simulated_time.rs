//! Times that come from a simulator, and the limits of a chip that this simulator leaves out.

use std::{collections::BTreeSet, fmt};

/// Statement that the times of a recording are simulated.
///
/// ```
/// use reader::simulated_time::SimulatedTime;
/// let unmodelled = ["NoC link rates", "compute time"].map(str::to_owned).to_vec();
/// let simulated = SimulatedTime { unmodelled };
/// assert_eq!(simulated.to_string(), "Simulated times leave out NoC link rates and compute time.");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatedTime {
    /// Limits of a chip that the simulator does not model, such as `NoC link rates`. Work that they
    /// limit on a chip takes less time in the recording.
    pub unmodelled: Vec<String>,
}

impl SimulatedTime {
    /// Adds the limits that another part of the same recording leaves out.
    pub fn merge(&mut self, other: Self) {
        let known: BTreeSet<String> = self.unmodelled.iter().cloned().collect();
        let new = other.unmodelled.into_iter().filter(|limit| !known.contains(limit));
        self.unmodelled.extend(new);
    }
}

/// Writes one sentence.
impl fmt::Display for SimulatedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unmodelled.as_slice() {
            [] => f.write_str("Times are simulated."),
            [one] => write!(f, "Simulated times leave out {one}."),
            [first @ .., last] => {
                write!(f, "Simulated times leave out {} and {last}.", first.join(", "))
            }
        }
    }
}
