//! Changes between two recordings, with their statistical certainty.

use super::{
    between::Gaps,
    distinction::distinguish,
    elapsed::Elapsed,
    groups::{Group, groups_of},
    measured::{FirstIteration, InRuns, LaunchCounts, Measured, MeasuredKind, Measurements},
    pairing::{Paired, Pairing},
    repetitions::RepetitionCounts,
    same_work::{UncomparedIterations, in_iterations_of_same_work},
    statistics::{adjusted_p_values, welch},
    traits::Difference,
    unmatched::{Unmatched, unmatched_of},
};
use crate::perf::Spread;
use analysis::FullBuffer;
use reader::role::ZoneRole;
use std::{collections::BTreeMap, sync::Arc};

/// Options for comparing two recordings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiffOptions {
    /// Confidence level of the intervals, between 0 and 1.
    pub confidence: f64,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self { confidence: 0.95 }
    }
}

/// Certainty of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// The change is larger than the variation between repetitions.
    Significant,
    /// The change was not tested for significance, because one of the recordings has only one
    /// repetition.
    SingleRepetition,
    /// The change is within the variation between repetitions.
    NotSignificant,
}

reader::labelled! {
    /// What the two sides of a change have in common.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Agreement {
        /// Everything that both recordings know.
        All = "all",
        /// Kind and shapes, or the name of a zone and its file.
        Shape = "shape",
        /// The kind of op alone.
        Kind = "kind",
    }
}

/// Durations of one op or zone that exists in both recordings.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Change {
    /// Kind of the item: op or zone.
    pub kind: MeasuredKind,
    /// Device that ran the item; for zones, also the RISC.
    pub place: Arc<str>,
    /// Name of the op or zone in A.
    pub name: Arc<str>,
    /// Source in A: the shapes of an op, or the file and line of a zone.
    pub source: Arc<str>,
    /// What tells the op in A from the others with this place, name and source; empty if there are
    /// none, or for one of them that lacks what the others have.
    pub distinction: Arc<str>,
    /// What the op in A and the op in B have in common.
    pub agreement: Agreement,
    /// What else differs between the op in A and the op in B.
    pub differences: Vec<Difference>,
    /// True if the op has another place in the sequence of ops.
    pub is_moved: bool,
    /// Number of pairs of launches that were compared.
    pub pair_count: usize,
    /// Durations in A, in ns.
    pub a_ns: Spread,
    /// Durations in B, in ns.
    pub b_ns: Spread,
    /// Mean numbers of the zone in a kernel run of A and of B, if B does not run it as often as A: then all times are
    /// sums over a run.
    pub zones_per_run: Option<(f64, f64)>,
    /// Time of a zone in a kernel run; `None` for an op, or if it is unknown.
    pub run_times_ns: Option<RunTimes>,
    /// Geometric mean of the durations in A, in ns.
    pub a_geometric_mean_ns: f64,
    /// Geometric mean of the durations in B, in ns.
    pub b_geometric_mean_ns: f64,
    /// Geometric mean of the durations in A, in cycles; `None` if the clock is unknown.
    pub a_cycles: Option<f64>,
    /// Geometric mean of the durations in B, in cycles; `None` if the clock is unknown.
    pub b_cycles: Option<f64>,
    /// Geometric mean of B divided by the geometric mean of A. Above 1, B is slower.
    pub ratio: f64,
    /// Lower and upper bound of the ratio's confidence interval; `None` if the change was not
    /// tested.
    pub interval: Option<(f64, f64)>,
    /// Probability of a ratio at least this far from 1 if nothing has changed, adjusted for the
    /// number of tests.
    pub adjusted_p_value: Option<f64>,
    /// Certainty of the change.
    pub certainty: Certainty,
}

impl Change {
    /// Returns what a kernel takes longer in B, and how much of it is outside of the zones within it, in ns; `None`
    /// if this is no zone of a kernel, if it has no zones within, or if it is unknown.
    #[must_use]
    pub fn kernel_change_ns(&self) -> Option<(f64, f64)> {
        let RunTimes { whole, own } = self.run_times_ns?;
        let has_zones = own.0 < whole.0 && own.1 < whole.1;
        let is_wanted = has_zones && ZoneRole::from_name(&self.name).is_kernel();
        is_wanted.then_some((whole.1 - whole.0, own.1 - own.0))
    }

    /// Returns by how many percent B is slower than A; negative if B is faster.
    #[must_use]
    pub fn percent(&self) -> f64 {
        (self.ratio - 1.0) * 100.0
    }

    /// Returns true if the change should be reported: it is significant, or there is a difference
    /// but too few repetitions for a test.
    #[must_use]
    pub fn is_noteworthy(&self) -> bool {
        match self.certainty {
            Certainty::Significant => true,
            Certainty::SingleRepetition => self.ratio != 1.0,
            Certainty::NotSignificant => false,
        }
    }
}

/// One recording of a comparison: its time, and what could not be compared.
///
/// If the ops of a recording repeat and the other recording has another number of repetitions, times
/// are those of one iteration.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Side {
    /// Number of launches of ops, and of zones.
    pub item_count: usize,
    /// Number of launches of ops.
    pub op_count: usize,
    /// Number of these launches whose duration is known: `total_ns` is their time.
    pub timed_op_count: usize,
    /// Numbers of launches of the whole recording, also if ops are compared by their means.
    pub launches: LaunchCounts,
    /// The first iteration, if the ops repeat. It is part of all means.
    pub first_iteration: Option<FirstIteration>,
    /// Number of iterations over which the times of ops are means; 1 if all launches were compared
    /// one by one.
    pub iteration_count: usize,
    /// Time of all ops whose duration is known, in ns: the sum of `compared_ns` and `alone_ns`.
    pub total_ns: f64,
    /// Time of the ops that were compared, in ns.
    pub compared_ns: f64,
    /// Time of the ops without a counterpart, in ns.
    pub alone_ns: f64,
    /// Time of the ops in iterations that are cut or differ, in ns, if iterations are compared. They are
    /// in none of these times, and are compared with nothing.
    pub left_out_ns: f64,
    /// Number of these ops.
    pub left_out_count: usize,
    /// Share of the time of all ops of the recording that was compared, from 0 to 1.
    pub compared_share: f64,
    /// Time between the ops of the whole recording, which is in none of these times.
    pub gaps: Gaps,
    /// RISCs with runs whose zones fill a buffer, if the log does not count its losses.
    pub full_buffers: Vec<FullBuffer>,
    /// Time of all zones in ns. Zones within zones count as well.
    pub zones_ns: f64,
    /// Time of the zones that were compared, in ns.
    pub compared_zones_ns: f64,
    /// Ops and zones without a counterpart in the other recording, the longest first.
    pub only_here: Vec<Unmatched>,
    /// Number of items that could not be measured, by reason.
    pub skipped: BTreeMap<String, u64>,
}

/// Mean time of a zone in a kernel run, in A and in B in ns.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct RunTimes {
    /// Time of the zone.
    pub whole: (f64, f64),
    /// Part of it that no zone within covers.
    pub own: (f64, f64),
}

/// Time of the zones of a device and RISC, if any of them was compared.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ZoneTimes {
    /// Device and RISC in A.
    pub place: Arc<str>,
    /// Number of zones that both recordings have.
    pub zone_count: usize,
    /// Time of all zones of the RISC in a kernel run of A in ns, in which zones within zones count once: the sum
    /// of the means over launches; `None` if it is unknown.
    pub a_ns: Option<f64>,
    /// The same of B.
    pub b_ns: Option<f64>,
}

impl ZoneTimes {
    /// Returns by how many percent B takes longer than A; `None` if it is unknown.
    #[must_use]
    pub fn percent(&self) -> Option<f64> {
        let (a_ns, b_ns) = self.a_ns.zip(self.b_ns).filter(|(a_ns, _)| *a_ns > 0.0)?;
        Some((b_ns / a_ns - 1.0) * 100.0)
    }
}

/// Comparison of two recordings.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Diff {
    /// Changes of the ops and zones that both recordings contain. Significant changes come first,
    /// then changes with a single repetition. Within each group, larger changes come first.
    pub changes: Vec<Change>,
    /// Time gained and lost by kind and shapes of ops, the largest change first.
    pub groups: Vec<Group>,
    /// Devices whose ops were compared although their numbers differ, as (A, B).
    pub other_devices: Vec<(Arc<str>, Arc<str>)>,
    /// True if the sequences of ops were too long for the best alignment, so that a search of bounded
    /// length aligned them.
    pub is_alignment_bounded: bool,
    /// True if both recordings are of a kind that can have zones.
    pub has_zones: bool,
    /// How often A and B launch each op in a row, if they are benchmarks that repeat the same ops another number of
    /// times; launches that only one of them has are then no further work.
    pub repetitions: Option<RepetitionCounts>,
    /// Number of pairs of ops that were compared.
    pub op_pair_count: usize,
    /// Time of all zones, by device and RISC of which any zone was compared, the largest change first.
    pub zone_times: Vec<ZoneTimes>,
    /// Time of an iteration with its gaps, for each device on which both recordings show it.
    pub elapsed: Vec<Elapsed>,
    /// The other devices that both recordings have.
    pub uncompared_iterations: Vec<UncomparedIterations>,
    /// Smallest share of the time of a device's ops that is in compared iterations, in A and in B, from 0 to 1. It is
    /// 0 if the iterations of a device are not compared.
    pub iterations_share: [f64; 2],
    /// Recording A.
    pub a: Side,
    /// Recording B.
    pub b: Side,
}

impl Diff {
    /// Compares recording B with recording A.
    ///
    /// ```
    /// use reports::diff::{Diff, DiffOptions, Measured, MeasuredKind, Measurements};
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
    /// let a = recording(&[100.0, 101.0, 99.0]);
    /// let b = recording(&[150.0, 152.0, 149.0]);
    /// let diff = Diff::new(&a, &b, DiffOptions::default());
    /// assert!(diff.changes[0].percent() > 40.0);
    /// assert_eq!(diff.a.total_ns, 100.0);
    /// ```
    #[must_use]
    pub fn new(a: &Measurements, b: &Measurements, options: DiffOptions) -> Self {
        let repetitions = RepetitionCounts::new(a, b);
        let [a, b] = &in_iterations_of_same_work(a, b);
        let (a, b) = (&**a, &**b);
        let pairing = Pairing::new(a, b);
        let pairs = pairing.changes();
        let mut found: Vec<(Change, &Measured)> = pairs
            .iter()
            .filter_map(|pairs| Some((compared(pairs, options.confidence)?, pairs.first()?.a)))
            .collect();
        distinguish(&mut found);
        let mut changes: Vec<Change> = found.into_iter().map(|(change, _)| change).collect();
        judge(&mut changes, options.confidence);
        changes.sort_by(|one, other| {
            let [one_size, other_size] = [one, other].map(|change| change.ratio.ln().abs());
            one.certainty.cmp(&other.certainty).then(other_size.total_cmp(&one_size))
        });
        let mut elapsed = Vec::new();
        let mut uncompared_iterations = Vec::new();
        for (a, b) in pairing.devices() {
            match Elapsed::new(a, b, options.confidence) {
                Ok(found) => elapsed.push(found),
                Err(doubt) => uncompared_iterations.push(doubt),
            }
        }
        Self {
            changes,
            groups: groups_of(&pairing),
            other_devices: pairing.other_devices(),
            is_alignment_bounded: pairing.is_bounded(),
            has_zones: a.records_zones && b.records_zones,
            repetitions,
            op_pair_count: pairing.ops().count(),
            zone_times: zone_times_of(&pairing),
            iterations_share: match uncompared_iterations.is_empty() {
                true => pairing.iterations_share(),
                false => [0.0; 2],
            },
            elapsed,
            uncompared_iterations,
            a: side(a, &pairing, 0),
            b: side(b, &pairing, 1),
        }
    }

    /// Returns by how many ns the time of all ops changed from A to B; `None` if the duration of any
    /// op is unknown, because it may have changed as well.
    #[must_use]
    pub fn change_ns(&self) -> Option<f64> {
        let is_known = |side: &Side| side.total_ns > 0.0 && side.launches.untimed_count == 0;
        let is_known = is_known(&self.a) && is_known(&self.b);
        is_known.then_some(self.b.total_ns - self.a.total_ns)
    }

    /// Returns by how many percent a launch takes longer in B than in A, in the mean of all, if both repeat the same
    /// ops another number of times; `None` otherwise, or if the duration of any op is unknown.
    #[must_use]
    pub fn percent_per_launch(&self) -> Option<f64> {
        let change_ns =
            self.change_ns().filter(|_| self.a.iteration_count.max(self.b.iteration_count) == 1)?;
        let RepetitionCounts { a, b } = self.repetitions?;
        let ratio = (self.a.total_ns + change_ns) / b as f64 / (self.a.total_ns / a as f64);
        Some((ratio - 1.0) * 100.0)
    }

    /// Returns by how many ns the time of the ops that were compared changed from A to B; `None` if
    /// none was.
    #[must_use]
    pub fn compared_change_ns(&self) -> Option<f64> {
        (self.op_pair_count > 0).then_some(self.b.compared_ns - self.a.compared_ns)
    }

    /// Returns the clocks of A and B in MHz if they differ, so that equal cycles take another time;
    /// `None` if they are equal, unknown, or not the same for all ops of a side.
    ///
    /// ```
    /// use reports::diff::{Diff, DiffOptions, Measured, MeasuredKind, Measurements};
    /// let recording = |clock_mhz: f64| {
    ///     let mut measurements = Measurements::default();
    ///     measurements.add(Measured {
    ///         kind: MeasuredKind::Op,
    ///         place: "device 0".into(),
    ///         name: "Matmul".into(),
    ///         source: "32x32".into(),
    ///         traits: Default::default(),
    ///         attributes: Default::default(),
    ///         clock_mhz: Some(clock_mhz),
    ///         durations_ns: vec![9e6 / clock_mhz],
    ///         in_runs: None,
    ///     });
    ///     measurements
    /// };
    /// let diff = |a, b| Diff::new(&recording(a), &recording(b), DiffOptions::default());
    /// assert_eq!(diff(1000.0, 900.0).clocks_mhz(), Some((1000, 900)));
    /// assert_eq!(diff(1000.0, 1000.0).clocks_mhz(), None);
    /// ```
    #[must_use]
    pub fn clocks_mhz(&self) -> Option<(u32, u32)> {
        let clock = |ns: f64, cycles: Option<f64>| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates"
            )]
            cycles.map(|cycles| (cycles / ns * 1000.0).round() as u32)
        };
        let mut clocks = self.changes.iter().filter_map(|of| {
            let a = clock(of.a_geometric_mean_ns, of.a_cycles)?;
            Some((a, clock(of.b_geometric_mean_ns, of.b_cycles)?))
        });
        let (a, b) = clocks.next()?;
        // Rounded columns make clocks inexact.
        let is_near = |one: u32, other: u32| {
            u64::from(one.abs_diff(other)) * LEAST_CLOCK_CHANGE <= u64::from(one)
        };
        let are_equal = clocks.all(|(one, other)| is_near(a, one) && is_near(b, other));
        (are_equal && !is_near(a, b)).then_some((a, b))
    }
}

/// Returns the times of the zones of each device and RISC that have zones in both recordings.
///
/// A zone that only one of them has counts, too: if it is within another one, that one is shorter by it.
fn zone_times_of(pairing: &Pairing<'_>) -> Vec<ZoneTimes> {
    let own_ns = |zone: &Measured| zone.in_runs.as_ref().map(|runs| mean(&runs.own_ns));
    let mut places: BTreeMap<&Arc<str>, ZoneTimes> = BTreeMap::new();
    let mut places_of_b: BTreeMap<&Arc<str>, &Arc<str>> = BTreeMap::new();
    for pair in pairing.compared_zones() {
        places_of_b.insert(&pair.b.place, &pair.a.place);
        let [a_ns, b_ns] = [pair.a, pair.b].map(own_ns);
        let place = pair.a.place.clone();
        let none = ZoneTimes { place, zone_count: 0, a_ns: Some(0.0), b_ns: Some(0.0) };
        let of = places.entry(&pair.a.place).or_insert(none);
        of.zone_count = of.zone_count.saturating_add(1);
        of.a_ns = of.a_ns.zip(a_ns).map(|(sum_ns, ns)| sum_ns + ns);
        of.b_ns = of.b_ns.zip(b_ns).map(|(sum_ns, ns)| sum_ns + ns);
    }
    for zone in pairing.alone_zones(0) {
        if let Some(of) = places.get_mut(&zone.place) {
            of.a_ns = of.a_ns.zip(own_ns(zone)).map(|(sum_ns, ns)| sum_ns + ns);
        }
    }
    for zone in pairing.alone_zones(1) {
        let place = places_of_b.get(&zone.place).and_then(|place| places.get_mut(place));
        if let Some(of) = place {
            of.b_ns = of.b_ns.zip(own_ns(zone)).map(|(sum_ns, ns)| sum_ns + ns);
        }
    }
    let mut times: Vec<ZoneTimes> = places.into_values().collect();
    let size = |of: &ZoneTimes| of.percent().map_or(-1.0, f64::abs);
    times.sort_by(|one, other| size(other).total_cmp(&size(one)));
    times
}

/// Clocks that differ by less than this part of them are taken as equal.
const LEAST_CLOCK_CHANGE: u64 = 200;

/// Returns what is known of one side; `number` is 0 for A and 1 for B.
fn side(measurements: &Measurements, pairing: &Pairing<'_>, number: usize) -> Side {
    let times = pairing.times(number);
    let mut skipped = measurements.skipped().clone();
    let mut note = |reason: &str, count: u64| {
        if count > 0 {
            let known = skipped.entry(reason.to_owned()).or_default();
            *known = known.saturating_add(count);
        }
    };
    note("ops without a known duration", times.unknown_count as u64);
    note("ops in iterations that are cut or differ", times.left_out.count as u64);
    Side {
        item_count: times.op_count.saturating_add(measurements.zones.len()),
        op_count: times.op_count,
        timed_op_count: times.op_count.saturating_sub(times.unknown_count),
        launches: times.launches,
        first_iteration: times.first_iteration,
        iteration_count: times.iteration_count,
        total_ns: times.total_ns,
        compared_ns: times.compared_ns,
        alone_ns: times.alone_ns,
        left_out_ns: times.left_out.duration_ns,
        left_out_count: times.left_out.count,
        compared_share: times.compared_share(),
        gaps: measurements.between.gaps(),
        full_buffers: measurements.full_buffers.clone(),
        zones_ns: times.zones_ns,
        compared_zones_ns: times.compared_zones_ns,
        only_here: unmatched_of(pairing, number),
        skipped,
    }
}

/// Compares one op or zone in both recordings. The p-value is not adjusted yet.
fn compared(pairs: &[Paired<'_>], confidence: f64) -> Option<Change> {
    let first = pairs.first()?;
    let (in_a, in_b): (Vec<&Measured>, Vec<&Measured>) =
        pairs.iter().map(|pair| (pair.a, pair.b)).unzip();
    let runs = first.runs_of_other_counts();
    let both = match runs {
        Some((a, b)) => [a, b].map(|of| of.sums_ns.clone()),
        None => [in_a, in_b].map(|side| -> Vec<f64> {
            side.into_iter().flat_map(|item| item.durations_ns.iter().copied()).collect()
        }),
    };
    let [logs_a, logs_b] =
        both.each_ref().map(|side| side.iter().map(|duration| duration.ln()).collect::<Vec<_>>());
    let found = welch(&logs_a, &logs_b, confidence);
    let difference = found.map_or_else(|| mean(&logs_b) - mean(&logs_a), |welch| welch.difference);
    let means = [&logs_a, &logs_b].map(|logs| mean(logs).exp());
    let [a_ns, b_ns] = both.map(Spread::from_values);
    let cycles = |mean_ns: f64, item: &Measured| item.clock_mhz.map(|mhz| mean_ns * mhz / 1000.0);
    let differences = first.differences();
    Some(Change {
        kind: first.a.kind,
        place: first.a.place.clone(),
        name: first.a.name.clone(),
        source: first.a.source.clone(),
        distinction: Arc::default(),
        agreement: match (first.is_of_same_shape(), differences.is_empty()) {
            (false, _) if first.a.kind == MeasuredKind::Op => Agreement::Kind,
            (true, true) => Agreement::All,
            _ => Agreement::Shape,
        },
        differences,
        is_moved: pairs.iter().any(|pair| pair.is_moved),
        pair_count: pairs.len(),
        a_ns,
        b_ns,
        zones_per_run: runs.map(|(a, b)| (mean(&a.counts), mean(&b.counts))),
        run_times_ns: run_times(first),
        a_geometric_mean_ns: means[0],
        b_geometric_mean_ns: means[1],
        a_cycles: cycles(means[0], first.a),
        b_cycles: cycles(means[1], first.b),
        ratio: difference.exp(),
        interval: found.map(|welch| (welch.interval.0.exp(), welch.interval.1.exp())),
        adjusted_p_value: found.map(|welch| welch.p_value),
        certainty: Certainty::SingleRepetition,
    })
}

fn run_times(zone: &Paired<'_>) -> Option<RunTimes> {
    let (a, b) = zone.a.in_runs.as_ref().zip(zone.b.in_runs.as_ref())?;
    let mean_of = |of: fn(&InRuns) -> &Vec<f64>| (mean(of(a)), mean(of(b)));
    Some(RunTimes { whole: mean_of(|of| &of.sums_ns), own: mean_of(|of| &of.own_ns) })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Adjusts the p-values for the number of tests, and sets the certainty of each change.
fn judge(changes: &mut [Change], confidence: f64) {
    let p_values: Vec<f64> = changes.iter().filter_map(|change| change.adjusted_p_value).collect();
    let tested = changes.iter_mut().filter(|change| change.adjusted_p_value.is_some());
    for (change, adjusted) in tested.zip(adjusted_p_values(&p_values)) {
        let is_significant = adjusted < 1.0 - confidence;
        change.adjusted_p_value = Some(adjusted);
        change.certainty =
            if is_significant { Certainty::Significant } else { Certainty::NotSignificant };
    }
}

#[cfg(test)]
mod tests;
