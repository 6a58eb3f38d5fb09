//! Seeds that differ in each run.

/// Returns a random seed of at most twelve digits, so that a person can type it.
///
/// # Panics
/// If the system has no random numbers.
#[must_use]
pub fn fresh() -> u64 {
    getrandom::u64().expect("the system draws random numbers") % 1_000_000_000_000
}
