//! Reading of a mesh from a separate thread, while programs run on the mesh.

use std::{
    io,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

/// Thread that calls a read function periodically.
///
/// For example, the function can read a mesh and write the data to a recorder. If a read takes
/// longer than the period, the next read follows immediately. Nothing is lost if the lanes have
/// room for the launches of one period plus the duration of one read. The [watermarks] of each read
/// show how full the lanes were.
///
/// [watermarks]: crate::readout::Readout::watermarks
///
/// ```
/// use reader::read::PeriodicThread;
/// use std::time::Duration;
/// let thread = PeriodicThread::start(Duration::from_millis(1), Vec::new(), |reads, is_last| {
///     reads.push(is_last);
/// })?;
/// let reads = thread.stop().unwrap();
/// assert!(reads.split_last().is_some_and(|(last, others)| *last && !others.contains(&true)));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct PeriodicThread<T> {
    stop: SyncSender<()>,
    thread: JoinHandle<T>,
}

impl<T: Send + 'static> PeriodicThread<T> {
    /// Starts a thread that calls `read` every `period`, the first time immediately.
    ///
    /// The first argument of `read` is `state`. The second argument is true only for the last call,
    /// which is made after the stop.
    ///
    /// # Errors
    /// If the system cannot create a thread; `state` is then dropped.
    pub fn start(
        period: Duration,
        state: T,
        read: impl FnMut(&mut T, bool) + Send + 'static,
    ) -> io::Result<Self> {
        // The channel has room for one message, so sending does not wait for a read.
        let (stop, stopped) = sync_channel(1);
        let thread = Builder::new()
            .name("kprof-read".to_owned())
            .spawn(move || read_until(&stopped, period, state, read))?;
        Ok(Self { stop, thread })
    }

    /// Stops the thread after a last call of `read`, and returns the state.
    ///
    /// # Errors
    /// If a call of `read` has panicked; the error contains the panic.
    pub fn stop(self) -> std::thread::Result<T> {
        let Self { stop, thread } = self;
        // A thread that has panicked no longer receives.
        let _ = stop.send(());
        thread.join()
    }
}

impl<T> PeriodicThread<T> {
    /// Ends a [`park_timeout`](std::thread::park_timeout) of the read function.
    pub(super) fn wake(&self) {
        self.thread.thread().unpark();
    }
}

/// Calls `read` every `period` until a message arrives or the sender is dropped, and then once
/// more.
fn read_until<T>(
    stopped: &Receiver<()>,
    period: Duration,
    mut state: T,
    mut read: impl FnMut(&mut T, bool),
) -> T {
    loop {
        let started = Instant::now();
        read(&mut state, false);
        let rest = period.saturating_sub(started.elapsed());
        if stopped.recv_timeout(rest) != Err(RecvTimeoutError::Timeout) {
            read(&mut state, true);
            return state;
        }
    }
}
