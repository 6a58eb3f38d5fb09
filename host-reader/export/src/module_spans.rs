//! Spans of consecutive ops that the same module of the model called, for trace viewers.

use super::TraceOp;
use reports::perf::module_parts;

/// What happens in a row of spans, in an order in which viewers can nest it.
#[derive(Clone, Copy, Debug)]
pub(super) enum ModuleEvent<'e, 'a> {
    /// A span begins, within the open spans of its row.
    Begin(ModuleSpan<'e>),
    /// An op runs, within the open spans of its row.
    Op(&'e TraceOp<'a>),
    /// The innermost open span of its row ends, at this time in nanoseconds since the trace's origin.
    End(ModuleSpan<'e>, u64),
}

/// A module whose ops run one after the other, with no op of another module between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ModuleSpan<'e> {
    /// Row of the ops.
    pub(super) row: u32,
    /// Path of the module.
    pub(super) path: &'e str,
    /// Last part of the path.
    pub(super) name: &'e str,
    /// Start of the first op in nanoseconds since the trace's origin.
    pub(super) start_ns: u64,
}

/// The spans that are open, by row. Ops in the same row never overlap, so the spans of a row nest.
#[derive(Debug, Default)]
pub(super) struct ModuleSpans(Vec<Row>);

#[derive(Debug, Default)]
struct Row {
    open: Vec<OpenSpan>,
    /// End of the row's last op.
    end_ns: u64,
}

#[derive(Debug)]
struct OpenSpan {
    path: String,
    /// Index in `path` of the last part.
    name_at: usize,
    start_ns: u64,
}

impl ModuleSpans {
    /// Adds an op, which starts no earlier than those before, and calls `take` with what happens.
    ///
    /// A span ends in each row if the op is of another module: it may run before the row's next op.
    pub(super) fn add<'a>(&mut self, op: &TraceOp<'a>, take: &mut impl FnMut(ModuleEvent<'_, 'a>)) {
        let module = op.texts().module;
        let parts: Vec<(usize, &str)> = module.map(prefixes).unwrap_or_default();
        for (row, number) in self.0.iter_mut().zip(0..) {
            let same =
                row.open.iter().zip(&parts).take_while(|(open, (_, path))| open.path == *path);
            let kept = same.count();
            row.close(number, kept, take);
        }
        if module.is_none() {
            return;
        }
        let number = op.row as usize;
        if self.0.len() <= number {
            self.0.resize_with(number.saturating_add(1), Row::default);
        }
        let Some(row) = self.0.get_mut(number) else { return };
        for &(name_at, path) in parts.iter().skip(row.open.len()) {
            let span = OpenSpan { path: path.to_owned(), name_at, start_ns: op.start_ns };
            take(ModuleEvent::Begin(span.told(op.row)));
            row.open.push(span);
        }
        take(ModuleEvent::Op(op));
        row.end_ns = row.end_ns.max(op.end_ns);
    }

    /// Ends all open spans.
    pub(super) fn finish<'a>(mut self, take: &mut impl FnMut(ModuleEvent<'_, 'a>)) {
        self.0.iter_mut().zip(0..).for_each(|(row, number)| row.close(number, 0, take));
    }
}

impl Row {
    /// Ends the innermost spans, until so many are open.
    fn close<'a>(&mut self, number: u32, kept: usize, take: &mut impl FnMut(ModuleEvent<'_, 'a>)) {
        while self.open.len() > kept
            && let Some(span) = self.open.pop()
        {
            take(ModuleEvent::End(span.told(number), self.end_ns));
        }
    }
}

impl OpenSpan {
    fn told(&self, row: u32) -> ModuleSpan<'_> {
        let Self { ref path, name_at, start_ns } = *self;
        ModuleSpan { row, path, name: path.get(name_at..).unwrap_or(path), start_ns }
    }
}

/// Returns the paths of a module and of the modules around it, from the outermost, each with the index
/// of its last part.
fn prefixes(path: &str) -> Vec<(usize, &str)> {
    let mut end = 0_usize;
    let prefixes = module_parts(path).filter_map(|part| {
        let start = end;
        end = start.saturating_add(part.len());
        let prefix = path.get(..end)?;
        end = end.saturating_add(1);
        Some((start, prefix))
    });
    prefixes.collect()
}
