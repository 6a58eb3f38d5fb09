//! Reader and writer of `noc_trace_*.json`, TT-Metal's format of NoC traces.

use crate::noc_events::{object::TraceObject, trace::ProgramTrace};
use serde::de::{Deserializer, SeqAccess, Visitor};
use std::fmt;

impl ProgramTrace {
    /// Returns the content of the file: an array of objects with sorted keys.
    ///
    /// ```
    /// use analysis::noc_events::{ProgramTrace, read_json};
    /// use wire::RunHostId;
    /// let trace = ProgramTrace {
    ///     chip_id: 0,
    ///     program: RunHostId(0),
    ///     trace: None,
    ///     op_name: String::new(),
    ///     objects: Vec::new(),
    /// };
    /// assert_eq!(trace.to_json(), "[]");
    /// assert!(read_json(trace.to_json().as_bytes()).objects.is_empty());
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        // All map keys are strings and the writer cannot fail, so serialisation cannot fail.
        serde_json::to_string_pretty(&self.objects).unwrap_or_default()
    }
}

/// Objects of a file, with the problems found while reading it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadTrace {
    /// Readable objects, in the order of the file.
    pub objects: Vec<TraceObject>,
    /// Unreadable parts.
    pub problems: Vec<TraceProblem>,
}

/// Unreadable part of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceProblem {
    /// An object lacks a field or has a field of the wrong type.
    #[error("object {index}: {reason}")]
    Object {
        /// Index of the object in the file, from 0.
        index: usize,
        /// Error in the object.
        reason: String,
    },
    /// From this point on, the text is truncated or not valid JSON.
    #[error("nothing after object {kept_count} can be read: {reason}")]
    Text {
        /// Number of objects before the error.
        kept_count: usize,
        /// Error with line and column.
        reason: String,
    },
}

/// Reads a `noc_trace_*.json`. Unreadable parts are reported, and all other objects are kept.
///
/// ```
/// use analysis::noc_events::read_json;
/// let text = br#"[{"proc": "BRISC", "sx": 1, "sy": 2, "timestamp": 7, "type": "WRITE_"}, {"pro"#;
/// let read = read_json(text);
/// assert_eq!((read.objects.len(), read.problems.len()), (1, 1));
/// assert!(read.problems[0].to_string().starts_with("nothing after object 1 can be read: EOF"));
/// ```
///
/// A byte order mark at the start of the text is skipped.
#[must_use]
pub fn read_json(text: &[u8]) -> ReadTrace {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut read = ReadTrace::default();
    let mut count = 0;
    let mut json = serde_json::Deserializer::from_slice(text);
    let objects = ObjectList { read: &mut read, count: &mut count };
    if let Err(error) = json.deserialize_seq(objects).and_then(|()| json.end()) {
        let reason = error.to_string();
        read.problems.push(TraceProblem::Text { kept_count: count, reason });
    }
    read
}

struct ObjectList<'a> {
    read: &'a mut ReadTrace,
    count: &'a mut usize,
}

impl<'de> Visitor<'de> for ObjectList<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of NoC events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        while let Some(value) = sequence.next_element::<serde_json::Value>()? {
            match object_of(value) {
                Ok(object) => self.read.objects.push(object),
                Err(reason) => {
                    self.read.problems.push(TraceProblem::Object { index: *self.count, reason });
                }
            }
            *self.count = self.count.saturating_add(1);
        }
        Ok(())
    }
}

/// Converts a JSON value to an object. An object needs a core, a time, and a zone or an event.
fn object_of(value: serde_json::Value) -> Result<TraceObject, String> {
    for field in ["proc", "sx", "sy", "timestamp"] {
        if value.get(field).is_none() {
            return Err(format!("expected an object with `{field}`"));
        }
    }
    let object: TraceObject = serde_json::from_value(value).map_err(|error| error.to_string())?;
    if object.zone.is_none() && object.event_type.is_none() {
        return Err("expected an object with `zone` or `type`".to_owned());
    }
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str =
        r#"{"proc":"BRISC","sx":1,"sy":2,"timestamp":7,"type":"READ","num_bytes":32}"#;

    #[test]
    fn an_object_that_cannot_be_read_does_not_hide_the_others() {
        let bad =
            [r#"{"proc":"BRISC"}"#, r#"{"proc":7,"sx":1,"sy":2,"timestamp":7,"type":""}"#, "3"];
        let text = format!("[{GOOD},{},{GOOD},{},{}]", bad[0], bad[1], bad[2]);
        let read = read_json(text.as_bytes());
        assert_eq!(read.objects.len(), 2);
        assert_eq!(
            read.problems
                .iter()
                .map(|problem| match problem {
                    TraceProblem::Object { index, .. } => *index,
                    TraceProblem::Text { .. } => panic!("{problem}"),
                })
                .collect::<Vec<_>>(),
            [1, 3, 4]
        );
    }

    proptest! {
        #[test]
        fn a_file_cut_anywhere_keeps_the_whole_objects_before(cut in 0_usize..400) {
            let text = format!("[{}]", [GOOD; 4].join(","));
            let cut = cut.min(text.len() - 1);
            let read = read_json(&text.as_bytes()[..cut]);
            let whole = cut.saturating_sub(1) / (GOOD.len() + 1);
            let whole = whole + usize::from(cut.saturating_sub(1) % (GOOD.len() + 1) == GOOD.len());
            prop_assert_eq!(read.objects.len(), whole);
            prop_assert_eq!(read.problems.len(), 1);
        }

        #[test]
        fn any_bytes_are_read_or_refused(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let read = read_json(&text);
            prop_assert!(read.objects.is_empty() || text.contains(&b'['));
        }
    }
}
