//! Reading a mesh from a thread of its own, while programs run on it.

use super::{ReadError, Reader};
use crate::{mesh::Mesh, readout::Readout};
use std::{
    io,
    panic::resume_unwind,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

/// Reader that reads a mesh again and again from its own thread, until it is stopped.
///
/// It owns the mesh, so that nobody else reads or initializes it meanwhile; programs are launched
/// by whoever drives the chips. A read that takes longer than the period is followed by the next
/// one at once. Where lanes hold the launches of one period and one read, nothing is lost; the
/// [watermarks](Readout::watermarks) of each read tell how close that was.
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
    /// Starts to read every `period`, the first time at once; `take` gets what each read gives.
    ///
    /// A read that fails ends nothing: the next one tries again.
    ///
    /// # Errors
    /// If the system gives no thread.
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

    /// Stops after a last read, with [`last_read`](super::ReadOptions::last_read), and gives the
    /// mesh back.
    ///
    /// # Panics
    /// If the function that takes readouts has panicked, with its panic.
    #[must_use]
    pub fn stop(self) -> M {
        self.0.stop().unwrap_or_else(|panic| resume_unwind(panic)).0
    }
}

/// Thread that reads in its own way every period, such as with a recorder that captures as well.
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
    /// Starts to call `read` every `period`, the first time at once. What it reads with is
    /// `state`; its second argument is true for the one read after the stop.
    ///
    /// # Errors
    /// If the system gives no thread; `state` is then gone.
    pub fn start(
        period: Duration,
        state: T,
        read: impl FnMut(&mut T, bool) + Send + 'static,
    ) -> io::Result<Self> {
        // A place for the one message, so that stopping waits for no read.
        let (stop, stopped) = sync_channel(1);
        let thread = Builder::new()
            .name("kprof-read".to_owned())
            .spawn(move || read_until(&stopped, period, state, read))?;
        Ok(Self { stop, thread })
    }

    /// Stops after a last read, and gives the state back.
    ///
    /// # Errors
    /// If a read has panicked, with its panic.
    pub fn stop(self) -> std::thread::Result<T> {
        let Self { stop, thread } = self;
        // A thread that has panicked listens no more.
        let _ = stop.send(());
        thread.join()
    }
}

/// Reads every `period` until a message comes or nobody can send one any more, and once more then.
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
