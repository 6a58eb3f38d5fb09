//! Measured durations of each op and zone in one recording, by repetition.

use std::collections::BTreeMap;

/// Kind of item that a duration belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasuredKind {
    /// An op: its kernels from the first start to the last end.
    Op,
    /// A zone: its mean over the cores and passes of a launch.
    Zone,
}

impl MeasuredKind {
    /// The name in reports.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Op => "op",
            Self::Zone => "zone",
        }
    }
}

/// One op or zone and how long it took each time.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Op or zone.
    pub kind: MeasuredKind,
    /// Device on which it ran; for zones, also the RISC.
    pub place: String,
    /// Its name.
    pub name: String,
    /// Shapes of an op, file and line of a zone; empty if unknown.
    pub source: String,
    /// Durations in ns, one for each repetition.
    pub durations_ns: Vec<f64>,
}

/// All measurements of one recording, in the order in which they were added.
///
/// Items of the same kind, place, name and source are distinguished by their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    items: Vec<Measured>,
    skipped: BTreeMap<String, u64>,
}

impl Measurements {
    /// Adds an op or zone. Durations that are no positive numbers are left out and counted.
    pub fn add(&mut self, mut item: Measured) {
        let count = item.durations_ns.len();
        item.durations_ns.retain(|duration| duration.is_finite() && *duration > 0.0);
        let skipped = count - item.durations_ns.len();
        self.skip("durations that are not above 0", skipped as u64);
        if !item.durations_ns.is_empty() {
            self.items.push(item);
        }
    }

    /// Keeps what is wanted.
    pub fn retain(&mut self, is_wanted: impl FnMut(&Measured) -> bool) {
        self.items.retain(is_wanted);
    }

    /// Counts what could not be measured.
    pub fn skip(&mut self, reason: &str, count: u64) {
        if count > 0 {
            *self.skipped.entry(reason.to_owned()).or_default() += count;
        }
    }

    /// Adds the repetitions of another run of the same programs.
    pub fn append(&mut self, other: Self) {
        let pairs = super::matching::pairs_of(&self.items, &other.items);
        let mut others: Vec<Option<Measured>> = other.items.into_iter().map(Some).collect();
        for (own, at) in pairs {
            if let Some(item) = others[at].take() {
                self.items[own].durations_ns.extend(item.durations_ns);
            }
        }
        self.items.extend(others.into_iter().flatten());
        for (reason, count) in other.skipped {
            self.skip(&reason, count);
        }
    }

    /// The ops and zones.
    #[must_use]
    pub fn items(&self) -> &[Measured] {
        &self.items
    }

    /// Returns the items left out, counted by reason.
    #[must_use]
    pub const fn skipped(&self) -> &BTreeMap<String, u64> {
        &self.skipped
    }
}
