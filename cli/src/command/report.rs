//! `kprof report`: prints the tables of an existing device log or capture.

use crate::{
    args::ReportArgs,
    failure::{Failure, OrFail},
    folders::note_simulations,
    input::{describe, joined, open_packed, retain, unpacked},
    json::{HostCounts, Source},
    numbers::grouped,
    output::Findings,
    progress::Busy,
};
use host_reader::{
    log::PackedLog,
    recording::{Opened, report_of_log},
};
use std::{io::Write, process::ExitCode};
use wire::ZoneId;

/// Reads the log or capture and prints its tables. The tables of several runs in a capture are
/// printed one after the other.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    note_simulations(&args.file);
    // If no option changes records, the records need not be kept in memory.
    let is_whole = joined(&args.filters).is_empty() && !args.show.subtract_probe_cost;
    // Figures of hardware counters need all lanes.
    let has_counters = |log: &PackedLog| log.lanes.has_marker(ZoneId::PERF_COUNTER);
    let opened = match open_packed(&args.file, &args.memory.packed())? {
        Opened::Log(log) if is_whole && !has_counters(&log.log) => {
            let busy = Busy::new("computing figures");
            let figures = report_of_log(*log).or_fail();
            drop(busy);
            let (recording, report) = figures?;
            let findings = Findings::from_report(recording, report);
            return show(args, &findings, HostCounts::default(), "");
        }
        opened => opened,
    };
    let runs = unpacked(opened)?.recordings;
    let run_count = runs.len() as u64;
    let mut code = ExitCode::SUCCESS;
    for (number, mut run) in (1..).zip(runs) {
        let hidden = retain(&mut run, &args.filters)?;
        let host = HostCounts::new(&run);
        let which = match run_count {
            1 => String::new(),
            _ => format!("Run {} of {}: ", grouped(number), grouped(run_count)),
        };
        if number > 1 && !args.show.json {
            writeln!(std::io::stdout())?;
        }
        let mut findings = Findings::new(run, args.show)?;
        findings.filter(&joined(&args.filters), hidden);
        let shown = show(args, &findings, host, &which)?;
        if shown != ExitCode::SUCCESS {
            code = shown;
        }
    }
    Ok(code)
}

fn show(
    args: &ReportArgs,
    findings: &Findings,
    host: HostCounts,
    which: &str,
) -> Result<ExitCode, Failure> {
    let title = format!("{which}{}", describe(&findings.readout));
    findings.show(&title, &Source::new(findings, host), args.show)
}
