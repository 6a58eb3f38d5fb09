//! What L1 and DRAM held during ops, as shown on a page.

use memory::Usage;
use recording::TraceFilter;
use wire::RunHostId;

/// What memory held during the ops of a recording, and the ops that are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceMemory {
    /// Memory during all ops of the recording: what one op allocates, later ones have.
    pub usage: Usage,
    /// Indices in [`Usage::ops`] of the ops that are shown.
    pub shown: Vec<usize>,
}

impl TraceMemory {
    /// Returns the memory of the ops that a filter selects by chip and op; `None` if there are none. Other
    /// terms leave out no op, because an op that did not run, such as one of the capture of a trace, has
    /// no time and no cores.
    ///
    /// ```
    /// use export::{TraceFilter, TraceMemory};
    /// assert_eq!(TraceMemory::new(memory::Usage::default(), &TraceFilter::default()), None);
    /// ```
    #[must_use]
    pub fn new(usage: Usage, filter: &TraceFilter) -> Option<Self> {
        let ops = usage.ops.iter().enumerate();
        let shown = ops.filter(|(_, op)| {
            let base_id = RunHostId(op.run_host_id).base();
            filter.selects_device(op.chip_id) && filter.selects_op(base_id, op.name.as_deref())
        });
        let shown: Vec<usize> = shown.map(|(index, _)| index).collect();
        (!shown.is_empty()).then_some(Self { usage, shown })
    }
}
