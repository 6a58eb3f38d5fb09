//! Time between the end of one op and the start of the next.

#![expect(clippy::indexing_slicing, reason = "indices and counts are those of lists in memory")]

use super::{
    doubt::{Doubt, Holes},
    op::{Launch, Op},
    span::Span,
};

/// Time without kernels on the chip before an op.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Latency {
    /// Known number of cycles.
    Known(u64),
    /// No latency, because no op ran before. TT-Metal's tables contain 0.
    First,
    /// Unknown, with the reason.
    Doubted(Doubt),
    /// No latency, because the op has no kernel or began before the previous op ended.
    #[default]
    Absent,
}

impl Latency {
    pub(super) const fn cycles(self) -> Option<u64> {
        match self {
            Self::Known(cycles) => Some(cycles),
            Self::First => Some(0),
            Self::Doubted(_) | Self::Absent => None,
        }
    }

    pub(super) const fn doubt(self) -> Option<Doubt> {
        match self {
            Self::Doubted(doubt) => Some(doubt),
            Self::Known(_) | Self::First | Self::Absent => None,
        }
    }
}

/// Events between two ops of a chip, and disagreeing clocks, that make a latency unknown.
#[derive(Clone, Copy)]
pub(super) struct Before<'chip> {
    pub(super) holes: &'chip Holes<'chip>,
    /// First and last cycles of launches that a selection has removed.
    pub(super) hidden: &'chip [(u64, u64)],
    /// True if the chip's clocks disagree.
    pub(super) clocks_disagree: bool,
}

/// Last end of the previous ops.
#[derive(Clone, Copy)]
enum End {
    /// No previous op.
    NoOp,
    At(u64),
    Unknown,
}

impl End {
    /// Returns the end after one more op. An op of a sub-device may outlast ops that begin after
    /// it.
    fn joined(self, kernel: Option<Span>) -> Self {
        match (self, kernel) {
            (_, None) => Self::Unknown,
            (Self::At(before), Some(kernel)) => Self::At(before.max(kernel.end_cycle)),
            (Self::NoOp | Self::Unknown, Some(kernel)) => Self::At(kernel.end_cycle),
        }
    }
}

/// Returns the latencies of one chip's launches by `span`, in the order of `launches`.
///
/// # Compatibility
/// `cpp_device_perf_report.csv`: ops in the order of their starts; 0 for the first op; none if an
/// op starts before the previous op ends or has no length. If ops overlap, the latency begins at
/// the last end of all earlier ops; TT-Metal uses the end of the op that began before. TT-Metal
/// scales the cycles by the op's own rounded nanoseconds per cycle, with the resulting error; here
/// latencies are exact.
pub(super) fn latencies(
    launches: &[Launch],
    before: Before<'_>,
    span: impl Fn(&Op) -> Option<Span>,
) -> Vec<Latency> {
    let counted = launches.iter().enumerate().filter(|(_, launch)| {
        let op = &launch.op;
        span(op).is_some() || (op.kernel.is_none() && op.duration_doubt.is_some())
    });
    let mut order: Vec<_> = counted.map(|(index, _)| index).collect();
    order.sort_by_key(|&i| {
        span(&launches[i].op).map_or(launches[i].first_cycle, |span| span.start_cycle)
    });
    let mut latencies = vec![Latency::Absent; launches.len()];
    let mut end = End::NoOp;
    for i in order {
        let op = &launches[i].op;
        latencies[i] = match (span(op), op.duration_doubt) {
            (Some(span), _) => latency(span, end, before),
            (None, Some(doubt)) => Latency::Doubted(doubt),
            (None, None) => Latency::Absent,
        };
        end = end.joined(op.kernel);
    }
    latencies
}

impl Before<'_> {
    /// Returns the reason why the time between two cycles is unknown, if there is one.
    fn doubt(self, from_cycle: u64, to_cycle: u64) -> Option<Doubt> {
        if self.holes.touch(from_cycle, to_cycle) {
            return Some(Doubt::LostLaunches);
        }
        self.hidden
            .iter()
            .any(|&(first, last)| first < to_cycle && last > from_cycle)
            .then_some(Doubt::HiddenLaunches)
    }
}

fn latency(span: Span, end: End, before: Before<'_>) -> Latency {
    if span.duration_cycles == 0 {
        return Latency::Absent;
    }
    if before.clocks_disagree {
        return Latency::Doubted(Doubt::ClocksDisagree);
    }
    let previous_end = match end {
        End::Unknown => return Latency::Doubted(Doubt::UnknownEndBefore),
        End::At(cycle) => cycle,
        End::NoOp => {
            let doubt = before.doubt(0, span.start_cycle);
            return doubt.map_or(Latency::First, Latency::Doubted);
        }
    };
    let Some(cycles) = span.start_cycle.checked_sub(previous_end) else { return Latency::Absent };
    let doubt = before.doubt(previous_end, span.start_cycle);
    doubt.map_or(Latency::Known(cycles), Latency::Doubted)
}
