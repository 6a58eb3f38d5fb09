//! Periodic reads of a mesh from a thread of the library, while programs run on the mesh.

#![allow(unsafe_code, reason = "functions that C calls take pointers")]

use crate::{
    arguments::{HasSize, Out, owned, shared},
    mesh::{CallbackMesh, KprofMesh},
    session::{KprofSession, State},
    status::{Fault, KprofStatus, guard},
};
use host_reader::read::PeriodicThread;
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Number of reads of a periodic reader.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KprofPeriodicCounts {
    /// `sizeof(KprofPeriodicCounts)`. Must be set before the struct is passed to the library.
    pub struct_size: usize,
    /// Number of reads so far, including failed reads.
    pub reads: u64,
    /// Number of failed reads. The next read tries again, so a failed read does not necessarily
    /// lose data.
    pub failed_reads: u64,
}

// SAFETY: `repr(C)`, and the first field is a `usize`.
unsafe impl HasSize for KprofPeriodicCounts {
    const NAME: &'static str = "KprofPeriodicCounts";
}

/// A thread that reads a mesh periodically; created by `kprof_periodic_start`, stopped and freed by
/// `kprof_periodic_stop`.
#[derive(Debug)]
pub struct KprofPeriodicReader {
    thread: PeriodicThread<(State, CallbackMesh)>,
    /// Session and mesh. They cannot be freed while the reader's thread uses them.
    session: *const KprofSession,
    mesh: *const KprofMesh,
    progress: Arc<Progress>,
}

/// Progress of the reads, shared with other threads.
#[derive(Debug, Default)]
struct Progress {
    reads: AtomicU64,
    failed_reads: AtomicU64,
    /// Failure of the last read; `None` if it succeeded.
    last: Mutex<Option<Fault>>,
}

impl Progress {
    fn add(&self, outcome: Result<(), Fault>) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.failed_reads.fetch_add(outcome.is_err().into(), Ordering::Relaxed);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = outcome.err();
    }

    fn counts(&self) -> KprofPeriodicCounts {
        KprofPeriodicCounts {
            struct_size: size_of::<KprofPeriodicCounts>(),
            reads: self.reads.load(Ordering::Relaxed),
            failed_reads: self.failed_reads.load(Ordering::Relaxed),
        }
    }

    fn last_outcome(&self) -> Result<(), Fault> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).take();
        last.map_or(Ok(()), Err)
    }
}

/// Starts a thread of the library that reads every `period_ns` until `kprof_periodic_stop`. The
/// first read begins at once.
///
/// Until the thread stops, no other thread may use the session or the mesh. Other calls with the
/// session or the mesh, even `kprof_session_free` and `kprof_mesh_free`, return
/// `KPROF_STATUS_BUSY`. The thread calls the callbacks of the mesh, one at a time, while the host's
/// own threads launch programs. After a read that takes longer than the period, the next read
/// begins at once.
///
/// # Safety
/// `session` and `mesh` must be null or handles that are not freed, and `reader` must point to
/// memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_periodic_start(
    session: *mut KprofSession,
    mesh: *mut KprofMesh,
    period_ns: u64,
    reader: *mut *mut KprofPeriodicReader,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a session that is not freed.
        let shared_session = unsafe { shared(session.cast_const(), "session") }?;
        // SAFETY: the caller passes null or a mesh that is not freed.
        let shared_mesh = unsafe { shared(mesh.cast_const(), "mesh") }?;
        // SAFETY: the caller passes a pointer to memory for a pointer.
        let out = unsafe { Out::new(reader, "reader") }?;
        shared_session.0.with(|state| state.recorder().map(|_| ()))?;
        let state = shared_session.0.lend()?;
        let chips = match shared_mesh.0.lend() {
            Ok(chips) => chips,
            Err(fault) => {
                shared_session.0.give_back(Some(state));
                return Err(fault);
            }
        };
        let progress = Arc::new(Progress::default());
        let thread_progress = Arc::clone(&progress);
        let period = Duration::from_nanos(period_ns);
        let thread =
            PeriodicThread::start(period, (state, chips), move |(state, chips), is_last| {
                thread_progress.add(state.read(chips, is_last));
            })
            .map_err(|error| {
                shared_session.0.give_back(None);
                shared_mesh.0.give_back(None);
                Fault::from_error(KprofStatus::ReadFailed, &error)
            })?;
        let (session, mesh) = (session.cast_const(), mesh.cast_const());
        let reader = KprofPeriodicReader { thread, session, mesh, progress };
        out.set(Box::into_raw(Box::new(reader)));
        Ok(())
    })
}

/// Writes the number of reads so far to `counts`.
///
/// # Safety
/// `reader` must be null or a reader that is not stopped, and `counts` must point to a struct whose
/// size is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_periodic_counts(
    reader: *const KprofPeriodicReader,
    counts: *mut KprofPeriodicCounts,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a reader that is not stopped.
        let reader = unsafe { shared(reader, "reader") }?;
        // SAFETY: the caller passes a pointer to a struct with its size set.
        unsafe { Out::sized(counts, "counts") }?.set(reader.progress.counts());
        Ok(())
    })
}

/// Stops the reader after a final read, releases the session and the mesh, and frees the reader.
/// `reader` may be null.
///
/// The call waits for the read in progress. The caller must not launch programs after the call. If
/// `counts` is not null, the numbers of reads are written to it. The returned status is the status
/// of the final read. The final read also returns the data that earlier failed reads have missed.
///
/// # Safety
/// `reader` must be null or come from `kprof_periodic_start`, and must not be used again; `counts`
/// must be null or point to a struct whose size is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_periodic_stop(
    reader: *mut KprofPeriodicReader,
    counts: *mut KprofPeriodicCounts,
) -> KprofStatus {
    guard(|| {
        let out = match counts.is_null() {
            true => None,
            // SAFETY: the caller passes a pointer to a struct with its size set.
            false => Some(unsafe { Out::sized(counts, "counts") }?),
        };
        // SAFETY: the caller promises that the pointer is null or came from `kprof_periodic_start`,
        // and that the reader is stopped only once.
        let Some(reader) = (unsafe { owned(reader) }) else { return Ok(()) };
        let KprofPeriodicReader { thread, session, mesh, progress } = *reader;
        let (state, chips) =
            thread.stop().map_or((None, None), |(state, chips)| (Some(state), Some(chips)));
        let is_lost = state.is_none();
        // SAFETY: a handle is not freed while its value is lent, and the value is lent until this
        // call.
        unsafe { shared(session, "session") }?.0.give_back(state);
        // SAFETY: as above.
        unsafe { shared(mesh, "mesh") }?.0.give_back(chips);
        if let Some(out) = out {
            out.set(progress.counts());
        }
        if is_lost {
            let text = "a read of the periodic reader failed because of a bug in the library; free its handles";
            return Err(Fault::new(KprofStatus::Panic, text));
        }
        progress.last_outcome()
    })
}
