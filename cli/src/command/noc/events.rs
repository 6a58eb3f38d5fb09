//! NoC events of a log, a capture or noc_trace files.

use crate::{
    failure::{Failure, OrFail, failure},
    file_kind::{FileKind, Unread},
    harvesting::Harvesting,
    input::{chosen_run, joined, open_packed, retain, unpacked},
    numbers::{counted, grouped},
    op_names::OpNames,
    progress::Busy,
};
use host_reader::{
    export::TraceFilter,
    noc_events::{
        MemoryLock, NocChip, NocLanes, NocPrograms, NocTraces, ProgramTrace, TileMap, TraceNotes,
        TraceOptions, Traffic, read_json,
    },
    output::write_noc_folder,
    packed_bytes::PackedMemory,
    readout::Readout,
    recording::{Opened, Recording, device_log, logs_folder, noc_of_log},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

/// NoC events of the input, and notes about unusable data.
pub(in crate::command) struct Events {
    source: Source,
    /// NoC model of each chip with known NoC speeds, by chip id.
    pub(super) chips: BTreeMap<u32, NocChip>,
    /// Memory ranges that kernels locked; `None` for noc_trace files, which do not record locks.
    pub(super) locks: Option<Vec<MemoryLock>>,
    /// Sentence that names the file from which the events were read; `None` if the input has only
    /// one kind of file.
    pub(in crate::command) source_sentence: Option<String>,
    /// Sentences about data that cannot be used.
    notes: Vec<String>,
}

/// Source of the NoC events.
enum Source {
    /// noc_trace files, and the number of columns and rows of tiles of each chip.
    ///
    /// noc_trace files do not contain the architecture. Unless a log or the topology file provides
    /// it, the NoC links that a transfer uses are unknown.
    Files(Vec<ProgramTrace>, BTreeMap<u32, (u16, u16)>),
    /// A log or a capture.
    Recorded(Box<Recorded>),
}

/// NoC events of a recording. The events are in `lanes`; `readout` has no lanes.
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

impl Events {
    /// Reads the events of a log, a capture or noc_trace files. `memory` holds the packed records
    /// of a log.
    ///
    /// # Errors
    /// If the input cannot be read, or if filters are given for noc_trace files.
    pub(super) fn read(
        file: &Path,
        run: Option<usize>,
        filters: &[TraceFilter],
        (arch, harvesting): (Option<&str>, &[Harvesting]),
        memory: &Arc<PackedMemory>,
    ) -> Result<Self, Failure> {
        let (files, others) = trace_files(file);
        if files.is_empty() {
            if let Some(arch) = arch {
                return Err(failure!(
                    "--arch is only for noc_trace files, found {arch} for a device log or capture, which names \
                     the architecture; omit it"
                ));
            }
            return Self::from_recording(file, run, filters, harvesting, memory);
        }
        let named = arch.map(|arch| {
            NocChip::from_arch(arch).ok_or_else(|| {
                failure!("--arch: expected wormhole_b0 or blackhole, found `{arch}`")
            })
        });
        let named = named.transpose()?;
        if !harvesting.is_empty() {
            return Err(failure!(
                "--harvesting is only for device logs and captures, found noc_trace files, which \
                 contain NoC-0 coordinates; omit it"
            ));
        }
        if !filters.is_empty() {
            return Err(failure!(
                "--filter is only for device logs and captures, found noc_trace files; omit it"
            ));
        }
        let mut events = Self::from_files(&files, named, &topology_beside(file))?;
        if !others.is_empty() {
            let names = others.iter().filter_map(|path| path.file_name());
            let names: Vec<_> = names.map(|name| name.display().to_string()).collect();
            events.notes.insert(
                0,
                format!(
                    "{}: not read, because {} beside {} with TT-Metal's names may hold the same events; \
                     give the path of a file to read it",
                    names.join(", "),
                    counted(names.len() as u64, "file with NoC events", "files with NoC events"),
                    counted(files.len() as u64, "file", "files"),
                ),
            );
        }
        Ok(events)
    }

    /// Reads the events of a log or a capture.
    ///
    /// A log is unpacked lane by lane (one lane per thread at a time), unless a filter needs all
    /// lanes at once.
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
                let mut recording = chosen_run(unpacked(opened)?.recordings, file, run)?;
                retain(&mut recording, filters)?;
                let lanes = NocLanes::from_readout(&recording.readout);
                (recording, lanes)
            }
        };
        Harvesting::apply(harvesting, &mut recording.readout)?;
        Ok(Self::new(recording, lanes, &topology_beside(file)))
    }

    /// Takes the NoC events of a run that was read from `file`.
    #[cfg(feature = "mcp")]
    pub(in crate::command) fn from_run(run: Recording, file: &Path) -> Self {
        let lanes = NocLanes::from_readout(&run.readout);
        Self::new(run, lanes, &topology_beside(file))
    }

    /// Takes the NoC events of a recording or, if a log has no NoC events, those of noc_trace files
    /// next to the log.
    fn new(mut recording: Recording, mut lanes: NocLanes, topology: &[u8]) -> Self {
        let chips = chips_of(&recording.readout, topology);
        let locks = lanes.take_locks();
        let mut notes: Vec<_> = locks.notes.sentences().collect();
        notes.extend(missing_records(&recording.readout));
        let (source, source_sentence) = if recording.noc_traces.unrepeated().is_empty() {
            recording.readout.devices.iter_mut().for_each(|device| device.lanes.clear());
            let sentence = recording.noc_traces.sentence_of_log();
            let Recording { readout, ops, .. } = recording;
            let names = OpNames::new(&ops);
            (Source::Recorded(Box::new(Recorded { readout, names, lanes })), sentence)
        } else {
            let (traces, counts) = recording.noc_events_beside();
            notes.splice(..0, counts.left_out_sentences());
            let grids = recording.readout.devices.iter().filter_map(|device| {
                Some((device.chip.chip_id, TileMap::unharvested(&device.chip.arch)?.grid()))
            });
            (Source::Files(traces, grids.collect()), Some(counts.source_sentence()))
        };
        Self { source, chips, locks: Some(locks.all), source_sentence, notes }
    }

    /// Returns true if no program has events.
    pub(in crate::command) fn is_empty(&self) -> bool {
        match &self.source {
            Source::Files(traces, _) => traces.is_empty(),
            Source::Recorded(recorded) => recorded.programs().is_empty(),
        }
    }

    /// Returns the message for an input from which no event can be shown. The message says how to
    /// record NoC events, unless there are events that cannot be read.
    pub(in crate::command) fn why_empty(&self, file: &Path) -> String {
        let file = file.display();
        match &self.source {
            Source::Recorded(recorded) if recorded.programs().is_unknown() => format!(
                "{file}: expected NoC events in a layout of TT-Metal, found another layout, so their \
                 kinds and bytes are unknown; use a kprof that is newer than the TT-Metal that \
                 recorded them"
            ),
            _ => format!(
                "{file}: expected NoC events, found none; tt-metal records them with \
                 TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1"
            ),
        }
    }

    /// Returns the NoC traffic of all programs, and sentences about data that cannot be used.
    pub(in crate::command) fn traffic(&self) -> (Traffic, Vec<String>) {
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

    /// Calls `take` with the NoC trace of each program.
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

    /// Writes a noc_trace file for each program. Returns the number of files and the total number
    /// of objects in the files.
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

    /// Reads noc_trace files, which do not contain the architecture. Without one that the user names, the board
    /// in the topology file, if there is one, has only one kind of chip.
    fn from_files(
        files: &[PathBuf],
        named: Option<NocChip>,
        topology: &[u8],
    ) -> Result<Self, Failure> {
        let (mut files_traces, mut notes) = (Vec::new(), Vec::new());
        for path in files {
            let text = match std::fs::read(path) {
                Ok(text) => text,
                Err(error) if files.len() == 1 => return Err(Failure::from_file(path, &error)),
                Err(error) => {
                    let name = path.file_name().unwrap_or_default().display();
                    notes.push(format!("{name}: skipped, because it cannot be read: {error}"));
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
            let traces = ProgramTrace::from_objects(read.objects, &name);
            files_traces.push((name.trim_end_matches(".json").to_owned(), traces));
        }
        notes.extend(tell_runs_apart(&mut files_traces));
        let traces: Vec<_> = files_traces.into_iter().flat_map(|(_, traces)| traces).collect();
        let chip = named.map(|chip| chip.with_topology(topology));
        let chips: BTreeMap<_, _> =
            chip.or_else(|| NocChip::from_topology(topology)).map_or_else(BTreeMap::new, |chip| {
                traces.iter().map(|trace| (trace.chip_id, chip.clone())).collect()
            });
        let grids = chips.iter().map(|(&chip_id, chip)| (chip_id, chip.grid())).collect();
        let source = Source::Files(traces, grids);
        Ok(Self { source, chips, locks: None, source_sentence: None, notes })
    }
}

/// Names the traces of programs of which several files have one by their files, and returns a sentence
/// about them; `None` if there are none.
///
/// TT-Metal writes one file for each program and replay. Several files of one are of several runs, or
/// have neither names nor objects that say which program they are of.
fn tell_runs_apart(files: &mut [(String, Vec<ProgramTrace>)]) -> Option<String> {
    let key = |trace: &ProgramTrace| {
        let replay = trace.trace.map(|replay| (replay.trace_id, replay.counter));
        (trace.chip_id, trace.program, replay, trace.op_name.clone())
    };
    let mut counts: BTreeMap<_, u64> = BTreeMap::new();
    for trace in files.iter().flat_map(|(_, traces)| traces) {
        *counts.entry(key(trace)).or_default() += 1;
    }
    let mut file_count = 0_u64;
    for (name, traces) in files {
        let mut is_one_of_several = false;
        for trace in traces.iter_mut().filter(|trace| counts.get(&key(trace)) > Some(&1)) {
            is_one_of_several = true;
            trace.op_name = match &*trace.op_name {
                "" => name.clone(),
                op => format!("{op} of {name}"),
            };
            for object in &mut trace.objects {
                object.op_name = Some(trace.op_name.clone());
            }
        }
        file_count += u64::from(is_one_of_several);
    }
    (file_count > 0).then(|| {
        format!(
            "{} have events of the same program, as files of several runs do: the names of the files \
             tell their rows apart, and bytes between tiles and on links are sums of all; give the path \
             of a file to see it alone",
            counted(file_count, "file", "files")
        )
    })
}

/// Returns the NoC model of each chip with known NoC speeds, by chip id.
fn chips_of(readout: &Readout, topology: &[u8]) -> BTreeMap<u32, NocChip> {
    let chips = readout.devices.iter().filter_map(|device| {
        let chip = NocChip::from_arch(&device.chip.arch)?;
        Some((device.chip.chip_id, chip.with_topology(topology)))
    });
    chips.collect()
}

/// Returns the text of the topology file, which describes the board and is next to the recording.
/// The text is empty if the file does not exist.
fn topology_beside(file: &Path) -> Vec<u8> {
    let logs = match file.is_dir() {
        true => logs_folder(file, NocTraces::TOPOLOGY_FILE),
        false => file.parent().map(Path::to_owned),
    };
    let path = logs.unwrap_or_default().join(NocTraces::TOPOLOGY_FILE);
    std::fs::read(path).unwrap_or_default()
}

/// Returns messages about records that are missing in a readout. The missing records may be NoC
/// events.
fn missing_records(readout: &Readout) -> impl Iterator<Item = String> {
    let lost = (!readout.losses.is_intended()).then(|| {
        let total = readout.losses.unintended_total();
        let records = total.in_words(|kind, count| format!("{} {}", grouped(count), kind.label()));
        format!("lost: {records}; shown traffic is a lower bound, kprof report shows the losses")
    });
    let count = readout.anomalies.anomaly_count();
    let odd = (count > 0).then(|| {
        let counted = counted(count, "anomaly", "anomalies");
        format!("{counted} in the recording, which kprof report lists; NoC events may be missing")
    });
    lost.into_iter().chain(odd)
}

/// Returns the noc_trace files at the path, sorted by name: the file itself, or the files in a
/// folder without a device log; and files in the folder that are not read.
///
/// Somebody may have renamed a trace, so files with other names are read if there are no others.
/// Beside traces with TT-Metal's names, they often hold the same events, as tt-npe's joined traces do.
fn trace_files(path: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    if is_trace_file(path) {
        return (vec![path.to_owned()], Vec::new());
    }
    if !path.is_dir() || device_log(path).is_some() {
        return (Vec::new(), Vec::new());
    }
    let is_named = |path: &PathBuf| {
        ProgramTrace::is_file_name(&path.file_name().unwrap_or_default().to_string_lossy())
    };
    let of_folder = |folder: PathBuf| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let is_trace = |path: &PathBuf| {
            let is_json = path.extension().is_some_and(|extension| extension == "json");
            is_named(path) || is_json && FileKind::from_path(path) == FileKind::NocTrace
        };
        let mut files: Vec<_> = entries.map(|entry| entry.path()).filter(is_trace).collect();
        files.sort_unstable();
        files
    };
    let own = of_folder(path.to_owned());
    let all = if own.is_empty() { of_folder(path.join(".logs")) } else { own };
    match all.iter().any(is_named) {
        true => all.into_iter().partition(is_named),
        false => (all, Vec::new()),
    }
}

fn is_trace_file(path: &Path) -> bool {
    let is_named =
        || ProgramTrace::is_file_name(&path.file_name().unwrap_or_default().to_string_lossy());
    match FileKind::from_path(path) {
        FileKind::NocTrace => true,
        // A trace that ended before its first event is known by its name.
        FileKind::Unread(Unread::Json | Unread::Empty) => is_named(),
        _ => false,
    }
}
