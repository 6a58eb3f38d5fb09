//! Tests of variables: each variable alone, combinations, and misspellings.

use super::*;
use proptest::prelude::*;
use reader::decode::CaptureMode;

fn parsed(text: &str) -> Environment {
    Environment::from_variables(text.split_whitespace().map(|pair| pair.split_once('=').unwrap()))
}

fn lines(text: &str) -> Vec<String> {
    parsed(text).problems.iter().map(ToString::to_string).collect()
}

/// Returns settings with the profiler on and one change.
fn on(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings { profiler: true, ..Settings::default() };
    change(&mut settings);
    settings
}

#[test]
fn each_variable_has_its_effect_and_no_other() {
    type Change = fn(&mut Settings);
    let cases: [(&str, Change); 24] = [
        ("TT_METAL_DEVICE_PROFILER_DISPATCH=1", |s| s.dispatch_cores = true),
        ("TT_METAL_PROFILER_SYNC=1", |s| s.clock_sync = true),
        ("TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1", |s| s.noc_events = true),
        ("TT_METAL_PROFILE_PERF_COUNTERS=47", |s| s.counter_groups = 47),
        ("TT_METAL_MEM_PROFILER=1", |s| s.buffer_usage = true),
        ("TT_METAL_TRACE_PROFILER=1", |s| s.trace_only = true),
        ("TT_METAL_PROFILER_TRACE_TRACKING=1", |s| s.trace_tracking = true),
        ("TT_METAL_PROFILER_MID_RUN_DUMP=1", |s| s.mid_run_dump = true),
        ("TT_METAL_PROFILER_CPP_POST_PROCESS=1", |s| s.post_process = true),
        ("TT_METAL_PROFILER_SUM=1", |s| s.sums = true),
        ("TT_METAL_PROFILER_ACCUMULATE=1", |s| s.accumulate = true),
        ("TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=5000", |s| s.program_support_count = Some(5000)),
        ("TT_METAL_PROFILER_DISABLE_DUMP_TO_FILES=1", |s| s.files = false),
        ("TT_METAL_PROFILER_DISABLE_PUSH_TO_TRACY=1", |s| s.tracy = false),
        ("TT_METAL_NOC_DEBUG_DUMP=1", |s| (s.noc_events, s.non_dropping) = (true, true)),
        ("TT_METAL_DEVICE_DEBUG_DUMP_ENABLED=1", |s| (s.noc_events, s.non_dropping) = (true, true)),
        ("TT_METAL_PROFILER_DIR=/out", |s| s.artifacts = "/out".into()),
        ("TT_METAL_HOME=/tt", |s| s.artifacts = "/tt/generated/profiler".into()),
        ("TT_METAL_HOME=/tt TT_METAL_PROFILER_DIR=/out", |s| s.artifacts = "/out".into()),
        ("TT_METAL_HOME=/tt TT_METAL_PROFILER_DIR=", |s| {
            s.artifacts = "/tt/generated/profiler".into()
        }),
        ("TT_METAL_HOME= TT_METAL_PROFILER_DIR=", |_| ()),
        ("TTNN_OP_PROFILER=1", |s| s.op_records = true),
        ("TT_METAL_PROFILER_NO_CACHE_OP_INFO=1", |s| s.full_op_records = true),
        ("TT_METAL_DEVICE_PROFILER=10", |_| ()),
    ];
    for (text, change) in cases {
        let environment = parsed(&format!("{text} TT_METAL_DEVICE_PROFILER=1"));
        assert_eq!(environment.settings, on(change), "{text}");
        assert_eq!(environment.problems, [], "{text}");
    }
    assert_eq!(parsed("").settings, Settings::default());
    let streaming = parsed("TT_METAL_STREAMING_PROFILER=1 TT_METAL_STREAMING_PROFILER_RING_MB=64");
    assert!(streaming.settings.streaming && streaming.problems.is_empty());
}

#[test]
fn the_profiler_is_switched_on_by_four_variables_and_no_other() {
    let is_on = |text: &str| parsed(text).settings.profiler;
    for variable in VARIABLES {
        let expected = [PROFILER, NOC_EVENTS, COUNTERS, NOC_DEBUG, NOC_DEBUG_OLD];
        let text = format!("{}=1", variable.name);
        assert_eq!(is_on(&text), expected.contains(&variable.name), "{text}");
    }
    assert!(!is_on("TT_METAL_PROFILE_PERF_COUNTERS=0"));
}

#[test]
fn what_is_taken_before_the_profiler_is_on_has_no_effect() {
    let environment = parsed(
        "TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1 TT_METAL_PROFILER_SYNC=1 \
         TT_METAL_PROFILER_MID_RUN_DUMP=1",
    );
    assert!(!environment.settings.clock_sync && environment.settings.mid_run_dump);
    let [problem] = &environment.problems[..] else { panic!("{environment:?}") };
    let (name, switched_by) = ("TT_METAL_PROFILER_SYNC", NOC_EVENTS);
    assert_eq!(*problem, Problem::TakenTooEarly { name, switched_by });
    assert_eq!(
        lines("TT_METAL_PROFILER_SUM=1"),
        ["TT_METAL_PROFILER_SUM has no effect: TT_METAL_DEVICE_PROFILER=1 is not set"]
    );
    for variable in VARIABLES.iter().filter(|variable| variable.needs_profiler) {
        let environment = parsed(&format!("{}=1", variable.name));
        assert_eq!(environment.settings, Settings::default());
        assert_eq!(environment.problems, [Problem::NeedsProfiler { name: variable.name }]);
    }
}

#[test]
fn a_switch_is_on_if_its_value_begins_with_1() {
    for (value, is_on) in [("1", true), ("10", true), ("1x", true), ("0", false), ("", false)] {
        let environment = parsed(&format!("TT_METAL_DEVICE_PROFILER={value}"));
        assert_eq!((environment.settings.profiler, environment.problems.len()), (is_on, 0));
    }
    assert_eq!(
        lines("TT_METAL_DEVICE_PROFILER=true"),
        ["TT_METAL_DEVICE_PROFILER=true is off: TT-Metal looks for a 1 at the beginning"]
    );
}

#[test]
fn contradictions_are_named_in_a_line_each() {
    for (text, beginning) in [
        (
            "TT_METAL_DEVICE_PROFILER=1 TT_METAL_DPRINT_CORES=all",
            "TT_METAL_DPRINT_CORES and the profiler exclude each other",
        ),
        (
            "TT_METAL_DEVICE_PROFILER=1 TT_METAL_PROFILER_MID_RUN_DUMP=1 TT_METAL_TRACE_PROFILER=1",
            "TT_METAL_PROFILER_MID_RUN_DUMP and TT_METAL_TRACE_PROFILER exclude each other",
        ),
        (
            "TT_METAL_DEVICE_PROFILER=1 TT_METAL_PROFILER_MID_RUN_DUMP=1 \
             TT_METAL_DEVICE_PROFILER_DISPATCH=1",
            "TT_METAL_PROFILER_MID_RUN_DUMP and TT_METAL_DEVICE_PROFILER_DISPATCH exclude",
        ),
        (
            "TT_METAL_DEVICE_PROFILER=1 TT_METAL_STREAMING_PROFILER=1",
            "TT_METAL_STREAMING_PROFILER and TT_METAL_DEVICE_PROFILER exclude each other",
        ),
        ("TT_METAL_PROFILE_PERF_COUNTERS=24", "TT_METAL_PROFILE_PERF_COUNTERS=24: expected one"),
        (
            "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=many",
            "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=many: expected a number; TT-Metal stops",
        ),
        (
            "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=-1",
            "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=-1: expected 0 to 2147483647",
        ),
    ] {
        let environment = parsed(text);
        let [problem] = &environment.problems[..] else { panic!("{text}: {environment:?}") };
        let line = problem.to_string();
        assert!(line.starts_with(beginning) && !line.contains('\n'), "{line}");
        assert!(problem.is_fatal(), "{line}");
    }
    // The print server does not conflict with anything if the profiler is off.
    assert_eq!(lines("TT_METAL_DPRINT_CORES=all"), [""; 0]);
    assert_eq!(
        lines("TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH=/out"),
        ["TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH has no effect without \
          TT_METAL_DEVICE_PROFILER_NOC_EVENTS"]
    );
}

#[test]
fn misspellings_get_the_nearest_name_and_others_variables_get_nothing() {
    for (name, nearest) in [
        ("TT_METAL_DEVICE_PROFILE", PROFILER),
        ("TT_METAL_DEVICE_PROFLIER", PROFILER),
        ("TTMETAL_DEVICE_PROFILER", PROFILER),
        ("tt_metal_device_profiler", PROFILER),
        ("TT_METAL_PROFILER_SUPPORT_COUNT", SUPPORT_COUNT),
        ("TT_METAL_PROFILER_PROGRAM_SUPPORT_CUONT", SUPPORT_COUNT),
        ("TT_METAL_DEVICE_PROFILER_NOC_EVENT", NOC_EVENTS),
        ("TT_METAL_PROFILER_PERF_COUNTERS", COUNTERS),
        ("TTNN_OP_PROFILE", "TTNN_OP_PROFILER"),
        // Names with missing words, additional words, or another order of words.
        ("TT_METAL_PROFILER_DISPATCH", DISPATCH),
        ("TT_METAL_PROFILER_NOC_EVENTS", NOC_EVENTS),
        ("TT_METAL_PROFILER_NOC_EVENTS_RPT_PATH", NOC_FOLDER),
        ("TT_METAL_DEVICE_PROFILER_SYNC", "TT_METAL_PROFILER_SYNC"),
        ("TT_METAL_DEVICE_PROFILER_SUM", "TT_METAL_PROFILER_SUM"),
        ("TT_METAL_DEVICE_PROFILER_DIR", FOLDER),
        ("TT_METAL_PROFILER_TRACE", TRACE),
        ("TT_METAL_DEVICE_TRACE_PROFILER", TRACE),
        ("TT_METAL_PROFILER_MEM", "TT_METAL_MEM_PROFILER"),
        ("TT_METAL_PROFILER_STREAMING", STREAMING),
        ("TT_METAL_PROFILER_DUMP_MID_RUN", MID_RUN),
    ] {
        let environment = parsed(&format!("{name}=1"));
        assert_eq!(environment.settings, Settings::default(), "{name}");
        let [Problem::Misspelled { name: found, nearest: given }] = &environment.problems[..]
        else {
            panic!("{name}: {environment:?}")
        };
        assert_eq!(found, name);
        assert_eq!(*given, nearest, "{name}");
    }
    let others = "PATH=/bin TT_METAL_WATCHER=10 TT_METAL_SIMULATOR=/x ARCH_NAME=wormhole_b0 \
        TT_METAL_DPRINT_CORES=0 TT_METAL_CCACHE_KERNEL_SUPPORT=1 HOME=/root";
    assert_eq!(lines(others), [""; 0]);
}

#[test]
fn launches_do_not_accumulate_beside_traces_or_dispatch() {
    let with = |other: &str| {
        let text = format!("TT_METAL_DEVICE_PROFILER=1 TT_METAL_PROFILER_ACCUMULATE=1 {other}");
        lines(&text)
    };
    assert_eq!(with(""), [""; 0]);
    for name in ["TT_METAL_TRACE_PROFILER", "TT_METAL_DEVICE_PROFILER_DISPATCH"] {
        let lines = with(&format!("{name}=1"));
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains(name) && lines[0].contains("TT_METAL_PROFILER_ACCUMULATE"));
    }
}

#[test]
fn options_of_reader_and_mesh_follow() {
    let count = |text: &str| parsed(text).settings.profiler_options().program_support_count;
    assert_eq!(count(""), 1000);
    assert_eq!(count("TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=10"), 43);
    assert_eq!(count("TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=10000"), 10_000);
    assert_eq!(count("TT_METAL_NOC_DEBUG_DUMP=1"), 500);
    let sums = parsed(
        "TT_METAL_DEVICE_PROFILER=1 TT_METAL_PROFILER_SUM=1 \
         TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=200",
    )
    .settings;
    assert!(sums.read_options().sums_enabled && sums.profiler_options().sums_enabled);
    let mode = |text: &str| parsed(text).settings.read_options().mode;
    assert_eq!(mode("TT_METAL_DEVICE_PROFILER=1"), CaptureMode::Workers);
    assert_eq!(
        mode("TT_METAL_DEVICE_PROFILER=1 TT_METAL_DEVICE_PROFILER_DISPATCH=1"),
        CaptureMode::DispatchCores
    );
    assert_eq!(
        mode("TT_METAL_DEVICE_PROFILER=1 TT_METAL_TRACE_PROFILER=1"),
        CaptureMode::TraceOnly
    );
    assert_eq!(
        mode("TT_METAL_DEVICE_PROFILER=1 TT_METAL_PROFILER_ACCUMULATE=1"),
        CaptureMode::Accumulate
    );
    let folders = parsed(
        "TT_METAL_PROFILER_DIR=/out TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1 \
         TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH=/noc",
    )
    .settings;
    assert_eq!(folders.noc_events_folder, Some(PathBuf::from("/noc")));
    assert_eq!(folders.logs(), PathBuf::from("/out/.logs"));
    assert_eq!(parsed("").settings.logs(), PathBuf::from("generated/profiler/.logs"));
}

#[test]
fn nothing_but_the_folder_is_asked_for_where_nothing_is_recorded() {
    let settings = Settings { sums: true, trace_tracking: true, ..Settings::default() };
    let variables: Vec<_> = settings.variables().collect();
    assert_eq!(variables, [("TT_METAL_PROFILER_DIR", "generated/profiler".to_owned())]);
}

#[test]
fn a_raised_count_is_said() {
    assert_eq!(
        lines("TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=10"),
        ["TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=10 is raised to 43"]
    );
}

#[test]
fn times_of_the_debug_dump_are_taken_and_checked() {
    let dump = |text: &str| parsed(&format!("TT_METAL_NOC_DEBUG_DUMP=1 {text}"));
    let both = dump(
        "TT_METAL_NOC_DEBUG_FULL_READ_INTERVAL_MS=0 TT_METAL_NOC_DEBUG_WATERMARK_MARGIN_MS=501",
    );
    let (full, margin) = (both.settings.full_read_interval_ms, both.settings.watermark_margin_ms);
    assert_eq!((full, margin, both.problems), (Some(0), Some(501), vec![]));
    let small =
        dump("TT_METAL_NOC_DEBUG_POLL_INTERVAL_MS=20 TT_METAL_NOC_DEBUG_WATERMARK_MARGIN_MS=20");
    let [problem] = &small.problems[..] else { panic!("{small:?}") };
    assert!(problem.is_fatal());
    assert_eq!(
        problem.to_string(),
        "TT_METAL_NOC_DEBUG_WATERMARK_MARGIN_MS=20: expected more than the 20 of \
         TT_METAL_NOC_DEBUG_POLL_INTERVAL_MS; TT-Metal stops"
    );
    for name in [FULL_READ_INTERVAL, WATERMARK_MARGIN] {
        assert_eq!(
            lines(&format!("{name}=900")),
            [format!("{name} has no effect without TT_METAL_NOC_DEBUG_DUMP")]
        );
        let refused = dump(&format!("{name}=-1")).problems;
        assert_eq!(refused[0].to_string(), format!("{name}=-1: expected milliseconds"));
    }
}

#[test]
fn letters_behind_a_number_are_said() {
    for (text, taken) in [("0x2f", 0), ("47,", 47), (" 5e3", 5), ("12 ", 12), ("+7u", 7)] {
        for name in [COUNTERS, SUPPORT_COUNT, POLL_INTERVAL, FULL_READ_INTERVAL, WATERMARK_MARGIN] {
            let on = [(NOC_DEBUG, "1"), (PROFILER, "1"), (name, text)];
            let problems = Environment::from_variables(on).problems;
            let line =
                format!("{name}={text}: expected digits alone; TT-Metal takes it as {taken}");
            assert!(problems.iter().any(|problem| problem.to_string() == line), "{problems:?}");
        }
    }
    let whole = [(NOC_DEBUG, "1"), (COUNTERS, " 7"), (POLL_INTERVAL, "+20")];
    assert_eq!(Environment::from_variables(whole).problems, []);
}

#[test]
fn numbers_are_read_as_c_reads_them() {
    for (text, number) in [
        ("12", Some(12)),
        (" 12abc", Some(12)),
        ("+7", Some(7)),
        ("-3", Some(-3)),
        ("0x10", Some(0)),
        ("abc", None),
        ("", None),
        ("-", None),
        ("99999999999999999999", Some(i64::MAX)),
    ] {
        assert_eq!(leading_number(text), number, "{text}");
    }
}

fn flags() -> impl Strategy<Value = [bool; 16]> {
    prop::array::uniform16(any::<bool>())
}

proptest! {
    #[test]
    fn settings_come_back_from_the_variables_that_ask_for_them(
        flags in flags(), counter_groups in 0_u32..1 << 10,
        program_support_count in prop::option::of(0_u32..1 << 31), poll_interval_ms: u32,
        times_ms in prop::array::uniform2(prop::option::of(any::<u32>())),
        folders in prop::collection::vec("[a-z/ ]{1,9}", 2),
    ) {
        let [sync, noc_events, buffers, trace, tracking, mid_run, post, sums, accumulate, files,
            tracy, non_dropping, streaming, op_records, full_op_records, dispatch] = flags;
        let settings = Settings {
            profiler: true,
            dispatch_cores: dispatch,
            clock_sync: sync,
            noc_events: noc_events || non_dropping,
            noc_events_folder: noc_events.then(|| PathBuf::from(&folders[0])),
            counter_groups,
            buffer_usage: buffers,
            trace_only: trace,
            trace_tracking: tracking,
            mid_run_dump: mid_run,
            post_process: post,
            sums,
            accumulate,
            program_support_count,
            files,
            tracy,
            non_dropping,
            poll_interval_ms: if non_dropping { poll_interval_ms } else { 500 },
            full_read_interval_ms: times_ms[0].filter(|_| non_dropping),
            watermark_margin_ms: times_ms[1].filter(|_| non_dropping),
            streaming,
            artifacts: PathBuf::from(&folders[1]),
            op_records,
            full_op_records,
        };
        prop_assert_eq!(Environment::from_variables(settings.variables()).settings, settings);
    }

    #[test]
    fn any_value_of_any_variable_is_taken(
        values in prop::collection::vec((0..VARIABLES.len(), ".*"), 0..30),
    ) {
        let variables = values.into_iter().map(|(index, value)| (VARIABLES[index].name, value));
        let environment = Environment::from_variables(variables);
        for problem in environment.problems {
            prop_assert!(!problem.to_string().is_empty());
        }
    }
}
