//! How much longer an op takes on one host than on another.

use crate::numbers::{counted, grouped};
use host_reader::export::Trace;
use std::{
    collections::BTreeMap,
    io::{self, Write},
};

/// Durations of each launch on all hosts. They can be compared although the clocks of the hosts
/// are not related.
#[derive(Default)]
pub(super) struct RankSkew {
    launches: BTreeMap<LaunchKey, Durations>,
}

/// A launch: program, trace and replay, and which launch of these.
type LaunchKey = (u32, Option<u64>, Option<u64>, u64);

#[derive(Default)]
struct Durations {
    label: String,
    /// Hosts with a duration, and their sum.
    known: u64,
    sum_ns: u64,
    /// Hosts without: records may be missing.
    unknown: u64,
    fastest: Option<(u64, String)>,
    slowest: Option<(u64, String)>,
}

impl Durations {
    fn excess_ns(&self) -> u64 {
        let ends = self.slowest.as_ref().zip(self.fastest.as_ref());
        ends.map_or(0, |(slowest, fastest)| slowest.0 - fastest.0)
    }
}

impl RankSkew {
    /// Adds a recording of a host. An op takes as long as on the slowest of the host's chips.
    pub(super) fn add(&mut self, host: &str, trace: &Trace<'_>) {
        let mut of_host: BTreeMap<LaunchKey, (Option<u64>, String)> = BTreeMap::new();
        for op in trace.devices.iter().flat_map(|device| &device.ops) {
            let figures = &op.figures;
            let key = (op.base_id(), figures.trace_id, figures.trace_replay, figures.launch);
            let duration = op.duration_ns();
            let entry = of_host.entry(key).or_insert_with(|| (duration, op.label()));
            entry.0 = entry.0.zip(duration).map(|(known, duration)| known.max(duration));
        }
        for (key, (duration_ns, label)) in of_host {
            let launch = self.launches.entry(key).or_default();
            launch.label = label;
            let Some(duration_ns) = duration_ns else {
                launch.unknown += 1;
                continue;
            };
            launch.known += 1;
            launch.sum_ns = launch.sum_ns.saturating_add(duration_ns);
            if launch.fastest.as_ref().is_none_or(|(least, _)| duration_ns < *least) {
                launch.fastest = Some((duration_ns, host.to_owned()));
            }
            if launch.slowest.as_ref().is_none_or(|(most, _)| duration_ns > *most) {
                launch.slowest = Some((duration_ns, host.to_owned()));
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
        ])?;
        for (&(program, _, _, number), launch) in &self.launches {
            let end = |end: &Option<(u64, String)>| match end {
                Some((duration_ns, host)) => (host.clone(), duration_ns.to_string()),
                None => (String::new(), String::new()),
            };
            let ((fastest, least), (slowest, most)) = (end(&launch.fastest), end(&launch.slowest));
            let mean = launch.sum_ns.checked_div(launch.known);
            let is_compared = launch.known > 1;
            writer.write_record([
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
            ])?;
        }
        writer.flush()
    }

    /// Prints the launches that differ most.
    pub(super) fn print(&self, count: usize, out: &mut impl Write) -> io::Result<()> {
        let mut launches: Vec<&Durations> =
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
        Ok(())
    }
}
