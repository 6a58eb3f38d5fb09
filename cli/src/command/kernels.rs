//! Kind of a run's kernels, the number of threads they run on, and their failures.

use crate::{
    args::{Backend, Kernels},
    failure::{Failure, note},
    numbers::counted,
};
use sim::{
    machine::{KernelKind, TARGET, has_object_code},
    workload::Plan,
};
use std::{fmt, num::NonZeroUsize};

/// Returns the requested kind of kernels. Default: object code if available; otherwise native
/// kernels, with a note that states the reason. Only kprof's own simulator has native kernels.
pub(super) fn choose(
    asked: Option<Kernels>,
    backend: Backend,
    plan: &Plan,
) -> Result<KernelKind, Failure> {
    let hindrance = Hindrance::of(has_object_code(), plan.runs_as_object_code());
    let refuse = |hindrance: Hindrance| {
        let remedy = hindrance.remedy();
        Err(Failure::Sentence(format!("cannot run object code: {hindrance}; {remedy}")))
    };
    match (asked, backend, hindrance) {
        (Some(Kernels::Native), Backend::Ttsim, _) => Err(Failure::Sentence(
            "native kernels run only on this project's simulator; choose --kernels riscv"
                .to_owned(),
        )),
        (Some(Kernels::Native), Backend::Sim, _) if !plan.runs_natively() => {
            Err(Failure::Sentence(
                "kernels of this workload exist only as object code; choose --kernels riscv"
                    .to_owned(),
            ))
        }
        (Some(Kernels::Native), Backend::Sim, _) => Ok(KernelKind::Native),
        (Some(Kernels::Riscv) | None, _, None) => Ok(KernelKind::Riscv),
        (None, Backend::Sim, Some(hindrance)) if plan.runs_natively() => {
            note!("kprof: native kernels, whose costs are estimates: {hindrance}");
            Ok(KernelKind::Native)
        }
        (_, _, Some(hindrance)) => refuse(hindrance),
    }
}

/// Reason why kernels cannot run as object code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hindrance {
    /// This program was built without any.
    NoObjectCode,
    /// A kernel of the workload exists only as a native function. Only pipelines have such kernels.
    NativeKernel,
}

impl Hindrance {
    /// Returns the first reason that applies; `None` if object code can run.
    const fn of(has_object_code: bool, is_in_object_code: bool) -> Option<Self> {
        match (has_object_code, is_in_object_code) {
            (false, _) => Some(Self::NoObjectCode),
            (true, false) => Some(Self::NativeKernel),
            (true, true) => None,
        }
    }

    fn remedy(self) -> String {
        match self {
            Self::NoObjectCode => format!("`rustup target add {TARGET}` and build it again"),
            Self::NativeKernel => {
                "choose --waits totals or events, and --pipeline without straggler, \
                                   ahead and group"
                    .to_owned()
            }
        }
    }
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoObjectCode => "this kprof was built without the riscv32im target",
            Self::NativeKernel => "a kernel of this workload exists only as a native function",
        })
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

/// Prints at most `rows` failed kernels; returns true if there were any.
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
        assert_eq!(Hindrance::of(true, true), None);
        assert_eq!(Hindrance::of(false, false), Some(Hindrance::NoObjectCode));
        let sentence = Hindrance::of(false, true).unwrap().remedy();
        assert!(sentence.contains("`rustup target add riscv32im-unknown-none-elf`"), "{sentence}");
        let sentence = Hindrance::of(true, false).unwrap().to_string();
        assert!(sentence.contains("native function"), "{sentence}");
    }
}
