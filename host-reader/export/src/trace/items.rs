//! Ops and lanes of a trace, whether they are in memory or packed.

use super::{PackedTrace, Trace, TraceOp};
use crate::counters;
use std::borrow::Cow;

/// A trace, either with its ops and lanes in memory, or with packed ops and lanes.
#[derive(Clone, Copy, Debug)]
pub enum TraceItems<'t, 'a> {
    /// The ops and lanes are in memory, as part of the trace.
    InMemory(&'t Trace<'a>),
    /// The ops and lanes are packed, and are unpacked in batches while they are exported.
    Packed(&'t PackedTrace<'a>),
}

impl<'t, 'a> TraceItems<'t, 'a> {
    /// Returns the trace. If the ops and lanes are packed, the trace contains no ops, and its lanes
    /// contain no records.
    #[must_use]
    pub const fn trace(self) -> &'t Trace<'a> {
        match self {
            Self::InMemory(trace) => trace,
            Self::Packed(packed) => packed.trace(),
        }
    }

    /// Returns the packed trace; `None` if the ops and lanes are in memory.
    #[must_use]
    pub const fn packed(self) -> Option<&'t PackedTrace<'a>> {
        match self {
            Self::InMemory(_) => None,
            Self::Packed(packed) => Some(packed),
        }
    }

    /// Returns the ops of a chip, sorted by start. Packed ops have no runs.
    pub fn ops(self, device_index: usize) -> Box<dyn Iterator<Item = Cow<'t, TraceOp<'a>>> + 't> {
        match self {
            Self::Packed(packed) => Box::new(packed.ops(device_index).map(Cow::Owned)),
            Self::InMemory(trace) => {
                let devices = trace.devices.get(device_index).into_iter();
                Box::new(devices.flat_map(|device| device.ops.iter().map(Cow::Borrowed)))
            }
        }
    }

    /// Returns the number of rows in which the ops of a chip are drawn.
    pub(crate) fn row_count(self, device_index: usize) -> u32 {
        match self {
            Self::Packed(packed) => packed.row_count(device_index),
            Self::InMemory(_) => self.ops(device_index).map(|op| op.row + 1).max().unwrap_or(0),
        }
    }

    /// Returns the number of kernels that a chip runs, at each time at which the number changes.
    pub(crate) fn kernels_running(
        self,
        device_index: usize,
    ) -> Box<dyn Iterator<Item = (u64, i64)> + 't> {
        match self {
            Self::Packed(packed) => Box::new(packed.kernels_running(device_index)),
            Self::InMemory(trace) => {
                let devices = trace.devices.get(device_index).into_iter();
                Box::new(devices.flat_map(|device| counters::kernels_running(device, &trace.names)))
            }
        }
    }
}

impl<'t, 'a> From<&'t Trace<'a>> for TraceItems<'t, 'a> {
    fn from(trace: &'t Trace<'a>) -> Self {
        Self::InMemory(trace)
    }
}

impl<'t, 'a> From<&'t PackedTrace<'a>> for TraceItems<'t, 'a> {
    fn from(packed: &'t PackedTrace<'a>) -> Self {
        Self::Packed(packed)
    }
}
