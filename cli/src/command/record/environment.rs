//! Environment of the recorded program: TT-Metal's variables that control the recording.
//!
//! # Compatibility
//! `tools/tracy/__main__.py` of tt-metal 0.81.1.

use super::args::RecordArgs;
use host_reader::{
    counters::CounterGroup,
    environment::{Environment, Problem, Settings},
};
use std::{collections::BTreeMap, path::Path, process::Command};

/// Variables to set to a value, or to remove (`None`).
type Changes = BTreeMap<&'static str, Option<String>>;

/// Variables that only options of `kprof record` control. They are removed from the program's
/// environment unless an option sets them.
const REMOVED: [&str; 2] = ["TT_METAL_DEVICE_PROFILER", "TT_METAL_PROFILER_NO_CACHE_OP_INFO"];

/// Sets the environment variables of the program.
///
/// Returns the problems found in the program's environment variables, including variables that the
/// user set.
pub(super) fn apply(args: &RecordArgs, output: &Path, command: &mut Command) -> Vec<Problem> {
    let inherited = std::env::vars_os().map(|(name, value)| (lossy_text(name), lossy_text(value)));
    let mut variables: BTreeMap<String, String> = inherited.collect();
    for (name, value) in changes(args, output) {
        match value {
            Some(value) => {
                command.env(name, &value);
                variables.insert(name.to_owned(), value);
            }
            None => {
                command.env_remove(name);
                variables.remove(name);
            }
        }
    }
    Environment::from_variables(variables).problems
}

fn lossy_text(text: std::ffi::OsString) -> String {
    text.to_string_lossy().into_owned()
}

/// Returns the variables that the options set or remove. All other variables keep the user's
/// values.
fn changes(args: &RecordArgs, output: &Path) -> Changes {
    let mut changes: Changes = REMOVED.map(|name| (name, None)).into();
    let wanted = settings(args, output);
    changes.extend(wanted.variables().map(|(name, value)| (name, Some(value))));
    // With this variable, a Tracy client waits for a server before the program exits. The server is
    // kprof, which may not have found a short program before it ends.
    changes.insert("TRACY_NO_EXIT", Some("1".to_owned()));
    if let Some(port) = args.port {
        changes.insert("TRACY_PORT", Some(port.to_string()));
    }
    changes
}

/// Returns the settings that the options request.
fn settings(args: &RecordArgs, output: &Path) -> Settings {
    let device = &args.device;
    let counters = device.profiler_capture_perf_counters.iter();
    let counter_groups =
        counters.fold(0, |mask, choice| mask | choice.mask(&CounterGroup::one_run()));
    let has_foreign_records =
        device.enable_sum_profiling || device.profile_dispatch_cores || counter_groups != 0;
    Settings {
        profiler: !device.no_device,
        dispatch_cores: device.profile_dispatch_cores,
        clock_sync: device.sync_host_device,
        noc_events: device.collect_noc_traces,
        noc_events_folder: device.collect_noc_traces.then(|| output.join(super::LOGS)),
        counter_groups,
        buffer_usage: device.device_memory_profiler,
        trace_only: device.device_trace_profiler,
        trace_tracking: args.report,
        mid_run_dump: device.dump_device_data_mid_run,
        post_process: !device.no_runtime_analysis && !has_foreign_records,
        sums: device.enable_sum_profiling,
        accumulate: device.enable_accumulate_profiling,
        program_support_count: device.op_support_count,
        files: !device.disable_device_data_dump_to_files,
        tracy: !device.disable_device_data_push_to_tracy,
        artifacts: output.to_owned(),
        op_records: args.report,
        full_op_records: device.no_op_info_cache,
        ..Settings::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        record: RecordArgs,
    }

    fn set(options: &str) -> Changes {
        let words = format!("record {options} -- true");
        let args = Cli::try_parse_from(words.split_whitespace()).unwrap().record;
        changes(&args, Path::new("/out"))
    }

    /// Compares each option with the variable that tt-metal's script sets for it.
    #[test]
    fn each_option_sets_the_variable_that_tt_metal_reads() {
        let cases = [
            ("-r", "TTNN_OP_PROFILER", "1"),
            ("-r", "TT_METAL_PROFILER_TRACE_TRACKING", "1"),
            ("--op-support-count 5000", "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT", "5000"),
            ("--no-op-info-cache", "TT_METAL_PROFILER_NO_CACHE_OP_INFO", "1"),
            ("--profile-dispatch-cores", "TT_METAL_DEVICE_PROFILER_DISPATCH", "1"),
            ("--enable-sum-profiling", "TT_METAL_PROFILER_SUM", "1"),
            ("--enable-accumulate-profiling", "TT_METAL_PROFILER_ACCUMULATE", "1"),
            ("--sync-host-device", "TT_METAL_PROFILER_SYNC", "1"),
            ("--device-trace-profiler", "TT_METAL_TRACE_PROFILER", "1"),
            ("--device-memory-profiler", "TT_METAL_MEM_PROFILER", "1"),
            ("--dump-device-data-mid-run", "TT_METAL_PROFILER_MID_RUN_DUMP", "1"),
            ("--disable-device-data-dump-to-files", "TT_METAL_PROFILER_DISABLE_DUMP_TO_FILES", "1"),
            ("--disable-device-data-push-to-tracy", "TT_METAL_PROFILER_DISABLE_PUSH_TO_TRACY", "1"),
            ("--collect-noc-traces", "TT_METAL_DEVICE_PROFILER_NOC_EVENTS", "1"),
            ("--collect-noc-traces", "TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH", "/out/.logs"),
            ("--profiler-capture-perf-counters fpu,instrn", "TT_METAL_PROFILE_PERF_COUNTERS", "33"),
            ("--port 9000", "TRACY_PORT", "9000"),
        ];
        let plain = set("");
        for (options, name, value) in cases {
            assert_eq!(
                set(options).get(name).cloned().flatten().as_deref(),
                Some(value),
                "{options}"
            );
            assert_eq!(plain.get(name).cloned().flatten(), None, "{name} without {options}");
        }
        assert_eq!(plain["TT_METAL_DEVICE_PROFILER"].as_deref(), Some("1"));
        assert_eq!(plain["TT_METAL_PROFILER_DIR"].as_deref(), Some("/out"));
        assert_eq!(plain["TT_METAL_PROFILER_CPP_POST_PROCESS"].as_deref(), Some("1"));
        assert_eq!(set("--no-device")["TT_METAL_DEVICE_PROFILER"], None);
        for options in
            ["--no-runtime-analysis", "--enable-sum-profiling", "--profile-dispatch-cores"]
        {
            assert_eq!(set(options).get("TT_METAL_PROFILER_CPP_POST_PROCESS"), None, "{options}");
        }
    }

    #[test]
    fn options_that_exclude_each_other_are_refused() {
        for options in [
            "-r --enable-accumulate-profiling",
            "--dump-device-data-mid-run --device-trace-profiler",
            "--dump-device-data-mid-run --profile-dispatch-cores",
            "--profiler-capture-perf-counters l2",
        ] {
            let words = format!("record {options} -- true");
            assert!(Cli::try_parse_from(words.split_whitespace()).is_err(), "{options}");
        }
    }
}
