//! The program as tests run it.

use std::{
    path::Path,
    process::{Command, Output},
};

/// Runs `kprof` in a folder of its own.
pub(crate) fn kprof(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kprof"))
        .args(args)
        .current_dir(folder)
        .env_remove("TT_METAL_PROFILER_DIR")
        .env_remove("TT_METAL_PROFILE_PERF_COUNTERS")
        .output()
        .unwrap()
}
