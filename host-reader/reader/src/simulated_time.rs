//! Times that come from a simulator, and the limits of a chip that this simulator leaves out.

use std::{collections::BTreeSet, fmt};

/// Statement that the times of a recording are simulated.
///
/// ```
/// use reader::simulated_time::SimulatedTime;
/// let unmodelled = ["NoC link rates", "compute time"].map(str::to_owned).to_vec();
/// let mut simulated = SimulatedTime { unmodelled, lifted: Vec::new() };
/// assert_eq!(simulated.to_string(), "Simulated times leave out NoC link rates and compute time.");
/// simulated.lifted.push("DRAM".to_owned());
/// assert!(simulated.to_string().ends_with(" compute time, and, as requested, DRAM."));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulatedTime {
    /// Limits of a chip that the simulator does not model, such as `NoC link rates`. Work that they
    /// limit on a chip takes less time in the recording.
    pub unmodelled: Vec<String>,
    /// Limits that the simulator models, and that this run lifted, such as `DRAM`.
    pub lifted: Vec<String>,
}

impl SimulatedTime {
    /// Adds the limits that another part of the same recording leaves out.
    pub fn merge(&mut self, other: Self) {
        let lists = [(&mut self.unmodelled, other.unmodelled), (&mut self.lifted, other.lifted)];
        for (limits, others) in lists {
            let known: BTreeSet<String> = limits.iter().cloned().collect();
            limits.extend(others.into_iter().filter(|limit| !known.contains(limit)));
        }
    }
}

/// Writes one sentence.
impl fmt::Display for SimulatedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.unmodelled.as_slice(), self.lifted.as_slice()) {
            ([], []) => f.write_str("Times are simulated."),
            (unmodelled, []) => write!(f, "Simulated times leave out {}.", listed(unmodelled)),
            ([], lifted) => {
                write!(f, "Simulated times leave out, as requested, {}.", listed(lifted))
            }
            (unmodelled, lifted) => write!(
                f,
                "Simulated times leave out {}, and, as requested, {}.",
                listed(unmodelled),
                listed(lifted)
            ),
        }
    }
}

fn listed(limits: &[String]) -> String {
    match limits {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        limits => limits.concat(),
    }
}
