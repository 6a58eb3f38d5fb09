//! `kprof report`: the tables of an existing device log or capture.

use crate::{
    args::ReportArgs,
    clocks::chip_clocks,
    failure::{Failure, OrFail},
    input::{describe, joined, open_packed, retain, unpacked},
    json::{HostCounts, Source},
    numbers::grouped,
    op_names::OpNames,
    output::Findings,
    progress::Busy,
};
use host_reader::{
    export::HiddenLaunches,
    log::PackedLog,
    recording::{Opened, Recording, report_of_log},
    report::{BufferPeaks, OpPeaks},
};
use std::{io::Write, process::ExitCode};
use wire::ZoneId;

/// Reads the log or capture and prints it; runs of a capture are printed one after the other.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let opened = match open_packed(&args.file, &args.memory.packed())? {
        Opened::Log(log) if is_whole(args) && !has_counters(&log.log) => {
            let busy = Busy::new("computing figures");
            let figures = report_of_log(*log).or_fail();
            drop(busy);
            let (Recording { readout, ops, .. }, report) = figures?;
            let findings = Findings::from_report(readout, report).with_names(OpNames::new(&ops));
            return show(args, findings, HostCounts::default(), "", HiddenLaunches::default());
        }
        opened => opened,
    };
    let runs = unpacked(opened)?.recordings;
    let run_count = runs.len() as u64;
    let mut code = ExitCode::SUCCESS;
    for (number, mut run) in (1..).zip(runs) {
        let hidden = retain(&mut run, &args.filters)?;
        let mut buffers = BufferPeaks::from_recording(&run);
        let filter = joined(&args.filters);
        buffers.retain(&filter);
        buffers.ops.retain(|op| !is_hidden(op, &hidden));
        let host = HostCounts::new(&run.host).with_clocks(chip_clocks(&run));
        let Recording { readout, ops, .. } = run;
        let which = match run_count {
            1 => String::new(),
            _ => format!("Run {} of {}: ", grouped(number), grouped(run_count)),
        };
        if number > 1 && !args.show.json {
            writeln!(std::io::stdout())?;
        }
        let findings = Findings::new(readout, args.show)?.with_names(OpNames::new(&ops));
        let findings = findings.with_buffers(buffers);
        let shown = show(args, findings, host, &which, hidden)?;
        if shown != ExitCode::SUCCESS {
            code = shown;
        }
    }
    Ok(code)
}

/// Returns true if the filter has hidden the op's launches of the chip.
fn is_hidden(op: &OpPeaks, hidden: &HiddenLaunches) -> bool {
    let [device_id, run_host_id] =
        [op.device_id, op.run_host_id].map(|id| u32::try_from(id).unwrap_or(u32::MAX));
    hidden.ops.contains(&(device_id, run_host_id))
}

/// Returns true if the options use all records unchanged; the records then need not be kept.
fn is_whole(args: &ReportArgs) -> bool {
    joined(&args.filters).is_empty() && !args.show.subtract_probe_cost
}

/// Returns true if the log may contain hardware counters. Their figures need all lanes.
fn has_counters(log: &PackedLog) -> bool {
    log.lanes.has_marker(ZoneId::PERF_COUNTER)
}

fn show(
    args: &ReportArgs,
    mut findings: Findings,
    host: HostCounts,
    which: &str,
    hidden: HiddenLaunches,
) -> Result<ExitCode, Failure> {
    let (readout, report) = findings.parts();
    let (title, arch, worker_cores) = describe(readout);
    let source = Source {
        arch: &arch,
        devices: readout.devices.len(),
        worker_cores,
        launches: report.summary.launch_count,
        execution_failures: &[],
        reads: None,
        host,
    };
    let title = format!("{which}{title}");
    findings.filter(&joined(&args.filters), hidden);
    findings.show(&title, &source, args.show)
}
