//! The program's environment: tt-metal's variables for what is to be recorded.
//!
//! # Compatibility
//! `tools/tracy/__main__.py` of tt-metal 0.81.1.

use super::args::RecordArgs;
use std::{path::Path, process::Command};

/// A variable that is set, or removed.
type Change = (&'static str, Option<String>);

/// Gives the program its variables.
pub(super) fn apply(args: &RecordArgs, output: &Path, command: &mut Command) {
    for (name, value) in changes(args, output) {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

fn changes(args: &RecordArgs, output: &Path) -> Vec<Change> {
    let device = &args.device;
    let switch = |is_on: bool| is_on.then(|| "1".to_owned());
    let mut changes: Vec<Change> = vec![
        ("TT_METAL_PROFILER_DIR", Some(output.display().to_string())),
        ("TT_METAL_DEVICE_PROFILER", switch(!device.no_device)),
        ("TT_METAL_PROFILER_NO_CACHE_OP_INFO", switch(device.no_op_info_cache)),
        // A program that ends before it was found waits for the server, that is for kprof.
        ("TRACY_NO_EXIT", switch(true)),
    ];
    if let Some(port) = args.port {
        changes.push(("TRACY_PORT", Some(port.to_string())));
    }
    // These stay as the user has them unless an option asks for them.
    let mask = device.profiler_capture_perf_counters.iter().fold(0, |mask, group| mask | group);
    let keeps_own_analysis = !(device.no_runtime_analysis
        || device.enable_sum_profiling
        || device.profile_dispatch_cores
        || mask != 0);
    let wanted = [
        ("TTNN_OP_PROFILER", args.report),
        ("TT_METAL_PROFILER_TRACE_TRACKING", args.report),
        ("TT_METAL_DEVICE_PROFILER_DISPATCH", device.profile_dispatch_cores),
        ("TT_METAL_PROFILER_SUM", device.enable_sum_profiling),
        ("TT_METAL_PROFILER_ACCUMULATE", device.enable_accumulate_profiling),
        ("TT_METAL_PROFILER_CPP_POST_PROCESS", keeps_own_analysis),
        ("TT_METAL_PROFILER_SYNC", device.sync_host_device),
        ("TT_METAL_TRACE_PROFILER", device.device_trace_profiler),
        ("TT_METAL_MEM_PROFILER", device.device_memory_profiler),
        ("TT_METAL_PROFILER_MID_RUN_DUMP", device.dump_device_data_mid_run),
        ("TT_METAL_PROFILER_DISABLE_DUMP_TO_FILES", device.disable_device_data_dump_to_files),
        ("TT_METAL_PROFILER_DISABLE_PUSH_TO_TRACY", device.disable_device_data_push_to_tracy),
        ("TT_METAL_DEVICE_PROFILER_NOC_EVENTS", device.collect_noc_traces),
    ];
    changes.extend(
        wanted.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| (name, switch(true))),
    );
    if device.collect_noc_traces {
        let logs = output.join(super::LOGS).display().to_string();
        changes.push(("TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH", Some(logs)));
    }
    if mask != 0 {
        changes.push(("TT_METAL_PROFILE_PERF_COUNTERS", Some(mask.to_string())));
    }
    if let Some(count) = device.op_support_count {
        changes.push(("TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT", Some(count.to_string())));
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::collections::BTreeMap;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        record: RecordArgs,
    }

    fn set(options: &str) -> BTreeMap<&'static str, Option<String>> {
        let words = format!("record {options} -- true");
        let args = Cli::try_parse_from(words.split_whitespace()).unwrap().record;
        changes(&args, Path::new("/out")).into_iter().collect()
    }

    /// Each option with the variable that tt-metal's script sets for it.
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
            "-l",
            "--profiler-capture-perf-counters l2",
        ] {
            let words = format!("record {options} -- true");
            assert!(Cli::try_parse_from(words.split_whitespace()).is_err(), "{options}");
        }
    }
}
