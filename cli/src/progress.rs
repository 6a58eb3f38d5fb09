//! Progress messages for long work, shown only on a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    io::{IsTerminal, stderr},
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// Delay before progress is shown.
const PATIENCE: Duration = Duration::from_millis(700);
/// Interval between updates.
const TICK: Duration = Duration::from_millis(100);

/// Message about work of unknown duration, shown until this value is dropped.
pub(crate) struct Busy {
    waiting: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Busy {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        if !stderr().is_terminal() {
            return Self { waiting: None };
        }
        let what = what.into();
        let (done, is_done) = channel();
        let shown = std::thread::spawn(move || {
            if is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let bar = ProgressBar::new_spinner();
                if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
                    bar.set_style(style);
                }
                bar.set_message(what);
                bar.enable_steady_tick(TICK);
                // Wait until the sender is dropped. This means that the work is done.
                let _ = is_done.recv();
                bar.finish_and_clear();
            }
        });
        Self { waiting: Some((done, shown)) }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let Some((done, shown)) = self.waiting.take() else { return };
        drop(done);
        // The line must be cleared before anything else is printed.
        let _ = shown.join();
    }
}

/// Progress bar that appears after a delay.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
}

impl Progress {
    /// Creates a hidden bar for `step_count` steps of `what`.
    pub(crate) fn new(what: &'static str, step_count: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(step_count), ProgressDrawTarget::hidden());
        bar.set_message(what);
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}") {
            bar.set_style(style);
        }
        Self { bar, started: Instant::now() }
    }

    /// Sets the number of finished steps.
    pub(crate) fn set(&self, steps_done: u64) {
        if self.bar.is_hidden() && self.started.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(steps_done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
