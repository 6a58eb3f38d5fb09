//! Where the RISCs stand in launches that did not end: functions and lines, what they wait for, and
//! which of them is the cause.

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
    machine::FailureReason,
    unfinished::{Standing, StandingRisc, UnfinishedLaunch},
};
use std::collections::{BTreeMap, BTreeSet};
use wire::{Risc, RunHostId};

/// Where RISCs stand.
#[derive(Default)]
pub(super) struct StandingRiscs {
    /// Rows, launch by launch; in a launch, the causes first.
    pub(super) rows: Vec<StandingRow>,
    /// Sentences about files without debug information.
    notes: BTreeSet<String>,
}

impl StandingRiscs {
    /// Finds the functions and lines, and the open zones in a readout.
    pub(super) fn new(launches: &[UnfinishedLaunch], readout: &Readout) -> Self {
        let mut found = Self::default();
        let mut files: BTreeMap<usize, Option<CodeFile>> = BTreeMap::new();
        for launch in launches {
            let causes = Causes::new(launch);
            let mut rows = Vec::new();
            for risc in &launch.riscs {
                let mut row = row(launch, risc, &causes);
                describe(&mut row, risc, &mut files, &mut found.notes);
                let core = Noc0Coord { x: launch.core.x, y: launch.core.y };
                let lane = LaneId { chip_id: launch.chip_id, core, risc: risc.risc };
                if let Some(OpenZone { name, start_cycle }) = OpenZone::of_lane(readout, lane) {
                    (row.zone, row.zone_start_cycle) = (Some(name), Some(start_cycle));
                }
                rows.push(row);
            }
            rows.sort_by_key(|row| match row.is_cause {
                Some(true) => 0,
                None => 1,
                Some(false) => 2,
            });
            found.rows.append(&mut rows);
        }
        found
    }

    /// Prints at most `launches_max` launches, unless JSON is printed.
    pub(super) fn print(&self, show: ShowArgs, launches_max: usize) {
        if show.json {
            return;
        }
        let mut launches: Vec<&[StandingRow]> =
            self.rows.chunk_by(|a, b| launch_of(a) == launch_of(b)).collect();
        let hidden_count = launches.len().saturating_sub(launches_max);
        launches.truncate(launches_max);
        for rows in launches {
            let [first, ..] = rows else { continue };
            let name = first
                .op
                .as_deref()
                .map_or_else(String::new, |name| format!(" of {}", printable(name, LONGEST_NAME)));
            note!(
                "kprof: chip {}, core ({},{}): launch {}{name} did not end",
                first.chip_id,
                first.core.0,
                first.core.1,
                first.launch
            );
            rows.iter().for_each(|row| note!("  {}", sentence(row)));
        }
        if hidden_count > 0 {
            let more = counted(hidden_count as u64, "more launch", "more launches");
            note!("kprof: {more} did not end on a core, --rows 0 shows all");
        }
        self.notes.iter().for_each(|sentence| note!("kprof: {sentence}"));
    }
}

fn launch_of(row: &StandingRow) -> (u32, (u32, u32), u64) {
    (row.chip_id, row.core, row.launch)
}

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
    if let Some(reason) = row.reason.as_ref().filter(|_| row.state == StandingRow::STOPPED) {
        text += &format!("; {reason}");
    }
    if let Some(circle) = &row.circle {
        text += &format!("; wait for each other: {circle}");
    }
    if let Some((zone, since)) = row.zone.as_deref().zip(row.zone_start_cycle) {
        let zone = if zone.is_empty() { "without a name" } else { zone };
        let zone = printable(zone, LONGEST_NAME);
        text += &format!("; zone {zone} open since cycle {}", grouped(since));
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
            let frames: Vec<String> = frames(&of_lines).iter().map(Frame::to_string).collect();
            format!(
                "{code}{} (pc {:#x})",
                printable(&frames.join(" < "), 4 * LONGEST_NAME),
                row.address
            )
        }
        None => format!("{code}an unknown function (pc {:#x})", row.address),
    }
}

fn row(launch: &UnfinishedLaunch, risc: &StandingRisc, causes: &Causes) -> StandingRow {
    let polled = risc.polls.first();
    let objects: Vec<String> = risc.polls.iter().map(|word| word.awaited.to_string()).collect();
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
            Standing::Failed(reason) => Some(reason.to_string()),
            _ => None,
        },
        address,
        is_moving: risc.earlier_pc.map(|_| risc.executed.len() > 1),
        waits_for,
        polled_address: polled.map(|word| word.address),
        polled_value: polled.and_then(|word| word.value),
        signalled_by: by.map(|riscs| labels(riscs.iter().copied(), ", ")),
        circle: causes.circle(risc.risc).map(|circle| labels(circle.iter().copied(), " -> ")),
        ..StandingRow::default()
    }
}

fn labels(riscs: impl Iterator<Item = Risc>, separator: &str) -> String {
    riscs.map(|risc| risc.label()).collect::<Vec<_>>().join(separator)
}

fn state(risc: &StandingRisc) -> &'static str {
    match &risc.state {
        Standing::Ended => StandingRow::ENDED,
        Standing::WaitsFor(_) | Standing::Polls => StandingRow::WAITS,
        Standing::Failed(FailureReason::CycleLimit { .. } | FailureReason::Deadlock) => {
            match risc.polls.is_empty() {
                true if risc.executed.len() > 1 => StandingRow::RUNS,
                true => StandingRow::STOPPED,
                false => StandingRow::WAITS,
            }
        }
        Standing::Failed(_) => StandingRow::STOPPED,
    }
}

/// Writes the code, function and line of a RISC into its row.
fn describe(
    row: &mut StandingRow,
    risc: &StandingRisc,
    files: &mut BTreeMap<usize, Option<CodeFile>>,
    notes: &mut BTreeSet<String>,
) {
    "unknown".clone_into(&mut row.code);
    let Some(code) = &risc.code else { return };
    let file = files.entry(code.elf().as_ptr().addr()).or_insert_with(|| parsed(code, notes));
    let kind = if code.is_firmware { "firmware" } else { "kernel" };
    kind.clone_into(&mut row.code);
    row.elf = Some(code.name().to_owned());
    row.address = code.linked.wrapping_add(row.address.wrapping_sub(code.loaded.start));
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
    state(risc) == StandingRow::WAITS && risc.code.as_ref().is_some_and(|code| code.is_firmware)
}

/// Who waits for whom in a launch.
#[derive(Default)]
struct Causes {
    /// For each RISC that waits: the RISCs that are known to signal what it waits for, and that have
    /// not ended.
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
                    others.filter(|other| is_in_kernel(*other)).collect()
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
