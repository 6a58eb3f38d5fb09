//! The steady part of a recording's launches: the last iteration of each chip.

use crate::{
    iteration::{KnownIteration, OpStep, Step},
    launch_rows::LaunchRows,
    op::OpCauses,
    rules::gaps_before,
    steady::{Apart, HostWait, IterationTimes, SteadyPart},
    timeline::DeviceTime,
};
use analysis::Launch;
use host_events::HostEventKind;
use recording::{Recording, clocks_of};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};
use wire::RunHostId;

/// A launch with its causes.
pub(crate) type Explained<'a> = (&'a OpCauses, &'a Launch);

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
}

impl SteadyLaunches {
    /// Finds the last iteration with data of each chip of a recording; `None` if the launches of
    /// any chip contain no such iteration.
    pub(crate) fn new(
        recording: &Recording,
        launches: &[Explained<'_>],
        described: &LaunchRows,
    ) -> Option<Self> {
        let signposts = Signposts::new(recording).unwrap_or_default();
        let forms = forms_of(recording, launches, described);
        let (mut chips, mut begin) = (BTreeMap::new(), 0_usize);
        for own in launches.chunk_by(|(one, _), (other, _)| one.chip_id == other.chip_id) {
            let end = begin.saturating_add(own.len());
            let chip_id = own.first()?.0.chip_id;
            let (steps, indices) = steps_of(own, forms.get(begin..end)?, &signposts, chip_id);
            let launch_of = |step: usize| indices.get(step).copied().flatten();
            let length = |step: usize| {
                let (op, _) = own.get(launch_of(step)?)?;
                Some(op.kernel?.duration_cycles as f64)
            };
            let iteration = KnownIteration::new(&steps, length)?;
            let mut launches = iteration.steps.clone().filter_map(launch_of);
            let first = launches.next()?;
            let last = launches.next_back().unwrap_or(first);
            let own = begin.saturating_add(first)..begin.saturating_add(last).saturating_add(1);
            chips.insert(chip_id, ChipIteration { all: begin..end, own, iteration });
            begin = end;
        }
        (!chips.is_empty()).then_some(Self { chips })
    }

    /// Returns true if a launch is in the last iteration of its chip.
    pub(crate) fn contains(&self, chip_id: u32, index: usize) -> bool {
        self.chips.get(&chip_id).is_some_and(|chip| chip.own.contains(&index))
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
        let [all_wait, own_wait] = [all, own].map(HostWait::from_devices);
        let longest = own.iter().max_by_key(|device| device.time.total_ns)?;
        let ChipIteration { all: whole, own: steady, iteration } =
            self.chips.get(&longest.chip_id?)?;
        let gaps = |range: Range<usize>| -> Vec<f64> {
            let own = launches.get(range).unwrap_or(&[]);
            own.iter().filter_map(|(op, _)| Some(op.gap_ns? as f64)).collect()
        };
        let until = launches.get(whole.start..=steady.start)?;
        let number = |index: usize| index.saturating_sub(whole.start) as u64;
        // Launch numbers are counted from 1.
        let (first, last) = (number(steady.start).saturating_add(1), number(steady.end));
        let apart = Apart {
            rule: iteration.label(),
            other_ops: iteration.other_ops(),
            part: match last {
                last if first == last => format!("launch {first} of {}", whole.len()),
                last => format!("launches {first} to {last} of {}", whole.len()),
            },
            all: all_wait,
            own: own_wait,
            gaps_before_ns: gaps(whole.start..steady.start.saturating_add(1)),
            gap_before_ns: gaps_before(until.iter().map(|(op, _)| *op)).last()?.1,
            gaps_ns: gaps(whole.clone()).iter().sum(),
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
        };
        Some((part, apart.sentence()))
    }
}

/// Returns the name of each launch and a description of the launch's tensors, which distinguishes
/// launches with the same name.
///
/// For a launch without a name, the description is the id of its program.
fn forms_of<'a>(
    recording: &Recording,
    launches: &[Explained<'a>],
    described: &LaunchRows,
) -> Vec<(&'a str, String)> {
    let mut tensors: BTreeMap<(u32, RunHostId), &str> = BTreeMap::new();
    for op in &recording.ops {
        if let Some(text) = op.value("input_tensors") {
            tensors.entry((op.chip_id, op.run_host_id)).or_insert(text);
        }
    }
    let forms = launches.iter().enumerate().map(|(index, (op, _))| match op.name.as_deref() {
        Some(name) => {
            let form = tensors.get(&(op.chip_id, RunHostId(op.run_host_id))).copied();
            let form = form.or_else(|| described.row(index).map(|row| &*row.source));
            (name, form.unwrap_or_default().to_owned())
        }
        None => ("", RunHostId(op.run_host_id).base().to_string()),
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
    forms: &'a [(&'a str, String)],
    signposts: &Signposts<'a>,
    chip_id: u32,
) -> (Vec<Step<'a>>, Vec<Option<usize>>) {
    let clock = signposts.clocks.get(&chip_id);
    let mut marks = signposts.marks.iter().filter(|_| clock.is_some()).peekable();
    let (mut steps, mut indices) = (Vec::new(), Vec::new());
    for (index, ((op, launch), (name, form))) in own.iter().zip(forms).enumerate() {
        let start_ns = clock.map_or(0, |clock| clock.time_ns(op.window.0));
        while let Some((_, mark)) = marks.next_if(|(time_ns, _)| *time_ns <= start_ns) {
            steps.push(Step::Signpost(mark));
            indices.push(None);
        }
        let replay = launch.op.trace_id.zip(launch.op.trace_replay);
        steps.push(Step::Op(OpStep { device: None, name, form, replay, setup: (None, "") }));
        indices.push(Some(index));
    }
    (steps, indices)
}
