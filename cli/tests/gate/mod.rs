//! Sizes of tests: CI tries more cases and larger recordings than a plain `cargo test`.

/// Returns true in CI.
pub(crate) fn is_gate() -> bool {
    std::env::var("CI").as_deref() == Ok("true")
}

/// Returns the first value in CI, and the second value in a plain run.
pub(crate) fn gate_or<T>(gate: T, plain: T) -> T {
    if is_gate() { gate } else { plain }
}
