//! Progress of work that takes long, on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    io::{IsTerminal, stderr},
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_millis(700);
/// How often a sign of life is given.
const TICK: Duration = Duration::from_millis(100);

/// Message that names the work in progress until it is dropped, for work without steps.
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
        let show = move || {
            if is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let bar = ProgressBar::new_spinner();
                if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
                    bar.set_style(style);
                }
                bar.set_message(what);
                bar.enable_steady_tick(TICK);
                // Until it is done, which the other end says by being dropped.
                let _ = is_done.recv();
                bar.finish_and_clear();
            }
        };
        Self { waiting: Some((done, std::thread::spawn(show))) }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let Some((done, shown)) = self.waiting.take() else { return };
        drop(done);
        // The line must be gone before anything else is printed.
        let _ = shown.join();
    }
}

/// A bar that appears only once the work has taken a while.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
}

impl Progress {
    /// A hidden bar for `step_count` steps of `what`.
    pub(crate) fn new(what: &'static str, step_count: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(step_count), ProgressDrawTarget::hidden());
        bar.set_message(what);
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}") {
            bar.set_style(style);
        }
        Self { bar, started: Instant::now() }
    }

    /// Says how many steps are done.
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
