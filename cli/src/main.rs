//! The `kprof` program: options, help text and exit codes around the libraries.
//!
//! Exit codes: 0 clean, 1 losses that were asked about or damage, 2 an error.

#![forbid(unsafe_code)]

mod args;
mod command;
mod counter_tables;
mod failure;
mod host_zones;
mod input;
mod json;
mod layout;
mod losses;
mod numbers;
mod op_names;
mod output;
mod progress;
mod recording;
mod simulated_files;
mod tables;
mod terminal;
mod watermark;
mod wrong_file;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("error")).init();
    match command::dispatch(args::Cli::parse()) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
