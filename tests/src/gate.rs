//! Sizes of tests: the gate tries more cases and larger recordings than a plain `cargo test`.

/// Returns true in the gate, where tests have their full sizes. `KPROF_GATE_SIZES` requests these
/// sizes elsewhere.
#[must_use]
pub fn is_gate() -> bool {
    let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    is_ci || std::env::var_os("KPROF_GATE_SIZES").is_some()
}

/// Returns the first value in the gate, and the second value in a plain run.
#[must_use]
pub fn gate_or<T>(gate: T, plain: T) -> T {
    if is_gate() { gate } else { plain }
}
