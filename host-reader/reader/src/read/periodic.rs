//! Reads a mesh from a separate thread, while programs run on the mesh.

use super::{ReadError, Reader};
use crate::{mesh::Mesh, readout::Readout};
use std::{
    io,
    panic::resume_unwind,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

/// Reader with its own thread, which reads a mesh repeatedly until the reader is stopped.
///
/// The reader owns the mesh, so no other code can read or initialize the mesh in the meantime.
/// Another part of the program launches the kernels. If a read takes longer than the period, the
/// next read follows immediately. Nothing is lost if the lanes have room for the launches during
/// one period and one read. The [watermarks](Readout::watermarks) of each read show how full the
/// lanes were.
///
/// ```
/// use reader::{ReadOptions, Reader, mesh::MeshImage, read::PeriodicReader};
/// use std::{sync::mpsc::channel, time::Duration};
///
/// let mesh = MeshImage { devices: Vec::new() };
/// let (sender, results) = channel();
/// let periodic = PeriodicReader::start(
///     mesh,
///     Reader::new(ReadOptions::default()),
///     Duration::from_millis(1),
///     move |result| drop(sender.send(result.map(|readout| readout.record_count()))),
/// )?;
/// let mesh = periodic.stop();
/// assert!(mesh.devices.is_empty());
/// assert!(results.iter().all(|result| result.is_err()), "a mesh without chips");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct PeriodicReader<M>(PeriodicThread<(M, Reader)>);

impl<M: Mesh + Send + 'static> PeriodicReader<M> {
    /// Starts a read every `period`, the first one immediately, and passes each result to `take`.
    ///
    /// A failed read does not stop the thread: the next read tries again.
    ///
    /// # Errors
    /// If the system cannot create a thread.
    pub fn start(
        mesh: M,
        reader: Reader,
        period: Duration,
        mut take: impl FnMut(Result<Readout, ReadError>) + Send + 'static,
    ) -> io::Result<Self> {
        let thread = PeriodicThread::start(period, (mesh, reader), move |state, is_last| {
            let (mesh, reader) = state;
            if is_last {
                reader.options_mut().last_read = true;
            }
            take(reader.read(mesh));
        });
        thread.map(Self)
    }

    /// Stops after a last read, with [`last_read`](super::ReadOptions::last_read), and returns the
    /// mesh.
    ///
    /// # Panics
    /// If the function `take` has panicked. The panic is passed on.
    #[must_use]
    pub fn stop(self) -> M {
        self.0.stop().unwrap_or_else(|panic| resume_unwind(panic)).0
    }
}

/// A thread that calls a given read function every period.
///
/// For example, the function can write the data to a recorder.
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
    /// Starts to call `read` every `period`, the first time immediately.
    ///
    /// The first argument of `read` is `state`. The second argument is true only for the last read,
    /// after the stop.
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

    /// Stops after a last read, and returns the state.
    ///
    /// # Errors
    /// If a read has panicked; contains the panic.
    pub fn stop(self) -> std::thread::Result<T> {
        let Self { stop, thread } = self;
        // A thread that has panicked no longer receives.
        let _ = stop.send(());
        thread.join()
    }
}

/// Reads every `period` until a message arrives or the sender is dropped, and then once more.
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
