//! `kprof serve`: a trace for viewers that connect.

use super::export::tracy_options;
use crate::{
    args::ServeArgs,
    failure::Failure,
    input::{Input, trace},
    tables::grouped,
};
use host_reader::export::tracy::{ServeError, ServedViewer, TracyServer, Viewers};
use std::{io::Write, process::ExitCode};

/// Reads, builds the trace, and gives it to one viewer or to all that come.
pub(crate) fn run(args: &ServeArgs) -> Result<ExitCode, Failure> {
    debug_assert!(args.tracy, "there is no other protocol yet");
    let run = Input::open(&args.file)?.into_run(&args.file, args.run)?;
    let trace = trace(&run, &args.filters)?;
    let server = TracyServer::bind(args.listen.as_str()).map_err(|error| failure(&error))?;
    let address = server.local_address().map_err(|error| failure(&error))?;
    let mut out = std::io::stdout();
    writeln!(out, "waiting for Tracy viewers on {address}")?;
    out.flush()?;
    let options = tracy_options(&args.file);
    let viewers = if args.fork { Viewers::Fork } else { Viewers::Stock };
    loop {
        match server.serve_next(&trace, &options, viewers) {
            Ok(served) => {
                tell(&served)?;
                if args.once {
                    return Ok(ExitCode::from(if served.is_whole { 0 } else { 2 }));
                }
            }
            Err(error) if args.once => return Err(failure(&error)),
            Err(error @ ServeError::Accept(_)) => return Err(failure(&error)),
            Err(error) => eprintln!("kprof: {error}"),
        }
    }
}

fn failure(error: &ServeError) -> Failure {
    Failure::from_error(error)
}

fn tell(served: &ServedViewer) -> Result<(), Failure> {
    let ServedViewer { peer, protocol, notes, is_whole, sent_bytes } = served;
    let mut out = std::io::stdout().lock();
    if !is_whole {
        writeln!(out, "{peer} ({}) left before it had everything", protocol.viewer)?;
        return Ok(());
    }
    let of_host = match notes.host_zones {
        0 => String::new(),
        count => format!(", {} zones of the host", grouped(count)),
    };
    writeln!(
        out,
        "{peer} ({}): {} zones on {} lanes{of_host}, {} messages, {} bytes",
        protocol.viewer,
        grouped(notes.zones),
        grouped(notes.lanes),
        grouped(notes.messages),
        grouped(*sent_bytes)
    )?;
    for (what, count) in notes.doubts() {
        writeln!(out, "  {}: {}", what.replace('_', " "), grouped(count))?;
    }
    Ok(())
}
