//! `kprof noc`: shows the traffic of the NoCs, and writes noc_trace files like TT-Metal's.

pub(super) mod document;
mod events;
pub(super) mod export;
mod program_use;
mod tables;

use crate::{
    args::NocArgs,
    failure::{Failure, note},
    folders::note_simulations,
    numbers::counted,
    output::print,
};
use document::Document;
pub(super) use events::Events;
use host_reader::{noc_events::ProgramTrace, packed_bytes::PackedMemory};
use program_use::{ProgramUse, write_use};
use std::{path::Path, process::ExitCode};
use tables::{write_locks, write_tables};

/// Reads the NoC events, writes the requested files, and prints the traffic.
pub(crate) fn run(args: &NocArgs) -> Result<ExitCode, Failure> {
    note_simulations(&args.file);
    let chips = (args.arch.as_deref(), &*args.harvesting);
    let events = Events::read(&args.file, args.run, &[], chips, &args.memory.packed())?;
    let (traffic, notes) = events.traffic();
    let (source, locks) = (events.source_sentence.as_deref(), events.locks.as_deref());
    for note in source.into_iter().chain(notes.iter().map(String::as_str)) {
        note!("kprof: {}: {note}", args.file.display());
    }
    if events.is_empty() && locks.is_none_or(<[_]>::is_empty) {
        note!("kprof: {}", events.why_empty(&args.file));
        return Ok(ExitCode::from(1));
    }
    if let Some(folder) = &args.output {
        write_files(&events, folder, Some(&args.file))?;
    }
    let programs = args.utilization.then(|| {
        let mut programs = Vec::new();
        let take =
            |trace: &ProgramTrace| programs.push(ProgramUse::from_trace(trace, &events.chips));
        events.for_each_trace(take);
        programs
    });
    let document =
        args.json.then(|| Document::new(&traffic, locks, programs.as_deref(), (source, &notes)));
    print(document, |out| {
        write_tables(&traffic, args.rows, out)?;
        if let Some(programs) = &programs {
            write_use(programs, args.rows, out)?;
        }
        write_locks(locks.unwrap_or_default(), args.rows, out)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the noc_trace files of a new capture to the folder in which TT-Metal would write them.
pub(super) fn write_recorded(capture: &Path, folder: &Path) -> Result<(), Failure> {
    let events = Events::read(capture, None, &[], (None, &[]), &PackedMemory::unlimited())?;
    for note in &events.traffic().1 {
        note!("kprof: {}: {note}", capture.display());
    }
    if events.is_empty() {
        note!("kprof: {}: no kernel moved anything over the NoCs", capture.display());
        return Ok(());
    }
    write_files(&events, folder, None)
}

/// Writes noc_trace files and prints their number.
fn write_files(events: &Events, folder: &Path, input: Option<&Path>) -> Result<(), Failure> {
    let (count, _) = events.write_folder(folder, input)?;
    note!("kprof: {} written to {}", counted(count, "file", "files"), folder.display());
    Ok(())
}
