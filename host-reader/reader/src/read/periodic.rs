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
pub struct PeriodicReader<M> {
    stop: SyncSender<()>,
    thread: JoinHandle<M>,
}

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
        take: impl FnMut(Result<Readout, ReadError>) + Send + 'static,
    ) -> io::Result<Self> {
        // A place for the one message, so that stopping waits for no read.
        let (stop, stopped) = sync_channel(1);
        let thread = Builder::new()
            .name("kprof-read".to_owned())
            .spawn(move || read_until(&stopped, mesh, reader, period, take))?;
        Ok(Self { stop, thread })
    }

    /// Stops after a last read, with [`last_read`](super::ReadOptions::last_read), and gives the
    /// mesh back.
    ///
    /// # Panics
    /// If the function that takes readouts has panicked, with its panic.
    #[must_use]
    pub fn stop(self) -> M {
        let Self { stop, thread } = self;
        // A thread that has panicked listens no more.
        let _ = stop.send(());
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// Reads every `period` until a message comes or nobody can send one any more, and once more then.
fn read_until<M: Mesh>(
    stopped: &Receiver<()>,
    mut mesh: M,
    mut reader: Reader,
    period: Duration,
    mut take: impl FnMut(Result<Readout, ReadError>),
) -> M {
    loop {
        let started = Instant::now();
        take(reader.read(&mut mesh));
        let rest = period.saturating_sub(started.elapsed());
        if stopped.recv_timeout(rest) != Err(RecvTimeoutError::Timeout) {
            reader.options_mut().last_read = true;
            take(reader.read(&mut mesh));
            return mesh;
        }
    }
}
