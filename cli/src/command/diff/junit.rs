//! The verdict of a gate as JUnit XML, which CI systems show as tests.

use super::{
    show::count_text,
    verdict::{Verdict, elapsed_sentence},
};
use crate::{
    failure::{Failure, OrFail},
    terminal::printable,
};
use host_reader::diff::{Change, Diff};
use quick_xml::{
    Writer,
    events::{BytesDecl, BytesText, Event},
};
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

/// Name of the suite, and of the test that fails if too little was compared.
const SUITE: &str = "kprof diff";
const COVERAGE: &str = "half of the ops have a duration, and half of the time was compared";
/// Name of the test that fails if ops that only one side has change the time by more than the limits.
const UNPAIRED: &str = "ops that only one side has change the time by no more than the limits";

/// Name of the test that fails if the time that ops share exceeds the limits.
const OVERLAP: &str = "the time in which any op runs is within the limits";

/// Name of the test that fails if an iteration with the gaps between its ops exceeds the limits.
const ELAPSED: &str = "iterations with the gaps between their ops are within the limits";

/// Longest name of a test.
const LONGEST: usize = 240;

/// Writes a test for each change, one for the time that was compared, and one for what was not.
pub(super) fn write(path: &Path, diff: &Diff, verdict: &Verdict<'_>) -> Result<(), Failure> {
    let mut out = BufWriter::new(File::create(path).or_fail_at(path)?);
    write_suite(diff, verdict, &mut out).and_then(|()| out.flush()).or_fail_at(path)
}

fn write_suite(diff: &Diff, verdict: &Verdict<'_>, out: &mut impl Write) -> io::Result<()> {
    let shortfall = verdict.shortfall.map(|found| found.to_string());
    let elapsed = verdict
        .elapsed
        .iter()
        .map(|(found, of)| format!("{}: {}", found.label(), elapsed_sentence(of)))
        .chain(verdict.iterations.clone());
    let elapsed: Vec<String> = elapsed.collect();
    let elapsed = (!elapsed.is_empty()).then(|| elapsed.join("; "));
    let of_all = [
        (COVERAGE, &shortfall),
        (UNPAIRED, &verdict.unpaired),
        (ELAPSED, &elapsed),
        (OVERLAP, &verdict.overlap),
    ];
    let failed = of_all.iter().filter(|(_, failure)| failure.is_some()).count();
    let tests = diff.changes.len().saturating_add(of_all.len()).to_string();
    let failures = verdict.findings.len().saturating_add(failed).to_string();
    let counts = [("tests", &*tests), ("failures", &*failures)];
    let mut writer = Writer::new_with_indent(out, b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let suites = writer.create_element("testsuites").with_attributes(counts);
    suites.write_inner_content(|writer| {
        let suite = writer.create_element("testsuite").with_attribute(("name", SUITE));
        suite.with_attributes(counts).write_inner_content(|writer| {
            for (name, failure) in of_all {
                write_test(writer, SUITE, name, failure.as_deref())?;
            }
            for change in &diff.changes {
                let failure = verdict.gate.finding(change).map(|found| {
                    let percent = change.percent().abs();
                    format!("{} by {percent:.2} %: {}", found.label(), durations(change))
                });
                let place = printable(&change.place, LONGEST);
                write_test(writer, &place, &name_of(change), failure.as_deref())?;
            }
            Ok(())
        })?;
        Ok(())
    })?;
    writer.into_inner().write_all(b"\n")
}

fn write_test<W: Write>(
    writer: &mut Writer<W>,
    class: &str,
    name: &str,
    failure: Option<&str>,
) -> io::Result<()> {
    let test = writer.create_element("testcase").with_attribute(("classname", class));
    let test = test.with_attribute(("name", name));
    let Some(failure) = failure else {
        test.write_empty()?;
        return Ok(());
    };
    test.write_inner_content(|writer| {
        let element = writer.create_element("failure").with_attribute(("message", failure));
        element.write_text_content(BytesText::new(failure))?;
        Ok(())
    })?;
    Ok(())
}

/// Returns the name of a change's test, without control characters, which XML does not allow.
fn name_of(change: &Change) -> String {
    let text = format!("{} {} {}", change.kind.label(), change.name, change.source);
    printable(text.trim_end(), LONGEST)
}

fn durations(change: &Change) -> String {
    let cycles = change.a_cycles.zip(change.b_cycles);
    let cycles = cycles.map_or_else(String::new, |(a, b)| format!(", {a:.0} and {b:.0} cycles"));
    let zones = change.zones_per_run.map_or_else(String::new, |(a, b)| {
        format!(", in {} and {} zones of a kernel run", count_text(a), count_text(b))
    });
    format!(
        "{:.1} ns in A, {:.1} ns in B{cycles}{zones}",
        change.a_geometric_mean_ns, change.b_geometric_mean_ns
    )
}
