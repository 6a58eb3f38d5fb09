//! Tests of the C++ header outside of tt-metal: which source it accepts and rejects, which ids it
//! computes, and which definitions it leaves to TT-Metal's header if there is one.
//!
//! The header's probes are tested where they run: in `sim`, in `benches/device`, and, inside
//! tt-metal, in `tests/tt_metal`.

#![allow(clippy::unwrap_used, reason = "tests and what they are made of")]

use std::{
    fmt::Write as _,
    io::Write as _,
    process::{Command, Output, Stdio},
};
use wire::ZoneId;

/// Checks a C++ source with the compiler and these additional flags, and returns the compiler's
/// output. Returns `None` if the compiler is missing; on CI, this is an error.
fn compile(source: &str, flags: &[&str]) -> Option<Output> {
    let compiler = std::env::var("RISCV_CXX").unwrap_or("riscv64-unknown-elf-g++".to_owned());
    let mut command = Command::new(&compiler);
    command.args(["-march=rv32im", "-mabi=ilp32", "-std=c++17", "-ffreestanding"]);
    command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]);
    command.arg("-DARCH_WORMHOLE").args(flags);
    command.args(["-I", concat!(env!("CARGO_MANIFEST_DIR"), "/include"), "-x", "c++", "-"]);
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut running) = command.spawn() else {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "there is no {compiler}");
        println!("not tested: install gcc-riscv64-unknown-elf");
        return None;
    };
    running.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    Some(running.wait_with_output().unwrap())
}

/// Compiles a function with these statements and the header.
fn compile_body(statements: &str, flags: &[&str]) -> Option<Output> {
    let source = format!(
        "#include \"kernel_profiler.hpp\"\n\
         template <int LEFT, int RIGHT> int sum(int more) {{ return LEFT + RIGHT + more; }}\n\
         void kernel_main();\nvoid kernel_main() {{\n{statements}\n}}\n"
    );
    compile(&source, flags)
}

#[track_caller]
fn accepts(statements: &str, flags: &[&str]) {
    if let Some(output) = compile_body(statements, flags) {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[track_caller]
fn refuses(statements: &str, flags: &[&str], expected: &str) {
    if let Some(output) = compile_body(statements, flags) {
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && messages.contains(expected), "{messages}");
    }
}

/// Every macro that TT-Metal's kernels may use.
const EVERY_NAME: &str = r#"
    DeviceProfilerInit();
    DeviceTraceOnlyProfilerInit();
    DeviceIncrementTraceCount();
    DeviceZoneScopedMainN("MAIN");
    DeviceValidateProfiler(true);
    DeviceZoneSetCounter(7u);
    DeviceZoneScopedMainChildN("CHILD");
    DeviceZoneScopedN("ZONE");
    DeviceZoneScopedNIf("ZONE-IF", 1 + 1 == 2);
    DeviceZoneScopedSumN1("SUM-1");
    DeviceZoneScopedSumN2("SUM-2");
    DeviceTimestampedData("DATA", 1);
    DeviceTimestampedData16B("DATA-16B", 1, 2);
    DeviceRecordEvent(3);
    { SrcLocNameToHash("EVENT"); static_cast<void>(hash); }
    kernel_profiler::flush_to_dram_if_full(4);
    kernel_profiler::flush_to_dram_if_full<kernel_profiler::DoingDispatch::DISPATCH>(4);
    kernel_profiler::quick_push();
    kernel_profiler::quick_push_if_linked(0, true);
    kernel_profiler::init_profiler();
    kernel_profiler::finish_profiler();
    RECORD_NOC_EVENT(NocEventType::READ_BARRIER_START, false, 0);
    RECORD_NOC_EVENT_WITH_ADDR(NocEventType::READ, 0, 0x1000, 32, -1, false, 0);
    NOC_TRACE_QUICK_PUSH_IF_LINKED(0, true);
    RECORD_FABRIC_HEADER(nullptr);
    RECORD_SCOPED_LOCK_EVENT(0, 1, 2);
    RECORD_DFB_REGION_CLEAR();
    StartPerfCounters();
    StopPerfCounters();
    RecordPerfCounters();
    ReadPerfCounters(8);
    SYNC_WAIT("NAME", 1);
    SYNC_SIGNAL("NAME", 1);
    SYNC_SIGNAL_NOC_ADDR("NAME", 1, 0);
    volatile uint32_t word = 1;
    DeviceWait(SEM_WAIT, &word, word == 1);
    DeviceWait(CB_RESERVE, 3, sum<1, 2>(word) == 4);
    if (word != 1) { DeviceBlockedWait(NOC_READ_BARRIER, 1u); while (word != 1) {} }
"#;

#[test]
fn every_name_compiles_under_every_option() {
    for options in [
        &[][..],
        &["-DPROFILE_KERNEL"],
        &["-DPROFILE_KERNEL=1"],
        &["-DPROFILE_KERNEL=9", "-Os"],
        &["-DPROFILE_KERNEL=1", "-DDISPATCH_KERNEL"],
        &["-DPROFILE_KERNEL=3", "-DDISPATCH_KERNEL"],
        &["-DPROFILE_KERNEL=1", "-DPROFILE_NOC_EVENTS=1", "-DCOMPILE_FOR_NCRISC"],
        &["-DPROFILE_KERNEL=1", "-DPROFILE_NOC_EVENTS=1", "-DCOMPILE_FOR_TRISC=0"],
        &["-DPROFILE_KERNEL=1", "-DKERNEL_PROFILER_WAITS=1"],
        &["-DPROFILE_KERNEL=1", "-DPROFILE_SYNC_EVENTS"],
        &["-DPROFILE_SYNC_EVENTS"],
        &["-DPROFILE_KERNEL=1", "-DDEVICE_DEBUG_DUMP", "-DPROFILE_NOC_EVENTS=2"],
        &["-DDEVICE_DEBUG_DUMP"],
        &["-DPROFILE_KERNEL=1", "-DPROFILE_PERF_COUNTERS=63"],
        &["-DPROFILE_KERNEL=1", "-DPROFILE_PERF_COUNTERS=1023", "-DCOMPILE_FOR_TRISC=1", "-Os"],
        &["-DPROFILE_PERF_COUNTERS=3"],
    ] {
        accepts(EVERY_NAME, options);
    }
}

#[test]
fn every_name_compiles_where_records_are_streamed() {
    let stream = ["-DPROFILE_KERNEL=9", "-DKERNEL_PROFILER_STREAM"];
    for options in [
        &[][..],
        &["-DKERNEL_PROFILER_STREAM_CALLS", "-Os"],
        &["-UARCH_WORMHOLE", "-DARCH_BLACKHOLE", "-DPROFILE_NOC_EVENTS=2", "-DCOMPILE_FOR_BRISC"],
        &["-DPROFILE_SYNC_EVENTS", "-DPROFILE_PERF_COUNTERS=63"],
        &["-DPROFILE_SYNC_EVENTS", "-DKERNEL_PROFILER_SYNC_WINDOW=14"],
        &["-UPROFILE_KERNEL", "-DPROFILE_KERNEL=19", "-DDISPATCH_KERNEL"],
    ] {
        accepts(EVERY_NAME, &[&stream, options].concat());
    }
    for options in [
        ["-DPROFILE_KERNEL=1", "-DPROFILE_STREAMING"],
        ["-DPROFILE_KERNEL=1", "-DDEVICE_DEBUG_DUMP"],
        ["-DPROFILE_KERNEL=1", "-DKERNEL_PROFILER_DEBUG_DUMP"],
        ["-DPROFILE_KERNEL=5", "-Os"],
    ] {
        let options = [&["-DKERNEL_PROFILER_STREAM"][..], &options].concat();
        refuses("", &options, "expected KERNEL_PROFILER_STREAM alone");
    }
    // A build that records nothing streams nothing.
    accepts(EVERY_NAME, &["-DKERNEL_PROFILER_STREAM"]);
}

#[test]
fn what_nothing_would_record_is_refused() {
    const UPSTREAMS: &str = "expected tt-metal's own header behind this one";
    for option in ["-DPROFILE_KERNEL=19", "-DPROFILE_KERNEL=5"] {
        refuses("", &[option], UPSTREAMS);
    }
    let option = "-DPROFILE_STREAMING";
    refuses("", &["-DPROFILE_KERNEL=1", option], UPSTREAMS);
    accepts("", &[option]);
    refuses(
        "",
        &["-DPROFILE_KERNEL=1", "-UARCH_WORMHOLE"],
        "expected ARCH_WORMHOLE or ARCH_BLACKHOLE",
    );
    let arguments = "DeviceZoneScopedN(\"a \\\"quoted\\\" name\");";
    refuses(arguments, &["-DPROFILE_KERNEL=1"], "without quotes and backslashes");
    let kind = "DeviceWait(MY_LOOP, 1, true);";
    refuses(kind, &["-DPROFILE_KERNEL=1", "-DKERNEL_PROFILER_WAITS=1"], "MY_LOOP");
    let too_much = "kernel_profiler::timeStampedData<1>(1, 2);";
    refuses(too_much, &["-DPROFILE_KERNEL=1"], "TS_DATA one, TS_DATA_16B two");
}

#[test]
fn switched_off_arguments_are_still_checked() {
    refuses("DeviceTimestampedData(\"DATA\", undeclared);", &[], "undeclared");
    refuses("DeviceRecordEvent(undeclared);", &[], "undeclared");
}

/// Tests texts whose ids the format reserves.
#[test]
fn a_zone_whose_id_is_reserved_is_refused() {
    let is_reserved = |name: &&String| {
        let id = ZoneId::from_text(&format!("{name},zone.cpp,1,KERNEL_PROFILER"));
        id == ZoneId::NOC_TRACING
    };
    let names = (0..).map(|number| format!("Z{number}"));
    let name = names.take(1_000_000).find(|name| is_reserved(&name)).unwrap();
    let statement = format!("\n#line 1 \"zone.cpp\"\nDeviceZoneScopedN(\"{name}\");");
    refuses(&statement, &["-DPROFILE_KERNEL=1"], "rename it or move its line");
}

#[test]
fn ids_are_those_of_the_format() {
    let mut statements = String::new();
    for line in 1..=300 {
        // Texts of every length, also with bytes above 0x7F.
        let name = format!("Zone, \u{e9}{}", "x".repeat(line % 70));
        let id = ZoneId::from_text(&format!("{name},dir/kernel.cpp,{line},KERNEL_PROFILER")).0;
        writeln!(statements, "\n#line {line} \"dir/kernel.cpp\"").unwrap();
        writeln!(
            statements,
            "{{ SrcLocNameToHash(\"{name}\"); static_assert(hash == {id}, \"id\"); }}"
        )
        .unwrap();
    }
    accepts(&statements, &["-DPROFILE_KERNEL=1"]);
}

/// A host that reads TT-Metal's log of zones finds the text in the compiler's output.
#[test]
fn names_are_printed_on_request() {
    let zone = "\n#line 4 \"k.cpp\"\nDeviceZoneScopedN(\"Copy\");";
    let options = ["-DPROFILE_KERNEL=1", "-DKERNEL_PROFILER_LOG_NAMES"];
    let Some(output) = compile_body(zone, &options) else { return };
    let messages = String::from_utf8_lossy(&output.stderr);
    let expected = "'#pragma message: Copy,k.cpp,4,KERNEL_PROFILER'";
    assert!(output.status.success() && messages.contains(expected), "{messages}");
}

/// A tt-metal tree whose header defines `IS_UPSTREAMS`; our header precedes it on the include path.
const UPSTREAMS_TREE: [(&str, &str); 2] = [
    (
        "hostdev/profiler_common.h",
        "#pragma once\n\
         #define PROFILER_OPT_DO_DISPATCH_CORES (1 << 1)\n\
         #define PROFILER_OPT_DO_TRACE_ONLY (1 << 2)\n\
         #define PROFILER_OPT_DO_SUM (1 << 3)\n\
         #define PROFILER_OPT_DO_ACCUMULATE (1 << 4)\n",
    ),
    ("api/debug/kernel_profiler.hpp", "#pragma once\n#define IS_UPSTREAMS 1\n"),
];

/// Builds that our header does not support get TT-Metal's header, under both paths and from both
/// folders.
#[test]
fn what_is_not_served_is_left_to_upstreams_header() {
    let tree = tempfile::tempdir().unwrap();
    for (path, text) in UPSTREAMS_TREE {
        let path = tree.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let behind = format!("-I{}", tree.path().display());
    let ours = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/include");
    for spelling in ["api/debug/kernel_profiler.hpp", "tools/profiler/kernel_profiler.hpp"] {
        let source = format!("#include \"{spelling}\"\nstatic_assert(IS_UPSTREAMS, \"\");\n");
        for options in [
            &[][..],
            &["-DPROFILE_KERNEL=1", "-DDISPATCH_KERNEL"],
            &["-DPROFILE_KERNEL=5"],
            &["-DPROFILE_KERNEL=19"],
            &["-DPROFILE_KERNEL=17", "-DDEVICE_DEBUG_DUMP=1"],
            &["-DPROFILE_KERNEL=1", "-DPROFILE_STREAMING"],
            &["-DPROFILE_KERNEL=1", "-DDEVICE_DEBUG_DUMP=1"],
            &["-DPROFILE_KERNEL=1", "-DARCH_QUASAR"],
            &["-DPROFILE_KERNEL=1", "-DCOMPILE_FOR_DRISC"],
        ] {
            let flags = [options, &[ours, &behind, "-Wno-pedantic"]].concat();
            let Some(output) = compile(&source, &flags) else { return };
            let messages = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{spelling} {options:?}\n{messages}");
        }
    }
}

/// Returns the paths of the files below a folder.
#[cfg(feature = "cpp-header")]
fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let files = paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] });
    files.collect()
}

#[cfg(feature = "cpp-header")]
#[test]
fn no_file_of_the_header_is_missing_where_hosts_take_it_from() {
    let include = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let found = files_below(&include).into_iter();
    let found = found.map(|path| path.strip_prefix(&include).unwrap().to_str().unwrap().to_owned());
    let mut found: Vec<_> = found.collect();
    found.sort();
    assert_eq!(found, kernel_profiler::cpp_header::FILES.map(|(path, _)| path.to_owned()));
}
