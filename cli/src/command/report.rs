//! `kprof report`: the tables of a device log or a capture that exists already.

use crate::{
    args::{ReportArgs, ShowArgs},
    failure::Failure,
    json::Source,
    output::Findings,
    recording::{align, open},
    tables::{counted, grouped},
};
use host_reader::{
    analysis::TileOrigins,
    capture::{CapturedRun, FILE_MAGIC, Overrides},
    log::read_device_log_file,
    readout::Readout,
};
use std::{fs::File, io::Read, path::Path, process::ExitCode};

/// Reads the log or capture and shows it; of a capture, one run after the other.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    if !is_capture(&args.file) {
        let readout = read_device_log_file(&args.file);
        return show(readout.map_err(|error| Failure::from_error(&error))?, "", args.show);
    }
    let runs = read_capture(&args.file)?;
    let run_count = runs.len() as u64;
    let mut code = ExitCode::SUCCESS;
    for (number, readout) in (1..).zip(runs) {
        let which = match run_count {
            1 => String::new(),
            _ => format!("Run {} of {}: ", grouped(number), grouped(run_count)),
        };
        if number > 1 && !args.show.json {
            println!();
        }
        let shown = show(readout, &which, args.show)?;
        if shown != ExitCode::SUCCESS {
            code = shown;
        }
    }
    Ok(code)
}

fn show(readout: Readout, which: &str, show: ShowArgs) -> Result<ExitCode, Failure> {
    let (title, arch, worker_cores) = describe(&readout);
    let source = Source {
        arch: &arch,
        devices: readout.devices.len(),
        worker_cores,
        launches: launch_count(&readout),
        kernels: None,
        execution_failures: &[],
    };
    let title = format!("{which}{title}");
    Findings::new(readout, &TileOrigins::default()).show(&title, &source, show)
}

/// Whether a file begins as captures do. One damaged byte there does not hide a capture.
fn is_capture(path: &Path) -> bool {
    // What is no plain file, such as a pipe, could not be read again from its beginning.
    if !std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let mut found = [0; FILE_MAGIC.len()];
    let is_read = File::open(path).and_then(|mut file| file.read_exact(&mut found)).is_ok();
    let equal = found.iter().zip(FILE_MAGIC).filter(|&(&found, expected)| found == expected);
    is_read && equal.count() > FILE_MAGIC.len() / 2
}

/// Decodes the words of a capture, run by run, and tells if some cannot be used.
fn read_capture(path: &Path) -> Result<Vec<Readout>, Failure> {
    let capture = open(path)?;
    let check = capture.check();
    if !check.is_clean() {
        let path = path.display();
        let problems = counted(check.problems.len() as u64, "problem", "problems");
        eprintln!("kprof: {path}: {problems}, the rest is used; `kprof check {path}` tells more");
    }
    let runs = capture.runs(&Overrides::default());
    let runs = runs.map_err(|error| Failure::of_file(path, &error))?;
    Ok(runs.into_iter().map(on_one_clock).collect())
}

/// What a run gave, on the clocks that were sampled in it.
fn on_one_clock(mut run: CapturedRun) -> Readout {
    align(&mut run.readout, &run.samples);
    run.readout
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
