//! Reads the input of commands: a device log, a capture, or a folder with TT-Metal's logs.

use crate::{
    failure::{Failure, OrFail, failure, note},
    file_kind::{self, CAPTURE, RECORDING, STANDARD_INPUT},
    numbers::counted,
    progress::Busy,
};
use host_reader::{
    capture::Capture,
    export::{HiddenLaunches, Trace, TraceFilter},
    packed_bytes::PackedMemory,
    readout::Readout,
    recording::{Loaded, Opened, PackedRecording, Recording, open_log, open_within},
};
use std::{io::Read, path::Path, sync::Arc};

/// Reads the file or folder at the path. The format is detected from the content, and `-` means a
/// device log on standard input. The packed records of a device log are stored in `memory`.
pub(crate) fn open_packed(path: &Path, memory: &Arc<PackedMemory>) -> Result<Opened, Failure> {
    let _busy = Busy::new(format!("reading {}", path.display()));
    let opened = if path == Path::new("-") {
        let mut input = std::io::stdin().lock();
        let head = file_kind::head(&mut input).or_fail()?;
        let opened = open_log((&*head).chain(input), STANDARD_INPUT, memory).or_fail();
        opened.map_err(|failure| RECORDING.instead_of_stream(&head, failure))
    } else {
        open_within(path, memory)
            .or_fail_at(path)
            .map_err(|failure| RECORDING.instead(path, failure))
    };
    let opened = opened?;
    if let Opened::Log(log) = &opened
        && let Some(file) = &log.changed_log
    {
        let file = file.display();
        note!(
            "kprof: {file} has changed since a simulation wrote it with {file}.derived, so its losses are \
             unknown"
        );
    }
    if let Opened::Capture(Loaded { problem_count: count @ 1.., .. }) = opened {
        let path = path.display();
        let problems = counted(count, "problem", "problems");
        note!("kprof: {path}: {problems}, the rest is used; `kprof check {path}` lists them");
    }
    Ok(opened)
}

/// Opens a capture.
pub(crate) fn open_capture(path: &Path) -> Result<Capture, Failure> {
    Capture::open(path).or_fail_at(path).map_err(|failure| CAPTURE.instead(path, failure))
}

/// Unpacks the records of a log; a capture is returned unchanged.
pub(crate) fn unpacked(opened: Opened) -> Result<Loaded, Failure> {
    opened.into_loaded().or_fail()
}

/// Returns the trace of a run, without the data that the filters exclude.
pub(crate) fn trace<'run>(
    run: &'run Recording,
    filters: &[TraceFilter],
) -> Result<Trace<'run>, Failure> {
    Ok(Trace::new(run, &filter_for(run, filters)?))
}

/// Removes the launches, lanes and losses that the filters exclude.
pub(crate) fn retain(
    run: &mut Recording,
    filters: &[TraceFilter],
) -> Result<HiddenLaunches, Failure> {
    let filter = filter_for(run, filters)?;
    Ok(run.retain(&filter))
}

/// Joins all filters, and checks that the run has the signposts named in the filters.
///
/// # Errors
/// If a filter names a signpost that the run does not have.
pub(crate) fn filter_for(run: &Recording, filters: &[TraceFilter]) -> Result<TraceFilter, Failure> {
    let filter = joined(filters);
    match filter.unknown_signposts(run.signpost_names()).first() {
        None => Ok(filter),
        Some(name) => Err(failure!(
            "expected a signpost `{name}` that the host recorded, found none; captures keep \
             signposts, device logs do not"
        )),
    }
}

/// Joins several filters into one.
pub(crate) fn joined(filters: &[TraceFilter]) -> TraceFilter {
    let mut filter = TraceFilter::default();
    filters.iter().cloned().for_each(|terms| filter.extend(terms));
    filter
}

/// Reads the runs at a path in the same way as [`open_packed`]. A capture has at least one run; a
/// log has exactly one.
pub(crate) fn open_runs(path: &Path) -> Result<Vec<Recording>, Failure> {
    let opened = open_packed(path, &PackedMemory::unlimited())?;
    let _busy = Busy::new(format!("reading {}", path.display()));
    Ok(unpacked(opened)?.recordings)
}

/// A run, packed if nothing in it needs all lanes at once.
pub(crate) enum Run {
    Packed(Box<PackedRecording>),
    Whole(Box<Recording>),
}

impl Run {
    /// Returns the run; without lanes if they are packed.
    pub(crate) fn recording(&self) -> &Recording {
        match self {
            Self::Packed(packed) => &packed.recording,
            Self::Whole(run) => run,
        }
    }
}

/// Reads the runs at a path in the same way as [`open_packed`], without the data that the filters
/// exclude. The records of a device log stay packed, unless a filter or a kind of data needs all of
/// them at once.
pub(crate) fn open_flat(
    path: &Path,
    filters: &[TraceFilter],
    memory: &Arc<PackedMemory>,
) -> Result<Vec<Run>, Failure> {
    let opened = open_packed(path, memory)?;
    let busy = Busy::new(format!("reading {}", path.display()));
    let opened = match opened {
        Opened::Log(log) if joined(filters).is_empty() => match PackedRecording::obstacle(&log) {
            None => return Ok(vec![Run::Packed(Box::new(PackedRecording::new(*log).or_fail()?))]),
            Some(what) => {
                if memory.written_bytes() > 0 {
                    let path = path.display();
                    drop(busy);
                    note!("kprof: {path}: {what} need all records at once: --memory is no limit");
                }
                Opened::Log(log)
            }
        },
        opened => opened,
    };
    let mut runs = unpacked(opened)?.recordings;
    runs.iter_mut().try_for_each(|run| retain(run, filters).map(drop))?;
    Ok(runs.into_iter().map(|run| Run::Whole(Box::new(run))).collect())
}

/// Reads the run with the given number from a file; the first run has number 1. If no number is
/// given, the file must contain exactly one run.
pub(crate) fn open_run(path: &Path, number: Option<usize>) -> Result<Recording, Failure> {
    chosen_run(open_runs(path)?, path, number)
}

/// Returns the run with the given number; the first run has number 1. If no number is given, there
/// must be exactly one run.
pub(crate) fn chosen_run<R>(
    runs: Vec<R>,
    path: &Path,
    number: Option<usize>,
) -> Result<R, Failure> {
    let count = runs.len();
    let chosen = number.unwrap_or(1);
    if number.is_none() && count > 1 {
        return Err(failure!(
            "{} holds {count} runs; choose one by --run 1 to --run {count}",
            path.display()
        ));
    }
    let run = runs.into_iter().nth(chosen.wrapping_sub(1));
    run.ok_or_else(|| {
        let runs = counted(count as u64, "run", "runs");
        failure!("{} holds {runs}, found --run {chosen}", path.display())
    })
}

/// Returns a title for a readout: architecture, and numbers of chips and cores.
pub(crate) fn describe(readout: &Readout) -> String {
    let Some(chip) = readout.devices.first().map(|device| &device.chip) else {
        return match readout.anomalies.is_empty() {
            true => "empty log".to_owned(),
            false => "a log without a usable record".to_owned(),
        };
    };
    let cores = chip.max_compute_cores.map_or_else(String::new, |count| {
        format!(", {}", counted(count.into(), "worker core", "worker cores"))
    });
    let chips = counted(readout.devices.len() as u64, "chip", "chips");
    let clock = match chip.aiclk_mhz {
        0 => "an unknown clock".to_owned(),
        mhz => format!("{mhz} MHz"),
    };
    format!("{} at {clock}{cores}, {chips}", chip.arch)
}
