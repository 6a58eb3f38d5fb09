//! Merging of several files and devices. Device numbers become unique, and an op that ran on all
//! devices becomes one row.

#![expect(clippy::indexing_slicing, reason = "indices are those of the rows themselves")]

use super::{category::OpCategory, op::duration_doubt, ops_csv::OpsCsv, row::OpRow};
use crate::report::{CALL_LOCATION, MODULE};
use recording::problem::counted;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

/// Maximum number of devices whose rows are merged. No real mesh has more devices.
const MAX_DEVICES: usize = 4096;

/// Collective ops, in which devices wait for one another, as far as tt-perf-report knows them.
const COLLECTIVES: [&str; 3] = ["AllGather", "ReduceScatter", "AllReduce"];

/// Joins the rows of several files, one for each host. Devices and rows get numbers that are unique
/// over all files.
pub(super) fn join_files(files: &mut [OpsCsv], notes: &mut Vec<String>) -> Vec<OpRow> {
    let counts: Vec<u64> = files.iter().map(device_count).collect();
    if counts.windows(2).any(|pair| pair[0] != pair[1]) {
        let counts: Vec<_> = counts.iter().map(u64::to_string).collect();
        notes.push(format!(
            "Warning: the files are of {} devices; devices are numbered one after the other",
            counts.join(" and ")
        ));
    }
    let mut rows: Vec<OpRow> = Vec::new();
    let (mut first_device, mut comment_line_count) = (0_u64, 0_u64);
    for ((index, file), count) in files.iter_mut().enumerate().zip(counts) {
        let mut own = std::mem::take(&mut file.rows);
        comment_line_count = comment_line_count.saturating_add(file.comment_line_count);
        let first_id = (rows.len() as u64).saturating_add(2).saturating_add(comment_line_count);
        for (id, row) in (first_id..).zip(&mut own) {
            row.file = index;
            row.device = row.device.map(|device| device.saturating_add(first_device));
            row.id = id;
        }
        // Reuses the vector of the first file's rows.
        if rows.is_empty() {
            rows = own
        } else {
            rows.append(&mut own)
        }
        first_device = first_device.saturating_add(count);
    }
    rows
}

fn device_count(file: &OpsCsv) -> u64 {
    let devices = file.rows.iter().filter_map(|row| row.device);
    devices.max().map_or(0, |device| device.saturating_add(1))
}

/// Merges the rows of all devices. An op that ran on each device becomes one row.
///
/// The row has the time of the slowest device. All devices leave a collective together, so the row
/// of a collective has the mean time.
///
/// # Compatibility
/// The rows are those of tt-perf-report 1.4.1.
pub(super) fn merge_devices(
    rows: Vec<OpRow>,
    is_upstream_exact: bool,
    notes: &mut Vec<String>,
) -> Vec<OpRow> {
    // Rows of different calls are of different ops: chips may run different models.
    let mut calls: BTreeMap<Option<Place<'_>>, BTreeMap<u64, VecDeque<usize>>> = BTreeMap::new();
    let mut devices: BTreeSet<u64> = BTreeSet::new();
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.is_device_op()) {
        let device = row.device.unwrap_or(0);
        devices.insert(device);
        let place = place_of_call(row).filter(|_| !is_upstream_exact);
        calls.entry(place).or_default().entry(device).or_default().push_back(at);
    }
    if devices.len() > MAX_DEVICES {
        notes.push(format!("Warning: {} devices are too many to be merged", devices.len()));
        return rows;
    }
    let mut merged: BTreeMap<usize, OpRow> = rows
        .iter()
        .enumerate()
        .filter(|(_, row)| !row.is_device_op())
        .map(|(at, row)| (at, row.clone()))
        .collect();
    let mut missing: BTreeMap<(u64, Arc<str>), u64> = BTreeMap::new();
    let device_count = devices.len();
    for (place, mut queues) in calls {
        // Where calls are known, a chip without any row of one runs another model.
        for &device in devices.iter().filter(|_| place.is_none()) {
            queues.entry(device).or_default();
        }
        // Each device that has the next op at the front of its queue contributes a row to the op.
        while let Some(&head) = queues.values().find_map(VecDeque::front) {
            let op_code = &rows[head].op_code;
            let mut block = Vec::new();
            for (&device, queue) in &mut queues {
                if queue.front().is_some_and(|&at| rows[at].op_code == *op_code) {
                    block.extend(queue.pop_front());
                } else {
                    let count = missing.entry((device, op_code.clone())).or_default();
                    *count = count.saturating_add(1);
                }
            }
            let Some(&place) = block.iter().min() else { break };
            merged.insert(place, merged_row(&rows, &block, is_upstream_exact));
        }
    }
    if device_count > 1 {
        notes.push(format!("The rows of {device_count} devices are merged"));
    }
    notes.extend(missing_ops(missing));
    merged.into_values().collect()
}

/// Module and line of a call, as far as they are known.
type Place<'row> = (Option<&'row str>, Option<&'row str>);

/// Returns where a row's op was called; `None` if that is unknown.
fn place_of_call(row: &OpRow) -> Option<Place<'_>> {
    let [module, location] = [MODULE, CALL_LOCATION].map(|title| row.other(title).map(|of| &**of));
    (module.is_some() || location.is_some()).then_some((module, location))
}

/// Returns a warning for each op code and number of times that devices lack it, with all of these devices.
fn missing_ops(missing: BTreeMap<(u64, Arc<str>), u64>) -> Vec<String> {
    let mut devices: BTreeMap<(Arc<str>, u64), Vec<u64>> = BTreeMap::new();
    for ((device, op_code), count) in missing {
        devices.entry((op_code, count)).or_default().push(device);
    }
    let warnings = devices.into_iter().map(|((op_code, count), devices)| {
        let ranges = devices.chunk_by(|one, next| one.checked_add(1) == Some(*next));
        let ranges = ranges.map(|range| match range {
            [first, .., last] => format!("{first} to {last}"),
            one => one.iter().map(u64::to_string).collect(),
        });
        let ranges = ranges.collect::<Vec<_>>().join(", ");
        let devices = match devices.len() {
            1 => format!("device {ranges} has"),
            _ => format!("devices {ranges} have"),
        };
        let times = counted(count, "time", "times");
        format!("Warning: {devices} no {op_code} where others have one, {times}")
    });
    warnings.collect()
}

/// Returns the row of an op on all devices: the longest one for most ops, the first one with the mean
/// of the durations for collectives.
///
/// A duration that cannot be true is neither the longest one nor in the mean, as long as another is
/// known.
fn merged_row(rows: &[OpRow], block: &[usize], is_upstream_exact: bool) -> OpRow {
    let is_known =
        |at: &&usize| is_upstream_exact || duration_doubt(&rows[**at], is_upstream_exact).is_none();
    let known: Vec<usize> = block.iter().filter(is_known).copied().collect();
    let known = if known.is_empty() { block } else { &known };
    let mut lowest = rows[known[0]].clone();
    let is_collective = match is_upstream_exact {
        true => COLLECTIVES.iter().any(|name| lowest.op_code.contains(name)),
        false => OpCategory::waits_for_chips(&lowest.op_code),
    };
    if is_collective {
        let durations: Vec<f64> =
            known.iter().filter_map(|&at| kernel_duration_ns(&rows[at])).collect();
        if !durations.is_empty() {
            let mean = durations.iter().sum::<f64>() / durations.len() as f64;
            lowest.kernel_duration_ns = Some(mean);
            lowest.mean_of_device_count = (known.len() > 1).then_some(known.len() as u64);
        }
        let firmware: Option<Vec<f64>> =
            known.iter().map(|&at| rows[at].firmware_duration_ns).collect();
        lowest.firmware_duration_ns =
            firmware.map(|all| all.iter().sum::<f64>() / all.len() as f64);
        return lowest;
    }
    let mut slowest = known[0];
    for &at in known {
        if kernel_duration_ns(&rows[at]) > kernel_duration_ns(&rows[slowest]) {
            slowest = at;
        }
    }
    rows[slowest].clone()
}

fn kernel_duration_ns(row: &OpRow) -> Option<f64> {
    row.kernel_duration_ns.filter(|&ns| ns >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(device: u64, op_code: &str, duration_ns: f64) -> OpRow {
        OpRow {
            op_code: op_code.into(),
            op_type: "tt_dnn_device".into(),
            device: Some(device),
            kernel_duration_ns: Some(duration_ns),
            ..OpRow::default()
        }
    }

    fn merged(rows: Vec<OpRow>) -> (Vec<(String, u64, f64)>, Vec<String>) {
        let mut notes = Vec::new();
        let rows = merge_devices(rows, false, &mut notes);
        (
            rows.into_iter()
                .map(|row| {
                    let duration_ns = row.kernel_duration_ns.unwrap_or(f64::NAN);
                    (row.op_code.to_string(), row.device.unwrap(), duration_ns)
                })
                .collect(),
            notes,
        )
    }

    #[test]
    fn an_op_of_all_devices_becomes_the_slowest_and_a_collective_the_mean() {
        let rows = vec![
            row(0, "A", 10.0),
            row(1, "A", 30.0),
            row(0, "AllGatherAsync", 10.0),
            row(1, "AllGatherAsync", 20.0),
        ];
        let expected = [("A".to_owned(), 1, 30.0), ("AllGatherAsync".to_owned(), 0, 15.0)];
        assert_eq!(merged(rows).0, expected);
    }

    /// A mesh of two chips, of which each runs a model of its own beside a common op.
    #[test]
    fn ops_of_different_calls_are_not_merged() {
        let of = |device, module: Option<&str>, duration_ns| OpRow {
            others: module.map(|module| (MODULE.into(), module.into())).into_iter().collect(),
            ..row(device, "Clone", duration_ns)
        };
        let rows = vec![
            of(0, Some("Net.a"), 10.0),
            of(1, Some("Net.b"), 20.0),
            of(0, Some("Net.c"), 5.0),
            of(1, Some("Net.c"), 6.0),
            of(0, None, 7.0),
            of(1, None, 8.0),
        ];
        let found: Vec<_> =
            merged(rows.clone()).0.into_iter().map(|(_, device, ns)| (device, ns)).collect();
        assert_eq!(found, [(0, 10.0), (1, 20.0), (1, 6.0), (1, 8.0)]);
        // Both have the op, each from its own call.
        assert_eq!(merged(rows.clone()).1, ["The rows of 2 devices are merged"]);
        let exact = merge_devices(rows, true, &mut Vec::new());
        assert_eq!(exact.len(), 3);
    }

    /// A kernel that takes longer than its firmware cannot be true, so it is not the longest.
    #[test]
    fn a_duration_in_doubt_is_not_the_longest_if_another_is_known() {
        let of = |device, duration_ns, firmware_ns| OpRow {
            firmware_duration_ns: Some(firmware_ns),
            ..row(device, "A", duration_ns)
        };
        let rows = vec![of(0, 20_000.0, 21_000.0), of(1, 9e9, 21_000.0), of(2, 10_000.0, 11_000.0)];
        assert_eq!(merged(rows.clone()).0, [("A".to_owned(), 0, 20_000.0)]);
        // tt-perf-report takes the longest one.
        let exact = merge_devices(rows, true, &mut Vec::new());
        assert_eq!(exact[0].device, Some(1));
        // If all are in doubt, the op is, too.
        assert_eq!(merged(vec![of(0, 9e9, 1.0), of(1, 8e9, 1.0)]).0.len(), 1);
    }

    #[test]
    fn a_duration_in_doubt_is_in_no_mean() {
        let of = |device, duration_ns: f64| OpRow {
            firmware_duration_ns: Some(duration_ns.min(21_000.0)),
            ..row(device, "ReduceScatter", duration_ns)
        };
        let rows = vec![of(0, 9e9), of(1, 20_000.0), of(2, 10_000.0)];
        let merged = merge_devices(rows, false, &mut Vec::new());
        let [row] = &merged[..] else { panic!("{merged:?}") };
        assert_eq!((row.kernel_duration_ns, row.mean_of_device_count), (Some(15_000.0), Some(2)));
        assert_eq!(row.firmware_duration_ns, Some(15_000.0));
        assert_eq!(duration_doubt(row, false), None);
    }

    #[test]
    fn a_mean_says_of_how_many_devices_it_is() {
        let rows = vec![
            row(0, "A", 10.0),
            row(1, "A", 30.0),
            row(0, "AllReduce", 10.0),
            row(1, "AllReduce", 20.0),
            row(0, "AllReduce", 5.0),
        ];
        let merged = merge_devices(rows, false, &mut Vec::new());
        let counts: Vec<_> = merged.iter().map(|row| row.mean_of_device_count).collect();
        assert_eq!(counts, [None, Some(2), None]);
    }

    #[test]
    fn an_op_that_a_device_lacks_is_kept_and_named() {
        let rows = vec![row(0, "A", 1.0), row(0, "B", 2.0), row(1, "B", 3.0)];
        let (rows, notes) = merged(rows);
        assert_eq!(rows, [("A".to_owned(), 0, 1.0), ("B".to_owned(), 1, 3.0)]);
        let missing = "Warning: device 1 has no A where others have one, 1 time";
        assert!(notes.iter().any(|note| note == missing), "{notes:?}");
    }

    #[test]
    fn devices_that_lack_the_same_ops_have_one_warning() {
        let with = (0..2).flat_map(|_| [row(0, "A", 1.0), row(0, "B", 2.0)]);
        let others =
            [1, 2, 3, 7, 9].into_iter().flat_map(|id| [row(id, "B", 3.0), row(id, "B", 3.0)]);
        let (_, notes) = merged(with.chain(others).collect());
        let warnings: Vec<_> = notes.iter().filter(|note| note.starts_with("Warning")).collect();
        let missing = "Warning: devices 1 to 3, 7, 9 have no A where others have one, 2 times";
        assert_eq!(warnings, [missing]);
    }

    #[test]
    fn one_device_is_left_as_it_is() {
        let rows = vec![row(3, "A", 1.0), OpRow::default(), row(3, "A", 2.0)];
        let mut notes = Vec::new();
        assert_eq!(merge_devices(rows.clone(), false, &mut notes), rows);
        assert!(notes.is_empty());
    }

    #[test]
    fn devices_of_files_are_numbered_one_after_the_other() {
        let text = "OP CODE,OP TYPE,DEVICE ID\nA,tt_dnn_device,0\nA,tt_dnn_device,1\n";
        let read = || super::super::read_ops_csv(text.as_bytes(), "a.csv").unwrap();
        let mut notes = Vec::new();
        let rows = join_files(&mut [read(), read()], &mut notes);
        let ids: Vec<_> = rows.iter().map(|row| (row.device.unwrap(), row.id)).collect();
        assert_eq!(ids, [(0, 2), (1, 3), (2, 4), (3, 5)]);
        assert!(notes.is_empty());
    }
}
