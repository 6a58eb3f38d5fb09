//! Times of groups of ops in two recordings: by the module of a model, or by any other column.
//!
//! Nothing is aligned: a group is compared with the group of the same text, whatever its ops are called
//! and however many they are.

use crate::perf::{ColumnGroup, OpsByColumn};
use std::{collections::BTreeMap, sync::Arc};

/// Time of the ops of one group, in two recordings.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ColumnChange {
    /// Text of the column; `None` for the ops whose cell is blank.
    pub value: Option<Arc<str>>,
    /// Number of groups that contain this one.
    pub depth: usize,
    /// Device time in A, in ns; `None` if A has no such group, or no time of it.
    pub a_ns: Option<f64>,
    /// Device time in B, in ns; `None` if B has no such group, or no time of it.
    pub b_ns: Option<f64>,
    /// Number of ops in A.
    pub a_op_count: f64,
    /// Number of ops in B.
    pub b_op_count: f64,
    /// Time in B minus time in A, in ns; `None` if either is unknown.
    pub change_ns: Option<f64>,
    /// Time in B divided by time in A; `None` if either is unknown or A's is 0.
    pub ratio: Option<f64>,
}

/// Comparison of two recordings by a column.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ColumnDiff {
    /// Header of the column.
    pub column: Arc<str>,
    /// True if times and numbers of ops are those of one iteration. Otherwise they are those of
    /// whole recordings, since nothing repeats in A or in B.
    pub is_per_iteration: bool,
    /// Number of ops of A without a device time, over all of its recordings. They are in no sum.
    pub a_untimed_count: u64,
    /// Number of ops of B without a device time, over all of its recordings. They are in no sum.
    pub b_untimed_count: u64,
    /// Groups in the order of A, then those that only B has.
    pub changes: Vec<ColumnChange>,
}

/// Mean of a group's figures over the recordings of one side.
#[derive(Clone, Copy, Default)]
struct Mean {
    ns: f64,
    op_count: f64,
    timed_count: f64,
}

impl ColumnDiff {
    /// Compares the groups of ops of the recordings of A with those of B. Times are means over the
    /// recordings of a side.
    ///
    /// ```
    /// use reports::{diff::ColumnDiff, perf::{PerfOptions, PerfReport, ops_by_column, read_ops_csv}};
    /// let by = |op: &str, ns: u32| {
    ///     let text = format!(
    ///         "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],MODULE\n\
    ///          {op},tt_dnn_device,0,{ns},Model.head\n"
    ///     );
    ///     let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
    ///     ops_by_column(&PerfReport::new(vec![csv], &PerfOptions::default()).unwrap().rows, "MODULE")
    /// };
    /// let diff = ColumnDiff::new(&[by("Matmul", 1000)], &[by("LinearDeviceOperation", 1500)]);
    /// assert_eq!(diff.changes[1].value.as_deref(), Some("Model.head"));
    /// assert_eq!(diff.changes[1].ratio, Some(1.5));
    /// ```
    #[must_use]
    pub fn new(a: &[OpsByColumn], b: &[OpsByColumn]) -> Self {
        let is_per_iteration = a.iter().chain(b).all(|by| by.iteration_count.is_some());
        let mut order: Vec<Key> = Vec::new();
        let [a_means, b_means] = [a, b].map(|side| means(side, is_per_iteration, &mut order));
        let changes = order.into_iter().map(|key| {
            let [of_a, of_b] = [&a_means, &b_means].map(|means| means.get(&key).copied());
            change(key, of_a.unwrap_or_default(), of_b.unwrap_or_default())
        });
        let untimed = |side: &[OpsByColumn]| side.iter().map(|by| by.total.untimed_count).sum();
        Self {
            column: a.iter().chain(b).map(|by| Arc::clone(&by.column)).next().unwrap_or_default(),
            is_per_iteration,
            a_untimed_count: untimed(a),
            b_untimed_count: untimed(b),
            changes: changes.collect(),
        }
    }
}

/// Text and depth of a group.
type Key = (Option<Arc<str>>, usize);

/// Returns the means of one side, and adds the groups that are not in the order yet: each behind the
/// group that is before it on this side.
fn means(
    side: &[OpsByColumn],
    is_per_iteration: bool,
    order: &mut Vec<Key>,
) -> BTreeMap<Key, Mean> {
    let mut means: BTreeMap<Key, Mean> = BTreeMap::new();
    let count = side.len() as f64;
    for by in side {
        let mut before = None;
        // The ops of a module may have other names in the other recording.
        for group in by.groups.iter().filter(|group| group.op.is_none()) {
            let key = (group.value.clone(), group.depth);
            let known = order.iter().position(|known| *known == key);
            let at = known.unwrap_or_else(|| {
                let at = before.map_or(order.len(), |before: usize| before.saturating_add(1));
                order.insert(at, key.clone());
                at
            });
            before = Some(at);
            let mean = means.entry(key).or_default();
            let (ns, op_count) = figures(group, is_per_iteration);
            mean.ns += ns / count;
            mean.op_count += op_count / count;
            let timed_count = group.op_count.saturating_sub(group.untimed_count);
            mean.timed_count += timed_count as f64;
        }
    }
    means
}

/// Returns the time and the number of a group's ops.
fn figures(group: &ColumnGroup, is_per_iteration: bool) -> (f64, f64) {
    if is_per_iteration {
        let us = group.device_time_per_iteration_us.unwrap_or(0.0);
        (us * 1000.0, group.ops_per_iteration.unwrap_or(0.0))
    } else {
        (group.device_time_us * 1000.0, group.op_count as f64)
    }
}

fn change((value, depth): Key, a: Mean, b: Mean) -> ColumnChange {
    let known = |mean: Mean| (mean.op_count > 0.0 && mean.timed_count > 0.0).then_some(mean.ns);
    let (a_ns, b_ns) = (known(a), known(b));
    ColumnChange {
        value,
        depth,
        a_ns,
        b_ns,
        a_op_count: a.op_count,
        b_op_count: b.op_count,
        change_ns: a_ns.zip(b_ns).map(|(a, b)| b - a),
        ratio: a_ns.zip(b_ns).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::{PerfOptions, PerfReport, ops_by_column, read_ops_csv};

    fn by(rows: &[(&str, &str, &str)]) -> OpsByColumn {
        let mut text = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],MODULE\n".to_owned();
        for (op, ns, module) in rows {
            text += &format!("{op},tt_dnn_device,0,{ns},{module}\n");
        }
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        ops_by_column(&PerfReport::new(vec![csv], &PerfOptions::default()).unwrap().rows, "MODULE")
    }

    #[test]
    fn modules_are_compared_though_their_ops_have_other_names_and_numbers() {
        let a = by(&[
            ("Embed", "500", ""),
            ("Mm", "1000", "M.q"),
            ("Add", "200", "M.q"),
            ("Old", "70", "M.old"),
        ]);
        let b = by(&[
            ("Embed", "400", ""),
            ("MatmulFused", "900", "M.q"),
            ("New", "", "M.new"),
            ("X", "30", "M.x"),
        ]);
        let diff = ColumnDiff::new(&[a], &[b]);
        let found: Vec<_> = diff
            .changes
            .iter()
            .map(|change| {
                let ns = [change.a_ns, change.b_ns, change.change_ns].map(|ns| ns.map(f64::round));
                (change.value.as_deref(), ns, change.a_op_count, change.b_op_count)
            })
            .collect();
        let expected = [
            (None, [Some(500.0), Some(400.0), Some(-100.0)], 1.0, 1.0),
            (Some("M"), [Some(1270.0), Some(930.0), Some(-340.0)], 3.0, 3.0),
            (Some("M.q"), [Some(1200.0), Some(900.0), Some(-300.0)], 2.0, 1.0),
            (Some("M.new"), [None, None, None], 0.0, 1.0),
            (Some("M.x"), [None, Some(30.0), None], 0.0, 1.0),
            (Some("M.old"), [Some(70.0), None, None], 1.0, 0.0),
        ];
        assert_eq!(found, expected);
        assert_eq!((diff.a_untimed_count, diff.b_untimed_count), (0, 1));
        assert!(!diff.is_per_iteration);
    }

    #[test]
    fn several_recordings_count_as_their_mean() {
        let a = [by(&[("Mm", "1000", "M")]), by(&[("Mm", "3000", "M")])];
        let diff = ColumnDiff::new(&a, &[by(&[("Mm", "1000", "M")])]);
        let change = &diff.changes[0];
        assert_eq!(
            (change.a_ns, change.b_ns, change.ratio),
            (Some(2000.0), Some(1000.0), Some(0.5))
        );
    }
}
