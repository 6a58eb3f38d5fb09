//! The variables, in the order in which TT-Metal processes them.

/// A variable that affects profiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Name of the variable.
    pub name: &'static str,
    /// Purpose, in a few words.
    pub meaning: &'static str,
    /// True if the variable only has an effect after an earlier variable has switched the profiler
    /// on.
    pub needs_profiler: bool,
    /// Kind of value.
    pub(crate) form: Form,
}

/// Kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// On if the value begins with `1`.
    Switch,
    /// On if the variable is set to any value.
    Presence,
    /// A number.
    Number,
    /// Any text.
    Text,
}

const fn variable(name: &'static str, form: Form, meaning: &'static str) -> Variable {
    Variable { name, meaning, needs_profiler: false, form }
}

const fn switch(name: &'static str, meaning: &'static str) -> Variable {
    variable(name, Form::Switch, meaning)
}

const fn dependent(name: &'static str, meaning: &'static str) -> Variable {
    Variable { needs_profiler: true, ..switch(name, meaning) }
}

pub(crate) const PROFILER: &str = "TT_METAL_DEVICE_PROFILER";
pub(crate) const DISPATCH: &str = "TT_METAL_DEVICE_PROFILER_DISPATCH";
pub(crate) const SYNC: &str = "TT_METAL_PROFILER_SYNC";
pub(crate) const NOC_EVENTS: &str = "TT_METAL_DEVICE_PROFILER_NOC_EVENTS";
pub(crate) const NOC_FOLDER: &str = "TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH";
pub(crate) const COUNTERS: &str = "TT_METAL_PROFILE_PERF_COUNTERS";
pub(crate) const BUFFERS: &str = "TT_METAL_MEM_PROFILER";
pub(crate) const TRACE: &str = "TT_METAL_TRACE_PROFILER";
pub(crate) const TRACKING: &str = "TT_METAL_PROFILER_TRACE_TRACKING";
pub(crate) const MID_RUN: &str = "TT_METAL_PROFILER_MID_RUN_DUMP";
pub(crate) const POST_PROCESS: &str = "TT_METAL_PROFILER_CPP_POST_PROCESS";
pub(crate) const SUM: &str = "TT_METAL_PROFILER_SUM";
pub(crate) const ACCUMULATE: &str = "TT_METAL_PROFILER_ACCUMULATE";
pub(crate) const SUPPORT_COUNT: &str = "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT";
pub(crate) const MID_RUN_PUSH: &str = "TT_METAL_TRACY_MID_RUN_PUSH";
pub(crate) const NO_FILES: &str = "TT_METAL_PROFILER_DISABLE_DUMP_TO_FILES";
pub(crate) const NO_TRACY: &str = "TT_METAL_PROFILER_DISABLE_PUSH_TO_TRACY";
pub(crate) const NOC_DEBUG: &str = "TT_METAL_NOC_DEBUG_DUMP";
pub(crate) const NOC_DEBUG_OLD: &str = "TT_METAL_DEVICE_DEBUG_DUMP_ENABLED";
pub(crate) const POLL_INTERVAL: &str = "TT_METAL_NOC_DEBUG_POLL_INTERVAL_MS";
pub(crate) const FULL_READ_INTERVAL: &str = "TT_METAL_NOC_DEBUG_FULL_READ_INTERVAL_MS";
pub(crate) const WATERMARK_MARGIN: &str = "TT_METAL_NOC_DEBUG_WATERMARK_MARGIN_MS";
pub(crate) const STREAMING: &str = "TT_METAL_STREAMING_PROFILER";
pub(crate) const FOLDER: &str = "TT_METAL_PROFILER_DIR";
pub(crate) const HOME: &str = "TT_METAL_HOME";
pub(crate) const OP_RECORDS: &str = "TTNN_OP_PROFILER";
pub(crate) const FULL_OPS: &str = "TT_METAL_PROFILER_NO_CACHE_OP_INFO";

/// Name of the variable that enables the print server, which excludes the profiler.
pub(crate) const PRINT_SERVER: &str = "TT_METAL_DPRINT_CORES";

/// All variables that affect profiling, in the order in which TT-Metal processes them.
pub const VARIABLES: [Variable; 27] = [
    switch(PROFILER, "profiles kernels"),
    dependent(DISPATCH, "profiles dispatch cores, too"),
    dependent(SYNC, "samples the chips' clocks against the host's"),
    switch(NOC_EVENTS, "records NoC events; switches the profiler on"),
    variable(NOC_FOLDER, Form::Text, "folder of noc_trace files"),
    variable(
        COUNTERS,
        Form::Number,
        "groups of hardware counters as bits; switches the profiler on",
    ),
    switch(BUFFERS, "records allocations of buffers, on the host"),
    dependent(TRACE, "records one envelope for each replay of a trace"),
    dependent(TRACKING, "reports traces to Tracy"),
    dependent(MID_RUN, "writes files at each read"),
    dependent(POST_PROCESS, "computes analyses and cpp_device_perf_report.csv"),
    dependent(SUM, "records sum zones"),
    dependent(ACCUMULATE, "gathers several programs in L1 before they are pushed"),
    variable(SUPPORT_COUNT, Form::Number, "programs that the buffers in DRAM have room for"),
    variable(MID_RUN_PUSH, Form::Presence, "pushes to Tracy at each read; no longer read"),
    switch(NO_FILES, "writes no log and no noc_trace"),
    dependent(NO_TRACY, "pushes nothing to Tracy"),
    switch(NOC_DEBUG, "records NoC events without loss; switches the profiler on"),
    switch(NOC_DEBUG_OLD, "the name of TT_METAL_NOC_DEBUG_DUMP until 2026"),
    variable(POLL_INTERVAL, Form::Number, "milliseconds between two reads of that mode"),
    variable(
        FULL_READ_INTERVAL,
        Form::Number,
        "idle milliseconds before it reads everything; 0: never",
    ),
    variable(WATERMARK_MARGIN, Form::Number, "milliseconds by which its NoC checker stays behind"),
    switch(STREAMING, "streams markers from the device instead"),
    variable(FOLDER, Form::Text, "folder of what the profiler writes"),
    variable(HOME, Form::Text, "folder that holds generated/profiler"),
    variable(OP_RECORDS, Form::Presence, "records ops on the host"),
    variable(FULL_OPS, Form::Presence, "records cached ops in full, too"),
];
