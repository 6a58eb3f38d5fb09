//! Data collected from lanes one lane at a time, so that lanes need not be kept.

use crate::{lane::Lane, names::ZoneTable, packed_bytes::PackedMemory, readout::Readout};
use rayon::prelude::*;
use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
};

/// Data of a readout other than its lanes that adding a lane requires.
pub trait LanesContext<'readout>: Sync {
    /// Takes the data from a readout, which may be without lanes. Collected data beyond the limit of
    /// `memory` goes to its temporary file.
    fn new(readout: &'readout Readout, memory: &Arc<PackedMemory>) -> Self;
}

impl<'readout> LanesContext<'readout> for &'readout ZoneTable {
    fn new(readout: &'readout Readout, _: &Arc<PackedMemory>) -> Self {
        &readout.zones
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

/// Data collected from the lanes of a readout, whether they are in memory or still packed.
///
/// Several threads collect at a time, each into a part of its own. A lane is added to one part.
pub trait FromLanes: Default + Send {
    /// Data of the readout that adding a lane requires.
    type Context<'readout>: LanesContext<'readout>;

    /// Adds a lane.
    fn add(&mut self, context: &Self::Context<'_>, lane: &Lane);

    /// Collects from all lanes of a readout in memory; returns the parts.
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

/// Calls `take` for each item on all threads, with an accumulator of the thread.
///
/// There are no more accumulators than threads: some of them are large whatever the number of lanes.
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
        let of_thread = lock().pop();
        let mut accumulator = of_thread.unwrap_or_default();
        take(&mut accumulator, lane)?;
        lock().push(accumulator);
        Ok(())
    })?;
    Ok(idle.into_inner().unwrap_or_else(PoisonError::into_inner))
}
