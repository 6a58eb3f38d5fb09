//! `kprof export` of tt-metal's noc_trace files.

use super::{
    device_log::Written,
    noc::{Events, no_events},
};
use crate::{
    args::ExportArgs,
    failure::{Failure, note, refuse_input_as_output},
    numbers::counted,
};
use host_reader::{
    export::Destination,
    noc_events::ProgramTrace,
    output::{Output, write_noc_file, write_noc_folder},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Default folder.
const FOLDER: &str = "noc_traces";

/// Maximum number of file names in an error message.
const LISTED_NAMES: usize = 5;

/// Returns true if a file name is one of tt-metal's names for traces.
pub(super) fn is_trace_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| ProgramTrace::is_file_name(&name.to_string_lossy()))
}

/// Writes a folder of traces, or the trace of one program. Files with other names are kept.
pub(super) fn write(args: &ExportArgs) -> Result<(), Failure> {
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(FOLDER));
    if Destination::from(path.as_path()) == Destination::Stdout {
        return Err(Failure::Sentence(format!(
            "{} are a folder of files; expected a folder, or the name of one such as \
             noc_trace_dev0_ID5.json, found standard output",
            Output::NocTraces
        )));
    }
    refuse_input_as_output([&args.file], &path)?;
    let Events { traces, notes, .. } = Events::read(&args.file, args.run, &args.filters, &[])?;
    for sentence in &notes {
        note!("kprof: {}: {sentence}", args.file.display());
    }
    if traces.is_empty() {
        return Err(Failure::Sentence(no_events(&args.file)));
    }
    let is_file = is_trace_file(&path);
    let traces = if is_file { vec![trace_named(&path, traces)?] } else { traces };
    let written = match &traces[..] {
        [trace] if is_file => write_noc_file(&path, trace),
        _ => write_noc_folder(&path, &traces, Some(&args.file)),
    };
    written.map_err(|error| Failure::from_error(&error))?;
    let events: usize = traces.iter().map(|trace| trace.objects.len()).sum();
    let files = counted(traces.len() as u64, "file", "files");
    let told = format!("{files}, {}", counted(events as u64, "object", "objects"));
    Written {
        output: path.display().to_string(),
        format: Output::NocTraces.label(),
        rows: events as u64,
        doubts: BTreeMap::from([("notes", notes.len() as u64)])
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect(),
    }
    .print_as(args.json, &told)
}

/// Returns the trace for which tt-metal uses this file name.
fn trace_named(path: &Path, traces: Vec<ProgramTrace>) -> Result<ProgramTrace, Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let names: Vec<String> = traces.iter().map(ProgramTrace::file_name).collect();
    let found = traces.into_iter().find(|trace| trace.file_name() == name);
    found.ok_or_else(|| {
        let mut listed = names[..names.len().min(LISTED_NAMES)].join(", ");
        if names.len() > LISTED_NAMES {
            listed += &format!(" and {} more", names.len() - LISTED_NAMES);
        }
        Failure::Sentence(format!(
            "no program has a trace called {name}; choose from {listed}, or name a folder for all"
        ))
    })
}
