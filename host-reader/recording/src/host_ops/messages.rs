//! Ops, traces and signposts, parsed from the messages that the host sent to Tracy.
//!
//! # Compatibility
//! The file is [`OP_MESSAGES`](super::OP_MESSAGES). It has two columns separated by `;`, and texts
//! are in backticks.

use super::{HostLog, HostOp, Signpost, value::Value};
use crate::problem::ProblemLog;
use host_events::{TraceMessage, TraceStep};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// End of a message's first line if an op's description follows. There is one entry for each kind
/// of line break.
const DESCRIPTION_FOLLOWS: [&str; 2] = [" ->\n", " ->\r\n"];
/// Beginning of a line with a relevant message. If the previous message is incomplete (without a
/// closing backtick), the message ends before these bytes.
const NEXT_MESSAGE: &[u8] = b"\n`TT_";

/// Reads all messages. If `is_exact` is true, ops with invalid JSON are omitted, as TT-Metal's
/// scripts do; otherwise such ops are returned with their name and ids.
#[must_use]
pub fn read_messages(
    bytes: &[u8],
    file: &str,
    is_exact: bool,
    problems: &mut ProblemLog,
) -> HostLog {
    let mut reader = MessageReader {
        file,
        is_exact,
        problems,
        log: HostLog::default(),
        positions: HashMap::new(),
        described: HashMap::new(),
        current_traces: BTreeMap::new(),
    };
    reader.read(bytes);
    reader.log
}

struct MessageReader<'input> {
    file: &'input str,
    is_exact: bool,
    problems: &'input mut ProblemLog,
    log: HostLog,
    positions: HashMap<u64, usize>,
    /// Descriptions by chip and program hash; ops from the program cache refer to a description.
    described: HashMap<(u64, u64), Arc<Value>>,
    current_traces: BTreeMap<u64, u64>,
}

/// One message, with its time and the number of its first line in the file.
struct Message<'text> {
    text: &'text str,
    time_ns: u64,
    line: u64,
}

impl MessageReader<'_> {
    fn read(&mut self, bytes: &[u8]) {
        let mut from = 0;
        let mut line = 1;
        let mut is_header_read = false;
        while let Some(rest) = bytes.get(from..).filter(|rest| !rest.is_empty()) {
            let (consumed, next_line) = self.read_from(rest, line, &mut is_header_read);
            from = from.saturating_add(consumed);
            line = next_line;
        }
    }

    /// Reads messages until the end or until a message is incomplete.
    ///
    /// Returns the byte offset and the line number at which the next call must continue.
    fn read_from(&mut self, bytes: &[u8], line: u64, is_header_read: &mut bool) -> (usize, u64) {
        let mut csv = csv::ReaderBuilder::new();
        csv.delimiter(b';').quote(b'`').flexible(true).has_headers(false);
        let mut csv = csv.from_reader(bytes);
        let mut record = csv::ByteRecord::new();
        while let Ok(true) = csv.read_byte_record(&mut record) {
            let Some(position) = record.position() else { break };
            let place = |byte: u64| usize::try_from(byte).unwrap_or(usize::MAX).min(bytes.len());
            let begin = place(position.byte());
            // The end of the previous line, and empty lines, may precede the message.
            let ended = line_ends(bytes.get(begin..).unwrap_or(&[]));
            let begin = begin.saturating_add(ended.len());
            let lines = position.line().saturating_sub(1).saturating_add(newline_count(ended));
            let record_line = line.saturating_add(lines);
            if !*is_header_read {
                *is_header_read = true;
                self.check_header(&record, record_line);
                continue;
            }
            let end = place(csv.position().byte()).max(begin);
            let message = bytes.get(begin..end).unwrap_or(&[]);
            if let Some((cut, _)) = next_message(message) {
                let detail = "expected the message to end before the next one; it is left out";
                self.problems.add_to_line(self.file, record_line, detail);
                let next_line = record_line.saturating_add(newline_count(cut));
                return (begin.saturating_add(cut.len()), next_line);
            }
            if let Err(detail) = self.add_record(&record, record_line) {
                self.problems.add_to_line(self.file, record_line, detail);
            }
        }
        (bytes.len(), line)
    }

    fn check_header(&mut self, record: &csv::ByteRecord, line: u64) {
        let titles: Vec<_> = record.iter().map(String::from_utf8_lossy).collect();
        if titles != ["MessageName", "total_ns"] {
            let found = titles.join(";");
            let detail = format!("expected the titles `MessageName;total_ns`, found `{found}`");
            self.problems.add_to_line(self.file, line, detail);
        }
    }

    fn add_record(&mut self, record: &csv::ByteRecord, line: u64) -> Result<(), String> {
        let text = String::from_utf8_lossy(record.get(0).unwrap_or(b""));
        let is_of_interest = ["TT_DNN", "TT_METAL", "TT_SIGNPOST"].iter().any(|t| text.contains(t));
        if !is_of_interest {
            return Ok(());
        }
        if record.len() != 2 {
            let found = record.len();
            return Err(format!(
                "expected a message and its time, found {found} fields; the message is left out"
            ));
        }
        let time = String::from_utf8_lossy(record.get(1).unwrap_or(b""));
        let Ok(time_ns) = time.trim().parse() else {
            let detail = format!("expected nanoseconds, found `{time}`; the message is left out");
            self.problems.add_to_field(self.file, line, "total_ns", detail);
            return Ok(());
        };
        self.record(&Message { text: &text, time_ns, line });
        Ok(())
    }

    fn record(&mut self, message: &Message<'_>) {
        let Message { text, time_ns, line } = *message;
        if text.contains("TT_DNN") || text.contains("TT_METAL") {
            if text.contains("OP") {
                match split_description(text) {
                    Some((head, json)) => self.add_described(message, head, json),
                    None => self.add_cached(message),
                }
            } else if text.contains("TRACE")
                && let Err(detail) = self.add_trace(text, time_ns)
            {
                self.problems.add_to_line(self.file, line, detail);
            }
        }
        if text.contains("TT_SIGNPOST") {
            self.log.signposts.push(Signpost { text: text.to_owned(), time_ns });
        }
    }

    fn add_described(&mut self, message: &Message<'_>, head: &str, json: &str) {
        let description = match serde_json::from_str::<Value>(json) {
            Ok(description) => description,
            Err(error) => return self.add_broken(message, head, &error),
        };
        let Some(id) = description.get("global_call_count").and_then(Value::number) else {
            let detail = "expected `global_call_count` in the op's JSON; the op is left out";
            return self.problems.add_to_line(self.file, message.line, detail);
        };
        let description = Arc::new(description);
        let device_id = description.get("device_id").and_then(Value::number);
        let hash = description.get("op_hash").and_then(Value::number);
        let mut op = self.op(id, message, Arc::clone(&description), device_id);
        match (hash, device_id) {
            (Some(hash), Some(device_id)) => {
                self.described.insert((device_id, hash), description);
            }
            // TT-Metal's script looks for the trace of an op only if the op has a hash.
            _ if self.is_exact => op.trace_id = None,
            _ => {}
        }
        self.push(op);
    }

    /// Adds an op with invalid JSON. The op's name and ids come from the text before the JSON.
    fn add_broken(&mut self, message: &Message<'_>, head: &str, error: &serde_json::Error) {
        // The JSON begins on the line after the prefix.
        let lines = head.matches('\n').count().saturating_add(error.line()) as u64;
        let line = message.line.saturating_add(lines);
        let detail = format!("the op's JSON is broken: {error}; only its name and ids are shown");
        self.problems.add_to_field(self.file, line, error.column().to_string(), detail);
        let Some(prefix) = OpPrefix::parse(head).filter(|_| !self.is_exact) else { return };
        let name = Value::Text(prefix.name.to_owned());
        let description = Value::Object(vec![
            ("op_code".into(), name),
            ("op_type".into(), Value::Text("tt_dnn_device".into())),
            ("device_id".into(), Value::Unsigned(prefix.device_id)),
            ("op_hash".into(), Value::Unsigned(prefix.hash)),
        ]);
        let op = self.op(prefix.id, message, Arc::new(description), Some(prefix.device_id));
        self.push(HostOp { is_cache_hit: prefix.is_cache_hit, ..op });
    }

    fn add_cached(&mut self, message: &Message<'_>) {
        let Some(prefix) = OpPrefix::parse(message.text) else {
            let detail = "expected name, program hash, device, cache hit and op id of an op from \
                the program cache; the op is left out";
            return self.problems.add_to_line(self.file, message.line, detail);
        };
        let key = (prefix.device_id, prefix.hash);
        let Some(description) = self.described.get(&key).cloned() else {
            let detail = format!(
                "the op refers to program {} of device {}, which no earlier message describes; \
                 the op is left out",
                prefix.hash, prefix.device_id
            );
            return self.problems.add_to_line(self.file, message.line, detail);
        };
        let op = self.op(prefix.id, message, description, Some(prefix.device_id));
        self.push(HostOp { is_cache_hit: prefix.is_cache_hit.or(Some(true)), ..op });
    }

    fn op(
        &self,
        id: u64,
        message: &Message<'_>,
        description: Arc<Value>,
        device_id: Option<u64>,
    ) -> HostOp {
        HostOp {
            id,
            description,
            is_cache_hit: None,
            device_id,
            trace_id: device_id.and_then(|id| self.current_traces.get(&id).copied()),
            message_ns: message.time_ns,
            time: None,
            child_calls_ns: BTreeMap::new(),
            line: message.line,
        }
    }

    /// Adds an op. It replaces an earlier op with the same id.
    fn push(&mut self, op: HostOp) {
        let known = self.positions.get(&op.id);
        match known.and_then(|&position| self.log.ops.get_mut(position)) {
            Some(known) => {
                let earlier = known.line;
                let detail = format!("op {} was announced in line {earlier} already", op.id);
                self.problems.add_to_line(self.file, op.line, detail);
                *known = op;
            }
            None => {
                self.positions.insert(op.id, self.log.ops.len());
                self.log.ops.push(op);
            }
        }
    }

    fn add_trace(&mut self, text: &str, time_ns: u64) -> Result<(), String> {
        let Some(TraceMessage { step, chip_id, trace_id }) = TraceMessage::parse(text) else {
            let ids = text.rsplit(':').next().unwrap_or("").trim();
            return Err(format!("expected a device and a trace, found `{ids}`"));
        };
        match step {
            TraceStep::Begin => {
                self.current_traces.insert(chip_id, trace_id);
            }
            TraceStep::End => {
                let begun = self.current_traces.remove(&chip_id);
                if begun != Some(trace_id) {
                    return Err(format!(
                        "trace {trace_id} of device {chip_id} ends, but {} was begun",
                        begun.map_or_else(|| "none".to_owned(), |id| format!("trace {id}"))
                    ));
                }
            }
            TraceStep::Replay => {
                self.log.replays.entry((chip_id, trace_id)).or_default().push(time_ns);
            }
            TraceStep::EnqueueProgram(_) | TraceStep::Release => {}
        }
        Ok(())
    }
}

/// Splits a message into its prefix and the op's description.
fn split_description(text: &str) -> Option<(&str, &str)> {
    DESCRIPTION_FOLLOWS.iter().find_map(|between| text.split_once(between))
}

/// Returns the line breaks at the beginning of a text.
fn line_ends(text: &[u8]) -> &[u8] {
    let count = text.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    text.get(..count).unwrap_or(text)
}

fn newline_count(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// Splits a CSV record at the beginning of the second message in it. A record contains a second
/// message if the first message is incomplete.
fn next_message(record: &[u8]) -> Option<(&[u8], &[u8])> {
    let end_of_line = memchr::memmem::find(record, NEXT_MESSAGE)?;
    record.split_at_checked(end_of_line.saturating_add(1))
}

/// Prefix of a message, before the op's description. For an op from the program cache, the prefix
/// is the whole message.
#[derive(Debug, PartialEq, Eq)]
struct OpPrefix<'text> {
    name: &'text str,
    hash: u64,
    device_id: u64,
    is_cache_hit: Option<bool>,
    id: u64,
}

impl<'text> OpPrefix<'text> {
    /// Parses `KIND: "name", hash, device[, cache hit], id`.
    ///
    /// Parsing starts from the right, because a name may contain commas.
    fn parse(text: &'text str) -> Option<Self> {
        let (_, fields) = text.split_once(':')?;
        let (rest, id) = fields.rsplit_once(',')?;
        let (before, last) = rest.rsplit_once(',')?;
        let is_cache_hit = match last.trim() {
            "true" | "True" => Some(true),
            "false" | "False" => Some(false),
            _ => None,
        };
        match is_cache_hit {
            Some(is_hit) => Self::from_parts(before, is_hit, id),
            // `0` or `1` only states the cache hit if a hash and a device precede it.
            None => Self::from_parts(before, last.trim() == "1", id)
                .or_else(|| Self::without_hit(rest, id)),
        }
    }

    fn from_parts(before: &'text str, is_hit: bool, id: &str) -> Option<Self> {
        Some(Self { is_cache_hit: Some(is_hit), ..Self::without_hit(before, id)? })
    }

    /// Parses the format used until 2025. This format does not state whether the op was in the
    /// program cache.
    fn without_hit(before: &'text str, id: &str) -> Option<Self> {
        let mut fields = before.rsplitn(3, ',');
        let device_id = fields.next()?.trim().parse().ok()?;
        let hash = fields.next()?.trim().parse().ok()?;
        let name = fields.next()?.trim().trim_matches('"');
        Some(Self { name, hash, device_id, is_cache_hit: None, id: id.trim().parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (HostLog, ProblemLog) {
        let mut problems = ProblemLog::default();
        let log = read_messages(text.as_bytes(), "data.csv", false, &mut problems);
        (log, problems)
    }

    const FIRST: &str = "`TT_DNN_DEVICE_OP: \"Add, fast\", 77, 1, false, 1025 ->\n\
        {\"global_call_count\": 1025, \"op_code\": \"Add\", \"device_id\": 1, \"op_hash\": 77}`;10\n";

    #[test]
    fn a_cached_op_has_the_description_of_the_first_and_its_own_id() {
        let text = format!(
            "MessageName;total_ns\n{FIRST}`TT_DNN_DEVICE_OP: \"Add, fast\", 77, 1, true, 2049`;20\n"
        );
        let (log, problems) = read(&text);
        assert_eq!(problems.kept(), []);
        assert_eq!((log.ops[1].id, log.ops[1].device_id, log.ops[1].line), (2049, Some(1), 4));
        assert_eq!(log.ops[1].description, log.ops[0].description);
        assert_eq!((log.ops[0].is_cache_hit, log.ops[1].is_cache_hit), (None, Some(true)));
    }

    #[test]
    fn ops_between_begin_and_end_belong_to_the_trace() {
        let text = format!(
            "MessageName;total_ns\n`TT_METAL_TRACE_BEGIN: 1, 4`;5\n{FIRST}`TT_METAL_TRACE_END: 1, 4`;30\n\
             `TT_METAL_TRACE_REPLAY: 1, 4`;40\n`TT_METAL_TRACE_REPLAY: 1, 4`;50\n"
        );
        let (log, problems) = read(&text);
        assert_eq!(problems.kept(), []);
        assert_eq!(log.ops[0].trace_id, Some(4));
        assert_eq!(log.replays[&(1, 4)], [40, 50]);
    }

    #[test]
    fn a_message_that_is_cut_does_not_take_the_next_one_with_it() {
        let text = format!("MessageName;total_ns\n`TT_DNN_DEVICE_OP: \"A\", 1\n{FIRST}");
        let (log, problems) = read(&text);
        assert_eq!(log.ops.len(), 1);
        assert_eq!((log.ops[0].id, log.ops[0].line), (1025, 3));
        assert_eq!(problems.kept()[0].line, Some(2));
    }

    #[test]
    fn broken_json_is_named_with_its_line_and_column_and_the_op_kept() {
        let text = "MessageName;total_ns\n`TT_DNN_DEVICE_OP: \"Mul\", 9, 0, false, 1024 ->\n\
            {\n  \"op_code\": oops}`;10\n";
        let (log, problems) = read(text);
        assert_eq!(log.ops[0].description.get("op_code").unwrap().cell(), "Mul");
        let problem = &problems.kept()[0];
        assert_eq!((problem.line, problem.column.as_deref()), (Some(4), Some("14")));
    }

    #[test]
    fn lines_are_numbered_alike_whatever_they_end_with() {
        let broken =
            "`TT_DNN_DEVICE_OP: \"Mul\", 9, 0, false, 1024 ->\n{\n  \"op_code\": oops}`;10\n";
        let text = format!(
            "MessageName;total_ns\n\n{FIRST}{broken}`TT_DNN_DEVICE_OP: \"A\", 1`;soon\n\
             `TT_DNN_DEVICE_OP: \"A\", 1\n`TT_METAL_TRACE_END: 1, 4`;30\n"
        );
        for text in [text.clone(), text.replace('\n', "\r\n")] {
            let (log, problems) = read(&text);
            let ops: Vec<_> = log.ops.iter().map(|op| (op.id, op.line)).collect();
            assert_eq!(ops, [(1025, 3), (1024, 5)], "{text:?}");
            let lines: Vec<_> = problems.kept().iter().map(|problem| problem.line).collect();
            assert_eq!(lines, [7, 8, 9, 10].map(Some), "{text:?} {problems:?}");
        }
    }

    #[test]
    fn prefixes_of_both_generations_are_read() {
        let hit = OpPrefix::parse("TT_DNN_DEVICE_OP: \"A\", 5, 0, true, 1024").unwrap();
        assert_eq!((hit.hash, hit.device_id, hit.is_cache_hit, hit.id), (5, 0, Some(true), 1024));
        let numeric = OpPrefix::parse("TT_DNN_DEVICE_OP: \"A\", 5, 0, 1, 1024").unwrap();
        assert_eq!((numeric.hash, numeric.device_id, numeric.is_cache_hit), (5, 0, Some(true)));
        let old = OpPrefix::parse("TT_DNN_DEVICE_OP: \"A\", 5, 0, 1").unwrap();
        assert_eq!((old.hash, old.device_id, old.is_cache_hit, old.id), (5, 0, None, 1));
        assert_eq!(OpPrefix::parse("TT_DNN_DEVICE_OP: \"A\", 5"), None);
    }
}
