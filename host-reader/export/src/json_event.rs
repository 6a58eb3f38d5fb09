//! One event of a Chrome trace, written field by field.

use tables::Value;

/// Event that is being written. Arguments come last; [`JsonEvent::end`] closes the event.
pub(super) struct JsonEvent<'t> {
    text: &'t mut Vec<u8>,
    has_argument: bool,
}

impl<'t> JsonEvent<'t> {
    fn begin(text: &'t mut Vec<u8>, phase: char, pid: u64, tid: u64) -> Self {
        let mut event = Self { text, has_argument: false };
        event.push("{\"ph\":\"");
        event.text.extend_from_slice(phase.encode_utf8(&mut [0; 4]).as_bytes());
        event.push("\",\"pid\":");
        event.push_number(pid);
        event.push(",\"tid\":");
        event.push_number(tid);
        event
    }

    /// Starts a complete event, which is a slice with a start time and a duration. The caller must
    /// add a name.
    pub(super) fn complete(
        text: &'t mut Vec<u8>,
        pid: u64,
        tid: u64,
        start_ns: u64,
        end_ns: u64,
    ) -> Self {
        let mut event = Self::begin(text, 'X', pid, tid);
        event.push(",\"ts\":");
        event.push_microseconds(start_ns);
        event.push(",\"dur\":");
        event.push_microseconds(end_ns.saturating_sub(start_ns));
        event.push(",");
        event
    }

    /// Starts the begin of a slice whose end follows. The caller must add a name.
    pub(super) fn slice_begin(text: &'t mut Vec<u8>, pid: u64, tid: u64, time_ns: u64) -> Self {
        let mut event = Self::begin(text, 'B', pid, tid);
        event.push(",\"ts\":");
        event.push_microseconds(time_ns);
        event.push(",");
        event
    }

    /// Writes the end of a thread's innermost slice that has begun.
    pub(super) fn slice_end(text: &'t mut Vec<u8>, pid: u64, tid: u64, time_ns: u64) {
        let mut event = Self::begin(text, 'E', pid, tid);
        event.push(",\"ts\":");
        event.push_microseconds(time_ns);
        event.push("},\n");
    }

    /// Starts an instant event of a thread. The caller must add a name.
    pub(super) fn instant(text: &'t mut Vec<u8>, pid: u64, tid: u64, time_ns: u64) -> Self {
        let mut event = Self::begin(text, 'i', pid, tid);
        event.push(",\"s\":\"t\",\"ts\":");
        event.push_microseconds(time_ns);
        event.push(",");
        event
    }

    /// Writes a point of the counter `name`. A value that is not finite is written as an instant
    /// event.
    pub(super) fn counter(text: &'t mut Vec<u8>, pid: u64, time_ns: u64, name: &str, value: f64) {
        if !value.is_finite() {
            let mut event = Self::instant(text, pid, 0, time_ns);
            event.name_and_category(name, "plot");
            event.text("value", &value.to_string());
            return event.end();
        }
        let mut event = Self::begin(text, 'C', pid, 0);
        event.push(",\"ts\":");
        event.push_microseconds(time_ns);
        event.push(",");
        event.name_and_category(name, "plot");
        event.key("value");
        event.push(&value.to_string());
        event.end();
    }

    /// Writes one endpoint of an arrow: `s` starts the arrow, `f` ends it at the enclosing slice.
    pub(super) fn flow(
        text: &'t mut Vec<u8>,
        end: char,
        id: u64,
        pid: u64,
        tid: u64,
        time_ns: u64,
    ) {
        let mut event = Self::begin(text, end, pid, tid);
        event.push(",\"bp\":\"e\",\"name\":\"launch\",\"cat\":\"launch\",\"id\":");
        event.push_number(id);
        event.push(",\"ts\":");
        event.push_microseconds(time_ns);
        event.push("},\n");
    }

    /// Starts a metadata event of a process or thread. The event sets the name or the sort index.
    pub(super) fn metadata(text: &'t mut Vec<u8>, what: &str, pid: u64, tid: u64) -> Self {
        let mut event = Self::begin(text, 'M', pid, tid);
        event.push(",\"name\":\"");
        event.push(what);
        event.push("\"");
        event
    }

    /// Adds a name and ends the metadata event.
    pub(super) fn name(mut self, name: &str) {
        self.text("name", name);
        self.end();
    }

    /// Adds a text that viewers show beside the name, and ends the metadata event.
    pub(super) fn labels(mut self, labels: &str) {
        self.text("labels", labels);
        self.end();
    }

    /// Adds a sort index and ends the metadata event.
    pub(super) fn sort_index(mut self, index: u64) {
        self.number("sort_index", index);
        self.end();
    }

    pub(super) fn name_and_category(&mut self, name: &str, category: &str) {
        self.push("\"name\":");
        self.push_quoted(name);
        self.category(category);
    }

    pub(super) fn category(&mut self, category: &str) {
        self.push(",\"cat\":\"");
        self.push(category);
        self.push("\"");
    }

    pub(super) fn number(&mut self, key: &str, value: u64) {
        self.key(key);
        self.push_number(value);
    }

    /// Adds a value of a table as an argument. If the value is a flag, it must be true.
    pub(super) fn value(&mut self, key: &str, value: &Value<'_>) {
        match value {
            Value::Text(text) => self.text(key, text),
            Value::Flag(_) => self.flag(key),
            Value::Real(number) => {
                self.key(key);
                // JSON has no infinities; serde_json writes them as null.
                self.push(&serde_json::Value::from(*number).to_string());
            }
            value => self.number(key, value.number().unwrap_or_default()),
        }
    }

    pub(super) fn flag(&mut self, key: &str) {
        self.key(key);
        self.push("true");
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        self.push_quoted(value);
    }

    pub(super) fn end(mut self) {
        if self.has_argument {
            self.push("}");
        }
        self.push("},\n");
    }

    fn key(&mut self, key: &str) {
        self.push(if self.has_argument { "," } else { ",\"args\":{" });
        self.has_argument = true;
        self.push_quoted(key);
        self.push(":");
    }

    /// Appends JSON unchanged.
    pub(super) fn push(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    fn push_number(&mut self, number: u64) {
        self.text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    fn push_microseconds(&mut self, ns: u64) {
        self.push_number(ns / 1000);
        let thousandths = ns % 1000;
        if thousandths > 0 {
            self.push(if thousandths < 10 {
                ".00"
            } else if thousandths < 100 {
                ".0"
            } else {
                "."
            });
            self.push_number(thousandths);
        }
    }

    fn push_quoted(&mut self, text: &str) {
        let is_plain = text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
        if is_plain {
            self.push("\"");
            self.push(text);
            self.push("\"");
        } else {
            self.push(&serde_json::Value::from(text).to_string());
        }
    }
}
