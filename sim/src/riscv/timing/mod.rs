//! Timing of instructions in cycles. [`pipeline`] models the pipeline, and [`rules`] has the
//! constants of each architecture.

pub(super) mod blame;
pub(super) mod calendar;
pub(super) mod fetch;
pub(crate) mod noc_reads;
pub(super) mod pipeline;
mod predictor;
pub(super) mod rules;
#[cfg(test)]
#[path = "../../../tests/unit/silicon.rs"]
mod silicon;
pub(crate) mod stages;
mod store_queue;

use super::bus::{Region, Width};

/// Properties of a data access that determine its timing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) address: u32,
    pub(super) width: Width,
    pub(super) region: Region,
}

/// Operands of a divide or remainder instruction, which determine its duration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    pub(super) dividend: u32,
    pub(super) divisor: u32,
    pub(super) is_signed: bool,
}

/// Times of a load or store. They are computed before the access, and committed once the access has
/// succeeded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Cycle in which the instruction enters the load/store unit.
    pub(super) issue: u64,
    /// Cycle in which the memory or device processes the request.
    pub(super) access: u64,
}
