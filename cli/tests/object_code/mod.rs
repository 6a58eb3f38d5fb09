//! Checks whether the program can run kernels as object code.

use sim::machine::{TARGET, has_object_code};

/// Returns true if the program can run object code; otherwise prints what to install, and fails in
/// CI.
pub(crate) fn is_there() -> bool {
    let is_there = has_object_code();
    if !is_there {
        let line = format!("skipped: no object code; `rustup target add {TARGET}`");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{line}");
        println!("{line}");
    }
    is_there
}
