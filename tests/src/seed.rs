//! Seeds of runs that are different each time.

/// Returns a seed that the system has drawn, of twelve digits at most so that a person can give
/// it again.
///
/// # Panics
/// If the system has no random numbers.
#[must_use]
pub fn fresh() -> u64 {
    getrandom::u64().expect("the system draws random numbers") % 1_000_000_000_000
}
