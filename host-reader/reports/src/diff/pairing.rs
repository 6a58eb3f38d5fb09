//! Pairs of ops and zones of two recordings, and the time that they cover.

use super::{
    align::{Alignment, align},
    matching::{pairs_of, source_file},
    measured::{
        DeviceOps, FirstIteration, InRuns, LaunchCounts, LeftOut, Measured, MeasuredKind,
        Measurements, Program, Slot,
    },
    same_work::Comparable,
    traits::{Aspect, Difference},
};
use crate::perf::{ArgumentChange, Spread, argument_changes, variants, without_numbers};
use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// By how much more of the time must be comparable before iterations are compared in place of all
/// launches. All launches say more, if both recordings have as many.
const WORTH_OF_ITERATIONS: f64 = 0.01;

/// Least change, as a logarithm, by which a single launch among many of the same op stands out.
const LEAST_OUTLIER: f64 = 0.1;

/// Number of standard deviations, estimated from the median deviation, by which a single launch
/// stands out.
const OUTLIER_DEVIATIONS: f64 = 6.0;

/// An op or zone of A, and its counterpart in B. Both have durations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paired<'a> {
    pub(super) a: &'a Measured,
    pub(super) b: &'a Measured,
    /// Time in A in ns.
    pub(super) a_ns: f64,
    /// Time in B in ns.
    pub(super) b_ns: f64,
    pub(super) is_moved: bool,
}

impl Paired<'_> {
    /// Returns what differs between the two, besides the durations.
    pub(super) fn differences(&self) -> Vec<Difference> {
        let mut found = self.a.traits.differences(&self.b.traits);
        let known = [&self.a.attributes, &self.b.attributes];
        if known.iter().all(|text| !text.is_empty()) {
            for change in argument_changes(known[0], known[1]) {
                found.extend(attribute_difference(&change));
            }
        }
        let mut compare = |aspect, a: &Arc<str>, b: &Arc<str>| {
            if a != b {
                found.push(Difference { aspect, tensor: "", a: a.clone(), b: b.clone() });
            }
        };
        compare(Aspect::Name, &self.a.name, &self.b.name);
        compare(Aspect::Device, &self.a.place, &self.b.place);
        let [a, b] = [self.a, self.b].map(source_file);
        if self.a.kind == MeasuredKind::Zone && !a.is_empty() && !b.is_empty() {
            compare(Aspect::Source, &a.into(), &b.into());
        }
        found
    }

    /// Returns true if both have the same shapes, as far as known.
    pub(super) fn is_of_same_shape(&self) -> bool {
        self.a.shapes() == self.b.shapes()
    }

    /// Returns what a zone takes in kernel runs of both, if those of B do not have it as often as those of A; `None`
    /// if they do, if it is unknown, or for an op.
    pub(super) fn runs_of_other_counts(&self) -> Option<(&InRuns, &InRuns)> {
        let runs = self.a.in_runs.as_ref().zip(self.b.in_runs.as_ref());
        runs.filter(|(a, b)| !a.is_as_many(b))
    }

    fn log_ratio(&self) -> f64 {
        (self.b_ns / self.a_ns).ln()
    }
}

/// Returns an attribute that differs between two ops; `None` for addresses and other long numbers, which
/// any launch may have, and for the program configuration, which is a property of its own.
fn attribute_difference(change: &ArgumentChange) -> Option<Difference> {
    let stable = [&change.before, &change.after].map(|value| value.as_deref().map(without_numbers));
    if stable[0] == stable[1] || change.name.split('.').next() == Some("program_config") {
        return None;
    }
    let [a, b] = [&change.before, &change.after]
        .map(|value| format!("{} {}", change.name, value.as_deref().unwrap_or("not given")).into());
    Some(Difference { aspect: Aspect::Attribute, tensor: "", a, b })
}

/// Why an op or zone has no counterpart with a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Solitude {
    Absent,
    Unmeasured,
}

/// Times of one side.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) op_count: usize,
    pub(super) unknown_count: usize,
    /// Launches outside of the iterations, if iterations are compared.
    pub(super) left_out: LeftOut,
    pub(super) iteration_count: usize,
    pub(super) total_ns: f64,
    pub(super) compared_ns: f64,
    pub(super) alone_ns: f64,
    pub(super) zones_ns: f64,
    pub(super) compared_zones_ns: f64,
    pub(super) launches: LaunchCounts,
    pub(super) first_iteration: Option<FirstIteration>,
}

impl Times {
    /// Returns the share of the time of all launches that is compared, from 0 to 1. Launches outside of
    /// the iterations are compared with nothing.
    pub(super) fn compared_share(&self) -> f64 {
        let LeftOut { duration_ns, of_ns, .. } = self.left_out;
        let of_iterations = if of_ns > 0.0 { 1.0 - duration_ns / of_ns } else { 1.0 };
        if self.total_ns > 0.0 { self.compared_ns / self.total_ns * of_iterations } else { 0.0 }
    }
}

/// A device of A and a device of B, with the pairs of their ops. A device without a counterpart has
/// no pairs.
struct DevicePair<'a> {
    /// The devices of A and B.
    sides: [Option<&'a DeviceOps>; 2],
    alignment: Alignment,
}

/// Pairs of two recordings.
pub(super) struct Pairing<'a> {
    devices: Vec<DevicePair<'a>>,
    /// True for a side whose iterations are compared, and not each of its launches.
    is_iteration: [bool; 2],
    zones: [&'a [Measured]; 2],
    zone_pairs: Vec<(usize, usize)>,
}

impl<'a> Pairing<'a> {
    pub(super) fn new(a: &'a Measurements, b: &'a Measurements) -> Self {
        let devices = device_pairs(&a.devices, &b.devices);
        let repeats = [a, b].map(|side| side.devices.iter().any(|ops| ops.iteration.is_some()));
        let zones = [&*a.zones, &*b.zones];
        let mut best: Option<(f64, Self)> = None;
        let choices = [[false, false], [true, true], [true, false], [false, true]];
        let choices = match Comparable::of_devices(&devices) {
            Comparable::Any => &choices[..],
            Comparable::Alike => &choices[..2],
            Comparable::Iterations => &choices[1..2],
        };
        for &is_iteration in choices {
            if is_iteration
                .iter()
                .zip(repeats)
                .any(|(&is_iteration, repeats)| is_iteration && !repeats)
            {
                continue;
            }
            let devices = devices.iter().map(|&sides| DevicePair {
                sides,
                alignment: match sides {
                    [Some(a), Some(b)] => {
                        let [a, b] = [a.steps(is_iteration[0]), b.steps(is_iteration[1])]
                            .map(|slots| slots.iter().map(|slot| &slot.op).collect::<Vec<_>>());
                        align(&a, &b)
                    }
                    _ => Alignment::default(),
                },
            });
            let found =
                Self { devices: devices.collect(), is_iteration, zones, zone_pairs: Vec::new() };
            let share = found.share();
            if best.as_ref().is_none_or(|(least, _)| share > least + WORTH_OF_ITERATIONS) {
                best = Some((share, found));
            }
            if share > 1.0 - WORTH_OF_ITERATIONS {
                break;
            }
        }
        let mut pairing = best.map_or_else(
            || Self {
                devices: Vec::new(),
                is_iteration: [false; 2],
                zones,
                zone_pairs: Vec::new(),
            },
            |(_, found)| found,
        );
        pairing.zone_pairs = pairs_of(&a.zones, &renamed(&b.zones, &pairing.other_devices()));
        pairing
    }

    /// Returns the share of the time of ops that is compared, of the side with the smaller one.
    fn share(&self) -> f64 {
        [0, 1].map(|number| self.times(number).compared_share()).into_iter().fold(1.0, f64::min)
    }

    pub(super) fn is_bounded(&self) -> bool {
        self.devices.iter().any(|pair| pair.alignment.is_bounded)
    }

    /// Returns the pairs of devices whose names differ.
    pub(super) fn other_devices(&self) -> Vec<(Arc<str>, Arc<str>)> {
        self.devices()
            .filter(|(a, b)| a.place != b.place)
            .map(|(a, b)| (a.place.clone(), b.place.clone()))
            .collect()
    }

    /// Returns the devices that are compared with each other.
    pub(super) fn devices(&self) -> impl Iterator<Item = (&'a DeviceOps, &'a DeviceOps)> {
        self.devices.iter().filter_map(|pair| Some((pair.sides[0]?, pair.sides[1]?)))
    }

    /// Returns the smallest share of the time of a device's ops that is in iterations, in A and in B; 0 if a
    /// device has no counterpart.
    pub(super) fn iterations_share(&self) -> [f64; 2] {
        let shares = self.devices.iter().map(|pair| match pair.sides {
            [Some(a), Some(b)] => [a.loop_share, b.loop_share],
            _ => [0.0; 2],
        });
        shares.reduce(|one, other| [one[0].min(other[0]), one[1].min(other[1])]).unwrap_or([0.0; 2])
    }

    /// Returns the steps of a device's ops; `number` is 0 for A and 1 for B.
    fn steps(&self, pair: &DevicePair<'a>, number: usize) -> &'a [Slot] {
        let device = pair.sides.get(number).copied().flatten();
        let is_iteration = self.is_iteration.get(number).copied().unwrap_or(false);
        device.map_or(&[], |device| device.steps(is_iteration))
    }

    /// Returns the compared ops of a device, each with its two steps.
    fn compared(&self, pair: &DevicePair<'a>) -> impl Iterator<Item = ([&'a Slot; 2], Paired<'a>)> {
        let [a, b] = [0, 1].map(|number| self.steps(pair, number));
        pair.alignment.pairs.iter().filter_map(move |found| {
            let slots = [a.get(found.a)?, b.get(found.b)?];
            let paired = Paired {
                a: &slots[0].op,
                b: &slots[1].op,
                a_ns: slots[0].time_ns()?,
                b_ns: slots[1].time_ns()?,
                is_moved: found.is_moved,
            };
            Some((slots, paired))
        })
    }

    /// Returns all compared ops.
    pub(super) fn ops(&self) -> impl Iterator<Item = Paired<'a>> {
        self.devices.iter().flat_map(|pair| self.compared(pair).map(|(_, paired)| paired))
    }

    pub(super) fn compared_zones(&self) -> impl Iterator<Item = Paired<'a>> {
        let [a, b] = self.zones;
        self.zone_pairs.iter().filter_map(move |&(in_a, in_b)| {
            let (a, b) = (a.get(in_a)?, b.get(in_b)?);
            let [a_ns, b_ns] =
                [a, b].map(|zone| Spread::from_values(zone.durations_ns.clone()).mean);
            Some(Paired { a, b, a_ns, b_ns, is_moved: false })
        })
    }

    /// Returns the pairs whose durations belong together: of the same op in all iterations, of all
    /// launches of a program if there are no iterations, or of a zone.
    pub(super) fn changes(&self) -> Vec<Vec<Paired<'a>>> {
        let mut all = Vec::new();
        for pair in &self.devices {
            let mut groups = Groups::default();
            for (slots, paired) in self.compared(pair) {
                let key = match slots.map(|slot| slot.position) {
                    [Some(a), Some(b)] => Together::Positions(a, b),
                    _ => Together::Programs([paired.a, paired.b].map(Measured::program)),
                };
                groups.add(key, paired);
            }
            all.extend(groups.into_changes());
        }
        all.extend(self.compared_zones().map(|zone| vec![zone]));
        all
    }

    /// Returns the ops of one side that were not compared although their time is known.
    pub(super) fn alone(&self, number: usize) -> Vec<(&'a Slot, Solitude)> {
        let mut found = Vec::new();
        for pair in &self.devices {
            let [own, other] =
                [number, 1_usize.saturating_sub(number)].map(|at| self.steps(pair, at));
            let mut partners: Vec<Option<usize>> = vec![None; own.len()];
            for aligned in &pair.alignment.pairs {
                let (at, partner) =
                    if number == 0 { (aligned.a, aligned.b) } else { (aligned.b, aligned.a) };
                if let Some(place) = partners.get_mut(at) {
                    *place = Some(partner);
                }
            }
            for (slot, partner) in own.iter().zip(partners) {
                let measured = partner.map(|at| other.get(at).and_then(Slot::time_ns).is_some());
                let solitude = match measured {
                    Some(true) => continue,
                    Some(false) => Solitude::Unmeasured,
                    None => Solitude::Absent,
                };
                if slot.time_ns().is_some() {
                    found.push((slot, solitude));
                }
            }
        }
        found
    }

    /// Returns the zones of one side without a counterpart.
    pub(super) fn alone_zones(&self, number: usize) -> Vec<&'a Measured> {
        let zones = self.zones.get(number).copied().unwrap_or(&[]);
        let mut is_paired = vec![false; zones.len()];
        for pair in &self.zone_pairs {
            if let Some(place) = is_paired.get_mut(if number == 0 { pair.0 } else { pair.1 }) {
                *place = true;
            }
        }
        zones
            .iter()
            .zip(is_paired)
            .filter(|(_, is_paired)| !is_paired)
            .map(|(zone, _)| zone)
            .collect()
    }

    pub(super) fn times(&self, number: usize) -> Times {
        let mut times = Times { iteration_count: 1, ..Times::default() };
        let is_iteration = self.is_iteration.get(number).copied().unwrap_or(false);
        for pair in &self.devices {
            let steps = self.steps(pair, number);
            times.op_count = times.op_count.saturating_add(steps.len());
            for time in steps.iter().map(Slot::time_ns) {
                times.total_ns += time.unwrap_or(0.0);
                times.unknown_count =
                    times.unknown_count.saturating_add(usize::from(time.is_none()));
            }
            let Some(device) = pair.sides.get(number).copied().flatten() else { continue };
            times.launches = times.launches.plus(device.launch_counts());
            if let Some(of) = device.first_iteration {
                let known = times.first_iteration.get_or_insert_default();
                known.first_ns += of.first_ns;
                known.others_ns += of.others_ns;
            }
            if is_iteration {
                times.iteration_count = times.iteration_count.max(device.iteration_count);
            }
            if device.merged_counts.is_some() || is_iteration && device.iteration.is_some() {
                times.left_out.add(device.left_out);
            } else if is_iteration {
                let of_ns = sum(steps.iter().filter_map(Slot::time_ns));
                times.left_out.add(LeftOut { of_ns, ..LeftOut::default() });
            }
        }
        let time = |pair: Paired<'_>| if number == 0 { pair.a_ns } else { pair.b_ns };
        times.compared_ns = sum(self.ops().map(time));
        times.alone_ns = sum(self.alone(number).iter().filter_map(|(slot, _)| slot.time_ns()));
        let all = |zone: &Measured| sum(zone.durations_ns.iter().copied());
        times.zones_ns = sum(self.zones.get(number).copied().unwrap_or(&[]).iter().map(all));
        let own = |zone: Paired<'_>| all(if number == 0 { zone.a } else { zone.b });
        times.compared_zones_ns = sum(self.compared_zones().map(own));
        times
    }
}

/// Pairs devices with the same name, then the others in order.
pub(super) fn device_pairs<'a>(
    a: &'a [DeviceOps],
    b: &'a [DeviceOps],
) -> Vec<[Option<&'a DeviceOps>; 2]> {
    let partner = |ops: &DeviceOps| b.iter().find(|other| other.place == ops.place);
    let mut others = b.iter().filter(|ops| !a.iter().any(|own| own.place == ops.place));
    let mut pairs: Vec<[Option<&DeviceOps>; 2]> =
        a.iter().map(|ops| [Some(ops), partner(ops).or_else(|| others.next())]).collect();
    pairs.extend(others.map(|ops| [None, Some(ops)]));
    pairs
}

/// Returns zones with the names of A's devices in place of those of B.
fn renamed<'a>(zones: &'a [Measured], devices: &[(Arc<str>, Arc<str>)]) -> Cow<'a, [Measured]> {
    if devices.is_empty() {
        return Cow::Borrowed(zones);
    }
    let rename = |zone: &Measured| {
        let new = devices.iter().find_map(|(a, b)| {
            let risc = zone.place.strip_prefix(&**b)?.strip_prefix(' ')?;
            Some(format!("{a} {risc}").into())
        });
        Measured { place: new.unwrap_or_else(|| zone.place.clone()), ..zone.clone() }
    };
    zones.iter().map(rename).collect()
}

/// What the pairs of one change have in common.
#[derive(PartialEq, Eq, Hash)]
enum Together<'a> {
    /// Positions in the iterations of A and B.
    Positions(usize, usize),
    /// Programs in A and B.
    Programs([Program<'a>; 2]),
}

/// Pairs by what they have in common, in the order of their first pairs.
#[derive(Default)]
struct Groups<'a> {
    places: HashMap<Together<'a>, usize>,
    pairs: Vec<(bool, Vec<Paired<'a>>)>,
}

impl<'a> Groups<'a> {
    fn add(&mut self, key: Together<'a>, paired: Paired<'a>) {
        let is_pooled = matches!(key, Together::Programs(_));
        let at = *self.places.entry(key).or_insert(self.pairs.len());
        match self.pairs.get_mut(at) {
            Some((_, group)) => group.push(paired),
            None => self.pairs.push((is_pooled, vec![paired])),
        }
    }

    /// Returns the groups. Launches with other attributes are of another op. A launch that changed far
    /// more than the others of its program is a change of its own, because a mean over all would hide
    /// it.
    fn into_changes(self) -> impl Iterator<Item = Vec<Paired<'a>>> {
        let groups = self.pairs.into_iter().flat_map(|(is_pooled, group)| {
            let parts = if is_pooled { by_attributes(group) } else { vec![group] };
            parts.into_iter().map(move |part| (is_pooled, part))
        });
        groups.flat_map(|(is_pooled, group)| {
            let limits = is_pooled.then(|| usual_ratios(&group)).flatten();
            let Some((low, high)) = limits else { return vec![group] };
            let is_usual = |pair: &Paired<'_>| (low..=high).contains(&pair.log_ratio());
            let (usual, single): (Vec<_>, Vec<_>) = group.into_iter().partition(is_usual);
            let usual = (!usual.is_empty()).then_some(usual);
            usual.into_iter().chain(single.into_iter().map(|pair| vec![pair])).collect()
        })
    }
}

/// Divides the pairs of one program by the attributes of their ops.
fn by_attributes(pairs: Vec<Paired<'_>>) -> Vec<Vec<Paired<'_>>> {
    let attributes = pairs
        .iter()
        .map(|pair| [pair.a, pair.b].map(|op| -> Cow<'_, str> { Cow::Borrowed(&op.attributes) }));
    let numbers = variants(&attributes.collect::<Vec<_>>(), |texts| {
        texts.each_ref().map(|text| without_numbers(text).into())
    });
    let mut found: BTreeMap<usize, Vec<Paired<'_>>> = BTreeMap::new();
    for (pair, number) in pairs.into_iter().zip(numbers) {
        found.entry(number).or_default().push(pair);
    }
    found.into_values().collect()
}

/// Returns the limits of the logarithms of ratios that do not stand out; `None` if none can.
///
/// Of two pairs that differ, it is unknown which one stands out, so both do.
fn usual_ratios(pairs: &[Paired<'_>]) -> Option<(f64, f64)> {
    if let [one, other] = pairs {
        let is_far = (one.log_ratio() - other.log_ratio()).abs() > LEAST_OUTLIER;
        return is_far.then_some((f64::INFINITY, f64::NEG_INFINITY));
    }
    /// Standard deviations in the median deviation of a normal distribution.
    const MEDIAN_DEVIATION: f64 = 1.4826;
    let median = |values: Vec<f64>| Spread::from_values(values).median;
    let ratios: Vec<f64> = pairs.iter().map(Paired::log_ratio).collect();
    let middle = median(ratios.clone());
    let spread = median(ratios.iter().map(|ratio| (ratio - middle).abs()).collect());
    let reach = (OUTLIER_DEVIATIONS * MEDIAN_DEVIATION * spread).max(LEAST_OUTLIER);
    Some((middle - reach, middle + reach))
}

/// Returns a sum that is 0.0 for no values: that of [`Iterator::sum`] is -0.0, which is shown.
fn sum(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |sum, value| sum + value)
}
