//! The time between one op's end and the next one's start.

use super::{op::Op, span::Span};

/// How long the chip was between kernels before this op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Latency {
    pub(super) cycles: u64,
    pub(super) ns: Option<u64>,
}

/// Latencies of the ops of one chip by `span`, in the order of `ops`.
///
/// # Compatibility
/// `cpp_device_perf_report.csv`: ops in the order of their starts; 0 for the first; none
/// where an op starts before the previous one ends or has no length. Nanoseconds are the
/// cycles times the op's own nanoseconds per cycle.
pub(super) fn latencies(
    ops: &[&Op],
    span: impl Fn(&Op) -> Option<Span>,
    end_of: impl Fn(&Op) -> Option<u64>,
) -> Vec<Option<Latency>> {
    let mut order: Vec<_> = (0..ops.len()).filter(|&i| span(ops[i]).is_some()).collect();
    order.sort_by_key(|&i| span(ops[i]).map(|span| span.start_cycle));
    let mut latencies = vec![None; ops.len()];
    let mut previous_end = None;
    for i in order {
        if let Some(span) = span(ops[i]) {
            latencies[i] = latency(span, previous_end.unwrap_or(span.start_cycle));
        }
        previous_end = end_of(ops[i]);
    }
    latencies
}

fn latency(span: Span, previous_end: u64) -> Option<Latency> {
    if span.duration_cycles == 0 {
        return None;
    }
    let cycles = span.start_cycle.checked_sub(previous_end)?;
    let ns = span.duration_ns.map(|duration_ns| scaled(cycles, duration_ns, span.duration_cycles));
    Some(Latency { cycles, ns })
}

/// `cycles * ns / per_cycles`, rounded half up.
fn scaled(cycles: u64, ns: u64, per_cycles: u64) -> u64 {
    let per_cycles = u128::from(per_cycles);
    let scaled = (u128::from(cycles) * u128::from(ns) + per_cycles / 2) / per_cycles;
    u64::try_from(scaled).unwrap_or(u64::MAX)
}
