//! Sizes of tests: `.ci/full` tries more cases and larger recordings than `.ci/run` and a plain
//! `cargo test`.

/// Returns true where tests have their full sizes: `KPROF_FULL_SIZES` requests them.
#[must_use]
pub fn is_full() -> bool {
    std::env::var_os("KPROF_FULL_SIZES").is_some()
}

/// Returns the first value where tests have their full sizes, and the second value elsewhere.
#[must_use]
pub fn full_or<T>(full: T, plain: T) -> T {
    if is_full() { full } else { plain }
}
