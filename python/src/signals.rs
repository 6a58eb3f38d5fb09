//! Signals that end a process which runs no bytecode, because a call into C++ never returns.

use crate::ttnn::outside::finish_all;
use pyo3::prelude::*;
use signal_hook::{iterator::Signals, low_level::emulate_default_handler};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

/// True after Python has begun to handle a signal.
static IS_ANSWERED: AtomicBool = AtomicBool::new(false);

/// Lets signals end the process as they do without a handler in Python, if Python does not get to
/// run it.
///
/// Python runs handlers between two instructions of its main thread. A program that waits for ever
/// in a call into C++, such as for a kernel that hangs, would otherwise ignore `SIGTERM`. Call this
/// after handlers were set with `signal.signal`: both kinds of handlers run.
///
/// Before that, the memory of simulated chips is read without a launch, and captures are ended.
///
/// After a signal, the process has `grace_seconds` to begin, which `signal_answered` tells, and
/// `end_seconds` to end.
///
/// # Errors
/// Raises `OSError` if the signals cannot be watched.
#[pyfunction]
pub(crate) fn end_at_signals(
    signals: Vec<i32>,
    grace_seconds: f64,
    end_seconds: f64,
) -> PyResult<()> {
    let [grace, end] =
        [grace_seconds, end_seconds].map(|seconds| Duration::from_secs_f64(seconds.max(0.0)));
    IS_ANSWERED.store(false, Ordering::SeqCst);
    let mut signals = Signals::new(signals)?;
    std::thread::Builder::new().name("kprof-signals".to_owned()).spawn(move || {
        let Some(signal) = signals.forever().next() else { return };
        std::thread::sleep(grace);
        let what = if IS_ANSWERED.load(Ordering::SeqCst) {
            std::thread::sleep(end);
            format!("the last read of the chips has not ended for {} s", end.as_secs_f64())
        } else {
            format!(
                "the program waits in a call that does not return for {} s",
                grace.as_secs_f64()
            )
        };
        eprintln!("kprof: {what} after signal {signal}, so it ends now");
        finish_all();
        // Never returns for a signal whose default action is to end the process.
        let _ = emulate_default_handler(signal);
    })?;
    Ok(())
}

/// Tells that Python has begun to handle a signal.
#[pyfunction]
pub(crate) fn signal_answered() {
    IS_ANSWERED.store(true, Ordering::SeqCst);
}
