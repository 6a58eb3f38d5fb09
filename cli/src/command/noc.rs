//! `kprof noc`: traffic of the NoCs, and tt-metal's noc_trace files.

use super::noc_use::{ProgramUse, write_use};
use crate::{
    args::NocArgs,
    failure::{Failure, OrFail, failure, note},
    harvesting::Harvesting,
    input::{Input, joined, open_packed, retain, unpacked},
    layout::{row_limit, write_columns},
    numbers::{bounded, counted, grouped},
    op_names::OpNames,
    output::write_json,
    progress::Busy,
    tables::program_label,
    terminal::printable,
};
use host_reader::{
    export::TraceFilter,
    noc_events::{
        Activity, HeldMemory, LinkLoad, LockEventKind, NocChip, NocLanes, NocPrograms, NocTraces,
        Pair, ProgramLanes, ProgramTrace, TileMap, TraceFileCounts, TraceFiles, TraceNotes,
        TraceOptions, Traffic, UnplacedPair, read_json,
    },
    output::write_noc_folder,
    packed_bytes::PackedMemory,
    readout::Readout,
    recording::{DEVICE_LOG, Opened, Recording, logs_folder, noc_of_log},
    tables::Objects,
};
use serde::Serialize;
use std::{
    cmp::Reverse,
    collections::BTreeMap,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

/// Reads the events, writes the requested files, and prints the traffic.
pub(crate) fn run(args: &NocArgs) -> Result<ExitCode, Failure> {
    let events = Events::read(&args.file, args.run, &[], &args.harvesting, &args.memory.packed())?;
    let (traffic, notes) = events.traffic();
    for note in events.source_sentence.iter().chain(&notes) {
        note!("kprof: {}: {note}", args.file.display());
    }
    if events.is_empty() && events.held.as_ref().is_none_or(Vec::is_empty) {
        note!("kprof: {}", no_events(&args.file));
        return Ok(ExitCode::from(1));
    }
    if let Some(folder) = &args.output {
        write_files(&events, folder, Some(&args.file))?;
    }
    let programs = args.utilization.then(|| {
        let mut programs = Vec::new();
        let take =
            |trace: &ProgramTrace| programs.push(ProgramUse::from_trace(trace, &events.chips));
        events.for_each_trace(take);
        programs
    });
    let held = events.held.as_deref();
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.json {
        let mut document = Document::new(&traffic, held, &notes);
        document.utilization = programs;
        document.source = events.source_sentence.as_deref();
        write_json(&document, &mut out)?;
    } else {
        let rows = row_limit(args.rows);
        write_tables(&traffic, rows, &mut out)?;
        if let Some(programs) = &programs {
            write_use(programs, rows, &mut out)?;
        }
        write_locks(held.unwrap_or_default(), rows, &mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the message for an input without events, which states how to record them.
pub(super) fn no_events(file: &Path) -> String {
    format!(
        "{}: expected NoC events, found none; tt-metal records them with \
         TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1",
        file.display()
    )
}

/// Events of the input, and notes about unusable data.
pub(super) struct Events {
    source: Source,
    /// Models of chips whose speeds are known.
    chips: BTreeMap<u32, NocChip>,
    /// Memory that kernels held; `None` for noc_trace files, which do not record it.
    held: Option<Vec<HeldMemory>>,
    /// Sentence about the file that the events come from, if the input has two kinds of files.
    source_sentence: Option<String>,
    /// Sentences about other data that cannot be used.
    notes: Vec<String>,
}

/// Source of the events.
enum Source {
    /// noc_trace files, with the number of columns and rows of each chip's tiles. These files do
    /// not name the architecture, so links are unknown.
    Files(Vec<ProgramTrace>, BTreeMap<u32, (u16, u16)>),
    /// A log or a capture.
    Recorded(Box<Recorded>),
}

/// NoC events of a recording. The lanes of the recording are no longer needed.
struct Recorded {
    readout: Readout,
    names: OpNames,
    lanes: NocLanes,
}

impl Recorded {
    fn programs(&self) -> NocPrograms<'_> {
        NocPrograms::new(&self.lanes, &self.readout, &TraceOptions::default())
    }
}

/// Writes the noc_trace files of a new capture to tt-metal's folder.
pub(super) fn write_recorded(capture: &Path, folder: &Path) -> Result<(), Failure> {
    let events = Events::read(capture, None, &[], &[], &PackedMemory::unlimited())?;
    for note in &events.traffic().1 {
        note!("kprof: {}: {note}", capture.display());
    }
    if events.is_empty() {
        note!("kprof: {}: no kernel moved anything over the NoCs", capture.display());
        return Ok(());
    }
    write_files(&events, folder, None)
}

/// Writes noc_trace files and prints their number.
fn write_files(events: &Events, folder: &Path, input: Option<&Path>) -> Result<(), Failure> {
    let (count, _) = events.write_folder(folder, input)?;
    note!("kprof: {} written to {}", counted(count, "file", "files"), folder.display());
    Ok(())
}

impl Events {
    /// Reads a log, a capture or noc_trace files; `memory` holds the packed records of a log.
    ///
    /// # Errors
    /// If the input cannot be read, or if filters are given for noc_trace files.
    pub(super) fn read(
        file: &Path,
        run: Option<usize>,
        filters: &[TraceFilter],
        harvesting: &[Harvesting],
        memory: &Arc<PackedMemory>,
    ) -> Result<Self, Failure> {
        let files = trace_files(file);
        if files.is_empty() {
            return Self::from_recording(file, run, filters, harvesting, memory);
        }
        if !harvesting.is_empty() {
            return Err(failure!(
                "--harvesting is of a device log or a capture, found noc_trace files, which hold \
                 tiles; leave it out"
            ));
        }
        if !filters.is_empty() {
            return Err(failure!(
                "--filter takes parts of a device log or a capture, found noc_trace files; leave \
                 it out"
            ));
        }
        Self::from_files(&files)
    }

    /// Reads the events of a log or a capture.
    ///
    /// Each thread unpacks one lane of a log at a time, unless a filter needs all lanes at once.
    fn from_recording(
        file: &Path,
        run: Option<usize>,
        filters: &[TraceFilter],
        harvesting: &[Harvesting],
        memory: &Arc<PackedMemory>,
    ) -> Result<Self, Failure> {
        let opened = open_packed(file, memory)?;
        let _busy = Busy::new(format!("reading {}", file.display()));
        let (mut recording, lanes) = match opened {
            Opened::Log(log)
                if joined(filters).is_empty()
                    && matches!(run, None | Some(1))
                    && log.noc_trace_files().unrepeated().is_empty() =>
            {
                noc_of_log(*log).or_fail()?
            }
            opened => {
                let input = Input { runs: unpacked(opened)?.recordings };
                let mut recording = input.into_run(file, run)?;
                retain(&mut recording, filters)?;
                if !recording.noc_traces.unrepeated().is_empty() {
                    Harvesting::apply(harvesting, &mut recording.readout)?;
                    return Ok(Self::beside(&recording, &topology_beside(file)));
                }
                let lanes = NocLanes::from_readout(&recording.readout);
                recording.readout.devices.iter_mut().for_each(|device| device.lanes.clear());
                (recording, lanes)
            }
        };
        Harvesting::apply(harvesting, &mut recording.readout)?;
        Ok(Self::from_lanes(recording, lanes, &topology_beside(file)))
    }

    fn from_lanes(recording: Recording, mut lanes: NocLanes, topology: &[u8]) -> Self {
        let source_sentence = recording.noc_traces.sentence_of_log();
        let Recording { readout, ops, .. } = recording;
        let names = OpNames::new(&ops);
        let chips = chips_of(&readout, topology);
        let locks = lanes.take_locks();
        let notes = locks.notes.sentences().chain(missing_records(&readout)).collect();
        let source = Source::Recorded(Box::new(Recorded { readout, names, lanes }));
        Self { source, chips, held: Some(locks.held), source_sentence, notes }
    }

    /// Reads the events of the noc_trace files next to a log without events.
    fn beside(recording: &Recording, topology: &[u8]) -> Self {
        let readout = &recording.readout;
        let programs = ProgramLanes::from_readout(readout);
        let files = TraceFiles::new(recording.noc_traces.unrepeated(), &programs);
        let mut counts = TraceFileCounts::default();
        let mut traces: Vec<_> = files.traces(&mut counts).collect();
        let names = OpNames::new(&recording.ops);
        for trace in &mut traces {
            if let Some(name) = names.program_name(trace.chip_id, trace.program) {
                name.clone_into(&mut trace.op_name);
            }
        }
        let mut lanes = NocLanes::from_readout(readout);
        let locks = lanes.take_locks();
        let notes = counts.left_out_sentences().chain(locks.notes.sentences());
        let notes = notes.chain(missing_records(readout)).collect();
        let chips = chips_of(readout, topology);
        let grids = readout.devices.iter().filter_map(|device| {
            Some((device.chip.chip_id, TileMap::unharvested(&device.chip.arch)?.grid()))
        });
        let source = Source::Files(traces, grids.collect());
        let source_sentence = Some(counts.source_sentence());
        Self { source, chips, held: Some(locks.held), source_sentence, notes }
    }

    /// Returns true if there is no program with events.
    pub(super) fn is_empty(&self) -> bool {
        match &self.source {
            Source::Files(traces, _) => traces.is_empty(),
            Source::Recorded(recorded) => recorded.programs().is_empty(),
        }
    }

    /// Returns the traffic of all programs, and sentences about data that cannot be used.
    pub(super) fn traffic(&self) -> (Traffic, Vec<String>) {
        match &self.source {
            Source::Files(traces, grids) => {
                let grid = |chip_id| grids.get(&chip_id).copied();
                (Traffic::from_traces(traces, grid), self.notes.clone())
            }
            Source::Recorded(recorded) => {
                let name = |chip, program| recorded.names.program_name(chip, program);
                let (traffic, notes) = recorded.programs().traffic(name);
                (traffic, notes.sentences().chain(self.notes.iter().cloned()).collect())
            }
        }
    }

    /// Calls `take` with the trace of each program.
    pub(super) fn for_each_trace(&self, mut take: impl FnMut(&ProgramTrace)) {
        match &self.source {
            Source::Files(traces, _) => traces.iter().for_each(take),
            Source::Recorded(recorded) => {
                let name = |chip, program| recorded.names.program_name(chip, program);
                let mut notes = TraceNotes::default();
                recorded.programs().traces(name, &mut notes).for_each(|trace| take(&trace));
            }
        }
    }

    /// Writes a file for each program; returns the number of files and of objects in them.
    pub(super) fn write_folder(
        &self,
        folder: &Path,
        input: Option<&Path>,
    ) -> Result<(u64, u64), Failure> {
        let mut object_count = 0_u64;
        let mut count = |trace: &ProgramTrace| object_count += trace.objects.len() as u64;
        let written = match &self.source {
            Source::Files(traces, _) => {
                write_noc_folder(folder, traces.iter().inspect(|trace| count(trace)), input)
            }
            Source::Recorded(recorded) => {
                let name = |chip, program| recorded.names.program_name(chip, program);
                let (programs, mut notes) = (recorded.programs(), TraceNotes::default());
                let traces = programs.traces(name, &mut notes).inspect(count);
                write_noc_folder(folder, traces, input)
            }
        };
        let file_count = written.or_fail()?;
        Ok((file_count, object_count))
    }

    /// Reads noc_trace files, which do not name the architecture.
    fn from_files(files: &[PathBuf]) -> Result<Self, Failure> {
        let (mut traces, mut notes) = (Vec::new(), Vec::new());
        for path in files {
            let text = match std::fs::read(path) {
                Ok(text) => text,
                Err(error) if files.len() == 1 => return Err(Failure::from_file(path, &error)),
                Err(error) => {
                    let name = path.file_name().unwrap_or_default().display();
                    notes.push(format!("{name}: left out, since it cannot be read: {error}"));
                    continue;
                }
            };
            let read = read_json(&text);
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let of_file = match files.len() {
                1 => String::new(),
                _ => format!("{name}: "),
            };
            notes.extend(read.problems.iter().map(|problem| format!("{of_file}{problem}")));
            traces.extend(ProgramTrace::from_objects(read.objects, &name));
        }
        let source = Source::Files(traces, BTreeMap::new());
        Ok(Self { source, chips: BTreeMap::new(), held: None, source_sentence: None, notes })
    }
}

/// Returns the models of chips whose speeds are known.
fn chips_of(readout: &Readout, topology: &[u8]) -> BTreeMap<u32, NocChip> {
    let chips = readout.devices.iter().filter_map(|device| {
        let chip = NocChip::from_arch(&device.chip.arch)?;
        Some((device.chip.chip_id, chip.with_topology(topology)))
    });
    chips.collect()
}

/// Returns the text of the file next to a recording that names the board; empty if there is none.
fn topology_beside(file: &Path) -> Vec<u8> {
    let logs = match file.is_dir() {
        true => logs_folder(file, NocTraces::TOPOLOGY_FILE),
        false => file.parent().map(Path::to_owned),
    };
    let path = logs.unwrap_or_default().join(NocTraces::TOPOLOGY_FILE);
    std::fs::read(path).unwrap_or_default()
}

/// Returns messages about records missing from a readout, which may include NoC events.
fn missing_records(readout: &Readout) -> impl Iterator<Item = String> {
    let lost = (!readout.losses.is_intended()).then(|| {
        let total = readout.losses.unintended_total();
        let records = total.in_words(|kind, count| format!("{} {}", grouped(count), kind.key()));
        format!("lost: {records}; traffic is at least what is shown, and kprof report says where")
    });
    let count = readout.anomalies.anomaly_count();
    let odd = (count > 0).then(|| {
        let counted = counted(count, "anomaly", "anomalies");
        format!("{counted} in the recording, which kprof report lists; NoC events may be missing")
    });
    lost.into_iter().chain(odd)
}

/// Returns the noc_trace files at the path, by name: the file itself, or the files in a folder
/// without a device log.
fn trace_files(path: &Path) -> Vec<PathBuf> {
    if is_trace_file(path) {
        return vec![path.to_owned()];
    }
    if !path.is_dir() || logs_folder(path, DEVICE_LOG).is_some() {
        return Vec::new();
    }
    let of_folder = |folder: PathBuf| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let is_trace = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            ProgramTrace::is_file_name(&name)
        };
        let mut files: Vec<_> = entries.map(|entry| entry.path()).filter(is_trace).collect();
        files.sort_unstable();
        files
    };
    let own = of_folder(path.to_owned());
    if own.is_empty() { of_folder(path.join(".logs")) } else { own }
}

fn is_trace_file(path: &Path) -> bool {
    path.is_file() && path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

/// Maximum number of characters shown of an unknown kind.
const LONGEST_UNKNOWN: usize = 120;

fn write_tables(traffic: &Traffic, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    write_activities(traffic, rows, out)?;
    write_pairs(traffic, rows, out)?;
    write_links(traffic, rows, out)?;
    write_unplaced(traffic, rows, out)?;
    for (count, one, many) in [
        (traffic.multicast_count, "multicast is", "multicasts are"),
        (
            traffic.unplaced_count,
            "transfer without a known target is",
            "transfers without a known target are",
        ),
    ] {
        if count > 0 {
            writeln!(out, "\n{} in no pair and on no link", counted(count, one, many))?;
        }
    }
    if traffic.open_wait_count > 0 {
        let waits = counted(traffic.open_wait_count, "wait has no end", "waits have no end");
        writeln!(out, "\n{waits}")?;
    }
    if let Some(first) = &traffic.first_unknown {
        let count = traffic.unknown_count;
        let objects = counted(count, "object of an unknown kind", "objects of unknown kinds");
        writeln!(out, "\n{objects}; first: {}", printable(first, LONGEST_UNKNOWN))?;
    }
    Ok(())
}

/// Writes the events of all cores together, by program, RISC and kind.
fn write_activities(traffic: &Traffic, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    let mut sums: BTreeMap<_, (u64, Activity)> = BTreeMap::new();
    for one in &traffic.activities {
        let key = (one.chip_id, one.program, &*one.op_name, &*one.risc, one.noc, one.kind);
        let (cores, sum) = sums.entry(key).or_insert_with(|| {
            let zero = Activity {
                event_count: 0,
                byte_count: 0,
                saturated_count: 0,
                wait_cycles: 0,
                ..one.clone()
            };
            (0, zero)
        });
        *cores += 1;
        sum.event_count += one.event_count;
        sum.byte_count = sum.byte_count.saturating_add(one.byte_count);
        sum.saturated_count += one.saturated_count;
        sum.wait_cycles = sum.wait_cycles.saturating_add(one.wait_cycles);
    }
    writeln!(out, "NoC events; bytes are rounded up to 32 for each transfer\n")?;
    write_columns!(sums.values(), rows, out, |(cores, sum)| {
        let waited = sum.kind.end_of_wait().map(|_| grouped(sum.wait_cycles));
        "chip" => sum.chip_id,
        "program" => program_label(sum.program.0, None),
        "op" => sum.op_name,
        "RISC" => sum.risc,
        "NoC" => sum.noc.name(),
        "kind" => sum.kind.name(),
        "cores" => grouped(*cores),
        "events" => grouped(sum.event_count),
        "bytes" => bounded(sum.byte_count, sum.is_lower_bound()),
        "wait cycles" => waited.unwrap_or_default(),
    })
}

/// Writes pairs of tiles, the busiest first.
fn write_pairs(traffic: &Traffic, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    let mut pairs: Vec<&Pair> = traffic.pairs.iter().collect();
    pairs.sort_by_key(|pair| Reverse(pair.byte_count));
    writeln!(out, "\nWho moved bytes to whom, on NoC-0 coordinates\n")?;
    write_columns!(&pairs, rows, out, |pair| {
        "chip" => pair.chip_id,
        "NoC" => pair.noc.name(),
        "from" => pair.from,
        "to" => pair.to,
        "transfers" => grouped(pair.transfer_count),
        "bytes" => grouped(pair.byte_count),
    })
}

/// Writes transfers with unknown tiles, the busiest first.
fn write_unplaced(traffic: &Traffic, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    if traffic.unplaced_pairs.is_empty() {
        return Ok(());
    }
    let mut pairs: Vec<&UnplacedPair> = traffic.unplaced_pairs.iter().collect();
    pairs.sort_by_key(|pair| Reverse(pair.byte_count));
    writeln!(
        out,
        "\nTransfers with an unknown tile, in the kernels' coordinates: the chip's harvested lines \
         are unknown\n"
    )?;
    write_columns!(&pairs, rows, out, |pair| {
        "chip" => pair.chip_id,
        "NoC" => pair.noc.name(),
        "core" => pair.core,
        "moved" => direction(pair),
        "target" => format!("({},{})", pair.target.x, pair.target.y),
        "transfers" => grouped(pair.transfer_count),
        "bytes" => grouped(pair.byte_count),
    })
}

const fn direction(pair: &UnplacedPair) -> &'static str {
    if pair.is_read { "from" } else { "to" }
}

/// Writes links, the busiest first.
fn write_links(traffic: &Traffic, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    if traffic.links.is_empty() {
        return match traffic.pairs.is_empty() {
            true => Ok(()),
            false => writeln!(out, "\nLinks: unknown, since the chip's architecture is"),
        };
    }
    let mut loads: Vec<&LinkLoad> = traffic.links.iter().collect();
    loads.sort_by_key(|load| Reverse(load.byte_count));
    writeln!(out, "\nLinks between neighbouring tiles\n")?;
    write_columns!(&loads, rows, out, |load| {
        "chip" => load.link.chip_id,
        "NoC" => load.link.noc.name(),
        "from" => load.link.tile,
        "direction" => load.link.direction.name(),
        "bytes" => grouped(load.byte_count),
    })
}

/// Writes the memory that kernels held, over all cores, by program, RISC and kind.
fn write_locks(held: &[HeldMemory], rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    let mut sums: BTreeMap<(u32, u32, &str, LockEventKind), LockSum> = BTreeMap::new();
    for one in held {
        let HeldMemory { lane, program, kind, .. } = *one;
        let key = (lane.chip_id, program.0, lane.risc.label(), kind);
        sums.entry(key).or_default().add(one);
    }
    if sums.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nMemory that kernels held\n")?;
    write_columns!(&sums, rows, out, |((chip_id, program, risc, kind), sum)| {
        "chip" => chip_id,
        "program" => program_label(*program, None),
        "RISC" => risc,
        "kind" => kind.name(),
        "times" => grouped(sum.count),
        "cycles" => sum.cycles.map(grouped).unwrap_or_default(),
        "longest" => sum.longest.map(grouped).unwrap_or_default(),
        "without end" => grouped(sum.open_count),
    })
}

/// Sum over locks of one kind. Cycles are summed only over locks with a known end.
#[derive(Default)]
struct LockSum {
    count: u64,
    open_count: u64,
    cycles: Option<u64>,
    longest: Option<u64>,
}

impl LockSum {
    fn add(&mut self, held: &HeldMemory) {
        self.count += 1;
        match held.cycles() {
            Some(cycles) => {
                self.cycles = Some(self.cycles.unwrap_or(0).saturating_add(cycles));
                self.longest = self.longest.max(Some(cycles));
            }
            None => self.open_count += 1,
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    events: Objects<&'a Activity>,
    pairs: Objects<&'a Pair>,
    links: Objects<&'a LinkLoad>,
    unplaced_pairs: Objects<&'a UnplacedPair>,
    /// Present with `--utilization`.
    #[serde(skip_serializing_if = "Option::is_none")]
    utilization: Option<Vec<ProgramUse>>,
    /// `None` if the input has no such data.
    held_memory: Option<Objects<&'a HeldMemory>>,
    multicast_count: u64,
    unplaced_count: u64,
    open_wait_count: u64,
    unknown_count: u64,
    /// Kind and source of the first unknown event.
    first_unknown: Option<&'a str>,
    /// Sentence about the file that the events come from; `None` if there is only one kind of file.
    source: Option<&'a str>,
    notes: &'a [String],
}

impl<'a> Document<'a> {
    fn new(traffic: &'a Traffic, held: Option<&'a [HeldMemory]>, notes: &'a [String]) -> Self {
        Self {
            events: events(&traffic.activities),
            pairs: pairs(&traffic.pairs),
            links: links(&traffic.links),
            unplaced_pairs: unplaced_pairs(&traffic.unplaced_pairs),
            utilization: None,
            held_memory: held.map(held_memory),
            multicast_count: traffic.multicast_count,
            unplaced_count: traffic.unplaced_count,
            open_wait_count: traffic.open_wait_count,
            unknown_count: traffic.unknown_count,
            first_unknown: traffic.first_unknown.as_deref(),
            source: None,
            notes,
        }
    }
}

fn events(activities: &[Activity]) -> Objects<&Activity> {
    Objects::new(
        activities,
        [
            ("chip", |one| one.chip_id.into()),
            ("run_host_id", |one| one.program.0.into()),
            ("op_name", |one| (*one.op_name).into()),
            ("core_x", |one| one.core.x.into()),
            ("core_y", |one| one.core.y.into()),
            ("risc", |one| (*one.risc).into()),
            ("noc", |one| one.noc.name().into()),
            ("kind", |one| one.kind.name().into()),
            ("events", |one| one.event_count.into()),
            ("bytes", |one| one.byte_count.into()),
            ("is_lower_bound", |one| one.is_lower_bound().into()),
            // The cell is null for an event that is not a wait.
            ("wait_cycles", |one| one.kind.end_of_wait().map(|_| one.wait_cycles).into()),
        ],
    )
}

fn pairs(pairs: &[Pair]) -> Objects<&Pair> {
    Objects::new(
        pairs,
        [
            ("chip", |pair| pair.chip_id.into()),
            ("noc", |pair| pair.noc.name().into()),
            ("from_x", |pair| pair.from.x.into()),
            ("from_y", |pair| pair.from.y.into()),
            ("to_x", |pair| pair.to.x.into()),
            ("to_y", |pair| pair.to.y.into()),
            ("transfers", |pair| pair.transfer_count.into()),
            ("bytes", |pair| pair.byte_count.into()),
        ],
    )
}

/// Returns transfers of cores with an unknown tile, in the coordinates of their kernels.
fn unplaced_pairs(pairs: &[UnplacedPair]) -> Objects<&UnplacedPair> {
    Objects::new(
        pairs,
        [
            ("chip", |pair| pair.chip_id.into()),
            ("noc", |pair| pair.noc.name().into()),
            ("core_x", |pair| pair.core.x.into()),
            ("core_y", |pair| pair.core.y.into()),
            ("direction", |pair| direction(pair).into()),
            ("raw_x", |pair| pair.target.x.into()),
            ("raw_y", |pair| pair.target.y.into()),
            ("transfers", |pair| pair.transfer_count.into()),
            ("bytes", |pair| pair.byte_count.into()),
        ],
    )
}

fn links(loads: &[LinkLoad]) -> Objects<&LinkLoad> {
    Objects::new(
        loads,
        [
            ("chip", |load| load.link.chip_id.into()),
            ("noc", |load| load.link.noc.name().into()),
            ("x", |load| load.link.tile.x.into()),
            ("y", |load| load.link.tile.y.into()),
            ("direction", |load| load.link.direction.name().into()),
            ("bytes", |load| load.byte_count.into()),
        ],
    )
}

/// Returns memory that kernels held. Addresses and sizes of 16,777,215 mean this value or more.
fn held_memory(held: &[HeldMemory]) -> Objects<&HeldMemory> {
    Objects::new(
        held,
        [
            ("chip", |held| held.lane.chip_id.into()),
            ("run_host_id", |held| held.program.0.into()),
            ("core_x", |held| held.lane.core.x.into()),
            ("core_y", |held| held.lane.core.y.into()),
            ("risc", |held| held.lane.risc.label().into()),
            ("kind", |held| held.kind.name().into()),
            ("address", |held| held.address.into()),
            ("bytes", |held| held.byte_count.into()),
            ("begin", |held| held.begin.into()),
            ("end", |held| held.end.into()),
        ],
    )
}
