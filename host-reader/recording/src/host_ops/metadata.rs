//! Metadata of a recording's ops, from the host's messages.

use super::{HostLog, HostOp, LaunchedPrograms, OP_MESSAGES, read_messages};
use crate::{Recording, UnreplayedTrace, problem::ProblemLog};
use host_events::OpMetadata;
use reader::{
    anomaly::{AnomalyKind, AnomalyLog},
    readout::Readout,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io::ErrorKind,
    path::Path,
    sync::Arc,
};
use wire::RunHostId;

/// The ops that the host announced, from files next to a device log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostOps {
    /// Metadata of ops on chips, in message order.
    pub ops: Vec<OpMetadata>,
    /// Ops of traces that were captured but never replayed. No chip ran these ops.
    captured_only: BTreeSet<(u32, RunHostId)>,
    /// The traces of these ops.
    unreplayed_traces: Vec<UnreplayedTrace>,
    /// Anomalies found in the messages.
    anomalies: AnomalyLog,
}

impl HostOps {
    /// Reads the messages in a folder of logs; returns no ops if there are no messages.
    ///
    /// Unreadable messages are anomalies.
    #[must_use]
    pub fn from_folder(logs: &Path) -> Self {
        let mut anomalies = AnomalyLog::default();
        let bytes = match std::fs::read(logs.join(OP_MESSAGES)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Self::default(),
            Err(error) => {
                let detail =
                    || format!("{OP_MESSAGES} cannot be read ({error}); ops have no names");
                anomalies.record(AnomalyKind::MalformedLine, None, 0, detail);
                return Self { anomalies, ..Self::default() };
            }
        };
        let mut problems = ProblemLog::default();
        let log = read_messages(&bytes, OP_MESSAGES, false, &mut problems);
        for problem in problems.kept() {
            let line = problem.line.unwrap_or(0);
            anomalies.record(AnomalyKind::MalformedLine, None, line, || problem.to_string());
        }
        let unkept = problems.count().saturating_sub(problems.kept().len() as u64);
        anomalies.count_more(AnomalyKind::MalformedLine, None, unkept);
        Self::from_log(&log, anomalies)
    }

    fn from_log(log: &HostLog, mut anomalies: AnomalyLog) -> Self {
        let ops = log.op_metadata();
        let device_ops = log.ops.iter().filter(|op| op.device_id.is_some());
        for op in device_ops.clone().filter(|op| key(op).is_none()) {
            anomalies.record(AnomalyKind::MalformedLine, None, op.line, || {
                format!("{OP_MESSAGES}:{}: op {} or its device exceeds 32 bits", op.line, op.id)
            });
        }
        let captured_only =
            device_ops.filter(|op| log.is_captured_only(op)).filter_map(key).collect();
        Self { ops, captured_only, unreplayed_traces: unreplayed_traces(log), anomalies }
    }

    /// Returns true if the host announced any op. Otherwise launches are not compared with ops.
    #[must_use]
    pub fn has_ops(&self) -> bool {
        !self.ops.is_empty()
    }

    /// Combines the ops with the records of chips into a recording.
    ///
    /// Adds an anomaly for each launch without an op, for each op without a launch, and for each op
    /// with several launches.
    #[must_use]
    pub fn attach(
        self,
        mut readout: Readout,
        launched: impl IntoIterator<Item = LaunchedPrograms>,
    ) -> Recording {
        let has_ops = self.has_ops();
        let Self { ops, captured_only, unreplayed_traces, anomalies } = self;
        readout.anomalies.merge(anomalies);
        if has_ops {
            let mut all = LaunchedPrograms::default();
            launched.into_iter().for_each(|lane_programs| all.merge(lane_programs));
            all.note_joins(&ops, &captured_only, &mut readout.anomalies);
        }
        Recording { ops, unreplayed_traces, ..Recording::from_readout(readout) }
    }
}

/// Returns the traces of ops that no chip ran.
fn unreplayed_traces(log: &HostLog) -> Vec<UnreplayedTrace> {
    let mut counts: BTreeMap<_, u64> = BTreeMap::new();
    for op in log.ops.iter().filter(|op| log.is_captured_only(op)) {
        let Some(key) = op.device_id.zip(op.trace_id) else { continue };
        let count = counts.entry(key).or_default();
        *count = count.saturating_add(1);
    }
    let traces = counts.into_iter().map(|((chip_id, trace_id), op_count)| UnreplayedTrace {
        chip_id: Some(chip_id),
        trace_id,
        op_count,
    });
    traces.collect()
}

/// Returns the chip and the program of an op that ran on a chip.
fn key(op: &HostOp) -> Option<(u32, RunHostId)> {
    Some((u32::try_from(op.device_id?).ok()?, RunHostId(u32::try_from(op.id).ok()?)))
}

/// Keys of an op's description that are not copied to the list of keys and values, because the
/// metadata has separate fields for them.
const IDENTIFICATION: [&str; 2] = ["global_call_count", "device_id"];
const CACHE_HIT: &str = "program_cache_hit";

type SharedFields = Arc<[(String, String)]>;

impl HostLog {
    /// Returns the ops of chips as metadata of a recording.
    ///
    /// Structures are converted to JSON text, as in captures.
    #[must_use]
    pub fn op_metadata(&self) -> Vec<OpMetadata> {
        // Ops from the program cache share a description. Their fields differ at most in the cache
        // hit.
        let mut known: HashMap<_, SharedFields> = HashMap::new();
        self.ops
            .iter()
            .filter_map(|op| {
                let (chip_id, run_host_id) = key(op)?;
                let same = (Arc::as_ptr(&op.description), op.is_cache_hit);
                let fields = known.entry(same).or_insert_with(|| fields_of(op));
                Some(OpMetadata { chip_id, run_host_id, fields: Arc::clone(fields) })
            })
            .collect()
    }
}

fn fields_of(op: &HostOp) -> SharedFields {
    let described = op.description.fields().iter().filter(|(key, _)| {
        !IDENTIFICATION.contains(&key.as_str()) && (key != CACHE_HIT || op.is_cache_hit.is_none())
    });
    let described = described.map(|(key, value)| {
        let key = if key == "op_code" { OpMetadata::NAME } else { key };
        (key.to_owned(), value.json_or_text())
    });
    let hit = op.is_cache_hit.map(|is_hit| (CACHE_HIT.to_owned(), is_hit.to_string()));
    described.chain(hit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(text: &str) -> HostLog {
        let mut problems = ProblemLog::default();
        let text = format!("MessageName;total_ns\n{text}");
        let log = read_messages(text.as_bytes(), OP_MESSAGES, false, &mut problems);
        assert_eq!(problems.kept(), []);
        log
    }

    const FIRST: &str = "`TT_DNN_DEVICE_OP: \"Add\", 77, 1, false, 1025 ->\n\
        {\"global_call_count\": 1025, \"op_code\": \"Add, fast\", \"device_id\": 1, \"op_hash\": 77, \
        \"program_cache_hit\": false, \"input_tensors\": [{\"dtype\": \"BF, 16\", \"n\": 1.5}], \
        \"attributes\": {\"b\": \"x\", \"a\": null}}`;10\n";

    #[test]
    fn structures_are_json_and_cached_ops_share_what_they_have_in_common() {
        let ops = log(&format!("{FIRST}{}{}", cached_op(2049), cached_op(3073))).op_metadata();
        assert_eq!(ops[0].fields.to_vec(), expected_fields("false", 2));
        assert_eq!(ops[1].fields.to_vec(), expected_fields("true", 4));
        assert!(Arc::ptr_eq(&ops[1].fields, &ops[2].fields));
        let ids: Vec<_> = ops.iter().map(|op| (op.chip_id, op.run_host_id.0)).collect();
        assert_eq!(ids, [(1, 1025), (1, 2049), (1, 3073)]);
    }

    fn expected_fields(hit: &str, at: usize) -> Vec<(String, String)> {
        let mut fields = vec![
            ("name", "Add, fast"),
            ("op_hash", "77"),
            ("input_tensors", r#"[{"dtype":"BF, 16","n":1.5}]"#),
            ("attributes", r#"{"b":"x","a":null}"#),
        ];
        fields.insert(at, ("program_cache_hit", hit));
        fields.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect::<Vec<_>>()
    }

    fn cached_op(id: u32) -> String {
        format!("`TT_DNN_DEVICE_OP: \"Add\", 77, 1, true, {id}`;20\n")
    }

    #[test]
    fn ops_of_the_host_itself_are_no_launches_and_numbers_beyond_32_bits_are_said() {
        let fallback = "`TT_DNN_FALL_BACK_OP:\"torch\" ->\n\
            {\"global_call_count\": 7, \"op_code\": \"torch\"}`;5\n";
        let huge = FIRST.replace("1025", "4294967296");
        let ops = HostOps::from_log(&log(&format!("{fallback}{huge}")), AnomalyLog::default());
        assert_eq!(ops.ops, []);
        let [found] = ops.anomalies.kept() else { panic!("{:?}", ops.anomalies) };
        assert!(found.detail.contains("op 4294967296 or its device exceeds 32 bits"), "{found:?}");
    }
}
