//! Whether an iteration of one recording does the work of an iteration of the other, so that their times can
//! be compared.
//!
//! An op that was added, removed or fused leaves most of the others: at least half of the ops of the
//! shorter iteration, or of its time, must have a counterpart. If the longer one has the ops of the other
//! several times, one of them is a part: a layer beside a model of equal layers, or a pass beside a loop of two.

use super::{
    align::align,
    kind::kind_of,
    measured::{DeviceOps, Measured, Measurements, Slot},
    pairing::device_pairs,
};
use std::{borrow::Cow, fmt, sync::Arc};

/// A device on which the time of an iteration is not compared.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct UncomparedIterations {
    /// Device in A.
    pub place: Arc<str>,
    /// Mean time of an iteration with its gaps in A in ns, without the first one; `None` if it is unknown.
    pub a_ns: Option<f64>,
    /// The same of B.
    pub b_ns: Option<f64>,
    /// Why.
    #[serde(flatten)]
    pub doubt: IterationDoubt,
}

/// Why the time of an iteration is not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum IterationDoubt {
    /// A side shows no two iterations.
    NotRepeated {
        /// True if A shows none.
        in_a: bool,
        /// True if B shows none.
        in_b: bool,
    },
    /// No iteration of a side after its first one has a known length of each kernel and gap.
    UnknownTimes {
        /// True if A has none.
        in_a: bool,
        /// True if B has none.
        in_b: bool,
    },
    /// Too few of the ops have a counterpart.
    OtherWork {
        /// Number of ops in an iteration of A.
        a_op_count: usize,
        /// Number of ops in an iteration of B.
        b_op_count: usize,
        /// Number of ops that have a counterpart.
        pair_count: usize,
    },
    /// An iteration of one side has the ops of an iteration of the other several times.
    Several {
        /// Number of ops in an iteration of A.
        a_op_count: usize,
        /// Number of ops in an iteration of B.
        b_op_count: usize,
    },
}

impl IterationDoubt {
    /// Returns true if both sides show iterations with their times, and these are not known to do the same
    /// work.
    #[must_use]
    pub const fn is_of_work(self) -> bool {
        matches!(self, Self::OtherWork { .. } | Self::Several { .. })
    }
}

impl fmt::Display for IterationDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = |in_a, in_b| match (in_a, in_b) {
            (true, false) => "A shows",
            (false, true) => "B shows",
            _ => "A and B show",
        };
        match *self {
            Self::NotRepeated { in_a, in_b } => {
                write!(f, "{} no two iterations", which(in_a, in_b))
            }
            Self::UnknownTimes { in_a, in_b } => write!(
                f,
                "{} no iteration after the first with a known length of each kernel and gap",
                which(in_a, in_b)
            ),
            Self::OtherWork { a_op_count, b_op_count, pair_count } => write!(
                f,
                "{pair_count} of the {a_op_count} ops in an iteration of A have a counterpart among the \
                 {b_op_count} in one of B"
            ),
            Self::Several { a_op_count, b_op_count } => {
                let (long, short) = if a_op_count > b_op_count { ("A", "B") } else { ("B", "A") };
                let most = a_op_count.max(b_op_count);
                let least = a_op_count.min(b_op_count);
                write!(
                    f,
                    "an iteration of {long} ({most} ops) has the ops of one of {short} ({least}) several times"
                )
            }
        }
    }
}

/// Least share of the ops of the shorter iteration, or of its time, that must have a counterpart.
const LEAST_COMMON_SHARE: f64 = 0.5;

/// Returns both recordings with iterations that do the same work on each device, where parts of iterations do: a
/// replay of a model of equal layers does not do the work of a pass in which the layer repeats, but its
/// layers do. Loops of other numbers of iterations are compared by an iteration, also if ops precede them.
pub(super) fn in_iterations_of_same_work<'a>(
    a: &'a Measurements,
    b: &'a Measurements,
) -> [Cow<'a, Measurements>; 2] {
    let (mut parts_of_a, mut parts_of_b) = (Vec::new(), Vec::new());
    for pair in device_pairs(&a.devices, &b.devices) {
        let [Some(own_a), Some(own_b)] = pair else { continue };
        if is_same_work(own_a, own_b) {
            if is_another_number(own_a, own_b) {
                parts_of_a.extend(own_a.in_loop());
                parts_of_b.extend(own_b.in_loop());
            }
            continue;
        }
        let (part_a, part_b) = (own_a.in_parts(), own_b.in_parts());
        let choices =
            [(None, part_b.as_ref()), (part_a.as_ref(), None), (part_a.as_ref(), part_b.as_ref())];
        let is_same = |(in_a, in_b): &(Option<&DeviceOps>, Option<&DeviceOps>)| {
            let is_other = in_a.is_some() || in_b.is_some();
            is_other && is_same_work(in_a.unwrap_or(own_a), in_b.unwrap_or(own_b))
        };
        if let Some((in_a, in_b)) = choices.into_iter().find(is_same) {
            parts_of_a.extend(in_a.cloned());
            parts_of_b.extend(in_b.cloned());
        }
    }
    [a.with_parts(parts_of_a), b.with_parts(parts_of_b)]
}

/// Returns why the times of iterations cannot be compared; `None` if they can.
pub(super) fn doubt(a: &DeviceOps, b: &DeviceOps) -> Option<IterationDoubt> {
    let (Some(steps_a), Some(steps_b)) = (&a.loop_steps, &b.loop_steps) else {
        let [in_a, in_b] = [a, b].map(|ops| ops.loop_steps.is_none());
        return Some(IterationDoubt::NotRepeated { in_a, in_b });
    };
    let [in_a, in_b] = [a, b].map(|ops| ops.iteration_times.is_empty());
    if in_a || in_b {
        return Some(IterationDoubt::UnknownTimes { in_a, in_b });
    }
    doubt_of_work(steps_a, steps_b)
}

/// Which parts of two recordings have comparable times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparable {
    /// All launches, an iteration of each, or all launches of one and an iteration of the other.
    Any,
    /// All launches of both, or an iteration of each: their iterations do the same work.
    Alike,
    /// An iteration of each: their iterations do the same work, another number of times.
    Iterations,
}

impl Comparable {
    pub(super) fn of_devices(pairs: &[[Option<&DeviceOps>; 2]]) -> Self {
        let of = pairs.iter().map(|pair| match pair {
            [Some(a), Some(b)] => Self::of_device(a, b),
            _ => Self::Any,
        });
        of.reduce(|one, other| if one == other { one } else { Self::Any }).unwrap_or(Self::Any)
    }

    fn of_device(a: &DeviceOps, b: &DeviceOps) -> Self {
        if a.iteration.is_none() || b.iteration.is_none() || !is_same_work(a, b) {
            Self::Any
        } else if is_another_number(a, b) {
            Self::Iterations
        } else {
            Self::Alike
        }
    }
}

/// Returns true if one of the devices began another number of iterations: a cut one counts.
fn is_another_number(a: &DeviceOps, b: &DeviceOps) -> bool {
    let begun = |ops: &DeviceOps| {
        let period = ops.loop_steps.as_ref().map_or(0, Vec::len);
        std::num::NonZeroUsize::new(period).map(|period| ops.launches.len().div_ceil(period.get()))
    };
    a.loop_count != b.loop_count && begun(a) != begun(b)
}

fn is_same_work(a: &DeviceOps, b: &DeviceOps) -> bool {
    let steps = a.loop_steps.as_ref().zip(b.loop_steps.as_ref());
    steps.is_some_and(|(a, b)| doubt_of_work(a, b).is_none())
}

/// Returns why two iterations are not known to do the same work; `None` if they do.
fn doubt_of_work(steps_a: &[Slot], steps_b: &[Slot]) -> Option<IterationDoubt> {
    let (a_op_count, b_op_count) = (steps_a.len(), steps_b.len());
    let (short, long) = match a_op_count <= b_op_count {
        true => (steps_a, steps_b),
        false => (steps_b, steps_a),
    };
    let once = Common::new(short, long);
    // Ops of the same kind and other shapes are hardly those of another pass.
    let is_more_than_half = |count: usize| count.saturating_mul(2) > short.len();
    if is_more_than_half(long.len().saturating_sub(once.alike)) {
        let twice: Vec<Slot> = short.iter().chain(short).cloned().collect();
        let again = Common::new(&twice, long).alike.saturating_sub(once.alike);
        if is_more_than_half(again) {
            return Some(IterationDoubt::Several { a_op_count, b_op_count });
        }
    }
    // Those of a much longer iteration hardly are the same work.
    let is_much_longer = long.len() >= short.len().saturating_mul(2);
    let pair_count = if is_much_longer { once.alike } else { once.all };
    let is_most = pair_count as f64 >= LEAST_COMMON_SHARE * short.len() as f64;
    // Pairs with most of the longer one's time, too, are no part of it.
    let is_most_of_both = once.time_shares.iter().all(|share| *share >= LEAST_COMMON_SHARE);
    let is_most_time = match is_much_longer {
        true => is_most_of_both,
        false => once.time_shares[0] >= LEAST_COMMON_SHARE,
    };
    let is_same = is_most || is_most_time;
    (!is_same).then_some(IterationDoubt::OtherWork { a_op_count, b_op_count, pair_count })
}

/// What two iterations have in common.
struct Common {
    /// Number of ops with a counterpart.
    all: usize,
    /// Number of those whose counterpart has the same kind and shapes.
    alike: usize,
    /// Share of each iteration's time that ops with a counterpart have.
    time_shares: [f64; 2],
}

impl Common {
    fn new(one: &[Slot], other: &[Slot]) -> Self {
        let [ops, others] =
            [one, other].map(|slots| slots.iter().map(|slot| &slot.op).collect::<Vec<&Measured>>());
        let pairs = align(&ops, &others).pairs;
        let mut common = Self { all: pairs.len(), alike: 0, time_shares: [0.0; 2] };
        let mut paired_ns = [0.0; 2];
        for pair in pairs {
            let (Some(own), Some(their)) = (one.get(pair.a), other.get(pair.b)) else { continue };
            let is_alike = kind_of(&own.op.name) == kind_of(&their.op.name)
                && own.op.shapes() == their.op.shapes();
            common.alike = common.alike.saturating_add(is_alike.into());
            paired_ns[0] += own.time_ns().unwrap_or(0.0);
            paired_ns[1] += their.time_ns().unwrap_or(0.0);
        }
        let all_ns = [one, other].map(|slots| slots.iter().filter_map(Slot::time_ns).sum::<f64>());
        common.time_shares = [paired_ns[0] / all_ns[0], paired_ns[1] / all_ns[1]];
        common
    }
}
