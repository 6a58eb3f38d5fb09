//! Peak memory use of buffers: in each pool, and while the host worked on each op.

use super::recorded::host_log_of;
use crate::problem::ProblemLog;
use host_events::{BufferPool, BufferUsage};
use recording::{Recording, TraceFilter, host_ops::HostOp};
use wire::RunHostId;

/// Peak memory use of a recording's buffers; empty if the host reported no buffers.
///
/// ```
/// use host_events::{HostRecorder, HostRecorderOptions, HostSource};
/// use recording::Recording;
/// use reports::report::BufferPeaks;
/// use std::sync::Arc;
/// let recorder = HostRecorder::new(HostRecorderOptions::default());
/// for bytes in [4096.0, 1024.0] {
///     recorder.plot_of(Arc::new(HostSource::from_name("Device 0 L1")), bytes);
/// }
/// let recording = Recording { host: vec![recorder.take()], ..Recording::default() };
/// let peaks = BufferPeaks::from_recording(&recording);
/// let [l1] = &peaks.pools[..] else { panic!("one pool") };
/// assert_eq!((l1.pool.kind, l1.peak_bytes, l1.last_bytes), ("L1", 4096, 1024));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferPeaks {
    /// Pools, sorted by chip and kind of memory.
    pub pools: Vec<PoolPeak>,
    /// Ops in the order in which the host enqueued them. Ops without a host time are left out.
    pub ops: Vec<OpPeaks>,
}

/// Peak memory use of one pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolPeak {
    /// Memory pool, such as the L1 of one chip.
    pub pool: BufferPool,
    /// Maximum number of allocated bytes.
    pub peak_bytes: u64,
    /// Time at which the maximum was first reached, on the host's clock.
    pub peak_host_ns: u64,
    /// Number of allocated bytes at the end of the recording.
    pub last_bytes: u64,
    /// Number of times that the host reported the allocated bytes: once for each allocation and
    /// each deallocation.
    pub change_count: u64,
}

/// Peak memory use of each pool while the host worked on one op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpPeaks {
    /// Number of the chip.
    pub device_id: u64,
    /// Id of the op, which includes its chip.
    pub run_host_id: u64,
    /// Name of the op, if the host reported one.
    pub name: Option<String>,
    /// Maximum number of allocated bytes in each pool. Pools without any buffer up to this op are
    /// left out.
    pub peaks: Vec<(BufferPool, u64)>,
}

impl BufferPeaks {
    /// Finds the peak memory use of each pool, overall and while the host worked on each op.
    #[must_use]
    pub fn from_recording(recording: &Recording) -> Self {
        let usage = BufferUsage::from_host(&recording.host);
        if usage.is_empty() {
            return Self::default();
        }
        // The ops report already lists the problems in the host's records, so they are not needed
        // here.
        let host = host_log_of(recording, &mut ProblemLog::default());
        let mut timed: Vec<_> = host.ops.iter().filter(|op| op.time.is_some()).collect();
        timed.sort_by_key(|op| op.time.map(|time| time.start_ns));
        let ops = timed.into_iter().filter_map(|op| {
            let peaks: Vec<_> = op_peaks(op, &usage).collect();
            Some(OpPeaks {
                device_id: op.device_id?,
                run_host_id: op.id,
                name: op.name().filter(|name| !name.is_empty()),
                peaks,
            })
        });
        Self { pools: usage.pools().filter_map(pool_peak).collect(), ops: ops.collect() }
    }

    /// Removes the chips and ops that a filter excludes.
    pub fn retain(&mut self, filter: &TraceFilter) {
        let number = |number| u32::try_from(number).unwrap_or(u32::MAX);
        self.pools.retain(|row| filter.selects_device(number(row.pool.device_id)));
        self.ops.retain(|op| {
            let base_id = RunHostId(number(op.run_host_id)).base();
            filter.selects_device(number(op.device_id))
                && filter.selects_op(base_id, op.name.as_deref())
        });
    }
}

fn pool_peak((pool, points): (BufferPool, &[(u64, u64)])) -> Option<PoolPeak> {
    // If the maximum is reached several times, the first time is used.
    let (peak_host_ns, peak_bytes) = points
        .iter()
        .copied()
        .min_by_key(|&(time_ns, bytes)| (std::cmp::Reverse(bytes), time_ns))?;
    let (_, last_bytes) = points.last().copied()?;
    let change_count = points.len() as u64;
    Some(PoolPeak { pool, peak_bytes, peak_host_ns, last_bytes, change_count })
}

/// For each pool on the op's chip, returns the maximum number of bytes that were allocated while
/// the host worked on the op.
pub(super) fn op_peaks(
    op: &HostOp,
    usage: &BufferUsage,
) -> impl Iterator<Item = (BufferPool, u64)> {
    let peaks = op.device_id.zip(op.time).map(|(device_id, time)| {
        let end_ns = time.start_ns.saturating_add(time.duration_ns);
        usage.peaks(device_id, time.start_ns, end_ns)
    });
    peaks.into_iter().flatten()
}
