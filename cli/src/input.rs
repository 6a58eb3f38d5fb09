//! What commands read: a device log, a capture, or the folder that upstream leaves its logs in.

use crate::{failure::Failure, progress::Busy, recording::open, tables::counted};
use host_reader::{
    analysis::TileOrigins,
    capture::{CapturedRun, FILE_MAGIC, OpMetadata, Overrides},
    export::{HiddenLaunches, SelectionContext, Trace, TraceFilter, TraceSource},
    host::{HostEventKind, HostRecording},
    log::{read_device_log, read_device_log_file},
    readout::Readout,
    sync::{MeshClock, MeshSamples, SyncOptions},
    zone_names::ZoneNames,
};
use std::{fs::File, io::Read, path::Path, sync::LazyLock};

/// Name of the device log in a folder of logs.
const DEVICE_LOG: &str = "profile_log_device.csv";

/// Everything that a file or folder holds.
pub(crate) struct Input {
    /// The runs of a capture, at least one; a log is one run.
    pub(crate) runs: Vec<InputRun>,
}

/// One run: what was recorded, on one clock per chip.
pub(crate) struct InputRun {
    /// The records, on the clock of each chip's reference.
    pub(crate) readout: Readout,
    /// The host's clock, if it was sampled.
    pub(crate) clock: Option<MeshClock>,
    /// The samples that it was made of.
    pub(crate) samples: MeshSamples,
    /// What the host knew of the ops.
    pub(crate) ops: Vec<OpMetadata>,
    /// What the threads of the host recorded.
    pub(crate) host: Vec<HostRecording>,
}

/// Inputs are on one clock per chip already, so that nothing is to be taken off.
static NO_ORIGINS: LazyLock<TileOrigins> = LazyLock::new(TileOrigins::default);

impl InputRun {
    /// The trace of it, of which all filters together say what is wanted.
    pub(crate) fn trace(&self, filters: &[TraceFilter]) -> Result<Trace<'_>, Failure> {
        let filter = self.filter(filters)?;
        let clock = self.clock.as_ref();
        let (readout, ops) = (&self.readout, self.ops.as_slice());
        let source = TraceSource { readout, origins: &NO_ORIGINS, clock, ops };
        Ok(Trace::with_host(&source, &self.host, &filter))
    }

    /// Takes out the launches, lanes and losses that all filters together do not want.
    pub(crate) fn retain(&mut self, filters: &[TraceFilter]) -> Result<HiddenLaunches, Failure> {
        let filter = self.filter(filters)?;
        if filter.is_empty() {
            return Ok(HiddenLaunches::default());
        }
        let Self { readout, clock, ops, host, .. } = self;
        let context = SelectionContext { origins: &NO_ORIGINS, clock: clock.as_ref(), ops, host };
        Ok(filter.retain_launches(readout, context))
    }

    /// Refuses filters that the run cannot follow.
    pub(crate) fn check(&self, filters: &[TraceFilter]) -> Result<(), Failure> {
        self.filter(filters).map(|_| ())
    }

    /// All filters as one.
    ///
    /// # Errors
    /// If one names a signpost that the run does not have.
    fn filter(&self, filters: &[TraceFilter]) -> Result<TraceFilter, Failure> {
        let filter = joined(filters);
        let threads = self
            .host
            .iter()
            .flat_map(|recording| recording.threads.iter().map(move |thread| (recording, thread)));
        let events = threads.flat_map(|(recording, thread)| {
            thread.events.iter().map(move |event| (recording, event))
        });
        let signposts = events
            .filter(|(_, event)| event.kind == HostEventKind::Signpost)
            .map(|(recording, event)| recording.name(event));
        match filter.unknown_signposts(signposts).first() {
            None => Ok(filter),
            Some(name) => Err(Failure::Sentence(format!(
                "expected a signpost `{name}` that the host recorded, found none; captures keep \
                 signposts, device logs do not"
            ))),
        }
    }
}

/// Several filters as one.
pub(crate) fn joined(filters: &[TraceFilter]) -> TraceFilter {
    let mut filter = TraceFilter::default();
    filters.iter().cloned().for_each(|terms| filter.extend(terms));
    filter
}

impl Input {
    /// Reads whatever lies at the path; its content decides. `-` is a device log from
    /// standard input.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let _busy = Busy::new(format!("reading {}", path.display()));
        if path == Path::new("-") {
            let readout = read_device_log(std::io::stdin().lock(), "standard input");
            let readout = readout.map_err(|error| Failure::from_error(&error))?;
            return Ok(Self { runs: vec![of_readout(readout)] });
        }
        if path.is_dir() {
            return Self::of_folder(path);
        }
        if is_capture(path) {
            return Self::of_capture(path);
        }
        Ok(Self { runs: vec![of_log(path)?] })
    }

    /// The only run, or the one with this number, from 1.
    pub(crate) fn into_run(self, path: &Path, number: Option<usize>) -> Result<InputRun, Failure> {
        let count = self.runs.len();
        let chosen = number.unwrap_or(1);
        if number.is_none() && count > 1 {
            let path = path.display();
            let sentence =
                format!("{path} holds {count} runs; choose one by --run 1 to --run {count}");
            return Err(Failure::Sentence(sentence));
        }
        let run = self.runs.into_iter().nth(chosen.wrapping_sub(1));
        run.ok_or_else(|| {
            let runs = counted(count as u64, "run", "runs");
            Failure::Sentence(format!("{} holds {runs}, found --run {chosen}", path.display()))
        })
    }

    /// The device log of a folder, with names of the zone logs beside it.
    fn of_folder(folder: &Path) -> Result<Self, Failure> {
        let candidates = [folder.to_owned(), folder.join(".logs")];
        let Some(logs) = candidates.into_iter().find(|logs| logs.join(DEVICE_LOG).exists()) else {
            return Err(Failure::Sentence(format!(
                "expected {DEVICE_LOG} in the folder {} or in its .logs, found none",
                folder.display()
            )));
        };
        let mut run = of_log(&logs.join(DEVICE_LOG))?;
        name_unknown_zones(&mut run.readout, &logs)?;
        Ok(Self { runs: vec![run] })
    }

    /// Decodes the words of a capture, run by run, and tells if some cannot be used.
    fn of_capture(path: &Path) -> Result<Self, Failure> {
        let capture = open(path)?;
        let check = capture.check();
        if !check.is_clean() {
            let path = path.display();
            let problems = counted(check.problems.len() as u64, "problem", "problems");
            eprintln!(
                "kprof: {path}: {problems}, the rest is used; `kprof check {path}` tells more"
            );
        }
        let runs = capture.runs(&Overrides::default());
        let runs = runs.map_err(|error| Failure::of_file(path, &error))?;
        Ok(Self { runs: runs.into_iter().map(of_captured_run).collect() })
    }
}

fn of_log(path: &Path) -> Result<InputRun, Failure> {
    let readout = read_device_log_file(path).map_err(|error| Failure::of_file(path, &error))?;
    Ok(of_readout(readout))
}

fn of_readout(readout: Readout) -> InputRun {
    InputRun {
        readout,
        clock: None,
        samples: MeshSamples::default(),
        ops: Vec::new(),
        host: Vec::new(),
    }
}

fn of_captured_run(run: CapturedRun) -> InputRun {
    let CapturedRun { mut readout, samples, ops, host, .. } = run;
    let clock = samples.fit(&SyncOptions::default().fit);
    clock.tile_origins(&readout).align(&mut readout);
    InputRun { readout, clock: Some(clock), samples, ops, host }
}

/// Names the zones that the log itself does not, from the zone logs in the same folder.
fn name_unknown_zones(readout: &mut Readout, logs: &Path) -> Result<(), Failure> {
    let mut names = ZoneNames::new();
    names.add_log_folder(logs).map_err(|error| Failure::from_error(&error))?;
    let (table, anomalies) = names.finish();
    let is_unknown = |id: wire::ZoneId| {
        readout.zones.sources(host_reader::lane::ZoneIndex(id.0.into())).is_empty()
    };
    let unknown: Vec<_> = table.places().filter(|&(id, _)| is_unknown(id)).collect();
    for (id, source) in unknown {
        readout.zones.add(id, source.clone());
    }
    readout.anomalies.merge(anomalies);
    Ok(())
}

/// Whether a file begins as captures do. One damaged byte there does not hide a capture.
pub(crate) fn is_capture(path: &Path) -> bool {
    // What is no plain file, such as a pipe, could not be read again from its beginning.
    if !std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let mut found = [0; FILE_MAGIC.len()];
    let is_read = File::open(path).and_then(|mut file| file.read_exact(&mut found)).is_ok();
    let equal = found.iter().zip(FILE_MAGIC).filter(|&(&found, expected)| found == expected);
    is_read && equal.count() > FILE_MAGIC.len() / 2
}
