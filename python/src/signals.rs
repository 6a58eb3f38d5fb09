//! Signals that end a process which runs no bytecode, because a call into C++ never returns.

use crate::ttnn::outside::finish_all;
use pyo3::prelude::*;
use signal_hook::{consts::SIGINT, iterator::Signals, low_level::emulate_default_handler};
use std::{
    sync::atomic::{AtomicBool, AtomicU8, Ordering},
    thread,
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
    thread::Builder::new().name("kprof-signals".to_owned()).spawn(move || {
        let Some(signal) = signals.forever().next() else { return };
        thread::sleep(grace);
        let what = if IS_ANSWERED.load(Ordering::SeqCst) {
            thread::sleep(end);
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

/// Python has run since the last interrupt, or there was none.
const RUNS: u8 = 0;
/// Python has not run since an interrupt.
const WAITS: u8 = 1;
/// As `WAITS`, and the user was told.
const TOLD: u8 = 2;

static INTERRUPTED: AtomicU8 = AtomicU8::new(RUNS);

/// Ends the process at a second `SIGINT`, which Ctrl-C sends, if Python has run nothing since the
/// first one.
///
/// Python raises `KeyboardInterrupt` between two instructions of its main thread, so not in a call
/// into C++ that never returns. `ask` must let the main thread call `interrupt_answered` as soon as
/// it runs again. If it has not done so after `grace_seconds`, the user is told that another
/// Ctrl-C ends the program; before that, no number of interrupts ends it. Before it ends, the
/// memory of simulated chips is read without a launch, and captures are ended.
///
/// # Errors
/// Raises `OSError` if the signal cannot be watched.
#[pyfunction]
pub(crate) fn end_at_interrupts(ask: Py<PyAny>, grace_seconds: f64) -> PyResult<()> {
    let grace = Duration::from_secs_f64(grace_seconds.max(0.0));
    INTERRUPTED.store(RUNS, Ordering::SeqCst);
    let mut signals = Signals::new([SIGINT])?;
    thread::Builder::new().name("kprof-interrupts".to_owned()).spawn(move || {
        let ask = std::sync::Arc::new(ask);
        for _ in signals.forever() {
            let change = |from, to| {
                INTERRUPTED.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
            };
            if change(TOLD, TOLD) {
                eprintln!("kprof: the program is ended at the second Ctrl-C");
                finish_all();
                // Never returns: the default action of the signal is to end the process.
                let _ = emulate_default_handler(SIGINT);
            }
            if !change(RUNS, WAITS) {
                continue;
            }
            let ask = std::sync::Arc::clone(&ask);
            // A call into C++ may keep Python's lock for ever.
            thread::spawn(move || Python::try_attach(|python| ask.call0(python).is_ok()));
            thread::spawn(move || {
                thread::sleep(grace);
                if change(WAITS, TOLD) {
                    eprintln!(
                        "kprof: the program is in a call that has not returned for {} s since \
                         Ctrl-C; press Ctrl-C again to end it and keep its records",
                        grace.as_secs_f64()
                    );
                }
            });
        }
    })?;
    Ok(())
}

/// Tells that Python's main thread has run since the last `SIGINT`.
#[pyfunction]
pub(crate) fn interrupt_answered() {
    INTERRUPTED.store(RUNS, Ordering::SeqCst);
}
