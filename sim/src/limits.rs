//! Limits of real chips that the timing model leaves out.
//!
//! Everything that says which limits are missing takes the list from here: the output of simulated
//! runs, captures, and the documentation, which a test compares with this list.

use reader::simulated_time::SimulatedTime;

/// Limits that are not modelled. A limit leaves this list when its model is complete.
pub const UNMODELLED: [&str; 2] = ["compute", "L1 banks"];

/// Returns what a recording of simulated chips says about its times.
///
/// ```
/// let sentence = sim::limits::simulated_time().to_string();
/// assert!(sentence.starts_with("Simulated times leave out "));
/// ```
#[must_use]
pub fn simulated_time() -> SimulatedTime {
    SimulatedTime { unmodelled: UNMODELLED.map(str::to_owned).to_vec() }
}
