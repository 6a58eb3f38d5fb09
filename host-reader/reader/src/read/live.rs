//! Reading of streamed lanes while kernels run. A thread reads batches and sends them to a consumer
//! through a bounded queue.

use super::{PeriodicThread, ReadError, Reader};
use crate::{mesh::Mesh, readout::Readout, stream::Batch};
use std::{
    collections::VecDeque,
    io,
    ops::ControlFlow,
    panic::resume_unwind,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The result of one live read.
#[derive(Clone, Debug, Default)]
pub struct LiveRead {
    /// The new records of streamed lanes, lane by lane.
    pub batches: Vec<Batch>,
    /// All other results: the ledger, anomalies, and records of lanes that are not streamed.
    pub readout: Readout,
}

impl LiveRead {
    /// Returns true if the read found nothing new.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Readout { losses, anomalies, .. } = &self.readout;
        let has_records = !self.batches.is_empty() || self.readout.record_count() > 0;
        !has_records && losses.is_empty() && anomalies.anomaly_count() == 0
    }
}

impl Reader {
    /// Reads like [`Reader::read`], but returns the records of streamed lanes in batches, without
    /// waiting for the ends of their launches.
    ///
    /// # Errors
    /// The same as for [`Reader::read`].
    ///
    /// # Cost
    /// The reader keeps no records, even if a launch takes a long time.
    pub fn read_live<M: Mesh + ?Sized>(&mut self, mesh: &mut M) -> Result<LiveRead, ReadError> {
        self.read_in_batches(mesh, false)
    }

    /// Reads like [`Reader::read`], and also returns the new records of streamed lanes in batches.
    ///
    /// As for [`Reader::read`], the readout contains the records of finished launches. The batches
    /// contain records as soon as they are read. So each record of a streamed lane is in exactly
    /// one batch, and in exactly one readout, which may be that of a later read.
    ///
    /// # Errors
    /// The same as for [`Reader::read`].
    ///
    /// # Cost
    /// The reader keeps the records of unfinished launches.
    pub fn read_with_batches<M: Mesh + ?Sized>(
        &mut self,
        mesh: &mut M,
    ) -> Result<LiveRead, ReadError> {
        self.read_in_batches(mesh, true)
    }

    fn read_in_batches<M: Mesh + ?Sized>(
        &mut self,
        mesh: &mut M,
        has_lanes: bool,
    ) -> Result<LiveRead, ReadError> {
        self.rings.begin_batches(has_lanes);
        let readout = self.read(mesh);
        let batches = self.rings.take_batches();
        Ok(LiveRead { batches, readout: readout? })
    }
}

/// State of the queue between the reading thread and the consumer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backpressure {
    /// Number of batches in the queue.
    pub waiting_batches: usize,
    /// Number of reads that the thread postponed because the queue was full.
    ///
    /// Meanwhile, records wait in the rings. If a ring becomes full, the ring's policy applies, and
    /// the device counts the records that are lost.
    pub put_off_reads: u64,
}

/// Reader of streamed lanes with its own thread, and an iterator over the reads that found
/// something new.
///
/// The thread starts a read only if the queue holds fewer batches than a given maximum. After the
/// read, the queue may hold more than the maximum, because the host drops nothing. A failed read
/// becomes an error item, and the thread continues to read.
///
/// ```
/// use reader::{ReadOptions, Reader, init_device_profiler, mesh::*, read::LiveReader};
/// use std::{ops::ControlFlow, time::Duration};
/// use wire::{control::ext, stream::{Cell, Code, LaunchCell, ToldLaunch, words}};
///
/// // One core, whose first RISC is in the middle of a launch of program 7.
/// let noc0 = Noc0Coord { x: 1, y: 1 };
/// let core = CoreDescription {
///     noc0,
///     logical: LogicalCoord { x: 0, y: 0 },
///     kind: wire::CoreKind::Tensix,
///     flat_id: 0,
///     control_address: 0,
///     vector_address: 256,
/// };
/// let dram = DramDescription { bank_count: 1, region_address: 64, region_bytes: 240_000 };
/// let chip = DeviceDescription {
///     chip_id: 0,
///     arch: "wormhole_b0".into(),
///     aiclk_mhz: 1000,
///     max_compute_cores: 1,
///     cores: vec![core],
///     dram,
/// };
/// let mut mesh = MeshImage { devices: vec![DeviceImage::new(chip)] };
/// init_device_profiler(&mut mesh, &Default::default())?;
/// let device = &mut mesh.devices[0];
/// let launch = LaunchCell { program: 7, trace_counter: 0, time_high: 0 };
/// let cells = [
///     Cell::new(Code::LAUNCH, 1, 0x100),
///     launch.to_cell(),
///     Cell::new(Code(9), 0x40, 0x180), // a zone of 0x40 cycles that ended at 0x180
/// ];
/// device.write_l1(noc0, 256, &cells.map(|cell| [cell.head, cell.value]).concat())?;
/// let told = ToldLaunch { number: 1, has_ended: false, time_high: 0 };
/// for (word, value) in [
///     (ext::SIGNATURE, words::SIGNATURE_VALUE),
///     (words::LAUNCHES, 1),
///     (words::PROGRAM, 7),
///     (words::TOLD, told.to_word()),
///     (words::WRITTEN, 3),
/// ] {
///     device.write_l1(noc0, word as u64 * 4, &[value])?;
/// }
/// device.set_wall_clock(0x200);
///
/// let reader = Reader::new(ReadOptions::default());
/// let mut live = LiveReader::start(mesh, reader, Duration::from_millis(1), 1000)?;
/// live.for_each_batch(|batch| {
///     assert_eq!(batch.program.map(|program| program.base()), Some(7));
///     assert_eq!((batch.zones.starts[0], batch.zones.ends[0]), (0x140, 0x180));
///     ControlFlow::Break(())
/// })?;
/// let mesh = live.stop();
/// assert!(mesh.is_some() && live.next().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LiveReader<M> {
    thread: Option<PeriodicThread<Reading<M>>>,
    queue: Arc<Queue>,
}

/// State owned by the reading thread.
#[derive(Debug)]
struct Reading<M> {
    mesh: M,
    reader: Reader,
    queue: EndOnDrop,
}

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    reads: VecDeque<Result<LiveRead, ReadError>>,
    pressure: Backpressure,
    has_ended: bool,
}

/// Guard that closes the queue when the thread ends, even by a panic, so that no consumer waits
/// forever.
#[derive(Debug)]
struct EndOnDrop(Arc<Queue>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.lock().has_ended = true;
        self.0.changed.notify_all();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the queue has room for a read. Otherwise counts a postponed read and, if the
    /// period is shorter than [`ATTEMPT_PERIOD`], waits up to [`ATTEMPT_PERIOD`] for room.
    fn has_room(&self, most_batches: usize, period: Duration) -> bool {
        let mut waiting = self.lock();
        if waiting.has_room(most_batches) {
            return true;
        }
        waiting.pressure.put_off_reads = waiting.pressure.put_off_reads.saturating_add(1);
        if period < ATTEMPT_PERIOD {
            let is_full = |waiting: &mut Waiting| !waiting.has_room(most_batches);
            drop(self.changed.wait_timeout_while(waiting, ATTEMPT_PERIOD, is_full));
        }
        false
    }

    /// Removes the next read, and notifies the thread that the queue has room.
    fn pop(&self, waiting: &mut Waiting) -> Option<Result<LiveRead, ReadError>> {
        let read = waiting.pop()?;
        self.changed.notify_all();
        Some(read)
    }

    fn push(&self, read: Result<LiveRead, ReadError>) {
        if read.as_ref().is_ok_and(LiveRead::is_empty) {
            return;
        }
        let mut waiting = self.lock();
        let count = waiting.pressure.waiting_batches.saturating_add(batch_count(&read));
        waiting.pressure.waiting_batches = count;
        waiting.reads.push_back(read);
        self.changed.notify_all();
    }
}

fn batch_count(read: &Result<LiveRead, ReadError>) -> usize {
    read.as_ref().map_or(0, |read| read.batches.len())
}

impl Waiting {
    fn has_room(&self, most_batches: usize) -> bool {
        // Failed reads and reads without batches also take room in the queue.
        self.pressure.waiting_batches.max(self.reads.len()) < most_batches.max(1)
    }

    fn pop(&mut self) -> Option<Result<LiveRead, ReadError>> {
        let read = self.reads.pop_front()?;
        let count = self.pressure.waiting_batches.saturating_sub(batch_count(&read));
        self.pressure.waiting_batches = count;
        Some(read)
    }
}

/// Minimum time between two attempts to read while the queue is full. The thread tries earlier if
/// the consumer removes a read from the queue.
const ATTEMPT_PERIOD: Duration = Duration::from_millis(1);

impl<M: Mesh + Send + 'static> LiveReader<M> {
    /// Starts a thread that reads the mesh every `period`, the first time immediately, while the
    /// queue holds fewer than `most_batches` batches. With a period of 0, a read begins when the
    /// previous read has ended.
    ///
    /// While the queue is full, the thread checks it again after the period. If the period is
    /// shorter than a millisecond, the thread waits for a millisecond, or until the consumer
    /// removes a read from the queue.
    ///
    /// # Errors
    /// If the system cannot create a thread.
    pub fn start(
        mesh: M,
        reader: Reader,
        period: Duration,
        most_batches: usize,
    ) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let reading = Reading { mesh, reader, queue: EndOnDrop(Arc::clone(&queue)) };
        let thread = PeriodicThread::start(period, reading, move |reading, is_last| {
            let Reading { mesh, reader, queue: EndOnDrop(queue) } = reading;
            if is_last {
                reader.options_mut().last_read = true;
            } else if !queue.has_room(most_batches, period) {
                return;
            }
            queue.push(reader.read_live(mesh));
        })?;
        Ok(Self { thread: Some(thread), queue })
    }

    /// Stops the thread after one more read, with [`last_read`](super::ReadOptions::last_read), and
    /// returns the mesh. Returns `None` if the reader was already stopped.
    ///
    /// The iterator then returns the reads that are still in the queue, and ends.
    ///
    /// # Panics
    /// If the reading thread has panicked; the same panic is resumed here.
    pub fn stop(&mut self) -> Option<M> {
        let stopped = self.thread.take()?.stop();
        Some(stopped.unwrap_or_else(|panic| resume_unwind(panic)).mesh)
    }
}

impl<M> LiveReader<M> {
    /// Returns the number of queued batches and the number of postponed reads.
    #[must_use]
    pub fn backpressure(&self) -> Backpressure {
        self.queue.lock().pressure
    }

    /// Returns the next read without waiting; `None` if the queue is empty.
    pub fn try_next(&mut self) -> Option<Result<LiveRead, ReadError>> {
        self.queue.pop(&mut self.queue.lock())
    }

    /// Calls `take` for each batch, until `take` returns `Break` or the reader has stopped.
    ///
    /// After `Break`, `take` is still called for the remaining batches of the same read.
    ///
    /// # Errors
    /// Returns the error of the first failed read. A repeated call continues after that read.
    pub fn for_each_batch(
        &mut self,
        mut take: impl FnMut(&Batch) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        for read in self {
            let read = read?;
            let breaks = read.batches.iter().filter(|batch| take(batch).is_break()).count();
            if breaks > 0 {
                break;
            }
        }
        Ok(())
    }
}

impl<M> Iterator for LiveReader<M> {
    type Item = Result<LiveRead, ReadError>;

    /// Waits for the next read that finds something new. Returns `None` if the reader was stopped
    /// and the queue is empty.
    fn next(&mut self) -> Option<Self::Item> {
        let mut waiting = self.queue.lock();
        loop {
            if let Some(read) = self.queue.pop(&mut waiting) {
                return Some(read);
            }
            if waiting.has_ended {
                return None;
            }
            let changed = self.queue.changed.wait(waiting);
            waiting = changed.unwrap_or_else(PoisonError::into_inner);
        }
    }
}
