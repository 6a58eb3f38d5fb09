//! `kprof serve`: serves a trace to connecting viewers.

use super::export::tracy_options;
use crate::{
    args::ServeArgs,
    failure::{Failure, OrFail, note},
    input::{open_run, trace},
    tracy_view::served_label,
};
use host_reader::export::tracy::{Program, ServeError, ServedViewer, TracyServer};
use std::{
    io::{ErrorKind, Write},
    process::ExitCode,
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

/// Reads the input, builds the trace, and serves it: to one viewer, or to any number in parallel.
pub(crate) fn run(args: &ServeArgs) -> Result<ExitCode, Failure> {
    debug_assert!(args.tracy, "there is no other protocol yet");
    let run = open_run(&args.file, args.run)?;
    let trace = trace(&run, &args.filters)?;
    let server = TracyServer::bind(args.listen.as_str()).or_fail()?;
    let server = server.with_patience(Duration::from_secs(args.drop_after));
    let address = server.local_address().or_fail()?;
    let mut out = std::io::stdout();
    writeln!(out, "waiting for Tracy viewers on {address}")?;
    out.flush()?;
    let options = tracy_options(&args.file);
    let viewers = if args.fork { Program::Fork } else { Program::Stock };
    let (ended, results) = channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                let visitor = match server.accept() {
                    Err(ServeError::Accept(error)) if is_passing(error.kind()) => continue,
                    visitor => visitor,
                };
                let is_end = visitor.is_err();
                let (trace, options, ended) = (&trace, &options, ended.clone());
                scope.spawn(move || {
                    let served = visitor.and_then(|visitor| visitor.serve(trace, options, viewers));
                    // The channel has no receiver once the command has decided to end. The error is
                    // then ignored.
                    let _ = ended.send(served);
                });
                if is_end {
                    return;
                }
            }
        });
        // The thread that waits for connections ends only with the process.
        match told(&results, args.once) {
            Ok(code) => std::process::exit(code),
            Err(Failure::OutputClosed) => std::process::exit(0),
            Err(failure) => {
                failure.report();
                std::process::exit(2)
            }
        }
    })
}

/// Prints how each connection ended, and returns the exit code. With `--once`, returns when the
/// first viewer has disconnected.
///
/// A connection without a viewer, such as a port scan, does not end the command.
fn told(
    results: &Receiver<Result<ServedViewer, ServeError>>,
    is_once: bool,
) -> Result<i32, Failure> {
    for result in results {
        match result {
            Ok(served) => {
                writeln!(std::io::stdout(), "{}", served_label(&served))?;
                if is_once {
                    return Ok(if served.is_whole { 0 } else { 2 });
                }
            }
            Err(error @ ServeError::Accept(_)) => return Err(Failure::from_error(&error)),
            Err(error @ ServeError::UnknownProtocol { .. }) if is_once => {
                return Err(Failure::from_error(&error));
            }
            Err(error) => note!("kprof: {error}"),
        }
    }
    Ok(0)
}

/// Returns true for connection errors that do not affect later connections.
const fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset)
}
