//! Durations of each op and zone in one recording, with one duration per repetition.

use reader::timeline::Timeline;
use recording::Recording;
use std::collections::BTreeMap;

reader::labelled! {
    /// Kind of item that a duration belongs to.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MeasuredKind {
        /// Op. Its duration is the time from the first kernel start to the last kernel end.
        Op = "op",
        /// Zone. Its duration in a launch is the mean over all cores, and over all times that a
        /// core executed the zone.
        Zone = "zone",
    }
}

/// One op or zone, with its durations.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Kind of the item: op or zone.
    pub kind: MeasuredKind,
    /// Device that ran the item; for zones, also the RISC.
    pub place: String,
    /// Name of the op or zone.
    pub name: String,
    /// Shapes of an op, or file and line of a zone; empty if unknown.
    pub source: String,
    /// Durations in ns, one for each repetition.
    pub durations_ns: Vec<f64>,
}

/// All measurements of one recording, in the order in which they were added.
///
/// Items with equal kind, place, name and source are distinguished by their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    items: Vec<Measured>,
    skipped: BTreeMap<String, u64>,
}

impl Measurements {
    /// Measures the ops and the zones of a recording. Each lost record counts as an item that could
    /// not be measured.
    #[must_use]
    pub fn from_recording(recording: &Recording) -> Self {
        let readout = &recording.readout;
        let mut measurements = Self::default();
        measurements.add_ops(readout, &recording.ops);
        measurements.add_zones(readout, &Timeline::from_readout(readout));
        let lost = readout.losses.unintended_total().record_count();
        measurements.skip("records that were lost", lost);
        measurements
    }

    /// Adds an op or zone. Durations that are not positive numbers are left out and count as items
    /// that could not be measured.
    pub fn add(&mut self, mut item: Measured) {
        let count = item.durations_ns.len();
        item.durations_ns.retain(|duration| duration.is_finite() && *duration > 0.0);
        let skipped = count.saturating_sub(item.durations_ns.len());
        self.skip("durations that are not above 0", skipped as u64);
        if !item.durations_ns.is_empty() {
            self.items.push(item);
        }
    }

    /// Removes all items for which `is_wanted` returns false.
    pub fn retain(&mut self, is_wanted: impl FnMut(&Measured) -> bool) {
        self.items.retain(is_wanted);
    }

    /// Counts items that could not be measured, by reason.
    pub fn skip(&mut self, reason: &str, count: u64) {
        if count > 0 {
            let skipped = self.skipped.entry(reason.to_owned()).or_default();
            *skipped = skipped.saturating_add(count);
        }
    }

    /// Combines several recordings of the same programs. Each recording becomes one repetition,
    /// with the geometric mean of its own repetitions as duration.
    ///
    /// The repetitions within one recording were made under the same conditions. Only several
    /// recordings show how much future recordings will differ. A single recording is returned
    /// unchanged.
    ///
    /// ```
    /// use reports::diff::{Measured, MeasuredKind, Measurements};
    /// let recording = |durations_ns: &[f64]| {
    ///     let mut measurements = Measurements::default();
    ///     measurements.add(Measured {
    ///         kind: MeasuredKind::Op,
    ///         place: "device 0".to_owned(),
    ///         name: "Matmul".to_owned(),
    ///         source: String::new(),
    ///         durations_ns: durations_ns.to_vec(),
    ///     });
    ///     measurements
    /// };
    /// let both = Measurements::from_recordings([recording(&[100.0, 400.0]), recording(&[300.0])]);
    /// let durations = &both.items()[0].durations_ns;
    /// assert!((durations[0] - 200.0).abs() < 1e-9 && (durations[1] - 300.0).abs() < 1e-9);
    /// ```
    #[must_use]
    pub fn from_recordings(recordings: impl IntoIterator<Item = Self>) -> Self {
        let mut recordings: Vec<_> = recordings.into_iter().collect();
        if recordings.len() > 1 {
            recordings.iter_mut().for_each(Self::take_means);
        }
        let mut all = Self::default();
        recordings.into_iter().for_each(|recording| all.append(recording));
        all
    }

    fn take_means(&mut self) {
        for item in &mut self.items {
            let logs: f64 = item.durations_ns.iter().map(|duration| duration.ln()).sum();
            let mean = (logs / item.durations_ns.len() as f64).exp();
            item.durations_ns = vec![mean];
        }
    }

    /// Adds the repetitions measured in another run of the same programs.
    pub fn append(&mut self, other: Self) {
        let pairs = super::matching::pairs_of(&self.items, &other.items);
        let mut others: Vec<Option<Measured>> = other.items.into_iter().map(Some).collect();
        for (own, at) in pairs {
            if let Some(item) = others.get_mut(at).and_then(Option::take)
                && let Some(own) = self.items.get_mut(own)
            {
                own.durations_ns.extend(item.durations_ns);
            }
        }
        self.items.extend(others.into_iter().flatten());
        for (reason, count) in other.skipped {
            self.skip(&reason, count);
        }
    }

    /// Returns the ops and zones.
    #[must_use]
    pub fn items(&self) -> &[Measured] {
        &self.items
    }

    /// Returns the number of items that could not be measured, by reason.
    #[must_use]
    pub const fn skipped(&self) -> &BTreeMap<String, u64> {
        &self.skipped
    }
}
