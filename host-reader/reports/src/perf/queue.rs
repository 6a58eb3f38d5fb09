//! How long ops had been called before they started, where the host was ahead of the chip.
//!
//! Host and chip count nanoseconds from different origins. No op is sent before its call begins, so the time from the
//! begin of any call to the start of its op bounds the difference of the origins, and with it how long before its
//! start any other op had been called.
//!
//! An op that had been called does not show that the host was ahead: it takes time to send one. Several that
//! had been called and wait do.

use super::row::OpRow;
use std::collections::BTreeMap;

/// Part by which the clocks of host and chip may differ. In public files it is up to 1.5 %.
const CLOCK_TOLERANCE: f64 = 0.02;

/// Number of ops that had been called and had not started, from which on the host is ahead. In public files of
/// hosts that call each op just before it runs, it is up to 6.
const AHEAD: usize = 8;

/// An op with its times in ns, each since that of the first op of its device.
struct Queued {
    /// Index of the row.
    at: usize,
    start_ns: f64,
    call_ns: f64,
    called_ns: f64,
}

impl Queued {
    /// Returns the time from the begin of the call to the start, on clocks without a common origin. The op was not
    /// sent before its call began.
    fn since_call_ns(&self) -> f64 {
        self.start_ns - self.call_ns
    }
}

/// Sets how long each op had been called before its start, at least, where the host's call and the chip's cycles are
/// known and the host was ahead; 0 where it was not known to be. Replays of a trace are not called one by one.
pub(super) fn fill_queued(rows: &mut [OpRow]) {
    for mut ops in by_device(rows).into_values() {
        ops.sort_by(|one, other| one.start_ns.total_cmp(&other.start_ns));
        let origins = origins_ns(&ops);
        // How long the call of `other` had been over when the op at `at` started.
        let over_ns = |at: usize, other: &Queued| {
            let known = ops.get(at).zip(origins.get(at));
            known.map_or(0.0, |(op, origin_ns)| op.start_ns - other.called_ns + origin_ns)
        };
        let waiting = |at: usize| {
            let later = ops.iter().skip(at.saturating_add(1)).take(AHEAD);
            later.take_while(|other| over_ns(at, other) > 0.0).count()
        };
        let waiting: Vec<usize> = (0..ops.len()).map(waiting).collect();
        // The queue fills from its first op on, and no op waits behind the last one.
        for queue in ops
            .iter()
            .zip(&waiting)
            .enumerate()
            .collect::<Vec<_>>()
            .chunk_by(|(_, (_, waiting)), _| **waiting > 0)
        {
            let is_ahead = queue.iter().any(|(_, (_, waiting))| **waiting >= AHEAD);
            for (at, (op, _)) in queue {
                let queued_ns = if is_ahead { over_ns(*at, op).max(0.0) } else { 0.0 };
                if let Some(row) = rows.get_mut(op.at) {
                    row.sending.queued_ns = Some(queued_ns);
                }
            }
        }
    }
}

/// Returns, for each op in the order of starts, by how much the origin of the host's times is after that of the
/// chip's, at least: the largest bound of any op, each less what the clocks may differ until then.
fn origins_ns(ops: &[Queued]) -> Vec<f64> {
    let sweep = |ops: &mut dyn Iterator<Item = &Queued>| {
        let mut known: Option<(f64, f64)> = None;
        let bounds = ops.map(|op| {
            let own = -op.since_call_ns();
            let before =
                known.map_or(own, |(ns, at_ns)| ns - (op.start_ns - at_ns).abs() * CLOCK_TOLERANCE);
            let bound = own.max(before);
            known = Some((bound, op.start_ns));
            bound
        });
        bounds.collect::<Vec<f64>>()
    };
    let earlier = sweep(&mut ops.iter());
    let mut later = sweep(&mut ops.iter().rev());
    later.reverse();
    earlier.into_iter().zip(later).map(|(one, other)| one.max(other)).collect()
}

/// Returns the ops of each file and device whose call and start are known.
fn by_device(rows: &[OpRow]) -> BTreeMap<(usize, Option<u64>), Vec<Queued>> {
    let is_wanted =
        |row: &&OpRow| row.is_device_op() && !row.is_captured() && row.trace_session.is_none();
    // The clock of a long op is the most exact: durations are rounded to nanoseconds.
    let mut clocks: BTreeMap<_, (f64, f64)> = BTreeMap::new();
    for row in rows.iter().filter(is_wanted) {
        let Some(ghz) = row.clock_ghz.filter(|ghz| *ghz > 0.0) else { continue };
        let length_ns = row.firmware_duration_ns.or(row.kernel_duration_ns).unwrap_or(0.0);
        let known = clocks.entry((row.file, row.device)).or_insert((length_ns, ghz));
        if length_ns > known.0 {
            *known = (length_ns, ghz);
        }
    }
    let mut devices: BTreeMap<_, Vec<Queued>> = BTreeMap::new();
    let mut origins: BTreeMap<_, (f64, u64)> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| is_wanted(row)) {
        let key = (row.file, row.device);
        let start = row.firmware_start_cycle.or(row.kernel_cycles.map(|(start, _)| start));
        let called = row.host_start_ns.zip(row.host_duration_ns.filter(|ns| *ns >= 0.0));
        let known = start.zip(called).zip(clocks.get(&key));
        let Some(((cycle, (host_start_ns, host_ns)), (_, ghz))) = known else { continue };
        let (host_origin_ns, first_cycle) = *origins.entry(key).or_insert((host_start_ns, cycle));
        // Differences of large numbers are exact; their conversion is not.
        let cycles = cycle.abs_diff(first_cycle) as f64;
        let cycles = if cycle < first_cycle { -cycles } else { cycles };
        let call_ns = host_start_ns - host_origin_ns;
        devices.entry(key).or_default().push(Queued {
            at,
            start_ns: cycles / ghz,
            call_ns,
            called_ns: call_ns + host_ns,
        });
    }
    devices
}

#[cfg(test)]
mod tests {
    use crate::perf::{PerfOptions, PerfReport, read_ops_csv};

    /// Ops of 17 us on a chip of 1 GHz, with the starts of their calls and of their firmware in ns; each call takes
    /// 500 ns.
    fn queued(ops: &[(u64, u64)]) -> Vec<Option<f64>> {
        let titles = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,HOST START TS,HOST DURATION [ns],\
            DEVICE FW START CYCLE,DEVICE FW END CYCLE,DEVICE FW DURATION [ns],DEVICE KERNEL DURATION [ns]\n";
        let rows = ops.iter().enumerate().map(|(call, (called, start))| {
            let end = start + 17_000;
            format!("Add,tt_dnn_device,{call},0,{called},500,{start},{end},17000,16000\n")
        });
        let text = titles.to_owned() + &rows.collect::<String>();
        let csv = read_ops_csv(text.as_bytes(), "ops").unwrap();
        let report = PerfReport::new(vec![csv], &PerfOptions::default()).unwrap();
        report.rows.iter().map(|row| row.sending.queued_ns).collect()
    }

    /// By hand: calls come every 10 us and ops start every 20 us, the first of them 1.5 us after its call began. As op
    /// 16 starts, after 320 us, calls of 8 more had ended.
    #[test]
    fn ops_of_a_host_that_is_ahead_have_been_called_ever_longer() {
        let origin = 5_000_000_000_000;
        let ops = |count: u64| -> Vec<(u64, u64)> {
            (0..count).map(|op| (7_000 + 10_000 * op, origin + 8_500 + 20_000 * op)).collect()
        };
        let found = queued(&ops(40));
        for (op, found) in found.iter().enumerate() {
            // The call of the first op may have sent it at its begin, and that of another at its end, 500 ns
            // later; 2 % of the time since the first op may be an error of the clocks.
            let op = op as f64;
            let expected = op * (10_000.0 - 400.0) - 500.0;
            // As the second op starts, the third is just being called.
            let expected = if op < 2.0 { 0.0 } else { expected };
            assert!((found.unwrap() - expected).abs() < 1e-3, "op {op}: {found:?} for {expected}");
        }
        // Of fewer ops, never 8 wait: it is not known that the host is ahead.
        assert_eq!(queued(&ops(12)), [Some(0.0); 12]);
    }

    /// An op that starts late after its call, while the host has called no other, may still be on its way.
    #[test]
    fn an_op_that_starts_late_alone_does_not_show_that_the_host_is_ahead() {
        let mut ops: Vec<_> = (0..20).map(|op| (50_000 * op, 1_000_000 + 50_000 * op)).collect();
        ops[1].1 += 20_000;
        assert_eq!(queued(&ops), [Some(0.0); 20]);
    }

    /// The clock of the chip is 1.5 % slower than its file says: starts seem to come ever later after the calls.
    #[test]
    fn clocks_that_differ_do_not_make_a_host_seem_ahead() {
        let ops: Vec<_> = (0..400).map(|op| (50_000 * op, 1_000_000 + 50_750 * op)).collect();
        assert_eq!(queued(&ops), [Some(0.0); 400]);
    }
}
