//! Skew between hosts: differences in duration and start of the same op.

use super::starts::Starts;
use crate::numbers::{counted, grouped};
use host_reader::export::{CommonTime, RecordingSummary, Trace};
use std::{
    collections::BTreeMap,
    io::{self, Write},
};

/// Durations and starts of each launch on all hosts.
///
/// Durations can be compared even if the clocks of the hosts are not related.
#[derive(Default)]
pub(super) struct RankSkew {
    launches: BTreeMap<LaunchKey, Skew>,
}

/// Key of a launch: program, trace, replay, and index among the launches for which these three are
/// equal.
type LaunchKey = (u32, Option<u64>, Option<u64>, u64);

#[derive(Default)]
struct Skew {
    label: String,
    /// Number of hosts with a known duration; `sum_ns` is the sum of these durations.
    known: u64,
    sum_ns: u64,
    /// Number of hosts without a known duration, since records may be missing.
    unknown: u64,
    fastest: Option<(u64, String)>,
    slowest: Option<(u64, String)>,
    starts: Starts,
}

impl Skew {
    fn excess_ns(&self) -> u64 {
        let ends = self.slowest.as_ref().zip(self.fastest.as_ref());
        ends.map_or(0, |(slowest, fastest)| slowest.0 - fastest.0)
    }

    fn add_duration(&mut self, host: &str, duration_ns: Option<u64>) {
        let Some(duration_ns) = duration_ns else {
            self.unknown += 1;
            return;
        };
        self.known += 1;
        self.sum_ns = self.sum_ns.saturating_add(duration_ns);
        if self.fastest.as_ref().is_none_or(|(least, _)| duration_ns < *least) {
            self.fastest = Some((duration_ns, host.to_owned()));
        }
        if self.slowest.as_ref().is_none_or(|(most, _)| duration_ns > *most) {
            self.slowest = Some((duration_ns, host.to_owned()));
        }
    }
}

/// A launch on one chip of a host.
///
/// A host's start is the start of its first chip; its duration is that of its slowest chip.
pub(super) struct HostLaunch {
    key: LaunchKey,
    label: String,
    duration_ns: Option<u64>,
    start_ns: u64,
    /// Error bound of the chip's clock against the host's clock; `None` if unknown.
    bound_ns: Option<f64>,
}

impl HostLaunch {
    /// Returns the launches of a trace.
    pub(super) fn from_trace(trace: &Trace<'_>) -> impl Iterator<Item = Self> {
        trace.devices.iter().flat_map(|device| {
            let bound_ns = device.clock.bound_ns();
            device.ops.iter().map(move |op| {
                let figures = &op.figures;
                Self {
                    key: (op.base_id(), figures.trace_id, figures.trace_replay, figures.launch),
                    label: op.label(),
                    duration_ns: op.duration_ns(),
                    start_ns: op.start_ns,
                    bound_ns,
                }
            })
        })
    }

    /// Returns the launches of a recording in a dataset.
    pub(super) fn from_summary(summary: &RecordingSummary) -> impl Iterator<Item = Self> {
        summary.ops.iter().map(|op| Self {
            key: (op.program, op.trace_id, op.trace_replay, op.launch),
            label: op.label(),
            duration_ns: op.duration_ns,
            start_ns: op.start_ns,
            bound_ns: summary.bounds_ns.get(&op.chip_id).copied().flatten(),
        })
    }
}

impl RankSkew {
    /// Adds the launches of a host's recording.
    ///
    /// Starts can be compared if the recording has a common time.
    pub(super) fn add(
        &mut self,
        host: &str,
        launches: impl Iterator<Item = HostLaunch>,
        time: Option<CommonTime>,
    ) {
        let mut of_host: BTreeMap<LaunchKey, HostLaunch> = BTreeMap::new();
        for launch in launches {
            let Some(entry) = of_host.get_mut(&launch.key) else {
                of_host.insert(launch.key, launch);
                continue;
            };
            let durations = entry.duration_ns.zip(launch.duration_ns);
            entry.duration_ns = durations.map(|(known, duration)| known.max(duration));
            entry.start_ns = entry.start_ns.min(launch.start_ns);
            let bounds = entry.bound_ns.zip(launch.bound_ns);
            entry.bound_ns = bounds.map(|(one, other)| one.max(other));
        }
        for (key, HostLaunch { label, duration_ns, start_ns, bound_ns, .. }) in of_host {
            let launch = self.launches.entry(key).or_default();
            launch.label = label;
            launch.add_duration(host, duration_ns);
            if let Some((time, bound_ns)) = time.zip(bound_ns) {
                launch.starts.add(host, time, start_ns, bound_ns);
            }
        }
    }

    /// Writes a row for each launch.
    pub(super) fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record([
            "OP",
            "PROGRAM",
            "LAUNCH",
            "HOSTS",
            "HOSTS WITHOUT DURATION",
            "FASTEST HOST",
            "MIN [ns]",
            "SLOWEST HOST",
            "MAX [ns]",
            "MEAN [ns]",
            "SKEW [ns]",
            "HOSTS ON COMMON CLOCK",
            "EARLIEST HOST",
            "LATEST HOST",
            "START SKEW [ns]",
            "START SKEW AT LEAST [ns]",
            "START SKEW AT MOST [ns]",
        ])?;
        for (&(program, _, _, number), launch) in &self.launches {
            let end = |end: &Option<(u64, String)>| match end {
                Some((duration_ns, host)) => (host.clone(), duration_ns.to_string()),
                None => (String::new(), String::new()),
            };
            let ((fastest, least), (slowest, most)) = (end(&launch.fastest), end(&launch.slowest));
            let mean = launch.sum_ns.checked_div(launch.known);
            let is_compared = launch.known > 1;
            let of_durations = [
                launch.label.clone(),
                program.to_string(),
                number.to_string(),
                launch.known.to_string(),
                launch.unknown.to_string(),
                fastest,
                least,
                slowest,
                most,
                mean.map_or_else(String::new, |mean| mean.to_string()),
                if is_compared { launch.excess_ns().to_string() } else { String::new() },
            ];
            writer.write_record(of_durations.into_iter().chain(launch.starts.cells()))?;
        }
        writer.flush()
    }

    /// Prints the launches with the largest skew, by duration and by start.
    pub(super) fn print(&self, count: usize, out: &mut impl Write) -> io::Result<()> {
        let mut launches: Vec<&Skew> =
            self.launches.values().filter(|launch| launch.known > 1).collect();
        launches.sort_by_key(|launch| std::cmp::Reverse(launch.excess_ns()));
        for launch in launches.iter().take(count) {
            let Some((slowest, fastest)) = launch.slowest.as_ref().zip(launch.fastest.as_ref())
            else {
                continue;
            };
            writeln!(
                out,
                "{}: {} ns on {}, {} ns on {}, {}",
                launch.label,
                grouped(slowest.0),
                slowest.1,
                grouped(fastest.0),
                fastest.1,
                counted(launch.known, "host", "hosts"),
            )?;
        }
        let mut starts: Vec<_> = self
            .launches
            .values()
            .filter_map(|launch| Some((launch, launch.starts.skew()?)))
            .collect();
        starts.sort_by_key(|(_, skew)| std::cmp::Reverse(skew.at_least_ns));
        for (launch, skew) in starts.into_iter().take(count) {
            writeln!(
                out,
                "{}: starts {} ns later on {} than on {}, between {} and {} ns",
                launch.label,
                grouped(skew.measured_ns),
                skew.latest,
                skew.earliest,
                grouped(skew.at_least_ns),
                grouped(skew.at_most_ns),
            )?;
        }
        Ok(())
    }
}
