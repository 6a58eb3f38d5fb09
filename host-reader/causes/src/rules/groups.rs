//! Rules about ops of one name together: what they take, and against which limit.

use super::{Gain, Reached, duration};
use crate::{
    finding::{Cause, Finding, GainOf, Place, share},
    threshold::{FEW_CORES, GROUP_LIMIT, GROUP_TIME, LAYOUT_TIME},
};
use reports::perf::{OpCategory, OpReport, RowKind};
use std::collections::BTreeMap;

/// Time that ops of one name take, and the least that the chip needs for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GroupFacts {
    /// Name of the op.
    pub(crate) op: String,
    pub(crate) count: usize,
    pub(crate) duration_ns: f64,
    /// True if all it does is change the layout of tensors.
    pub(crate) is_layout: bool,
    /// Model of its limits; `None` if one of its ops has none.
    pub(crate) limit: Option<Limit>,
    /// Time that would be saved if ops on few cores took all, at their speed per core.
    pub(crate) idle_cores_ns: f64,
    /// Row of the longest op.
    pub(crate) row: Option<u64>,
    /// Cores of the longest op, and those available.
    pub(crate) cores: Option<(u64, u64)>,
    /// Advice of `kprof perf` on the longest op.
    pub(crate) advice: Vec<String>,
}

/// Use of a chip's limits by a group, each over the group's time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Limit {
    /// Time at the nearer limit of each op.
    pub(crate) ns: f64,
    pub(crate) flops_percent: f64,
    /// `None` if no op of it has bytes in DRAM that are modelled.
    pub(crate) dram_percent: Option<f64>,
}

/// Groups of device ops by name, those with most time first.
pub(crate) fn group_facts(rows: &[OpReport]) -> Vec<GroupFacts> {
    let mut groups: BTreeMap<&str, Vec<(&OpReport, f64)>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.kind == RowKind::Device) {
        let Some(us) = row.device_time_us.filter(|us| *us > 0.0) else { continue };
        groups.entry(&row.raw_op_code).or_default().push((row, us * 1000.0));
    }
    let mut groups: Vec<_> =
        groups.into_iter().map(|(op, rows)| GroupFacts::new(op, &rows)).collect();
    groups.sort_by(|one, other| other.duration_ns.total_cmp(&one.duration_ns));
    groups
}

impl GroupFacts {
    fn new(op: &str, rows: &[(&OpReport, f64)]) -> Self {
        let longest = rows.iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
        let longest = longest.map(|(row, _)| *row);
        let idle = rows.iter().filter_map(|(row, ns)| {
            let (cores, available) = few_cores(cores_of(row)?)?;
            Some(ns * (1.0 - cores / available))
        });
        Self {
            op: op.to_owned(),
            count: rows.len(),
            duration_ns: rows.iter().map(|(_, ns)| ns).sum(),
            is_layout: rows.iter().all(|(row, _)| rearranges(row)),
            limit: limit(rows),
            idle_cores_ns: idle.sum(),
            row: longest.map(|row| row.id),
            cores: longest.and_then(cores_of),
            advice: longest.and_then(|row| row.advice.clone()).unwrap_or_default(),
        }
    }

    fn place(&self) -> Place {
        Place { op: Some(self.op.clone()), row: self.row, ..Place::default() }
    }

    fn ops(&self) -> String {
        let ops = if self.count == 1 { "op" } else { "ops" };
        format!("{} {ops}, {}", self.count, duration(self.duration_ns))
    }

    /// Advice on the longest op; what to look at if there is none.
    fn advice(&self) -> String {
        let mut items = Vec::new();
        if let Some((cores, available)) = self.cores.filter(|cores| few_cores(*cores).is_some()) {
            items.push(format!("use more cores: the longest runs on {cores} of {available}"));
        }
        let own = self.advice.iter().filter(|item| !item.starts_with("Use more cores"));
        items.extend(own.take(2).map(|item| lower_first(item)));
        if items.is_empty() {
            items.push("compare memory, sharding and cores of its rows in `kprof perf`".to_owned());
        }
        items.join("; ")
    }
}

/// Returns true if all an op does is rearrange or convert a tensor.
///
/// # Compatibility
/// The category of tt-perf-report 1.4.1, without `Ternary`, which computes.
fn rearranges(row: &OpReport) -> bool {
    row.category == Some(OpCategory::TensorManipulation) && !row.raw_op_code.starts_with("Ternary")
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

fn cores_of(row: &OpReport) -> Option<(u64, u64)> {
    row.core_count.zip(row.available_core_count)
}

/// Cores, and those available, if that is a small part of them.
#[expect(clippy::cast_precision_loss, reason = "counts of cores")]
fn few_cores((cores, available): (u64, u64)) -> Option<(f64, f64)> {
    let (cores, available) = (cores as f64, available as f64);
    (cores > 0.0 && share(cores, available) < FEW_CORES.value).then_some((cores, available))
}

fn limit(rows: &[(&OpReport, f64)]) -> Option<Limit> {
    let mut limit = Limit::default();
    let mut whole = 0.0;
    let mut dram = None::<f64>;
    for (row, ns) in rows {
        let flops = row.flops_percent?;
        let own = row.dram_percent.unwrap_or(0.0);
        limit.ns += ns * (flops.max(own) / 100.0).min(1.0);
        limit.flops_percent += ns * flops;
        if row.dram_percent.is_some() {
            dram = Some(dram.unwrap_or(0.0) + ns * own);
        }
        whole += ns;
    }
    (whole > 0.0 && limit.ns > 0.0).then(|| Limit {
        flops_percent: limit.flops_percent / whole,
        dram_percent: dram.map(|weighed| weighed / whole),
        ..limit
    })
}

/// Groups that take a good part of the kernels' time, far from their limit or on few cores, and
/// those without a model of their limit.
pub(crate) fn op_groups(groups: &[GroupFacts]) -> Vec<Finding> {
    let kernels_ns: f64 = groups.iter().map(|group| group.duration_ns).sum();
    let others = groups.iter().filter(|group| !group.is_layout);
    let large = others.filter(|group| share(group.duration_ns, kernels_ns) >= GROUP_TIME.value);
    large.filter_map(|group| op_group(group, kernels_ns)).collect()
}

fn op_group(group: &GroupFacts, kernels_ns: f64) -> Option<Finding> {
    let of_time = share(group.duration_ns, kernels_ns);
    let (bound, gain_ns) = match group.limit {
        Some(limit) if group.duration_ns < limit.ns * GROUP_LIMIT.value => return None,
        Some(limit) => {
            let dram = limit.dram_percent.map_or_else(String::new, |percent| {
                format!(" and {percent:.0} % of the peak DRAM bandwidth")
            });
            let bound = format!(
                "at {:.0} % of the peak FLOPs{dram}: bound by neither, {:.0} times its limit of {}",
                limit.flops_percent,
                group.duration_ns / limit.ns,
                duration(limit.ns)
            );
            (bound, Some(group.duration_ns - limit.ns))
        }
        None if group.idle_cores_ns > 0.0 => {
            let longest = group.cores.map_or_else(String::new, |(cores, available)| {
                format!(", the longest on {cores} of {available} cores")
            });
            (format!("in part on few cores{longest}"), Some(group.idle_cores_ns))
        }
        None => ("and its limit is not modelled".to_owned(), None),
    };
    let sentence =
        format!("{} takes {of_time:.1} % of the kernels' time ({}) {bound}", group.op, group.ops());
    let gain =
        Gain { at_most_ns: gain_ns.unwrap_or(0.0), whole_ns: kernels_ns, of: GainOf::Kernels };
    let reached = Reached::new(Cause::OpGroup, GROUP_TIME, of_time);
    let mut finding = reached.finding(sentence, group.place(), gain, &group.advice());
    if gain_ns.is_none() {
        (finding.gain_at_most_ns, finding.gain_at_most_percent) = (None, None);
    }
    Some(finding)
}

/// Names of layout changes in one sentence.
const LAYOUT_NAMES: usize = 3;

/// Layout changes that together take a good part of the kernels' time.
pub(crate) fn layout(groups: &[GroupFacts]) -> Option<Finding> {
    let kernels_ns: f64 = groups.iter().map(|group| group.duration_ns).sum();
    let changes: Vec<_> = groups.iter().filter(|group| group.is_layout).collect();
    let first = changes.first()?;
    let ns: f64 = changes.iter().map(|group| group.duration_ns).sum();
    let of_time = share(ns, kernels_ns);
    if of_time < LAYOUT_TIME.value {
        return None;
    }
    let count: usize = changes.iter().map(|group| group.count).sum();
    let names: Vec<String> = changes
        .iter()
        .take(LAYOUT_NAMES)
        .map(|group| format!("{} {:.1} %", group.op, share(group.duration_ns, kernels_ns)))
        .collect();
    let sentence = format!(
        "Rearranging tensors takes {of_time:.1} % of the kernels' time ({count} ops, {}): {}",
        duration(ns),
        names.join(", ")
    );
    let mut advice = "produce each tensor in the layout that the next op takes; convert weights \
                      once, before the first iteration"
        .to_owned();
    if let Some((cores, available)) = first.cores.filter(|cores| few_cores(*cores).is_some()) {
        advice
            .push_str(&format!("; the longest {} runs on {cores} of {available} cores", first.op));
    }
    let gain = Gain { at_most_ns: ns, whole_ns: kernels_ns, of: GainOf::Kernels };
    let reached = Reached::new(Cause::Layout, LAYOUT_TIME, of_time);
    Some(reached.finding(sentence, first.place(), gain, &advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(op: &str, duration_ns: f64) -> GroupFacts {
        GroupFacts { op: op.into(), count: 2, duration_ns, row: Some(4), ..GroupFacts::default() }
    }

    fn limited(duration_ns: f64, ns: f64) -> GroupFacts {
        let limit = Limit { ns, flops_percent: 3.0, dram_percent: Some(25.0) };
        GroupFacts { limit: Some(limit), ..group("Matmul", duration_ns) }
    }

    #[test]
    fn a_group_far_from_its_limit_is_told_with_what_it_could_gain() {
        let found = op_groups(&[limited(6e6, 1.5e6), group("Add", 4e6)]);
        assert_eq!(
            found[0].sentence,
            "Matmul takes 60.0 % of the kernels' time (2 ops, 6.0 ms) at 3 % of the peak FLOPs and \
             25 % of the peak DRAM bandwidth: bound by neither, 4 times its limit of 1.5 ms"
        );
        assert_eq!(found[0].gain_at_most_percent, Some(45.0));
        assert_eq!((found[1].gain_at_most_ns, found.len()), (None, 2), "no model, no gain");
        assert_eq!(op_groups(&[limited(6e6, 3.1e6)]), [], "within twice its limit");
        assert_eq!(op_groups(&[limited(1.9e6, 1.0), limited(8.1e6, 8e6)]), [], "below a fifth");
    }

    #[test]
    fn few_cores_are_a_gain_without_a_model() {
        let one = GroupFacts { idle_cores_ns: 3e6, cores: Some((1, 64)), ..group("Softmax", 4e6) };
        let [finding] = &op_groups(&[one])[..] else { panic!() };
        assert_eq!(finding.gain_at_most_percent, Some(75.0));
        assert!(finding.advice.contains("1 of 64"), "{}", finding.advice);
        assert_eq!(few_cores((32, 64)), None);
        assert!(few_cores((31, 64)).is_some());
        assert_eq!(few_cores((0, 64)), None);
    }

    #[test]
    fn layout_changes_count_as_a_sum() {
        let change = |op, ns| GroupFacts { is_layout: true, ..group(op, ns) };
        let groups = [group("Matmul", 8e6), change("Permute", 1.5e6), change("Tilize", 0.5e6)];
        let finding = layout(&groups).unwrap();
        assert_eq!(
            finding.sentence,
            "Rearranging tensors takes 20.0 % of the kernels' time (4 ops, 2.0 ms): Permute 15.0 %, \
             Tilize 5.0 %"
        );
        assert_eq!(finding.gain_at_most_ns, Some(2e6));
        assert_eq!(layout(&[group("Matmul", 9.1e6), change("Permute", 0.9e6)]), None);
        assert_eq!(layout(&groups[..1]), None);
    }
}
