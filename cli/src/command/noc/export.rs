//! `kprof export` to TT-Metal's noc_trace files.

use super::events::Events;
use crate::{
    args::ExportArgs,
    command::{device_log::RowCount, written::Written},
    failure::{Failure, OrFail, failure, note, refuse_input_as_output},
    numbers::counted,
};
use host_reader::{
    export::Destination,
    noc_events::ProgramTrace,
    output::{Output, write_noc_file},
    packed_bytes::PackedMemory,
};
use std::path::{Path, PathBuf};

/// Default folder of the noc_trace files.
const FOLDER: &str = "noc_traces";

/// Maximum number of file names in an error message.
const LISTED_NAMES: usize = 5;

/// Returns true if the file has a name that TT-Metal gives to noc_trace files.
pub(in crate::command) fn is_trace_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| ProgramTrace::is_file_name(&name.to_string_lossy()))
}

/// Writes a folder of noc_trace files, or one file for one program. Other files in the folder are
/// kept.
pub(in crate::command) fn write(args: &ExportArgs) -> Result<(), Failure> {
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(FOLDER));
    if Destination::from(path.as_path()) == Destination::Stdout {
        return Err(failure!(
            "{} are a folder of files; expected a folder, or the name of one such as \
             noc_trace_dev0_ID5.json, found standard output",
            Output::NocTraces
        ));
    }
    refuse_input_as_output([&args.file], &path)?;
    let memory = PackedMemory::unlimited();
    let events = Events::read(&args.file, args.run, &args.filters, (None, &[]), &memory)?;
    let (_, notes) = events.traffic();
    for sentence in &notes {
        note!("kprof: {}: {sentence}", args.file.display());
    }
    if events.is_empty() {
        return Err(failure!("{}", events.why_empty(&args.file)));
    }
    let (files, objects) = if is_trace_file(&path) {
        let trace = trace_named(&path, &events)?;
        write_noc_file(&path, &trace).or_fail()?;
        (1, trace.objects.len() as u64)
    } else {
        events.write_folder(&path, Some(&args.file))?
    };
    let told = [counted(files, "file", "files"), counted(objects, "object", "objects")].join(", ");
    let doubts = (!notes.is_empty()).then(|| ("notes".to_owned(), notes.len() as u64));
    let written = Written {
        output: path.display().to_string(),
        format: Output::NocTraces.label(),
        counts: RowCount { rows: objects },
        doubts: Some(doubts.into_iter().collect()),
    };
    written.print(args.json, &told)
}

/// Returns the trace whose noc_trace file would have the same file name as `path` in TT-Metal.
fn trace_named(path: &Path, events: &Events) -> Result<ProgramTrace, Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (mut names, mut found) = (Vec::new(), None);
    events.for_each_trace(|trace| {
        names.push(trace.file_name());
        if found.is_none() && names.last() == Some(&name) {
            found = Some(trace.clone());
        }
    });
    found.ok_or_else(|| {
        let mut listed = names[..names.len().min(LISTED_NAMES)].join(", ");
        if names.len() > LISTED_NAMES {
            listed += &format!(" and {} more", names.len() - LISTED_NAMES);
        }
        failure!(
            "no program has a trace called {name}; choose from {listed}, or name a folder for all"
        )
    })
}
