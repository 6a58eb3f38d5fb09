//! Calls of ops in the user's program: the frames of each distinct call, and the module of the
//! model that called.
//!
//! A capture names the call of an op by the field [`CALL`]. One of the ops with this call also has
//! its frames, as JSON in the field [`CALL_FRAMES`]. Frames of calls that launched no op, but may have
//! allocated buffers, are in the field [`OTHER_CALLS`] of an op that is described later.

use host_events::OpMetadata;
use std::collections::BTreeMap;
use wire::RunHostId;

/// Metadata key of the name of an op's call. Ops with equal calls have equal names.
pub const CALL: &str = "call";
/// Metadata key of the frames of a call.
const CALL_FRAMES: &str = "call_frames";
/// Metadata key of the frames of other calls, as a JSON object by the calls' names.
const OTHER_CALLS: &str = "other_calls";

/// Metadata keys that say where an op was called, and nothing about the op itself.
pub const OF_CALL: [&str; 4] =
    [CALL, OpMetadata::MODULE, OpMetadata::CALL_FUNCTION, OpMetadata::CALL_LOCATION];

/// One function of the user's program that was active when an op was called.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CallFrame {
    /// File, as the program's interpreter names it. Code without a file has a name in angle
    /// brackets.
    pub file: String,
    /// Line, from 1; `None` if the interpreter does not know it.
    pub line: Option<u32>,
    /// Qualified name of the function.
    pub function: String,
    /// Path of the module whose method the function is; `None` if it is of no module.
    pub module: Option<String>,
}

impl CallFrame {
    /// Returns the function, with the module that it ran for: layers of a model run the same function.
    ///
    /// ```
    /// let frame = recording::CallFrame {
    ///     file: "/model/layer.py".into(),
    ///     line: Some(7),
    ///     function: "Layer.forward".into(),
    ///     module: Some("Model.layers.0".into()),
    /// };
    /// assert_eq!(frame.name(), "Layer.forward [Model.layers.0]");
    /// assert_eq!(frame.short(), "Layer.forward [Model.layers.0] at layer.py:7");
    /// ```
    #[must_use]
    pub fn name(&self) -> String {
        match &self.module {
            Some(module) => format!("{} [{module}]", self.function),
            None => self.function.clone(),
        }
    }

    /// Returns [the name](Self::name), with the file without its folder, and the line if it is known.
    #[must_use]
    pub fn short(&self) -> String {
        let file = self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file);
        let line = self.line.map_or_else(String::new, |line| format!(":{line}"));
        format!("{} at {file}{line}", self.name())
    }
}

/// Frames in the form in which a capture has them.
#[derive(serde::Deserialize)]
struct Told {
    frames: Vec<CallFrame>,
    left_out: u64,
}

/// A distinct call of ops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpCall {
    /// Frames of the program, from the outermost to the one that called the op.
    pub frames: Vec<CallFrame>,
    /// Number of outer frames that were not kept.
    pub left_out_count: u64,
}

impl OpCall {
    /// Returns the innermost module that was active; `None` if no function was of a module.
    #[must_use]
    pub fn module(&self) -> Option<&str> {
        self.frames.iter().rev().find_map(|frame| frame.module.as_deref())
    }

    /// Returns file and line of the call; `None` if either is unknown.
    #[must_use]
    pub fn location(&self) -> Option<String> {
        let last = self.frames.last()?;
        Some(format!("{}:{}", last.file, last.line?))
    }

    /// Returns the function that called the op.
    #[must_use]
    pub fn function(&self) -> Option<&str> {
        self.frames.last().map(|frame| frame.function.as_str())
    }

    /// Returns what stands in place of the outer frames that were not kept; `None` if all were.
    #[must_use]
    pub fn left_out(&self) -> Option<String> {
        match self.left_out_count {
            0 => None,
            1 => Some("[1 outer function left out]".to_owned()),
            count => Some(format!("[{count} outer functions left out]")),
        }
    }
}

/// The distinct calls of a recording's ops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpCalls {
    calls: BTreeMap<String, OpCall>,
    /// Number of calls whose frames cannot be read.
    pub unreadable_count: u64,
    /// Number of ops with a call whose frames are missing or cannot be read.
    pub op_without_frames_count: u64,
}

impl OpCalls {
    /// Takes the frames of calls out of the metadata of ops, and adds to each op its module, and
    /// the function and location that called it.
    ///
    /// ```
    /// use host_events::OpMetadata;
    /// let frames = r#"{"frames": [{"file": "a.py", "line": 3, "function": "main", "module": null}],
    ///     "left_out": 0}"#;
    /// let fields = [("call", "b6"), ("call_frames", frames)];
    /// let fields = fields.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    /// let mut ops = [OpMetadata { fields, ..OpMetadata::default() }];
    /// let calls = recording::OpCalls::take_from(&mut ops);
    /// assert_eq!(calls.of(&ops[0]).unwrap().frames[0].function, "main");
    /// assert_eq!(ops[0].texts().call_location, Some("a.py:3"));
    /// ```
    pub fn take_from(ops: &mut [OpMetadata]) -> Self {
        let mut found = Self::default();
        found.take_others(ops);
        for op in ops.iter() {
            let Some((name, text)) = op.value(CALL).zip(op.value(CALL_FRAMES)) else { continue };
            match serde_json::from_str::<Told>(text) {
                Ok(told) => {
                    let call = OpCall { frames: told.frames, left_out_count: told.left_out };
                    found.calls.entry(name.to_owned()).or_insert(call);
                }
                Err(_) => found.unreadable_count = found.unreadable_count.saturating_add(1),
            }
        }
        for op in ops.iter_mut().filter(|op| op.value(CALL).is_some()) {
            let call = found.of(op);
            let of_call = call.map_or([None, None, None], |call| {
                [
                    call.module().map(|module| (OpMetadata::MODULE, module.to_owned())),
                    call.function()
                        .map(|function| (OpMetadata::CALL_FUNCTION, function.to_owned())),
                    call.location().map(|location| (OpMetadata::CALL_LOCATION, location)),
                ]
            });
            let is_known = call.is_some();
            let fields = op.fields.iter().filter(|(key, _)| key != CALL_FRAMES).cloned();
            let of_call = of_call.into_iter().flatten().map(|(key, text)| (key.to_owned(), text));
            op.fields = fields.chain(of_call).collect();
            if !is_known {
                found.op_without_frames_count = found.op_without_frames_count.saturating_add(1);
            }
        }
        found
    }

    /// Takes the frames of calls that may have launched no op out of the metadata of ops.
    fn take_others(&mut self, ops: &mut [OpMetadata]) {
        for op in ops.iter_mut() {
            let Some(text) = op.value(OTHER_CALLS) else { continue };
            match serde_json::from_str::<BTreeMap<String, Told>>(text) {
                Ok(others) => self.calls.extend(others.into_iter().map(|(name, told)| {
                    (name, OpCall { frames: told.frames, left_out_count: told.left_out })
                })),
                Err(_) => self.unreadable_count = self.unreadable_count.saturating_add(1),
            }
            let fields = op.fields.iter().filter(|(key, _)| key != OTHER_CALLS).cloned();
            op.fields = fields.collect();
        }
    }

    /// Returns all calls by their names.
    pub fn by_name(&self) -> impl Iterator<Item = (&str, &OpCall)> {
        self.calls.iter().map(|(name, call)| (name.as_str(), call))
    }

    /// Returns the call of an op; `None` if it is unknown.
    #[must_use]
    pub fn of(&self, op: &OpMetadata) -> Option<&OpCall> {
        self.calls.get(op.value(CALL)?)
    }

    /// Returns true if the call of no op is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns the call of each program, by chip id and run host id; `None` where it is unknown, or where
    /// ops of one program have several calls.
    #[must_use]
    pub fn by_program(&self, ops: &[OpMetadata]) -> BTreeMap<(u32, RunHostId), Option<&OpCall>> {
        let mut found = BTreeMap::new();
        for op in ops {
            let call = self.of(op);
            let known = found.entry((op.chip_id, op.run_host_id)).or_insert(call);
            if *known != call {
                *known = None;
            }
        }
        found
    }
}

/// What stands for the functions of a program that called an op if they are unknown.
pub const UNKNOWN_CALL: &str = "[call unknown]";

#[cfg(test)]
mod tests {
    use super::*;

    fn op(fields: &[(&str, &str)]) -> OpMetadata {
        let fields = fields.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        OpMetadata { fields: fields.collect(), ..OpMetadata::default() }
    }

    #[test]
    fn ops_of_one_call_share_its_frames_and_unknown_calls_are_counted() {
        let frames = r#"{"frames": [
            {"file": "run.py", "line": 3, "function": "main", "module": null},
            {"file": "model.py", "line": 12, "function": "Layer.__call__", "module": "M.layers.0"},
            {"file": "model.py", "line": 30, "function": "helper", "module": null}
        ], "left_out": 2}"#;
        let mut ops = [
            op(&[("name", "Add"), (CALL, "a")]),
            op(&[("name", "Mul"), (CALL, "a"), (CALL_FRAMES, frames), ("tile", "32")]),
            op(&[("name", "Neg"), (CALL, "b")]),
            op(&[("name", "Exp"), (CALL, "c"), (CALL_FRAMES, "{\"frames\": 5}")]),
            op(&[("name", "Copy")]),
        ];
        let calls = OpCalls::take_from(&mut ops);
        let of_call = [
            (OpMetadata::MODULE, "M.layers.0"),
            (OpMetadata::CALL_FUNCTION, "helper"),
            (OpMetadata::CALL_LOCATION, "model.py:30"),
        ];
        let with = |fields: &[(&str, &str)]| op(&[fields, &of_call].concat());
        assert_eq!(ops[0], with(&[("name", "Add"), (CALL, "a")]));
        assert_eq!(ops[1], with(&[("name", "Mul"), (CALL, "a"), ("tile", "32")]));
        assert_eq!(ops[2], op(&[("name", "Neg"), (CALL, "b")]));
        assert_eq!(ops[3], op(&[("name", "Exp"), (CALL, "c")]));
        assert_eq!(ops[4], op(&[("name", "Copy")]));
        assert_eq!((calls.unreadable_count, calls.op_without_frames_count), (1, 2));
        let call = calls.of(&ops[0]).unwrap();
        assert_eq!((call.frames.len(), call.left_out_count), (3, 2));
        assert_eq!(call.frames[1].line, Some(12));
        assert_eq!((calls.of(&ops[2]), calls.of(&ops[4])), (None, None));
    }

    #[test]
    fn a_program_with_several_calls_has_none() {
        let frames = |function: &str| {
            format!(
                r#"{{"frames": [{{"file": "a.py", "line": 3, "function": "{function}", "module": null}}],
                "left_out": 0}}"#
            )
        };
        let (one, other) = (frames("one"), frames("other"));
        let of = |program, call, frames| OpMetadata {
            run_host_id: RunHostId(program),
            ..op(&[(CALL, call), (CALL_FRAMES, frames)])
        };
        let mut ops = [of(1, "a", &one), of(1, "a", &one), of(2, "a", &one), of(2, "b", &other)];
        let calls = OpCalls::take_from(&mut ops);
        let by_program = calls.by_program(&ops);
        let function = |program| by_program[&(0, RunHostId(program))]?.function();
        assert_eq!((function(1), function(2)), (Some("one"), None));
    }

    #[test]
    fn calls_that_launched_nothing_are_known_and_no_metadata_of_an_op() {
        let others = r#"{"c": {"frames": [{"file": "a.py", "line": 7, "function": "f", "module": "M"}],
            "left_out": 0}, "d": {"frames": [], "left_out": 0}}"#;
        let mut ops = [
            op(&[("name", "Add"), (OTHER_CALLS, others), (CALL, "c")]),
            op(&[("name", "Mul"), (OTHER_CALLS, "[]")]),
        ];
        let calls = OpCalls::take_from(&mut ops);
        let known: Vec<_> = calls.by_name().map(|(name, call)| (name, call.location())).collect();
        assert_eq!(known, [("c", Some("a.py:7".to_owned())), ("d", None)]);
        assert_eq!(calls.unreadable_count, 1);
        let of_call = [
            (CALL, "c"),
            (OpMetadata::MODULE, "M"),
            (OpMetadata::CALL_FUNCTION, "f"),
            (OpMetadata::CALL_LOCATION, "a.py:7"),
        ];
        assert_eq!(ops[0], op(&[&[("name", "Add")][..], &of_call].concat()));
        assert_eq!(ops[1], op(&[("name", "Mul")]));
    }
}
