//! Descriptions of ops by the host, which a folder of TT-Metal's logs has beside its device log.

use crate::{input::joined, progress::Busy};
use host_reader::{
    causes::Explanation,
    export::TraceFilter,
    perf::{PerfOptions, PerfReport, WindowOptions, read_ops_csv},
    report::{OpsOptions, OpsReport},
};
use std::path::Path;

/// File of a folder of logs in which the host describes ops.
const MESSAGES: &str = "tracy_ops_data.csv";

/// Adds what the descriptions tell: how many bytes and operations each op takes. Without a folder
/// that has them there is nothing to add.
pub(crate) fn add_host_ops(input: &Path, filters: &[TraceFilter], explanation: &mut Explanation) {
    let folders = [input.join(".logs"), input.to_owned()];
    let Some(logs) = folders.into_iter().find(|folder| folder.join(MESSAGES).is_file()) else {
        return;
    };
    let _busy = Busy::new(format!("reading {}", logs.join(MESSAGES).display()));
    let options = OpsOptions { filter: joined(filters), ..OpsOptions::default() };
    let report = OpsReport::of_folder(&logs, &options);
    let csv = read_ops_csv(report.ops_csv.as_bytes(), MESSAGES).ok();
    if let Some(Ok(report)) = csv.map(|csv| PerfReport::new(vec![csv], &whole_report())) {
        explanation.add_ops(&report);
    }
}

/// Options of a report on every row, each device on its own: a gap is the time of its own device,
/// whatever the others did.
pub(crate) fn whole_report() -> PerfOptions {
    PerfOptions {
        merges_devices: false,
        window: WindowOptions { ignores_signposts: true, ..WindowOptions::default() },
        ..PerfOptions::default()
    }
}
