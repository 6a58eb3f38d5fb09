//! `kprof noc`: traffic of the NoCs, and tt-metal's noc_trace files.

use super::noc_use::{ProgramUse, write_use};
use crate::{
    args::NocArgs,
    failure::{Failure, note},
    harvesting::Harvesting,
    input::{Input, joined, open_packed, retain, unpacked},
    layout::{table, write_table},
    numbers::{counted, grouped},
    op_names::OpNames,
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
        serde_json::to_writer(&mut out, &document).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        let rows = if args.rows == 0 { usize::MAX } else { args.rows };
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
    /// Sentence on the file that the events are from, if there are two kinds of files.
    source_sentence: Option<String>,
    /// Sentences on what else cannot be used.
    notes: Vec<String>,
}

/// Where events come from.
enum Source {
    /// noc_trace files, with columns and rows of each chip's tiles. Files alone do not say the
    /// architecture, so that no link is known.
    Files(Vec<ProgramTrace>, BTreeMap<u32, (u16, u16)>),
    /// A log or a capture.
    Recorded(Box<Recorded>),
}

/// NoC events of a recording, whose lanes are not needed any more.
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

/// Writes noc_trace files and says how many.
fn write_files(events: &Events, folder: &Path, input: Option<&Path>) -> Result<(), Failure> {
    let (count, _) = events.write_folder(folder, input)?;
    note!("kprof: {} written to {}", counted(count, "file", "files"), folder.display());
    Ok(())
}

impl Events {
    /// Reads a log, a capture or noc_trace files; packed records of a log are in `memory`.
    ///
    /// # Errors
    /// If the input cannot be read, or noc_trace files are to be filtered.
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
            return Err(Failure::Sentence(
                "--harvesting is of a device log or a capture, found noc_trace files, which hold \
                 tiles; leave it out"
                    .to_owned(),
            ));
        }
        if !filters.is_empty() {
            return Err(Failure::Sentence(
                "--filter takes parts of a device log or a capture, found noc_trace files; leave \
                 it out"
                    .to_owned(),
            ));
        }
        Self::from_files(&files)
    }

    /// Takes the events of a log or a capture; of a log with one lane unpacked for each thread at a
    /// time, unless a filter needs them all.
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
                noc_of_log(*log).map_err(|error| Failure::from_error(&error))?
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

    /// Takes the events of the noc_trace files next to a log without events.
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

    /// The traffic of all programs, and sentences on what cannot be used.
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

    /// Hands over the trace of each program.
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

    /// Writes a file for each program; returns how many, and their objects.
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
        let file_count = written.map_err(|error| Failure::from_error(&error))?;
        Ok((file_count, object_count))
    }

    /// Reads noc_trace files, which do not say the architecture.
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
    let titles =
        ["chip", "program", "op", "RISC", "NoC", "kind", "cores", "events", "bytes", "wait cycles"];
    let mut events = table(&titles);
    for (cores, sum) in sums.values().take(rows) {
        let bytes = grouped(sum.byte_count);
        let is_wait = sum.kind.end_of_wait().is_some();
        events.add_row([
            sum.chip_id.to_string(),
            program_label(sum.program.0, None),
            sum.op_name.as_ref().to_owned(),
            sum.risc.as_ref().to_owned(),
            sum.noc.name().to_owned(),
            sum.kind.name().to_owned(),
            grouped(*cores),
            grouped(sum.event_count),
            if sum.is_lower_bound() { format!(">= {bytes}") } else { bytes },
            if is_wait { grouped(sum.wait_cycles) } else { String::new() },
        ]);
    }
    write_table(&mut events, sums.len(), rows, out)
}

/// Writes pairs of tiles, the busiest first.
fn write_pairs(traffic: &Traffic, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    let mut pairs: Vec<&Pair> = traffic.pairs.iter().collect();
    pairs.sort_by_key(|pair| Reverse(pair.byte_count));
    writeln!(out, "\nWho moved bytes to whom, on NoC-0 coordinates\n")?;
    let mut tiles = table(&["chip", "NoC", "from", "to", "transfers", "bytes"]);
    for pair in pairs.iter().take(rows) {
        tiles.add_row([
            pair.chip_id.to_string(),
            pair.noc.name().to_owned(),
            pair.from.to_string(),
            pair.to.to_string(),
            grouped(pair.transfer_count),
            grouped(pair.byte_count),
        ]);
    }
    write_table(&mut tiles, pairs.len(), rows, out)
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
    let mut table = table(&["chip", "NoC", "core", "moved", "target", "transfers", "bytes"]);
    for pair in pairs.iter().take(rows) {
        let UnplacedPair { target, .. } = pair;
        table.add_row([
            pair.chip_id.to_string(),
            pair.noc.name().to_owned(),
            pair.core.to_string(),
            direction_of(pair).to_owned(),
            format!("({},{})", target.x, target.y),
            grouped(pair.transfer_count),
            grouped(pair.byte_count),
        ]);
    }
    write_table(&mut table, pairs.len(), rows, out)
}

const fn direction_of(pair: &UnplacedPair) -> &'static str {
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
    let mut links = table(&["chip", "NoC", "from", "direction", "bytes"]);
    for load in loads.iter().take(rows) {
        links.add_row([
            load.link.chip_id.to_string(),
            load.link.noc.name().to_owned(),
            load.link.tile.to_string(),
            load.link.direction.name().to_owned(),
            grouped(load.byte_count),
        ]);
    }
    write_table(&mut links, loads.len(), rows, out)
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
    let titles = ["chip", "program", "RISC", "kind", "times", "cycles", "longest", "without end"];
    let mut locks = table(&titles);
    for ((chip_id, program, risc, kind), sum) in sums.iter().take(rows) {
        let cycles = |cycles: Option<u64>| cycles.map_or_else(String::new, grouped);
        locks.add_row([
            chip_id.to_string(),
            program_label(*program, None),
            (*risc).to_owned(),
            kind.name().to_owned(),
            grouped(sum.count),
            cycles(sum.cycles),
            cycles(sum.longest),
            grouped(sum.open_count),
        ]);
    }
    write_table(&mut locks, sums.len(), rows, out)
}

/// Sum over locks of one kind; cycles only of locks with a known end.
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
    events: Vec<EventRow<'a>>,
    pairs: Vec<PairRow>,
    links: Vec<LinkRow>,
    unplaced_pairs: Vec<UnplacedRow>,
    /// Present with `--utilization`.
    #[serde(skip_serializing_if = "Option::is_none")]
    utilization: Option<Vec<ProgramUse>>,
    /// `None` if the input has no such data.
    held_memory: Option<Vec<HeldRow>>,
    multicast_count: u64,
    unplaced_count: u64,
    open_wait_count: u64,
    unknown_count: u64,
    /// Kind and source of the first unknown event.
    first_unknown: Option<&'a str>,
    /// Sentence on the file that the events are from; `None` if there is only one kind of files.
    source: Option<&'a str>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct EventRow<'a> {
    chip: u32,
    run_host_id: u32,
    op_name: &'a str,
    core_x: u16,
    core_y: u16,
    risc: &'a str,
    noc: &'static str,
    kind: &'static str,
    events: u64,
    bytes: u64,
    is_lower_bound: bool,
    /// `None` for an event that is not a wait.
    wait_cycles: Option<u64>,
}

#[derive(Serialize)]
struct PairRow {
    chip: u32,
    noc: &'static str,
    from_x: u16,
    from_y: u16,
    to_x: u16,
    to_y: u16,
    transfers: u64,
    bytes: u64,
}

/// Transfers of a core with an unknown tile, in the coordinates of its kernel.
#[derive(Serialize)]
struct UnplacedRow {
    chip: u32,
    noc: &'static str,
    core_x: u16,
    core_y: u16,
    direction: &'static str,
    raw_x: i8,
    raw_y: i8,
    transfers: u64,
    bytes: u64,
}

impl UnplacedRow {
    const fn new(pair: &UnplacedPair) -> Self {
        Self {
            chip: pair.chip_id,
            noc: pair.noc.name(),
            core_x: pair.core.x,
            core_y: pair.core.y,
            direction: direction_of(pair),
            raw_x: pair.target.x,
            raw_y: pair.target.y,
            transfers: pair.transfer_count,
            bytes: pair.byte_count,
        }
    }
}

#[derive(Serialize)]
struct LinkRow {
    chip: u32,
    noc: &'static str,
    x: u16,
    y: u16,
    direction: &'static str,
    bytes: u64,
}

/// Memory that a kernel held. Addresses and sizes of 16,777,215 mean this value or more.
#[derive(Serialize)]
struct HeldRow {
    chip: u32,
    run_host_id: u32,
    core_x: u16,
    core_y: u16,
    risc: &'static str,
    kind: &'static str,
    address: u32,
    bytes: u32,
    begin: u64,
    end: Option<u64>,
}

impl HeldRow {
    fn new(held: &HeldMemory) -> Self {
        let HeldMemory { lane, program, kind, address, byte_count, begin, end } = *held;
        Self {
            chip: lane.chip_id,
            run_host_id: program.0,
            core_x: lane.core.x,
            core_y: lane.core.y,
            risc: lane.risc.label(),
            kind: kind.name(),
            address,
            bytes: byte_count,
            begin,
            end,
        }
    }
}

impl<'a> Document<'a> {
    fn new(traffic: &'a Traffic, held: Option<&[HeldMemory]>, notes: &'a [String]) -> Self {
        let event = |one: &'a Activity| EventRow {
            chip: one.chip_id,
            run_host_id: one.program.0,
            op_name: &one.op_name,
            core_x: one.core.x,
            core_y: one.core.y,
            risc: &one.risc,
            noc: one.noc.name(),
            kind: one.kind.name(),
            events: one.event_count,
            bytes: one.byte_count,
            is_lower_bound: one.is_lower_bound(),
            wait_cycles: one.kind.end_of_wait().map(|_| one.wait_cycles),
        };
        let pair = |pair: &Pair| PairRow {
            chip: pair.chip_id,
            noc: pair.noc.name(),
            from_x: pair.from.x,
            from_y: pair.from.y,
            to_x: pair.to.x,
            to_y: pair.to.y,
            transfers: pair.transfer_count,
            bytes: pair.byte_count,
        };
        let link = |load: &LinkLoad| LinkRow {
            chip: load.link.chip_id,
            noc: load.link.noc.name(),
            x: load.link.tile.x,
            y: load.link.tile.y,
            direction: load.link.direction.name(),
            bytes: load.byte_count,
        };
        Self {
            events: traffic.activities.iter().map(event).collect(),
            pairs: traffic.pairs.iter().map(pair).collect(),
            links: traffic.links.iter().map(link).collect(),
            unplaced_pairs: traffic.unplaced_pairs.iter().map(UnplacedRow::new).collect(),
            utilization: None,
            held_memory: held.map(|held| held.iter().map(HeldRow::new).collect()),
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
