//! Checks for the kernels' object code, sets the number of threads, and reports failures of
//! kernels.

use crate::{
    failure::{Failure, failure, note},
    numbers::counted,
};
use sim::machine::{TARGET, has_object_code};
use std::num::NonZeroUsize;

/// Returns an error if this program was built without the object code of the kernels.
pub(super) fn check_object_code() -> Result<(), Failure> {
    if has_object_code() { Ok(()) } else { Err(no_object_code()) }
}

fn no_object_code() -> Failure {
    failure!(
        "cannot run kernels: this kprof was built without the riscv32im target; `rustup target add \
         {TARGET}` and build it again"
    )
}

/// Sets the number of threads; without a number, each processor gets one thread.
pub(super) fn use_threads(count: Option<NonZeroUsize>) -> Result<(), Failure> {
    let Some(count) = count else { return Ok(()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(count.get());
    pool.build_global()
        .map_err(|error| failure!("cannot start {count} threads: {error}; choose fewer"))
}

/// Prints at most `rows` failures of kernels; returns true if there is at least one failure.
pub(super) fn print_failures(failures: &[String], rows: usize) -> bool {
    for failure in failures.iter().take(rows) {
        note!("kprof: {failure}");
    }
    if failures.len() > rows {
        let hidden = counted((failures.len() - rows) as u64, "more failure", "more failures");
        note!("kprof: {hidden} of kernels, --rows 0 shows all");
    }
    !failures.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_install_is_said_where_the_target_was_missing() {
        let Failure::Sentence(sentence) = no_object_code() else { panic!("no sentence") };
        assert!(sentence.contains("`rustup target add riscv32im-unknown-none-elf`"), "{sentence}");
    }
}
