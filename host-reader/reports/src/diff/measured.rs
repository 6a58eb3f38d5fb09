//! Durations of each op and zone in one recording, in the order in which the ops ran.

use super::{align::align, between::BetweenOps, traits::OpTraits, zones::LaunchZones};
use crate::perf::{repeated_end, repeated_sequence, without_numbers};
use analysis::{FullBuffer, Op, ops_of};
use reader::{from_lanes::FromLanes, packed_bytes::PackedError};
use recording::{PackedRecording, Recording};
use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

reader::labelled! {
    /// Kind of item that a duration belongs to.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MeasuredKind {
        /// Op. Its duration is the time from the first kernel start to the last kernel end.
        Op = "op",
        /// Zone. Its duration in a launch is the mean over all cores, and over all times that a
        /// core executed the zone.
        Zone = "zone",
    }
}

/// One launch of an op, or one zone, with its durations.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Kind of the item: op or zone.
    pub kind: MeasuredKind,
    /// Device that ran the item; for zones, also the RISC.
    pub place: Arc<str>,
    /// Name of the op or zone.
    pub name: Arc<str>,
    /// Shapes of an op, or file and line of a zone; empty if unknown.
    pub source: Arc<str>,
    /// What else is known of an op.
    pub traits: Arc<OpTraits>,
    /// Attributes of an op as text, as recorded; empty if unknown.
    pub attributes: Arc<str>,
    /// Clock of the device in MHz; `None` if unknown.
    pub clock_mhz: Option<f64>,
    /// Durations in ns, one for each repetition. Empty if the op ran and its duration is unknown.
    pub durations_ns: Vec<f64>,
    /// What a zone takes in kernel runs; `None` for an op, or if any of it is unknown.
    pub in_runs: Option<InRuns>,
}

/// What a zone takes in a kernel run: one value for each launch, the mean of all runs that have the zone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InRuns {
    /// Number of zones in a run.
    pub counts: Vec<f64>,
    /// Sum of their durations in ns.
    pub sums_ns: Vec<f64>,
    /// Part of the sum in ns that no zone inside covers.
    pub own_ns: Vec<f64>,
}

impl InRuns {
    /// Returns true if the runs of `other` have as many zones. How often there is which number does not count,
    /// because recordings may have other numbers of launches of each program.
    pub(super) fn is_as_many(&self, other: &Self) -> bool {
        let [own, their] = [self, other].map(|of| {
            let mut counts = of.counts.clone();
            counts.sort_by(f64::total_cmp);
            counts.dedup();
            counts
        });
        own == their
    }

    fn extend(&mut self, other: Self) {
        self.counts.extend(other.counts);
        self.sums_ns.extend(other.sums_ns);
        self.own_ns.extend(other.own_ns);
    }
}

/// Name, source and properties, which together identify a program.
pub(super) type Program<'a> = (&'a str, &'a str, &'a OpTraits);

impl Measured {
    pub(super) fn program(&self) -> Program<'_> {
        (&self.name, &self.source, &self.traits)
    }

    /// Returns the shapes of an op, as far as they are known.
    pub(super) fn shapes(&self) -> &str {
        self.traits.shapes.as_deref().unwrap_or(&self.source)
    }
}

/// One step in the sequence of a device's ops.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slot {
    pub(super) op: Measured,
    /// Share of the recordings that have this step; 1 for a single recording.
    pub(super) presence: f64,
    /// Number of the step within an iteration, if iterations are known.
    pub(super) position: Option<usize>,
    /// Gap before the launch in ns; `None` if it is unknown, or for the first launch of the device.
    pub(super) gap_ns: Option<f64>,
    /// Time of the launch in ns, from the end of the gap before it to the begin of the next one: of its kernels, or
    /// of its firmware if the gaps are those of firmware; `None` if it is unknown.
    pub(super) between_gaps_ns: Option<f64>,
}

impl Slot {
    pub(super) const fn of(op: Measured) -> Self {
        Self { op, presence: 1.0, position: None, gap_ns: None, between_gaps_ns: None }
    }

    /// Returns the time of the step in ns; `None` if it is unknown.
    pub(super) fn time_ns(&self) -> Option<f64> {
        let durations = &self.op.durations_ns;
        let mean = durations.iter().sum::<f64>() / durations.len() as f64;
        (!durations.is_empty()).then_some(mean * self.presence)
    }
}

/// The ops that one device ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct DeviceOps {
    pub(super) place: Arc<str>,
    /// All launches, in order.
    pub(super) launches: Vec<Slot>,
    /// The steps of one iteration, each with its durations in all iterations; `None` if the launches
    /// do not repeat.
    pub(super) iteration: Option<Vec<Slot>>,
    /// Number of complete iterations; 1 if the launches do not repeat.
    pub(super) iteration_count: usize,
    /// The steps of one of the iterations whose times are known: of those of `iteration`, or of those at the
    /// end of the launches, if they follow others; `None` if there are none.
    pub(super) loop_steps: Option<Vec<Slot>>,
    /// Number of these iterations.
    pub(super) loop_count: usize,
    /// Share of the known time of the device's ops in these iterations, from 0 to 1.
    pub(super) loop_share: f64,
    /// Times of the iterations after the first whose durations and gaps are all known.
    pub(super) iteration_times: Vec<IterationTime>,
    /// Launches outside of the iterations.
    pub(super) left_out: LeftOut,
    /// Time of the first iteration, and mean time of the others, in ns; `None` if the launches do not
    /// repeat or a duration is unknown.
    pub(super) first_iteration: Option<FirstIteration>,
    /// Numbers of launches of the recordings whose means the launches are; `None` for the launches of
    /// one recording.
    pub(super) merged_counts: Option<LaunchCounts>,
}

/// Time of one iteration, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct IterationTime {
    /// Time of its ops and of the gaps before them, from start to start.
    pub(super) whole_ns: f64,
    /// Time of the gaps.
    pub(super) gaps_ns: f64,
}

/// Launches outside of iterations: those of an iteration that is cut or differs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LeftOut {
    pub(super) count: usize,
    /// Time of these launches, in ns.
    pub(super) duration_ns: f64,
    /// Time of all launches of the device, in ns.
    pub(super) of_ns: f64,
}

impl LeftOut {
    pub(super) fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.duration_ns += other.duration_ns;
        self.of_ns += other.of_ns;
    }
}

/// The first of several iterations, which may be one that warms up and compiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct FirstIteration {
    /// Time of the ops of the first iteration, in ns.
    pub first_ns: f64,
    /// Mean time of the ops of the other iterations, in ns.
    pub others_ns: f64,
}

/// Numbers of launches of ops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct LaunchCounts {
    /// Number of launches.
    pub launch_count: usize,
    /// Number of launches without a known duration.
    pub untimed_count: usize,
}

impl LaunchCounts {
    /// Returns the counts of both.
    pub(super) const fn plus(self, other: Self) -> Self {
        Self {
            launch_count: self.launch_count.saturating_add(other.launch_count),
            untimed_count: self.untimed_count.saturating_add(other.untimed_count),
        }
    }
}

impl DeviceOps {
    pub(super) fn new(place: Arc<str>, launches: Vec<Slot>) -> Self {
        let mut ops = Self { place, launches, iteration_count: 1, ..Self::default() };
        ops.find_iterations();
        ops
    }

    /// Finds the shortest sequence that repeats, if there is one.
    fn find_iterations(&mut self) {
        let programs: Vec<_> = self
            .launches
            .iter()
            .map(|slot| (&slot.op.name, &slot.op.source, &slot.op.attributes))
            .collect();
        let stable = || {
            let stable = programs
                .iter()
                .map(|&(name, source, attributes)| (name, source, without_numbers(attributes)));
            repeated_sequence(&stable.collect::<Vec<_>>())
        };
        match repeated_sequence(&programs).or_else(stable) {
            Some((period, count)) => self.set_iterations(&positions(0, period, count), count),
            None => self.find_loop(),
        }
    }

    /// Finds iterations that follow other launches and last until the end, if they have most of the time. Ops of
    /// an iteration may have other attributes than those of the next one, such as the position of a token.
    pub(super) fn find_loop(&mut self) {
        let programs: Vec<_> = self.launches.iter().map(|slot| slot.op.program()).collect();
        let Some((period, count)) = repeated_end(&programs) else { return };
        let Some(begin) = period.checked_mul(count).and_then(|of| programs.len().checked_sub(of))
        else {
            return;
        };
        let time_ns =
            |slots: &[Slot]| slots.iter().filter_map(Slot::time_ns).fold(0.0, |sum, ns| sum + ns);
        let in_loop = self.launches.get(begin..).unwrap_or(&[]);
        let share = time_ns(in_loop) / time_ns(&self.launches);
        // Runs of one op with other attributes are other ops.
        let attributes = || in_loop.iter().map(|slot| without_numbers(&slot.op.attributes));
        let is_wanted = match period {
            1 => {
                share >= LEAST_SHARE_OF_ONE_OP
                    && attributes().all(|of| Some(of) == attributes().next())
            }
            _ => share >= LEAST_SHARE_OF_LOOP,
        };
        if is_wanted {
            let positions = positions(begin, period, count);
            self.iteration_times =
                (1..count).filter_map(|iteration| self.time_of(&positions, iteration)).collect();
            let first_of_last = programs.len().saturating_sub(period);
            self.loop_steps = self.launches.get(first_of_last..).map(<[Slot]>::to_vec);
            self.loop_count = count;
            self.loop_share = share;
        }
    }

    /// Sets the iterations. `positions` has the indices of the launches at each position.
    pub(super) fn set_iterations(&mut self, positions: &[Vec<usize>], count: usize) {
        let mut iteration = Vec::with_capacity(positions.len());
        for (position, members) in positions.iter().enumerate() {
            let mut durations_ns = Vec::with_capacity(members.len());
            let mut step = None;
            for &at in members {
                let Some(slot) = self.launches.get_mut(at) else { continue };
                slot.position = Some(position);
                durations_ns.extend_from_slice(&slot.op.durations_ns);
                step.get_or_insert_with(|| slot.op.clone());
            }
            let step = step.map(|op| Measured { durations_ns, ..op });
            iteration.extend(step.map(|op| Slot { position: Some(position), ..Slot::of(op) }));
        }
        self.first_iteration = self.first_of(positions, count);
        self.iteration_times =
            (1..count).filter_map(|iteration| self.time_of(positions, iteration)).collect();
        self.iteration_count = count;
        self.left_out = LeftOut::default();
        for slot in &self.launches {
            let is_left_out = slot.position.is_none();
            let ns = slot.time_ns().unwrap_or(0.0);
            self.left_out.add(LeftOut {
                count: is_left_out.into(),
                duration_ns: if is_left_out { ns } else { 0.0 },
                of_ns: ns,
            });
        }
        self.loop_steps = Some(iteration.clone());
        self.loop_count = count;
        let LeftOut { duration_ns, of_ns, .. } = self.left_out;
        self.loop_share = if of_ns > 0.0 { 1.0 - duration_ns / of_ns } else { 0.0 };
        self.iteration = Some(iteration);
    }

    /// Returns these ops with the loop at their end as iterations, and the launches before it left out; `None` if
    /// there is no loop, or if all launches are in iterations already.
    pub(super) fn in_loop(&self) -> Option<Self> {
        let steps = self.loop_steps.as_ref().filter(|_| self.merged_counts.is_none())?;
        if self.iteration.is_some() {
            return None;
        }
        let (period, count) = (steps.len(), self.loop_count);
        let begin = self.launches.len().checked_sub(period.checked_mul(count)?)?;
        let mut looped = self.clone();
        looped.set_iterations(&positions(begin, period, count), count);
        Some(looped)
    }

    /// Returns these ops with the shortest equal parts of iterations as iterations, if each iteration consists of
    /// several; `None` otherwise.
    pub(super) fn in_parts(&self) -> Option<Self> {
        let steps = self.iteration.as_ref().filter(|_| self.merged_counts.is_none())?;
        let programs: Vec<_> = steps
            .iter()
            .map(|Slot { op, .. }| (op.program(), without_numbers(&op.attributes)))
            .collect();
        let (length, part_count) = repeated_sequence(&programs)?;
        if length.checked_mul(part_count) != Some(programs.len()) {
            return None;
        }
        let mut positions: Vec<Vec<usize>> = vec![Vec::new(); length];
        for (at, slot) in self.launches.iter().enumerate() {
            let position = slot.position.and_then(|of| of.checked_rem(length));
            if let Some(members) = position.and_then(|of| positions.get_mut(of)) {
                members.push(at);
            }
        }
        let mut parts = self.clone();
        parts.set_iterations(&positions, self.iteration_count.checked_mul(part_count)?);
        Some(parts)
    }

    /// Returns the time of an iteration with the gaps before its ops; `None` if a duration of a kernel or
    /// a gap is unknown.
    fn time_of(&self, positions: &[Vec<usize>], iteration: usize) -> Option<IterationTime> {
        let mut time = IterationTime { whole_ns: 0.0, gaps_ns: 0.0 };
        for members in positions {
            let slot = self.launches.get(*members.get(iteration)?)?;
            let gap_ns = slot.gap_ns?;
            time.whole_ns += slot.between_gaps_ns? + gap_ns;
            time.gaps_ns += gap_ns;
        }
        (time.whole_ns > 0.0).then_some(time)
    }

    /// Returns the times of the first iteration and of the others; `None` if a duration is unknown.
    fn first_of(&self, positions: &[Vec<usize>], count: usize) -> Option<FirstIteration> {
        let others_count = count.checked_sub(1).filter(|others| *others > 0)?;
        let mut found = FirstIteration::default();
        for members in positions.iter().filter(|members| !members.is_empty()) {
            if members.len() != count {
                return None;
            }
            for (iteration, &at) in members.iter().enumerate() {
                let ns = self.launches.get(at)?.time_ns()?;
                if iteration == 0 {
                    found.first_ns += ns;
                } else {
                    found.others_ns += ns / others_count as f64;
                }
            }
        }
        Some(found)
    }

    /// Returns the numbers of launches of all recordings, whether or not they are in iterations.
    pub(super) fn launch_counts(&self) -> LaunchCounts {
        self.merged_counts.unwrap_or_else(|| LaunchCounts {
            launch_count: self.launches.len(),
            untimed_count: self.launches.iter().filter(|slot| slot.time_ns().is_none()).count(),
        })
    }

    /// Returns the steps of one iteration if `is_iteration` is true and the launches repeat, else
    /// all launches.
    pub(super) fn steps(&self, is_iteration: bool) -> &[Slot] {
        self.iteration.as_deref().filter(|_| is_iteration).unwrap_or(&self.launches)
    }
}

/// All measurements of one recording: the sequence of each device's ops, and the zones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    pub(super) devices: Vec<DeviceOps>,
    pub(super) zones: Vec<Measured>,
    pub(super) between: BetweenOps,
    /// True if the recording is one that can have zones.
    pub(super) records_zones: bool,
    /// RISCs with runs whose zones fill a buffer.
    pub(super) full_buffers: Vec<FullBuffer>,
    skipped: BTreeMap<String, u64>,
}

impl Measurements {
    /// Returns these measurements with other ops for the devices that `parts` has by their names.
    pub(super) fn with_parts(&self, parts: Vec<DeviceOps>) -> Cow<'_, Self> {
        if parts.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut all = self.clone();
        for part in parts {
            if let Some(own) = all.devices.iter_mut().find(|own| own.place == part.place) {
                *own = part;
            }
        }
        Cow::Owned(all)
    }

    /// Measures the ops and the zones of a recording. Each lost record counts as an item that could
    /// not be measured.
    #[must_use]
    pub fn from_recording(recording: &Recording) -> Self {
        let parts = LaunchZones::parts_of_readout(&recording.readout);
        Self::from_figures(recording, ops_of(&recording.readout), LaunchZones::from_parts(parts))
    }

    /// Measures the ops and the zones of a packed log, as [`Self::from_recording`] does. Each thread
    /// unpacks one lane at a time.
    ///
    /// # Errors
    /// If packed records cannot be read back from the temporary file.
    pub fn from_packed(packed: &PackedRecording) -> Result<Self, PackedError> {
        let zones = LaunchZones::from_parts(packed.collect()?);
        let launches = &packed.launches.launches;
        let measurements = Self::from_figures(&packed.recording, launches.ops(), zones);
        launches.check()?;
        Ok(measurements)
    }

    /// Returns these zones with the ops of `described`, a report on the same run that knows their names.
    #[must_use]
    pub fn with_ops_of(self, described: Self) -> Self {
        let Self { zones, records_zones, full_buffers, mut skipped, .. } = self;
        for (reason, count) in &described.skipped {
            let sum: &mut u64 = skipped.entry(reason.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
        Self { zones, records_zones, full_buffers, skipped, ..described }
    }

    fn from_figures(
        recording: &Recording,
        ops: impl IntoIterator<Item = Op>,
        zones: LaunchZones,
    ) -> Self {
        let readout = &recording.readout;
        let mut measurements = Self { records_zones: true, ..Self::default() };
        measurements.add_ops(readout, &recording.ops, ops);
        measurements.add_zones(readout, zones);
        let lost = readout.losses.unintended_total().record_count();
        measurements.skip("records that were lost", lost);
        measurements
    }

    /// Adds an op, as the next that its device ran, or a zone. Durations that are not positive
    /// numbers are left out and count as items that could not be measured.
    pub fn add(&mut self, item: Measured) {
        let item = self.measurable(item);
        match item.kind {
            MeasuredKind::Zone => {
                if !item.durations_ns.is_empty() {
                    self.zones.push(item);
                }
            }
            MeasuredKind::Op => {
                let at = self.devices.iter().position(|device| device.place == item.place);
                let place = item.place.clone();
                match at.and_then(|at| self.devices.get_mut(at)) {
                    Some(device) => device.launches.push(Slot::of(item)),
                    None => self.devices.push(DeviceOps {
                        place,
                        launches: vec![Slot::of(item)],
                        iteration_count: 1,
                        ..DeviceOps::default()
                    }),
                }
            }
        }
    }

    /// Leaves out durations that are not positive numbers.
    pub(super) fn measurable(&mut self, mut item: Measured) -> Measured {
        let count = item.durations_ns.len();
        item.durations_ns.retain(|duration| duration.is_finite() && *duration > 0.0);
        let skipped = count.saturating_sub(item.durations_ns.len());
        self.skip("durations that are not above 0", skipped as u64);
        item
    }

    /// Removes all zones for which `is_wanted` returns false.
    pub fn retain_zones(&mut self, is_wanted: impl FnMut(&Measured) -> bool) {
        self.zones.retain(is_wanted);
    }

    /// Makes the time between ops unknown: ops before and after an op that was chosen are not here.
    pub fn forget_gaps(&mut self) {
        self.between.forget_gaps();
        for device in &mut self.devices {
            device.launches.iter_mut().for_each(|slot| slot.gap_ns = None);
            device.iteration_times.clear();
        }
    }

    /// Counts items that could not be measured, by reason.
    pub fn skip(&mut self, reason: &str, count: u64) {
        if count > 0 {
            let skipped = self.skipped.entry(reason.to_owned()).or_default();
            *skipped = skipped.saturating_add(count);
        }
    }

    /// Combines several recordings of the same programs. Each recording becomes one repetition,
    /// with the geometric mean of its own repetitions as duration.
    ///
    /// The repetitions within one recording were made under the same conditions. Only several
    /// recordings show how much future recordings will differ. A single recording is returned
    /// unchanged.
    ///
    /// ```
    /// use reports::diff::{Measured, MeasuredKind, Measurements};
    /// let recording = |durations_ns: &[f64]| {
    ///     let mut measurements = Measurements::default();
    ///     measurements.add(Measured {
    ///         kind: MeasuredKind::Op,
    ///         place: "device 0".into(),
    ///         name: "Matmul".into(),
    ///         source: "32x32".into(),
    ///         traits: Default::default(),
    ///         attributes: Default::default(),
    ///         clock_mhz: None,
    ///         durations_ns: durations_ns.to_vec(),
    ///         in_runs: None,
    ///     });
    ///     measurements
    /// };
    /// let both = Measurements::from_recordings([recording(&[100.0, 400.0]), recording(&[300.0])]);
    /// let durations = &both.items().next().unwrap().durations_ns;
    /// assert!((durations[0] - 200.0).abs() < 1e-9 && (durations[1] - 300.0).abs() < 1e-9);
    /// ```
    #[must_use]
    pub fn from_recordings(recordings: impl IntoIterator<Item = Self>) -> Self {
        let mut recordings: Vec<_> = recordings.into_iter().collect();
        let Some(mut all) = (!recordings.is_empty()).then(|| recordings.remove(0)) else {
            return Self::default();
        };
        if recordings.is_empty() {
            return all;
        }
        let repeats =
            |recording: &Self| recording.devices.iter().all(|device| device.iteration.is_some());
        let is_iteration = repeats(&all) && recordings.iter().all(repeats);
        all.take_means(is_iteration);
        let mut count = 1.0;
        for mut recording in recordings {
            recording.take_means(is_iteration);
            count += 1.0;
            all.add_repetition(recording);
        }
        for slot in all.devices.iter_mut().flat_map(|device| &mut device.launches) {
            slot.presence /= count;
        }
        all
    }

    /// Makes the recording one repetition: each step and each zone has one duration.
    fn take_means(&mut self, is_iteration: bool) {
        for device in &mut self.devices {
            device.merged_counts = Some(device.launch_counts());
            let iteration = device.iteration.take().filter(|_| is_iteration);
            device.iteration_times = mean_time(&device.iteration_times).into_iter().collect();
            device.launches = iteration.unwrap_or_else(|| std::mem::take(&mut device.launches));
            if !is_iteration {
                device.left_out = LeftOut::default();
            }
            device.iteration_count = 1;
            for (position, slot) in device.launches.iter_mut().enumerate() {
                slot.position = Some(position);
                take_mean(&mut slot.op);
            }
        }
        self.zones.iter_mut().for_each(take_mean);
    }

    /// Adds a recording as a further repetition of each step.
    fn add_repetition(&mut self, other: Self) {
        for device in other.devices {
            let Some(own) = self.devices.iter_mut().find(|own| own.place == device.place) else {
                self.devices.push(device);
                continue;
            };
            own.merged_counts = Some(own.launch_counts().plus(device.launch_counts()));
            own.left_out.add(device.left_out);
            own.loop_share = own.loop_share.min(device.loop_share);
            // Each recording must have the same iteration, and show its time.
            let length = |ops: &DeviceOps| ops.loop_steps.as_ref().map(Vec::len);
            let is_comparable = length(own) == length(&device)
                && !own.iteration_times.is_empty()
                && !device.iteration_times.is_empty();
            if is_comparable {
                own.iteration_times.extend(device.iteration_times);
            } else {
                own.iteration_times.clear();
            }
            let [own_ops, other_ops] = [&own.launches, &device.launches]
                .map(|slots| slots.iter().map(|slot| &slot.op).collect::<Vec<_>>());
            let pairs = align(&own_ops, &other_ops).pairs;
            let mut steps: Vec<Option<Slot>> = device.launches.into_iter().map(Some).collect();
            for pair in pairs {
                let partner = own.launches.get_mut(pair.a);
                if let (Some(slot), Some(step)) =
                    (partner, steps.get_mut(pair.b).and_then(Option::take))
                {
                    slot.op.durations_ns.extend(step.op.durations_ns);
                    slot.presence += 1.0;
                }
            }
            own.launches.extend(steps.into_iter().flatten());
            for (position, slot) in own.launches.iter_mut().enumerate() {
                slot.position = Some(position);
            }
        }
        self.records_zones |= other.records_zones;
        self.full_buffers.extend(other.full_buffers);
        self.between.join(other.between);
        self.add_zones_of(other.zones);
        for (reason, count) in other.skipped {
            self.skip(&reason, count);
        }
    }

    /// Adds a recording of what the same programs did afterwards. Its ops follow those that are
    /// known, and its zones are further repetitions.
    pub fn append(&mut self, other: Self) {
        for device in other.devices {
            match self.devices.iter_mut().find(|own| own.place == device.place) {
                Some(own) => {
                    let own_launches = std::mem::take(&mut own.launches);
                    let all = own_launches.into_iter().chain(device.launches);
                    let all = all.map(|slot| Slot { position: None, ..slot }).collect();
                    *own = DeviceOps::new(device.place, all);
                }
                None => self.devices.push(device),
            }
        }
        self.records_zones |= other.records_zones;
        self.full_buffers.extend(other.full_buffers);
        self.between.join(other.between);
        self.add_zones_of(other.zones);
        for (reason, count) in other.skipped {
            self.skip(&reason, count);
        }
    }

    fn add_zones_of(&mut self, zones: Vec<Measured>) {
        let pairs = super::matching::pairs_of(&self.zones, &zones);
        let mut zones: Vec<Option<Measured>> = zones.into_iter().map(Some).collect();
        for (own, at) in pairs {
            if let Some(zone) = zones.get_mut(at).and_then(Option::take)
                && let Some(own) = self.zones.get_mut(own)
            {
                own.durations_ns.extend(zone.durations_ns);
                own.in_runs = own.in_runs.take().zip(zone.in_runs).map(|(mut all, more)| {
                    all.extend(more);
                    all
                });
            }
        }
        self.zones.extend(zones.into_iter().flatten());
    }

    /// Returns the launches of ops, device by device, then the zones.
    pub fn items(&self) -> impl Iterator<Item = &Measured> {
        let launches = self.devices.iter().flat_map(|device| &device.launches);
        launches.map(|slot| &slot.op).chain(&self.zones)
    }

    /// Returns the number of items that could not be measured, by reason.
    #[must_use]
    pub const fn skipped(&self) -> &BTreeMap<String, u64> {
        &self.skipped
    }
}

/// Least share of the kernels' time that iterations after other launches have, and that runs of a single op have.
const LEAST_SHARE_OF_LOOP: f64 = 0.5;
const LEAST_SHARE_OF_ONE_OP: f64 = 0.9;

/// Returns the indices of the launches at each position of `count` iterations of `period` launches.
fn positions(begin: usize, period: usize, count: usize) -> Vec<Vec<usize>> {
    let first = (begin..).take(period);
    first.map(|position| (position..).step_by(period).take(count).collect()).collect()
}

/// Returns the geometric mean of times, with the mean share of gaps; `None` if there are none.
fn mean_time(times: &[IterationTime]) -> Option<IterationTime> {
    let count = times.len() as f64;
    let logs: f64 = times.iter().map(|time| time.whole_ns.ln()).sum();
    let gaps_ns = times.iter().map(|time| time.gaps_ns).sum::<f64>() / count;
    (!times.is_empty()).then(|| IterationTime { whole_ns: (logs / count).exp(), gaps_ns })
}

fn take_mean(item: &mut Measured) {
    take_geometric_mean(&mut item.durations_ns);
    if let Some(InRuns { sums_ns, .. }) = &mut item.in_runs {
        take_geometric_mean(sums_ns);
    }
}

fn take_geometric_mean(values: &mut Vec<f64>) {
    if !values.is_empty() {
        let logs: f64 = values.iter().map(|value| value.ln()).sum();
        *values = vec![(logs / values.len() as f64).exp()];
    }
}
