//! The list of options of `kprof record`: for `python -m kprof`, and for misspelt options.

use super::RecordArgs;
use crate::{
    args::CounterChoice,
    failure::{Failure, failure},
    output::print,
};
use clap::{
    Arg, ArgAction, Args, Command,
    error::{ContextKind, ContextValue},
};
use host_reader::counters::CounterGroup;
use std::{io::Write, process::ExitCode};

/// Returns the command without the program that it runs, so that an unknown option is not taken for
/// a program.
fn options() -> Command {
    RecordArgs::augment_args(Command::new("kprof record"))
        .mut_arg("command", |command| command.trailing_var_arg(false).allow_hyphen_values(false))
}

/// Prints each option as a line with its short name or `-`, its long name, and `none`, `optional` or
/// `required` for its value.
pub(super) fn list() -> Result<ExitCode, Failure> {
    print(None::<()>, |out| {
        for option in options().get_arguments() {
            let Some(long) = option.get_long() else { continue };
            let short = option.get_short().unwrap_or('-');
            writeln!(out, "{short} {long} {}", value_of(option))?;
        }
        Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}

fn value_of(option: &Arg) -> &'static str {
    let has_value = matches!(option.get_action(), ArgAction::Set | ArgAction::Append);
    match (has_value, option.is_require_equals_set()) {
        (false, _) => "none",
        (true, true) => "optional",
        (true, false) => "required",
    }
}

/// Refuses a misspelt option, and groups of counters that one run cannot read.
pub(super) fn check(args: &RecordArgs) -> Result<(), Failure> {
    if let Some(word) = args.command.first().filter(|word| word.starts_with('-')) {
        return Err(unknown_option(word));
    }
    check_lines(args)?;
    check_samples(args)?;
    check_counters(args)
}

fn unknown_option(word: &str) -> Failure {
    let error = options().try_get_matches_from(["kprof record", word]).err();
    let similar = error.as_ref().and_then(|error| match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(similar)) => Some(similar.as_str()),
        Some(ContextValue::Strings(similar)) => similar.first().map(String::as_str),
        _ => None,
    });
    let hint = similar.map_or_else(
        || "`kprof record --help` lists the options; write -- before a program of this name".into(),
        |similar| format!("did you mean {similar}?"),
    );
    failure!("expected an option of kprof record or a program, found {word}; {hint}")
}

/// Refuses lines of kernels where nothing counts them.
fn check_lines(args: &RecordArgs) -> Result<(), Failure> {
    let is_simulated = args.simulate.is_some() || std::env::var_os("TT_METAL_SIMULATOR").is_some();
    if !args.kernel_lines() || is_simulated {
        return Ok(());
    }
    Err(failure!(
        "expected --simulate with --lines, because only the simulated chip counts cycles by line, \
         found none; lines of Python need -p"
    ))
}

/// Refuses samples of a chip whose debug daisychain kprof does not use.
fn check_samples(args: &RecordArgs) -> Result<(), Failure> {
    if args.sample.is_none() {
        return Ok(());
    }
    if args.stream.is_some() {
        return Err(failure!(
            "expected --sample without --stream, found both; rings of records leave no room for samples"
        ));
    }
    let is_simulated = args.simulate.is_some() || std::env::var_os("TT_METAL_SIMULATOR").is_some();
    if is_simulated {
        return Ok(());
    }
    Err(failure!(
        "expected --simulate with --sample, found none; kprof does not write registers of real chips: \
         see docs/chips.md, Safety rules"
    ))
}

/// Refuses counters of several L1 banks, of which one run reads only one.
fn check_counters(args: &RecordArgs) -> Result<(), Failure> {
    let choices = &args.device.profiler_capture_perf_counters;
    if !args.device.perf_counter_multipass {
        return Ok(());
    }
    let bits: Vec<u32> = (0..L1_BANKS).map(|bank| CounterGroup::L1(bank).bit()).collect();
    let has_all = choices.contains(&CounterChoice::All);
    let mask = choices.iter().fold(0, |mask, choice| mask | choice.mask(&[]));
    let banks = bits.into_iter().filter(|bit| mask & bit != 0).count();
    if !has_all && banks <= 1 {
        return Ok(());
    }
    let found = if has_all { "all banks".to_owned() } else { format!("{banks} banks") };
    Err(failure!(
        "expected counters of one L1 bank, which is what one run reads, found {found}; kprof does not \
         repeat the program: run it once for each bank, such as --profiler-capture-perf-counters \
         l1_1, without --perf-counter-multipass"
    ))
}

/// Number of L1 banks of the chip with the most banks.
const L1_BANKS: u8 = 6;

#[cfg(test)]
mod tests {
    use super::{options, value_of};
    use crate::args::Cli;
    use clap::CommandFactory;
    use std::collections::BTreeMap;

    #[test]
    fn listed_options_are_those_of_the_command_line() {
        let cli = Cli::command();
        let record = cli.get_subcommands().find(|command| command.get_name() == "record").unwrap();
        let of = |command: &clap::Command| -> BTreeMap<String, &'static str> {
            let options = command.get_arguments().filter(|option| option.get_long().is_some());
            options.map(|one| (one.get_long().unwrap().to_owned(), value_of(one))).collect()
        };
        let listed = of(&options());
        assert_eq!(listed, of(record));
        for (name, value) in [
            ("stream", "optional"),
            ("tracy", "optional"),
            ("read-every", "required"),
            ("report", "none"),
            ("device-analysis-types", "required"),
        ] {
            assert_eq!(listed.get(name), Some(&value), "{name}");
        }
    }

    /// Options of `python -m tracy`, from `tools/tracy/__main__.py` of tt-metal 0.81.1.
    const OF_TRACY: [&str; 32] = [
        "module",
        "partial",
        "lines",
        "report",
        "output-folder",
        "name-append",
        "port",
        "verbose",
        "no-device",
        "profile-dispatch-cores",
        "enable-sum-profiling",
        "sync-host-device",
        "no-op-info-cache",
        "op-support-count",
        "collect-noc-traces",
        "check-exit-code",
        "process-logs-only",
        "child-functions",
        "device-trace-profiler",
        "device-memory-profiler",
        "dump-device-data-mid-run",
        "disable-device-data-dump-to-files",
        "disable-device-data-push-to-tracy",
        "profiler-capture-perf-counters",
        "perf-counter-multipass",
        "tracy-tools-folder",
        "device-analysis-types",
        "enable-accumulate-profiling",
        "no-capture-tool",
        "no-runtime-analysis",
        "no-web-server",
        "web-app-port",
    ];

    #[test]
    fn options_of_tt_metals_script_are_known() {
        let options = options();
        for name in OF_TRACY {
            let is_known = options.get_arguments().any(|one| one.get_long() == Some(name));
            assert!(is_known, "{name}");
        }
    }
}
