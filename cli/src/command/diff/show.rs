//! A comparison as text: totals, groups, changes, and what only one side has.

use super::{
    gaps::{microseconds, write_gaps, write_iterations},
    lines::Lines,
    verdict::Verdict,
};
use crate::{
    by_column::value_name,
    layout::{lines_of, table},
    numbers::{counted, grouped},
    terminal::{LONGEST_NAME, printable},
};
use host_reader::diff::{
    Agreement, Aspect, Certainty, Change, ColumnDiff, Diff, Difference, FirstIteration, Group,
    LEAST_COMPARED_SHARE, MeasuredKind, RepetitionCounts, Side, UnmatchedReason,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
};

/// What is shown of a comparison.
pub(super) struct Shown {
    /// Also insignificant changes.
    pub(super) all: bool,
    /// Maximum number of rows in a table.
    pub(super) rows: usize,
    /// Confidence level of the intervals, in percent.
    pub(super) confidence: f64,
    /// Whether A and B consist of several recordings.
    pub(super) has_more: [bool; 2],
}

/// Writes the comparison, and the verdict of its gate.
pub(super) fn show(
    asked: &Shown,
    diff: &Diff,
    (by, cost, lines): (Option<&ColumnDiff>, Option<&str>, &Lines),
    verdict: &Verdict<'_>,
    out: &mut impl Write,
) -> std::io::Result<()> {
    write_totals(diff, out)?;
    if let Some(cost) = cost {
        writeln!(out, "{cost}")?;
    }
    if let Some(by) = by {
        write_column_diff(by, asked.rows, out)?;
    }
    write_groups(asked, diff, out)?;
    // Few are no more to read than their count.
    let shows_all = asked.all || diff.changes.len() <= FEW_CHANGES;
    let shown: Vec<&Change> =
        diff.changes.iter().filter(|change| shows_all || change.is_noteworthy()).collect();
    let [significant, single, insignificant] =
        [Certainty::Significant, Certainty::SingleRepetition, Certainty::NotSignificant].map(
            |certainty| {
                let changes = diff.changes.iter();
                grouped(changes.filter(|change| change.certainty == certainty).count() as u64)
            },
        );
    writeln!(
        out,
        "\n{} in both: {} changed significantly, {} with a single repetition, {} without a \
         significant change at {} %",
        counted(diff.changes.len() as u64, "op or zone", "ops and zones"),
        significant,
        single,
        insignificant,
        asked.confidence,
    )?;
    if !shown.is_empty() {
        write_changes(asked, &shown, out)?;
        write_kernels(diff, asked.rows, out)?;
        write_first_iterations(diff, out)?;
    }
    write_differences(asked, diff, out)?;
    lines.write(asked.all, asked.rows, out)?;
    write_advice(asked, diff, out)?;
    write_side("A", asked.rows, &diff.a, out)?;
    write_side("B", asked.rows, &diff.b, out)?;
    verdict.write(out)
}

/// Number of ops and zones up to which all are shown.
const FEW_CHANGES: usize = 3;

/// Writes the time of each side and its change, and how much of it was compared.
fn write_totals(diff: &Diff, out: &mut impl Write) -> std::io::Result<()> {
    if [&diff.a, &diff.b].iter().all(|side| side.total_ns == 0.0) && !diff.zone_times.is_empty() {
        write_zone_totals(diff, out)?;
    } else {
        write_op_totals(diff, out)?;
    }
    for (name, side) in [("A", &diff.a), ("B", &diff.b)] {
        if side.left_out_count > 0 {
            let count = side.left_out_count as u64;
            writeln!(
                out,
                "Compared with nothing: {} of {name} in iterations that are cut or differ, {}",
                counted(count, "op", "ops"),
                microseconds(side.left_out_ns)
            )?;
        }
    }
    write_gaps(diff, out)?;
    if let Some((a, b)) = diff.clocks_mhz() {
        let percent = (f64::from(a) / f64::from(b) - 1.0) * 100.0;
        writeln!(out, "Clocks: A {a} MHz, B {b} MHz; equal cycles take {percent:+.1} % time in B")?;
    }
    for (a, b) in &diff.other_devices {
        writeln!(out, "Compared although the numbers differ: {a} of A with {b} of B")?;
    }
    if diff.is_alignment_bounded {
        writeln!(
            out,
            "The sequences of ops are too long for the best alignment; a shorter search aligned them"
        )?;
    }
    Ok(())
}

/// Number of RISCs whose zones have their times in the first lines.
const FEW_RISCS: usize = 5;

/// Writes what was compared of zones, as no op has a duration.
fn write_zone_totals(diff: &Diff, out: &mut impl Write) -> std::io::Result<()> {
    let zones: usize = diff.zone_times.iter().map(|of| of.zone_count).sum();
    let [of_a, of_b] = [&diff.a, &diff.b].map(|side| {
        let alone = side.only_here.iter().filter(|item| item.kind == MeasuredKind::Zone);
        (
            side,
            grouped(alone.count() as u64),
            counted(side.launches.launch_count as u64, "launch", "launches"),
        )
    });
    writeln!(
        out,
        "Total: no op has a duration ({} in A, {} in B), so zones alone are compared: {} in both, {} only in A, {} \
         only in B",
        of_a.2,
        of_b.2,
        grouped(zones as u64),
        of_a.1,
        of_b.1
    )?;
    let times = diff.zone_times.iter().take(FEW_RISCS).map(|of| {
        let known = of.a_ns.zip(of.b_ns);
        let time = known.map_or_else(
            || "unknown".to_owned(),
            |(a_ns, b_ns)| format!("A {}, B {}", microseconds(a_ns), microseconds(b_ns)),
        );
        let change = of.percent().map_or_else(String::new, |percent| {
            // Not -0.0.
            let percent = if percent.abs() < 0.05 { 0.0 } else { percent };
            format!(", {percent:+.1} %")
        });
        format!("{} {time}{change}", of.place)
    });
    let times: Vec<String> = times.collect();
    let rest = match diff.zone_times.len().saturating_sub(FEW_RISCS) {
        0 => String::new(),
        count => format!("; and {} more RISCs", grouped(count as u64)),
    };
    writeln!(out, "Zones in a kernel run, nested ones once: {}{rest}", times.join("; "))?;
    let share =
        |(side, ..): &(&Side, String, String)| side.compared_zones_ns / side.zones_ns * 100.0;
    writeln!(
        out,
        "Compared: {:.1} % of the time of A's zones, {:.1} % of B's",
        share(&of_a),
        share(&of_b)
    )
}

fn write_op_totals(diff: &Diff, out: &mut impl Write) -> std::io::Result<()> {
    let [a, b] = [&diff.a, &diff.b].map(|side| {
        let unit = match side.iteration_count {
            1 => String::new(),
            count => format!(" per iteration, mean of {count}"),
        };
        if side.total_ns > 0.0 {
            let ops = match side.timed_op_count == side.op_count {
                true => counted(side.op_count as u64, "op", "ops"),
                false => timed_of(side),
            };
            format!("{} in {ops}{unit}", microseconds(side.total_ns))
        } else if side.launches.launch_count == 0 {
            "none, as no op ran on a chip".to_owned()
        } else {
            "unknown, as no op has a duration".to_owned()
        }
    });
    writeln!(out, "Total: A {a}; B {b}; {}", change_sentence(diff))?;
    write_iterations(diff, out)?;
    let share = |side: &Side| {
        let share = side.compared_share * 100.0;
        if side.total_ns > 0.0 { format!("{share:.1} %") } else { "nothing".to_owned() }
    };
    let [of_a, of_b] = [share(&diff.a), share(&diff.b)];
    if has_all_durations(diff) {
        writeln!(out, "Compared: {of_a} of A's time, {of_b} of B's")?;
    } else {
        writeln!(
            out,
            "Compared: {of_a} of A's known time, that of {}; {of_b} of B's, that of {}",
            timed_of(&diff.a),
            timed_of(&diff.b)
        )?;
    }
    Ok(())
}

fn has_all_durations(diff: &Diff) -> bool {
    [&diff.a, &diff.b].iter().all(|side| side.launches.untimed_count == 0)
}

/// Returns how many ops of a side have a duration: `3 of 10 ops`.
fn timed_of(side: &Side) -> String {
    let ops = counted(side.op_count as u64, "op", "ops");
    format!("{} of {ops}", grouped(side.timed_op_count as u64))
}

/// Returns the change of the whole time or, if durations are missing, that of the compared ops.
fn change_sentence(diff: &Diff) -> String {
    let signed = |change_ns: f64, of_ns: f64| {
        let sign = if change_ns < 0.0 { "-" } else { "+" };
        let percent = change_ns / of_ns * 100.0;
        format!("{sign}{} ({percent:+.1} %)", microseconds(change_ns.abs()))
    };
    if let Some(change_ns) = diff.change_ns() {
        let [a, b] = [&diff.a, &diff.b].map(|side| side.compared_share);
        let other = match a.min(b) < LEAST_COMPARED_SHARE {
            true => " of ops that are not the same: less than half of the time has a counterpart",
            false => "",
        };
        let per_launch = match (diff.repetitions, diff.percent_per_launch()) {
            (Some(RepetitionCounts { a, b }), Some(percent)) => format!(
                "; A runs each op {} in a row, B {}: {percent:+.1} % for a launch",
                counted(a as u64, "time", "times"),
                counted(b as u64, "time", "times")
            ),
            _ => other.to_owned(),
        };
        return format!("change {}{per_launch}", signed(change_ns, diff.a.total_ns));
    }
    let untimed = [("A", &diff.a), ("B", &diff.b)].map(|(name, side)| {
        let count = side.launches.untimed_count as u64;
        (count > 0).then(|| format!("{} of {name}", counted(count, "op", "ops")))
    });
    let untimed: Vec<String> = untimed.into_iter().flatten().collect();
    let why = match untimed.is_empty() {
        true => String::new(),
        false => format!(", as the durations of {} are missing", untimed.join(" and ")),
    };
    let compared = diff.compared_change_ns().map_or_else(String::new, |change_ns| {
        let ops = counted(diff.op_pair_count as u64, "compared op", "compared ops");
        format!("; {ops}: {}", signed(change_ns, diff.a.compared_ns))
    });
    format!("change unknown{why}{compared}")
}

/// Writes where time was gained and lost.
fn write_groups(asked: &Shown, diff: &Diff, out: &mut impl Write) -> std::io::Result<()> {
    let is_shown = |group: &&Group| asked.all || group.change_ns != 0.0;
    let groups: Vec<&Group> = diff.groups.iter().filter(is_shown).collect();
    if groups.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nGained (-) and lost (+), sums by kind and shapes of ops")?;
    let mut rows = table(&["op", "source", "pairs", "A us", "B us", "change us", "B/A"]);
    let sources =
        distinct_sources(groups.iter().map(|group| (group.name.to_string(), &*group.shapes)));
    for (group, source) in groups.iter().zip(sources).take(asked.rows) {
        rows.add_row([
            printable(&group.name, LONGEST_NAME),
            source,
            grouped(group.pair_count as u64),
            format!("{:.3}", group.a_ns / 1000.0),
            format!("{:.3}", group.b_ns / 1000.0),
            format!("{:+.3}", group.change_ns / 1000.0),
            format!("{:.4}", group.ratio),
        ]);
    }
    writeln!(out)?;
    for line in lines_of(&mut rows) {
        writeln!(out, "{line}")?;
    }
    write_rest(groups.len(), asked.rows, out)
}

/// Writes the times of groups by a column.
fn write_column_diff(by: &ColumnDiff, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    let unit = if by.is_per_iteration {
        "per iteration, arithmetic means of all iterations"
    } else {
        "over all ops"
    };
    writeln!(out, "\nBy {}, {unit}", printable(&by.column, LONGEST_NAME))?;
    let mut shown = table(&["name", "ops A", "ops B", "A us", "B us", "change us", "B/A"]);
    let cell =
        |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", ns / 1000.0));
    for change in by.changes.iter().take(rows) {
        let name = value_name(change.value.as_deref(), change.depth, &by.column);
        shown.add_row([
            format!("{}{name}", "  ".repeat(change.depth)),
            change.a_op_count.to_string(),
            change.b_op_count.to_string(),
            cell(change.a_ns),
            cell(change.b_ns),
            change.change_ns.map_or_else(|| "-".to_owned(), |ns| format!("{:+.3}", ns / 1000.0)),
            change.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.4}")),
        ]);
    }
    writeln!(out)?;
    for line in lines_of(&mut shown) {
        writeln!(out, "{line}")?;
    }
    write_rest(by.changes.len(), rows, out)?;
    let untimed = [("A", by.a_untimed_count), ("B", by.b_untimed_count)];
    for (name, count) in untimed.into_iter().filter(|(_, count)| *count > 0) {
        writeln!(out, "Without a device time in {name}: {}", counted(count, "op", "ops"))?;
    }
    Ok(())
}

/// Writes what differs between the compared ops besides their durations.
fn write_differences(asked: &Shown, diff: &Diff, out: &mut impl Write) -> std::io::Result<()> {
    let mut kinds: BTreeMap<(Aspect, &str, &str), (u64, u64)> = BTreeMap::new();
    for change in &diff.changes {
        let mut seen = Vec::new();
        for difference in &change.differences {
            let what = (difference.aspect, &*difference.a, &*difference.b);
            if !seen.contains(&what) {
                seen.push(what);
                let (changes, pairs) = kinds.entry(what).or_default();
                *changes = changes.saturating_add(1);
                *pairs = pairs.saturating_add(change.pair_count as u64);
            }
        }
    }
    let moved = diff.changes.iter().filter(|change| change.is_moved).count();
    let by_kind = diff.changes.iter().filter(|change| change.agreement == Agreement::Kind).count();
    if kinds.is_empty() && moved == 0 {
        return Ok(());
    }
    writeln!(out, "\nWhat else differs between the compared ops")?;
    for ((aspect, a, b), (_, pairs)) in kinds.iter().take(asked.rows) {
        let pairs = counted(*pairs, "pair", "pairs");
        let [a, b] = [a, b].map(|value| printable(value, LONGEST_NAME));
        writeln!(out, "  {}: {a} in A, {b} in B, {pairs}", aspect.label())?;
    }
    if kinds.len() > asked.rows {
        writeln!(out, "  ... and {} more", grouped((kinds.len() - asked.rows) as u64))?;
    }
    if by_kind > 0 {
        let changes = counted(by_kind as u64, "change", "changes");
        writeln!(out, "  {changes} of ops whose kind alone is the same")?;
    }
    if moved > 0 {
        let changes = counted(moved as u64, "change", "changes");
        writeln!(out, "  {changes} of ops with another place in the sequence")?;
    }
    Ok(())
}
/// Writes how many rows were left out.
fn write_rest(count: usize, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    match count.checked_sub(rows) {
        None | Some(0) => Ok(()),
        Some(rest) => {
            writeln!(out, "... and {}; --rows 0 shows all", counted(rest as u64, "row", "rows"))
        }
    }
}

fn write_changes(asked: &Shown, shown: &[&Change], out: &mut impl Write) -> std::io::Result<()> {
    let rows = asked.rows;
    let has_distinctions = shown.iter().any(|change| !change.distinction.is_empty());
    let mut titles = vec!["kind", "where", "name", "source"];
    titles.extend(has_distinctions.then_some("which one"));
    let has_sums = shown.iter().any(|change| change.zones_per_run.is_some());
    titles.extend(["zones A", "zones B"].into_iter().filter(|_| has_sums));
    titles.extend(["A ns", "B ns", "n A", "n B", "B/A", "interval", "p", "verdict", "differs"]);
    let mut changes = table(&titles);
    let sources = distinct_sources(shown.iter().map(|change| {
        let key = format!("{} {} {}", change.kind.label(), change.place, change.name);
        (key, &*change.source)
    }));
    for (change, source) in shown.iter().zip(sources).take(rows) {
        changes.add_row(cells(change, source, (has_distinctions, has_sums)));
    }
    writeln!(out, "A ns and B ns are geometric means of n A and of n B durations")?;
    if has_sums {
        writeln!(
            out,
            "With zones A and zones B, their numbers in a kernel run, they are sums over a run"
        )?;
    }
    writeln!(out)?;
    for line in lines_of(&mut changes) {
        writeln!(out, "{line}")?;
    }
    write_rest(shown.len(), rows, out)
}

/// Says how much of what changed in kernels is outside of the zones within them.
fn write_kernels(diff: &Diff, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    let changes = diff.changes.iter().filter(|change| change.is_noteworthy());
    let found = changes.filter_map(|change| Some((change, change.kernel_change_ns()?)));
    let signed =
        |ns: f64| format!("{}{}", if ns < 0.0 { "-" } else { "+" }, microseconds(ns.abs()));
    for (change, (whole_ns, own_ns)) in found.take(rows) {
        writeln!(
            out,
            "{} on {}: {} in a kernel run: {} in the zones within it, {} outside of them",
            printable(&change.name, LONGEST_NAME),
            printable(&change.place, LONGEST_NAME),
            signed(whole_ns),
            signed(whole_ns - own_ns),
            signed(own_ns)
        )?;
    }
    Ok(())
}

/// Names the first iterations, which warm up and compile, because they are part of all means.
fn write_first_iterations(diff: &Diff, out: &mut impl Write) -> std::io::Result<()> {
    let sides = [("A", &diff.a), ("B", &diff.b)].map(|(name, side)| {
        let FirstIteration { first_ns, others_ns } = side.first_iteration?;
        let (first, others) = (microseconds(first_ns), microseconds(others_ns));
        Some(format!("in {name} {first}, and {others} in the mean of the others"))
    });
    let sides: Vec<String> = sides.into_iter().flatten().collect();
    if sides.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nThe first iteration, in which a model may warm up and compile, is part of all means; its ops \
         take {}",
        sides.join("; ")
    )
}

/// Returns the sources of rows, shortened where that leaves rows with the same key apart.
fn distinct_sources<'a>(rows: impl Iterator<Item = (String, &'a str)>) -> Vec<String> {
    let rows: Vec<(String, &str)> = rows.collect();
    let mut known: BTreeMap<(&str, String), BTreeSet<&str>> = BTreeMap::new();
    for (key, source) in &rows {
        known.entry((key, shortened(source))).or_default().insert(source);
    }
    let shown = rows.iter().map(|(key, source)| {
        let short = shortened(source);
        match known.get(&(key, short.clone())).is_some_and(|sources| sources.len() > 1) {
            true => printable(source, LONGEST_SOURCE),
            false => short,
        }
    });
    shown.collect()
}

/// Longest source of an op that a shorter one would not tell from another.
const LONGEST_SOURCE: usize = 400;

fn cells(
    change: &Change,
    source: String,
    (has_distinctions, has_sums): (bool, bool),
) -> Vec<String> {
    let interval =
        change.interval.map_or_else(|| "-".to_owned(), |(low, high)| format!("{low:.4}-{high:.4}"));
    let p_value = change.adjusted_p_value.map_or_else(|| "-".to_owned(), |p| format!("{p:.2e}"));
    let verdict = match (change.certainty, change.ratio > 1.0) {
        (Certainty::Significant, true) => "slower",
        (Certainty::Significant, false) => "faster",
        (Certainty::SingleRepetition, _) => "single repetition",
        (Certainty::NotSignificant, _) => "",
    };
    let mut cells = vec![
        change.kind.label().to_owned(),
        printable(&change.place, LONGEST_NAME),
        printable(&change.name, LONGEST_NAME),
        source,
    ];
    cells.extend(has_distinctions.then(|| printable(&change.distinction, LONGEST_NAME)));
    if has_sums {
        let both = change.zones_per_run.map(|(a, b)| [a, b].map(count_text));
        cells.extend(both.unwrap_or_default());
    }
    cells.extend([
        format!("{:.1}", change.a_geometric_mean_ns),
        format!("{:.1}", change.b_geometric_mean_ns),
        change.a_ns.count.to_string(),
        change.b_ns.count.to_string(),
        format!("{:.4}", change.ratio),
        interval,
        p_value,
        verdict.to_owned(),
        differing(change),
    ]);
    cells
}

/// Returns a mean number, without decimals if it is whole.
pub(super) fn count_text(count: f64) -> String {
    if count.fract() == 0.0 { format!("{count}") } else { format!("{count:.2}") }
}

/// Returns the properties in which the ops of a change differ.
pub(crate) fn differing<'a>(change: &'a Change) -> String {
    let name = |of: &'a Difference| match of.aspect {
        // The value begins with the name of the attribute.
        Aspect::Attribute => of.a.split(' ').next().unwrap_or_default(),
        aspect => aspect.label(),
    };
    let mut aspects: Vec<&str> = change.differences.iter().map(name).collect();
    aspects.dedup();
    if change.is_moved {
        aspects.push("order");
    }
    aspects.join(", ")
}

/// If A or B is a single recording, prints what the comparison cannot show, and which options add
/// recordings.
fn write_advice(asked: &Shown, diff: &Diff, out: &mut impl Write) -> std::io::Result<()> {
    if asked.has_more == [true; 2] || diff.changes.is_empty() {
        return Ok(());
    }
    let (which, options) = match (!asked.has_more[0], !asked.has_more[1]) {
        (true, true) => ("of each side", "--more-a and --more-b"),
        (true, false) => ("of A", "--more-a"),
        _ => ("of B", "--more-b"),
    };
    writeln!(
        out,
        "\nOne recording {which} does not show how much recordings vary; {options} add others"
    )
}

/// Returns a source location of at most 40 characters. A longer location loses its beginning,
/// because its end contains file and line.
fn shortened(source: &str) -> String {
    const LONGEST: usize = 40;
    let count = source.chars().count();
    if count <= LONGEST {
        return printable(source, LONGEST);
    }
    let end: String = source.chars().skip(count - LONGEST + 1).collect();
    printable(&format!("…{end}"), LONGEST)
}

fn write_side(name: &str, rows: usize, side: &Side, out: &mut impl Write) -> std::io::Result<()> {
    let only = side.only_here.len();
    let launches: usize = side
        .only_here
        .iter()
        .map(|item| if item.kind == MeasuredKind::Op { item.count } else { 1 })
        .sum();
    writeln!(
        out,
        "\nOnly in {name}: {} of {}",
        grouped(launches as u64),
        grouped(side.item_count as u64)
    )?;
    for item in side.only_here.iter().take(rows) {
        let (name, place) =
            (printable(&item.name, LONGEST_NAME), printable(&item.place, LONGEST_NAME));
        let count = match item.kind {
            MeasuredKind::Op => counted(item.count as u64, "launch", "launches"),
            MeasuredKind::Zone => counted(item.count as u64, "repetition", "repetitions"),
        };
        let reason = match item.reason {
            UnmatchedReason::Absent => String::new(),
            reason @ UnmatchedReason::Unmeasured => format!(", {}", reason.label()),
        };
        writeln!(
            out,
            "  {} {name} on {place} {}, {count}, {}{reason}",
            item.kind.label(),
            shortened(&item.source),
            microseconds(item.time_ns)
        )?;
    }
    if only > rows {
        writeln!(out, "  ... and {} more", grouped((only - rows) as u64))?;
    }
    let skipped: Vec<_> = side
        .skipped
        .iter()
        .map(|(reason, count)| format!("{} {reason}", grouped(*count)))
        .collect();
    let skipped = if skipped.is_empty() { "nothing".to_owned() } else { skipped.join(", ") };
    writeln!(out, "Skipped in {name}: {skipped}")?;
    let mut full = side.full_buffers.iter();
    full.try_for_each(|buffer| writeln!(out, "In doubt in {name}: {}", buffer.sentence()))
}
