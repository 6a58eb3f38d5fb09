//! Settings of a run: TT-Metal's variables, overridden by command-line options.
//!
//! docs/variables.md lists the effect of each variable.

use super::{run_mesh::could_wait, run_work::Work};
use crate::{
    args::{CounterChoice, DispatchCoreKind, READ_PERIOD_NS, WorkloadArgs},
    failure::{Failure, failure, note},
};
use host_reader::{
    environment::{Environment, Problem, Settings},
    recorded_options::RecordedOptions,
};
use sim::config::{MeshConfig, WaitRecords};

/// The command-line options and the settings. An option that was not given is set by the
/// environment variables.
pub(super) struct Request {
    pub(super) args: WorkloadArgs,
    pub(super) settings: Settings,
}

/// Pause between two reads, in nanoseconds. It applies if an environment variable requests reads
/// while kernels run.
const MID_RUN_PAUSE_NS: u64 = 200_000;

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
                "TT_METAL_STREAMING_PROFILER requests TT-Metal's streams, which simulated chips do \
                 not send; unset it and use --stream"
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
        let Self { args, settings } = self;
        let own = ("your own kernels", args.own.has_files());
        let sums = ("--enable-sum-profiling", args.enable_sum_profiling);
        let accumulate = ("--enable-accumulate-profiling", args.enable_accumulate_profiling);
        let trace_only = ("--device-trace-profiler", args.device_trace_profiler);
        let dispatch = ("--profile-dispatch-cores", args.profile_dispatch_cores.is_some());
        // Each variable with its setting and the options that exclude it.
        let exclusions: [(&str, &mut bool, &[_]); 5] = [
            (
                "TT_METAL_NOC_DEBUG_DUMP",
                &mut settings.non_dropping,
                &[own, sums, accumulate, trace_only, dispatch],
            ),
            ("TT_METAL_TRACE_PROFILER", &mut settings.trace_only, &[dispatch, accumulate]),
            (
                "TT_METAL_PROFILER_ACCUMULATE",
                &mut settings.accumulate,
                &[trace_only, dispatch, sums],
            ),
            (
                "TT_METAL_DEVICE_PROFILER_DISPATCH",
                &mut settings.dispatch_cores,
                &[trace_only, accumulate],
            ),
            ("TT_METAL_PROFILER_SUM", &mut settings.sums, &[accumulate]),
        ];
        for (variable, setting, options) in exclusions {
            let given = options.iter().find(|(_, is_given)| *is_given);
            if let (Some((option, _)), true) = (given, *setting) {
                *setting = false;
                note!("kprof: {variable} has no effect with {option}");
            }
        }
    }

    /// Sets each option that the user did not give to the value of the corresponding setting.
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
        let drain_ns = args.stream.map(|_| READ_PERIOD_NS);
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

/// Returns the options of a run, as a capture keeps them.
pub(super) fn recorded_options(
    args: &WorkloadArgs,
    work: &Work,
    (config, counters): (&MeshConfig, u32),
) -> RecordedOptions {
    let modes = &config.modes;
    let waits = match modes.wait_records {
        WaitRecords::Totals => "totals",
        WaitRecords::Events if modes.has_sync_windows => "windows",
        WaitRecords::Events => "events",
        WaitRecords::Off if could_wait(args, work) => "off",
        WaitRecords::Off => "unbuilt",
    };
    let on = |is_on: bool| if is_on { "on" } else { "off" }.to_owned();
    let counters = match counters {
        0 => "off".to_owned(),
        mask => mask.to_string(),
    };
    RecordedOptions::from_pairs([
        (RecordedOptions::WAITS, waits.to_owned()),
        (RecordedOptions::NOC_EVENTS, on(args.collect_noc_traces)),
        (RecordedOptions::COUNTERS, counters),
        ("sums", on(modes.sums_enabled)),
        ("accumulate", on(modes.is_accumulating)),
        ("trace_only", on(modes.is_trace_only)),
        ("dispatch_cores", on(args.profile_dispatch_cores.is_some())),
        ("noc_debug_dump", on(modes.is_non_dropping)),
        ("stream", on(modes.is_streaming)),
        ("buffers", on(args.device_memory_profiler)),
    ])
}

/// Returns true if a problem of the environment variables prevents the run.
///
/// Some problems are fatal for TT-Metal but not for a simulation: a simulation has no print server
/// and no NoC checker, and it can read all banks of L1 counters, because it repeats the run for
/// each bank.
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
