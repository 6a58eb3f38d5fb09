//! The steady part of a recording's launches: the last iteration of each chip.

use crate::{
    gap_before::GapBefore,
    iteration::{KnownIteration, Lengths, OpStep, Setting, SteadyRule, Step},
    launch_rows::LaunchRows,
    op::OpCauses,
    rules::gaps_before,
    steady::{
        Apart, HostWait, IterationTimes, SteadyPart, Window, chips_outside, steady_iteration,
    },
    timeline::DeviceTime,
};
use analysis::Launch;
use host_events::HostEventKind;
use recording::{Recording, clocks_of};
use reports::perf::signpost_half;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};
use wire::RunHostId;

/// A launch with its causes.
pub(crate) type Explained<'a> = (&'a OpCauses, &'a Launch);

impl ChipIteration {
    /// Finds the iteration of a chip with the launches `own`, which have the indices `all`.
    fn new(
        (own, forms): (&[Explained<'_>], &[Form<'_>]),
        signposts: &Signposts<'_>,
        (chip_id, all): (u32, Range<usize>),
        window: Window,
    ) -> Result<Self, Option<String>> {
        let (steps, indices) = steps_of(own, forms, signposts, chip_id);
        let launch_of = |step: usize| indices.get(step).copied().flatten();
        let kernel = |step: usize| own.get(launch_of(step)?)?.0.kernel;
        let are_ns = own.iter().any(|(op, _)| op.kernel.is_some_and(|of| of.duration_ns.is_some()));
        let length = |step: usize| {
            let kernel = kernel(step)?;
            let cycles = kernel.end_cycle.saturating_sub(kernel.start_cycle);
            Some(kernel.duration_ns.unwrap_or(cycles) as f64)
        };
        let bounds = |iteration: &KnownIteration| {
            let mut launches = iteration.steps.clone().filter_map(launch_of);
            let first = launches.next()?;
            Some((first, launches.next_back().unwrap_or(first)))
        };
        let lengths = Lengths { of: length, are_ns };
        let iteration = steady_iteration(&steps, &lengths, window).map_err(|doubt| {
            let part = |of: &KnownIteration| match bounds(of) {
                Some((first, last)) => launches_text(first, last, own.len()),
                None => String::new(),
            };
            doubt.map(|doubt| doubt.sentence(part, "launches"))
        })?;
        let (first, last) = bounds(&iteration).ok_or(None)?;
        let gaps: Vec<Option<f64>> =
            gaps_before(own.iter().map(|(op, _)| *op)).map(|of| of.1).collect();
        let gap_of = |launch: usize| gaps.get(launch).copied().flatten();
        let (starts, at): (Vec<usize>, usize) = match iteration.rule {
            SteadyRule::RepeatedOp => ((first.saturating_sub(1)..=last).collect(), 1),
            _ => {
                let firsts = iteration.equal.iter();
                let firsts = firsts.map(|range| range.clone().find_map(launch_of));
                let starts: Vec<usize> = firsts.flatten().collect();
                let at = starts.iter().position(|start| *start == first).unwrap_or(0);
                (starts, at)
            }
        };
        let gaps: Vec<Option<f64>> = starts.into_iter().map(gap_of).collect();
        let gap_before = GapBefore::new(&gaps, at).or_else(|| GapBefore::new(&[gap_of(first)], 0));
        let own = all.start.saturating_add(first)..all.start.saturating_add(last).saturating_add(1);
        Ok(Self { all, own, iteration, gap_before })
    }

    /// Returns the part of the gap before the iteration that belongs to the loop.
    fn gap_ns(&self) -> Option<f64> {
        self.gap_before.and_then(|gap| gap.of_loop_ns())
    }
}

/// Returns a text about the launches with these indices of a chip.
fn launches_text(first: usize, last: usize, count: usize) -> String {
    // Launch numbers are counted from 1.
    let [first, last] = [first, last].map(|index| index.saturating_add(1));
    match last {
        last if first == last => format!("launch {first} of {count}"),
        last => format!("launches {first} to {last} of {count}"),
    }
}

/// Last iteration with data on each chip, as index ranges into all launches. The launches are
/// sorted by chip and time.
pub(crate) struct SteadyLaunches {
    chips: BTreeMap<u32, ChipIteration>,
}

/// Range of all launches of a chip, and the launches of its last iteration with data.
struct ChipIteration {
    all: Range<usize>,
    own: Range<usize>,
    iteration: KnownIteration,
    /// Gap before the iteration; `None` if it is unknown.
    gap_before: Option<GapBefore>,
}

impl SteadyLaunches {
    /// Finds the iteration of each chip that an explanation of `window` covers.
    ///
    /// # Errors
    /// If the whole recording is to be explained: the sentence which says why the iterations of a chip
    /// are not used; `None` if there are none on any chip.
    pub(crate) fn new(
        recording: &Recording,
        (launches, described): (&[Explained<'_>], &LaunchRows),
        window: Window,
    ) -> Result<Self, Option<String>> {
        if window == Window::All || launches.len() < 2 {
            return Err(None);
        }
        let signposts = Signposts::new(recording).unwrap_or_default();
        let forms = forms_of(recording, launches, described);
        let (mut chips, mut begin) = (BTreeMap::new(), 0_usize);
        for own in launches.chunk_by(|(one, _), (other, _)| one.chip_id == other.chip_id) {
            let all = begin..begin.saturating_add(own.len());
            let chip_id = own.first().ok_or(None)?.0.chip_id;
            let forms = forms.get(all.clone()).ok_or(None)?;
            let found = ChipIteration::new((own, forms), &signposts, (chip_id, all), window)?;
            begin = found.all.end;
            chips.insert(chip_id, found);
        }
        if chips.is_empty() { Err(None) } else { Ok(Self { chips }) }
    }

    /// Returns true if a launch is in the last iteration of its chip.
    pub(crate) fn contains(&self, chip_id: u32, index: usize) -> bool {
        self.chips.get(&chip_id).is_some_and(|chip| chip.own.contains(&index))
    }

    /// Returns, for each chip, the gap before its iteration as far as it belongs to the loop.
    pub(crate) fn gaps_ns(&self) -> BTreeMap<u32, f64> {
        self.chips.iter().filter_map(|(chip_id, chip)| Some((*chip_id, chip.gap_ns()?))).collect()
    }

    /// Returns the cycle at which the part of the gap begins that belongs to the loop of a chip, and the
    /// launch before it; `None` if no gap before the iteration does.
    pub(crate) fn begin<'a>(
        &self,
        launches: &[Explained<'a>],
        chip_id: u32,
    ) -> Option<(u64, Explained<'a>)> {
        let chip = self.chips.get(&chip_id)?;
        let part_ns = chip.gap_ns()?;
        let earlier = launches.get(chip.all.start..chip.own.start)?;
        let before = earlier.iter().max_by_key(|(op, _)| op.window.1)?;
        let (first, _) = launches.get(chip.own.start)?;
        let gap_cycles = first.window.0.checked_sub(before.0.window.1)?;
        let whole_ns = first.time.ns_of(gap_cycles).filter(|ns| *ns > 0.0)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let left_out = (gap_cycles as f64 * (1.0 - part_ns / whole_ns).max(0.0)).round() as u64;
        Some((before.0.window.1.saturating_add(left_out), *before))
    }

    /// Returns the steady part, and the sentence that compares the steady part with the whole
    /// recording.
    ///
    /// `all` has the times of the chips in the whole recording, and `own` has their times in the
    /// steady part.
    pub(crate) fn part(
        &self,
        launches: &[Explained<'_>],
        [all, own]: [&[DeviceTime]; 2],
    ) -> Option<(SteadyPart, String)> {
        let [all_wait, own_wait] = HostWait::of_part(all, own);
        let longest = own.iter().max_by_key(|device| device.time.total_ns)?;
        let chip = self.chips.get(&longest.chip_id?)?;
        let ChipIteration { all: whole, own: steady, iteration, gap_before } = chip;
        // The share of waiting is that of the chip with the longest time of all launches.
        let waiting = all_wait.chip_id.and_then(|chip_id| self.chips.get(&chip_id)).unwrap_or(chip);
        let gaps = |range: Range<usize>| -> Vec<f64> {
            let own = launches.get(range).unwrap_or(&[]);
            own.iter().filter_map(|(op, _)| Some(op.gap_ns? as f64)).collect()
        };
        let before = waiting.own.start.saturating_add(usize::from(waiting.gap_ns().is_none()));
        let index = |index: usize| index.saturating_sub(whole.start);
        // Launch numbers are counted from 1.
        let first = (index(steady.start) as u64).saturating_add(1);
        let last = index(steady.end) as u64;
        let apart = Apart {
            rule: iteration.label(),
            unknown_ops: iteration.unknown_ops(),
            coverage: iteration.coverage.sentence(iteration.rule),
            outside: chips_outside(all, own),
            part: launches_text(
                index(steady.start),
                index(steady.end.saturating_sub(1)),
                whole.len(),
            ),
            all: all_wait,
            own: own_wait,
            gaps_before_ns: gaps(waiting.all.start..before),
            gap_before: *gap_before,
            gaps_ns: gaps(waiting.all.clone()).iter().sum(),
            iterations: IterationTimes::default(),
        };
        let counts = self.chips.values().map(|chip| chip.own.len() as u64);
        let part = SteadyPart {
            rule: iteration.rule,
            first_row: None,
            last_row: None,
            first_launch: Some(first),
            last_launch: Some(last),
            op_count: counts.sum(),
            total_ns: own_wait.total_ns,
            gap_before_ns: chip.gap_ns(),
            kernel_percent: iteration.coverage.percent,
        };
        Some((part, apart.sentence()))
    }
}

/// What tells the ops of launches apart.
struct Form<'a> {
    name: &'a str,
    /// Tensors of the op; for a launch without a name, the id of its program.
    text: String,
    setting: Setting<'a>,
}

/// Returns what tells the op of each launch apart.
fn forms_of<'a>(
    recording: &Recording,
    launches: &[Explained<'a>],
    described: &'a LaunchRows,
) -> Vec<Form<'a>> {
    let mut tensors: BTreeMap<(u32, RunHostId), &str> = BTreeMap::new();
    for op in &recording.ops {
        if let Some(text) = op.value("input_tensors") {
            tensors.entry((op.chip_id, op.run_host_id)).or_insert(text);
        }
    }
    let forms = launches.iter().enumerate().map(|(index, (op, _))| {
        let Some(name) = op.name.as_deref() else {
            let text = RunHostId(op.run_host_id).base().to_string();
            return Form { name: "", text, setting: Setting::default() };
        };
        let row = described.row(index);
        let text = tensors.get(&(op.chip_id, RunHostId(op.run_host_id))).copied();
        let text = text.or_else(|| row.map(|row| &*row.source)).unwrap_or_default().to_owned();
        Form { name, text, setting: row.map(Setting::from_row).unwrap_or_default() }
    });
    forms.collect()
}

/// The host's signposts, and for each chip the clock that converts the chip's cycles to host time.
#[derive(Default)]
struct Signposts<'a> {
    /// Signposts, sorted by time.
    marks: BTreeSet<(u64, &'a str)>,
    clocks: BTreeMap<u32, recording::DeviceClock<'a>>,
}

impl<'a> Signposts<'a> {
    /// Collects the signposts; `None` if the host's clock was not recorded.
    fn new(recording: &'a Recording) -> Option<Self> {
        if recording.host.is_empty() {
            return None;
        }
        let (clocks, origin_ns) = clocks_of(recording);
        let origin_ns = u64::try_from(origin_ns?).ok()?;
        let mut marks = BTreeSet::new();
        for host in &recording.host {
            for event in host.threads.iter().flat_map(|thread| &thread.events) {
                if event.kind == HostEventKind::Signpost {
                    marks.insert((event.time_ns.saturating_sub(origin_ns), host.name(event)));
                }
            }
        }
        let chips = recording.readout.devices.iter().map(|device| device.chip.chip_id);
        Some(Self { marks, clocks: chips.zip(clocks).collect() })
    }
}

/// Returns the launches of one chip and the signposts between them as steps. For each step, also
/// returns the index of its launch; `None` for a signpost.
fn steps_of<'a>(
    own: &[Explained<'_>],
    forms: &'a [Form<'a>],
    signposts: &Signposts<'a>,
    chip_id: u32,
) -> (Vec<Step<'a>>, Vec<Option<usize>>) {
    let clock = signposts.clocks.get(&chip_id);
    let mut marks = signposts.marks.iter().filter(|_| clock.is_some()).peekable();
    let (mut steps, mut indices) = (Vec::new(), Vec::new());
    for (index, ((op, launch), form)) in own.iter().zip(forms).enumerate() {
        let start_ns = clock.map_or(0, |clock| clock.time_ns(op.window.0));
        while let Some((_, mark)) = marks.next_if(|(time_ns, _)| *time_ns <= start_ns) {
            // The host may end a part by a signpost before chips have run it.
            let is_end = matches!(signpost_half(mark), Some((_, false)));
            steps.push(if is_end { Step::Other } else { Step::Signpost(mark) });
            indices.push(None);
        }
        let replay = launch.op.trace_id.zip(launch.op.trace_replay);
        let Form { name, text, setting } = form;
        steps.push(Step::Op(OpStep { device: None, name, form: text, setting: *setting, replay }));
        indices.push(Some(index));
    }
    (steps, indices)
}
