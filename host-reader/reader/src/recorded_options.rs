//! Options of the profiler with which a recording was made.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// Options of the profiler with which a recording was made: a value for each name.
///
/// What a recording does not contain may have been switched off, or may not have happened. The
/// options tell which.
///
/// ```
/// use reader::recorded_options::RecordedOptions;
/// let options = RecordedOptions::from_pairs([("waits", "totals"), ("noc_events", "off")]);
/// assert_eq!(options.value("waits"), Some("totals"));
/// assert_eq!(options.value("sums"), None, "unknown");
/// assert_eq!(options.to_string(), "noc_events off, waits totals");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedOptions(BTreeMap<String, BTreeSet<String>>);

impl RecordedOptions {
    /// Waits of kernels: `off`, `totals`, `events`, `windows`, or `unbuilt` if the kernels contain
    /// no code that records waits.
    pub const WAITS: &'static str = "waits";
    /// NoC events: `on` or `off`.
    pub const NOC_EVENTS: &'static str = "noc_events";
    /// Groups of hardware counters, as the mask of `TT_METAL_PROFILE_PERF_COUNTERS`; `off` if none.
    pub const COUNTERS: &'static str = "perf_counters";

    /// Kernels that ran without profiling, because they do not compile with the profiler's header: a
    /// value for each, with its file and the compiler's error.
    pub const UNPROFILED: &'static str = "unprofiled";

    /// Creates options from pairs of a name and a value.
    pub fn from_pairs<N: Into<String>, V: Into<String>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let mut options = Self::default();
        for (name, value) in pairs {
            options.0.entry(name.into()).or_default().insert(value.into());
        }
        options
    }

    /// Returns the value of an option; `None` if it is unknown, or if parts of the recording were
    /// made with different values.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        let mut values = self.0.get(name)?.iter();
        let first = values.next()?;
        values.next().is_none().then_some(first.as_str())
    }

    /// Iterates over all values of an option, in alphabetical order.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.get(name).into_iter().flatten().map(String::as_str)
    }

    /// Iterates over all names with their values, ordered by name.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.0.iter();
        all.flat_map(|(name, values)| values.iter().map(move |value| (&**name, &**value)))
    }

    /// Adds the options of another part of the same recording.
    pub fn merge(&mut self, other: Self) {
        for (name, values) in other.0 {
            self.0.entry(name).or_default().extend(values);
        }
    }
}

/// Writes each name with its values, separated by commas.
impl fmt::Display for RecordedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.pairs().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{name} {value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_changed_within_a_recording_has_no_value() {
        let mut options = RecordedOptions::from_pairs([("waits", "off"), ("sums", "on")]);
        options.merge(RecordedOptions::from_pairs([("waits", "totals"), ("sums", "on")]));
        assert_eq!((options.value("waits"), options.value("sums")), (None, Some("on")));
        assert_eq!(options.to_string(), "sums on, waits off, waits totals");
    }
}
