//! A progress bar for work that takes long, on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_millis(700);

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
