//! Rules about the time between ops, about short ops, and about ops on the host.

use super::{
    dispatcher::Dispatcher,
    duration,
    late_host::{Compilation, TracedGaps},
};
use crate::{
    finding::{Basis, Cause, Finding, GainOf, Place, percent},
    middle::median,
    parallel::busiest_share,
    steady::Window,
    threshold::{
        COLLECTIVES, DOMINANT_PART, HOST_OPS, LAUNCH_GAP, SMALL_COUNT, SMALL_OP, SMALL_OPS,
        SMALL_TIME, TRACED_GAP, Threshold, WAITING,
    },
    time_class::TimeClass,
    timeline::DeviceTime,
};
use recording::problem::counted;
use std::collections::BTreeMap;

fn reaches(count: usize, threshold: Threshold) -> bool {
    count as f64 >= threshold.value
}

/// Time of a chip in one class of waiting.
pub(crate) struct Waiting {
    pub(crate) class: TimeClass,
    pub(crate) percent: f64,
    /// True if other parts of the class passed beside other ops, and are not counted.
    pub(crate) is_alone: bool,
    /// Exact time in the class. `percent` is rounded.
    pub(crate) class_ns: f64,
    pub(crate) total_ns: f64,
    /// Parts of the time in nanoseconds, each with its location.
    ///
    /// For [`TimeClass::HostLate`] and [`TimeClass::Dispatch`], these are the parts of gaps that
    /// belong to the class, each with the location of the op after the gap. For other classes, the
    /// parts are ops.
    pub(crate) parts: Vec<(f64, Place)>,
    /// Ops before and after the longest gap; `None` if unknown.
    pub(crate) between: Option<[String; 2]>,
    /// Compilation in the gaps; `None` if not recorded.
    pub(crate) compilation: Option<Compilation>,
    /// Gaps before ops of traces.
    pub(crate) traced: TracedGaps,
    /// What rows of ops say about the dispatcher; `None` for other classes and for launches.
    pub(crate) dispatcher: Option<Dispatcher>,
    /// Firmware time around the kernels, and the number of counter records.
    pub(crate) firmware: Firmware,
    /// Location of the launch with the most time in the class; `None` to use the longest of
    /// `parts`.
    pub(crate) place: Option<Place>,
    /// Chip; `None` if there is only one.
    pub(crate) chip_id: Option<u32>,
    pub(crate) iterations: IterationScope,
    /// Number of ops of the chip.
    pub(crate) op_count: usize,
}

/// Firmware time of a chip's launches, and the number of counter records in the launches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Firmware {
    /// Time before and after the kernels, without the time for counter records, in nanoseconds.
    pub(crate) around_ns: [f64; 2],
    /// Number of counter records.
    pub(crate) counter_count: u64,
}

/// Part of the recording that the time covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IterationScope {
    /// The last of several iterations.
    Last,
    /// The whole recording, because it contains no repeated sequence of ops.
    None,
    /// The whole recording, because all of it was asked for, or because iterations are no steady part.
    All,
}

impl IterationScope {
    /// Returns the part that an explanation of `window` covers. `is_doubted` is true if iterations were
    /// found and not used.
    pub(crate) const fn new(has_steady_part: bool, is_doubted: bool, window: Window) -> Self {
        match (has_steady_part, window) {
            (true, _) => Self::Last,
            (false, Window::All) => Self::All,
            (false, _) if is_doubted => Self::All,
            (false, _) => Self::None,
        }
    }
}

impl Waiting {
    /// Returns the chip that spends the largest share of its time in `class`, and the chip's time
    /// in that class. The returned `parts` are empty.
    ///
    /// Returns `None` if the time is unknown.
    pub(crate) fn on_chip(
        devices: &[DeviceTime],
        class: TimeClass,
        iterations: IterationScope,
    ) -> Option<(&DeviceTime, Self)> {
        // What a collective takes beside other ops, they take too.
        let alone_ns = |device: &DeviceTime| {
            device.collectives_alone_ns.filter(|_| class == TimeClass::Collective)
        };
        let percent_of = |device: &DeviceTime| match (alone_ns(device), device.time.total_ns) {
            (Some(ns), Some(whole)) => percent(ns, whole as f64).min(device.time.percent(class)),
            _ => device.time.percent(class),
        };
        let percents = devices.iter().map(|device| (percent_of(device), device));
        let (percent, most) = percents.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
        let class_ns = most.time.class_ns(class)?;
        let waiting = Self {
            class,
            percent,
            class_ns: alone_ns(most).map_or(class_ns, |ns| ns.min(class_ns)),
            is_alone: alone_ns(most).is_some_and(|ns| ns < class_ns),
            total_ns: most.time.total_ns? as f64,
            parts: Vec::new(),
            between: None,
            compilation: None,
            traced: TracedGaps::default(),
            dispatcher: None,
            firmware: Firmware::default(),
            place: None,
            chip_id: most.chip_id.filter(|_| devices.len() > 1),
            iterations,
            op_count: usize::try_from(most.op_count).unwrap_or(usize::MAX),
        };
        Some((most, waiting))
    }

    pub(super) fn longest(&self) -> Option<&(f64, Place)> {
        self.parts.iter().max_by(|one, other| one.0.total_cmp(&other.0))
    }

    /// Returns the location: the launch with the most time in the class if it is known, otherwise
    /// the longest part.
    fn place(&self) -> Place {
        let launches = self.parts.iter().filter(|(gap, _)| {
            self.class == TimeClass::Dispatch && *gap <= LAUNCH_GAP.value * 1000.0
        });
        let longest = launches.max_by(|one, other| one.0.total_cmp(&other.0));
        let part = longest.or_else(|| self.longest());
        let place = self.place.as_ref().or(part.map(|(_, place)| place));
        let place = place.cloned().unwrap_or_default();
        Place { chip_id: self.chip_id.or(place.chip_id), ..place }
    }

    /// Returns the rows of the longest parts. The row of `place` comes first.
    fn rows(&self, place: &Place) -> Vec<u64> {
        let mut parts: Vec<_> = self.parts.iter().collect();
        parts.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let others =
            parts.iter().filter_map(|(_, of)| of.row).filter(|row| Some(*row) != place.row);
        place
            .row
            .into_iter()
            .flat_map(|row| std::iter::once(row).chain(others.clone()))
            .take(3)
            .collect()
    }

    /// Returns the facts that support the finding's sentence.
    fn why(&self) -> Vec<String> {
        let [before, after] = self.firmware.around_ns;
        let mut facts = Vec::new();
        if self.class == TimeClass::HostLate {
            facts.extend(self.compilation_fact());
        }
        let counters = self.firmware.counter_count;
        if self.class == TimeClass::Profiler {
            facts.push(match counters {
                0 => "probes inside kernels, by the measured cost of a probe".to_owned(),
                count => {
                    let records = counted(count, "counter record", "counter records");
                    format!("{records} in firmware around the kernels")
                }
            });
        }
        if self.class == TimeClass::Dispatch && before + after > 0.0 {
            let launches = match self.op_count {
                1 => String::new(),
                count => format!(" in {count} launches together"),
            };
            facts.push(format!(
                "firmware takes {} before the kernels{launches} (it sets up buffers, semaphores and \
                 arguments) and {} after them (it waits for all RISCs and reports the end)",
                duration(before),
                duration(after),
            ));
        }
        facts.extend(self.dispatcher.iter().flat_map(Dispatcher::facts));
        facts
    }

    /// Returns three parts of the finding: the cause, the sentence and the advice.
    fn told(&self) -> (Cause, String, String) {
        let (percent, total) = (self.percent, duration(self.total_ns));
        match self.class {
            TimeClass::HostLate => (Cause::Host, self.late_host(), self.advice_on_host()),
            TimeClass::Dispatch => {
                let sentence =
                    format!("Launches take {percent:.1} % of {total}: {}", self.launches());
                let advice = "give each op more work, or fuse neighbouring ops: the time of a launch \
                              does not depend on its work";
                (Cause::Dispatch, sentence, advice.to_owned())
            }
            TimeClass::Profiler => {
                let rest = duration((self.total_ns - self.class_ns).max(0.0));
                let sentence = format!(
                    "Recording takes {percent:.1} % of {total}: without it, the time would be {rest}"
                );
                let advice = if self.firmware.counter_count > 0 {
                    "take times from a run without counters (TT_METAL_PROFILE_PERF_COUNTERS unset) \
                     and only the counters from this one"
                } else {
                    "record fewer zones, and none in inner loops"
                };
                (Cause::Profiler, sentence, advice.to_owned())
            }
            TimeClass::Collective => {
                let ops = counted(self.parts.len() as u64, "op", "ops");
                let alone = if self.is_alone { ", in which no other op runs" } else { "" };
                let most = self.longest_of_several();
                let sentence =
                    format!("Collectives take {percent:.1} % of {total}{alone}: {ops}{most}");
                let advice = "send less (smaller element types, sharded outputs), use more links, or \
                              overlap them with compute; compare the chips' times: a late chip makes \
                              the others wait in them";
                (Cause::Collective, sentence, advice.to_owned())
            }
            _ => {
                let sentence = format!(
                    "Kernels wait {percent:.1} % of {total}: RISCs are blocked, or cores end \
                     before the slowest core"
                );
                let advice = "look at blocked times by RISC and op, and at the balance of cores";
                (Cause::Wait, sentence, advice.to_owned())
            }
        }
    }

    /// Returns a text about the longest of at least three parts, if it takes most of their time; empty otherwise.
    fn longest_of_several(&self) -> String {
        let whole_ns: f64 = self.parts.iter().map(|(ns, _)| ns).sum();
        let longest = self.longest().filter(|_| self.parts.len() > 2);
        let longest = longest.map(|(ns, place)| (percent(*ns, whole_ns), place));
        let longest = longest.filter(|(share, _)| *share >= DOMINANT_PART.value);
        longest.map_or_else(String::new, |(share, place)| {
            format!(", of which one takes {share:.1} % ({place})")
        })
    }

    /// Returns a text about the cost of launches: the gaps before launches, and the firmware time
    /// around kernels.
    fn launches(&self) -> String {
        let gaps: Vec<f64> = self.parts.iter().map(|(gap, _)| *gap).collect();
        let gaps = match (gaps.len(), median(gaps)) {
            (1, Some(gap)) => Some(format!("{} of 1 gap", duration(gap))),
            (count, Some(gap)) => {
                let (gap, most) = (duration(gap), TRACED_GAP.value);
                Some(match self.dispatcher.map_or(0, |of| of.gap_count) {
                    0 => format!("{count} gaps, up to {most} us of each, median {gap}"),
                    whole if whole >= count => format!("{count} gaps, median {gap}"),
                    whole => format!(
                        "{count} gaps, {whole} of them whole, of the others up to {most} us of each, median {gap}"
                    ),
                })
            }
            (_, None) => None,
        };
        let firmware_ns: f64 = self.firmware.around_ns.iter().sum();
        let firmware = (firmware_ns > 0.0)
            .then(|| format!("{} of firmware around kernels", duration(firmware_ns)));
        match (gaps, firmware) {
            (Some(gaps), Some(firmware)) => format!("{gaps}, and {firmware}"),
            (Some(known), None) | (None, Some(known)) => known,
            (None, None) => "what they consist of was not recorded".to_owned(),
        }
    }
}

/// Reports a class of waiting, if it takes a large part of the time.
pub(crate) fn waiting(of: &Waiting) -> Option<Finding> {
    let threshold = match of.class {
        TimeClass::Collective => COLLECTIVES,
        _ => WAITING,
    };
    if of.percent < threshold.value {
        return None;
    }
    let (cause, sentence, advice) = of.told();
    let gain_of =
        if of.iterations == IterationScope::Last { GainOf::Steady } else { GainOf::Recording };
    // A cheaper recording would not make the program itself faster.
    let gain_ns = (of.class != TimeClass::Profiler).then_some(of.class_ns);
    let place = of.place();
    let (why, rows) = (of.why(), of.rows(&place));
    let finding = Finding::new(
        cause,
        (threshold, of.percent),
        sentence,
        place,
        advice,
        Basis::ops(of.op_count, of.op_count),
    );
    Some(Finding { why, rows, ..finding.with_gain(gain_ns, (of.total_ns, gain_of)) })
}

/// Reports very short ops, if there are many and they take a large part of the time. `durations_ns`
/// are the lengths of ops with their chips, and `whole` is the time to which the gain is compared.
pub(crate) fn small_ops(
    durations_ns: &[(Option<u32>, f64)],
    whole: (f64, GainOf),
) -> Option<Finding> {
    let all = durations_ns;
    let is_small = |(_, ns): &(_, f64)| *ns < SMALL_OP.value * 1000.0;
    let small: Vec<(Option<u32>, f64)> = all.iter().copied().filter(is_small).collect();
    let count_percent = percent(small.len() as f64, all.len() as f64);
    let sum = |of: &[(Option<u32>, f64)]| of.iter().map(|(_, ns)| ns).sum::<f64>();
    let time_percent = percent(sum(&small), sum(all));
    let fires = reaches(small.len(), SMALL_COUNT)
        && count_percent >= SMALL_OPS.value
        && time_percent >= SMALL_TIME.value;
    let gain_ns = sum(&small) * busiest_share(small.iter().copied());
    fires.then(|| {
        let sentence = format!(
            "{} of {} ops are shorter than {:.0} us and take {time_percent:.0} % of the kernels' time",
            small.len(),
            all.len(),
            SMALL_OP.value
        );
        let advice = "fuse neighbouring ops; ops with few tiles cannot use the whole grid";
        let figure = (SMALL_TIME, time_percent);
        Finding::new(Cause::SmallOps, figure, sentence, Place::default(), advice, Basis::ops(small.len(), all.len()))
            .with_gain(gain_ns, whole)
    })
}

/// Maximum number of host ops that one fact names.
const NAMED_HOST_OPS: usize = 3;

/// Lists the most frequent ops on the host.
fn named_host_ops(names: &[&str]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names.iter().filter(|name| !name.is_empty()) {
        let count = counts.entry(name).or_default();
        *count = count.saturating_add(1);
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown = counts.iter().take(NAMED_HOST_OPS).map(|(name, count)| format!("{name} {count} x"));
    let shown: Vec<String> = shown.collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// Reports ops that ran on the host instead of the chip. `names` has the name of each of these ops.
pub(crate) fn host_ops(names: &[&str]) -> Option<Finding> {
    let count = names.len();
    reaches(count, HOST_OPS).then(|| {
        let ops = counted(count as u64, "op runs", "ops run");
        let sentence = format!("{ops} on the host");
        let advice = "replace each with an op on the device; each also moves its tensors over PCIe";
        let figure = (HOST_OPS, count as f64);
        Finding {
            why: named_host_ops(names).into_iter().collect(),
            gain_of: GainOf::Recording,
            ..Finding::new(
                Cause::HostOps,
                figure,
                sentence,
                Place::default(),
                advice,
                Basis::ops(count, count),
            )
        }
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Builds the time of a chip in a class: `percent` of a total of 10 ms, with `gaps_ns` as the
    /// gaps before the chip's ops.
    pub(in crate::rules) fn wait(
        class: TimeClass,
        percent: f64,
        gaps_ns: &[f64],
        iterations: IterationScope,
    ) -> Waiting {
        let place = |row| Place { row: Some(row), ..Place::default() };
        Waiting {
            class,
            percent,
            is_alone: false,
            class_ns: percent * 1e5,
            total_ns: 10e6,
            parts: gaps_ns.iter().zip(2..).map(|(gap, row)| (*gap, place(row))).collect(),
            between: None,
            compilation: None,
            traced: TracedGaps::default(),
            dispatcher: None,
            firmware: Firmware::default(),
            place: None,
            chip_id: None,
            iterations,
            op_count: 4,
        }
    }

    #[test]
    fn a_host_that_leaves_the_chip_idle_is_told_with_the_longest_gap() {
        let mut late = wait(TimeClass::HostLate, 25.0, &[1e6, 1.4e6], IterationScope::Last);
        late.between = Some(["row 2 (Add)".to_owned(), "row 3 (Mul)".to_owned()]);
        let finding = waiting(&late).unwrap();
        assert_eq!(
            finding.sentence,
            "The host is late: 25.0 % of 10.0 ms the chip waits for it, in 2 gaps, each without the 6 us of a launch, median 1.2 ms (longest \
             1.4 ms, between row 2 (Add) and row 3 (Mul))"
        );
        assert_eq!((finding.cause, finding.place.row), (Cause::Host, Some(3)));
        assert_eq!(
            (finding.gain_at_most_ns, finding.gain_at_most_percent, finding.gain_of),
            (Some(2.5e6), Some(25.0), GainOf::Steady)
        );
    }

    #[test]
    fn each_class_of_waiting_has_its_sentence_from_its_share_on() {
        let told = |class, percent, gaps: &[f64]| {
            waiting(&wait(class, percent, gaps, IterationScope::All))
                .map(|of| (of.cause, of.sentence))
        };
        let (cause, sentence) = told(TimeClass::Dispatch, 20.0, &[1e3, 2e3, 9e3]).unwrap();
        assert_eq!(cause, Cause::Dispatch);
        assert_eq!(
            sentence,
            "Launches take 20.0 % of 10.0 ms: 3 gaps, up to 6 us of each, median 2.0 us"
        );
        let (_, sentence) = told(TimeClass::Dispatch, 20.0, &[]).unwrap();
        assert_eq!(
            sentence,
            "Launches take 20.0 % of 10.0 ms: what they consist of was not recorded"
        );
        let (cause, sentence) = told(TimeClass::Collective, 31.0, &[5e5]).unwrap();
        assert_eq!(cause, Cause::Collective);
        assert_eq!(sentence, "Collectives take 31.0 % of 10.0 ms: 1 op");
        assert_eq!(told(TimeClass::Wait, 20.0, &[]).unwrap().0, Cause::Wait);
        for class in [TimeClass::HostLate, TimeClass::Dispatch, TimeClass::Wait] {
            assert_eq!(told(class, 19.9, &[1e5]), None, "{class:?}");
        }
        // Collectives are ops: those of another kind have a sentence from a tenth on.
        assert!(told(TimeClass::Collective, 10.0, &[1e5]).is_some());
        assert_eq!(told(TimeClass::Collective, 9.9, &[1e5]), None);
    }

    #[test]
    fn launches_name_their_firmware_and_the_longest_gap_of_a_launch() {
        // A launch takes less than 7 us, so a part of that gap counts as time in which the host was
        // late.
        let mut launches = wait(TimeClass::Dispatch, 30.0, &[2e3, 7e3, 5e3], IterationScope::All);
        let finding = waiting(&launches).unwrap();
        assert_eq!((finding.place.row, &*finding.rows), (Some(4), &[4, 3, 2][..]));
        launches.firmware.around_ns = [4e5, 6e5];
        let finding = waiting(&launches).unwrap();
        assert_eq!(
            finding.sentence,
            "Launches take 30.0 % of 10.0 ms: 3 gaps, up to 6 us of each, median 5.0 us, and 1.0 ms of firmware around \
             kernels"
        );
        assert!(
            finding.why[0].starts_with("firmware takes 400 us before the kernels"),
            "{finding:?}"
        );
        launches.place = Some(Place { launch: Some(9), ..Place::default() });
        let finding = waiting(&launches).unwrap();
        assert_eq!((finding.place.launch, &*finding.rows), (Some(9), &[][..]));
    }

    #[test]
    fn recording_that_takes_a_fifth_of_the_time_is_told() {
        let mut recording = wait(TimeClass::Profiler, 37.0, &[], IterationScope::All);
        let told = |of: &Waiting| waiting(of).map(|of| (of.cause, of.why, of.advice));
        let finding = waiting(&recording).unwrap();
        assert_eq!(
            finding.sentence,
            "Recording takes 37.0 % of 10.0 ms: without it, the time would be 6.3 ms"
        );
        assert_eq!((finding.gain_at_most_ns, finding.gain_at_most_percent), (None, None));
        let (cause, why, advice) = told(&recording).unwrap();
        let probes = "probes inside kernels, by the measured cost of a probe";
        assert_eq!((cause, why), (Cause::Profiler, vec![probes.to_owned()]));
        assert_eq!(advice, "record fewer zones, and none in inner loops");
        recording.firmware.counter_count = 59;
        let (_, why, advice) = told(&recording).unwrap();
        assert_eq!(why, ["59 counter records in firmware around the kernels"]);
        assert!(advice.contains("TT_METAL_PROFILE_PERF_COUNTERS"), "{advice}");
        recording.percent = 19.9;
        assert_eq!(told(&recording), None);
    }

    #[test]
    fn small_ops_count_by_number_and_by_time() {
        let small_ops = |small: usize, large: usize, large_ns: f64| {
            let chip = Some(0);
            let durations_ns =
                [vec![(chip, 4_000.0); small], vec![(chip, large_ns); large]].concat();
            super::small_ops(&durations_ns, (1e6, GainOf::Recording))
        };
        let finding = small_ops(20, 20, 30_000.0).unwrap();
        assert_eq!(
            finding.sentence,
            "20 of 40 ops are shorter than 5 us and take 12 % of the kernels' time"
        );
        assert_eq!(finding.gain_at_most_percent, Some(8.0));
        assert_eq!(small_ops(15, 1, 30_000.0), None, "too few");
        assert_eq!(small_ops(20, 100, 5_000.0), None, "too small a part of the ops");
        assert_eq!(small_ops(20, 20, 300_000.0), None, "too small a part of the time");
    }

    #[test]
    fn ops_on_the_host_are_told_by_name() {
        assert_eq!(host_ops(&[]), None);
        let finding = host_ops(&["torch.add", "torch.mul", "torch.add"]).unwrap();
        assert_eq!(finding.sentence, "3 ops run on the host");
        assert_eq!(finding.why, ["torch.add 2 x, torch.mul 1 x"]);
        let finding = host_ops(&[""]).unwrap();
        assert_eq!(
            (finding.sentence.as_str(), finding.gain_at_most_ns),
            ("1 op runs on the host", None)
        );
    }
}
