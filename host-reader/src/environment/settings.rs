//! Settings: the variables as typed options.

use crate::environment::variable::{
    COUNTERS, FOLDER, FULL_READ_INTERVAL, Form, NOC_DEBUG_OLD, NOC_FOLDER, POLL_INTERVAL,
    SUPPORT_COUNT, VARIABLES, Variable, WATERMARK_MARGIN,
};
use reader::{ProfilerOptions, ReadOptions, decode::CaptureMode};
use std::path::PathBuf;
use wire::dram::{DEFAULT_PROGRAM_SUPPORT_COUNT, effective_support_count};

/// Settings selected by a set of variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// True if kernels are profiled.
    pub profiler: bool,
    /// True if dispatch cores are also profiled.
    pub dispatch_cores: bool,
    /// True if clocks are sampled.
    pub clock_sync: bool,
    /// True if NoC events are recorded.
    pub noc_events: bool,
    /// Folder of noc_trace files, if it is not the folder of the logs.
    pub noc_events_folder: Option<PathBuf>,
    /// Groups of hardware counters, one bit for each group.
    pub counter_groups: u32,
    /// True if buffer allocations are recorded.
    pub buffer_usage: bool,
    /// True if each replay of a trace is recorded as one zone that encloses the whole replay.
    pub trace_only: bool,
    /// True if messages about the steps of traces are sent to Tracy.
    pub trace_tracking: bool,
    /// True if the profiler's files are written after each read while kernels run.
    pub mid_run_dump: bool,
    /// True if TT-Metal's analyses are calculated.
    pub post_process: bool,
    /// True if kernels record sum zones. A sum zone adds up the cycles of all passes through the
    /// zone.
    pub sums: bool,
    /// True if kernels push the records of several launches to DRAM together (accumulate mode).
    pub accumulate: bool,
    /// Number of programs whose records fit into a lane; `None` if not set.
    pub program_support_count: Option<u32>,
    /// True if log and noc_trace files are written.
    pub files: bool,
    /// True if zones are sent to Tracy.
    pub tracy: bool,
    /// True if a core waits for the host when its lane is full, instead of dropping records (debug
    /// dump).
    pub non_dropping: bool,
    /// Interval in milliseconds between two reads of the profiler's records, if cores wait for the
    /// host.
    pub poll_interval_ms: u32,
    /// Idle time in milliseconds after which the host reads all memory of the profiler, if cores
    /// wait for the host; 0 means never, and `None` means not set.
    pub full_read_interval_ms: Option<u32>,
    /// Delay in milliseconds between a read and TT-Metal's check of the NoC events from this read;
    /// `None` if not set.
    pub watermark_margin_ms: Option<u32>,
    /// True if markers are streamed.
    pub streaming: bool,
    /// Folder of the profiler's files.
    pub artifacts: PathBuf,
    /// True if the host records ops.
    pub op_records: bool,
    /// True if the host records all fields of every op, even if the op's program comes from the
    /// program cache.
    pub full_op_records: bool,
}

/// Default number of programs whose records fit into a lane, if cores wait for the host.
const NON_DROPPING_SUPPORT_COUNT: u32 = 500;

impl Default for Settings {
    fn default() -> Self {
        Self {
            profiler: false,
            dispatch_cores: false,
            clock_sync: false,
            noc_events: false,
            noc_events_folder: None,
            counter_groups: 0,
            buffer_usage: false,
            trace_only: false,
            trace_tracking: false,
            mid_run_dump: false,
            post_process: false,
            sums: false,
            accumulate: false,
            program_support_count: None,
            files: true,
            tracy: true,
            non_dropping: false,
            poll_interval_ms: 500,
            full_read_interval_ms: None,
            watermark_margin_ms: None,
            streaming: false,
            artifacts: PathBuf::from("generated/profiler"),
            op_records: false,
            full_op_records: false,
        }
    }
}

impl Settings {
    /// Returns the number of programs whose records fit into a lane, after TT-Metal's adjustments.
    #[must_use]
    pub const fn effective_support_count(&self) -> u32 {
        let count = match self.program_support_count {
            Some(count) => count,
            None if self.non_dropping => NON_DROPPING_SUPPORT_COUNT,
            None => DEFAULT_PROGRAM_SUPPORT_COUNT,
        };
        effective_support_count(count, self.sums)
    }

    /// Returns the options for initialising the profiler on a mesh.
    ///
    /// ```
    /// use host_reader::environment::Environment;
    /// let variables = [("TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT", "2000")];
    /// let environment = Environment::from_variables(variables);
    /// assert_eq!(environment.settings.profiler_options().program_support_count, 2000);
    /// ```
    #[must_use]
    pub fn profiler_options(&self) -> ProfilerOptions {
        ProfilerOptions {
            program_support_count: self.effective_support_count(),
            sums_enabled: self.sums,
            has_two_buffers: self.non_dropping,
            ..ProfilerOptions::default()
        }
    }

    /// Returns the options for reading a mesh. A host uses these options as follows:
    ///
    /// ```
    /// use host_reader::environment::Environment;
    /// use reader::{ReadError, mesh::Mesh, read_device_profiler_with, readout::Readout};
    /// fn read(mesh: &mut dyn Mesh) -> Result<Readout, ReadError> {
    ///     let Environment { settings, problems } = Environment::from_process();
    ///     problems.iter().for_each(|problem| eprintln!("{problem}"));
    ///     read_device_profiler_with(mesh, &settings.read_options())
    /// }
    /// ```
    #[must_use]
    pub fn read_options(&self) -> ReadOptions {
        ReadOptions {
            program_support_count: self.effective_support_count(),
            sums_enabled: self.sums,
            mode: match (self.trace_only, self.accumulate, self.dispatch_cores) {
                (true, _, _) => CaptureMode::TraceOnly,
                (false, true, _) => CaptureMode::Accumulate,
                (false, false, true) => CaptureMode::DispatchCores,
                (false, false, false) => CaptureMode::Workers,
            },
            ..ReadOptions::default()
        }
    }

    /// Returns the folder of the logs.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.artifacts.join(".logs")
    }

    /// Returns the variables that select these settings, in TT-Metal's order, each with its value.
    ///
    /// All other variables must be unset, or set to values without effect.
    ///
    /// ```
    /// use host_reader::environment::{Environment, Settings};
    /// let settings = Settings { profiler: true, sums: true, ..Settings::default() };
    /// let variables: Vec<_> = settings.variables().collect();
    /// assert!(variables.contains(&("TT_METAL_PROFILER_SUM", "1".to_owned())));
    /// assert_eq!(Environment::from_variables(variables).settings, settings);
    /// ```
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        // The settings are cloned, because the accessors of flags take a mutable reference.
        let mut settings = self.clone();
        let mut value = move |variable: &Variable| match variable.form {
            _ if variable.needs_profiler && !self.profiler => None,
            // `NOC_DEBUG_OLD` is the old name of the variable `NOC_DEBUG`. Settings are written
            // with the new name.
            _ if variable.name == NOC_DEBUG_OLD => None,
            Form::Switch { flag, turns } => (*flag(&mut settings) == turns).then(|| "1".to_owned()),
            Form::Presence(flag) => flag(&mut settings).then(|| "1".to_owned()),
            Form::Other => self.value_of(variable.name),
        };
        VARIABLES.iter().filter_map(move |variable| Some((variable.name, value(variable)?)))
    }

    /// Returns the value of a variable whose value is a number or a text; `None` if the variable
    /// must be unset.
    fn value_of(&self, name: &str) -> Option<String> {
        let dump_time = |ms: Option<u32>| ms.filter(|_| self.non_dropping).map(|ms| ms.to_string());
        match name {
            NOC_FOLDER => Some(self.noc_events_folder.as_ref()?.display().to_string()),
            COUNTERS => (self.counter_groups != 0).then(|| self.counter_groups.to_string()),
            SUPPORT_COUNT => self.program_support_count.map(|count| count.to_string()),
            POLL_INTERVAL => dump_time(Some(self.poll_interval_ms)),
            FULL_READ_INTERVAL => dump_time(self.full_read_interval_ms),
            WATERMARK_MARGIN => dump_time(self.watermark_margin_ms),
            FOLDER => Some(self.artifacts.display().to_string()),
            _ => None,
        }
    }
}
