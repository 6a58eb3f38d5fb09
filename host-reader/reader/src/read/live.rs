//! Reading of streamed lanes while kernels run. A thread reads batches and sends them to a consumer
//! through a queue. While the queue is full, the thread does not read.

use super::{PeriodicThread, ReadError, Reader};
use crate::{mesh::Mesh, readout::Readout, stream::Batch};
use std::{
    io,
    ops::ControlFlow,
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
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
    /// Returns true if the read found no new records, losses or anomalies.
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
    /// one batch, and in exactly one readout, which may be the readout of a later read.
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
    /// While reads are postponed, records wait in the rings. If a ring becomes full, the ring's
    /// policy applies, and the device counts the records that are lost.
    pub put_off_reads: u64,
}

/// Reader of streamed lanes with its own thread. The reader is an iterator over the reads that
/// found new records, losses or anomalies.
///
/// The thread starts a read only if the queue holds fewer batches than a given maximum. After the
/// read, the queue may hold more than the maximum, because the thread drops no batches. A failed
/// read becomes an error item, and the thread continues to read.
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
    thread: Option<PeriodicThread<(M, Reader, Sender<ReadResult>)>>,
    reads: Receiver<ReadResult>,
    waiting: Arc<Waiting>,
}

type ReadResult = Result<LiveRead, ReadError>;

/// Number of reads and of batches in the queue, and number of postponed reads.
#[derive(Debug, Default)]
struct Waiting {
    reads: AtomicUsize,
    batches: AtomicUsize,
    put_off_reads: AtomicU64,
}

impl Waiting {
    fn has_room(&self, most_batches: usize) -> bool {
        // Failed reads and reads without batches also take room in the queue.
        let [reads, batches] = [&self.reads, &self.batches].map(|count| count.load(Relaxed));
        batches.max(reads) < most_batches.max(1)
    }

    fn add(&self, read: &ReadResult) {
        self.reads.fetch_add(1, Relaxed);
        self.batches.fetch_add(batch_count(read), Relaxed);
    }

    fn remove(&self, read: &ReadResult) {
        self.reads.fetch_sub(1, Relaxed);
        self.batches.fetch_sub(batch_count(read), Relaxed);
    }
}

fn batch_count(read: &ReadResult) -> usize {
    read.as_ref().map_or(0, |read| read.batches.len())
}

/// Minimum time between two attempts to read while the queue is full. The thread tries earlier if
/// the consumer removes a read from the queue.
const ATTEMPT_PERIOD: Duration = Duration::from_millis(1);

impl<M: Mesh + Send + 'static> LiveReader<M> {
    /// Starts a thread that reads the mesh every `period`, while the queue holds fewer than
    /// `most_batches` batches.
    ///
    /// The first read begins immediately. With a period of 0, a read begins when the previous read
    /// has ended.
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
        // When the thread ends, even by a panic, it drops the sender. A waiting consumer is then
        // woken.
        let (sender, reads) = channel();
        let waiting = Arc::new(Waiting::default());
        let queue = Arc::clone(&waiting);
        let state = (mesh, reader, sender);
        let thread = PeriodicThread::start(period, state, move |state, is_last| {
            let (mesh, reader, sender) = state;
            if is_last {
                reader.options_mut().last_read = true;
            } else if !queue.has_room(most_batches) {
                queue.put_off_reads.fetch_add(1, Relaxed);
                if period < ATTEMPT_PERIOD {
                    thread::park_timeout(ATTEMPT_PERIOD);
                }
                return;
            }
            let read = reader.read_live(mesh);
            if !read.as_ref().is_ok_and(LiveRead::is_empty) {
                queue.add(&read);
                // If the consumer has been dropped, the read is dropped too.
                let _ = sender.send(read);
            }
        })?;
        Ok(Self { thread: Some(thread), reads, waiting })
    }

    /// Stops the thread after one more read with the option
    /// [`last_read`](super::ReadOptions::last_read), and returns the mesh.
    ///
    /// Returns `None` if the thread was already stopped.
    ///
    /// After this call, the iterator still returns the reads that are in the queue, and then ends.
    ///
    /// # Panics
    /// If the reading thread has panicked; the same panic is resumed here.
    pub fn stop(&mut self) -> Option<M> {
        let stopped = self.thread.take()?.stop();
        let (mesh, ..) = stopped.unwrap_or_else(|panic| resume_unwind(panic));
        Some(mesh)
    }
}

impl<M> LiveReader<M> {
    /// Returns the number of queued batches and the number of postponed reads.
    #[must_use]
    pub fn backpressure(&self) -> Backpressure {
        let Waiting { batches, put_off_reads, .. } = &*self.waiting;
        Backpressure {
            waiting_batches: batches.load(Relaxed),
            put_off_reads: put_off_reads.load(Relaxed),
        }
    }

    /// Returns the next read without waiting; `None` if the queue is empty.
    pub fn try_next(&mut self) -> Option<Result<LiveRead, ReadError>> {
        self.reads.try_recv().ok().map(|read| self.removed(read))
    }

    /// Counts a read that was removed from the queue, and notifies the thread that the queue has
    /// room.
    fn removed(&self, read: ReadResult) -> ReadResult {
        self.waiting.remove(&read);
        if let Some(thread) = &self.thread {
            thread.wake();
        }
        read
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
        self.reads.recv().ok().map(|read| self.removed(read))
    }
}
