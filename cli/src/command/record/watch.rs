//! Supervision of the recorded program: finds and records its Tracy clients, and forwards signals
//! to it.

use super::listeners::{Listener, Search};
use host_reader::tracy::{RecordOptions, TracyClient, TracyError, TracyRecording};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{
    io::{self, IsTerminal},
    process::{Child, Command, ExitStatus},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Minimum time between two searches for new clients.
const POLL_TIME: Duration = Duration::from_millis(5);
/// Minimum pause after a search for clients, as a multiple of the search's duration.
///
/// With a large socket table, a search takes milliseconds of processor time that the program needs.
const PAUSE_PER_LOOK: u32 = 20;

/// Result of recording one Tracy client.
pub(super) type Taken = Result<TracyRecording, TracyError>;

/// Exit status of a program, and the recordings of its Tracy clients.
pub(super) struct Watched {
    pub(super) status: ExitStatus,
    pub(super) taken: Vec<Taken>,
}

/// Runs a program without Tracy clients to its end.
///
/// # Errors
/// If the program cannot be started, or signals cannot be received.
pub(super) fn run_without_clients(command: Command) -> io::Result<ExitStatus> {
    start(command)?.wait()
}

/// Starts a program. Signals that this process receives from then on are forwarded to the program.
fn start(mut command: Command) -> io::Result<Child> {
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let child = command.spawn()?;
    pass_signals_on(signals, child.id());
    Ok(child)
}

/// Runs a program to its end, and records each Tracy client in it and in its child processes.
///
/// # Errors
/// If the program cannot be started, or signals cannot be received.
pub(super) fn run(command: Command, port: Option<u16>) -> io::Result<Watched> {
    let mut child = start(command)?;
    let stop = Arc::new(AtomicBool::new(false));
    let (status, recorders) = watch(&mut child, port, &stop)?;
    // Child processes that outlive the program are recorded only up to this point.
    stop.store(true, Ordering::Relaxed);
    let taken = recorders.into_iter().filter_map(|recorder| recorder.join().ok()).collect();
    Ok(Watched { status, taken })
}

fn watch(
    child: &mut Child,
    port: Option<u16>,
    stop: &Arc<AtomicBool>,
) -> io::Result<(ExitStatus, Vec<JoinHandle<Taken>>)> {
    let mut search = Search::default();
    let mut recorders = Vec::new();
    loop {
        let look = Instant::now();
        for listener in search.new_clients(child.id(), port) {
            let stop = Arc::clone(stop);
            recorders.push(thread::spawn(move || record(listener, &stop)));
        }
        if let Some(status) = child.try_wait()? {
            return Ok((status, recorders));
        }
        thread::sleep(POLL_TIME.max(look.elapsed().saturating_mul(PAUSE_PER_LOOK)));
    }
}

fn record(listener: Listener, stop: &AtomicBool) -> Taken {
    let client = TracyClient::connect(listener.address)?;
    log::info!(
        "{} at {} speaks Tracy's protocol {}",
        client.program(),
        listener.address,
        client.protocol().number
    );
    Ok(client.record(&RecordOptions::default(), stop))
}

/// Forwards signals that this process receives to the program. If there is a terminal, SIGINT is
/// not forwarded, because the terminal sends it to both processes.
fn pass_signals_on(mut signals: Signals, process: u32) {
    let has_terminal = io::stdin().is_terminal();
    thread::spawn(move || {
        for signal in &mut signals {
            if signal == SIGINT && has_terminal {
                continue;
            }
            let process = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw);
            let signal = rustix::process::Signal::from_named_raw(signal);
            if let (Some(process), Some(signal)) = (process, signal) {
                // The program may have ended in the meantime.
                let _ = rustix::process::kill_process(process, signal);
            }
        }
    });
}
