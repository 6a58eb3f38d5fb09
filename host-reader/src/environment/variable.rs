//! The variables, in the order in which TT-Metal processes them.

use crate::environment::settings::Settings;

/// A variable that affects profiling.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Name of the variable.
    pub name: &'static str,
    /// True if the variable only has an effect after an earlier variable has switched the profiler
    /// on.
    pub needs_profiler: bool,
    /// Kind of value.
    pub(crate) form: Form,
}

/// Function that returns a reference to one flag in the settings.
pub(crate) type Flag = fn(&mut Settings) -> &mut bool;

/// Kind of value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// Switch that is on if the value begins with `1`. If the switch is on, the flag is set to
    /// `turns`.
    Switch { flag: Flag, turns: bool },
    /// Switch that is on if the variable is set to any value. If the switch is on, the flag is set
    /// to true.
    Presence(Flag),
    /// Value that is a number or a text. This form is also used for a variable that TT-Metal no
    /// longer reads.
    Other,
}

const fn variable(name: &'static str, form: Form) -> Variable {
    Variable { name, needs_profiler: false, form }
}

const fn other(name: &'static str) -> Variable {
    variable(name, Form::Other)
}

const fn switch(name: &'static str, flag: Flag) -> Variable {
    variable(name, Form::Switch { flag, turns: true })
}

const fn off_switch(name: &'static str, flag: Flag) -> Variable {
    variable(name, Form::Switch { flag, turns: false })
}

const fn dependent(variable: Variable) -> Variable {
    Variable { needs_profiler: true, ..variable }
}

pub(crate) const PROFILER: &str = "TT_METAL_DEVICE_PROFILER";
pub(crate) const DISPATCH: &str = "TT_METAL_DEVICE_PROFILER_DISPATCH";
pub(crate) const NOC_EVENTS: &str = "TT_METAL_DEVICE_PROFILER_NOC_EVENTS";
pub(crate) const NOC_FOLDER: &str = "TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH";
pub(crate) const COUNTERS: &str = "TT_METAL_PROFILE_PERF_COUNTERS";
pub(crate) const TRACE: &str = "TT_METAL_TRACE_PROFILER";
pub(crate) const MID_RUN: &str = "TT_METAL_PROFILER_MID_RUN_DUMP";
pub(crate) const ACCUMULATE: &str = "TT_METAL_PROFILER_ACCUMULATE";
pub(crate) const SUPPORT_COUNT: &str = "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT";
pub(crate) const MID_RUN_PUSH: &str = "TT_METAL_TRACY_MID_RUN_PUSH";
pub(crate) const NOC_DEBUG: &str = "TT_METAL_NOC_DEBUG_DUMP";
pub(crate) const NOC_DEBUG_OLD: &str = "TT_METAL_DEVICE_DEBUG_DUMP_ENABLED";
pub(crate) const POLL_INTERVAL: &str = "TT_METAL_NOC_DEBUG_POLL_INTERVAL_MS";
pub(crate) const FULL_READ_INTERVAL: &str = "TT_METAL_NOC_DEBUG_FULL_READ_INTERVAL_MS";
pub(crate) const WATERMARK_MARGIN: &str = "TT_METAL_NOC_DEBUG_WATERMARK_MARGIN_MS";
pub(crate) const STREAMING: &str = "TT_METAL_STREAMING_PROFILER";
pub(crate) const FOLDER: &str = "TT_METAL_PROFILER_DIR";
pub(crate) const HOME: &str = "TT_METAL_HOME";

/// Name of the variable that enables the print server. The print server and the profiler cannot be
/// used together.
pub(crate) const PRINT_SERVER: &str = "TT_METAL_DPRINT_CORES";

/// All variables that affect profiling, in the order in which TT-Metal processes them.
pub const VARIABLES: [Variable; 27] = [
    switch(PROFILER, |on| &mut on.profiler),
    dependent(switch(DISPATCH, |on| &mut on.dispatch_cores)),
    dependent(switch("TT_METAL_PROFILER_SYNC", |on| &mut on.clock_sync)),
    switch(NOC_EVENTS, |on| &mut on.noc_events),
    other(NOC_FOLDER),
    other(COUNTERS),
    switch("TT_METAL_MEM_PROFILER", |on| &mut on.buffer_usage),
    dependent(switch(TRACE, |on| &mut on.trace_only)),
    dependent(switch("TT_METAL_PROFILER_TRACE_TRACKING", |on| &mut on.trace_tracking)),
    dependent(switch(MID_RUN, |on| &mut on.mid_run_dump)),
    dependent(switch("TT_METAL_PROFILER_CPP_POST_PROCESS", |on| &mut on.post_process)),
    dependent(switch("TT_METAL_PROFILER_SUM", |on| &mut on.sums)),
    dependent(switch(ACCUMULATE, |on| &mut on.accumulate)),
    other(SUPPORT_COUNT),
    // TT-Metal does not read this variable any more.
    other(MID_RUN_PUSH),
    off_switch("TT_METAL_PROFILER_DISABLE_DUMP_TO_FILES", |on| &mut on.files),
    dependent(off_switch("TT_METAL_PROFILER_DISABLE_PUSH_TO_TRACY", |on| &mut on.tracy)),
    switch(NOC_DEBUG, |on| &mut on.non_dropping),
    // Until 2026, `TT_METAL_NOC_DEBUG_DUMP` had this name.
    switch(NOC_DEBUG_OLD, |on| &mut on.non_dropping),
    other(POLL_INTERVAL),
    other(FULL_READ_INTERVAL),
    other(WATERMARK_MARGIN),
    switch(STREAMING, |on| &mut on.streaming),
    other(FOLDER),
    other(HOME),
    variable("TTNN_OP_PROFILER", Form::Presence(|on| &mut on.op_records)),
    variable("TT_METAL_PROFILER_NO_CACHE_OP_INFO", Form::Presence(|on| &mut on.full_op_records)),
];
