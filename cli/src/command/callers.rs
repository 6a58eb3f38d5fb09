//! Functions of the user's program that called the ops of a recording, for the lines of its kernels.

use crate::{failure::Failure, input::open_capture};
use host_reader::{
    lines::Frame,
    recording::{OpCall, OpCalls, UNKNOWN_CALL, device_captures, is_capture},
    tables::LineRow,
};
use std::{collections::BTreeMap, path::Path};
use wire::RunHostId;

/// For each program, the functions that called it, and the module of the model.
pub(super) struct ProgramCallers {
    /// Functions, from the outermost one, and the innermost module.
    by_program: BTreeMap<(u32, RunHostId), (Vec<Frame>, Option<String>)>,
    /// What stands for functions that are unknown; empty if no call of the recording is known.
    unknown: Vec<Frame>,
}

impl ProgramCallers {
    /// Reads the calls of a capture, or of the captures in a folder. Other files have none.
    pub(super) fn of_recording(input: &Path) -> Result<Self, Failure> {
        let captures = match input.is_dir() {
            true => device_captures(input),
            false => Some(input.to_owned()).filter(|input| is_capture(input)).into_iter().collect(),
        };
        let mut ops = Vec::new();
        for capture in captures {
            ops.extend(open_capture(&capture)?.op_metadata());
        }
        let calls = OpCalls::take_from(&mut ops);
        let known = calls.by_program(&ops).into_iter();
        let by_program = known.filter_map(|(program, call)| {
            let call = call?;
            Some((program, (frames(call), call.module().map(str::to_owned))))
        });
        let unknown = Some(label(UNKNOWN_CALL.to_owned())).filter(|_| !calls.is_empty());
        Ok(Self { by_program: by_program.collect(), unknown: unknown.into_iter().collect() })
    }

    /// Returns the functions that called the op of a row.
    pub(super) fn of(&self, row: &LineRow) -> &[Frame] {
        self.known(row).map_or(&self.unknown, |(frames, _)| frames)
    }

    /// Returns the path of the module that called the op of a row; `None` if it is unknown.
    pub(super) fn module(&self, row: &LineRow) -> Option<&str> {
        self.known(row)?.1.as_deref()
    }

    fn known(&self, row: &LineRow) -> Option<&(Vec<Frame>, Option<String>)> {
        self.by_program.get(&(row.chip_id, RunHostId(row.run_host_id)))
    }
}

fn label(function: String) -> Frame {
    Frame { function: Some(function), file: None, line: None }
}

fn frames(call: &OpCall) -> Vec<Frame> {
    let kept = call.frames.iter().map(|frame| Frame {
        function: Some(frame.name()),
        file: Some(frame.file.clone()),
        line: frame.line,
    });
    call.left_out().map(label).into_iter().chain(kept).collect()
}
