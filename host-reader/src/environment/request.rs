//! Converts settings to the variables that select them.

use crate::environment::{
    settings::Settings,
    variable::{
        ACCUMULATE, BUFFERS, COUNTERS, DISPATCH, FOLDER, FULL_OPS, FULL_READ_INTERVAL, MID_RUN,
        NO_FILES, NO_TRACY, NOC_DEBUG, NOC_EVENTS, NOC_FOLDER, OP_RECORDS, POLL_INTERVAL,
        POST_PROCESS, PROFILER, STREAMING, SUM, SUPPORT_COUNT, SYNC, TRACE, TRACKING, VARIABLES,
        Variable, WATERMARK_MARGIN,
    },
};
use std::path::Path;

impl Settings {
    /// Returns the variables that select these settings, in TT-Metal's order, each with its value.
    ///
    /// Variables that are not returned must be unset or have no effect.
    ///
    /// ```
    /// use host_reader::environment::{Environment, Settings};
    /// let settings = Settings { profiler: true, sums: true, ..Settings::default() };
    /// let variables: Vec<_> = settings.variables().collect();
    /// assert!(variables.contains(&("TT_METAL_PROFILER_SUM", "1".to_owned())));
    /// assert_eq!(Environment::from_variables(variables).settings, settings);
    /// ```
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        VARIABLES.iter().filter_map(|variable| Some((variable.name, self.value_of(variable)?)))
    }

    /// Returns the value of a variable that sets a time of the debug dump; `None` if the debug dump
    /// is off, because the variable has no effect then.
    fn dump_time(&self, time_ms: Option<u32>) -> Option<String> {
        time_ms.filter(|_| self.non_dropping).map(|ms| ms.to_string())
    }

    /// Returns the value of a variable for these settings; `None` if the variable must be unset.
    fn value_of(&self, variable: &Variable) -> Option<String> {
        if variable.needs_profiler && !self.profiler {
            return None;
        }
        let is_on = match variable.name {
            PROFILER => self.profiler,
            DISPATCH => self.dispatch_cores,
            SYNC => self.clock_sync,
            NOC_EVENTS => self.noc_events,
            NOC_FOLDER => return self.noc_events_folder.as_deref().map(path_text),
            COUNTERS => {
                return (self.counter_groups != 0).then(|| self.counter_groups.to_string());
            }
            BUFFERS => self.buffer_usage,
            TRACE => self.trace_only,
            TRACKING => self.trace_tracking,
            MID_RUN => self.mid_run_dump,
            POST_PROCESS => self.post_process,
            SUM => self.sums,
            ACCUMULATE => self.accumulate,
            SUPPORT_COUNT => return self.program_support_count.map(|count| count.to_string()),
            NO_FILES => !self.files,
            NO_TRACY => !self.tracy,
            NOC_DEBUG => self.non_dropping,
            POLL_INTERVAL => return self.non_dropping.then(|| self.poll_interval_ms.to_string()),
            FULL_READ_INTERVAL => return self.dump_time(self.full_read_interval_ms),
            WATERMARK_MARGIN => return self.dump_time(self.watermark_margin_ms),
            STREAMING => self.streaming,
            FOLDER => return Some(path_text(&self.artifacts)),
            OP_RECORDS => self.op_records,
            FULL_OPS => self.full_op_records,
            // These variables are older names of other variables, or are no longer read.
            _ => false,
        };
        is_on.then(|| "1".to_owned())
    }
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}
