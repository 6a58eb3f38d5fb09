//! Where the RISCs stand in launches that did not end: functions and lines, what they wait for, and
//! which of them is the cause.

use super::kernel_cache::{CachedKernel, KernelCache};
use crate::{
    args::ShowArgs,
    failure::note,
    numbers::{counted, grouped},
    terminal::{LONGEST_NAME, printable},
};
use host_reader::{
    analysis::OpenZone,
    lane::LaneId,
    lines::{CodeFile, Frame, frames},
    mesh::Noc0Coord,
    readout::Readout,
    tables::{LineRow, StandingRow},
};
use sim::{
    lines::LoadedCode,
    unfinished::{Standing, StandingCode, StandingRisc, UnfinishedLaunch},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};
use wire::{Risc, RunHostId};

/// Where RISCs stand.
#[derive(Default)]
pub(super) struct StandingRiscs {
    /// Rows, launch by launch; in a launch, the causes first.
    pub(super) rows: Vec<StandingRow>,
    /// Sentences about files without debug information.
    notes: BTreeSet<String>,
}

/// Where the files of kernels are.
pub(super) enum KernelsOf {
    /// The simulator has loaded them.
    Run,
    /// A host has built them in folders of its cache.
    Host(Vec<PathBuf>),
}

impl StandingRiscs {
    /// Finds the functions and lines of a run of the simulator, and the open zones in its readout.
    pub(super) fn of_run(launches: &[UnfinishedLaunch], readout: &Readout) -> Self {
        Self::new(launches, Some(readout), KernelsOf::Run)
    }

    /// Finds the functions and lines, and the open zones in a readout.
    pub(super) fn new(
        launches: &[UnfinishedLaunch],
        readout: Option<&Readout>,
        kernels: KernelsOf,
    ) -> Self {
        let mut found = Self::default();
        let mut files = Files::new(kernels);
        for launch in launches {
            let causes = Causes::new(launch);
            let mut rows = Vec::new();
            for risc in &launch.riscs {
                let mut row = row(launch, risc, &causes);
                files.describe(&mut row, risc);
                let core = Noc0Coord { x: launch.core.x, y: launch.core.y };
                let lane = LaneId { chip_id: launch.chip_id, core, risc: risc.risc };
                let zone = readout.and_then(|readout| OpenZone::of_lane(readout, lane));
                if let Some(OpenZone { name, start_cycle }) = zone {
                    (row.zone, row.zone_start_cycle) = (Some(name), Some(start_cycle));
                }
                rows.push(row);
            }
            found.rows.append(&mut rows);
        }
        doubt(&mut found.rows);
        for rows in found.rows.chunk_by_mut(|a, b| launch_of(a) == launch_of(b)) {
            rows.sort_by_key(|row| match row.is_cause {
                Some(true) => 0,
                None => 1,
                Some(false) => 2,
            });
        }
        found.notes = files.notes();
        found
    }

    /// Prints at most `places_max` places where the RISCs of a run stand, unless JSON is printed.
    pub(super) fn tell_of_run(&self, show: ShowArgs, places_max: usize) {
        if !show.json {
            self.tell(places_max, "--rows 0 shows all");
        }
    }

    /// Prints at most `places_max` places where RISCs stand, to standard error. Cores with the same
    /// places are printed once; `more` says where the others are.
    pub(super) fn tell(&self, places_max: usize, more: &str) {
        let lines = self.lines(places_max, "did not end", more);
        for line in lines {
            // Lines about RISCs belong to the one before them.
            let prefix = if line.starts_with(' ') { "" } else { "kprof: " };
            note!("{prefix}{line}");
        }
    }

    /// Returns the launches and what [`StandingRiscs::tell`] prints of them; `did` says what they did.
    pub(super) fn lines(&self, places_max: usize, did: &str, more: &str) -> Vec<String> {
        let mut groups: Vec<(&[StandingRow], Vec<&StandingRow>)> = Vec::new();
        for rows in self.rows.chunk_by(|a, b| launch_of(a) == launch_of(b)) {
            let [first, ..] = rows else { continue };
            match groups.iter_mut().find(|(known, _)| stand_alike(known, rows)) {
                Some((_, cores)) => cores.push(first),
                None => groups.push((rows, vec![first])),
            }
        }
        let hidden_count: usize =
            groups.iter().skip(places_max).map(|(_, cores)| cores.len()).sum();
        let mut lines = Vec::new();
        for (rows, cores) in groups.iter().take(places_max) {
            let [first, others @ ..] = cores.as_slice() else { continue };
            let name = first
                .op
                .as_deref()
                .map_or_else(String::new, |name| format!(" of {}", printable(name, LONGEST_NAME)));
            let others = match others.len() {
                0 => String::new(),
                count => format!(" and {}", counted(count as u64, "other core", "other cores")),
            };
            lines.push(format!(
                "chip {}, core ({},{}){others}: launch {}{name} {did}",
                first.chip_id, first.core.0, first.core.1, first.launch
            ));
            lines.extend(rows.iter().map(|row| format!("  {}", sentence(row))));
        }
        if hidden_count > 0 {
            let hidden = counted(hidden_count as u64, "more launch", "more launches");
            lines.push(format!("{hidden} {did} on a core, {more}"));
        }
        lines.extend(self.notes.iter().cloned());
        lines
    }
}

fn launch_of(row: &StandingRow) -> (u32, (u32, u32), u32, u64) {
    (row.chip_id, row.core, row.run_host_id, row.launch)
}

/// Returns true if the RISCs of two cores stand in the same functions of the same program, for the same
/// reasons.
fn stand_alike(one: &[StandingRow], other: &[StandingRow]) -> bool {
    let place = |row: &StandingRow| {
        let core = (0, 0);
        let StandingRow { chip_id, run_host_id, launch, .. } = *row;
        let told = StandingRow {
            chip_id,
            run_host_id,
            launch,
            risc: row.risc.clone(),
            state: row.state,
            ..StandingRow::default()
        };
        match row.state {
            StandingRow::ENDED => told,
            StandingRow::WAITS if row.polled_address.is_none() => {
                StandingRow { waits_for: row.waits_for.clone(), ..told }
            }
            _ => {
                let runs = row.state == StandingRow::RUNS;
                let zone_start_cycle = row.zone_start_cycle.map(|_| 0);
                let address = if runs { 0 } else { row.address };
                let line = row.line.filter(|_| !runs);
                StandingRow {
                    core,
                    address,
                    line,
                    zone_start_cycle,
                    is_moving: None,
                    ..row.clone()
                }
            }
        }
    };
    one.iter().map(place).eq(other.iter().map(place))
}

/// Takes back that a RISC is a cause if it waits for what another core may signal, and a RISC of
/// another core stands elsewhere in the same program.
fn doubt(rows: &mut [StandingRow]) {
    let place = |row: &StandingRow| (row.risc.clone(), row.elf.clone(), row.address, row.state);
    let mut places: BTreeMap<u32, BTreeSet<_>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.is_cause != Some(false)) {
        places.entry(row.run_host_id).or_default().insert(place(row));
    }
    for row in rows.iter_mut().filter(|row| row.is_cause == Some(true)) {
        let is_from_afar = row.polled_address.is_some_and(|address| address < FIRST_REGISTER);
        let is_alone = places.get(&row.run_host_id).is_none_or(|places| places.len() < 2);
        if row.state == StandingRow::WAITS && row.circle.is_none() && is_from_afar && !is_alone {
            row.is_cause = None;
        }
    }
}

/// First address that is no L1, to which other cores can write.
const FIRST_REGISTER: u32 = 0x0080_0000;

/// Returns what is known about a RISC, as one line.
fn sentence(row: &StandingRow) -> String {
    let mut text = row.risc.clone();
    match (row.state, &row.waits_for) {
        (StandingRow::ENDED, _) => return format!("{text}: its kernel has ended"),
        (StandingRow::WAITS, Some(other)) if row.polled_address.is_none() => {
            return format!("{text}: its firmware waits for {other}");
        }
        (StandingRow::WAITS, Some(object)) => text += &format!(" waits for {object}"),
        (StandingRow::RUNS, _) => text += " runs in a loop",
        (state, _) => text += &format!(" {state}"),
    }
    if row.is_cause == Some(true) {
        text += " (cause)";
    }
    text += &format!(" in {}", place(row));
    if let Some(value) = row.polled_value {
        text += &format!("; value {value}");
    }
    match row.signalled_by.as_deref() {
        Some("") => text += "; no RISC of this core has signalled it in this launch",
        Some(riscs) => text += &format!("; signalled by {riscs} in this launch"),
        None => {}
    }
    if let (None | Some(""), Some(riscs)) = (row.signalled_by.as_deref(), &row.code_to_signal) {
        text += &format!("; the code to signal it is in the kernel of {riscs}");
    }
    if let Some(reason) = row.reason.as_ref().filter(|_| row.state == StandingRow::STOPPED) {
        text += &format!("; {reason}");
    }
    if let Some(circle) = &row.circle {
        text += &format!("; wait for each other: {circle}");
    }
    match row.zone.as_deref().zip(row.zone_start_cycle) {
        Some((zone, since)) => {
            let zone = if zone.is_empty() { "without a name" } else { zone };
            let zone = printable(zone, LONGEST_NAME);
            text += &format!("; zone {zone} open since cycle {}", grouped(since));
        }
        // A RISC that streams records a zone when it ends.
        None if row.code == "kernel" => text += "; its open zones are unknown",
        None => {}
    }
    text
}

/// Returns the functions with their files and lines, innermost first.
fn place(row: &StandingRow) -> String {
    let of_lines = LineRow {
        function: row.function.clone(),
        file: row.file.clone(),
        line: row.line,
        inlined_into: row.inlined_into.clone(),
        ..LineRow::default()
    };
    let code = if row.code == "kernel" { String::new() } else { format!("{} code, ", row.code) };
    match row.function {
        Some(_) => {
            let frames: Vec<String> =
                frames(&of_lines).into_iter().map(|frame| short(frame).to_string()).collect();
            format!(
                "{code}{} (pc {:#x})",
                printable(&frames.join(" < "), 4 * LONGEST_NAME),
                row.address
            )
        }
        None => format!("{code}an unknown function (pc {:#x})", row.address),
    }
}

/// Shortens a long path to its last parts.
fn short(frame: Frame) -> Frame {
    let shortened = frame.file.map(|file| {
        let parts: Vec<&str> = file.split('/').collect();
        match parts.len().checked_sub(PATH_PARTS_MAX) {
            Some(hidden @ 1..) => format!("…/{}", parts[hidden..].join("/")),
            _ => file,
        }
    });
    Frame { file: shortened, ..frame }
}

/// Number of parts of a path that a line shows.
const PATH_PARTS_MAX: usize = 3;

fn row(launch: &UnfinishedLaunch, risc: &StandingRisc, causes: &Causes) -> StandingRow {
    let polled = risc.polls.first();
    let objects: Vec<&str> = risc.polls.iter().map(|word| &*word.object).collect();
    let waits_for = match risc.state {
        Standing::WaitsFor(other) => Some(other.label().to_owned()),
        _ => Some(objects.join(", ")).filter(|text| !text.is_empty()),
    };
    let by = polled.and_then(|word| word.stored_by.as_ref());
    let address = match risc.polls.as_slice() {
        [only] => only.load_pc.unwrap_or(risc.pc),
        _ => risc.pc,
    };
    StandingRow {
        chip_id: launch.chip_id,
        core: (launch.core.x.into(), launch.core.y.into()),
        run_host_id: RunHostId::encode(launch.program_id, launch.chip_id).0,
        op: Some(launch.program.clone()).filter(|name| !name.is_empty()),
        launch: launch.launch_index,
        risc: risc.risc.label().to_owned(),
        state: state(risc),
        is_cause: causes.is_cause(risc),
        reason: match &risc.state {
            Standing::Stopped(reason) => Some(reason.clone()),
            Standing::Unended { failure } => failure.clone(),
            Standing::Ended | Standing::WaitsFor(_) | Standing::Polls => None,
        },
        address,
        is_moving: risc.earlier_pc.map(|_| risc.executed.len() > 1),
        waits_for,
        polled_address: polled.map(|word| word.address),
        polled_value: polled.and_then(|word| word.value),
        signalled_by: by.map(|riscs| labels(riscs.iter().copied(), ", ")),
        code_to_signal: Some(labels(code_to_signal(launch, risc).into_iter(), ", "))
            .filter(|riscs| !riscs.is_empty()),
        circle: causes.circle(risc.risc).map(|circle| labels(circle.iter().copied(), " -> ")),
        ..StandingRow::default()
    }
}

/// Returns the other RISCs whose kernels have code that signals what a RISC polls.
fn code_to_signal(launch: &UnfinishedLaunch, waiting: &StandingRisc) -> Vec<Risc> {
    let signals = |risc: &StandingRisc| {
        waiting.polls.iter().any(|word| risc.signals.contains(&(word.address & !3)))
    };
    let others = launch.riscs.iter().filter(|risc| risc.risc != waiting.risc && signals(risc));
    others.map(|risc| risc.risc).collect()
}

fn labels(riscs: impl Iterator<Item = Risc>, separator: &str) -> String {
    riscs.map(|risc| risc.label()).collect::<Vec<_>>().join(separator)
}

fn state(risc: &StandingRisc) -> &'static str {
    match &risc.state {
        Standing::Ended => StandingRow::ENDED,
        Standing::WaitsFor(_) | Standing::Polls => StandingRow::WAITS,
        Standing::Unended { .. } => match risc.polls.is_empty() {
            true if risc.executed.len() > 1 => StandingRow::RUNS,
            true => StandingRow::STOPPED,
            false => StandingRow::WAITS,
        },
        Standing::Stopped(_) => StandingRow::STOPPED,
    }
}

/// The files of the code in which RISCs stand.
struct Files {
    /// Files in memory, by their address.
    loaded: BTreeMap<usize, Option<CodeFile>>,
    cache: KernelCache,
    notes: BTreeSet<String>,
}

impl Files {
    fn new(kernels: KernelsOf) -> Self {
        let folders = match kernels {
            KernelsOf::Run => Vec::new(),
            KernelsOf::Host(folders) => folders,
        };
        let (loaded, notes) = Default::default();
        Self { loaded, cache: KernelCache::new(folders), notes }
    }

    /// Writes the code, function and line of a RISC into its row.
    fn describe(&mut self, row: &mut StandingRow, risc: &StandingRisc) {
        "unknown".clone_into(&mut row.code);
        let Some(code) = &risc.code else { return };
        let kind = if code.is_firmware() { "firmware" } else { "kernel" };
        kind.clone_into(&mut row.code);
        match code {
            StandingCode::Loaded(code) => {
                let notes = &mut self.notes;
                let file = self.loaded.entry(code.elf().as_ptr().addr());
                let file = file.or_insert_with(|| parsed(code, notes));
                row.elf = Some(code.name().to_owned());
                row.address = code.linked.wrapping_add(row.address.wrapping_sub(code.loaded.start));
                describe_place(row, file.as_ref());
            }
            StandingCode::Kernel { first, words, .. } => {
                let offset = row.address.wrapping_sub(*first);
                row.address = offset;
                let instructions: Vec<_> = (0..).step_by(4).zip(words.iter().copied()).collect();
                let found = self.cache.find(risc.risc.label(), &instructions);
                let Some(CachedKernel { name, first_address, file }) = found else { return };
                row.elf = Some(name);
                row.address = first_address.wrapping_add(offset);
                describe_place(row, file);
            }
            StandingCode::Firmware => {}
        }
    }

    fn notes(self) -> BTreeSet<String> {
        self.notes.into_iter().chain(self.cache.notes).collect()
    }
}

/// Writes the function and line of a row's address into the row.
fn describe_place(row: &mut StandingRow, file: Option<&CodeFile>) {
    let Some(file) = file else { return };
    let mut line = LineRow { code: row.code.clone(), ..LineRow::default() };
    file.place(row.address).describe(&mut line);
    let LineRow { code, function, file, line, inlined_into, .. } = line;
    (row.code, row.function, row.file, row.line) = (code, function, file, line);
    row.inlined_into = inlined_into;
}

fn parsed(code: &LoadedCode, notes: &mut BTreeSet<String>) -> Option<CodeFile> {
    match CodeFile::parse(code.name(), code.elf()) {
        Ok(file) => {
            notes.extend(file.lack().filter(|_| !code.is_embedded() && !code.is_firmware));
            Some(file)
        }
        Err(error) => {
            notes.insert(error.to_string());
            None
        }
    }
}

/// Returns true if a RISC polls in its firmware.
fn stands_in_firmware(risc: &StandingRisc) -> bool {
    state(risc) == StandingRow::WAITS && risc.code.as_ref().is_some_and(StandingCode::is_firmware)
}

/// Who waits for whom in a launch.
#[derive(Default)]
struct Causes {
    /// For each RISC that waits: the RISCs that have signalled what it waits for, or have code that does,
    /// and that have not ended.
    waits: BTreeMap<Risc, Vec<Risc>>,
    /// RISCs that neither wait nor have ended.
    culprits: Vec<Risc>,
    /// RISCs that wait in firmware while another RISC is in its kernel: TT-Metal's waits for the end
    /// of kernels, or for the next launch.
    in_firmware: Vec<Risc>,
}

impl Causes {
    fn new(launch: &UnfinishedLaunch) -> Self {
        let mut causes = Self::default();
        // A RISC in its firmware signals nothing more: only kernels do.
        let is_in_kernel = |risc: Risc| {
            let found = launch.riscs.iter().find(|other| other.risc == risc);
            found.is_some_and(|other| {
                !matches!(other.state, Standing::Ended | Standing::WaitsFor(_))
            })
        };
        let has_kernel =
            launch.riscs.iter().any(|risc| is_in_kernel(risc.risc) && !stands_in_firmware(risc));
        for risc in &launch.riscs {
            if is_in_kernel(risc.risc) && has_kernel && stands_in_firmware(risc) {
                causes.in_firmware.push(risc.risc);
                continue;
            }
            let signallers: Vec<Risc> = match (state(risc), &risc.state) {
                (StandingRow::ENDED, _) => continue,
                (_, Standing::WaitsFor(other)) => vec![*other],
                (StandingRow::WAITS, _) => {
                    let by = risc.polls.iter().filter_map(|word| word.stored_by.as_ref());
                    let others = by.flatten().copied().filter(|other| *other != risc.risc);
                    let others: BTreeSet<Risc> =
                        others.chain(code_to_signal(launch, risc)).collect();
                    others.into_iter().filter(|other| is_in_kernel(*other)).collect()
                }
                _ => {
                    causes.culprits.push(risc.risc);
                    continue;
                }
            };
            causes.waits.insert(risc.risc, signallers);
        }
        causes
    }

    /// Returns the circle of RISCs of which each waits for the next alone, from this one on.
    fn circle(&self, risc: Risc) -> Option<Vec<Risc>> {
        let mut circle = vec![risc];
        loop {
            let [next] = self.waits.get(circle.last()?)?.as_slice() else { return None };
            if *next == risc {
                circle.push(risc);
                return Some(circle);
            }
            if circle.contains(next) {
                return None;
            }
            circle.push(*next);
        }
    }

    fn is_cause(&self, risc: &StandingRisc) -> Option<bool> {
        if self.culprits.contains(&risc.risc) || self.circle(risc.risc).is_some() {
            return Some(true);
        }
        let Some(hindered_by) = self.waits.get(&risc.risc) else { return Some(false) };
        if !hindered_by.is_empty() {
            return Some(false);
        }
        // Those that wait in their firmware hinder nobody.
        let others = self.waits.iter().filter(|(other, by)| **other != risc.risc && by.is_empty());
        if self.culprits.is_empty() && others.count() == 0 { Some(true) } else { None }
    }
}
