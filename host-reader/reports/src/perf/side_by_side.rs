//! Ops that ran at the same time, as the cycles of a file prove.

use super::{op::duration_doubt, row::OpRow};
use std::collections::BTreeMap;

/// Ops of a device that ran at the same time, such as those of several sub-devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct SideBySide {
    /// Device number.
    pub device: u64,
    /// Number of ops that ran at the same time as another.
    pub op_count: u64,
    /// Number of all ops of the device.
    pub of_count: u64,
    /// Sum of the times of all ops of the device.
    pub op_time_us: f64,
    /// Time in which at least one op ran: where ops ran at the same time, from the first start to the last end.
    pub busy_us: f64,
    /// Time from the first start to the last end of the device's ops, with the gaps between them.
    pub elapsed_us: f64,
}

/// Returns what each device's cycles say about ops at the same time. A device of which the cycles or
/// the time of any op are unknown or in doubt is left out.
pub(super) fn side_by_side(rows: &[OpRow]) -> Vec<SideBySide> {
    let mut devices: BTreeMap<u64, Vec<&OpRow>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.is_device_op() && !row.is_captured()) {
        devices.entry(row.device.unwrap_or_default()).or_default().push(row);
    }
    devices.into_iter().filter_map(|(device, rows)| of_device(device, &rows)).collect()
}

/// An op with its first and last cycle and the time of its kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OpSpan {
    pub(crate) start_cycle: u64,
    pub(crate) end_cycle: u64,
    pub(crate) kernel_ns: f64,
}

fn of_device(device: u64, rows: &[&OpRow]) -> Option<SideBySide> {
    let clock_ghz = rows.iter().find_map(|row| row.clock_ghz)?;
    let has_kernels = rows.iter().all(|row| row.kernel_cycles.is_some());
    let spans = rows.iter().map(|row| {
        if duration_doubt(row, false).is_some() {
            return None;
        }
        let firmware = row.firmware_start_cycle.zip(row.firmware_end_cycle);
        let (start_cycle, end_cycle) = if has_kernels { row.kernel_cycles } else { firmware }?;
        let kernel_ns = row.kernel_duration_ns.filter(|ns| *ns >= 0.0)?;
        (start_cycle <= end_cycle).then_some(OpSpan { start_cycle, end_cycle, kernel_ns })
    });
    SideBySide::of_spans(device, spans.collect::<Option<Vec<OpSpan>>>()?, clock_ghz)
}

impl SideBySide {
    /// Returns what the spans of all ops of a device say; `None` if there are none.
    pub(crate) fn of_spans(device: u64, mut spans: Vec<OpSpan>, clock_ghz: f64) -> Option<Self> {
        spans.sort_by_key(|span| (span.start_cycle, span.end_cycle));
        let first = spans.first()?.start_cycle;
        let last = spans.iter().map(|span| span.end_cycle).max()?;
        let ns = |start: u64, end: u64| end.abs_diff(start) as f64 / clock_ghz;
        let (mut op_count, mut busy_ns) = (0_u64, 0.0);
        let mut rest = spans.as_slice();
        while let Some(one) = rest.first() {
            let (mut end, mut count) = (one.end_cycle, 1_usize);
            while let Some(span) = rest.get(count).filter(|span| span.start_cycle < end) {
                end = end.max(span.end_cycle);
                count = count.saturating_add(1);
            }
            let (group, others) = rest.split_at_checked(count)?;
            // Firmware overlaps between ops that follow one another. Kernels that take longer than the
            // firmware around all of them overlap. Times are rounded to nanoseconds.
            let kernels_ns: f64 = group.iter().map(|span| span.kernel_ns).sum();
            busy_ns += kernels_ns.min(ns(one.start_cycle, end));
            if kernels_ns > ns(one.start_cycle, end) + count as f64 {
                op_count = op_count.saturating_add(count as u64);
            }
            rest = others;
        }
        Some(Self {
            device,
            op_count,
            of_count: spans.len() as u64,
            op_time_us: spans.iter().map(|span| span.kernel_ns).sum::<f64>() / 1000.0,
            busy_us: busy_ns / 1000.0,
            elapsed_us: ns(first, last) / 1000.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An op of these firmware cycles at 2 GHz, with kernels that leave out 100 ns of firmware.
    fn op(start: u64, end: u64) -> OpRow {
        let firmware_ns = (end - start) as f64 / 2.0;
        OpRow {
            op_type: "tt_dnn_device".into(),
            device: Some(0),
            firmware_start_cycle: Some(start),
            firmware_end_cycle: Some(end),
            clock_ghz: Some(2.0),
            kernel_duration_ns: Some(firmware_ns - 100.0),
            ..OpRow::default()
        }
    }

    #[test]
    fn ops_whose_kernels_do_not_fit_one_after_the_other_ran_at_the_same_time() {
        // 4,000 ns beside 3,000 ns, then 1,000 ns alone.
        let rows = [op(10_000, 18_000), op(11_000, 17_000), op(20_000, 22_000)];
        let expected = SideBySide {
            device: 0,
            op_count: 2,
            of_count: 3,
            op_time_us: 3.9 + 2.9 + 0.9,
            busy_us: 4.0 + 0.9,
            elapsed_us: 6.0,
        };
        let [found] = side_by_side(&rows)[..] else { panic!("one device") };
        assert!((found.op_time_us - expected.op_time_us).abs() < 1e-9, "{found:?}");
        assert!((found.busy_us - expected.busy_us).abs() < 1e-9, "{found:?}");
        let SideBySide { op_time_us, busy_us, .. } = expected;
        assert_eq!(SideBySide { op_time_us, busy_us, ..found }, expected);
        // Their firmware overlaps by 100 ns, in which kernels need not have run.
        let [after] = side_by_side(&[op(0, 2_000), op(1_800, 4_000)])[..] else { panic!() };
        assert_eq!((after.op_count, after.elapsed_us), (0, 2.0));
    }

    #[test]
    fn an_op_without_cycles_leaves_its_device_unknown() {
        let without = OpRow { firmware_end_cycle: None, ..op(0, 9_000) };
        assert_eq!(
            side_by_side(&[op(0, 8_000), without, OpRow { device: Some(1), ..op(0, 8_000) }])
                .iter()
                .map(|of| of.device)
                .collect::<Vec<_>>(),
            [1]
        );
    }
}
