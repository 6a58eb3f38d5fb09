//! Ops that several chips run in parallel: which of their ops belong together, and how much of a
//! sum over chips passes on the busiest one.

use crate::{
    duration::duration,
    finding::{Finding, GainOf, Place},
    middle::median,
    op::OpCauses,
    time_class::TimeClass,
    timeline::DeviceTime,
};
use reports::perf::{OpCategory, OpReport, RowKind};
use std::{borrow::Cow, collections::BTreeMap};
use wire::RunHostId;

/// One op on one chip, from a launch or from a row of an ops CSV.
#[derive(Clone, Debug)]
pub(crate) struct ChipOp<'a> {
    pub(crate) chip_id: u32,
    pub(crate) name: Cow<'a, str>,
    /// Shapes and memories of its tensors; empty if unknown.
    pub(crate) form: &'a str,
    /// Number of the host's call without the chip, and of the trace replay; `None` if unknown.
    pub(crate) call: Option<(u32, Option<u64>)>,
    pub(crate) is_collective: bool,
    /// Time of the kernels; `None` if unknown.
    pub(crate) duration_ns: Option<f64>,
    /// Idle time before the op; `None` if unknown.
    pub(crate) gap_ns: Option<f64>,
    /// Start of the kernels on a clock that all chips share; `None` if there is no such clock.
    pub(crate) start_ns: Option<f64>,
    pub(crate) place: Place,
    /// Launch that the op is; `None` for a row.
    pub(crate) launch: Option<&'a OpCauses>,
}

impl<'a> ChipOp<'a> {
    /// Returns the device ops of an ops CSV whose device is known.
    pub(crate) fn from_rows(rows: &'a [OpReport]) -> Vec<Self> {
        let device_rows = rows.iter().filter(|row| row.kind == RowKind::Device);
        device_rows.filter_map(Self::from_row).collect()
    }

    fn from_row(row: &'a OpReport) -> Option<Self> {
        let chip_id = row.chip_id()?;
        Some(Self {
            chip_id,
            name: Cow::Borrowed(&row.raw_op_code),
            form: &row.source,
            call: row.program().map(|(_, id)| (RunHostId(id).base(), row.trace_session)),
            is_collective: OpCategory::waits_for_chips(&row.raw_op_code),
            duration_ns: row.device_time_us.map(|us| us * 1000.0),
            gap_ns: row.op_to_op_gap_us.map(|us| us * 1000.0),
            start_ns: None,
            place: Place { chip_id: Some(chip_id), ..Place::from_row(row) },
            launch: None,
        })
    }
}

/// One op on all chips that ran it: at least two, each once, sorted by chip.
#[derive(Clone, Debug)]
pub(crate) struct Round<'a> {
    pub(crate) ops: Vec<&'a ChipOp<'a>>,
}

impl<'a> Round<'a> {
    pub(crate) fn is_collective(&self) -> bool {
        self.ops.iter().any(|op| op.is_collective)
    }

    pub(crate) fn name(&self) -> &str {
        self.ops.first().map_or("", |op| &op.name)
    }

    /// Returns how much larger the median of a figure of these chips is than that of the other chips; `None`
    /// if these or all others have no such figure.
    pub(crate) fn excess(
        &self,
        chips: &[u32],
        of: impl Fn(&ChipOp<'a>) -> Option<f64>,
    ) -> Option<f64> {
        let is_own = |op: &ChipOp<'_>| chips.contains(&op.chip_id);
        let figures = |own: bool| self.ops.iter().filter(move |op| is_own(op) == own);
        let middle = |own| median(figures(own).filter_map(|op| of(op)).collect());
        Some(middle(true)? - middle(false)?)
    }
}

/// What ops that belong together have in common: the call, or else name and tensors.
type Key<'a> = (Option<(u32, Option<u64>)>, &'a str, &'a str);

/// An op with its position among all ops.
type Placed<'a> = (usize, &'a ChipOp<'a>);

/// Matches the ops of all chips. `ops` must be in time order for each chip. The rounds are in the
/// order of the lowest chip that took part.
///
/// Ops belong together if the host launched them with one call; if calls are not known, if they have
/// the same name and tensors. Where the chips ran such an op a different number of times, nothing
/// tells which of them belong together, so they are left out.
pub(crate) fn rounds<'a>(ops: &'a [ChipOp<'a>]) -> Vec<Round<'a>> {
    let are_calls_known = ops.iter().all(|op| op.call.is_some());
    let mut calls: BTreeMap<Key<'a>, BTreeMap<u32, Vec<Placed<'a>>>> = BTreeMap::new();
    for (position, op) in ops.iter().enumerate() {
        let call = op.call.filter(|_| are_calls_known);
        let key = match call {
            Some(call) => (Some(call), "", ""),
            None => (None, &*op.name, op.form),
        };
        calls.entry(key).or_default().entry(op.chip_id).or_default().push((position, op));
    }
    let mut rounds = Vec::new();
    for chips in calls.into_values().filter(|chips| chips.len() > 1) {
        let mut chips = chips.into_values();
        let Some(first) = chips.next() else { continue };
        let mut own: Vec<(usize, Round<'a>)> =
            first.iter().map(|(position, op)| (*position, Round { ops: vec![*op] })).collect();
        let is_equal = chips.all(|others| {
            own.iter_mut().zip(&others).for_each(|((_, round), (_, op))| round.ops.push(op));
            own.len() == others.len()
        });
        if is_equal {
            rounds.append(&mut own);
        }
    }
    rounds.sort_by_key(|(position, _)| *position);
    rounds.into_iter().map(|(_, round)| round).collect()
}

/// Returns the part of a sum over chips that the busiest chip has: what chips that run at the same
/// time could save together is at most this part of the sum. 1 for a sum of nothing.
pub(crate) fn busiest_share(parts: impl IntoIterator<Item = (Option<u32>, f64)>) -> f64 {
    // An op without a chip may belong to any of them.
    let (mut chips, mut unknown): (BTreeMap<u32, f64>, f64) = (BTreeMap::new(), 0.0);
    for (chip_id, ns) in parts {
        match chip_id {
            Some(chip_id) => *chips.entry(chip_id).or_default() += ns,
            None => unknown += ns,
        }
    }
    let whole = chips.values().sum::<f64>() + unknown;
    let most = chips.into_values().fold(0.0, f64::max) + unknown;
    if whole > 0.0 { most / whole } else { 1.0 }
}

/// Compares the gain of ops with the time of the chip that runs them, if that chip is done before another one and
/// chips do not wait for each other in collectives: what it gains is then no part of the longer time.
pub(crate) fn measure_on_own_chip(finding: &mut Finding, devices: &[DeviceTime]) {
    let time = |device: &DeviceTime| Some((device.chip_id?, device.time.total_ns? as f64));
    let Some(times) = devices.iter().map(time).collect::<Option<Vec<(u32, f64)>>>() else { return };
    let has_collectives =
        devices.iter().any(|device| device.time.percent(TimeClass::Collective) > 0.0);
    let most = |times: &mut dyn Iterator<Item = (u32, f64)>| {
        times.max_by(|(_, one), (_, other)| one.total_cmp(other))
    };
    let is_own = |chip: u32| finding.chips.contains(&chip);
    let own = most(&mut times.iter().copied().filter(|(chip, _)| is_own(*chip)));
    let longest = most(&mut times.iter().copied());
    let Some(((own, own_ns), (longest, longest_ns))) = own.zip(longest) else { return };
    if has_collectives || is_own(longest) || own_ns >= longest_ns * DONE_BEFORE {
        return;
    }
    finding.measure_against((own_ns, GainOf::Chip));
    let are_several = finding.chips.len() > 1;
    let who = if are_several {
        "chips that are done before it run them"
    } else {
        "another chip runs them"
    };
    finding.why.insert(
        0,
        format!(
            "chip {longest} takes longest, {}, and {who}: chip {own} takes {}; shorter, the ops make the whole \
             no shorter unless chip {longest} waits for them",
            duration(longest_ns),
            duration(own_ns)
        ),
    );
    if !are_several {
        finding.place.chip_id = Some(own);
    }
}

/// Part of the longest chip's time from which on another chip takes as long.
const DONE_BEFORE: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_chip_bounds_what_chips_save_together() {
        let share = |parts: &[(Option<u32>, f64)]| busiest_share(parts.iter().copied());
        assert_eq!(share(&[]), 1.0);
        assert_eq!(share(&[(Some(0), 30.0), (Some(1), 10.0), (Some(0), 20.0)]), 50.0 / 60.0);
        assert_eq!(share(&[(Some(0), 30.0), (Some(1), 30.0)]), 0.5);
        assert_eq!(share(&[(None, 30.0), (Some(1), 30.0)]), 1.0, "an op of any chip");
    }
}
