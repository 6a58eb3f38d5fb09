//! Skew between hosts: differences between the durations, and between the starts, of the same op.

use super::{
    sorted_launches::{HostLaunch, LaunchKey, SortedLaunches, by_key},
    starts::{StartSkew, Starts},
};
use crate::{
    largest::Largest,
    numbers::{counted, grouped},
};
use host_reader::{
    export::{CommonTime, RecordingSummary, TraceItems, op_label},
    packed_bytes::{PackedError, PackedMemory},
    packed_items::PackedItems,
};
use std::{
    collections::HashMap,
    io::{self, Write},
    sync::Arc,
};

/// Launches of all hosts, for a comparison of durations and start times.
///
/// Durations can be compared even if the clocks of the hosts are not related.
pub(super) struct RankSkew {
    memory: Arc<PackedMemory>,
    names: OpNames,
    recordings: Vec<Recording>,
}

/// Launches of one recording of a host.
struct Recording {
    host: String,
    /// The recording's start on the common clock; `None` if the clocks are not related.
    time: Option<CommonTime>,
    /// Launches, sorted by key.
    launches: PackedItems,
}

/// Names of ops; each name has a number.
#[derive(Default)]
struct OpNames {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl OpNames {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    fn label(&self, launch: &Skew<'_>) -> String {
        let name = launch.name.and_then(|name| self.names.get(name as usize));
        let LaunchKey { program, trace_id, trace_replay, .. } = launch.key;
        op_label(name.map(String::as_str), program, trace_id.zip(trace_replay))
    }
}

/// Durations and starts of one launch on all hosts, in the order in which hosts were merged.
#[derive(Clone, Debug, Default)]
struct Skew<'a> {
    key: LaunchKey,
    name: Option<u32>,
    /// Known durations, each with its host.
    durations: Vec<(u64, &'a str)>,
    /// Number of hosts on which the duration is unknown, since records may be missing.
    unknown: u64,
    starts: Starts<'a>,
}

impl<'a> Skew<'a> {
    /// Returns the shortest duration and its host. If several hosts have this duration, returns the
    /// first of them.
    fn fastest(&self) -> Option<(u64, &'a str)> {
        self.durations.iter().copied().min_by_key(|(duration_ns, _)| *duration_ns)
    }

    /// Returns the longest duration and its host. If several hosts have this duration, returns the
    /// first of them.
    fn slowest(&self) -> Option<(u64, &'a str)> {
        self.durations.iter().rev().copied().max_by_key(|(duration_ns, _)| *duration_ns)
    }

    fn excess_ns(&self) -> u64 {
        let ends = self.slowest().zip(self.fastest());
        ends.map_or(0, |((slowest_ns, _), (fastest_ns, _))| slowest_ns - fastest_ns)
    }

    /// Adds the duration and the start of this launch in another recording.
    fn add(&mut self, Recording { host, time, .. }: &'a Recording, launch: &HostLaunch) {
        self.name = launch.name;
        match launch.duration_ns {
            Some(duration_ns) => self.durations.push((duration_ns, host)),
            None => self.unknown += 1,
        }
        if let Some((time, bound_ns)) = time.zip(launch.bound_ns) {
            self.starts.add(host, time, launch.start_ns, bound_ns);
        }
    }
}

impl RankSkew {
    pub(super) fn new(memory: &Arc<PackedMemory>) -> Self {
        let (names, recordings) = (OpNames::default(), Vec::new());
        Self { memory: Arc::clone(memory), names, recordings }
    }

    /// Adds the launches of a trace.
    ///
    /// `time` is the recording's start on the common clock. Without it, starts are not compared.
    ///
    /// # Errors
    /// If launches cannot be written to the temporary file, or read back.
    pub(super) fn add_trace(
        &mut self,
        host: &str,
        time: Option<CommonTime>,
        items: TraceItems<'_, '_>,
    ) -> Result<(), PackedError> {
        let mut launches = SortedLaunches::new(&self.memory);
        for (device_index, device) in items.trace().devices.iter().enumerate() {
            for op in items.ops(device_index) {
                launches.push(HostLaunch {
                    key: LaunchKey {
                        program: op.base_id(),
                        trace_id: op.figures.trace_id,
                        trace_replay: op.figures.trace_replay,
                        launch: op.figures.launch,
                    },
                    name: op.name().map(|name| self.names.number(name)),
                    duration_ns: op.duration_ns(),
                    start_ns: op.start_ns,
                    bound_ns: device.clock.bound_ns(),
                });
            }
        }
        self.add(host, time, launches)
    }

    /// Adds the launches of a recording in a dataset, like [`Self::add_trace`].
    pub(super) fn add_summary(
        &mut self,
        host: &str,
        time: Option<CommonTime>,
        summary: &RecordingSummary,
    ) -> Result<(), PackedError> {
        let mut launches = SortedLaunches::new(&self.memory);
        for op in &summary.ops {
            launches.push(HostLaunch {
                key: LaunchKey {
                    program: op.program,
                    trace_id: op.trace_id,
                    trace_replay: op.trace_replay,
                    launch: op.launch,
                },
                name: op.name.as_deref().map(|name| self.names.number(name)),
                duration_ns: op.duration_ns,
                start_ns: op.start_ns,
                bound_ns: summary.bounds_ns.get(&op.chip_id).copied().flatten(),
            });
        }
        self.add(host, time, launches)
    }

    fn add(
        &mut self,
        host: &str,
        time: Option<CommonTime>,
        launches: SortedLaunches,
    ) -> Result<(), PackedError> {
        let launches = launches.merged();
        self.recordings.push(Recording { host: host.to_owned(), time, launches });
        self.memory.check()
    }

    /// Returns each launch with its durations and starts on all hosts, sorted by key.
    fn skews(&self) -> impl Iterator<Item = Skew<'_>> {
        let lists = self.recordings.iter().map(|recording| &recording.launches);
        let mut launches = by_key(lists).peekable();
        std::iter::from_fn(move || {
            let key = launches.peek()?.1.key;
            let mut skew = Skew { key, ..Skew::default() };
            while let Some((index, launch)) = launches.next_if(|(_, next)| next.key == key) {
                skew.add(self.recordings.get(index)?, &launch);
            }
            Some(skew)
        })
    }

    /// Writes a CSV with one row for each launch.
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
        for launch in self.skews() {
            let end = |end: Option<(u64, &str)>| match end {
                Some((duration_ns, host)) => [host.to_owned(), duration_ns.to_string()],
                None => Default::default(),
            };
            let ([fastest, least], [slowest, most]) =
                (end(launch.fastest()), end(launch.slowest()));
            let known = launch.durations.len() as u64;
            let sum_ns =
                launch.durations.iter().fold(0, |sum: u64, (ns, _)| sum.saturating_add(*ns));
            let if_any = |value: Option<u64>| value.map_or_else(String::new, |ns| ns.to_string());
            let of_durations = [
                self.names.label(&launch),
                launch.key.program.to_string(),
                launch.key.launch.to_string(),
                known.to_string(),
                launch.unknown.to_string(),
                fastest,
                least,
                slowest,
                most,
                if_any(sum_ns.checked_div(known)),
                if_any((known > 1).then(|| launch.excess_ns())),
            ];
            writer.write_record(of_durations.into_iter().chain(launch.starts.cells()))?;
        }
        // If launches could not be read back, rows are missing from the table, so this is an error.
        self.memory.check()?;
        writer.flush()
    }

    /// Prints the launches with the largest skew, by duration and by start.
    pub(super) fn print(&self, count: usize, out: &mut impl Write) -> io::Result<()> {
        let mut durations = Largest::new(count, |launch: &Skew<'_>| launch.excess_ns());
        let mut starts =
            Largest::new(count, |(_, skew): &(Skew<'_>, StartSkew<'_>)| skew.at_least_ns);
        for launch in self.skews() {
            if let Some(skew) = launch.starts.skew() {
                starts.add((launch.clone(), skew));
            }
            if launch.durations.len() > 1 {
                durations.add(launch);
            }
        }
        for launch in durations.into_sorted() {
            let Some((slowest, fastest)) = launch.slowest().zip(launch.fastest()) else { continue };
            writeln!(
                out,
                "{}: {} ns on {}, {} ns on {}, {}",
                self.names.label(&launch),
                grouped(slowest.0),
                slowest.1,
                grouped(fastest.0),
                fastest.1,
                counted(launch.durations.len() as u64, "host", "hosts"),
            )?;
        }
        for (launch, skew) in starts.into_sorted() {
            writeln!(
                out,
                "{}: starts {} ns later on {} than on {}, between {} and {} ns",
                self.names.label(&launch),
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
