//! The host's records of ops: Tracy messages and zone times, exported as CSV.
//!
//! | question | item |
//! |---|---|
//! | which ops, traces, replays and signposts were announced? | [`recording::host_ops`] |
//! | how long did the host take for each op? | [`times`] |

mod times;

use crate::problem::ProblemLog;
use std::path::Path;

pub(super) use recording::host_ops::{
    HostLog, HostOp, HostTime, OP_MESSAGES, OP_TIMES, Signpost, read_messages,
};
pub(super) use times::read_times;

/// Reads a whole input file. If it cannot be read, adds a problem that ends with the text `needed`.
pub(super) fn read_input(path: &Path, needed: &str, problems: &mut ProblemLog) -> Option<Vec<u8>> {
    match std::fs::read(path) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            let detail = format!("cannot be read ({error}); {needed}");
            problems.add_to_file(&path.display().to_string(), detail);
            None
        }
    }
}
