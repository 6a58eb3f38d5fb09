//! `kprof record`: runs a program, and records the data of the program's Tracy clients.

mod args;
mod artifacts;
mod chip_table;
mod environment;
mod lines;
mod listeners;
mod memory;
mod options;
mod samples;
mod served;
mod standing;
mod stock;
mod summary;
mod watch;

use self::{served::ServedChip, stock::Ended, summary::Summary, watch::Watched};
use crate::{
    failure::{Failure, OrFail, failure, note},
    input::open_runs,
    output::print,
};
use host_reader::analysis::ops_of;
use host_reader::recording::{DEVICE_LOG, device_captures};
use std::{
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus},
};

pub(crate) use args::RecordArgs;

/// Name of the folder of logs in the artifacts folder.
const LOGS: &str = ".logs";
/// Exit code if the program failed and `--check-exit-code` is given.
const PROGRAM_FAILED: u8 = 4;

/// Runs the program, writes the files and, if requested, the report.
pub(crate) fn run(args: &RecordArgs) -> Result<ExitCode, Failure> {
    if args.list_options {
        return options::list();
    }
    options::check(args)?;
    let output = absolute(&args.output)?;
    if args.process_logs_only {
        return report(args, &output, &output);
    }
    check_port(args.port)?;
    let stock = stock::detect(args)?;
    stock::check_stream(args, stock.is_some())?;
    let simulated = stock::simulated_chip(args)?;
    // A program that streams on a real chip reads its rings through this process.
    let is_served = args.stream.is_some() && simulated.is_none();
    let served = is_served.then(ServedChip::start).transpose()?;
    let logs = output.join(LOGS);
    if let Some(previous) = artifacts::make_room(&logs)? {
        note!("kprof: logs of the previous run are in {}", previous.display());
    }
    if let Some(stock) = stock {
        let ended = stock.run(args, &output, simulated.as_ref(), served)?;
        return finish_stock(args, &output, ended);
    }
    let mut command = command(args);
    stock::simulate(simulated.as_ref(), args, &mut command);
    for problem in environment::apply(args, &output, &mut command) {
        note!("kprof: {problem}");
    }
    let program = command.get_program().to_string_lossy().into_owned();
    let watched = watch::run(command, args.port);
    let Watched { status, mut taken } =
        watched.map_err(|error| failure!("cannot start the program `{program}`: {error}"))?;
    taken.sort_by_key(|taken| taken.as_ref().map_or(0, |recording| recording.program.process_id));
    let recordings: Vec<_> = taken.iter().flatten().collect();
    let files = artifacts::write(&recordings, &logs, &args.child_functions)?;
    let exit_code = exit_code(status);
    let has_recorded = !files.is_empty() || has_device_log(&logs);
    let summary = Summary::new(&taken, files, exit_code);
    if args.json {
        print(Some(&summary), |_| Ok(()))?;
    } else {
        summary.write(args.verbose, &mut std::io::stderr().lock())?;
    }
    if exit_code != 0 && !has_recorded {
        let why = match needs_tracy(args) {
            true => {
                "; -p, -l and -m need TT-Metal's Python package `tracy`: without it, give the whole command, \
                 such as `kprof record -- python3 -m pytest model.py`"
            }
            false => "",
        };
        note!("kprof: the program failed before anything was recorded, so there is no report{why}");
    } else if args.report {
        let reported = report(args, &output, &output)?;
        if reported != ExitCode::SUCCESS {
            return Ok(reported);
        }
    }
    Ok(program_code(args, exit_code))
}

/// Returns true if there is a device log in a folder.
fn has_device_log(logs: &Path) -> bool {
    logs.join(DEVICE_LOG).is_file()
}

/// Returns true if the program is started by TT-Metal's package `tracy`.
const fn needs_tracy(args: &RecordArgs) -> bool {
    args.module || args.partial || args.python_lines()
}

/// Prints the paths of the captures of an unmodified ttnn, and writes the reports if requested.
fn finish_stock(args: &RecordArgs, output: &Path, ended: Ended) -> Result<ExitCode, Failure> {
    let Ended { exit_code, standing, standing_files } = ended;
    let captures = device_captures(&output.join(LOGS));
    if args.json {
        let realtime = captures.iter().map(|capture| capture.with_extension(REALTIME_EXTENSION));
        let realtime = realtime.filter(|path| path.is_file());
        let files = captures.iter().cloned().chain(standing_files).chain(realtime).collect();
        let summary = Summary::new(&[], files, exit_code).with_standing(standing);
        print(Some(&summary), |_| Ok(()))?;
    }
    if captures.is_empty() {
        note!("kprof: the program opened no device: nothing was recorded");
    } else if exit_code != 0 && captures.iter().all(|capture| has_no_launch(capture)) {
        note!(
            "kprof: the program failed (exit code {exit_code}) before any kernel of it ran, so that nothing was \
             profiled; its own messages, and those of the compiler, say why"
        );
        return Ok(program_code(args, exit_code));
    }
    for capture in &captures {
        note!("kprof: recorded {}; see: kprof report {}", capture.display(), capture.display());
        // Program ids are unique only within one process, so each process needs its own folder of
        // reports.
        let folder = match &captures[..] {
            [_] => output.to_owned(),
            _ => output.join(capture.file_stem().unwrap_or_default()),
        };
        if args.device.collect_noc_traces {
            super::noc::write_recorded(capture, &folder.join(LOGS))?;
        }
        if args.report {
            let reported = report(args, capture, &folder)?;
            if reported != ExitCode::SUCCESS {
                return Ok(reported);
            }
        }
    }
    Ok(program_code(args, exit_code))
}

/// Extension of the file beside a capture with the records of ttnn's own real-time profiler, as in
/// kprof's Python package.
const REALTIME_EXTENSION: &str = "realtime.csv";

/// Returns true if a capture can be read and no launch of the program is in it.
fn has_no_launch(capture: &Path) -> bool {
    open_runs(capture).is_ok_and(|runs| runs.iter().all(|run| ops_of(&run.readout).is_empty()))
}

fn program_code(args: &RecordArgs, exit_code: i32) -> ExitCode {
    match exit_code {
        0 => ExitCode::SUCCESS,
        _ if args.check_exit_code => ExitCode::from(PROGRAM_FAILED),
        code => ExitCode::from(u8::try_from(code).unwrap_or(1)),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).or_fail_at(path)
}

/// Refuses a port that another program uses.
fn check_port(port: Option<u16>) -> Result<(), Failure> {
    let Some(port) = port else { return Ok(()) };
    let bound = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port));
    bound.map(drop).map_err(|error| {
        failure!(
            "expected a free port for --port, found {port} taken ({error}); choose another, or \
             omit the option"
        )
    })
}

/// Returns the command line of the program.
///
/// For Python, the command line starts TT-Metal's package `tracy`, which records Python functions
/// and sends them to the process's Tracy client.
fn command(args: &RecordArgs) -> Command {
    let mut words = args.command.iter();
    if !needs_tracy(args) {
        let mut command = Command::new(words.next().map_or("", String::as_str));
        command.args(words);
        return command;
    }
    let mut command = Command::new("python3");
    command.args(["-m", "tracy", "--no-capture-tool"]);
    let options = [("-p", args.partial), ("-l", args.python_lines()), ("-m", args.module)];
    command.args(options.into_iter().filter(|(_, is_on)| *is_on).map(|(option, _)| option));
    command.args(words);
    command
}

fn exit_code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            return 128_i32.saturating_add(signal);
        }
    }
    status.code().unwrap_or(1)
}

/// Writes the ops report by running `kprof ops`.
///
/// If the program ran no ops, the report has no rows, which is not an error.
fn report(args: &RecordArgs, input: &Path, output: &Path) -> Result<ExitCode, Failure> {
    let mut command = Command::new(std::env::current_exe().or_fail()?);
    command.arg("ops").arg(input).arg("-o").arg(output);
    if !args.process_logs_only {
        command.arg("--allow-empty");
    }
    if args.device.collect_noc_traces {
        command.arg("--analyze-noc-traces");
    }
    match &args.name_append {
        Some(name) => command.args(["-n", name]),
        None => command.arg("--date"),
    };
    let status = command.status().or_fail()?;
    Ok(match status.code() {
        Some(0) => ExitCode::SUCCESS,
        code => ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(2)),
    })
}
