//! Summary of a report: ops grouped by kind.

use super::op::{OpReport, RowKind};
use std::collections::HashMap;

/// Key by which the summary groups ops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StackBy {
    /// Name of the op.
    Op,
    /// Name of the op, and memory of the op's first input.
    #[default]
    Memory,
    /// Category of the op.
    Category,
}

/// Ops of one kind.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct StackedOps {
    /// Key of the group, as chosen by [`StackBy`].
    pub op_code: String,
    /// Device number; `None` unless each device is reported separately.
    pub device: Option<u64>,
    /// Device time of the group as a percentage of the device time of all groups, without gaps.
    ///
    /// If each device is reported separately, only the groups of `device` count. `None` if no op has a
    /// device time.
    pub total_percent: Option<f64>,
    /// Sum of the ops' device times; `None` if none is known.
    pub device_time_us: Option<f64>,
    /// Time that the host spent on the ops; `None` unless it is known of a host op.
    pub host_time_us: Option<f64>,
    /// Number of ops.
    pub op_count: u64,
    /// Number of device ops without a device time. They are in no sum.
    pub untimed_count: u64,
    /// Category of the first op.
    pub category: &'static str,
    /// Minimum over the ops of the percentage of the peak FLOPs.
    pub min_flops_percent: Option<f64>,
    /// Maximum over the ops of the percentage of the peak FLOPs.
    pub max_flops_percent: Option<f64>,
    /// Mean over the ops of the percentage of the peak FLOPs.
    pub mean_flops_percent: Option<f64>,
    /// Sample standard deviation of the percentage of the peak FLOPs; `None` for a single op.
    pub std_flops_percent: Option<f64>,
    /// Mean percentage of the peak FLOPs over the ops of all devices, weighted by device time.
    pub weighted_mean_flops_percent: Option<f64>,
}

/// Groups ops by kind, sorted by descending device time.
///
/// # Compatibility
/// Rows and figures are those of tt-perf-report 1.4.1, which has one row for all ops on the host.
pub(super) fn stack(
    rows: &[OpReport],
    (by, is_upstream_exact): (StackBy, bool),
    by_device: bool,
) -> Vec<StackedOps> {
    let mut groups: Vec<OpStack<'_>> = Vec::new();
    let mut index: HashMap<(String, Option<u64>), usize> = HashMap::new();
    // The key's text is built only once for all rows with equal key parts.
    let mut known: HashMap<((&str, &str), Option<u64>), usize> = HashMap::new();
    for row in rows.iter().filter(|row| row.kind != RowKind::Signpost) {
        let parts = key_parts(row, by, is_upstream_exact);
        let device = row.device.filter(|_| by_device);
        let at = *known.entry((parts, device)).or_insert_with(|| {
            let op_code = key_text(parts);
            *index.entry((op_code.clone(), device)).or_insert_with(|| {
                groups.push(OpStack { op_code, device, rows: Vec::new() });
                groups.len().saturating_sub(1)
            })
        });
        if let Some(group) = groups.get_mut(at) {
            group.rows.push(row);
        }
    }
    let mut weighted: HashMap<String, (f64, f64)> = HashMap::new();
    let mut totals: HashMap<Option<u64>, f64> = HashMap::new();
    for group in &groups {
        let sum = weighted.entry(group.op_code.clone()).or_default();
        for row in &group.rows {
            if let Some((percent, time)) = row.flops_percent.zip(row.device_time_us) {
                *sum = (sum.0 + percent * time, sum.1 + time);
            }
        }
        *totals.entry(group.device).or_insert(0.0) += group.time_us();
    }
    let stacked = groups.into_iter().map(|group| {
        let total_us = totals.get(&group.device).copied().unwrap_or(0.0);
        let weighted = weighted.get(&group.op_code).filter(|(_, time)| *time > 0.0);
        let weighted = weighted.map(|(product, time)| product / time);
        group.stacked(total_us, weighted)
    });
    let mut stacked: Vec<_> = stacked.collect();
    let time = |ops: &StackedOps| ops.device_time_us.unwrap_or_default();
    stacked.sort_by(|one, other| time(other).total_cmp(&time(one)));
    stacked
}

/// Returns the texts of a row that form the key of the row's group: a name and, if ops are grouped
/// by memory, the memory of the first input.
fn key_parts(row: &OpReport, by: StackBy, is_upstream_exact: bool) -> (&str, &str) {
    let name = match row.kind {
        // The first word of `(torch) add` names no op.
        RowKind::Host if !is_upstream_exact => &*row.raw_op_code,
        _ => row.op_code.split_whitespace().next().unwrap_or(""),
    };
    match by {
        StackBy::Op => (name, ""),
        StackBy::Memory => (name, row.input_0_memory.as_deref().unwrap_or("")),
        StackBy::Category => (row.category.map_or("", super::OpCategory::label), ""),
    }
}

fn key_text((name, memory): (&str, &str)) -> String {
    if memory.is_empty() {
        return name.to_owned();
    }
    let parts: Vec<_> = memory.split('_').collect();
    let last = parts.get(parts.len().saturating_sub(2)..).unwrap_or(&parts);
    format!("{name} (in0:{})", last.join("_").to_lowercase())
}

/// Returns the time that the host spent on those rows that are ops on the host.
fn host_time_us(rows: &[&OpReport]) -> Option<f64> {
    let own = rows.iter().filter(|row| row.kind == RowKind::Host);
    let known: Vec<f64> = own.filter_map(|row| row.host_duration_ns).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / 1000.0)
}

/// Rows of one kind of op.
struct OpStack<'a> {
    op_code: String,
    device: Option<u64>,
    rows: Vec<&'a OpReport>,
}

impl OpStack<'_> {
    /// Returns the compensated (Kahan) sum of the rows' device times.
    fn time_us(&self) -> f64 {
        let mut sum = 0.0;
        let mut carry = 0.0;
        for time in self.rows.iter().filter_map(|row| row.device_time_us) {
            let added: f64 = time - carry;
            let next: f64 = sum + added;
            carry = (next - sum) - added;
            sum = next;
        }
        sum
    }

    /// Computes the figures of the group. `total_us` is the time of all groups. If each device is
    /// reported separately, `total_us` is the time of all groups of the same device.
    fn stacked(self, total_us: f64, weighted: Option<f64>) -> StackedOps {
        let time_us = self.time_us();
        let is_untimed = |row: &&&OpReport| row.device_time_us.is_none();
        let untimed = self.rows.iter().filter(is_untimed);
        let is_timed = untimed.clone().count() < self.rows.len();
        let share = if total_us > 0.0 { time_us / total_us * 100.0 } else { 0.0 };
        let percents: Vec<f64> = self.rows.iter().filter_map(|row| row.flops_percent).collect();
        let count = percents.len() as f64;
        let mean = percents.iter().sum::<f64>() / count;
        let squares: f64 = percents.iter().map(|percent| (percent - mean).powi(2)).sum();
        let category = self.rows.first().and_then(|row| row.category);
        StackedOps {
            total_percent: is_timed.then_some(share),
            device_time_us: is_timed.then_some(time_us),
            host_time_us: host_time_us(&self.rows),
            op_count: self.rows.len() as u64,
            untimed_count: untimed.filter(|row| row.kind == RowKind::Device).count() as u64,
            category: category.map_or("", super::OpCategory::label),
            min_flops_percent: percents.iter().copied().reduce(f64::min),
            max_flops_percent: percents.iter().copied().reduce(f64::max),
            mean_flops_percent: (!percents.is_empty()).then_some(mean),
            std_flops_percent: (percents.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
            weighted_mean_flops_percent: weighted.filter(|_| !percents.is_empty()),
            op_code: self.op_code,
            device: self.device,
        }
    }
}
