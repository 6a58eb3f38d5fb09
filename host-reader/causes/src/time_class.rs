//! Classes of time: each nanosecond of a chip belongs to exactly one class.

use crate::threshold::{LAUNCH_GAP, TRACED_GAP};

reader::labelled! {
    /// Activity of a chip during a period of time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TimeClass {
        /// Compute kernels ran. Blocked time is excluded if it was recorded.
        Compute = "compute",
        /// Kernels that move data ran, but no compute kernels.
        DataMovement = "movement",
        /// An op that communicates with other chips ran.
        Collective = "collective",
        /// Kernels were blocked, or finished cores waited for the slowest core.
        Wait = "wait",
        /// The chip launched an op.
        Dispatch = "dispatch",
        /// The host had sent nothing to launch.
        HostLate = "host late",
        /// Probes of the profiler ran. Only probes of known cost are in this class.
        Profiler = "profiler",
        /// The recording does not show the activity.
        Unknown = "unknown",
    }
}

impl TimeClass {
    /// Returns the part of a gap between ops that belongs to the class; `None` if there is none.
    /// `is_sent` is true if the host had sent the op before the gap, as between ops of one replay.
    ///
    /// A short gap is that of a launch; a longer one also waits for the host.
    pub(crate) fn part_of_gap(self, gap_ns: f64, is_sent: bool) -> Option<f64> {
        let [launch_gap_ns, launch_ns] = [LAUNCH_GAP, TRACED_GAP].map(|gap| gap.value * 1000.0);
        let is_launch = is_sent || gap_ns <= launch_gap_ns;
        let part_ns = match self {
            Self::Dispatch if is_launch => gap_ns,
            Self::Dispatch => launch_ns,
            Self::HostLate if !is_launch => gap_ns - launch_ns,
            _ => return None,
        };
        (part_ns > 0.0).then_some(part_ns)
    }
}

/// Extent to which blocked time was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitEvidence {
    /// No waits were recorded. Blocked time is counted in the classes of the blocked kernels.
    #[default]
    None,
    /// The waits of some ops were recorded.
    Some,
    /// The waits of all ops were recorded.
    All,
}

/// Share of one class in a period of time.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct ClassShare {
    /// Class.
    pub class: TimeClass,
    /// Cycles. Fractions result from averaging over cores.
    pub cycles: f64,
    /// Nanoseconds; `None` if the clock's frequency is unknown.
    pub ns: Option<f64>,
    /// Share of the class in percent of the period, with one decimal. The shares of all classes add
    /// up to 100.0.
    pub percent: f64,
}

/// Time in which compute and data movement overlapped, in percent of the kernel time.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Overlap {
    /// Lower bound of the overlap.
    pub at_least_percent: f64,
    /// Upper bound of the overlap.
    pub at_most_percent: f64,
}

/// Split of a period of time into classes.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct TimeSplit {
    /// Cycles of the period.
    pub total_cycles: u64,
    /// Nanoseconds of the period; `None` if the clock's frequency is unknown.
    pub total_ns: Option<u64>,
    /// Extent to which blocked time was recorded.
    pub waits: WaitEvidence,
    /// False if no gap between ops is known. The gaps are then not part of the period, and nothing
    /// is known of launches and of waiting for the host.
    pub has_gaps: bool,
    /// Shares of the classes, in the order of [`TimeClass::ALL`].
    pub shares: Vec<ClassShare>,
    /// Overlap of compute and data movement; `None` if only kernels of one kind ran, or if the
    /// overlap is unknown.
    pub overlap: Option<Overlap>,
}

impl TimeSplit {
    pub(crate) fn new(times: &ClassTimes, total_cycles: u64, aiclk_mhz: u32) -> Self {
        let cycles = times.filled_to(total_cycles);
        let tenths = tenths_of(&cycles);
        let shares = TimeClass::ALL.into_iter().zip(cycles).zip(tenths);
        Self {
            total_cycles,
            total_ns: analysis::cycles_to_ns(total_cycles, aiclk_mhz),
            waits: times.waits,
            has_gaps: true,
            shares: shares
                .map(|((class, cycles), tenths)| ClassShare {
                    class,
                    cycles,
                    ns: (aiclk_mhz != 0).then(|| cycles * 1000.0 / f64::from(aiclk_mhz)),
                    percent: f64::from(tenths) / 10.0,
                })
                .collect(),
            overlap: times.overlap,
        }
    }

    /// Converts cycles of this period's clock to nanoseconds; `None` if the clock's frequency is
    /// unknown.
    pub(crate) fn ns_of(&self, cycles: u64) -> Option<f64> {
        let [cycles, total, ns] = [cycles, self.total_cycles, self.total_ns?].map(|of| of as f64);
        (total > 0.0).then(|| cycles * (ns / total))
    }

    /// Returns the time in a class in nanoseconds; `None` if the clock's frequency is unknown.
    #[must_use]
    pub fn class_ns(&self, class: TimeClass) -> Option<f64> {
        self.shares.iter().find(|share| share.class == class)?.ns
    }

    /// Returns the share of a class in percent.
    #[must_use]
    pub fn percent(&self, class: TimeClass) -> f64 {
        self.shares.iter().find(|share| share.class == class).map_or(0.0, |share| share.percent)
    }

    /// Returns the share of a class in percent; `None` for [`TimeClass::Wait`] if no waits were
    /// recorded, and for the classes of gaps if no gap is known.
    #[must_use]
    pub fn known_percent(&self, class: TimeClass) -> Option<f64> {
        let percent = self.percent(class);
        let is_unknown = match class {
            TimeClass::Wait => self.waits == WaitEvidence::None,
            TimeClass::Dispatch | TimeClass::HostLate => !self.has_gaps,
            _ => false,
        };
        (!is_unknown || percent > 0.0).then_some(percent)
    }
}

/// Cycles by class, in the order of [`TimeClass::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ClassTimes {
    cycles: [f64; 8],
    pub(crate) waits: WaitEvidence,
    pub(crate) overlap: Option<Overlap>,
    /// Number of gaps that are longer than a launch although the host had called the op before.
    pub(crate) dispatcher_gap_count: u64,
}

impl ClassTimes {
    pub(crate) fn add(&mut self, class: TimeClass, cycles: f64) {
        if let Some(sum) = self.cycles.get_mut(class as usize)
            && cycles.is_finite()
        {
            *sum += cycles.max(0.0);
        }
    }

    pub(crate) fn add_all(&mut self, other: &Self, factor: f64) {
        for (class, cycles) in TimeClass::ALL.into_iter().zip(other.cycles) {
            self.add(class, cycles * factor);
        }
    }

    pub(crate) fn total(&self) -> f64 {
        self.cycles.iter().sum()
    }

    /// Moves cycles into a class. The cycles are taken from all classes, in proportion to the
    /// cycles that each class has.
    pub(crate) fn set_apart(&mut self, class: TimeClass, cycles: f64) {
        let total = self.total();
        let cycles = cycles.min(total);
        if total > 0.0 && cycles > 0.0 {
            self.cycles = self.cycles.map(|part| part * (1.0 - cycles / total));
            self.add(class, cycles);
        }
    }

    /// Returns the cycles of each class in a period of a known length.
    ///
    /// Missing cycles are added to [`TimeClass::Unknown`]. An excess from rounding is removed from
    /// all classes in proportion to the cycles of each class.
    fn filled_to(&self, total_cycles: u64) -> [f64; 8] {
        let wanted = total_cycles as f64;
        let mut filled = *self;
        let found = self.total();
        if found > wanted && found > 0.0 {
            filled.cycles = filled.cycles.map(|cycles| cycles * wanted / found);
        } else {
            filled.add(TimeClass::Unknown, wanted - found);
        }
        filled.cycles
    }
}

/// Returns shares in tenths of a percent that add up to exactly 1000.
///
/// Each share is rounded down, and the shares with the largest remainders are then incremented. If
/// the total is 0, the share of [`TimeClass::Unknown`] is 1000.
fn tenths_of(cycles: &[f64; 8]) -> [u32; 8] {
    let total: f64 = cycles.iter().sum();
    if total <= 0.0 {
        return [0, 0, 0, 0, 0, 0, 0, 1000];
    }
    let exact = cycles.map(|cycles| cycles / total * 1000.0);
    #[expect(clippy::cast_possible_truncation, reason = "0 to 1000")]
    let mut tenths = exact.map(|exact| exact.floor() as u32);
    let mut order: Vec<(f64, usize)> = exact.map(f64::fract).into_iter().zip(0..).collect();
    order.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let missing = 1000_u32.saturating_sub(tenths.iter().sum());
    for (_, at) in order.into_iter().take(missing as usize) {
        if let Some(tenths) = tenths.get_mut(at) {
            *tenths = tenths.saturating_add(1);
        }
    }
    tenths
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn thirds_are_rounded_to_a_whole() {
        let mut times = ClassTimes::default();
        for class in [TimeClass::Compute, TimeClass::Wait, TimeClass::Dispatch] {
            times.add(class, 100.0);
        }
        let split = TimeSplit::new(&times, 300, 1000);
        let percents: Vec<_> = split.shares.iter().map(|share| share.percent).collect();
        assert_eq!(percents, [33.4, 0.0, 0.0, 33.3, 33.3, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn nothing_is_unknown() {
        let split = TimeSplit::new(&ClassTimes::default(), 0, 0);
        assert_eq!((split.percent(TimeClass::Unknown), split.total_ns), (100.0, None));
    }

    proptest! {
        #[test]
        fn shares_add_up_to_the_whole(
            cycles in prop::array::uniform8(0.0..1e12_f64),
            total in 0_u64..1 << 42,
        ) {
            let mut times = ClassTimes::default();
            TimeClass::ALL.into_iter().zip(cycles).for_each(|(class, of)| times.add(class, of));
            let split = TimeSplit::new(&times, total, 1350);
            let tenths: f64 = split.shares.iter().map(|s| (s.percent * 10.0).round()).sum();
            prop_assert_eq!(tenths, 1000.0);
            let sum: f64 = split.shares.iter().map(|share| share.cycles).sum();
            prop_assert!((sum - total as f64).abs() <= 1e-3 + total as f64 * 1e-9);
        }
    }
}
