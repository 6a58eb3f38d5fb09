//! Descriptions of ops by the host, which a folder of TT-Metal's logs has beside its device log.

use crate::{input::joined, progress::Busy};
use host_reader::{
    causes::Explanation,
    export::TraceFilter,
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
    explanation.add_ops(&OpsReport::of_folder(&logs, &options));
}
