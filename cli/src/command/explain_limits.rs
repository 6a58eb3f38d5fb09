//! What limits of a chip cost in `kprof explain`: simulations of the same program without them.

use super::diff::Recording;
use crate::{
    failure::{Failure, failure},
    layout::{table, write_table},
    memory::MemoryArgs,
    numbers::counted,
    terminal::{LONGEST_NAME, printable},
};
use host_reader::{
    diff::{Diff, DiffOptions, LimitCost, MeasuredKind, Side, Unmatched, UnmatchedReason},
    export::TraceFilter,
    perf::WindowOptions,
    simulated_time::SimulatedTime,
};
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Compares a recording with recordings of the same program for which limits were lifted.
///
/// # Errors
/// If a file cannot be read, or is not such a recording.
pub(super) fn costs(
    input: &Path,
    without: &[PathBuf],
    (filters, memory): (&[TraceFilter], &MemoryArgs),
) -> Result<Vec<LimitCost>, Failure> {
    if without.is_empty() {
        return Ok(Vec::new());
    }
    let open =
        |path: &Path| Recording::open(path, filters, (memory, None, &WindowOptions::all_rows()));
    let base = open(input)?;
    let (known, measured) = (base.simulated(), base.measurements()?);
    drop(base);
    let costs = without.iter().map(|path| {
        let other = open(path)?;
        let (lifted, others) = (other.simulated(), other.measurements()?);
        drop(other);
        let diff = Diff::new(&measured, &others, DiffOptions::default());
        let cost = LimitCost::new((known.as_ref(), lifted.as_ref()), &diff);
        let cost =
            cost.ok_or_else(|| not_lifted(input, known.as_ref(), (path, lifted.as_ref())))?;
        // An op without a duration on either side is no other program: it hangs, or was lost.
        let is_absent = |side: &Side| {
            let is = |item: &Unmatched| item.kind == MeasuredKind::Op;
            let absent = side.only_here.iter().filter(|item| is(item));
            absent.clone().any(|item| item.reason == UnmatchedReason::Absent)
        };
        let (a, b) = (diff.a.op_count, diff.b.op_count);
        if a != b || [&diff.a, &diff.b].into_iter().any(is_absent) {
            return Err(failure!(
                "expected the same ops in {} as in {}, found {} here and {} there, of which {} are \
                 equal; record the same program with the same seed",
                path.display(),
                input.display(),
                counted(b as u64, "launch", "launches"),
                a,
                cost.launch_count
            ));
        }
        Ok(cost)
    });
    costs.collect()
}

fn not_lifted(
    input: &Path,
    known: Option<&SimulatedTime>,
    (path, lifted): (&Path, Option<&SimulatedTime>),
) -> Failure {
    let lifts = |stated: Option<&SimulatedTime>| match stated {
        None => "is not known to be simulated".to_owned(),
        Some(stated) if stated.lifted.is_empty() => "lifts none".to_owned(),
        Some(stated) => format!("lifts {}", stated.lifted.join(", ")),
    };
    failure!(
        "expected a simulation without limits that {} has, as --what-if makes, found that {} {}, and \
         {} {}",
        input.display(),
        path.display(),
        lifts(lifted),
        input.display(),
        lifts(known)
    )
}

/// Returns the cost of limits as a sentence.
pub(super) fn cost_sentence(cost: &LimitCost) -> String {
    let launches = counted(cost.launch_count as u64, "launch", "launches");
    let limits = cost.limits.join(" and ");
    let untimed = match cost.untimed_count {
        0 => String::new(),
        count => format!(
            "; {} no length with or without, and cost an unknown time",
            counted(count as u64, "launch has", "launches have")
        ),
    };
    match cost.percent() {
        None => format!("Cost of {limits}: unknown, because no op was compared{untimed}"),
        Some(percent) => format!(
            "Cost of {limits}: {:.3} us, {:.1} % of the {:.3} us of {launches}, which take {:.3} us \
             without{untimed}",
            cost.cost_ns() / 1000.0,
            without_sign_of_zero(percent),
            cost.with_ns / 1000.0,
            cost.without_ns / 1000.0
        ),
    }
}

/// Returns a number that is not shown as -0.0.
fn without_sign_of_zero(percent: f64) -> f64 {
    (10.0 * percent).round() / 10.0 + 0.0
}

/// Writes the costs of all ops, then those of each kind of op.
pub(super) fn write_costs(
    costs: &[LimitCost],
    rows: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    if costs.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nWhat limits cost\n")?;
    for cost in costs {
        writeln!(out, "   {}", cost_sentence(cost))?;
    }
    let mut groups = table(&["limits", "op", "launches", "time us", "without us", "cost %"]);
    let all = costs.iter().flat_map(|cost| cost.groups.iter().map(move |group| (cost, group)));
    let count = all.clone().count();
    for (cost, group) in all.take(rows) {
        let percent = -100.0 * group.change_ns / group.a_ns;
        groups.add_row([
            cost.limits.join(" and "),
            printable(&group.name, LONGEST_NAME),
            group.pair_count.to_string(),
            format!("{:.3}", group.a_ns / 1000.0),
            format!("{:.3}", group.b_ns / 1000.0),
            format!("{:.1}", without_sign_of_zero(percent)),
        ]);
    }
    writeln!(out)?;
    write_table(&mut groups, count, rows, out)
}
