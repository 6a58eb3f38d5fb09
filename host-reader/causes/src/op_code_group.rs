//! Groups of ops with the same op code: their time, the minimum time that their shapes require, and
//! the reasons for the difference between the two.

use crate::{
    finding::percent,
    noc_use::NocUses,
    reason::{Reason, reasons},
    threshold::{FAR_FROM_LIMIT, FEW_CORES, FLOPS, GROUP_LIMIT, NOC},
};
use reports::perf::{LimitKind, OpCategory, OpReport, RowKind};
use std::collections::BTreeMap;

reader::labelled! {
    /// Hardware limit that a group of ops reaches.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum GroupBound {
        /// Both limits: peak FLOP/s of the cores in use, and peak DRAM bandwidth.
        Both = "both",
        /// Peak FLOP/s of the cores in use.
        Compute = "compute",
        /// Peak DRAM bandwidth.
        Dram = "DRAM",
        /// The busiest link of the NoC.
        Noc = "NoC",
        /// None of the known limits.
        Neither = "neither",
    }
}

/// Device ops with the same op code. Percentages of peaks are means, weighted by the ops' times.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct OpCodeGroup {
    /// Op code.
    pub op: String,
    /// Number of ops with a device time.
    pub op_count: usize,
    /// Kernel time of the ops, summed over all chips.
    pub duration_ns: f64,
    /// Kernel time of the ops in percent of all kernel time.
    pub percent: f64,
    /// True if the ops only rearrange or convert tensors.
    pub is_layout: bool,
    /// Sum of the minimum times that the ops' shapes require; `None` if the minimum time of any op
    /// is unknown.
    pub limit_ns: Option<f64>,
    /// Whether `limit_ns` counts all of the ops' work.
    pub limit_kind: LimitKind,
    /// Number of ops whose model exceeds a peak rate of the chip, and is therefore wrong.
    pub refuted_model_count: usize,
    /// Percentage of the peak FLOP/s of the cores in use; `None` if any of the ops has no FLOPs
    /// model.
    pub flops_percent: Option<f64>,
    /// True if `limit_ns` counts FLOPs of ops of which not all are known.
    #[serde(skip)]
    pub(crate) has_least_flops: bool,
    /// Percentage of the peak DRAM bandwidth; `None` if no op has modelled DRAM bytes.
    pub dram_percent: Option<f64>,
    /// True if `dram_percent` is a lower bound, because the bytes of some ops are not all counted.
    pub is_dram_lower_bound: bool,
    /// Percentage of the peak DRAM bandwidth if the ops read and write all of their tensors; `None`
    /// if `dram_percent` is exact, or if they cannot have moved that much in their time.
    pub dram_at_most_percent: Option<f64>,
    /// Use of the busiest NoC link in percent of its peak; `None` unless each op has NoC events.
    pub noc_percent: Option<f64>,
    /// True if `noc_percent` is a lower bound because some bytes are unknown.
    pub is_noc_lower_bound: bool,
    /// Limit that the ops reach; `None` if the limits of the ops are not modelled.
    pub bound: Option<GroupBound>,
    /// Nanoseconds that the group would save if its ops that run on few cores used all available
    /// cores, at the same speed per core, down to the minimum times that are known.
    pub idle_cores_ns: f64,
    /// Rows of the longest ops in the ops CSV, sorted by descending length.
    pub rows: Vec<u64>,
    /// True if the longest op is a matmul whose weights are sharded over DRAM banks, which set its number
    /// of cores.
    #[serde(skip)]
    pub(crate) is_dram_sharded: bool,
    /// Number of cores that the longest op uses.
    pub core_count: Option<u64>,
    /// Number of cores of the op that uses fewest.
    pub least_core_count: Option<u64>,
    /// Number of cores of the op that uses most.
    pub most_core_count: Option<u64>,
    /// Number of cores available to the longest op.
    pub available_core_count: Option<u64>,
    /// Time of the kernels of BRISC, NCRISC and TRISCs 0 to 2 in nanoseconds, summed over the ops;
    /// `None` unless the time is known of each op.
    #[serde(skip)]
    pub(crate) riscs_ns: [Option<f64>; 5],
    /// Kernel time of the ops on each chip, in nanoseconds.
    #[serde(skip)]
    pub(crate) chips_ns: Vec<(Option<u32>, f64)>,
    /// Largest time by which the ops of one chip exceed their minimum times, in nanoseconds; `None`
    /// if a minimum time is unknown.
    #[serde(skip)]
    pub(crate) most_over_limit_ns: Option<f64>,
    /// Largest part of one chip in `idle_cores_ns`.
    #[serde(skip)]
    pub(crate) most_idle_cores_ns: f64,
    /// Reasons, found in the rows, why the ops are slower than their shapes allow.
    pub reasons: Vec<Reason>,
    /// The ops by their shapes, types and memories, if these differ. A mean over all hides an op that is
    /// far from its limit.
    #[serde(skip)]
    pub(crate) parts: Vec<Self>,
    /// True if `percent` is a share of a part of the kernels' time: some op has no known time.
    #[serde(skip)]
    pub(crate) is_of_known_time: bool,
    /// Number of ops with this op code, if these are a part of them.
    #[serde(skip)]
    pub(crate) part_of: Option<usize>,
}

/// Maximum number of rows that a group lists.
const NAMED_ROWS: usize = 3;

/// One op of a group, with its time in nanoseconds.
pub(crate) type TimedRow<'a> = (&'a OpReport, f64);

/// Groups device ops by op code, sorted by descending time.
pub(crate) fn op_code_groups(rows: &[OpReport], uses: &NocUses) -> Vec<OpCodeGroup> {
    let mut groups: BTreeMap<&str, Vec<TimedRow<'_>>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.kind == RowKind::Device) {
        let Some(us) = row.device_time_us.filter(|us| *us > 0.0) else { continue };
        groups.entry(&row.raw_op_code).or_default().push((row, us * 1000.0));
    }
    let times = groups.values().map(|rows| rows.iter().map(|(_, ns)| ns).sum::<f64>());
    let kernels_ns: f64 = times.sum();
    let groups = groups.into_iter().map(|(op, rows)| {
        let of_events = rows.iter().map(|(row, ns)| {
            let of = row.program().and_then(|program| uses.get(&program).copied());
            (of.map(|of| (of.percent, of.is_lower_bound)), *ns)
        });
        let of_events: Vec<_> = of_events.collect();
        // tt-npe's figures in the report itself.
        let of_report = rows
            .iter()
            .map(|(row, ns)| (row.recorded.noc_percent.map(|percent| (percent, false)), *ns));
        let of_report: Vec<_> = of_report.collect();
        let parts = parts(op, &rows, kernels_ns);
        let mut group = OpCodeGroup { parts, ..OpCodeGroup::new(op, rows, kernels_ns) };
        group.add_noc(&of_report);
        group.add_noc(&of_events);
        group
    });
    let mut groups: Vec<_> = groups.collect();
    groups.sort_by(|one, other| other.duration_ns.total_cmp(&one.duration_ns));
    let is_of_known_time =
        rows.iter().any(|row| row.kind == RowKind::Device && row.device_time_us.is_none());
    for group in &mut groups {
        group.is_of_known_time = is_of_known_time;
        group.parts.iter_mut().for_each(|part| part.is_of_known_time = is_of_known_time);
    }
    groups
}

/// Groups the ops of one op code by shapes, types and memories; empty if all have the same.
fn parts(op: &str, rows: &[TimedRow<'_>], kernels_ns: f64) -> Vec<OpCodeGroup> {
    let mut parts: BTreeMap<&str, Vec<TimedRow<'_>>> = BTreeMap::new();
    for row in rows {
        parts.entry(&row.0.source).or_default().push(*row);
    }
    if parts.len() < 2 {
        return Vec::new();
    }
    let part_of = Some(rows.len());
    let parts = parts.into_values();
    parts.map(|part| OpCodeGroup { part_of, ..OpCodeGroup::new(op, part, kernels_ns) }).collect()
}

impl OpCodeGroup {
    fn new(op: &str, mut rows: Vec<TimedRow<'_>>, kernels_ns: f64) -> Self {
        rows.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let longest = rows.first().map(|(row, _)| *row);
        let idle = rows.iter().filter_map(|row| Some((row.0.chip_id(), idle_cores_ns(*row)?)));
        let over_limit = rows.iter().map(|row| Some((row.0.chip_id(), row.1 - limit_ns(*row)?)));
        let over_limit = over_limit.collect::<Option<Vec<_>>>();
        let duration_ns = rows.iter().map(|(_, ns)| ns).sum();
        let mut group = Self {
            op: op.to_owned(),
            op_count: rows.len(),
            duration_ns,
            percent: percent(duration_ns, kernels_ns),
            is_layout: rows.iter().all(|(row, _)| rearranges(row)),
            limit_ns: rows.iter().map(|row| limit_ns(*row)).sum(),
            limit_kind: limit_kind(&rows),
            refuted_model_count: rows.iter().filter(|(row, _)| row.is_model_refuted).count(),
            flops_percent: flops_percent(&rows, duration_ns),
            has_least_flops: rows.iter().any(|(row, _)| {
                row.limit
                    .is_some_and(|of| of.kind == LimitKind::LowerBound && of.flops_us.is_some())
            }),
            dram_percent: dram_percent(&rows, duration_ns),
            is_dram_lower_bound: rows.iter().any(|(row, _)| !has_all_bytes(row)),
            dram_at_most_percent: dram_at_most_percent(&rows, duration_ns),
            noc_percent: None,
            is_noc_lower_bound: false,
            bound: None,
            // `Iterator::sum` would return -0.0 for no items, which would be printed.
            idle_cores_ns: idle.clone().fold(0.0, |sum, (_, ns)| sum + ns),
            most_idle_cores_ns: most_of_one_chip(idle),
            most_over_limit_ns: over_limit.map(|of| most_of_one_chip(of.into_iter())),
            rows: rows.iter().take(NAMED_ROWS).map(|(row, _)| row.id).collect(),
            is_dram_sharded: longest.is_some_and(|row| row.is_dram_sharded),
            core_count: longest.and_then(|row| row.core_count),
            least_core_count: rows.iter().filter_map(|(row, _)| row.core_count).min(),
            most_core_count: rows.iter().filter_map(|(row, _)| row.core_count).max(),
            available_core_count: longest.and_then(|row| row.available_core_count),
            riscs_ns: [0, 1, 2, 3, 4].map(|risc| {
                let mut times = rows.iter().map(|(row, _)| row.recorded.risc_kernels_ns.get(risc));
                times.try_fold(0.0, |sum, ns| ns.copied().flatten().map(|ns| sum + ns))
            }),
            chips_ns: chips_ns(&rows),
            reasons: reasons(&rows),
            parts: Vec::new(),
            is_of_known_time: false,
            part_of: None,
        };
        group.bound = group.bound();
        group
    }

    /// Adds the NoC use of the group's ops: percent of the busiest link, whether that is a lower bound, and
    /// the op's time.
    fn add_noc(&mut self, uses: &[(Option<(f64, bool)>, f64)]) {
        let known = uses.iter().map(|(of, ns)| Some(((*of)?.0 * ns, *ns)));
        let Some(known) = known.collect::<Option<Vec<_>>>() else { return };
        let whole_ns: f64 = known.iter().map(|(_, ns)| ns).sum();
        let weighted: f64 = known.iter().map(|(weighted, _)| weighted).sum();
        if whole_ns > 0.0 {
            self.noc_percent = Some(weighted / whole_ns);
            self.is_noc_lower_bound =
                uses.iter().filter_map(|(of, _)| *of).any(|(_, is_lower_bound)| is_lower_bound);
            self.bound = self.bound();
            if self.bound == Some(GroupBound::Noc) {
                self.limit_by_noc(weighted / whole_ns / 100.0);
            }
        }
    }

    /// Raises the minimum time to what the busiest link takes at its peak, as a part of the ops' time.
    fn limit_by_noc(&mut self, part: f64) {
        let least_ns = self.duration_ns * part;
        self.limit_ns = self.limit_ns.map(|ns| ns.max(least_ns));
        let longest_ns = self.chips_ns.iter().map(|(_, ns)| *ns).fold(0.0, f64::max);
        let most_ns = longest_ns * (1.0 - part).max(0.0);
        self.most_over_limit_ns = self.most_over_limit_ns.map(|ns| ns.min(most_ns));
    }

    fn bound(&self) -> Option<GroupBound> {
        let is_noc = self.noc_percent.is_some_and(|percent| percent >= NOC.value);
        if self.limit_ns.is_none() {
            return is_noc.then_some(GroupBound::Noc);
        }
        let limits = [self.flops_percent, self.dram_percent];
        Some(match limits.map(|percent| percent.is_some_and(|of| of >= FLOPS.value)) {
            [true, true] => GroupBound::Both,
            [true, false] => GroupBound::Compute,
            [false, true] => GroupBound::Dram,
            [false, false] if is_noc => GroupBound::Noc,
            // The ops may do more than is counted.
            [false, false] if self.limit_kind != LimitKind::Exact => return None,
            [false, false] => GroupBound::Neither,
        })
    }

    /// Returns the numbers of used and of available cores of the longest op; `None` unless the op
    /// uses only a small part of the available cores.
    pub(crate) fn few_cores(&self) -> Option<(u64, u64)> {
        few_cores(self.core_count, self.available_core_count).filter(|_| !self.is_dram_sharded)
    }

    /// Returns the minimum time that the ops' shapes require; `None` if only a lower bound of it is
    /// known.
    #[must_use]
    pub fn exact_limit_ns(&self) -> Option<f64> {
        self.limit_ns.filter(|_| self.limit_kind == LimitKind::Exact)
    }

    /// Returns the time that all transfers of the ops with DRAM take at the peak bandwidth, if
    /// nothing else of their work is known.
    pub(crate) fn transfers_limit_ns(&self) -> Option<f64> {
        let has_all = !self.is_dram_lower_bound && self.dram_percent.is_some();
        self.limit_ns.filter(|_| has_all && self.limit_kind == LimitKind::LowerBound)
    }

    /// Returns true if the ops are known to be close to their minimum time. A lower bound of the
    /// minimum time is enough to know this.
    pub(crate) fn is_close_to_limit(&self) -> bool {
        self.limit_ns.is_some_and(|ns| self.duration_ns < ns * GROUP_LIMIT.value)
            && !self.has_excess_fidelity()
    }

    /// Returns true if the ops take at least twice their minimum time, or if it is not known.
    pub(crate) fn is_far_from_limit(&self) -> bool {
        self.limit_ns.is_none_or(|ns| self.duration_ns >= ns * FAR_FROM_LIMIT.value)
    }

    /// Returns true if the ops are compute-bound with a higher math fidelity than their element
    /// types need.
    fn has_excess_fidelity(&self) -> bool {
        let is_computing = matches!(self.bound, Some(GroupBound::Compute | GroupBound::Both));
        is_computing && self.reasons.iter().any(|reason| reason.is_fidelity)
    }
}

/// Returns the time of rows on each chip.
fn chips_ns(rows: &[TimedRow<'_>]) -> Vec<(Option<u32>, f64)> {
    let mut chips: BTreeMap<Option<u32>, f64> = BTreeMap::new();
    for (row, ns) in rows {
        *chips.entry(row.chip_id()).or_default() += ns;
    }
    chips.into_iter().collect()
}

/// Returns the largest sum of one chip.
pub(crate) fn most_of_one_chip(times: impl Iterator<Item = (Option<u32>, f64)>) -> f64 {
    let mut chips: BTreeMap<Option<u32>, f64> = BTreeMap::new();
    for (chip_id, ns) in times {
        *chips.entry(chip_id).or_default() += ns;
    }
    chips.into_values().fold(0.0, f64::max)
}

/// Returns the minimum time that an op's shape requires, capped at the measured time.
pub(crate) fn limit_ns((row, ns): TimedRow<'_>) -> Option<f64> {
    Some((row.limit?.us()? * 1000.0).min(ns))
}

/// Returns what the sum of the ops' limits says about their minimum time.
fn limit_kind(rows: &[TimedRow<'_>]) -> LimitKind {
    let kinds = rows.iter().map(|(row, _)| {
        row.limit.filter(|of| of.us().is_some()).map_or(LimitKind::Unknown, |limit| limit.kind)
    });
    kinds.max().unwrap_or_default()
}

/// Returns true if all bytes that an op reads from and writes to DRAM are counted.
fn has_all_bytes(row: &OpReport) -> bool {
    row.limit.is_some_and(|limit| limit.dram_at_most_us.is_none())
}

/// Returns true if more cores may not help an op, since DRAM may limit it: it does, if the op moves all
/// bytes of its tensors, or its model is faster than the chip.
pub(crate) fn may_be_dram_bound(row: &OpReport) -> bool {
    let Some(limit) = row.limit else { return row.is_model_refuted };
    let share = |most_us| Some(percent(most_us, row.device_time_us?));
    let share = limit.dram_at_most_us.and_then(share);
    let most = if limit.kind == LimitKind::Unknown { MOST_OF_PEAK } else { 100.0 };
    share.is_some_and(|share| (FLOPS.value..=most).contains(&share))
}

/// Percentage of the peak DRAM bandwidth up to which an op of which nothing is known may move all bytes of
/// its tensors: their types may be compressed further than the file says, and a card's memory may be faster
/// than its chip's table. Tensors of more bytes are read in part.
const MOST_OF_PEAK: f64 = 200.0;

/// Returns the nanoseconds that an op on few cores would save on all available cores, at the same speed per
/// core; `None` unless it runs on few cores.
///
/// What its shapes take at the peaks of the chip remains. So does the time to move each of its tensors
/// once, if nothing else is known of what it moves.
fn idle_cores_ns((row, ns): TimedRow<'_>) -> Option<f64> {
    let (cores, available) = few_cores_of(row).filter(|_| !may_be_dram_bound(row))?;
    let least_ns = limit_ns((row, ns)).or_else(|| tensors_ns((row, ns))).unwrap_or(0.0);
    Some((ns * (1.0 - cores as f64 / available as f64)).min(ns - least_ns))
}

/// Returns the nanoseconds that all tensors of an op take at the peak of DRAM, if each is moved once; `None`
/// if that cannot be, or if more is known of what the op moves.
pub(crate) fn tensors_ns((row, ns): TimedRow<'_>) -> Option<f64> {
    let limit = row.limit.filter(|limit| limit.kind == LimitKind::Unknown)?;
    limit.dram_at_most_us.map(|us| us * 1000.0).filter(|most_ns| *most_ns <= ns)
}

/// Returns the percentage of the peak DRAM bandwidth if the ops move all bytes of their tensors.
fn dram_at_most_percent(rows: &[TimedRow<'_>], whole_ns: f64) -> Option<f64> {
    let times: Option<f64> = rows
        .iter()
        .map(|(row, _)| {
            let limit = row.limit?;
            Some(limit.dram_at_most_us.or(limit.dram_us).unwrap_or(0.0) * 1000.0)
        })
        .sum();
    let is_open = rows.iter().any(|(row, _)| !has_all_bytes(row));
    let percent = times.map(|ns| percent(ns, whole_ns));
    percent.filter(|percent| is_open && *percent <= 100.0)
}

fn flops_percent(rows: &[TimedRow<'_>], whole_ns: f64) -> Option<f64> {
    let weighted: Option<f64> = rows.iter().map(|(row, ns)| Some(row.flops_percent? * ns)).sum();
    weighted.map(|weighted| weighted / whole_ns)
}

pub(crate) fn dram_percent(rows: &[TimedRow<'_>], whole_ns: f64) -> Option<f64> {
    let known: Vec<f64> =
        rows.iter().filter_map(|(row, _)| Some(row.limit?.dram_us? * 1000.0)).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / whole_ns * 100.0)
}

/// Returns true if an op only rearranges or converts a tensor.
///
/// # Compatibility
/// The ops are those that tt-perf-report 1.4.1 puts into this category, except `Ternary` ops, which
/// compute.
pub(crate) fn rearranges(row: &OpReport) -> bool {
    row.category == Some(OpCategory::TensorManipulation) && !row.raw_op_code.starts_with("Ternary")
}

/// Returns the numbers of used and of available cores of an op; `None` unless it uses only a small part.
///
/// A matmul whose weights are sharded over DRAM banks is left out: the banks set the number of cores that
/// its model counts, and no option gives it more.
pub(crate) fn few_cores_of(row: &OpReport) -> Option<(u64, u64)> {
    let cores = few_cores(row.core_count, row.available_core_count);
    cores.filter(|_| !row.is_dram_sharded)
}

/// Returns the numbers of used and of available cores; `None` unless only a small part of the
/// available cores is used.
fn few_cores(used: Option<u64>, available: Option<u64>) -> Option<(u64, u64)> {
    let (cores, available) = used.zip(available)?;
    let is_few = cores > 0 && percent(cores as f64, available as f64) < FEW_CORES.value;
    is_few.then_some((cores, available))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_cores_are_not_few() {
        let few_cores = |used| few_cores(Some(used), Some(64));
        assert_eq!(few_cores(32), None);
        assert_eq!(few_cores(31), Some((31, 64)));
        assert_eq!(few_cores(0), None, "unknown");
    }

    #[test]
    fn a_group_is_bound_by_the_noc_if_nothing_else_is_and_all_of_it_is_known() {
        let uses = |percent| Some((percent, false));
        let with = |group: OpCodeGroup, uses: &[(Option<(f64, bool)>, f64)]| {
            let mut group = group;
            group.add_noc(uses);
            (group.noc_percent, group.bound)
        };
        let group = OpCodeGroup {
            limit_ns: Some(1.0),
            limit_kind: LimitKind::Exact,
            ..OpCodeGroup::default()
        };
        // 3/4 of the time at 80 %, the rest at 20 %.
        let both = [(uses(80.0), 300.0), (uses(20.0), 100.0)];
        assert_eq!(with(group.clone(), &both), (Some(65.0), Some(GroupBound::Noc)));
        assert_eq!(with(OpCodeGroup::default(), &both), (Some(65.0), Some(GroupBound::Noc)));
        let less = [(uses(64.9), 400.0)];
        assert_eq!(with(group.clone(), &less), (Some(64.9), Some(GroupBound::Neither)));
        let partly = [(uses(80.0), 300.0), (None, 100.0)];
        assert_eq!(with(group.clone(), &partly), (None, None), "unknown of one op");
        let dram = OpCodeGroup { dram_percent: Some(70.0), ..group.clone() };
        assert_eq!(with(dram, &both), (Some(65.0), Some(GroupBound::Dram)));
        // A link at 65 % of its peak leaves 35 % of the longest chip's time.
        let mut limited = OpCodeGroup {
            duration_ns: 400.0,
            chips_ns: vec![(Some(0), 300.0), (Some(1), 100.0)],
            most_over_limit_ns: Some(299.0),
            ..group
        };
        limited.add_noc(&both);
        assert_eq!(limited.limit_ns, Some(260.0));
        assert!((limited.most_over_limit_ns.unwrap() - 105.0).abs() < 1e-9);
    }

    #[test]
    fn no_idle_cores_are_no_negative_zero() {
        assert!(OpCodeGroup::new("Add", Vec::new(), 0.0).idle_cores_ns.is_sign_positive());
    }
}
