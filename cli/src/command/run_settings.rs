//! Settings of a run: TT-Metal's variables, overridden by command-line options.
//!
//! docs/variables.md lists the effect of each variable.

use crate::{
    args::{CounterChoice, DispatchCoreKind, WorkloadArgs},
    failure::{Failure, failure, note},
};
use host_reader::environment::{Environment, Problem, Settings};

/// The command-line options, completed by environment variables, and the resulting settings.
pub(super) struct Request {
    pub(super) args: WorkloadArgs,
    pub(super) settings: Settings,
}

/// Pause between two reads in nanoseconds, if an environment variable requests reads while kernels
/// run.
const MID_RUN_PAUSE_NS: u64 = 200_000;

/// Default pause between two reads of rings, in nanoseconds.
const DRAIN_PAUSE_NS: u64 = 1_000_000;
const NS_PER_MS: u64 = 1_000_000;

impl Request {
    /// Reads the environment variables of this process, and prints their problems.
    ///
    /// # Errors
    /// If the variables request something that a simulation cannot do.
    pub(super) fn new(args: &WorkloadArgs) -> Result<Self, Failure> {
        let Environment { settings, problems } = Environment::from_process();
        let problems = problems.iter().filter(|problem| !is_solved(problem, args));
        let (fatal, others): (Vec<_>, Vec<_>) = problems.partition(|problem| stops_run(problem));
        others.iter().chain(fatal.iter().skip(1)).for_each(|problem| note!("kprof: {problem}"));
        if let Some(problem) = fatal.first() {
            return Err(failure!("{problem}"));
        }
        if settings.streaming {
            return Err(failure!(
                "TT_METAL_STREAMING_PROFILER asks for TT-Metal's streams, which simulated chips do \
                 not send; unset it, and stream with --stream"
            ));
        }
        let mut request = Self { args: args.clone(), settings };
        request.yield_to_options();
        request.fill_options();
        request.follow_options();
        Ok(request)
    }

    /// Disables settings that are incompatible with a given option, and prints a note for each.
    fn yield_to_options(&mut self) {
        for (option, is_given, variable, setting) in EXCLUSIONS {
            let setting = setting(&mut self.settings);
            if is_given(&self.args) && *setting {
                *setting = false;
                note!("kprof: {variable} has no effect beside {option}");
            }
        }
    }

    /// Sets options that were not given to the values of the corresponding settings.
    fn fill_options(&mut self) {
        let Self { args, settings } = self;
        let dispatch = settings.dispatch_cores.then_some(DispatchCoreKind::Worker);
        args.profile_dispatch_cores = args.profile_dispatch_cores.or(dispatch);
        args.enable_sum_profiling |= settings.sums;
        args.enable_accumulate_profiling |= settings.accumulate;
        args.device_trace_profiler |= settings.trace_only;
        args.device_memory_profiler |= settings.buffer_usage;
        args.noc_debug_dump |= settings.non_dropping;
        settings.non_dropping = args.noc_debug_dump;
        args.collect_noc_traces |= settings.noc_events || args.noc_debug_dump;
        let asked = settings.program_support_count.is_some() || settings.non_dropping;
        let support_count = asked.then(|| settings.effective_support_count());
        args.op_support_count = args.op_support_count.or(support_count);
        if args.profiler_capture_perf_counters.is_empty() && settings.counter_groups != 0 {
            let groups = CounterChoice::Groups(settings.counter_groups);
            args.profiler_capture_perf_counters.push(groups);
        }
        let poll_ns = u64::from(settings.poll_interval_ms.max(1)) * NS_PER_MS;
        let pause_ns = match (settings.mid_run_dump, settings.non_dropping) {
            (true, _) => Some(MID_RUN_PAUSE_NS),
            (false, true) => Some(poll_ns),
            (false, false) => None,
        };
        let drain_ns = args.stream.map(|_| DRAIN_PAUSE_NS);
        args.read_every = args.read_every.or(drain_ns).or(pause_ns);
    }

    /// Sets the settings to the values of the corresponding options.
    fn follow_options(&mut self) {
        let Self { args, settings } = self;
        settings.profiler = true;
        settings.dispatch_cores = args.profile_dispatch_cores.is_some();
        settings.sums = args.enable_sum_profiling;
        settings.accumulate = args.enable_accumulate_profiling;
        settings.trace_only = args.device_trace_profiler;
        settings.buffer_usage = args.device_memory_profiler;
        settings.noc_events = args.collect_noc_traces;
        // Simulated cores wait for the host, but without the two buffers of TT-Metal's debug dump.
        settings.non_dropping = false;
    }
}

/// Returns true if a problem of the environment variables prevents the run.
///
/// Some problems are fatal for TT-Metal but not for a simulation: a simulation has no print server
/// and no NoC checker, and it reads several banks of L1 counters in several runs.
const fn stops_run(problem: &Problem) -> bool {
    use Problem::{MarginTooSmall, PrintServer, SeveralL1Banks};
    problem.is_fatal()
        && !matches!(problem, PrintServer | SeveralL1Banks { .. } | MarginTooSmall { .. })
}

/// Returns true if an option solves the problem of an environment variable.
fn is_solved(problem: &Problem, args: &WorkloadArgs) -> bool {
    let name = "TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH";
    let is_folder = matches!(problem, Problem::HasNoEffect { name: found, .. } if *found == name);
    args.collect_noc_traces && is_folder
}

/// An option that excludes an environment variable: the option's name, a function that tells
/// whether the option is given, the variable's name, and a function that returns the variable's
/// setting.
type Exclusion =
    (&'static str, fn(&WorkloadArgs) -> bool, &'static str, fn(&mut Settings) -> &mut bool);

const ACCUMULATE: &str = "TT_METAL_PROFILER_ACCUMULATE";
const DISPATCH: &str = "TT_METAL_DEVICE_PROFILER_DISPATCH";
const DUMP: &str = "TT_METAL_NOC_DEBUG_DUMP";
const SUM: &str = "TT_METAL_PROFILER_SUM";
const TRACE: &str = "TT_METAL_TRACE_PROFILER";

const EXCLUSIONS: [Exclusion; 13] = [
    ("kernels of your own", |args| args.own.has_files(), DUMP, non_dropping),
    ("--enable-sum-profiling", |args| args.enable_sum_profiling, DUMP, non_dropping),
    ("--enable-accumulate-profiling", |args| args.enable_accumulate_profiling, DUMP, non_dropping),
    ("--device-trace-profiler", |args| args.device_trace_profiler, DUMP, non_dropping),
    ("--profile-dispatch-cores", |args| args.profile_dispatch_cores.is_some(), DUMP, non_dropping),
    ("--device-trace-profiler", |args| args.device_trace_profiler, ACCUMULATE, accumulate),
    ("--device-trace-profiler", |args| args.device_trace_profiler, DISPATCH, dispatch_cores),
    ("--profile-dispatch-cores", |args| args.profile_dispatch_cores.is_some(), TRACE, trace_only),
    (
        "--profile-dispatch-cores",
        |args| args.profile_dispatch_cores.is_some(),
        ACCUMULATE,
        accumulate,
    ),
    ("--enable-accumulate-profiling", |args| args.enable_accumulate_profiling, TRACE, trace_only),
    (
        "--enable-accumulate-profiling",
        |args| args.enable_accumulate_profiling,
        DISPATCH,
        dispatch_cores,
    ),
    ("--enable-accumulate-profiling", |args| args.enable_accumulate_profiling, SUM, sums),
    ("--enable-sum-profiling", |args| args.enable_sum_profiling, ACCUMULATE, accumulate),
];

const fn accumulate(settings: &mut Settings) -> &mut bool {
    &mut settings.accumulate
}

const fn dispatch_cores(settings: &mut Settings) -> &mut bool {
    &mut settings.dispatch_cores
}

const fn non_dropping(settings: &mut Settings) -> &mut bool {
    &mut settings.non_dropping
}

const fn sums(settings: &mut Settings) -> &mut bool {
    &mut settings.sums
}

const fn trace_only(settings: &mut Settings) -> &mut bool {
    &mut settings.trace_only
}
