//! `kprof export`: a trace for a viewer from a log or a capture.

use crate::{
    args::ExportArgs, failure::Failure, input::Input, progress::Progress, tables::grouped,
};
use host_reader::{
    analysis::TileOrigins,
    export::{
        CancelFlag, Destination, ExportFormat, Trace, TraceFilter, TraceSource, write_atomically,
    },
};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    io::{IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
};

/// Reads, builds the trace, writes it whole or not at all.
pub(crate) fn run(args: &ExportArgs) -> Result<ExitCode, Failure> {
    let (format, destination) = target(args)?;
    let run = Input::open(&args.file)?.into_run(&args.file, args.run)?;
    let mut filter = TraceFilter::default();
    args.filters.iter().cloned().for_each(|terms| filter.extend(terms));
    let origins = TileOrigins::default();
    let clock = run.clock.as_ref();
    let source = TraceSource { readout: &run.readout, origins: &origins, clock, ops: &run.ops };
    let trace = Trace::new(&source, &filter);
    let progress = Progress::new("lanes", trace.lane_count() as u64);
    let cancel = cancel_on_signals()?;
    write_atomically(&destination, &cancel, |out| {
        format.write(&trace, out, &mut |lanes| progress.set(lanes as u64))
    })
    .map_err(|error| Failure::from_error(&error))?;
    drop(progress);
    if destination != Destination::Stdout {
        Written::new(&trace, format, &destination).tell(args.json)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The format and where to, as far as one tells the other.
fn target(args: &ExportArgs) -> Result<(ExportFormat, Destination), Failure> {
    let Some(output) = &args.output else {
        let format = args.format.unwrap_or(ExportFormat::Perfetto);
        let of_file = args.file.file_stem().filter(|_| !args.file.is_dir());
        let mut name = of_file.unwrap_or("profile_log_device".as_ref()).to_owned();
        name.push(format.endings().first().copied().unwrap_or_default());
        return Ok((format, Destination::File(PathBuf::from(name))));
    };
    let destination = Destination::from(output.as_path());
    let format = args.format.or_else(|| ExportFormat::from_path(output));
    let format = format.ok_or_else(|| unknown_format(&destination))?;
    let is_terminal = destination == Destination::Stdout && std::io::stdout().is_terminal();
    if is_terminal && format == ExportFormat::Perfetto {
        let sentence = "a perfetto trace is binary; expected a file or a pipe, found a terminal";
        return Err(Failure::Sentence(sentence.to_owned()));
    }
    Ok((format, destination))
}

fn unknown_format(destination: &Destination) -> Failure {
    let endings: Vec<_> =
        ExportFormat::ALL.iter().flat_map(|format| format.endings().first()).copied().collect();
    Failure::Sentence(format!(
        "expected --format, or a name that ends in {}; found {destination}",
        endings.join(", ")
    ))
}

/// From here on, a signal calls the writing off instead of ending the program in its midst.
pub(super) fn cancel_on_signals() -> Result<CancelFlag, Failure> {
    let cancel = CancelFlag::default();
    let of_handler = cancel.clone();
    ctrlc::set_handler(move || of_handler.cancel()).map_err(|error| Failure::from_error(&error))?;
    Ok(cancel)
}

/// What was written, to be told.
#[derive(Serialize)]
struct Written {
    output: String,
    format: &'static str,
    devices: usize,
    lanes: usize,
    zones: usize,
    points: usize,
    ops: usize,
    doubts: BTreeMap<String, u64>,
}

impl Written {
    fn new(trace: &Trace<'_>, format: ExportFormat, destination: &Destination) -> Self {
        Self {
            output: destination.to_string(),
            format: format.label(),
            devices: trace.devices.len(),
            lanes: trace.lane_count(),
            zones: trace.zone_count(),
            points: trace.point_count(),
            ops: trace.devices.iter().map(|device| device.ops.len()).sum(),
            doubts: trace.doubts().into_iter().collect(),
        }
    }

    fn tell(&self, as_json: bool) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        if as_json {
            serde_json::to_writer(&mut out, self).map_err(std::io::Error::from)?;
            writeln!(out)?;
            return Ok(());
        }
        let count = |count: usize| grouped(count as u64);
        writeln!(
            out,
            "{}: {} zones, {} events, values and sums, {} ops on {} lanes",
            self.output,
            count(self.zones),
            count(self.points),
            count(self.ops),
            count(self.lanes)
        )?;
        for (key, &doubt) in &self.doubts {
            writeln!(out, "  {}: {}", key.replace('_', " "), grouped(doubt))?;
        }
        Ok(())
    }
}
