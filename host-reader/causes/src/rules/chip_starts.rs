//! How far apart chips start the same op, or why this is unknown.

use super::duration;
use crate::{
    finding::Untold,
    middle::median,
    parallel::{ChipOp, Round, rounds},
};
use recording::problem::counted;
use std::collections::BTreeMap;

/// Returns a sentence about the starts of the ops that several chips run, or the question that stays
/// open without clocks that are related. Both are `None` if no op ran on several chips.
///
/// `clock_error_ns` is the error of starts on a clock that all chips share; `None` if there is no such
/// clock.
pub(crate) fn chip_starts(
    ops: &[ChipOp<'_>],
    clock_error_ns: Option<f64>,
) -> (Option<String>, Option<Untold>) {
    let rounds = rounds(ops);
    if rounds.is_empty() {
        return (None, None);
    }
    let known = clock_error_ns.and_then(|error_ns| sentence(&rounds, error_ns));
    let is_of_rows = ops.iter().all(|op| op.launch.is_none());
    let unknown = known.is_none().then(|| untold(is_of_rows));
    (known, unknown)
}

/// Returns the sentence about starts on a clock that all chips share; `None` if no op has starts on
/// all of its chips.
fn sentence(rounds: &[Round<'_>], error_ns: f64) -> Option<String> {
    let mut spreads = Vec::new();
    let mut last: BTreeMap<u32, usize> = BTreeMap::new();
    for round in rounds {
        let starts = round.ops.iter().map(|op| Some((op.start_ns?, op.chip_id)));
        let Some(starts) = starts.collect::<Option<Vec<_>>>() else { continue };
        let by_time = |one: &&(f64, u32), other: &&(f64, u32)| one.0.total_cmp(&other.0);
        let first = starts.iter().min_by(by_time)?;
        let latest = starts.iter().max_by(by_time)?;
        spreads.push(latest.0 - first.0);
        let count = last.entry(latest.1).or_default();
        *count = count.saturating_add(1);
    }
    let count = spreads.len();
    let longest = spreads.iter().copied().fold(0.0, f64::max);
    let middle = median(spreads)?;
    let (chip, late) = last.into_iter().max_by_key(|(_, late)| *late)?;
    Some(format!(
        "Chips start an op {} apart (median of {count} of {} that several chips ran; at most {}), on clocks \
         known to {}. Chip {chip} starts last in {late} of {count}",
        duration(middle),
        counted(rounds.len() as u64, "op", "ops"),
        duration(longest),
        duration(error_ns),
    ))
}

fn untold(is_of_rows: bool) -> Untold {
    let (reason, record_with) = if is_of_rows {
        (
            "an ops CSV has cycles of the clock of each chip, and nothing relates these clocks; a \
             collective, which chips leave together, is their only common event",
            "a device log or capture with --sync-host-device, which relates the clocks of chips",
        )
    } else {
        (
            "nothing relates the clocks of the chips; a collective, which chips leave together, is \
             their only common event",
            "with --sync-host-device (TT_METAL_PROFILER_SYNC=1), which relates the clocks of chips",
        )
    };
    Untold { question: "how far apart chips start an op", reason: reason.to_owned(), record_with }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Place;
    use std::borrow::Cow;

    fn op(chip_id: u32, call: u32, start_ns: Option<f64>) -> ChipOp<'static> {
        ChipOp {
            chip_id,
            name: Cow::Borrowed("Matmul"),
            form: "",
            call: Some((call, None)),
            is_collective: false,
            duration_ns: Some(1000.0),
            gap_ns: None,
            start_ns,
            place: Place::default(),
            launch: None,
        }
    }

    #[test]
    fn starts_on_one_clock_are_told_with_its_error() {
        let ops = [
            op(0, 1, Some(0.0)),
            op(0, 2, Some(50_000.0)),
            op(1, 1, Some(30_000.0)),
            op(1, 2, Some(60_000.0)),
        ];
        let (sentence, untold) = chip_starts(&ops, Some(40.0));
        assert_eq!(
            sentence.unwrap(),
            "Chips start an op 20 us apart (median of 2 of 2 ops that several chips ran; at most 30 us), \
             on clocks known to 40 ns. Chip 1 starts last in 2 of 2"
        );
        assert_eq!(untold, None);
    }

    #[test]
    fn without_such_a_clock_the_reason_is_told() {
        let ops = [op(0, 1, None), op(1, 1, None)];
        for error_ns in [None, Some(40.0)] {
            let (sentence, untold) = chip_starts(&ops, error_ns);
            assert_eq!(sentence, None);
            assert!(untold.unwrap().reason.contains("only common event"));
        }
        assert_eq!(chip_starts(&ops[..1], None), (None, None), "one chip");
    }
}
