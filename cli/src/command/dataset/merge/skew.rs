//! Skew between hosts: differences between the durations, and between the starts, of the same op.

use super::{
    packed_items::{Packed, push_index, take_index},
    sorted_launches::{HostLaunch, LaunchKey, SortedLaunches},
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
    packed_numbers::{push, push_optional, take, take_optional},
};
use std::{
    collections::HashMap,
    io::{self, Write},
    slice::Iter,
    sync::Arc,
};

/// Durations and start times of each launch on all hosts, as packed numbers.
///
/// Durations can be compared even if the clocks of the hosts are not related.
pub(super) struct RankSkew {
    memory: Arc<PackedMemory>,
    hosts: Vec<String>,
    names: OpNames,
    /// Launches in the order of keys.
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

    fn label(&self, launch: &Skew) -> String {
        let name = launch.name.and_then(|name| self.names.get(name as usize));
        let LaunchKey { program, trace_id, trace_replay, .. } = launch.key;
        op_label(name.map(String::as_str), program, trace_id.zip(trace_replay))
    }
}

/// Durations and starts of one launch on all hosts. Each host is identified by its number.
#[derive(Clone, Debug, Default, PartialEq)]
struct Skew {
    key: LaunchKey,
    name: Option<u32>,
    /// Number of hosts on which the duration is known; `sum_ns` is the sum of these durations.
    known: u64,
    sum_ns: u64,
    /// Number of hosts on which the duration is unknown, since records may be missing.
    unknown: u64,
    fastest: Option<(u64, u32)>,
    slowest: Option<(u64, u32)>,
    starts: Starts,
}

impl Skew {
    fn excess_ns(&self) -> u64 {
        let ends = self.slowest.as_ref().zip(self.fastest.as_ref());
        ends.map_or(0, |(slowest, fastest)| slowest.0 - fastest.0)
    }

    fn add_duration(&mut self, host: u32, duration_ns: Option<u64>) {
        let Some(duration_ns) = duration_ns else {
            self.unknown += 1;
            return;
        };
        self.known += 1;
        self.sum_ns = self.sum_ns.saturating_add(duration_ns);
        if self.fastest.is_none_or(|(least, _)| duration_ns < least) {
            self.fastest = Some((duration_ns, host));
        }
        if self.slowest.is_none_or(|(most, _)| duration_ns > most) {
            self.slowest = Some((duration_ns, host));
        }
    }

    /// Adds duration and start of the launch on one more host.
    fn add(&mut self, host: u32, launch: &HostLaunch, time: Option<CommonTime>) {
        self.name = launch.name;
        self.add_duration(host, launch.duration_ns);
        if let Some((time, bound_ns)) = time.zip(launch.bound_ns) {
            self.starts.add(host, time, launch.start_ns, bound_ns);
        }
    }
}

impl Packed for Skew {
    fn push(&self, bytes: &mut Vec<u8>) {
        self.key.push(bytes);
        push_optional(bytes, self.name.map(u64::from));
        [self.known, self.sum_ns, self.unknown].into_iter().for_each(|count| push(bytes, count));
        for end in [self.fastest, self.slowest] {
            push_optional(bytes, end.map(|(duration_ns, _)| duration_ns));
            push_index(bytes, end.map_or(0, |(_, host)| host));
        }
        self.starts.push(bytes);
    }

    fn take(bytes: &mut Iter<'_, u8>) -> Self {
        let key = LaunchKey::take(bytes);
        let name = take_optional(bytes).map(|name| u32::try_from(name).unwrap_or(u32::MAX));
        let (known, sum_ns, unknown) = (take(bytes), take(bytes), take(bytes));
        let mut end = || {
            let (duration_ns, host) = (take_optional(bytes), take_index(bytes));
            duration_ns.map(|duration_ns| (duration_ns, host))
        };
        let (fastest, slowest) = (end(), end());
        let starts = Starts::take(bytes);
        Self { key, name, known, sum_ns, unknown, fastest, slowest, starts }
    }
}

impl RankSkew {
    pub(super) fn new(memory: &Arc<PackedMemory>) -> Self {
        let (hosts, names) = (Vec::new(), OpNames::default());
        Self { memory: Arc::clone(memory), hosts, names, launches: PackedItems::new(memory) }
    }

    /// Returns the launches of a trace, sorted by key.
    pub(super) fn launches_of_trace(&mut self, items: TraceItems<'_, '_>) -> SortedLaunches {
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
        launches
    }

    /// Returns the launches of a recording in a dataset, sorted by key.
    pub(super) fn launches_of_summary(&mut self, summary: &RecordingSummary) -> SortedLaunches {
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
        launches
    }

    /// Adds the launches of a host's recording.
    ///
    /// Starts are compared only if `time` is given, the recording's start on the common clock.
    ///
    /// # Errors
    /// If launches cannot be written to the temporary file, or read back.
    pub(super) fn add(
        &mut self,
        host: &str,
        time: Option<CommonTime>,
        launches: SortedLaunches,
    ) -> Result<(), PackedError> {
        if self.hosts.last().is_none_or(|last| last != host) {
            self.hosts.push(host.to_owned());
        }
        let number = u32::try_from(self.hosts.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let mut joined = PackedItems::new(&self.memory);
        let mut known = self.launches.iter(Skew::take).peekable();
        launches.for_each(|launch| {
            while let Some(earlier) = known.next_if(|known| known.key < launch.key) {
                joined.push(|bytes| earlier.push(bytes));
            }
            let same = known.next_if(|known| known.key == launch.key);
            let mut all = same.unwrap_or_else(|| Skew { key: launch.key, ..Skew::default() });
            all.add(number, &launch, time);
            joined.push(|bytes| all.push(bytes));
        });
        known.for_each(|later| _ = joined.push(|bytes| later.push(bytes)));
        self.launches = joined;
        self.memory.check()
    }

    fn host(&self, number: u32) -> &str {
        self.hosts.get(number as usize).map_or("", String::as_str)
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
        for launch in self.launches.iter(Skew::take) {
            let end = |end: Option<(u64, u32)>| match end {
                Some((duration_ns, host)) => (self.host(host).to_owned(), duration_ns.to_string()),
                None => (String::new(), String::new()),
            };
            let ((fastest, least), (slowest, most)) = (end(launch.fastest), end(launch.slowest));
            let mean = launch.sum_ns.checked_div(launch.known);
            let is_compared = launch.known > 1;
            let of_durations = [
                self.names.label(&launch),
                launch.key.program.to_string(),
                launch.key.launch.to_string(),
                launch.known.to_string(),
                launch.unknown.to_string(),
                fastest,
                least,
                slowest,
                most,
                mean.map_or_else(String::new, |mean| mean.to_string()),
                if is_compared { launch.excess_ns().to_string() } else { String::new() },
            ];
            writer
                .write_record(of_durations.into_iter().chain(launch.starts.cells(&self.hosts)))?;
        }
        writer.flush()
    }

    /// Prints the launches with the largest skew, by duration and by start.
    pub(super) fn print(&self, count: usize, out: &mut impl Write) -> io::Result<()> {
        let mut durations = Largest::new(count, Skew::excess_ns);
        let mut starts = Largest::new(count, |(_, skew): &(Skew, StartSkew)| skew.at_least_ns);
        for launch in self.launches.iter(Skew::take) {
            match launch.starts.skew() {
                None if launch.known > 1 => durations.add(launch),
                None => {}
                Some(skew) => {
                    if launch.known > 1 {
                        durations.add(launch.clone());
                    }
                    starts.add((launch, skew));
                }
            }
        }
        for launch in durations.into_sorted() {
            let Some((slowest, fastest)) = launch.slowest.zip(launch.fastest) else { continue };
            writeln!(
                out,
                "{}: {} ns on {}, {} ns on {}, {}",
                self.names.label(&launch),
                grouped(slowest.0),
                self.host(slowest.1),
                grouped(fastest.0),
                self.host(fastest.1),
                counted(launch.known, "host", "hosts"),
            )?;
        }
        for (launch, skew) in starts.into_sorted() {
            writeln!(
                out,
                "{}: starts {} ns later on {} than on {}, between {} and {} ns",
                self.names.label(&launch),
                grouped(skew.measured_ns),
                self.host(skew.latest),
                self.host(skew.earliest),
                grouped(skew.at_least_ns),
                grouped(skew.at_most_ns),
            )?;
        }
        Ok(())
    }
}
