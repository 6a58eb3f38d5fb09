//! The `kprof` program: a command line for the libraries, with options, help texts and exit codes.
//!
//! Exit codes: 0 for success, 1 for losses (if requested) or damage, 2 for an error.

#![forbid(unsafe_code)]
#![warn(
    clippy::print_stdout,
    reason = "println! panics if the reader has closed the standard output, as `head` does"
)]

mod args;
mod buffers;
mod by_column;
mod clocks;
mod command;
mod counter_tables;
mod derived_logs;
mod failure;
mod file_kind;
mod folders;
mod harvesting;
mod host_zones;
mod input;
mod json;
mod largest;
mod layout;
mod losses;
mod memory;
mod numbers;
mod op_names;
mod output;
mod progress;
mod recording;
mod tables;
mod terminal;
mod tracy_view;
mod unfinished;
mod watermark;

use chrono::{SecondsFormat, Utc};
use clap::Parser;
use std::{io::Write, process::ExitCode};

fn main() -> ExitCode {
    start_log();
    match command::dispatch(args::Cli::parse()) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// Starts logging to standard error. `RUST_LOG` sets the minimum level.
fn start_log() {
    let level = env_logger::Env::default().default_filter_or("error");
    let mut builder = env_logger::Builder::from_env(level);
    // The time stamps are formatted here, because those of env_logger would need a second calendar
    // library.
    builder.format(|out, record| {
        let time = Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true);
        let level = record.level();
        let style = out.default_level_style(level);
        let (target, message) = (record.target(), record.args());
        writeln!(out, "[{time} {style}{level:<5}{style:#} {target}] {message}")
    });
    builder.init();
}
