//! Tracks for the causes of slowness: the time of each op by class, and the critical path of each
//! op.
//!
//! The critical path is a row of slices, one for each step. If the path changes to another RISC, an
//! arrow leads from the signal to the end of the wait for that signal.

use super::{
    Context, Tracks,
    device::{child, counter, describe},
    message::{INSTANT, SLICE_BEGIN},
    sequence::{Sequence, named_number, named_text},
};
use crate::{TraceDevice, op_causes::with_causes};
use causes::{CriticalPath, OpCauses, PathStep, StepKind, TimeClass};
use reader::{lane::LaneId, mesh::Noc0Coord};
use std::ops::Range;

/// First id for the arrows of critical paths. Arrows from ops have lower ids.
const FIRST_FLOW: u64 = 1 << 63;

/// Writes the tracks that show why a chip's ops are slow. Writes nothing if the recording was not
/// explained.
pub(super) fn draw(
    sequence: &mut Sequence,
    context: &Context<'_, '_>,
    device_index: usize,
    tracks: &Tracks,
) {
    let Some(device) = context.trace.devices.get(device_index) else { return };
    let ops = context.items.ops(device_index);
    let known: Vec<ExplainedOp<'_>> = with_causes(context.trace, device.chip.chip_id, ops)
        .filter_map(|(causes, op)| Some((causes?, op.start_ns..op.end_ns)))
        .collect();
    draw_classes(sequence, context, tracks, &known);
    let paths = known.iter().filter_map(|(causes, _)| causes.critical_path.as_ref());
    let base_flow = FIRST_FLOW | ((tracks.number as u64) << 40);
    let mut path = PathTrack { sequence, context, device, tracks, next_flow: base_flow };
    path.draw(paths);
}

/// Causes of an op, and its start and end in nanoseconds.
type ExplainedOp<'t> = (&'t OpCauses, Range<u64>);

/// Draws the share of each class in the time of each op, over the op's duration.
fn draw_classes(
    sequence: &mut Sequence,
    context: &Context<'_, '_>,
    tracks: &Tracks,
    known: &[ExplainedOp<'_>],
) {
    let classes: Vec<_> = TimeClass::ALL
        .into_iter()
        .filter(|&class| known.iter().any(|(causes, _)| causes.time.percent(class) > 0.0))
        .collect();
    if classes.is_empty() {
        return;
    }
    let rank = tracks.row_count as usize + 1;
    let name = "classes of time".to_owned();
    describe(sequence, child(tracks.content, tracks.classes, name, rank));
    for (place, class) in classes.into_iter().enumerate() {
        let track = tracks.class(place as u64);
        let descriptor = child(tracks.classes, track, format!("{} %", class.label()), place);
        let description = "share of the op's time, firmware included".to_owned();
        describe(sequence, counter(descriptor, None, Some(description)));
        for (causes, time) in known {
            for (time_ns, value) in [(time.start, causes.time.percent(class)), (time.end, 0.0)] {
                sequence.count(context.base_ns + time_ns, track, value);
            }
        }
    }
}

/// Writer for the track with a chip's critical paths.
struct PathTrack<'t, 'a> {
    sequence: &'t mut Sequence,
    context: &'t Context<'t, 'a>,
    device: &'t TraceDevice<'a>,
    tracks: &'t Tracks,
    next_flow: u64,
}

impl PathTrack<'_, '_> {
    fn draw<'p>(&mut self, paths: impl Iterator<Item = &'p CriticalPath>) {
        for (index, path) in paths.enumerate() {
            if index == 0 {
                let (parent, track) = (self.tracks.content, self.tracks.critical_path);
                let rank = self.tracks.row_count as usize;
                describe(self.sequence, child(parent, track, "critical path".to_owned(), rank));
            }
            for step in &path.steps {
                self.slice(step);
            }
            for pair in path.steps.windows(2) {
                if let [before, step] = pair
                    && step.kind == StepKind::Handoff
                    && (before.core, before.risc) != (step.core, step.risc)
                {
                    self.arrow(before, step);
                }
            }
        }
    }

    fn time_ns(&self, cycle: u64) -> u64 {
        self.context.base_ns + self.device.clock.time_ns(cycle)
    }

    fn slice(&mut self, step: &PathStep) {
        let track = self.tracks.critical_path;
        let (start, end) = (self.time_ns(step.start_cycle), self.time_ns(step.end_cycle));
        self.sequence.event(start, SLICE_BEGIN, |event| {
            let arguments = event.begin(track, step_label(step), "critical path");
            arguments.push(named_number("start_cycle", step.start_cycle));
            let cycles = step.end_cycle.saturating_sub(step.start_cycle);
            arguments.push(named_number("duration_cycles", cycles));
            if let Some((kind, key)) = step.wait {
                arguments.push(named_text("wait", kind));
                arguments.push(named_number("key", key.into()));
            }
        });
        self.sequence.end(end, track);
    }

    /// Draws an arrow from a signal to the end of the wait for that signal.
    fn arrow(&mut self, before: &PathStep, step: &PathStep) {
        let (Some(from), Some(to)) = (self.lane_track(before), self.lane_track(step)) else {
            return;
        };
        let flow = self.next_flow;
        self.next_flow = self.next_flow.wrapping_add(1);
        let (start, end) = (self.time_ns(step.start_cycle), self.time_ns(step.end_cycle));
        for (track, time_ns, is_start) in [(from, start, true), (to, end, false)] {
            self.sequence.event(time_ns, INSTANT, |event| {
                let name = if is_start { "signals" } else { "goes on" };
                event.begin(track, name.to_owned(), "critical path");
                let list =
                    if is_start { &mut event.flow_ids } else { &mut event.terminating_flow_ids };
                list.push(flow);
            });
        }
    }

    /// Returns the track of a step's lane.
    fn lane_track(&self, step: &PathStep) -> Option<u64> {
        let core = Noc0Coord { x: step.core.0, y: step.core.1 };
        let id = LaneId { chip_id: self.device.chip.chip_id, core, risc: step.risc };
        let index = self.device.lanes.iter().position(|lane| lane.id == id)?;
        Some(self.tracks.lane(index))
    }
}

/// Returns the label of a step: core, RISC and activity, such as `1-2 NCRISC busy`.
fn step_label(step: &PathStep) -> String {
    let kind = match step.kind {
        StepKind::Launch => "launch",
        StepKind::Busy => "busy",
        StepKind::Barrier => "waits for the NoC",
        StepKind::Handoff => "is woken",
        StepKind::Unknown => "blocked, by whom is unknown",
    };
    format!("{}-{} {} {kind}", step.core.0, step.core.1, step.risc)
}
