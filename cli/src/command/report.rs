//! `kprof report`: the tables of a device log or a capture that exists already.

use crate::{
    args::ReportArgs,
    failure::Failure,
    input::{Input, joined, retain},
    json::{HostCounts, Source},
    numbers::{counted, grouped},
    op_names::OpNames,
    output::Findings,
};
use host_reader::{
    export::HiddenLaunches, host::HostRecording, readout::Readout, recording::Recording,
};
use std::process::ExitCode;

/// Reads the log or capture and shows it; of a capture, one run after the other.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let runs = Input::open(&args.file)?.runs;
    let run_count = runs.len() as u64;
    let mut code = ExitCode::SUCCESS;
    for (number, mut run) in (1..).zip(runs) {
        let hidden = retain(&mut run, &args.filters)?;
        let Recording { readout, host, ops, .. } = run;
        let which = match run_count {
            1 => String::new(),
            _ => format!("Run {} of {}: ", grouped(number), grouped(run_count)),
        };
        if number > 1 && !args.show.json {
            println!();
        }
        let shown = show(args, (readout, OpNames::new(&ops)), &host, &which, hidden)?;
        if shown != ExitCode::SUCCESS {
            code = shown;
        }
    }
    Ok(code)
}

fn show(
    args: &ReportArgs,
    (readout, names): (Readout, OpNames),
    host: &[HostRecording],
    which: &str,
    hidden: HiddenLaunches,
) -> Result<ExitCode, Failure> {
    let (title, arch, worker_cores) = describe(&readout);
    let source = Source {
        arch: &arch,
        devices: readout.devices.len(),
        worker_cores,
        launches: launch_count(&readout),
        kernels: None,
        execution_failures: &[],
        host: HostCounts::new(host),
    };
    let title = format!("{which}{title}");
    let mut findings = Findings::new(readout, args.show)?.with_names(names);
    findings.filter(&joined(&args.filters), hidden);
    findings.show(&title, &source, args.show)
}

fn describe(readout: &Readout) -> (String, String, Option<u32>) {
    let Some(chip) = readout.devices.first().map(|device| &device.chip) else {
        return ("empty log".to_owned(), String::new(), None);
    };
    let cores = chip.max_compute_cores.map_or_else(String::new, |count| {
        format!(", {}", counted(count.into(), "worker core", "worker cores"))
    });
    let chips = counted(readout.devices.len() as u64, "chip", "chips");
    let title = format!("{} at {} MHz{cores}, {chips}", chip.arch, chip.aiclk_mhz);
    (title, chip.arch.clone(), chip.max_compute_cores)
}

/// Launches of the core that saw most, over all chips.
fn launch_count(readout: &Readout) -> u64 {
    let of_device = |device: &host_reader::readout::DeviceReadout| {
        device.lanes.iter().map(|lane| lane.runs.len() as u64).max().unwrap_or(0)
    };
    readout.devices.iter().map(of_device).sum()
}
