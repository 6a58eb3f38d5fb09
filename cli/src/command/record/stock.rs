//! Support for a stock ttnn, as installed by pip. Such a ttnn has no profiler of kernels, so kernels
//! are profiled with kprof's header.

use super::{
    LOGS,
    args::RecordArgs,
    exit_code, lines, memory, samples,
    served::{ServedChip, socket_variable},
    standing,
};
use crate::{
    args::{READ_PERIOD_NS, TracyViewArgs, Waits},
    failure::{Failure, failure, note},
};
use chip::{
    shared::{
        COUNT_VARIABLE, DRAM_HARVEST_VARIABLE, HARVEST_VARIABLE, LIBRARY_VARIABLE, SOCKET_VARIABLE,
    },
    sockets::remove_stale,
};
use host_reader::{
    capture::{Capture, Content, SectionKind},
    recorded_options::RecordedOptions,
    recording::{DEVICE_CAPTURE_PREFIX, device_captures},
    tables::StandingRow,
};
use sim::limits::WHAT_IF_VARIABLE;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use ttnn::{
    package::{BuiltInProfiler, Package, python_of},
    simulator::{InstalledSimulator, Simulator},
    tree::{Build, Tree, base_of, cache_folder},
};
use wire::{dram::DEFAULT_PROGRAM_SUPPORT_COUNT, stream::Policy};

/// Version of ttnn with which kprof was tested.
const TRIED_VERSION: &str = "0.81.1";

/// A program that uses a stock ttnn, to be profiled with kprof's header.
#[derive(Debug)]
pub(super) struct Stock {
    package: Package,
    python: PathBuf,
}

/// Detects whether the program's ttnn must be profiled with kprof's header, and prints a note about
/// it.
///
/// # Errors
/// If the ttnn must be profiled with the header, but the program's Python has no package `kprof`.
pub(super) fn detect(args: &RecordArgs) -> Result<Option<Stock>, Failure> {
    let Some(python) = interpreter(args) else { return Ok(None) };
    // If the interpreter cannot run, starting the program reports the failure later.
    let Ok(Some(package)) = Package::find(&python) else { return Ok(None) };
    let named = format!("ttnn {}", package.version);
    match package.profiler {
        BuiltInProfiler::Absent => {}
        BuiltInProfiler::Present => {
            note!("kprof: {named} was built with tt-metal's device profiler, which kprof uses");
            return Ok(None);
        }
        BuiltInProfiler::Unknown => {
            note!("kprof: {named} may lack tt-metal's device profiler; kprof tries to use it");
            return Ok(None);
        }
    }
    note!(
        "kprof: {named} was built without a device profiler: kernels are built with kprof's header"
    );
    if package.version != TRIED_VERSION {
        note!("kprof: {named} was not tested with kprof, only version {TRIED_VERSION}");
    }
    if package.kprof.is_none() {
        let python = python.display();
        return Err(failure!(
            "expected the package kprof in the program's Python {python}, found none; build its \
             wheel (docs/python.md), then: {python} -m pip install kprof-*.whl"
        ));
    }
    Ok(Some(Stock { package, python }))
}

/// Returns the simulated chip, if `--simulate` requests one.
///
/// If records are streamed, or if the environment names a socket, other processes can access the
/// chip through the socket.
///
/// # Errors
/// If the library or its chip's description is missing.
pub(super) fn simulated_chip(args: &RecordArgs) -> Result<Option<InstalledSimulator>, Failure> {
    let Some(simulator) = &args.simulate else { return Ok(None) };
    let package = interpreter(args).and_then(|python| Package::find(&python).ok().flatten());
    let program = std::env::current_exe().ok();
    let places = program.as_deref().and_then(Path::parent).map(Path::to_owned);
    let kprof = package.as_ref().and_then(|package| package.kprof.clone());
    if args.what_if.is_some() && !matches!(simulator, Simulator::Own { .. }) {
        return Err(failure!(
            "expected kprof's own chip with --what-if, such as --simulate wormhole_b0; other \
             simulators have no limits of time to lift"
        ));
    }
    let places: Vec<_> = places.into_iter().chain(kprof).collect();
    let base = package.as_ref().map(base_of);
    let cache = cache_folder().map_err(|error| failure!("{error}"))?;
    let is_shared = args.stream.is_some() || std::env::var_os(SOCKET_VARIABLE).is_some();
    let installed = simulator.install(&cache, base.as_deref(), &places);
    if is_shared && matches!(simulator, Simulator::Own { chip_count: 2.., .. }) {
        return Err(failure!(
            "expected one simulated chip with --stream or {SOCKET_VARIABLE}, found two; other \
             processes reach only one"
        ));
    }
    let installed = installed.and_then(|installed| match is_shared {
        true => installed.shared(&cache, &places),
        false => Ok(installed),
    });
    installed.map(Some).map_err(|error| failure!("{error}"))
}

/// Sets the variables that make a program use the simulated chip instead of a real one.
pub(super) fn simulate(
    simulated: Option<&InstalledSimulator>,
    args: &RecordArgs,
    command: &mut Command,
) {
    let Some(simulated) = simulated else { return };
    let InstalledSimulator { library, forwarded, chip_count, harvest_mask, dram_harvest_mask } =
        simulated;
    command.env("TT_METAL_SIMULATOR", library);
    if *chip_count > 1 {
        command.env(COUNT_VARIABLE, chip_count.to_string());
    }
    for (variable, mask) in
        [(HARVEST_VARIABLE, harvest_mask), (DRAM_HARVEST_VARIABLE, dram_harvest_mask)]
    {
        if *mask != 0 {
            command.env(variable, format!("{mask:#x}"));
        }
    }
    if let Some(lifted) = args.what_if {
        command.env(WHAT_IF_VARIABLE, lifted.to_string());
    }
    if let Some(forwarded) = forwarded {
        command.env(LIBRARY_VARIABLE, forwarded);
    }
    // On a simulated chip, the telemetry of dispatch cores is useless and needs an extra kernel.
    if std::env::var_os("TT_METAL_DISPATCH_TELEMETRY_DISABLE").is_none() {
        command.env("TT_METAL_DISPATCH_TELEMETRY_DISABLE", "1");
    }
}

/// Returns the Python interpreter that the command line starts.
fn interpreter(args: &RecordArgs) -> Option<PathBuf> {
    let first = args.command.first()?;
    let is_script = Path::new(first).extension().is_some_and(|extension| extension == "py");
    if args.module || args.partial || (is_script && !is_executable(Path::new(first))) {
        return Some("python3".into());
    }
    python_of(first)
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

/// How a program has ended.
pub(super) struct Ended {
    pub(super) exit_code: i32,
    /// Where the RISCs stood in launches that had not ended.
    pub(super) standing: Vec<StandingRow>,
    /// Tables with these rows.
    pub(super) standing_files: Vec<PathBuf>,
}

impl Stock {
    /// Runs the program.
    ///
    /// # Errors
    /// If the root folder for ttnn cannot be created, or the program cannot be started.
    pub(super) fn run(
        &self,
        args: &RecordArgs,
        output: &Path,
        simulated: Option<&InstalledSimulator>,
        served: Option<ServedChip>,
    ) -> Result<Ended, Failure> {
        refuse_options(args)?;
        let logs = output.join(LOGS);
        let tree = self.tree(args)?;
        let mut command = self.command(args);
        self.set_environment(args, &logs, &tree, &mut command);
        simulate(simulated, args, &mut command);
        if args.kernel_lines() {
            lines::TABLE.set_environment(&base_of(&self.package), &logs, &mut command);
        }
        if let Some(every_cycles) = args.sample {
            samples::TABLE.set_environment(&base_of(&self.package), &logs, &mut command);
            command.env(samples::EVERY_VARIABLE, every_cycles.to_string());
        }
        if args.device.device_memory_profiler {
            memory::TABLE.set_environment(&base_of(&self.package), &logs, &mut command);
        }
        if args.stream.is_some() || simulated.is_some() {
            let socket = served.as_ref().map(|chip| chip.socket.clone().into_os_string());
            command.env(SOCKET_VARIABLE, socket.unwrap_or_else(socket_variable));
        }
        if simulated.is_some() {
            standing::set_environment(&base_of(&self.package), &logs, &mut command);
        }
        let program = command.get_program().to_string_lossy().into_owned();
        let status = super::watch::run_without_clients(command)
            .map_err(|error| failure!("cannot start the program `{program}`: {error}"))?;
        // The chip is served until the program has ended.
        drop(served);
        // A program that was killed could not remove its socket.
        remove_stale(&std::env::temp_dir());
        tell_problems(&tree, args.keep_going, &device_captures(&logs));
        if args.kernel_lines() {
            lines::complete(&logs, &tree.cache, &device_captures(&logs))?;
        }
        if args.sample.is_some() {
            samples::complete(&logs, &tree.cache, &device_captures(&logs))?;
        }
        if args.device.device_memory_profiler {
            memory::complete(&device_captures(&logs))?;
        }
        let (standing, standing_files) = match simulated {
            Some(_) => standing::complete(&logs, &tree.cache)?,
            None => Default::default(),
        };
        Ok(Ended { exit_code: exit_code(status), standing, standing_files })
    }

    /// Returns the command line of the program. If the command needs a Python interpreter, it is
    /// the interpreter in which ttnn was found.
    fn command(&self, args: &RecordArgs) -> Command {
        let mut words = args.command.iter();
        let is_plain =
            !args.module && python_of(args.command.first().map_or("", String::as_str)).is_some();
        let mut command = if is_plain {
            Command::new(words.next().map_or("", String::as_str))
        } else {
            let mut command = Command::new(&self.python);
            if args.module {
                command.arg("-m");
            }
            command
        };
        command.args(words);
        command
    }

    fn tree(&self, args: &RecordArgs) -> Result<Tree, Failure> {
        let mut defines = Vec::new();
        if args.device.collect_noc_traces {
            defines.push("PROFILE_NOC_EVENTS=1".to_owned());
        }
        defines.extend(wait_defines(args.waits).iter().map(|&define| define.to_owned()));
        defines.extend(args.stream.map(|_| "KERNEL_PROFILER_STREAM=1".to_owned()));
        defines.extend(args.sample.map(|_| "KERNEL_PROFILER_SAMPLES=1".to_owned()));
        let build = Build {
            header: &kernel_profiler::cpp_header::FILES,
            program_support_count: support_count(args),
            sums: args.device.enable_sum_profiling,
            dispatch_cores: args.device.profile_dispatch_cores,
            defines,
            keeps_going: args.keep_going,
        };
        let base = base_of(&self.package);
        let tree =
            cache_folder().and_then(|cache| Tree::make(&cache, &self.package, &base, &build));
        tree.map_err(|error| failure!("{error}"))
    }

    fn set_environment(&self, args: &RecordArgs, logs: &Path, tree: &Tree, command: &mut Command) {
        // A ttnn without a profiler ends the program if one of these variables is set.
        for name in ["TT_METAL_DEVICE_PROFILER", "TT_METAL_PROFILER_SYNC", "TTNN_OP_PROFILER"] {
            command.env_remove(name);
        }
        command.envs(tree.variables(logs));
        let session = serde_json::json!({
            "capture": logs.join(format!("{DEVICE_CAPTURE_PREFIX}{{pid}}.kprof")),
            "logs": logs,
            "program_support_count": support_count(args),
            "sums": args.device.enable_sum_profiling,
            "dispatch_cores": args.device.profile_dispatch_cores,
            "calls": !args.no_calls,
            "buffers": args.device.device_memory_profiler,
            "stream_policy": args.stream.map(Policy::to_word),
            "read_every_ns": args.read_every.unwrap_or(READ_PERIOD_NS),
            "tracy": tracy_options(&args.view),
            "partial": args.partial,
            "recorded": recorded_options(args),
            "lines": args.python_lines(),
        });
        command.env("KPROF_TTNN_SESSION", session.to_string());
        let start = self.package.kprof.as_ref().map(|kprof| kprof.join("ttnn").join("start"));
        let known = std::env::var_os("PYTHONPATH").unwrap_or_default();
        let folders = start.into_iter().chain(std::env::split_paths(&known));
        if let Ok(folders) = std::env::join_paths(folders) {
            command.env("PYTHONPATH", folders);
        }
    }
}

/// Returns the macro definitions that make kernels record these waits.
const fn wait_defines(waits: Waits) -> &'static [&'static str] {
    match waits {
        Waits::Off => &[],
        Waits::Totals => &["KERNEL_PROFILER_WAITS=1"],
        Waits::Events => &["PROFILE_SYNC_EVENTS=1"],
        Waits::Windows => &["PROFILE_SYNC_EVENTS=1", "KERNEL_PROFILER_SYNC_WINDOW=14"],
    }
}

/// Returns the options of the profiler, as the capture keeps them. A ttnn without Tracy's profiler has no
/// others, see [`refuse_options`].
fn recorded_options(args: &RecordArgs) -> BTreeMap<&'static str, &'static str> {
    let device = &args.device;
    let on = |is_on: bool| if is_on { "on" } else { "off" };
    let waits = match args.waits {
        Waits::Off => "off",
        Waits::Totals => "totals",
        Waits::Events => "events",
        Waits::Windows => "windows",
    };
    BTreeMap::from([
        (RecordedOptions::WAITS, waits),
        (RecordedOptions::NOC_EVENTS, on(device.collect_noc_traces)),
        (RecordedOptions::COUNTERS, "off"),
        ("sums", on(device.enable_sum_profiling)),
        ("accumulate", "off"),
        ("trace_only", "off"),
        ("dispatch_cores", on(device.profile_dispatch_cores)),
        ("stream", on(args.stream.is_some())),
        ("buffers", on(device.device_memory_profiler)),
    ])
}

/// Returns the options for Tracy viewers. The program itself serves the viewers.
fn tracy_options(args: &TracyViewArgs) -> Option<serde_json::Value> {
    let address = args.tracy.as_ref()?;
    Some(serde_json::json!({
        "address": address,
        "waits": args.tracy_wait,
        "fork": args.tracy_fork,
        "drop_after_s": args.tracy_drop_after,
    }))
}

/// Prints the kernels that did not compile with kprof's header. Those that ran without profiling are also
/// named by the captures, if an earlier program has compiled them.
fn tell_problems(tree: &Tree, keeps_going: bool, captures: &[PathBuf]) {
    let written = fs::read_to_string(&tree.problems).unwrap_or_default();
    // The file is removed so that each problem is printed only once.
    let _ = fs::remove_file(&tree.problems);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut problems: BTreeSet<String> = written.lines().map(words).collect();
    // A capture that cannot be opened is told of where it is read.
    for capture in captures.iter().filter_map(|path| Capture::open(path).ok()) {
        let options = capture.sections().filter(|of| of.kind == SectionKind::RECORDED_OPTIONS);
        for content in options.filter_map(|section| section.content().ok()) {
            if let Content::RecordedOptions(options) = content {
                problems.extend(options.values(RecordedOptions::UNPROFILED).map(str::to_owned));
            }
        }
    }
    let consequence = match keeps_going {
        true => "it ran without profiling",
        false => "add --keep-going to run it without profiling",
    };
    for problem in problems {
        note!("kprof: a kernel does not compile with kprof's header: {problem}; {consequence}");
    }
}

/// Refuses `--stream` if nothing would read the rings of streamed records.
///
/// # Errors
/// If the program does not use a stock ttnn.
pub(super) fn check_stream(args: &RecordArgs, is_stock: bool) -> Result<(), Failure> {
    if args.stream.is_none() {
        return Ok(());
    }
    if !is_stock {
        return Err(failure!(
            "expected a Python program with a ttnn from pip for --stream, found another program; \
             build its kernels with KERNEL_PROFILER_STREAM and use `kprof attach --stream`"
        ));
    }
    Ok(())
}

/// Refuses options that need tt-metal's own profiler.
fn refuse_options(args: &RecordArgs) -> Result<(), Failure> {
    let device = &args.device;
    let refused = [
        (device.enable_accumulate_profiling, "--enable-accumulate-profiling"),
        (device.device_trace_profiler, "--device-trace-profiler"),
        (device.dump_device_data_mid_run, "--dump-device-data-mid-run"),
        (!device.profiler_capture_perf_counters.is_empty(), "--profiler-capture-perf-counters"),
    ];
    match refused.into_iter().find(|(is_given, _)| *is_given) {
        None => Ok(()),
        Some((_, option)) => Err(failure!(
            "expected a ttnn built with Tracy for {option}, found one without Tracy; omit the option"
        )),
    }
}

fn support_count(args: &RecordArgs) -> u32 {
    if args.stream.is_some() {
        // Streamed records need no lanes in DRAM, so the smallest lanes suffice.
        return 1;
    }
    args.device.op_support_count.unwrap_or(DEFAULT_PROGRAM_SUPPORT_COUNT)
}
