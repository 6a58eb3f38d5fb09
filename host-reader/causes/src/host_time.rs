//! What the host did while the chip waited for it: programs that calls built again, and the line of the
//! program before the longest gap.

use crate::{
    duration::duration,
    finding::{Basis, Cause, Finding, GainOf, Place},
    threshold::BUILT_AGAIN,
};
use recording::problem::counted;
use reports::perf::{CallSite, OpReport, ProgramBuilds, Rebuild, RowKind};
use std::collections::{BTreeMap, BTreeSet};
use wire::RunHostId;

/// Adds to findings about a late host what the host did before the longest gap. `rows` are the rows of the
/// explained part, `all_rows` those of the whole recording: the call before the gap may precede the part.
pub(crate) fn add_host_facts(findings: &mut [Finding], rows: &[OpReport], all_rows: &[OpReport]) {
    for finding in findings.iter_mut().filter(|finding| finding.cause == Cause::Host) {
        let row = row_at(rows, &finding.place);
        finding.why.extend(row.and_then(|row| before_longest_gap(row, all_rows)));
    }
}

/// Reports calls that built programs although they had some. `rows` are the rows of the explained part,
/// `builds` the calls of all rows, and `place` the location of a row.
pub(crate) fn built_again(
    rows: &[OpReport],
    builds: &ProgramBuilds,
    place: impl Fn(&OpReport) -> Place,
) -> Option<Finding> {
    let by_id: BTreeMap<u64, &OpReport> = rows.iter().map(|row| (row.id, row)).collect();
    let mut again: Vec<(&CallSite, &Rebuild, &OpReport)> = Vec::new();
    for site in &builds.sites {
        let of_part = site.rebuilds.iter().filter_map(|of| Some((of, *by_id.get(&of.row_id)?)));
        // The rows of a replay say what their capture built.
        let of_part = of_part.filter(|(_, row)| row.trace_session.is_none());
        again.extend(of_part.map(|(rebuild, row)| (site, rebuild, row)));
    }
    let ms = |row: &OpReport| row.host_duration_ns.unwrap_or(0.0);
    again.sort_by(|(.., one), (.., other)| ms(other).total_cmp(&ms(one)));
    let (site, longest, row) = *again.first()?;
    let count = again.len();
    if (count as f64) < BUILT_AGAIN.value {
        return None;
    }
    let times: Option<f64> = again.iter().map(|(.., row)| row.host_duration_ns).sum();
    let took =
        times.map_or_else(String::new, |ns| format!("; the host took {} for that", duration(ns)));
    let sentence = match count {
        1 => format!("1 call builds its program again{took}"),
        count => format!("{count} calls build their programs again{took}"),
    };
    let at = site.location.as_deref().map_or_else(String::new, |of| format!(" at {of}"));
    let why = format!("{}{at}: {}", site.op_code, longest.reason);
    let advice = "call the op with arguments that do not change, or call each variant once before the \
                  part that counts; `kprof programs` shows each of these calls";
    let figure = (BUILT_AGAIN, count as f64);
    // An op on several chips is one call.
    let ids = rows.iter().filter_map(|row| Some(RunHostId(row.program()?.1).base()));
    let calls: BTreeSet<u32> = ids.collect();
    let basis = Basis::ops(count, calls.len().max(count));
    let finding = Finding::new(Cause::BuiltAgain, figure, sentence, place(row), advice, basis);
    Some(Finding {
        why: vec![why],
        rows: again.iter().take(3).map(|(.., row)| row.id).collect(),
        gain_of: GainOf::Recording,
        ..finding
    })
}

/// Returns the fact about the host's time before the op with the longest gap.
fn before_longest_gap(row: &OpReport, rows: &[OpReport]) -> Option<String> {
    // The host calls no op of a replay.
    let start_ns = row.host_start_ns.filter(|_| row.trace_session.is_none())?;
    let in_call_ns = row.host_duration_ns?;
    // Each chip has calls of its own, also of the same op.
    let of_chip = rows.iter().filter(|other| other.chip_id() == row.chip_id());
    let ends = call_times(of_chip).filter(|(start, _)| *start < start_ns).map(|(_, end)| end);
    let between = (ends.max_by(f64::total_cmp)?, start_ns);
    let outside_ns = time_outside(call_times(rows.iter()), between);
    let own = own_calls(rows, between);
    let place = row.call_location().map_or_else(String::new, |of| format!(" at {of}"));
    let parts = [
        (row.build_duration_ns, "making its program"),
        (row.compile_duration_ns, "compiling kernels"),
    ];
    let parts =
        parts.into_iter().filter_map(|(ns, what)| ns.map(|ns| format!("{} {what}", duration(ns))));
    let parts = parts.collect::<Vec<_>>().join(" and ");
    let of_which = if parts.is_empty() { parts } else { format!(", of which {parts}") };
    Some(format!(
        "before {}{place}, after the longest gap, the host spent {} outside of calls of ops{own} and {} in \
         the call{of_which}",
        row.raw_op_code,
        duration(outside_ns),
        duration(in_call_ns),
    ))
}

/// Returns the row of the op at a place: the one of this number, else the row of this program with the longest
/// gap.
fn row_at<'a>(rows: &'a [OpReport], place: &Place) -> Option<&'a OpReport> {
    let mut ops = rows.iter().filter(|row| row.kind == RowKind::Device);
    if let Some(id) = place.row {
        return ops.find(|row| row.id == id);
    }
    let program = place.chip_id.zip(place.run_host_id)?;
    let gaps = ops.filter(|row| row.program() == Some(program));
    let gaps = gaps.filter_map(|row| Some((row.op_to_op_gap_us?, row)));
    gaps.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, row)| row)
}

/// Returns a text about ops that ran on the host between two moments; empty without any.
fn own_calls(rows: &[OpReport], (from, until): (f64, f64)) -> String {
    let own = rows.iter().filter(|row| row.kind == RowKind::Host);
    let own = own.filter_map(|row| Some((row, row.host_start_ns?, row.host_duration_ns?)));
    let own: Vec<_> = own.filter(|(_, start, _)| (from..until).contains(start)).collect();
    let Some((longest, _, longest_ns)) = own.iter().max_by(|one, other| one.2.total_cmp(&other.2))
    else {
        return String::new();
    };
    let times = own.iter().map(|(_, start, ns)| (*start, start + ns));
    let all_ns = (until - from) - time_outside(times, (from, until));
    let count = counted(own.len() as u64, "op", "ops");
    let (name, longest_ns) = (&longest.raw_op_code, duration(*longest_ns));
    match own.len() {
        1 => format!(", {longest_ns} in {name}"),
        _ => format!(", {} in {count} of its own (longest {name}, {longest_ns})", duration(all_ns)),
    }
}

/// Returns the start and the end of each call whose times are known, in ns on the host's clock.
fn call_times<'a>(rows: impl Iterator<Item = &'a OpReport>) -> impl Iterator<Item = (f64, f64)> {
    rows.filter_map(|row| {
        let start = row.host_start_ns?;
        Some((start, start + row.host_duration_ns?))
    })
}

/// Returns the time between two moments in which no call ran; 0 if they are in the wrong order.
fn time_outside(calls: impl Iterator<Item = (f64, f64)>, (from, until): (f64, f64)) -> f64 {
    let mut calls: Vec<_> = calls.filter(|(start, end)| *start < until && *end > from).collect();
    calls.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let (mut outside, mut at) = (0.0, from);
    for (start, end) in calls {
        outside += (start - at).max(0.0);
        at = at.max(end);
    }
    outside + (until - at).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Explanation;
    use reports::perf::{PerfReport, read_ops_csv};

    /// Two ops, of which the second starts 30 ms after the first has ended.
    const CSV: &str = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,HOST START TS,HOST DURATION [ns],\
        DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns],PROGRAM CACHE HIT,CompileProgram_TT_HOST_FUNC [ns],\
        HOST BUILD DURATION [ns],CALL LOCATION\n\
        Add,tt_dnn_device,1024,0,{'alpha': 1},1000000,500000,2000,0,False,,,a.py:1\n\
        Add,tt_dnn_device,2048,0,{'alpha': 2},4500000,27000000,2000,30000000,False,25000000,1000000,a.py:1\n";

    fn explained(csv: &str, cause: Cause) -> Option<Finding> {
        let csv = read_ops_csv(csv.as_bytes(), "ops.csv").unwrap();
        let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
        let explanation = Explanation::from_perf_report(&report);
        explanation.findings.into_iter().find(|of| of.cause == cause)
    }

    #[test]
    fn a_call_that_builds_again_names_the_argument() {
        let finding = explained(CSV, Cause::BuiltAgain).unwrap();
        assert_eq!(
            finding.sentence,
            "1 call builds its program again; the host took 27.0 ms for that"
        );
        assert_eq!(finding.why, ["Add at a.py:1: alpha: 1 -> 2"]);
        assert_eq!((finding.place.row, finding.rows), (Some(3), vec![3]));
        assert_eq!(finding.rests_on.to_string(), "1 of 2 ops");
        assert_eq!(explained(&CSV.replace("False", "True"), Cause::BuiltAgain), None);
    }

    #[test]
    fn a_late_host_names_the_line_before_the_longest_gap() {
        let why = explained(CSV, Cause::Host).unwrap().why;
        let fact = "before Add at a.py:1, after the longest gap, the host spent 3.0 ms outside of calls \
                    of ops and 27.0 ms in the call, of which 1.0 ms making its program and 25.0 ms \
                    compiling kernels";
        assert!(why.iter().any(|of| of == fact), "{why:#?}");
    }

    /// A loop of two ops that reads the result back: the longest gap is before the first op of an iteration, and
    /// the host's own ops take most of it.
    #[test]
    fn the_gap_before_the_steady_part_is_told_with_the_calls_in_it() {
        let mut csv = CSV.lines().next().unwrap().to_owned() + "\n";
        for step in 0..4_u64 {
            let at = 10_000_000 + step * 30_000_000;
            let gap = if step == 0 { 0 } else { 20_000_000 };
            csv += &format!(
                "Embed,tt_dnn_device,{},0,,{at},40000,9000000,{gap},True,,,\n",
                step * 3072 + 1024
            );
            csv += &format!(
                "Matmul,tt_dnn_device,{},0,,{},50000,1000000,1000,True,,,\n",
                step * 3072 + 2048,
                at + 45_000
            );
            csv +=
                &format!("ttnn.from_device,python_fallback,,,,{},27000000,,,,,,\n", at + 100_000);
            csv += &format!("torch.argmax,python_fallback,,,,{},2000000,,,,,,\n", at + 27_200_000);
        }
        let finding = explained(&csv, Cause::Host).unwrap();
        // From the end of the call of Matmul, 95,000 ns after the step's begin, to the next step.
        let fact = "before Embed, after the longest gap, the host spent 905 us outside of calls of ops, 29.0 ms \
                    in 2 ops of its own (longest ttnn.from_device, 27.0 ms) and 40 us in the call";
        assert!(finding.why.iter().any(|of| of == fact), "{:#?}", finding.why);
    }

    /// A mesh of two chips: the host calls an op for one chip after the other.
    #[test]
    fn calls_for_other_chips_are_no_time_between_the_calls_of_a_chip() {
        let row = |id: u64, chip: u64, start: u64, host_ns: u64, gap: u64| {
            let op = if gap == 0 { "Add" } else { "Tilize" };
            format!("{op},tt_dnn_device,{id},{chip},,{start},{host_ns},2000,{gap},True,,,\n")
        };
        let mut csv = CSV.lines().next().unwrap().to_owned() + "\n";
        csv += &row(1024, 0, 1_000_000, 50_000, 0);
        csv += &row(1025, 1, 1_050_000, 50_000, 0);
        csv += &row(2048, 0, 31_000_000, 60_000, 30_000_000);
        csv += &row(2049, 1, 31_060_100, 70_000, 30_000_200);
        let why = explained(&csv, Cause::Host).unwrap().why;
        // Chip 1: 31,060,100 - 1,100,000 ns, less the call for chip 0.
        let fact = "before Tilize, after the longest gap, the host spent 29.9 ms outside of calls of ops and \
                    70 us in the call";
        assert!(why.iter().any(|of| of == fact), "{why:#?}");
        assert_eq!(
            time_outside([(5.0, 9.0), (1.0, 2.0), (6.0, 7.0)].into_iter(), (0.0, 10.0)),
            5.0
        );
        assert_eq!(time_outside([(0.0, 20.0)].into_iter(), (3.0, 2.0)), 0.0);
    }

    #[test]
    fn rows_of_a_replay_build_nothing() {
        let titles = CSV.lines().next().unwrap().to_owned()
            + ",METAL TRACE ID,METAL TRACE REPLAY SESSION ID\n";
        let rows: String = CSV.lines().skip(1).map(|row| format!("{row},7,1\n")).collect();
        assert_eq!(explained(&(titles + &rows), Cause::BuiltAgain), None);
    }

    #[test]
    fn without_the_host_s_times_nothing_is_said_of_them() {
        let untimed = CSV.replace("1000000,500000", ",").replace("4500000,27000000", ",");
        let why = explained(&untimed, Cause::Host).unwrap().why;
        assert!(!why.iter().any(|of| of.contains("outside of calls")), "{why:#?}");
        let again = explained(&untimed, Cause::BuiltAgain).unwrap();
        assert_eq!(again.sentence, "1 call builds its program again");
    }
}
