//! Python packages that tests run for comparison.

use std::process::Command;

/// Returns the Python interpreter that has the packages: `KPROF_REPORTS_PYTHON`, which `.ci/run`
/// sets, or `python3`.
pub(crate) fn python() -> Command {
    let python = std::env::var_os("KPROF_REPORTS_PYTHON").unwrap_or_else(|| "python3".into());
    Command::new(python)
}

/// Returns true if a package is installed, by the name of its module. In CI, a missing
/// package is a failure.
pub(crate) fn is_installed(package: &str, module: &str) -> bool {
    let output = python().args(["-c", &format!("import {module}")]).output();
    let is_there = output.is_ok_and(|output| output.status.success());
    if !is_there {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{package} is not installed");
        println!(
            "skipped: install {package} and name its Python in the variable KPROF_REPORTS_PYTHON"
        );
    }
    is_there
}
