//! Selection of the device analyses that an ops report shows.
//!
//! # Compatibility
//! `device_post_proc_config.py` and `-a/--device-analysis-types` of `process_ops_logs.py`.

use super::{
    inputs::DeviceSide,
    sheet::{DATA_MOVEMENT_LATENCY, LATENCY, is_counter_title},
};
use std::collections::BTreeSet;

/// Names of analyses that have columns in an ops report. TT-Metal derives the column headers from
/// these names.
const WITH_COLUMNS: [&str; 15] = [
    "device_kernel_first_to_last_start",
    "device_kernel_duration_per_core",
    FIRMWARE,
    KERNEL,
    DATA_MOVEMENT,
    "device_brisc_kernel_duration",
    "device_ncrisc_kernel_duration",
    "device_trisc0_kernel_duration",
    "device_trisc1_kernel_duration",
    "device_trisc2_kernel_duration",
    "device_erisc_kernel_duration",
    "device_compute_cb_wait_front",
    "device_compute_cb_reserve_back",
    "dispatch_total_cq_cmd_op_time",
    "dispatch_go_send_wait_time",
];

const FIRMWARE: &str = "device_fw_duration";
const KERNEL: &str = "device_kernel_duration";
const DATA_MOVEMENT: &str = "device_kernel_duration_dm_start";
const COUNTERS: &str = "perf_counter_data";

/// Other names that TT-Metal's script accepts.
///
/// The hardware counters have columns, but their headers are not derived from this name. All other
/// analyses here have no columns in an ops report.
const WITHOUT_COLUMNS: [&str; 8] = [
    "trace_fw_duration",
    "trace_kernel_duration",
    "trace2trace - FW",
    "trace2trace - kernel",
    "op2op",
    COUNTERS,
    "erisc_events",
    "all_events",
];

/// Device analyses shown in an ops report. By default, all are shown.
///
/// ```
/// use reports::report::DeviceAnalyses;
/// assert!(DeviceAnalyses::from_names(["device_fw_duration"]).is_ok());
/// let error = DeviceAnalyses::from_names(["fw"]).unwrap_err().to_string();
/// assert!(error.starts_with("expected an analysis such as device_kernel_duration, found `fw`"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceAnalyses(BTreeSet<String>);

/// Error for an unknown analysis name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an analysis such as device_kernel_duration, found `{name}`; known: {}",
    WITH_COLUMNS.into_iter().chain(WITHOUT_COLUMNS).collect::<Vec<_>>().join(", ")
)]
pub struct UnknownAnalysis {
    /// Name that TT-Metal's script does not define.
    pub name: String,
}

impl DeviceAnalyses {
    /// Selects the analyses with these names. If there are no names, selects all analyses.
    ///
    /// # Errors
    /// Returns an error for a name that TT-Metal's script does not define.
    pub fn from_names<'name>(
        names: impl IntoIterator<Item = &'name str>,
    ) -> Result<Self, UnknownAnalysis> {
        let names = names.into_iter().map(|name| {
            let is_known = WITH_COLUMNS.contains(&name) || WITHOUT_COLUMNS.contains(&name);
            let name = name.to_owned();
            if is_known { Ok(name) } else { Err(UnknownAnalysis { name }) }
        });
        names.collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes the results of unselected analyses from the device data of a report.
    pub(super) fn apply(&self, side: &mut DeviceSide) {
        if self.is_all() {
            return;
        }
        let takes_counters = self.0.contains(COUNTERS);
        if !takes_counters {
            side.counters = Default::default();
        }
        let unwanted: BTreeSet<String> = WITH_COLUMNS
            .into_iter()
            .filter(|name| !self.0.contains(*name))
            .flat_map(titles_of)
            .collect();
        for op in side.ops.held().values_mut().flatten() {
            op.cells.retain(|title, _| {
                !unwanted.contains(title.as_ref()) && (takes_counters || !is_counter_title(title))
            });
            op.kernel = op.kernel.filter(|_| self.0.contains(KERNEL));
            op.data_movement = op.data_movement.filter(|_| self.0.contains(DATA_MOVEMENT));
        }
    }
}

/// Returns the headers of an analysis's columns.
fn titles_of(name: &'static str) -> Vec<String> {
    let title = name.replace('_', " ").to_uppercase();
    if title.ends_with("PER CORE") {
        return ["MIN", "MAX", "AVG"].map(|which| format!("{title} {which} [ns]")).into();
    }
    let others: &[&str] = match name {
        FIRMWARE => &["DEVICE FW START CYCLE", "DEVICE FW END CYCLE"],
        KERNEL => &[LATENCY],
        DATA_MOVEMENT => &[DATA_MOVEMENT_LATENCY],
        _ => &[],
    };
    let others = others.iter().map(|&other| other.to_owned());
    std::iter::once(format!("{title} [ns]")).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{
        device_op::{DeviceOp, DeviceOps},
        sheet::is_device_column,
    };

    #[test]
    fn every_title_is_a_column() {
        for title in WITH_COLUMNS.into_iter().flat_map(titles_of) {
            assert!(is_device_column(&title), "{title}");
        }
    }

    #[test]
    fn only_columns_of_the_named_analyses_are_left() {
        let columns = [
            "CORE COUNT",
            "DEVICE FW DURATION [ns]",
            "DEVICE FW START CYCLE",
            "DEVICE KERNEL DURATION PER CORE MAX [ns]",
            "DEVICE KERNEL DURATION [ns]",
            "OP TO OP LATENCY BR/NRISC START [ns]",
            "OP TO OP LATENCY [ns]",
        ];
        let left = |names: &[&str]| {
            let mut op = DeviceOp::default();
            columns.into_iter().for_each(|column| op.set(column, "1"));
            let ops = DeviceOps::from([(0, vec![op])]).into();
            let mut side = DeviceSide { ops, ..DeviceSide::default() };
            DeviceAnalyses::from_names(names.iter().copied()).unwrap().apply(&mut side);
            side.ops.held()[&0][0].cells.keys().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(left(&[]), columns);
        let firmware = ["CORE COUNT", "DEVICE FW DURATION [ns]", "DEVICE FW START CYCLE"];
        assert_eq!(left(&["device_fw_duration", "op2op"]), firmware);
        let kernel = ["CORE COUNT", "DEVICE KERNEL DURATION [ns]", "OP TO OP LATENCY [ns]"];
        assert_eq!(left(&["device_kernel_duration"]), kernel);
    }
}
