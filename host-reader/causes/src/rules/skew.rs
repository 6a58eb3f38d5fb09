//! Rules about chips that run the same ops in parallel, based on rows of an ops CSV.

use super::{chips::COMPARE_CHIPS, duration, groups::row_ns};
use crate::{
    finding::{Basis, Cause, Finding, GainOf, Place, percent},
    threshold::{CHIP, CHIP_LAUNCHES, SKEW},
};
use recording::problem::counted;
use reports::perf::{OpCategory, OpReport, RowKind};
use std::collections::BTreeMap;

/// Rows of one op that runs on all chips, one row per chip.
struct Round<'a> {
    rows: Vec<&'a OpReport>,
}

impl<'a> Round<'a> {
    fn is_collective(&self) -> bool {
        self.rows.first().is_some_and(|row| row.category == Some(OpCategory::Ccl))
    }

    /// Returns the row that took longest, with its length divided by the mean length of the other
    /// rows.
    fn slowest(&self) -> Option<(&'a OpReport, f64)> {
        let times = self.rows.iter().map(|row| (row.device_time_us.unwrap_or(0.0), *row));
        let (most_us, most) = times.clone().max_by(|(one, _), (other, _)| one.total_cmp(other))?;
        let others = times.map(|(us, _)| us).sum::<f64>() - most_us;
        let mean = others / self.rows.len().checked_sub(1)? as f64;
        (mean > 0.0).then(|| (most, most_us / mean))
    }
}

/// Matches the ops of all chips by their position in each chip's sequence. Returns no rounds if the
/// chips run different ops, or if a row has no device number.
fn rounds(rows: &[OpReport]) -> Vec<Round<'_>> {
    let mut chips: BTreeMap<u64, Vec<&OpReport>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.kind == RowKind::Device) {
        let Some(device) = row.device else { return Vec::new() };
        chips.entry(device).or_default().push(row);
    }
    let mut chips = chips.into_values();
    let Some(first) = chips.next() else { return Vec::new() };
    let mut rounds: Vec<_> = first.into_iter().map(|row| Round { rows: vec![row] }).collect();
    for own in chips {
        let is_same = own.len() == rounds.len()
            && own.iter().zip(&rounds).all(|(row, round)| {
                let first = round.rows.first();
                first.is_some_and(|of| of.raw_op_code == row.raw_op_code && of.source == row.source)
            });
        if !is_same {
            return Vec::new();
        }
        rounds.iter_mut().zip(own).for_each(|(round, row)| round.rows.push(row));
    }
    rounds.retain(|round| round.rows.len() > 1);
    rounds
}

/// Finds chips that repeatedly take longer than the others for ops with one op code.
///
/// Collectives are left out. All chips leave a collective together, so a chip that takes longer in
/// it has arrived early.
pub(crate) fn slow_chips(rows: &[OpReport]) -> Vec<Finding> {
    let mut by_op: BTreeMap<&str, Vec<(&OpReport, f64)>> = BTreeMap::new();
    let rounds = rounds(rows);
    let computing = rounds.iter().filter_map(Round::slowest);
    for slowest in computing.filter(|(row, _)| row.category != Some(OpCategory::Ccl)) {
        by_op.entry(&slowest.0.raw_op_code).or_default().push(slowest);
    }
    by_op.into_values().filter_map(|launches| slow_chip(&launches)).collect()
}

fn slow_chip(launches: &[(&OpReport, f64)]) -> Option<Finding> {
    let mut by_chip: BTreeMap<Option<u64>, Vec<(&OpReport, f64)>> = BTreeMap::new();
    for (row, ratio) in launches.iter().filter(|(_, ratio)| *ratio >= CHIP.value) {
        by_chip.entry(row.device).or_default().push((row, *ratio));
    }
    let (device, mut slow) = by_chip.into_iter().max_by_key(|(_, of)| of.len())?;
    let count = slow.len() as f64;
    if count < CHIP_LAUNCHES.value || slow.len().saturating_mul(2) < launches.len() {
        return None;
    }
    slow.sort_by(|(one, _), (other, _)| row_ns(other).total_cmp(&row_ns(one)));
    let (longest, _) = slow.first()?;
    let whole_ns: f64 = slow.iter().map(|(row, _)| row_ns(row)).sum();
    let gain_ns: f64 = slow.iter().map(|(row, ratio)| row_ns(row) * (1.0 - 1.0 / ratio)).sum();
    let more = slow.iter().map(|(_, ratio)| ratio - 1.0).sum::<f64>() / count;
    let chip_id = device.and_then(|device| u32::try_from(device).ok());
    let sentence = format!(
        "Chip {} takes {:.0} % longer than the others in {} of {} {} ({}, {:.0} % of it more than theirs)",
        device?,
        more * 100.0,
        slow.len(),
        launches.len(),
        longest.raw_op_code,
        duration(whole_ns),
        percent(gain_ns, whole_ns),
    );
    let place = Place { chip_id, ..Place::from_row(longest) };
    let rows = slow.iter().take(3).map(|(row, _)| row.id).collect();
    let figure = (CHIP, more + 1.0);
    let finding = Finding::new(
        Cause::SlowChip,
        figure,
        sentence,
        place,
        COMPARE_CHIPS,
        Basis::ops(slow.len(), launches.len()),
    );
    Some(Finding { rows, ..finding.with_gain(gain_ns, (whole_ns, GainOf::Ops)) })
}

/// Reports chips that wait in collectives for the chip that arrives last.
///
/// All chips leave a collective together, so the shortest row of a round belongs to the chip that
/// arrived last. The extra time of the other chips is waiting.
pub(crate) fn collective_skew(rows: &[OpReport]) -> Option<Finding> {
    let rounds = rounds(rows);
    let arrivals: Vec<Arrivals<'_>> = rounds.iter().filter_map(Arrivals::from_round).collect();
    let wait_ns: f64 = arrivals.iter().map(|of| of.wait_ns).sum();
    let whole_ns: f64 = arrivals.iter().map(|of| of.whole_ns).sum();
    let time_percent = percent(wait_ns, whole_ns);
    if time_percent < SKEW.value {
        return None;
    }
    let mut last: BTreeMap<Option<u64>, usize> = BTreeMap::new();
    for of in &arrivals {
        let count = last.entry(of.last.device).or_default();
        *count = count.saturating_add(1);
    }
    let (device, count) = last.into_iter().max_by_key(|(_, count)| *count)?;
    let is_often = count.saturating_mul(2) > arrivals.len();
    let whose = match device.filter(|_| is_often) {
        Some(device) => format!("chip {device} in {count} of {}", arrivals.len()),
        None => "a different chip each time".to_owned(),
    };
    let ops = counted(arrivals.len() as u64, "op", "ops");
    let sentence = format!(
        "Chips wait {time_percent:.0} % of the time of collectives ({ops}, {} per chip) for the last \
         chip: {whose}",
        duration(whole_ns),
    );
    let mut longest: Vec<_> = arrivals.iter().map(|of| of.first).collect();
    longest.sort_by(|one, other| row_ns(other).total_cmp(&row_ns(one)));
    let row = longest.first()?;
    let place = Place {
        chip_id: device.filter(|_| is_often).and_then(|device| u32::try_from(device).ok()),
        ..Place::from_row(row)
    };
    let advice = "give each chip the same work before its collectives, and send ops to all chips from \
                  one trace";
    let rows = longest.iter().take(3).map(|row| row.id).collect();
    let collective_count = rounds.iter().filter(|round| round.is_collective()).count();
    let finding = Finding::new(
        Cause::CollectiveSkew,
        (SKEW, time_percent),
        sentence,
        place,
        advice,
        Basis { count: arrivals.len() as u64, of: collective_count as u64, what: "collectives" },
    );
    Some(Finding { rows, ..finding.with_gain(wait_ns, (whole_ns, GainOf::Ops)) })
}

/// One collective on all chips: the rows of the first and the last chip to arrive, and times in
/// nanoseconds. The times are means over the chips.
struct Arrivals<'a> {
    /// Row of the chip that arrived first: the longest row.
    first: &'a OpReport,
    /// Row of the chip that arrived last: the shortest row.
    last: &'a OpReport,
    /// Time that chips waited for the last chip.
    wait_ns: f64,
    whole_ns: f64,
}

impl<'a> Arrivals<'a> {
    /// Computes the arrivals of the chips from a round's rows; `None` if the op is not a
    /// collective, or if its length is unknown on any chip.
    fn from_round(round: &Round<'a>) -> Option<Self> {
        let timed: Option<Vec<(&OpReport, f64)>> =
            round.rows.iter().map(|row| Some((*row, row.device_time_us? * 1000.0))).collect();
        let timed = timed.filter(|_| round.is_collective())?;
        let by_time =
            |one: &&(&OpReport, f64), other: &&(&OpReport, f64)| one.1.total_cmp(&other.1);
        let (first, _) = timed.iter().max_by(by_time)?;
        let (last, least) = timed.iter().min_by(by_time)?;
        let whole_ns = timed.iter().map(|(_, ns)| ns).sum::<f64>() / timed.len() as f64;
        Some(Self { first, last, wait_ns: whole_ns - least, whole_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reports::perf::{PerfReport, read_ops_csv};

    /// Builds rows of ops that run in parallel on several chips, from the times of each op in ns on
    /// each chip.
    fn rows(ops: &[(&str, &[u32])]) -> Vec<OpReport> {
        let mut text =
            "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]\n"
                .to_owned();
        for (op, times) in ops {
            for (chip, time) in times.iter().enumerate() {
                text += &format!("{op},tt_dnn_device,{chip},{time},0\n");
            }
        }
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let options = crate::Explanation::report_options();
        PerfReport::new(vec![csv], &options).unwrap().rows
    }

    fn found(ops: &[(&str, &[u32])]) -> Vec<Finding> {
        slow_chips(&rows(ops))
    }

    #[test]
    fn chips_that_wait_in_collectives_for_the_last_one_are_told() {
        let gather: (&str, &[u32]) = ("AllGatherAsync", &[50_001, 20_000, 49_999]);
        let matmul: (&str, &[u32]) = ("Matmul", &[10_000, 40_000, 10_000]);
        let finding = collective_skew(&rows(&[matmul, gather, matmul, gather])).unwrap();
        // In each op, two of three chips wait 30 us. The mean over the chips is 20 us of 40 us.
        assert_eq!(
            finding.sentence,
            "Chips wait 50 % of the time of collectives (2 ops, 80 us per chip) for the last \
             chip: chip 1 in 2 of 2"
        );
        assert!((finding.gain_at_most_ns.unwrap() - 40_000.0).abs() < 1e-6);
        assert_eq!((finding.place.chip_id, finding.place.row), (Some(1), Some(5)));
        let turns: (&str, &[u32]) = ("AllGatherAsync", &[20_000, 50_000, 50_000]);
        let finding = collective_skew(&rows(&[gather, turns])).unwrap();
        assert!(finding.sentence.ends_with("a different chip each time"), "{}", finding.sentence);
        assert_eq!(finding.place.chip_id, None);
        // 10 us of 60 us on two of three chips: 12.5 % of the mean of 53 us.
        assert_eq!(collective_skew(&rows(&[("AllGatherAsync", &[60_000, 50_000, 50_000])])), None);
        assert_eq!(collective_skew(&rows(&[matmul, matmul])), None, "no collectives");
        assert_eq!(collective_skew(&rows(&[("AllGatherAsync", &[50_000])])), None, "one chip");
    }

    #[test]
    fn a_chip_that_is_slow_again_and_again_is_told_with_what_it_takes_more() {
        let slow: (&str, &[u32]) = ("Matmul", &[10_000, 15_000, 10_000]);
        let even: (&str, &[u32]) = ("Softmax", &[9_000, 9_000, 9_000]);
        let [finding] = &found(&[slow, even, slow, even, slow])[..] else { panic!() };
        assert_eq!(
            finding.sentence,
            "Chip 1 takes 50 % longer than the others in 3 of 3 Matmul (45 us, 33 % of it more than \
             theirs)"
        );
        assert_eq!((finding.place.chip_id, &*finding.rows), (Some(1), &[3, 9, 15][..]));
        assert!((finding.gain_at_most_ns.unwrap() - 15_000.0).abs() < 1e-6);
        assert_eq!(found(&[slow, slow]), [], "by chance");
        assert_eq!(found(&[slow, slow, slow, even, ("Matmul", &[10_000; 2])]), [], "other ops");
    }

    #[test]
    fn chips_that_come_early_to_a_collective_are_not_slow() {
        let late: (&str, &[u32]) = ("AllGatherAsync", &[50_000, 10_000]);
        assert_eq!(found(&[late; 5]), []);
        let turns: [(&str, &[u32]); 2] = [("Matmul", &[15, 10]), ("Matmul", &[10, 15])];
        assert_eq!(found(&[turns[0], turns[1], turns[0], turns[1], turns[0]]).len(), 1);
        assert_eq!(found(&[turns[0], turns[1], turns[0], turns[1]]), [], "two launches each");
    }
}
