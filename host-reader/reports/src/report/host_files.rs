//! Writer of the two files from which TT-Metal's scripts read what the host recorded about ops.
//!
//! # Compatibility
//! `tracy_ops_data.csv` and `tracy_ops_times.csv`, in the format that `process_ops_logs.py` of
//! release 0.81.1 reads. The message of an op ends with the op's description as JSON. The text of
//! an op's zone is `id:` followed by the op's id.

use super::{recorded::host_log_of, value::Value};
use crate::problem::ProblemLog;
use recording::{
    OF_CALL, Recording,
    host_ops::{HostLog, HostOp},
};
use std::io::{self, Write};

/// Ops, traces and signposts of a recording's host, ready to be written.
///
/// ```
/// use recording::Recording;
/// use reports::report::HostFiles;
/// let files = HostFiles::from_recording(&Recording::default());
/// assert!(files.is_empty());
/// let mut messages = Vec::new();
/// files.write_messages(&mut messages)?;
/// assert_eq!(messages, b"MessageName;total_ns\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostFiles(HostLog);

/// One line of the messages file, with its time.
struct Message {
    time_ns: u64,
    text: String,
}

impl HostFiles {
    /// Collects the ops, traces and signposts of the recording's host.
    #[must_use]
    pub fn from_recording(recording: &Recording) -> Self {
        // The report itself lists zones of unknown ops as problems.
        Self(host_log_of(recording, &mut ProblemLog::default()))
    }

    /// Returns true if the host recorded no ops.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.ops.is_empty()
    }

    /// Writes `tracy_ops_data.csv`: one message for each op, trace, replay and signpost, in time
    /// order. An op without a time follows the previous op.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn write_messages(&self, out: &mut impl Write) -> io::Result<()> {
        let mut messages = self.op_messages();
        for (&(chip_id, trace_id), times) in &self.0.replays {
            let text = format!("TT_METAL_TRACE_REPLAY: {chip_id}, {trace_id}");
            messages.extend(times.iter().map(|&time_ns| Message { time_ns, text: text.clone() }));
        }
        let signposts = self.0.signposts.iter();
        messages.extend(
            signposts.map(|post| Message { time_ns: post.time_ns, text: post.text.clone() }),
        );
        messages.sort_by_key(|message| message.time_ns);
        writeln!(out, "{}", host_events::OP_MESSAGES_TITLES.join(";"))?;
        for Message { time_ns, text } in messages {
            // A backtick would end the field.
            writeln!(out, "`{}`;{time_ns}", text.replace('`', "'"))?;
        }
        Ok(())
    }

    /// Returns the messages of ops. The messages of a trace's ops are between the trace's start and
    /// end.
    fn op_messages(&self) -> Vec<Message> {
        let mut messages = Vec::new();
        let mut time_ns = 0;
        let mut open = None;
        for op in &self.0.ops {
            time_ns = op.time.map_or(time_ns, |time| time.start_ns.max(time_ns));
            let trace = op.device_id.zip(op.trace_id);
            if trace != open {
                let steps = [("END", open), ("BEGIN", trace)];
                for (step, ids) in steps {
                    let Some((chip_id, trace_id)) = ids else { continue };
                    let text = format!("TT_METAL_TRACE_{step}: {chip_id}, {trace_id}");
                    messages.push(Message { time_ns, text });
                }
                open = trace;
            }
            messages.push(Message { time_ns, text: op_message(op) });
        }
        if let Some((chip_id, trace_id)) = open {
            let text = format!("TT_METAL_TRACE_END: {chip_id}, {trace_id}");
            messages.push(Message { time_ns, text });
        }
        messages
    }

    /// Writes `tracy_ops_times.csv`: one zone for each op with a known host time, and zones for the
    /// functions called by the op.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn write_times(&self, out: impl Write) -> io::Result<()> {
        let mut rows = csv::Writer::from_writer(out);
        rows.write_record(host_events::OP_TIMES_TITLES)?;
        for op in &self.0.ops {
            let Some(time) = op.time else { continue };
            let id = format!("id:{}", op.id);
            let start = time.start_ns.to_string();
            let mut write = |name: &str, zone_text: &str, duration_ns: u64, parent: &str| {
                let duration = duration_ns.to_string();
                rows.write_record([name, "", "0", "", zone_text, &start, &duration, "0", parent])
            };
            write(OP_ZONE, &id, time.duration_ns, "")?;
            for (name, &duration_ns) in &op.child_calls_ns {
                write(name, "", duration_ns, &id)?;
            }
        }
        rows.flush()
    }
}

/// Formats the message of an op, including its description.
fn op_message(op: &HostOp) -> String {
    let name = op.name().unwrap_or_default();
    let hash = op.description.get("op_hash").and_then(Value::number).unwrap_or(op.id);
    let chip_id = op.device_id.unwrap_or(0);
    let mut fields = vec![("global_call_count".to_owned(), Value::Unsigned(op.id))];
    let described = op.description.fields().iter();
    fields.extend(
        described.filter(|(key, _)| key != "op_hash" && !OF_CALL.contains(&&**key)).cloned(),
    );
    // If a description contains a hash, the scripts reuse the description for later ops with that
    // hash.
    fields.push(("op_hash".to_owned(), Value::Unsigned(hash)));
    let json = serde_json::to_string(&Value::Object(fields)).unwrap_or_default();
    let name = serde_json::to_string(&name).unwrap_or_default();
    // In JSON, a backtick can be replaced by an escape sequence.
    format!("{OP_ZONE}: {name}, {hash}, {chip_id}, false, {} ->\n{}\n", op.id, escaped(&json))
}

fn escaped(json: &str) -> String {
    json.replace('`', "\\u0060")
}

const OP_ZONE: &str = "TT_DNN_DEVICE_OP";

#[cfg(test)]
mod tests {
    use super::*;
    use recording::host_ops::read_messages;
    use recording::host_ops::{HostTime, Signpost};
    use std::{collections::BTreeMap, sync::Arc};

    fn op(id: u64, name: &str, start_ns: Option<u64>, trace_id: Option<u64>) -> HostOp {
        let fields = [("op_code", name), ("op_type", "tt_dnn_device")];
        let fields = fields.map(|(key, text)| (key.to_owned(), Value::Text(text.to_owned())));
        let mut fields = Vec::from(fields);
        fields.push(("device_id".to_owned(), Value::Unsigned(1)));
        HostOp {
            id,
            description: Arc::new(Value::Object(fields)),
            is_cache_hit: None,
            device_id: Some(1),
            trace_id,
            message_ns: 0,
            time: start_ns.map(|start_ns| HostTime { start_ns, duration_ns: 7 }),
            child_calls_ns: BTreeMap::new(),
            line: 0,
        }
    }

    /// Tests that the reader of these files can read what the writer has written. Other tests check
    /// the reader with files of TT-Metal.
    #[test]
    fn messages_are_read_back_with_traces_replays_and_backticks() {
        let log = HostLog {
            ops: vec![
                op(1025, "A`dd", Some(10), None),
                op(2049, "Mul", Some(20), Some(5)),
                op(3073, "Sub", None, Some(5)),
                op(4097, "Pad", Some(90), None),
            ],
            signposts: vec![Signpost { text: "TT_SIGNPOST: mid\nway".to_owned(), time_ns: 15 }],
            replays: BTreeMap::from([((1, 5), vec![40, 60])]),
            ..HostLog::default()
        };
        let mut messages = Vec::new();
        HostFiles(log.clone()).write_messages(&mut messages).unwrap();
        let mut problems = ProblemLog::default();
        let read = read_messages(&messages, "messages", true, &mut problems);
        assert_eq!(problems.kept(), []);
        assert_eq!(read.replays, log.replays);
        assert_eq!(read.signposts, log.signposts);
        let shown = |log: &HostLog| -> Vec<_> {
            log.ops.iter().map(|op| (op.id, op.name(), op.device_id, op.trace_id)).collect()
        };
        assert_eq!(shown(&read), shown(&log));
        let times: Vec<_> = read.ops.iter().map(|op| op.message_ns).collect();
        assert_eq!(times, [10, 20, 20, 90]);
    }

    #[test]
    fn times_name_ops_and_the_functions_within() {
        let mut timed = op(1025, "Add", Some(10), None);
        timed.child_calls_ns.insert("CompileProgram".to_owned(), 3);
        let ops = vec![timed, op(2049, "Mul", None, None)];
        let mut times = Vec::new();
        HostFiles(HostLog { ops, ..HostLog::default() }).write_times(&mut times).unwrap();
        let text = String::from_utf8(times).unwrap();
        let rows: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(
            rows,
            ["TT_DNN_DEVICE_OP,,0,,id:1025,10,7,0,", "CompileProgram,,0,,,10,3,0,id:1025",]
        );
    }
}
