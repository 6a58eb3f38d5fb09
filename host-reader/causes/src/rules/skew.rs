//! Rule about chips that wait for each other in collectives.

use super::duration;
use crate::{
    finding::{Basis, Cause, Finding, GainOf, Place, percent},
    middle::median,
    parallel::{ChipOp, Round, rounds},
    threshold::{LATE_CERTAIN, LATE_RARE, LATE_SHARE, SKEW},
};
use recording::problem::counted;
use std::collections::BTreeMap;

/// Reports chips that wait in collectives for the chip that arrives last, and names that chip if it
/// is the same one for most of the time waited. `ops` are those that the explanation covers; which
/// chip is late follows from `all` ops, since the last iteration alone may have a single collective.
///
/// `clock_error_ns` is the error of the ops' starts on a clock that all chips share; `None` if there
/// is no such clock. Then all chips are taken to leave a collective together, so the one with the
/// shortest time has arrived last.
pub(crate) fn collective_skew(
    ops: &[ChipOp<'_>],
    all: &[ChipOp<'_>],
    clock_error_ns: Option<f64>,
) -> Option<Finding> {
    let [own, whole] = [ops, all].map(rounds);
    let collectives = own.iter().filter(|round| round.is_collective());
    let collective_count = collectives.clone().count();
    let mean_ns = mean(collectives.filter_map(mean_duration_ns))?;
    let error_ns = clock_error_ns.filter(|error| error * CLOCK_SHARE <= mean_ns);
    let arrivals = Arrivals::of_rounds(&own, 0, error_ns.is_some());
    let wait_ns: f64 = arrivals.iter().map(|of| of.mean_wait_ns()).sum();
    let whole_ns: f64 = arrivals.iter().map(|of| of.whole_ns).sum();
    let time_percent = percent(wait_ns, whole_ns);
    if time_percent < SKEW.value {
        return None;
    }
    // The first iteration may compile.
    let is_part = whole.len() >= own.len().saturating_mul(WARM_UP_OF);
    let begin = if is_part { own.len() } else { 0 };
    let all_arrivals = Arrivals::of_rounds(&whole, begin, error_ns.is_some());
    // Chips that come together are those of the explained part, which is the last one. The gap before it is known
    // from all rounds alone.
    let part_begin = whole.len().saturating_sub(own.len());
    let of_part = Arrivals::of_rounds(&whole, part_begin, error_ns.is_some());
    let late = late_chip(&all_arrivals).or_else(|| late_group(&of_part));
    let is_group = late.as_ref().is_some_and(|late| late.chips.len() > 1);
    let base = if is_group { (&*of_part, false) } else { (&*all_arrivals, begin > 0) };
    let whose = whose(late.as_ref(), base, &arrivals);
    let sentence = format!(
        "Chips wait {time_percent:.0} % of the time of collectives ({}, {} per chip) for the last {}: \
         {whose}",
        counted(arrivals.len() as u64, "op", "ops"),
        duration(whole_ns),
        if is_group { "chips" } else { "chip" },
    );
    let mut why = Vec::new();
    let mut advice =
        "give each chip the same work before its collectives, and send ops to all chips from \
                      one trace"
            .to_owned();
    if let Some(late) = &late {
        let reason = late.reason(&whole);
        why.push(reason.fact(late));
        if let Some(of) = reason.advice() {
            advice = of;
        }
    }
    why.push(match error_ns {
        Some(error) => format!(
            "arrivals are starts on a clock that all chips share, known to {}",
            duration(error)
        ),
        None => "no clock of all chips is known well enough: they are taken to leave a collective together, \
                 so the one with the shortest time arrived last"
            .to_owned(),
    });
    let mut longest: Vec<_> = arrivals.iter().map(|of| (of.longest_wait_ns(), of)).collect();
    longest.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let (_, first) = longest.first()?;
    let one_chip = late.as_ref().and_then(|late| match *late.chips {
        [chip_id] => Some(chip_id),
        _ => None,
    });
    let place = Place { chip_id: one_chip, ..first.first.place.clone() };
    let rows = longest.iter().take(3).filter_map(|(_, of)| of.first.place.row).collect();
    let finding = Finding::new(
        Cause::CollectiveSkew,
        (SKEW, time_percent),
        sentence,
        place,
        advice,
        Basis { count: arrivals.len() as u64, of: collective_count as u64, what: "collectives" },
    );
    let (gain_ns, whole_ns) = most_waiting(&arrivals);
    Some(Finding { rows, why, ..finding.with_gain(gain_ns, (whole_ns, GainOf::Ops)) })
}

/// Returns the sums of the waits and of the lengths of collectives on the chip that waits longest: no
/// chip gains more than it waits.
fn most_waiting(arrivals: &[Arrivals<'_>]) -> (f64, f64) {
    let mut by_chip: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for ((chip_id, wait), length) in
        arrivals.iter().flat_map(|of| of.waits_ns.iter().zip(&of.lengths_ns))
    {
        let (waits, lengths) = by_chip.entry(*chip_id).or_default();
        *waits += wait;
        *lengths += length;
    }
    let most = by_chip.into_values().max_by(|(one, _), (other, _)| one.total_cmp(other));
    most.unwrap_or_default()
}

/// Returns a text about the chip that arrives last in collectives.
///
/// `all` are the collectives that show which chip is late; without those of the first iteration if
/// `is_without_first`.
fn whose(
    late: Option<&LateChip<'_>>,
    (all, is_without_first): (&[Arrivals<'_>], bool),
    own: &[Arrivals<'_>],
) -> String {
    let among = match is_without_first {
        true => " collectives after the first iteration",
        false if all.len() == own.len() => "",
        false => " collectives of all iterations",
    };
    match (late, own) {
        (Some(late), _) => format!(
            "{} in {} of {}{}, where {} for {}",
            late.name(),
            late.arrivals.len(),
            all.len(),
            among,
            others_wait(late),
            if late.chips.len() > 1 { "them" } else { "it" }
        ),
        (None, [only]) => format!("chip {}", only.last),
        (None, _) => "a different chip each time".to_owned(),
    }
}

/// Returns a text about how long the other chips wait for a late one.
fn others_wait(late: &LateChip<'_>) -> String {
    let total = in_total(late.arrivals.len());
    let waits = duration(late.held_ns);
    let other_count = |of: &&Arrivals<'_>| of.waits_ns.len().saturating_sub(late.chips.len());
    match late.arrivals.iter().map(other_count).max() {
        Some(..=1) | None => format!("the other chip waits {waits}{total}"),
        Some(_) => format!("the other chips wait {waits}{total} on average"),
    }
}

/// Returns the words that mark a sum over several collectives.
const fn in_total(count: usize) -> &'static str {
    if count > 1 { " in total" } else { "" }
}

/// With at least this many iterations, the first one does not count.
const WARM_UP_OF: usize = 3;

/// The mean length of a collective must be this many times the error of a clock that all chips
/// share. Otherwise, the clock says less about arrivals than the collectives' lengths.
const CLOCK_SHARE: f64 = 10.0;

fn mean(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for figure in figures {
        sum += figure;
        count += 1.0;
    }
    (count > 0.0).then_some(sum / count)
}

fn mean_duration_ns(round: &Round<'_>) -> Option<f64> {
    mean(round.ops.iter().filter_map(|op| op.duration_ns))
}

/// One collective on all chips that took part.
struct Arrivals<'a> {
    /// Index of the collective among all rounds.
    index: usize,
    /// Op of the chip that arrived first.
    first: &'a ChipOp<'a>,
    /// Chip that arrived last.
    last: u32,
    /// How long each chip waited for the last one.
    waits_ns: Vec<(u32, f64)>,
    /// Length of the collective on the same chips.
    lengths_ns: Vec<f64>,
    /// Mean length of the collective over the chips.
    whole_ns: f64,
}

impl<'a> Arrivals<'a> {
    /// Returns the arrivals of all collectives from the round `begin` on whose lengths are known.
    fn of_rounds(rounds: &[Round<'a>], begin: usize, has_clock: bool) -> Vec<Self> {
        let collectives = rounds.iter().enumerate().skip(begin);
        let collectives = collectives.filter(|(_, round)| round.is_collective());
        collectives.filter_map(|(index, round)| Self::from_round(index, round, has_clock)).collect()
    }

    /// Returns the arrivals of the chips; `None` if a length or start is unknown on any chip.
    fn from_round(index: usize, round: &Round<'a>, has_clock: bool) -> Option<Self> {
        let of = |op: &&'a ChipOp<'a>| {
            let length_ns = op.duration_ns?;
            // The later a chip arrives, the shorter is its part of the collective.
            let arrival_ns = if has_clock { op.start_ns? } else { -length_ns };
            Some((*op, arrival_ns, length_ns))
        };
        let known: Vec<_> = round.ops.iter().map(of).collect::<Option<_>>()?;
        let by_arrival = |one: &&(&ChipOp<'_>, f64, f64), other: &&(&ChipOp<'_>, f64, f64)| {
            one.1.total_cmp(&other.1)
        };
        let (first, ..) = known.iter().min_by(by_arrival)?;
        let (last, last_ns, _) = known.iter().max_by(by_arrival)?;
        Some(Self {
            index,
            first,
            last: last.chip_id,
            // A chip does not wait longer than it is in the collective.
            waits_ns: known
                .iter()
                .map(|(op, at, length)| (op.chip_id, (last_ns - at).min(*length)))
                .collect(),
            lengths_ns: known.iter().map(|(.., length)| *length).collect(),
            whole_ns: mean(known.iter().map(|(.., length)| *length))?,
        })
    }

    fn mean_wait_ns(&self) -> f64 {
        mean(self.waits_ns.iter().map(|(_, wait)| *wait)).unwrap_or(0.0)
    }

    fn longest_wait_ns(&self) -> f64 {
        self.waits_ns.iter().map(|(_, wait)| *wait).fold(0.0, f64::max)
    }

    /// Returns the mean time that the other chips waited for the last one.
    fn held_ns(&self) -> f64 {
        let others = self.waits_ns.iter().filter(|(chip, _)| *chip != self.last);
        mean(others.map(|(_, wait)| *wait)).unwrap_or(0.0)
    }

    /// Returns the chips that arrived last together, in their order.
    fn latecomers(&self) -> Vec<u32> {
        let most = self.longest_wait_ns() * TOGETHER;
        let mut chips: Vec<u32> =
            self.waits_ns.iter().filter(|(_, wait)| *wait <= most).map(|(chip, _)| *chip).collect();
        chips.sort_unstable();
        chips
    }

    /// Returns how much later each chip arrived than the median of the others.
    fn lateness_ns(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.waits_ns.iter().filter_map(|(chip, wait)| {
            let others = self.waits_ns.iter().filter(|(other, _)| other != chip);
            Some((*chip, median(others.map(|(_, wait)| *wait).collect())? - wait))
        })
    }
}

/// Chips arrive together if they wait for each other for less than this part of the longest wait.
const TOGETHER: f64 = 0.1;

/// Chip that others wait for, or chips that are late together, as those of one host.
struct LateChip<'a> {
    chips: Vec<u32>,
    /// Collectives in which it arrives last.
    arrivals: Vec<&'a Arrivals<'a>>,
    /// Mean time that the other chips wait for it in all of them.
    held_ns: f64,
}

/// Finds several chips that arrive last together in each of the collectives.
fn late_group<'a>(arrivals: &'a [Arrivals<'a>]) -> Option<LateChip<'a>> {
    let chips = arrivals.first()?.latecomers();
    let is_few = |of: &Arrivals<'_>| chips.len().saturating_mul(2) <= of.waits_ns.len();
    let is_same = |of: &Arrivals<'_>| is_few(of) && of.latecomers() == chips;
    if chips.len() < 2 || !arrivals.iter().all(is_same) {
        return None;
    }
    let held = |of: &Arrivals<'_>| {
        let others = of.waits_ns.iter().filter(|(chip, _)| !chips.contains(chip));
        mean(others.map(|(_, wait)| *wait)).unwrap_or(0.0)
    };
    let held_ns = arrivals.iter().map(held).sum();
    Some(LateChip { chips, arrivals: arrivals.iter().collect(), held_ns })
}

/// Finds the chip for which the others wait most of the time; `None` if its lateness may be chance.
///
/// A chip is late beyond chance if its mean lateness is large compared with its variation, or if it
/// is rarely late, but then by far more than chips usually differ.
fn late_chip<'a>(arrivals: &'a [Arrivals<'a>]) -> Option<LateChip<'a>> {
    let mut by_chip: BTreeMap<u32, Vec<&Arrivals<'_>>> = BTreeMap::new();
    for of in arrivals {
        by_chip.entry(of.last).or_default().push(of);
    }
    let held = |of: &[&Arrivals<'_>]| of.iter().map(|of| of.held_ns()).sum::<f64>();
    let whole_ns: f64 = by_chip.values().map(|of| held(of)).sum();
    let late = by_chip
        .into_iter()
        .map(|(chip_id, arrivals)| (chip_id, held(&arrivals), arrivals))
        .max_by(|(_, one, _), (_, other, _)| one.total_cmp(other))?;
    let (chip_id, held_ns, of_chip) = late;
    let late = LateChip { chips: vec![chip_id], held_ns, arrivals: of_chip };
    let is_most = percent(held_ns, whole_ns) >= LATE_SHARE.value;
    let is_late =
        is_always_late(chip_id, arrivals) || is_rarely_very_late(chip_id, &late, arrivals);
    (is_most && is_late).then_some(late)
}

/// Returns true if the mean lateness of a chip is large compared with its standard error.
fn is_always_late(chip_id: u32, arrivals: &[Arrivals<'_>]) -> bool {
    let own = arrivals.iter().flat_map(|of| of.lateness_ns().filter(|(chip, _)| *chip == chip_id));
    let own: Vec<f64> = own.map(|(_, ns)| ns).collect();
    let degrees = own.len() as f64 - 1.0;
    let Some(mean_ns) = mean(own.iter().copied()).filter(|_| degrees > 0.0) else { return false };
    let variance = own.iter().map(|ns| (ns - mean_ns).powi(2)).sum::<f64>() / degrees;
    let error_ns = (variance / own.len() as f64).sqrt();
    // With few collectives, chance produces larger ratios.
    mean_ns > 0.0 && mean_ns >= error_ns * (LATE_CERTAIN.value + 60.0 / degrees.powi(2))
}

/// Returns true if a chip is at least twice late by far more than chips usually differ, and most of
/// the time waited for it passes then.
fn is_rarely_very_late(chip_id: u32, late: &LateChip<'_>, arrivals: &[Arrivals<'_>]) -> bool {
    let all = arrivals.iter().flat_map(Arrivals::lateness_ns);
    let mut usual: Vec<f64> = all.map(|(_, ns)| ns.abs()).collect();
    usual.sort_by(f64::total_cmp);
    let Some(usual_ns) = usual.get(usual.len() / 4) else { return false };
    // Of two chips, one is as late as the other is early. A quarter of few values is small by chance.
    let independent_count = usual.len() as f64 - arrivals.len() as f64;
    let ratio = LATE_RARE.value * (1.0 + (10.0 / independent_count).powi(2));
    let very: Vec<f64> = late
        .arrivals
        .iter()
        .filter(|of| {
            let own = of.lateness_ns().find(|(chip, _)| *chip == chip_id);
            own.is_some_and(|(_, ns)| ns > 0.0 && ns >= usual_ns * ratio)
        })
        .map(|of| of.held_ns())
        .collect();
    very.len() > 1 && percent(very.iter().sum(), late.held_ns) >= LATE_SHARE.value
}

/// Why a chip is late.
enum Reason<'a> {
    /// It takes longer for the ops of a name: by how much, in how many collectives.
    Op(&'a str, f64, usize),
    /// It is idle before the ops of a name: how much longer, in how many collectives.
    Gap(&'a str, f64, usize),
    Unknown,
}

impl LateChip<'_> {
    /// Returns the words for these chips: `chip 6`, or `chips 4, 5 and 7`.
    fn name(&self) -> String {
        let ids: Vec<String> = self.chips.iter().map(u32::to_string).collect();
        match ids.split_last() {
            Some((last, [])) => format!("chip {last}"),
            Some((last, others)) => format!("chips {} and {last}", others.join(", ")),
            None => "chip unknown".to_owned(),
        }
    }

    /// Compares the ops between the collective before and each collective for which the chip is
    /// late with the same ops on the other chips.
    fn reason<'a>(&self, rounds: &'a [Round<'_>]) -> Reason<'a> {
        let mut excess: BTreeMap<(bool, &str), (f64, usize)> = BTreeMap::new();
        for arrival in &self.arrivals {
            let before = rounds.get(..arrival.index).unwrap_or(&[]);
            let begin =
                before.iter().rposition(Round::is_collective).map_or(0, |at| at.saturating_add(1));
            let between = rounds.get(begin..=arrival.index).unwrap_or(&[]);
            let mut own: BTreeMap<(bool, &str), f64> = BTreeMap::new();
            for round in between {
                let gap = round.excess(&self.chips, |op| op.gap_ns);
                let op = round.excess(&self.chips, |op| op.duration_ns);
                *own.entry((true, round.name())).or_default() += gap.unwrap_or(0.0);
                if !round.is_collective() {
                    *own.entry((false, round.name())).or_default() += op.unwrap_or(0.0);
                }
            }
            for (key, ns) in own.into_iter().filter(|(_, ns)| *ns > 0.0) {
                let (sum, count) = excess.entry(key).or_default();
                *sum += ns;
                *count = count.saturating_add(1);
            }
        }
        let most = excess.into_iter().max_by(|(_, (one, _)), (_, (other, _))| one.total_cmp(other));
        match most.filter(|(_, (ns, _))| percent(*ns, self.held_ns) >= LATE_SHARE.value) {
            Some(((true, name), (ns, count))) => Reason::Gap(name, ns, count),
            Some(((false, name), (ns, count))) => Reason::Op(name, ns, count),
            None => Reason::Unknown,
        }
    }
}

impl Reason<'_> {
    fn fact(&self, late: &LateChip<'_>) -> String {
        let (chips, all) = (late.name(), late.arrivals.len());
        let is = if late.chips.len() > 1 { "are" } else { "is" };
        match self {
            Self::Op(name, ns, count) => format!(
                "before {count} of these {all}, {name} takes {} longer{} on {chips} than on the others",
                duration(*ns),
                in_total(*count)
            ),
            Self::Gap(name, ns, count) => format!(
                "before {count} of these {all}, {chips} {is} idle {} longer{} than the others before {name}",
                duration(*ns),
                in_total(*count)
            ),
            Self::Unknown => format!(
                "no op that the chips ran before them, and no gap, takes so much longer on {chips} \
                 than on the others"
            ),
        }
    }

    fn advice(&self) -> Option<String> {
        match self {
            Self::Op(name, ..) => Some(format!(
                "give each chip the same share of {name}; if it has, {}",
                super::chips::COMPARE_CHIPS
            )),
            Self::Gap(..) => Some(
                "send ops to all chips from one trace, so that none waits for the host".to_owned(),
            ),
            Self::Unknown => None,
        }
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::slow_chips;
    use reports::perf::{OpReport, PerfReport, read_ops_csv};

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

    fn slow(ops: &[(&str, &[u32])]) -> Vec<Finding> {
        let rows = rows(ops);
        slow_chips(&ChipOp::from_rows(&rows)).into_iter().map(|(_, finding)| finding).collect()
    }

    fn skew(ops: &[(&str, &[u32])]) -> Option<Finding> {
        let rows = rows(ops);
        let ops = ChipOp::from_rows(&rows);
        collective_skew(&ops, &ops, None)
    }

    /// Two hosts of two chips each: one sends its ops 30 us later than the other.
    #[test]
    fn chips_that_come_late_together_are_named_together() {
        let gather: (&str, &[u32]) =
            ("RingJointSDPADeviceOperation", &[50_001, 49_999, 20_000, 20_010]);
        let matmul: (&str, &[u32]) = ("Matmul", &[10_000, 10_000, 40_000, 40_000]);
        let equal: (&str, &[u32]) = ("Softmax", &[10_000, 10_000, 10_000, 10_000]);
        let finding = skew(&[equal, matmul, gather]).unwrap();
        // The mean length is 35,002.5 ns, of which chips 0 and 1 wait 30,001 and 29,999, chip 2 none, chip 3 10.
        assert_eq!(
            finding.sentence,
            "Chips wait 43 % of the time of collectives (1 op, 35 us per chip) for the last chips: chips 2 and \
             3 in 1 of 1, where the other chips wait 30 us on average for them"
        );
        assert_eq!(
            finding.why[0],
            "before 1 of these 1, Matmul takes 30 us longer on chips 2 and 3 than on the others"
        );
        // A second collective in which another chip comes last.
        let other: (&str, &[u32]) = ("AllGather", &[20_000, 50_000, 50_000, 50_000]);
        let finding = skew(&[equal, matmul, gather, other]).unwrap();
        assert!(finding.sentence.ends_with("a different chip each time"), "{}", finding.sentence);
        // The gap before the explained part is known from all rounds alone.
        let text = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]\n";
        let line = |(op, chip, time, gap): (&str, u32, u32, u32)| {
            format!("{op},tt_dnn_device,{chip},{time},{gap}\n")
        };
        let step = |late_ns: u32| {
            let gaps = [0, 0, late_ns, late_ns].into_iter().zip(0..);
            let norms = gaps.map(|(gap, chip)| ("LayerNorm", chip, 1000, gap));
            let times = [20_000 + late_ns, 20_000 + late_ns, 20_000, 20_000].into_iter().zip(0..);
            norms
                .chain(times.map(|(time, chip)| ("AllGather", chip, time, 0)))
                .map(line)
                .collect::<String>()
        };
        let csv = read_ops_csv((text.to_owned() + &step(0) + &step(30_000)).as_bytes(), "ops.csv")
            .unwrap();
        let options = crate::Explanation::report_options();
        let rows = PerfReport::new(vec![csv], &options).unwrap().rows;
        let mut part = rows[8..].to_vec();
        for row in &mut part[..4] {
            row.op_to_op_gap_us = None;
        }
        let finding =
            collective_skew(&ChipOp::from_rows(&part), &ChipOp::from_rows(&rows), None).unwrap();
        assert_eq!(
            finding.why[0],
            "before 1 of these 1, chips 2 and 3 are idle 30 us longer than the others before LayerNorm"
        );
        // One chip that comes early is no group of late ones.
        let early: (&str, &[u32]) = ("AllGather", &[90_000, 20_000, 20_000, 20_000]);
        let finding = skew(&[equal, early]).unwrap();
        assert!(finding.sentence.ends_with("for the last chip: chip 3"), "{}", finding.sentence);
    }

    #[test]
    fn chips_that_wait_in_collectives_for_the_last_one_are_told() {
        let gather: (&str, &[u32]) = ("AllGatherAsync", &[50_001, 20_000, 49_999]);
        let matmul: (&str, &[u32]) = ("Matmul", &[10_000, 40_000, 10_000]);
        let finding = skew(&[matmul, gather, matmul, gather]).unwrap();
        // In each op, two of three chips wait 30 us. The mean over the chips is 20 us of 40 us.
        assert_eq!(
            finding.sentence,
            "Chips wait 50 % of the time of collectives (2 ops, 80 us per chip) for the last \
             chip: chip 1 in 2 of 2, where the other chips wait 60 us in total on average for it"
        );
        assert_eq!(
            finding.why[0],
            "before 2 of these 2, Matmul takes 60 us longer in total on chip 1 than on the others"
        );
        // Chip 0 waits 30,001 ns in each, and no chip waits longer.
        assert!((finding.gain_at_most_ns.unwrap() - 60_002.0).abs() < 1e-6);
        assert_eq!((finding.place.chip_id, finding.place.row), (Some(1), Some(5)));
        let turns: (&str, &[u32]) = ("AllGatherAsync", &[20_000, 50_000, 50_000]);
        let finding = skew(&[gather, turns]).unwrap();
        assert!(finding.sentence.ends_with("a different chip each time"), "{}", finding.sentence);
        assert_eq!(finding.place.chip_id, None);
        let finding = skew(&[gather]).unwrap();
        assert!(finding.sentence.ends_with("for the last chip: chip 1"), "{}", finding.sentence);
        assert_eq!(finding.place.chip_id, None, "one collective shows no rule");
        // 10 us of 60 us on two of three chips: 12.5 % of the mean of 53 us.
        assert_eq!(skew(&[("AllGatherAsync", &[60_000, 50_000, 50_000])]), None);
        assert_eq!(skew(&[matmul, matmul]), None, "no collectives");
        assert_eq!(skew(&[("AllGatherAsync", &[50_000])]), None, "one chip");
    }

    #[test]
    fn a_chip_that_is_rarely_late_but_then_by_much_is_named() {
        // Late in two of four, 775 us in all.
        let some: (&str, &[u32]) = ("AllGatherAsync", &[20_300, 20_000]);
        let other: (&str, &[u32]) = ("AllGatherAsync", &[20_000, 20_200]);
        let late: (&str, &[u32]) = ("AllGatherAsync", &[420_000, 20_000]);
        let later: (&str, &[u32]) = ("AllGatherAsync", &[395_000, 20_000]);
        let finding = skew(&[some, late, other, later]).unwrap();
        assert_eq!(finding.place.chip_id, Some(1));
        assert!(
            finding
                .sentence
                .ends_with("chip 1 in 3 of 4, where the other chip waits 775 us in total for it"),
            "{}",
            finding.sentence
        );
        assert_eq!(
            finding.why[0],
            "no op that the chips ran before them, and no gap, takes so much longer on chip 1 than on \
             the others"
        );
        // Once may be chance.
        assert_eq!(skew(&[some, late, other, other]).unwrap().place.chip_id, None);
    }

    #[test]
    fn a_chip_that_is_slow_again_and_again_is_told_with_what_it_takes_more() {
        let matmul: (&str, &[u32]) = ("Matmul", &[10_000, 15_000, 10_000]);
        let even: (&str, &[u32]) = ("Softmax", &[9_000, 9_000, 9_000]);
        let [finding] = &slow(&[matmul, even, matmul, even, matmul])[..] else { panic!() };
        assert_eq!(
            finding.sentence,
            "Chip 1 takes 50 % longer than the others in 3 of 3 launches of Matmul (45 us, 33 % of it \
             more than theirs)"
        );
        assert_eq!((finding.place.chip_id, &*finding.rows), (Some(1), &[3, 9, 15][..]));
        assert!((finding.gain_at_most_ns.unwrap() - 15_000.0).abs() < 1e-6);
        assert_eq!(slow(&[matmul, matmul]), [], "by chance");
        let two_chips: (&str, &[u32]) = ("Matmul", &[10_000; 2]);
        assert_eq!(
            slow(&[matmul, matmul, matmul, even, two_chips]),
            [],
            "unequal numbers of launches"
        );
    }

    #[test]
    fn chips_that_come_early_to_a_collective_are_not_slow() {
        let late: (&str, &[u32]) = ("AllGatherAsync", &[50_000, 10_000]);
        assert_eq!(slow(&[late; 5]), []);
        let turns: [(&str, &[u32]); 2] = [("Matmul", &[15, 10]), ("Matmul", &[10, 15])];
        assert_eq!(slow(&[turns[0], turns[1], turns[0], turns[1], turns[0]]).len(), 1);
        assert_eq!(slow(&[turns[0], turns[1], turns[0], turns[1]]), [], "two launches each");
    }
}
