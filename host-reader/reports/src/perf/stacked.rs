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
    /// Key of the group.
    pub op_code: String,
    /// Device number, if devices are separate.
    pub device: Option<u64>,
    /// Percentage of the device time without gaps. If devices are separate, it is the percentage of
    /// the time of `device`.
    pub total_percent: f64,
    /// Sum of device times.
    pub device_time_us: f64,
    /// Number of ops.
    pub op_count: u64,
    /// Category of the first op.
    pub category: &'static str,
    /// Minimum FLOPs %.
    pub min_flops_percent: Option<f64>,
    /// Maximum FLOPs %.
    pub max_flops_percent: Option<f64>,
    /// Mean FLOPs %.
    pub mean_flops_percent: Option<f64>,
    /// Sample standard deviation of FLOPs %; `None` for a single op.
    pub std_flops_percent: Option<f64>,
    /// Mean FLOPs % over all devices, weighted by device time.
    pub weighted_mean_flops_percent: Option<f64>,
}

/// Groups ops by kind, sorted by descending device time.
///
/// # Compatibility
/// Rows and figures are those of tt-perf-report 1.4.1.
pub(super) fn stack(rows: &[OpReport], by: StackBy, by_device: bool) -> Vec<StackedOps> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut index: HashMap<(String, Option<u64>), usize> = HashMap::new();
    // The key's text is built only once for all rows with equal key parts.
    let mut known: HashMap<(KeyParts<'_>, Option<u64>), usize> = HashMap::new();
    for row in rows.iter().filter(|row| row.kind != RowKind::Signpost) {
        let (parts, device) = (KeyParts::new(row, by), row.device.filter(|_| by_device));
        let at = *known.entry((parts, device)).or_insert_with(|| {
            let key = (parts.text(), device);
            *index.entry(key.clone()).or_insert_with(|| {
                let (op_code, device) = key;
                groups.push((StackedOps::empty(op_code, device, row), Vec::new()));
                groups.len().saturating_sub(1)
            })
        });
        if let Some((_, members)) = groups.get_mut(at) {
            members.push(row);
        }
    }
    let weighted = weighted_means(&groups);
    let totals = device_totals(&groups);
    let mut stacked: Vec<_> = groups
        .into_iter()
        .map(|(group, members)| {
            let total_us = totals.get(&group.device).copied().unwrap_or(0.0);
            let weighted = weighted.get(&group.op_code).copied();
            group.filled(&members, total_us, weighted)
        })
        .collect();
    stacked.sort_by(|one, other| other.device_time_us.total_cmp(&one.device_time_us));
    stacked
}

/// Texts of a row that form the key of the row's group.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct KeyParts<'a> {
    name: &'a str,
    /// Memory of the first input, if ops are grouped by memory; otherwise empty.
    memory: &'a str,
}

impl<'a> KeyParts<'a> {
    fn new(row: &'a OpReport, by: StackBy) -> Self {
        let name = match by {
            StackBy::Op | StackBy::Memory => row.op_code.split_whitespace().next().unwrap_or(""),
            StackBy::Category => row.category.map_or("", super::OpCategory::label),
        };
        let memory = match by {
            StackBy::Op | StackBy::Category => "",
            StackBy::Memory => row.input_0_memory.as_deref().unwrap_or(""),
        };
        Self { name, memory }
    }

    fn text(self) -> String {
        let Self { name, memory } = self;
        if memory.is_empty() {
            return name.to_owned();
        }
        let parts: Vec<_> = memory.split('_').collect();
        let last = parts.get(parts.len().saturating_sub(2)..).unwrap_or(&parts);
        let place = last.join("_").to_lowercase();
        format!("{name} (in0:{place})")
    }
}

type Group<'a> = (StackedOps, Vec<&'a OpReport>);

fn weighted_means(groups: &[Group<'_>]) -> HashMap<String, f64> {
    let mut sums: HashMap<String, (f64, f64)> = HashMap::new();
    for (group, members) in groups {
        let sum = sums.entry(group.op_code.clone()).or_default();
        for row in members {
            if let Some((percent, time)) = row.flops_percent.zip(row.device_time_us) {
                sum.0 += percent * time;
                sum.1 += time;
            }
        }
    }
    sums.into_iter()
        .filter(|(_, (_, time))| *time > 0.0)
        .map(|(key, (product, time))| (key, product / time))
        .collect()
}

fn device_totals(groups: &[Group<'_>]) -> HashMap<Option<u64>, f64> {
    let mut totals = HashMap::new();
    for (group, members) in groups {
        *totals.entry(group.device).or_insert(0.0) += time_us(members);
    }
    totals
}

/// Returns the compensated (Kahan) sum of the members' device times.
fn time_us(members: &[&OpReport]) -> f64 {
    let mut sum = 0.0;
    let mut carry = 0.0;
    for time in members.iter().filter_map(|row| row.device_time_us) {
        let added: f64 = time - carry;
        let next: f64 = sum + added;
        carry = (next - sum) - added;
        sum = next;
    }
    sum
}

impl StackedOps {
    fn empty(op_code: String, device: Option<u64>, first: &OpReport) -> Self {
        let category = first.category.map_or("", super::OpCategory::label);
        Self { op_code, device, category, ..Self::default() }
    }

    fn filled(mut self, members: &[&OpReport], total_us: f64, weighted: Option<f64>) -> Self {
        self.device_time_us = time_us(members);
        self.op_count = members.len() as u64;
        if total_us > 0.0 {
            self.total_percent = self.device_time_us / total_us * 100.0;
        }
        let percents: Vec<f64> = members.iter().filter_map(|row| row.flops_percent).collect();
        if percents.is_empty() {
            return self;
        }
        let count = percents.len() as f64;
        let mean = percents.iter().sum::<f64>() / count;
        let squares: f64 = percents.iter().map(|percent| (percent - mean).powi(2)).sum();
        self.min_flops_percent = percents.iter().copied().reduce(f64::min);
        self.max_flops_percent = percents.iter().copied().reduce(f64::max);
        self.mean_flops_percent = Some(mean);
        self.std_flops_percent = (percents.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
        self.weighted_mean_flops_percent = weighted;
        self
    }
}
