//! Tracks for the modules of a model: nested slices from the model to its ops, as long as ops of the
//! same module follow each other.

use super::{
    Context, Tracks,
    device::{child, describe},
    message::{SLICE_BEGIN, TrackDescriptor},
    sequence::{Sequence, named_number, named_text},
};
use crate::{
    TraceOp,
    module_spans::{ModuleEvent, ModuleSpan, ModuleSpans},
    words,
};
use std::{
    collections::BTreeSet,
    io::{self, Write},
};

/// Writes the modules that called a chip's ops. Writes nothing if the ops have no modules.
pub(super) fn draw(
    sequence: &mut Sequence,
    context: &Context<'_, '_>,
    device_index: usize,
    tracks: &Tracks,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut drawing = ModuleTracks { sequence, context, tracks, described: BTreeSet::new() };
    let mut spans = ModuleSpans::default();
    for op in context.items.ops(device_index) {
        spans.add(&op, &mut |event| drawing.draw(event));
        drawing.sequence.write_many(out)?;
    }
    spans.finish(&mut |event| drawing.draw(event));
    Ok(())
}

/// Writer for the tracks with a chip's modules.
struct ModuleTracks<'t, 'a> {
    sequence: &'t mut Sequence,
    context: &'t Context<'t, 'a>,
    tracks: &'t Tracks,
    /// Rows whose tracks have been described.
    described: BTreeSet<u32>,
}

impl ModuleTracks<'_, '_> {
    fn draw(&mut self, event: ModuleEvent<'_, '_>) {
        let base_ns = self.context.base_ns;
        match event {
            ModuleEvent::Begin(span) => self.begin(&span),
            ModuleEvent::Op(op) => self.op(op),
            ModuleEvent::End(span, end_ns) => {
                self.sequence.end(base_ns + end_ns, self.tracks.modules(span.row));
            }
        }
    }

    fn begin(&mut self, span: &ModuleSpan<'_>) {
        let track = self.tracks.modules(span.row);
        if self.described.insert(span.row) {
            let name = words::module_row_label(span.row);
            // Modules are above the ops that they called.
            let rank = i32::try_from(span.row).unwrap_or(i32::MAX);
            let rank = rank.saturating_sub_unsigned(self.tracks.row_count);
            let descriptor = child(self.tracks.content, track, name, 0);
            let sibling_order_rank = Some(rank);
            describe(self.sequence, TrackDescriptor { sibling_order_rank, ..descriptor });
        }
        self.sequence.event(self.context.base_ns + span.start_ns, SLICE_BEGIN, |event| {
            let arguments = event.begin(track, span.name.to_owned(), "module");
            arguments.push(named_text("module", span.path));
        });
    }

    fn op(&mut self, op: &TraceOp<'_>) {
        let track = self.tracks.modules(op.row);
        let (base_ns, texts) = (self.context.base_ns, op.texts());
        self.sequence.event(base_ns + op.start_ns, SLICE_BEGIN, |event| {
            // Another category than that of the row of ops: queries would count each op twice.
            let arguments = event.begin(track, op.label(), "op of module");
            arguments.push(named_number("run_host_id", op.figures.run_host_id.into()));
            let call =
                [("call_function", texts.call_function), ("call_location", texts.call_location)];
            arguments.extend(call.iter().filter_map(|&(key, text)| Some(named_text(key, text?))));
        });
        self.sequence.end(base_ns + op.end_ns, track);
    }
}
