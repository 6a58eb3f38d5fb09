//! Ops that cannot have run when their cycles say: at that time their device ran others, which left
//! too few cores for them.

use super::row::OpRow;
use std::collections::BTreeMap;

/// Most ops after the start of an op that are compared with it.
const MOST_COMPARED: usize = 1000;

/// Time in ns that an op must have begun before another one ended. On real chips, firmware and kernels of
/// ops that follow one another overlap by up to 76 us, on more cores than there are
/// (`bh_p100_dlv3.csv` of tt-perf-report).
const LEAST_OVERLAP_NS: f64 = 1e6;

/// Time in ns by which two kernels must be longer than the time in which both ran: times are rounded.
const ROUNDING_NS: f64 = 2.0;

/// Two ops whose cycles overlap, and that cannot have run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    /// Row of the other op.
    pub beside_row_id: u64,
    /// Number of cores of both ops, and of their device; `None` if a device runs ops like them one after
    /// the other, whatever their cores.
    pub core_counts: Option<(u64, u64)>,
}

/// An op with the cycles of its kernels or, if these are unknown, of its firmware.
struct Span {
    /// Index of the row.
    at: usize,
    start: u64,
    end: u64,
    /// Time of the kernels; `None` if unknown: they may have run from the first to the last cycle.
    kernel_ns: Option<f64>,
}

/// Marks the ops of each device that had no room beside others.
///
/// A start that belongs to an earlier launch lets an op run around others, so the outer one of two
/// ops is the wrong one. If neither is around the other, both are in doubt. Ops of different
/// sub-devices, and ops that fit beside one another, may overlap.
pub(super) fn mark_ops_without_room(rows: &mut [OpRow]) {
    let mut devices: BTreeMap<(usize, u64), Vec<Span>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.is_device_op()) {
        let firmware = row.firmware_start_cycle.zip(row.firmware_end_cycle);
        let cycles = row.kernel_cycles.or(firmware).filter(|(start, end)| start <= end);
        if let (Some((start, end)), Some(device)) = (cycles, row.device) {
            let kernel_ns = row.kernel_duration_ns.filter(|ns| *ns >= 0.0);
            devices.entry((row.file, device)).or_default().push(Span { at, start, end, kernel_ns });
        }
    }
    for mut spans in devices.into_values() {
        let clock_ghz = spans.iter().find_map(|span| rows.get(span.at)?.clock_ghz);
        let Some(clock_ghz) = clock_ghz else { continue };
        spans.sort_by_key(|span| (span.start, span.end));
        for (first, outer) in spans.iter().enumerate() {
            let later = spans.get(first.saturating_add(1)..).unwrap_or_default();
            let within = later.iter().take(MOST_COMPARED);
            for inner in within.take_while(|inner| inner.start < outer.end) {
                let ns = |start: u64, end: u64| end.abs_diff(start) as f64 / clock_ghz;
                let kernel_ns = |of: &Span| of.kernel_ns.unwrap_or_else(|| ns(of.start, of.end));
                let both_ns = ns(outer.start, outer.end.max(inner.end));
                if ns(inner.start, outer.end) <= LEAST_OVERLAP_NS
                    || kernel_ns(outer) + kernel_ns(inner) <= both_ns + ROUNDING_NS
                {
                    continue;
                }
                let is_around = inner.end <= outer.end;
                mark(rows, outer.at, inner.at);
                if !is_around {
                    mark(rows, inner.at, outer.at);
                }
            }
        }
    }
}

/// Marks the row `at` if it has no room beside the row `other`.
fn mark(rows: &mut [OpRow], at: usize, other: usize) {
    let no_room = rows.get(at).zip(rows.get(other)).and_then(|(own, other)| no_room(own, other));
    if let Some(row) = rows.get_mut(at).filter(|row| row.no_room.is_none()) {
        row.no_room = no_room;
    }
}

fn no_room(own: &OpRow, other: &OpRow) -> Option<NoRoom> {
    let beside_row_id = other.id;
    // Programs share a device only as sub-devices of it.
    if own.has_whole_device && other.has_whole_device {
        return Some(NoRoom { beside_row_id, core_counts: None });
    }
    let is_same_sub_device = match (&own.sub_device, &other.sub_device) {
        (Some(own), Some(other)) => own == other,
        // Sub-devices have different numbers of cores, unless they halve the device.
        _ => own.available_cores == other.available_cores,
    };
    let core_count = own.core_count?.checked_add(other.core_count?)?;
    let available = own.available_cores?;
    let core_counts = Some((core_count, available));
    (is_same_sub_device && core_count > available).then_some(NoRoom { beside_row_id, core_counts })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An op on so many of 110 cores at 1 GHz, whose kernels take 10 ns less than its firmware.
    fn op(id: u64, cores: u64, start: u64, end: u64) -> OpRow {
        OpRow {
            id,
            op_type: "tt_dnn_device".into(),
            device: Some(0),
            core_count: Some(cores),
            available_cores: Some(110),
            firmware_start_cycle: Some(start),
            firmware_end_cycle: Some(end),
            clock_ghz: Some(1.0),
            kernel_duration_ns: Some((end - start) as f64 - 10.0),
            ..OpRow::default()
        }
    }

    fn doubted(mut rows: Vec<OpRow>) -> Vec<u64> {
        mark_ops_without_room(&mut rows);
        rows.iter().filter(|row| row.no_room.is_some()).map(|row| row.id).collect()
    }

    #[test]
    fn an_op_around_others_that_leave_it_no_cores_is_in_doubt_and_they_are_not() {
        let rows =
            vec![op(1, 64, 0, 9_000_000), op(2, 80, 100_000, 120_000), op(3, 8, 130_000, 140_000)];
        assert_eq!(doubted(rows.clone()), [1]);
        let mut marked = rows;
        mark_ops_without_room(&mut marked);
        let expected = NoRoom { beside_row_id: 2, core_counts: Some((144, 110)) };
        assert_eq!(marked[0].no_room, Some(expected));
    }

    #[test]
    fn two_ops_with_stale_starts_are_both_in_doubt() {
        assert_eq!(doubted(vec![op(1, 80, 0, 9_000_000), op(2, 32, 1_000, 9_050_000)]), [1, 2]);
    }

    #[test]
    fn ops_that_fit_beside_one_another_are_believed() {
        assert_eq!(doubted(vec![op(1, 80, 0, 9_000_000), op(2, 30, 1_000, 8_000_000)]), [0_u64; 0]);
        let of = |row: OpRow, name: &str| OpRow { sub_device: Some(name.into()), ..row };
        let [one, other] = [op(1, 80, 0, 9_000_000), op(2, 80, 1_000, 8_000_000)];
        assert_eq!(doubted(vec![of(one.clone(), "0"), of(other.clone(), "1")]), [0_u64; 0]);
        assert_eq!(doubted(vec![of(one.clone(), "0"), of(other.clone(), "0")]), [1]);
        // Other chips, and sub-devices without names.
        assert_eq!(
            doubted(vec![one.clone(), OpRow { device: Some(1), ..other.clone() }]),
            [0_u64; 0]
        );
        assert_eq!(doubted(vec![one, OpRow { available_cores: Some(12), ..other }]), [0_u64; 0]);
    }

    /// The column of sub-devices is there, and blank.
    #[test]
    fn ops_that_have_the_whole_device_run_one_after_the_other() {
        let of = |row: OpRow| OpRow { has_whole_device: true, ..row };
        let [stale, inner] = [op(1, 2, 0, 9_000_000), op(2, 2, 100_000, 120_000)];
        assert_eq!(doubted(vec![of(stale.clone()), of(inner.clone())]), [1]);
        // Another op is of a sub-device, which may leave room.
        assert_eq!(
            doubted(vec![of(stale), OpRow { sub_device: Some("1".into()), ..inner }]),
            [0_u64; 0]
        );
    }

    #[test]
    fn ops_that_overlap_for_less_than_a_gap_that_is_checked_are_believed() {
        let rows = vec![op(1, 110, 0, 3_000_000), op(2, 110, 2_500_000, 6_000_000)];
        assert_eq!(doubted(rows), [0_u64; 0]);
        assert_eq!(
            doubted(vec![op(1, 110, 0, 3_000_000), op(2, 110, 1_500_000, 6_000_000)]),
            [1, 2]
        );
    }

    #[test]
    fn a_stale_start_without_a_duration_is_in_doubt_too() {
        let unknown = |row: OpRow| OpRow { kernel_duration_ns: None, ..row };
        let rows = vec![unknown(op(1, 64, 0, 9_000_000)), op(2, 80, 100_000, 120_000)];
        assert_eq!(doubted(rows), [1]);
    }

    #[test]
    fn firmware_that_overlaps_at_the_edges_is_usual() {
        let mut rows = vec![op(1, 110, 0, 20_000), op(2, 110, 15_000, 40_000)];
        rows[0].kernel_duration_ns = Some(14_000.0);
        assert_eq!(doubted(rows), [0_u64; 0]);
    }
}
