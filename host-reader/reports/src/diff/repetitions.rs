//! Benchmarks that repeat each op another number of times.

use super::{
    kind::kind_of,
    measured::{DeviceOps, Measurements, Slot},
};

/// Least number of launches of an op one after the other that are repetitions of it, and not a program that runs it
/// several times.
const LEAST_REPETITIONS: usize = 5;

/// Launches of each op in a row, if two benchmarks repeat the same ops another number of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RepetitionCounts {
    /// Number in A.
    pub a: usize,
    /// Number in B.
    pub b: usize,
}

impl RepetitionCounts {
    /// Returns how often both recordings launch each op in a row; `None` if the ops or their order differ, if an op
    /// has another number of launches than the others, or if both launch them as often.
    pub(super) fn new(a: &Measurements, b: &Measurements) -> Option<Self> {
        let [first, second] = [a, b].map(|of| of.devices.as_slice());
        if first.len() != second.len() {
            return None;
        }
        let counts = first.iter().zip(second).map(|(one, other)| {
            let ((own, a), (their, b)) = (repeated(one)?, repeated(other)?);
            (own == their).then_some(Self { a, b })
        });
        let counts = counts.collect::<Option<Vec<Self>>>()?;
        let found = *counts.first()?;
        let are_alike = counts.iter().all(|of| *of == found);
        (are_alike && found.a != found.b).then_some(found)
    }
}

/// Kind and shapes of an op.
type Key<'a> = (String, &'a str);

/// Returns the ops of a device in their order, and how often it launches each in a row; `None` if that is not a
/// number of repetitions, or not the same for all.
fn repeated(ops: &DeviceOps) -> Option<(Vec<Key<'_>>, usize)> {
    let blocks = || ops.launches.chunk_by(|one, next| key(one) == key(next));
    // Most programs end here, at their first op.
    let count = blocks().next()?.len();
    if count < LEAST_REPETITIONS {
        return None;
    }
    let keys = blocks().map(|block| block.first().filter(|_| block.len() == count).map(key));
    Some((keys.collect::<Option<Vec<Key<'_>>>>()?, count))
}

fn key(slot: &Slot) -> Key<'_> {
    (kind_of(&slot.op.name), slot.op.shapes())
}
