//! Time between the end of one op and the start of the next.

#![expect(clippy::indexing_slicing, reason = "indices and counts are those of lists in memory")]

use super::{
    doubt::{Doubt, Holes},
    op::{Launch, Op},
    span::cycles_to_ns,
};
use reader::{
    mesh::Noc0Coord,
    readout::{HiddenLaunch, Readout},
};
use std::collections::BTreeSet;

/// First and last cycle of a kernel span.
type Bounds = (u64, u64);

/// Times from which the latencies of a launch are computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) first_cycle: u64,
    kernel: Option<Bounds>,
    data_movement_kernel: Option<Bounds>,
    duration_doubt: Option<Doubt>,
    sub_device_id: Option<u8>,
    is_spread_implausible: bool,
}

impl AsRef<Self> for Timing {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Timing {
    pub(super) fn new(launch: &Launch) -> Self {
        let op = &launch.op;
        let [kernel, data_movement_kernel] = [op.kernel, op.data_movement_kernel]
            .map(|span| span.map(|span| (span.start_cycle, span.end_cycle)));
        Self {
            first_cycle: launch.first_cycle,
            kernel,
            data_movement_kernel,
            duration_doubt: op.duration_doubt,
            sub_device_id: op.sub_device_id,
            is_spread_implausible: op.is_spread_implausible,
        }
    }
}

/// Latencies of a launch: the times from the end of the previous op to the launch's first kernel,
/// and to its first data-movement kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct LatencyPair {
    kernel: Latency,
    data_movement_kernel: Latency,
}

impl LatencyPair {
    /// Sets the latencies of an op.
    pub(super) fn add_to(self, op: &mut Op, aiclk_mhz: u32) {
        let Self { kernel, data_movement_kernel } = self;
        op.is_first_of_chip = kernel == Latency::First;
        [op.op_to_op_latency_cycles, op.data_movement_op_to_op_latency_cycles] =
            [kernel, data_movement_kernel].map(Latency::cycles);
        [op.op_to_op_latency_ns, op.data_movement_op_to_op_latency_ns] =
            [kernel, data_movement_kernel].map(|of| cycles_to_ns(of.cycles()?, aiclk_mhz));
        op.latency_doubt = kernel.doubt().or(data_movement_kernel.doubt());
    }
}

/// Returns the latencies of one chip's launches, which must be sorted by first cycle.
pub(super) fn latency_pairs(
    timings: &[impl AsRef<Timing>],
    before: &MissingLaunches<'_>,
) -> Vec<LatencyPair> {
    let clocks_disagree = timings.iter().any(|timing| timing.as_ref().is_spread_implausible);
    let before = (before, clocks_disagree);
    let kernel = latencies(timings, before, |timing| timing.kernel);
    let data_movement = latencies(timings, before, |timing| timing.data_movement_kernel);
    let pairs = kernel.into_iter().zip(data_movement);
    pairs
        .map(|(kernel, data_movement_kernel)| LatencyPair { kernel, data_movement_kernel })
        .collect()
}

/// Time between the end of the previous op and the start of an op.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Latency {
    /// Known number of cycles.
    Known(u64),
    /// No latency, because the op is the first one of its chip. In this case TT-Metal's tables
    /// contain a latency of 0.
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

/// Launches of a chip that are missing or hidden, and times between different logs. The latency of an
/// op is unknown if one of them is between the op and the previous op.
pub(super) struct MissingLaunches<'readout> {
    pub(super) holes: Holes<'readout>,
    /// First and last cycles of launches that a selection has removed and of times between logs, and
    /// what is said of an op behind them.
    pub(super) hidden: Vec<(u64, u64, Doubt)>,
}

impl<'readout> MissingLaunches<'readout> {
    pub(super) fn new(
        chip_id: u32,
        readout: &'readout Readout,
        dispatch_cores: &BTreeSet<Noc0Coord>,
    ) -> Self {
        let hidden = readout.hidden.iter().filter(|launch| launch.chip_id == chip_id);
        let doubt = |launch: &HiddenLaunch| match launch.is_of_profiler {
            true => Doubt::ProfilerLaunches,
            false => Doubt::HiddenLaunches,
        };
        let hidden = hidden.map(|launch| (launch.first_cycle, launch.last_cycle, doubt(launch)));
        let seams = readout.seams.iter().filter(|seam| seam.chip_id == chip_id);
        let seams = seams.map(|seam| (seam.first_cycle, seam.last_cycle, Doubt::JoinedLogs));
        Self {
            holes: Holes::from_chip(&readout.losses, chip_id, dispatch_cores),
            hidden: hidden.chain(seams).collect(),
        }
    }

    /// Returns the reason why the time between two cycles is unknown, if there is one.
    fn doubt(&self, from_cycle: u64, to_cycle: u64) -> Option<Doubt> {
        if self.holes.touch(from_cycle, to_cycle) {
            return Some(Doubt::LostLaunches);
        }
        let between = self.hidden.iter();
        let between = between.filter(|(first, last, _)| *first < to_cycle && *last > from_cycle);
        // What a filter has removed can be shown by another filter, so it is named first.
        between.map(|&(.., doubt)| doubt).min()
    }
}

/// Ends of all previous ops of a chip.
#[derive(Default)]
struct Ends {
    /// Latest known end.
    latest: Option<u64>,
    /// Sub-devices of previous ops that may still run, because their end is unknown; `None` for an
    /// op on the whole chip.
    unknown: Vec<Option<u8>>,
}

impl Ends {
    /// Adds one more op. An op on a sub-device may end after ops that begin later on other
    /// sub-devices; ops that share cores run one after the other.
    fn add(&mut self, timing: &Timing) {
        let id = timing.sub_device_id;
        self.unknown.retain(|other| other.is_some() && id.is_some() && *other != id);
        match timing.kernel {
            Some((_, end)) => self.latest = self.latest.max(Some(end)),
            None => self.unknown.push(id),
        }
    }
}

/// Returns the latency of each launch of a chip, in the order of `timings`.
///
/// `span` returns a kernel span of a launch. The latency ends at the start of this span.
///
/// # Compatibility
/// The latencies are those of `cpp_device_perf_report.csv`, with ops in the order of their starts.
/// The latency is 0 for the first op. The latency of an op is empty if the op starts before the
/// previous op ends, or if the op has no duration. If ops overlap, the latency begins at the last
/// end of all earlier ops; TT-Metal uses the end of the op that started immediately before.
/// TT-Metal scales the cycles by the op's own rounded nanoseconds per cycle, which causes an error;
/// here latencies are exact.
fn latencies(
    timings: &[impl AsRef<Timing>],
    before: (&MissingLaunches<'_>, bool),
    span: impl Fn(&Timing) -> Option<Bounds>,
) -> Vec<Latency> {
    let timing = |i: u32| timings[i as usize].as_ref();
    // An op without this span is skipped. An op with a doubtful kernel still counts, because it
    // leaves the start of the next latency unknown.
    let counted =
        (0_u32..).zip(timings).map(|(i, timing)| (i, timing.as_ref())).filter(|(_, timing)| {
            span(timing).is_some() || (timing.kernel.is_none() && timing.duration_doubt.is_some())
        });
    let mut order: Vec<u32> = counted.map(|(index, _)| index).collect();
    order.sort_by_key(|&i| {
        let timing = timing(i);
        span(timing).map_or(timing.first_cycle, |(start, _)| start)
    });
    let mut latencies = vec![Latency::Absent; timings.len()];
    let mut ends = Ends::default();
    for i in order {
        let timing = timing(i);
        latencies[i as usize] = match (span(timing), timing.duration_doubt) {
            (Some(span), _) => latency(span, &ends, before),
            (None, Some(doubt)) => Latency::Doubted(doubt),
            (None, None) => Latency::Absent,
        };
        ends.add(timing);
    }
    latencies
}

fn latency(
    (start, last): Bounds,
    ends: &Ends,
    (before, clocks_disagree): (&MissingLaunches<'_>, bool),
) -> Latency {
    if start == last {
        return Latency::Absent;
    }
    if clocks_disagree {
        return Latency::Doubted(Doubt::ClocksDisagree);
    }
    if !ends.unknown.is_empty() {
        return Latency::Doubted(Doubt::UnknownEndBefore);
    }
    let Some(previous_end) = ends.latest else {
        return before.doubt(0, start).map_or(Latency::First, Latency::Doubted);
    };
    let Some(cycles) = start.checked_sub(previous_end) else { return Latency::Absent };
    let doubt = before.doubt(previous_end, start);
    doubt.map_or(Latency::Known(cycles), Latency::Doubted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the latencies of ops that start 100 cycles apart: each has a sub-device, and the
    /// end of its kernel if it is known.
    fn latencies_of(ops: &[(Option<u8>, Option<u64>)]) -> Vec<Latency> {
        let starts = (1_u64..).map(|number| number * 100);
        let timings: Vec<_> = starts
            .zip(ops)
            .map(|(start, &(sub_device_id, end))| Timing {
                first_cycle: start,
                kernel: end.map(|end| (start, end)),
                data_movement_kernel: None,
                duration_doubt: end.is_none().then_some(Doubt::Unfinished),
                sub_device_id,
                is_spread_implausible: false,
            })
            .collect();
        let before = MissingLaunches { holes: Holes::default(), hidden: Vec::new() };
        latencies(&timings, (&before, false), |timing| timing.kernel)
    }

    #[test]
    fn an_op_of_unknown_end_may_still_run_until_its_cores_run_another_op() {
        let unfinished = Latency::Doubted(Doubt::Unfinished);
        let unknown = Latency::Doubted(Doubt::UnknownEndBefore);
        let two = [(Some(0), None), (Some(1), Some(210)), (Some(1), Some(310))];
        assert_eq!(latencies_of(&two), [unfinished, unknown, unknown]);
        for next in [Some(0), None] {
            let ops = [&two[..], &[(next, Some(410)), (Some(1), Some(510))]].concat();
            assert_eq!(latencies_of(&ops)[3..], [unknown, Latency::Known(90)], "{next:?}");
        }
        let whole = [(None, None), (Some(1), Some(210)), (Some(0), Some(310))];
        assert_eq!(latencies_of(&whole), [unfinished, unknown, Latency::Known(90)]);
    }
}
