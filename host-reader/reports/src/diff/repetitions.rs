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
            Some(Self { a: repetitions_of(one, other)?, b: repetitions_of(other, one)? })
        });
        let counts = counts.collect::<Option<Vec<Self>>>()?;
        let found = *counts.first()?;
        let are_alike = counts.iter().all(|of| *of == found);
        (are_alike && found.a != found.b).then_some(found)
    }
}

/// Returns how often a device launches each op in a row, if it runs the ops of the other in their order.
fn repetitions_of(ops: &DeviceOps, other: &DeviceOps) -> Option<usize> {
    let [own, their] = [ops, other].map(|of| {
        of.launches.chunk_by(|one, next| key(one) == key(next)).collect::<Vec<&[Slot]>>()
    });
    let keys = [&own, &their]
        .map(|blocks| blocks.iter().filter_map(|block| block.first().map(key)).collect::<Vec<_>>());
    let count = own.first()?.len();
    let are_alike = own.iter().all(|block| block.len() == count);
    (are_alike && count >= LEAST_REPETITIONS && keys[0] == keys[1]).then_some(count)
}

fn key(slot: &Slot) -> (String, &str) {
    (kind_of(&slot.op.name), slot.op.shapes())
}
