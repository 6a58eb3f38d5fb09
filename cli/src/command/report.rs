//! `kprof report`: the tables of a device log that exists already.

use crate::{args::ReportArgs, failure::Failure, json::Source, output::Findings, tables::counted};
use host_reader::{analysis::TileOrigins, log::read_device_log_file, readout::Readout};
use std::process::ExitCode;

/// Reads the log and shows it.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let readout = read_device_log_file(&args.file).map_err(|error| Failure::from_error(&error))?;
    let (title, arch, worker_cores) = describe(&readout);
    let source = Source {
        arch: &arch,
        devices: readout.devices.len(),
        worker_cores,
        launches: launch_count(&readout),
    };
    Findings::new(readout, &TileOrigins::default()).show(&title, &source, args.show)
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
