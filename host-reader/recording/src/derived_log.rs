//! Notes beside logs that were made by a simulation or from a capture.
//!
//! These logs have the same name as a measured log, `profile_log_device.csv`. Next to each of them is a
//! note file with the log's length and checksum. Further lines of the note contain what the log
//! itself has no room for: the limits of a chip that simulated times leave out, and what the run
//! knows of losses.

use reader::{
    lane::LaneId,
    ledger::{LossCause, LossKey, LossLedger, LossTotals, ProgramSpan},
    mesh::Noc0Coord,
    readout::Readout,
    simulated_time::SimulatedTime,
};
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};
use wire::{Risc, RunHostId};

/// Suffix of a note's file name.
const NOTE_ENDING: &str = ".derived";
/// Earlier suffix for notes of simulated logs; such notes are still accepted.
const EARLIER_NOTE_ENDING: &str = ".simulated";

/// First words of a note's line with a limit of a chip that simulated times leave out.
const LEAVES_OUT: &str = "simulated, leaves out: ";
/// First words of a note's line with a limit that the run lifted.
const LIFTS: &str = "simulated, lifts: ";
/// First words of a note's lines with the losses of the run. The first of these lines holds the
/// number of those that follow, so that a note that was cut is not taken for a whole one.
const LOSSES: &str = "losses: ";
/// Maximum size of a note that is read. A line of losses has about 100 bytes.
const NOTE_BYTES_MAX: u64 = 64 << 20;

/// Returns true if nothing measured is lost where a log is replaced: there is none, or its note says that a
/// simulation or a capture wrote it, and it has not changed since.
///
/// # Errors
/// If the log cannot be read.
pub fn is_replaceable(path: &Path) -> io::Result<bool> {
    if !path.exists() {
        return Ok(true);
    }
    let fingerprint = fingerprint(path)?;
    let mut notes = [NOTE_ENDING, EARLIER_NOTE_ENDING].into_iter();
    Ok(notes.any(|ending| read_note(path, ending).is_some_and(|(first, _)| first == fingerprint)))
}

/// What the note of a log says of the run that wrote the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Statement that the log's times are simulated.
    pub simulated: Option<SimulatedTime>,
    /// All losses of the run; `None` if the note does not state them.
    pub losses: Option<LossLedger>,
}

/// What is known of a log from the note beside it.
#[derive(Clone, Debug, PartialEq)]
pub enum Beside {
    /// There is no note, or it is of no use.
    Nothing,
    /// The log is the one that the note describes.
    Facts(Box<Facts>),
    /// The log differs from the one that a simulation wrote with the note.
    OfAnotherLog,
}

/// Returns what the note beside a log says.
///
/// ```
/// use reader::{ledger::LossLedger, readout::Readout, simulated_time::SimulatedTime};
/// use recording::derived_log::{Beside, beside, write_note};
/// let folder = tempfile::tempdir()?;
/// let log = folder.path().join("profile_log_device.csv");
/// std::fs::write(&log, "a log")?;
/// assert_eq!(beside(&log), Beside::Nothing);
/// let unmodelled = vec!["caches".to_owned()];
/// let simulated = Some(SimulatedTime { unmodelled, lifted: Vec::new() });
/// write_note(&log, &Readout { simulated, ..Readout::default() })?;
/// let Beside::Facts(facts) = beside(&log) else { panic!() };
/// assert_eq!(facts.losses, Some(LossLedger::default()));
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn beside(path: &Path) -> Beside {
    let Some((first, facts)) = read_note(path, NOTE_ENDING) else { return Beside::Nothing };
    match fingerprint(path) {
        Ok(fingerprint) if fingerprint == first => Beside::Facts(Box::new(facts)),
        Ok(_) if facts.losses.is_some() => Beside::OfAnotherLog,
        _ => Beside::Nothing,
    }
}

/// Returns the first line of a log's note, which is the log's fingerprint, and what the other lines
/// say.
fn read_note(path: &Path, ending: &str) -> Option<(String, Facts)> {
    let mut note = String::new();
    let file = File::open(note_path(path, ending)).ok()?;
    file.take(NOTE_BYTES_MAX).read_to_string(&mut note).ok()?;
    let mut lines = note.lines();
    let first = lines.next()?.trim_end().to_owned();
    let limits = |prefix| -> Vec<String> {
        let found = lines.clone().filter_map(|line| line.strip_prefix(prefix));
        found.map(str::to_owned).collect()
    };
    let simulated = SimulatedTime { unmodelled: limits(LEAVES_OUT), lifted: limits(LIFTS) };
    let simulated = (simulated != SimulatedTime::default()).then_some(simulated);
    let losses = losses_in(lines.filter_map(|line| line.strip_prefix(LOSSES)));
    Some((first, Facts { simulated, losses }))
}

/// Writes the note file for a new log, of a simulation or from a capture.
///
/// The losses are stated only for a simulated run that counts all of them: for other logs they are
/// what TT-Metal's logs say of them, which is nothing.
///
/// # Errors
/// If the file cannot be read, or the note cannot be written.
pub fn write_note(path: &Path, readout: &Readout) -> io::Result<()> {
    let note = note_path(path, NOTE_ENDING);
    let has_losses = readout.simulated.is_some() && readout.losses.uncounted().next().is_none();
    let mut text = fingerprint(path)?;
    text.push('\n');
    if let Some(SimulatedTime { unmodelled, lifted }) = &readout.simulated {
        unmodelled.iter().for_each(|limit| text += &format!("{LEAVES_OUT}{limit}\n"));
        lifted.iter().for_each(|limit| text += &format!("{LIFTS}{limit}\n"));
    }
    if has_losses {
        text += &format!("{LOSSES}{}\n", readout.losses.entries().count());
        readout.losses.entries().for_each(|loss| text += &loss_line(loss));
    }
    fs::write(&note, text)
}

/// Returns a line with a loss: lane, cause, program, counts, whether the counts are lower bounds,
/// number of runs, first and last program. `-` stands for what is unknown.
fn loss_line((key, totals): (&LossKey, &LossTotals)) -> String {
    let LaneId { chip_id, core, risc } = key.lane;
    let number = |number: Option<u32>| number.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let LossTotals { zones, data, events, sums, unknown_markers, is_lower_bound, runs, programs } =
        *totals;
    let counts = [zones, data, events, sums, unknown_markers, runs].map(|count| count.to_string());
    format!(
        "{LOSSES}{chip_id} {} {} {} {} {} {} {is_lower_bound} {} {}\n",
        core.x,
        core.y,
        risc.label(),
        key.cause.label().replace(' ', "_"),
        number(key.program.map(|program| program.0)),
        counts.join(" "),
        number(programs.map(|span| span.first.0)),
        number(programs.map(|span| span.last.0)),
    )
}

/// Returns the losses in the lines of a note; `None` if there are no such lines, or if a line is
/// missing or not understood.
fn losses_in<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<LossLedger> {
    let count: usize = lines.next()?.parse().ok()?;
    let losses: Vec<_> = lines.map(loss_in).collect::<Option<_>>()?;
    if losses.len() != count {
        return None;
    }
    let mut ledger = LossLedger::default();
    losses.into_iter().for_each(|(key, totals)| ledger.record(key, totals));
    Some(ledger)
}

fn loss_in(line: &str) -> Option<(LossKey, LossTotals)> {
    let fields: Vec<&str> = line.split(' ').collect();
    let &[
        chip_id,
        x,
        y,
        risc,
        cause,
        program,
        zones,
        data,
        events,
        sums,
        unknown,
        runs,
        bound,
        first,
        last,
    ] = fields.as_slice()
    else {
        return None;
    };
    let count = |text: &str| text.parse::<u64>().ok();
    let run_host_id = |text: &str| match text {
        "-" => Some(None),
        number => number.parse().ok().map(|id| Some(RunHostId(id))),
    };
    let core = Noc0Coord { x: x.parse().ok()?, y: y.parse().ok()? };
    let risc = Risc::ALL.into_iter().find(|one| one.label() == risc)?;
    let is_it = |one: &LossCause| one.label().replace(' ', "_") == cause;
    let key = LossKey {
        lane: LaneId { chip_id: chip_id.parse().ok()?, core, risc },
        cause: LossCause::ALL.iter().copied().find(is_it)?,
        program: run_host_id(program)?,
    };
    let span = run_host_id(first)?.zip(run_host_id(last)?);
    let totals = LossTotals {
        zones: count(zones)?,
        data: count(data)?,
        events: count(events)?,
        sums: count(sums)?,
        unknown_markers: count(unknown)?,
        is_lower_bound: bound.parse().ok()?,
        programs: span.map(|(first, last)| ProgramSpan { first, last }),
        runs: count(runs)?,
    };
    Some((key, totals))
}

fn note_path(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

/// Returns the length and the CRC-32 of a file as text.
fn fingerprint(path: &Path) -> io::Result<String> {
    let mut checksum = Checksum::default();
    let size_bytes = io::copy(&mut File::open(path)?, &mut checksum)?;
    Ok(format!("{size_bytes} bytes, CRC-32 {:08x}", checksum.0.finalize()))
}

/// CRC-32 of what is written to it.
#[derive(Default)]
struct Checksum(crc32fast::Hasher);

impl Write for Checksum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_replaceable_while_it_matches_a_note_of_either_ending() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("profile_log_device.csv");
        assert!(is_replaceable(&log).unwrap(), "there is none");
        fs::write(&log, "made up").unwrap();
        assert!(!is_replaceable(&log).unwrap(), "without a note");
        let unmodelled = vec!["NoC link rates".to_owned(), "compute time".to_owned()];
        let statement = SimulatedTime { unmodelled, lifted: vec!["DRAM".to_owned()] };
        let readout = Readout { simulated: Some(statement.clone()), ..Readout::default() };
        write_note(&log, &readout).unwrap();
        assert!(is_replaceable(&log).unwrap());
        let losses = Some(LossLedger::default());
        let facts = Facts { simulated: Some(statement), losses };
        assert_eq!(beside(&log), Beside::Facts(Box::new(facts)));
        fs::rename(note_path(&log, NOTE_ENDING), note_path(&log, EARLIER_NOTE_ENDING)).unwrap();
        assert!(is_replaceable(&log).unwrap());
        assert_eq!(beside(&log), Beside::Nothing);
        fs::rename(note_path(&log, EARLIER_NOTE_ENDING), note_path(&log, NOTE_ENDING)).unwrap();
        fs::write(&log, "measured").unwrap();
        assert_eq!(beside(&log), Beside::OfAnotherLog, "the note is about an earlier log");
        assert!(!is_replaceable(&log).unwrap(), "another text");
    }

    fn loss(cause: LossCause, zones: u64, is_known: bool) -> (LossKey, LossTotals) {
        let lane = LaneId { chip_id: 3, core: Noc0Coord { x: 17, y: 11 }, risc: Risc::Trisc2 };
        let program = is_known.then_some(RunHostId(0x8000_0400));
        let span = ProgramSpan { first: RunHostId(1024), last: RunHostId(4096) };
        let totals = LossTotals {
            zones,
            data: 2,
            events: 3,
            sums: 4,
            unknown_markers: u64::MAX,
            is_lower_bound: !is_known,
            programs: is_known.then_some(span),
            runs: 6,
        };
        (LossKey { lane, cause, program }, totals)
    }

    #[test]
    fn the_losses_of_a_run_are_in_the_note_of_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("profile_log_device.csv");
        fs::write(&log, "made up").unwrap();
        let mut readout =
            Readout { simulated: Some(SimulatedTime::default()), ..Readout::default() };
        for (number, &cause) in LossCause::ALL.iter().enumerate() {
            let (key, totals) = loss(cause, number as u64, number % 2 == 0);
            readout.losses.record(key, totals);
        }
        write_note(&log, &readout).unwrap();
        let losses_of = |found| match found {
            Beside::Facts(facts) => facts.losses,
            _ => None,
        };
        assert_eq!(losses_of(beside(&log)), Some(readout.losses.clone()));
        let path = note_path(&log, NOTE_ENDING);
        let whole = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = whole.lines().collect();
        for left in 1..lines.len() {
            fs::write(&path, lines[..left].join("\n")).unwrap();
            assert_eq!(losses_of(beside(&log)), None, "cut after {left} lines");
        }
        fs::write(&path, whole.replace("TRISC_2", "TRISC_9")).unwrap();
        assert_eq!(losses_of(beside(&log)), None, "not understood");
        let uncounted = reader::ledger::UncountedSource::ForeignRuntime;
        readout.losses.note_uncounted(uncounted);
        write_note(&log, &readout).unwrap();
        assert_eq!(losses_of(beside(&log)), None, "not all are known");
        let measured = Readout::default();
        write_note(&log, &measured).unwrap();
        assert_eq!(losses_of(beside(&log)), None, "not simulated");
    }
}
