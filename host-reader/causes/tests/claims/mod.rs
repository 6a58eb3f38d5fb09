//! Claims of explanations: each counts what it rests on, and none is about more than it looked at.

mod chips;
mod dispatcher;
mod doubts;
mod loops;
mod perf_agrees;
mod properties;
mod regressions;
mod steady;

use causes::{Explanation, Window};
use recording::device_log::PackedLog;
use reports::perf::{PerfReport, read_ops_csv};

/// Explains an ops CSV.
fn explain_ops(csv: &str) -> Explanation {
    let csv = read_ops_csv(csv.as_bytes(), "ops.csv").unwrap();
    let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
    Explanation::from_perf_window(&report, Window::Steady)
}

/// Explains a device log.
fn explain_log(log: &str) -> Explanation {
    Explanation::from_log(PackedLog::read(log.as_bytes(), "log").unwrap()).unwrap().1
}
