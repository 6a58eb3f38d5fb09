//! Data collected from the lanes of a readout. Each thread needs only one lane at a time in memory.

use crate::{
    lane::Lane, names::ZoneTable, packed_bytes::PackedMemory, readout::Readout, role::RoleTable,
};
use rayon::prelude::*;
use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
};

/// Parts of a readout, other than its lanes, that [`FromLanes::add`] needs.
pub trait LanesContext<'readout>: Sync {
    /// Creates the context from a readout, whose list of lanes may be empty. Data that is collected
    /// with the context is stored in `memory`.
    fn new(readout: &'readout Readout, memory: &Arc<PackedMemory>) -> Self;
}

impl<'readout> LanesContext<'readout> for &'readout ZoneTable {
    fn new(readout: &'readout Readout, _: &Arc<PackedMemory>) -> Self {
        &readout.zones
    }
}

impl LanesContext<'_> for RoleTable {
    fn new(readout: &Readout, _: &Arc<PackedMemory>) -> Self {
        Self::from_names(&readout.zones)
    }
}

impl<'readout, A, B> LanesContext<'readout> for (A, B)
where
    A: LanesContext<'readout>,
    B: LanesContext<'readout>,
{
    fn new(readout: &'readout Readout, memory: &Arc<PackedMemory>) -> Self {
        (A::new(readout, memory), B::new(readout, memory))
    }
}

/// Data collected from the lanes of a readout. The lanes may be in memory or packed.
///
/// Several threads collect data at the same time. Each thread fills its own value of this type (a
/// part), and each lane is added to exactly one part.
pub trait FromLanes: Default + Send {
    /// Parts of a readout, other than its lanes, that [`FromLanes::add`] needs.
    type Context<'readout>: LanesContext<'readout>;

    /// Adds a lane.
    fn add(&mut self, context: &Self::Context<'_>, lane: &Lane);

    /// Collects data from all lanes of a readout in memory; returns the parts of all threads.
    #[must_use]
    fn parts_of_readout(readout: &Readout) -> Vec<Self> {
        let context = Self::Context::new(readout, &PackedMemory::unlimited());
        let lanes = readout.devices.par_iter().flat_map(|device| device.lanes.par_iter());
        let parts = fold_lanes(lanes, |part: &mut Self, lane| {
            part.add(&context, lane);
            Ok::<(), Infallible>(())
        });
        parts.unwrap_or_else(|never| match never {})
    }
}

impl<A: FromLanes, B: FromLanes> FromLanes for (A, B) {
    type Context<'readout> = (A::Context<'readout>, B::Context<'readout>);

    fn add(&mut self, (first, second): &Self::Context<'_>, lane: &Lane) {
        self.0.add(first, lane);
        self.1.add(second, lane);
    }
}

/// Calls `take` with each item and an accumulator, on all threads in parallel. Returns all
/// accumulators.
///
/// The number of accumulators is at most the number of threads, because an accumulator may be large
/// even for few items.
///
/// # Errors
/// The first error of `take`.
pub fn fold_lanes<A: Default + Send, L, E: Send>(
    lanes: impl ParallelIterator<Item = L>,
    take: impl Fn(&mut A, L) -> Result<(), E> + Sync,
) -> Result<Vec<A>, E> {
    let idle: Mutex<Vec<A>> = Mutex::default();
    let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    lanes.try_for_each(|lane| {
        let idle_accumulator = lock().pop();
        let mut accumulator = idle_accumulator.unwrap_or_default();
        take(&mut accumulator, lane)?;
        lock().push(accumulator);
        Ok(())
    })?;
    Ok(idle.into_inner().unwrap_or_else(PoisonError::into_inner))
}
