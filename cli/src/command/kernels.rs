//! Kind of a run's kernels, the number of threads they run on, and their failures.

use crate::{
    args::Kernels,
    failure::{Failure, note},
    numbers::counted,
};
use sim::{
    machine::{KernelKind, TARGET, has_object_code},
    workload::Plan,
};
use std::num::NonZeroUsize;

/// The kernels that were asked for; object code if nothing was said and there is any, and
/// otherwise native kernels and a line that says why.
pub(super) fn choose(asked: Option<Kernels>, plan: &Plan) -> Result<KernelKind, Failure> {
    let hindrance = hindrance(has_object_code(), plan.runs_as_object_code());
    match (asked, hindrance) {
        (Some(Kernels::Native), _) if !plan.runs_natively() => Err(Failure::Sentence(
            "kernels of this workload exist only as object code; choose --kernels riscv".to_owned(),
        )),
        (Some(Kernels::Native), _) => Ok(KernelKind::Native),
        (Some(Kernels::Riscv) | None, None) => Ok(KernelKind::Riscv),
        (None, Some(hindrance)) if plan.runs_natively() => {
            note!("kprof: native kernels, whose costs are estimates: {hindrance}");
            Ok(KernelKind::Native)
        }
        (_, Some(hindrance)) => {
            Err(Failure::Sentence(format!("cannot run object code: {hindrance}")))
        }
    }
}

/// Returns why kernels cannot run as object code, and the remedy; `None` if they can.
fn hindrance(has_object_code: bool, is_in_object_code: bool) -> Option<String> {
    match (has_object_code, is_in_object_code) {
        (false, _) => Some(format!(
            "this kprof was built without the riscv32im target; \
             `rustup target add {TARGET}` and build it again"
        )),
        (true, false) => Some(
            "a kernel of this workload exists only as a native function; \
             choose --kernels native"
                .to_owned(),
        ),
        (true, true) => None,
    }
}

/// Sets the number of threads; one per processor if none was given.
pub(super) fn use_threads(count: Option<NonZeroUsize>) -> Result<(), Failure> {
    let Some(count) = count else { return Ok(()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(count.get());
    pool.build_global().map_err(|error| {
        Failure::Sentence(format!("cannot start {count} threads: {error}; choose fewer"))
    })
}

/// Prints kernels that went wrong, at most `rows` of them; returns true if there were any.
pub(super) fn print_failures(failures: &[String], rows: usize) -> bool {
    let shown = if rows == 0 { failures.len() } else { rows };
    for failure in failures.iter().take(shown) {
        note!("kprof: {failure}");
    }
    if failures.len() > shown {
        let hidden = counted((failures.len() - shown) as u64, "more failure", "more failures");
        note!("kprof: {hidden} of kernels, --rows 0 shows all");
    }
    !failures.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_install_is_said_where_the_target_was_missing() {
        assert_eq!(hindrance(true, true), None);
        let sentence = hindrance(false, true).unwrap();
        assert!(sentence.contains("`rustup target add riscv32im-unknown-none-elf`"), "{sentence}");
        assert!(hindrance(true, false).unwrap().contains("native function"));
    }
}
