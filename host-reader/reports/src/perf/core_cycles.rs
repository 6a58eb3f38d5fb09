//! What a file says of cores and cannot be: times in cycles, though the titles of the columns say nanoseconds,
//! and ops on more cores than there are.

use super::row::{CoreTimes, OpRow};
use crate::problem::ProblemLog;

/// Part by which a core may take longer than its op, because times are rounded.
const ROUNDING: f64 = 0.01;

/// Converts the times of cores from cycles if they are no times in nanoseconds, and leaves out those that
/// are neither: no core takes longer than the kernels of its op.
///
/// # Compatibility
/// Until April 2025, TT-Metal wrote cycles into these columns (#20664), which a chip of 1 GHz does not show.
pub(super) fn correct_core_times(rows: &mut [OpRow], file: &str, problems: &mut ProblemLog) {
    let longer = |row: &OpRow, scale: f64| {
        let times = row.core_times?;
        let op_ns = row.kernel_duration_ns?;
        (times.max_ns / scale > op_ns * (1.0 + ROUNDING) + 1.0).then_some((times.max_ns, op_ns))
    };
    let Some((core_ns, op_ns)) = rows.iter().find_map(|row| longer(row, 1.0)) else { return };
    let with_times = || rows.iter().filter(|row| row.core_times.is_some());
    let are_cycles = with_times()
        .all(|row| row.clock_ghz.is_some_and(|clock_ghz| longer(row, clock_ghz).is_none()));
    let (mut count, mut left_out) = (0_u64, 0_u64);
    for row in rows.iter_mut() {
        let clock_ghz = row.clock_ghz.filter(|_| are_cycles);
        match (&mut row.core_times, clock_ghz) {
            (Some(times), Some(clock_ghz)) => {
                for ns in [&mut times.min_ns, &mut times.mean_ns, &mut times.max_ns] {
                    *ns /= clock_ghz;
                }
                count = count.saturating_add(1);
            }
            (times @ Some(_), None) => {
                *times = None::<CoreTimes>;
                left_out = left_out.saturating_add(1);
            }
            (None, _) => {}
        }
    }
    let effect = match left_out {
        0 => format!("taken as cycles in {count} rows"),
        left_out => format!("left out in {left_out} rows"),
    };
    problems.add_to_file(
        file,
        format!(
            "columns DEVICE KERNEL DURATION PER CORE: expected no core to take longer than its op of \
             {op_ns} ns, found {core_ns}; {effect}"
        ),
    );
}

/// Tells of ops on more cores than were available to them: one of both numbers is wrong, and it is unknown which.
pub(super) fn note_too_many_cores(rows: &[OpRow], file: &str, problems: &mut ProblemLog) {
    let numbers = |row: &OpRow| row.core_count.zip(row.available_cores);
    let found = rows.iter().filter_map(numbers).filter(|(used, available)| used > available);
    let Some((used, available)) = found.clone().next() else { return };
    problems.add_to_file(
        file,
        format!(
            "column CORE COUNT: expected at most the {available} cores of AVAILABLE WORKER CORE COUNT, found \
             {used}, in {} rows; shares of the peak of cores rest on CORE COUNT, and the number of available \
             cores is left out there",
            found.count()
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(op_ns: f64, clock_ghz: Option<f64>, [min_ns, mean_ns, max_ns]: [f64; 3]) -> OpRow {
        OpRow {
            kernel_duration_ns: Some(op_ns),
            clock_ghz,
            core_times: Some(CoreTimes { min_ns, mean_ns, max_ns }),
            ..OpRow::default()
        }
    }

    fn corrected(mut rows: Vec<OpRow>) -> (Vec<Option<f64>>, usize) {
        let mut problems = ProblemLog::default();
        correct_core_times(&mut rows, "ops.csv", &mut problems);
        let longest = rows.iter().map(|row| row.core_times.map(|of| of.max_ns.round()));
        (longest.collect(), problems.kept().len())
    }

    #[test]
    fn times_that_no_core_can_take_are_cycles_or_nothing() {
        let sound = row(250e3, Some(1.35), [75e3, 138e3, 249e3]);
        let other = row(40e3, Some(1.35), [1e3, 2e3, 3e3]);
        assert_eq!(corrected(vec![sound, other]), (vec![Some(249e3), Some(3e3)], 0));
        // 1.35 times as many cycles: the short op's are cycles as well, though they show nothing.
        let cycles = row(250e3, Some(1.35), [101_250.0, 186_300.0, 336_150.0]);
        let short = row(40e3, Some(1.35), [1350.0, 2700.0, 4050.0]);
        assert_eq!(
            corrected(vec![cycles.clone(), short.clone()]),
            (vec![Some(249e3), Some(3e3)], 1)
        );
        // Without a clock, or too long even in cycles.
        let unknown = row(250e3, None, [101_250.0, 186_300.0, 336_150.0]);
        assert_eq!(corrected(vec![unknown, short.clone()]), (vec![None, None], 1));
        let wrong = row(250e3, Some(1.35), [101_250.0, 186_300.0, 900_000.0]);
        assert_eq!(corrected(vec![wrong, short]), (vec![None, None], 1));
    }

    #[test]
    fn more_cores_than_there_are_is_told_once() {
        let row =
            |core_count, available_cores| OpRow { core_count, available_cores, ..OpRow::default() };
        let told = |rows: &[OpRow]| {
            let mut problems = ProblemLog::default();
            note_too_many_cores(rows, "ops.csv", &mut problems);
            problems.kept().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let sound = [row(Some(64), Some(64)), row(None, Some(64)), row(Some(72), None)];
        assert!(told(&sound).is_empty());
        let wrong = [row(Some(64), Some(64)), row(Some(72), Some(64)), row(Some(70), Some(64))];
        let [found] = &told(&wrong)[..] else { panic!("{:?}", told(&wrong)) };
        assert!(
            found.contains("at most the 64 cores") && found.contains("found 72, in 2 rows"),
            "{found}"
        );
    }
}
