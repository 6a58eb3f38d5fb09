//! Ops and zones without a counterpart in the other recording.

use super::{
    measured::{Measured, MeasuredKind},
    pairing::{Pairing, Solitude},
};
use crate::perf::Spread;
use std::{collections::HashMap, sync::Arc};

reader::labelled! {
    /// Why an op or zone was not compared.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum UnmatchedReason {
        /// The other recording does not have it.
        Absent = "not in the other recording",
        /// The other recording has it, without a duration.
        Unmeasured = "no duration in the other recording",
    }
}

/// Op or zone of one recording that was not compared.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Unmatched {
    /// Kind of the item: op or zone.
    pub kind: MeasuredKind,
    /// Device that ran the item; for zones, also the RISC.
    pub place: Arc<str>,
    /// Name of the op or zone.
    pub name: Arc<str>,
    /// Shapes of an op, or file and line of a zone; empty if unknown.
    pub source: Arc<str>,
    /// Number of launches of an op that were not compared; the number of repetitions of a zone.
    pub count: usize,
    /// Time of these launches together, or the mean time of a zone, in ns.
    pub time_ns: f64,
    /// Why the item was not compared.
    pub reason: UnmatchedReason,
}

/// Returns what was not compared of one side, the longest first; `number` is 0 for A and 1 for B.
pub(super) fn unmatched_of(pairing: &Pairing<'_>, number: usize) -> Vec<Unmatched> {
    let mut places = HashMap::new();
    let mut found: Vec<Unmatched> = Vec::new();
    for (slot, solitude) in pairing.alone(number) {
        let Some(time_ns) = slot.time_ns() else { continue };
        let op = &slot.op;
        let key = (&op.place, &op.name, &op.source, solitude);
        let at = *places.entry(key).or_insert(found.len());
        match found.get_mut(at) {
            Some(known) => {
                known.count = known.count.saturating_add(1);
                known.time_ns += time_ns;
            }
            None => found.push(unmatched(op, 1, time_ns, solitude)),
        }
    }
    found.extend(pairing.alone_zones(number).into_iter().map(|zone| {
        let spread = Spread::from_values(zone.durations_ns.clone());
        unmatched(zone, spread.count, spread.mean, Solitude::Absent)
    }));
    found.sort_by(|one, other| {
        one.kind.cmp(&other.kind).then(other.time_ns.total_cmp(&one.time_ns))
    });
    found
}

fn unmatched(item: &Measured, count: usize, time_ns: f64, solitude: Solitude) -> Unmatched {
    Unmatched {
        kind: item.kind,
        place: item.place.clone(),
        name: item.name.clone(),
        source: item.source.clone(),
        count,
        time_ns,
        reason: match solitude {
            Solitude::Absent => UnmatchedReason::Absent,
            Solitude::Unmeasured => UnmatchedReason::Unmeasured,
        },
    }
}
