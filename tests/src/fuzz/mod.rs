//! Properties that hold for arbitrary bytes: one function for each untrusted input.
//!
//! Each function reads its bytes with the real reader and panics if a property is violated. The
//! caller must detect aborts, hangs and excessive memory use of the readers: a fuzzer has limits
//! for these.

mod capture;
mod control;
mod damage;
mod decode;
mod device_log;
mod exports;
mod names;
mod ops_csv;
mod ops_logs;
mod tracy_live;

pub use capture::{capture, resealed};
pub use control::control;
pub use damage::{WholeCapture, damaged_capture};
pub use decode::{check_lane, decode, lane_context};
pub use device_log::device_log;
pub use exports::exports;
pub use names::{elf_names, zone_log};
pub use ops_csv::ops_csv;
pub use ops_logs::ops_logs;
pub use tracy_live::tracy_live;

use host_reader::{
    anomaly::{AnomalyLog, KEPT_PER_LANE_AND_KIND},
    lane::Lane,
};
use std::collections::BTreeMap;

/// Returns two numbers derived from the bytes. The numbers select options of text readers, because
/// no bytes of a text can be set aside for options.
fn numbers_of(data: &[u8]) -> [u64; 2] {
    let checksum = u64::from(crc32fast::hash(data));
    [checksum, checksum >> 16]
}

/// Checks that columns have the same length, and that runs are in order and within the lane.
fn check_columns(lane: &Lane) {
    assert_eq!(lane.heads.len(), lane.times.len(), "times of {}", lane.id);
    let value_count: usize = lane.heads.iter().map(|head| head.data_count()).sum();
    assert_eq!(lane.data.len(), value_count, "values of {}", lane.id);
    assert_eq!(lane.records().count(), lane.record_count());
    assert!(lane.runs.is_sorted_by_key(|run| run.first_record), "runs of {}", lane.id);
    assert!(lane.runs.iter().all(|run| run.first_record <= lane.record_count()));
    assert!(lane.metadata.is_sorted_by(|(one, _), (other, _)| one < other));
    assert!(lane.metadata.iter().all(|(record, _)| *record < lane.record_count()));
}

/// Checks that every anomaly is counted, that few of each kind are kept, and that no text is long.
fn check_anomalies(anomalies: &AnomalyLog) {
    let mut kept = BTreeMap::new();
    for anomaly in anomalies.kept() {
        *kept.entry((anomaly.lane, anomaly.kind)).or_insert(0) += 1;
        assert!(anomaly.detail.len() < LONGEST_DETAIL_BYTES, "{}", anomaly.detail);
    }
    for ((lane, kind), count) in kept {
        assert!(count <= KEPT_PER_LANE_AND_KIND, "{count} kept of {kind:?}");
        assert!(count <= anomalies.lane_count(lane, kind), "{kind:?} kept but not counted");
    }
}

/// Room for four paths of the maximum length in a zone text.
const LONGEST_DETAIL_BYTES: usize = 1 << 20;
