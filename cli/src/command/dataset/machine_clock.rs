//! Machines and clocks of hosts, as stored in captures, and the relations between these clocks.
//!
//! Hosts on one machine share the machine's monotonic clock. The clocks of hosts on different
//! machines are related by the time of day, if a service synchronizes the machines' times of day
//! and reports the error. Device logs and Tracy's files contain neither readings of the monotonic
//! clock nor readings of the time of day.

use chrono::{DateTime, NaiveDate};
use host_reader::{
    capture::{Capture, HostClock},
    clock::{DayOffset, DayProblem, DayReading},
    export::{MachineClock, RecordingSummary, Trace},
    recording::is_capture,
};
use std::{collections::BTreeMap, path::Path, rc::Rc};

/// Offset from a host's clock to the common clock of the merged hosts, with an error bound.
///
/// The offset is the number of nanoseconds by which the common clock is ahead of the host's clock.
/// The bound holds for the duration of one recording.
pub(super) type HostOffset = DayOffset;

/// Relation of a host's clock to the clocks of other hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KnownClock {
    /// One offset that applies to all of the host's recordings.
    Offset(HostOffset),
    /// Readings of the time of day, taken at known times of the machine's clock, and the offset of
    /// the host's time namespace.
    Day { readings: Rc<[DayReading]>, namespace_ns: i64 },
    /// Unknown relation, with the reason.
    Unknown(&'static str),
}

impl KnownClock {
    /// Returns true if the host's clock is not related to the clocks of other hosts.
    pub(super) const fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }

    /// Returns the offset from the host's clock to the common clock. The offset is for a recording
    /// that began at `origin_ns` on the host's clock and lasted `end_ns`.
    ///
    /// # Errors
    /// The reason why there is no offset.
    pub(super) fn offset(&self, origin_ns: i64, end_ns: u64) -> Result<HostOffset, &'static str> {
        let (readings, namespace_ns) = match self {
            Self::Offset(offset) => return Ok(*offset),
            Self::Unknown(reason) => return Err(reason),
            Self::Day { readings, namespace_ns } => (readings, *namespace_ns),
        };
        let range = DayProblem::OutOfRange.label();
        let origin_ns = origin_ns.checked_sub(namespace_ns).ok_or(range)?;
        let from_ns = u64::try_from(origin_ns).map_err(|_| range)?;
        let to_ns = from_ns.saturating_add(end_ns);
        let day = DayOffset::new(readings, from_ns, to_ns).map_err(DayProblem::label)?;
        let offset_ns = day.offset_ns.checked_sub(namespace_ns).ok_or(range)?;
        Ok(HostOffset { offset_ns, ..day })
    }
}

impl KnownClock {
    /// Returns the same offset as [`KnownClock::offset`], but for a recording in a dataset. The
    /// recording's row contains the offset to the time of day.
    pub(super) fn offset_of_summary(
        &self,
        summary: &RecordingSummary,
        origin_ns: i64,
    ) -> Result<HostOffset, &'static str> {
        match (self, summary.machine) {
            (Self::Day { .. }, Some(MachineClock { day, .. })) => day.map_err(DayProblem::label),
            _ => self.offset(origin_ns, summary.end_ns),
        }
    }
}

/// Returns the clock of the machine on which the recordings at a path were made.
///
/// Returns `None` if the clock is unknown, or if the recordings were made on several machines.
pub(super) fn machine_clock(path: &Path, trace: &Trace<'_>) -> Option<MachineClock> {
    let clocks = clocks_of(path);
    let Residence { boot_id, namespace_ns } = residence(&clocks).ok()?;
    let readings: Vec<DayReading> =
        clocks.iter().flat_map(|clock| clock.readings.iter().copied()).collect();
    let origin_ns = trace.origin_host_ns.and_then(|origin_ns| u64::try_from(origin_ns).ok());
    let day = origin_ns.ok_or(DayProblem::OutOfRange).and_then(|from_ns| {
        DayOffset::new(&readings, from_ns, from_ns.saturating_add(trace.end_ns()))
    });
    Some(MachineClock { boot_id: Some(boot_id), namespace_ns, day })
}

/// Returns the date of the first reading of the time of day; `None` if there is no reading.
pub(super) fn recorded_on(path: &Path) -> Option<NaiveDate> {
    let clocks = clocks_of(path);
    let day_ns =
        clocks.iter().flat_map(|clock| &clock.readings).map(|reading| reading.day_ns).min()?;
    Some(DateTime::from_timestamp_nanos(i64::try_from(day_ns).ok()?).date_naive())
}

/// Machine and time namespace of a host.
#[derive(Clone, Copy)]
struct Residence {
    boot_id: u128,
    namespace_ns: i64,
}

/// Relates the clocks of several hosts, either by the clock of a common machine or by the time of
/// day. `clocks` contains a list for each host, with the clock of each of its recordings.
///
/// The method that relates more hosts is chosen. If both relate the same number, the machine's
/// clock is chosen, because it has no error.
pub(super) fn known_clocks(clocks: &[Vec<HostClock>]) -> Vec<KnownClock> {
    let mut readings: BTreeMap<u128, Vec<DayReading>> = BTreeMap::new();
    let residences: Vec<_> = clocks.iter().map(|clocks| residence(clocks)).collect();
    for (clocks, residence) in clocks.iter().zip(&residences) {
        if let Ok(residence) = residence {
            let of_machine = readings.entry(residence.boot_id).or_default();
            of_machine.extend(clocks.iter().flat_map(on_machine));
        }
    }
    let readings: BTreeMap<u128, Rc<[DayReading]>> =
        readings.into_iter().map(|(boot_id, all)| (boot_id, all.into())).collect();
    let is_kept = |boot_id: u128| {
        let of_machine = readings.get(&boot_id).map(AsRef::as_ref).unwrap_or_default();
        of_machine.iter().any(|reading| reading.error_ns.is_some())
    };
    let known = || residences.iter().flatten();
    let count_on = |boot_id| known().filter(|residence| residence.boot_id == boot_id).count();
    let largest = known().map(|residence| residence.boot_id).rev().max_by_key(|&id| count_on(id));
    let by_day = known().filter(|residence| is_kept(residence.boot_id)).count();
    let machine = largest.filter(|&boot_id| count_on(boot_id) > 1 && count_on(boot_id) >= by_day);
    let clock = |residence: &Result<Residence, &'static str>| match *residence {
        Err(reason) => KnownClock::Unknown(reason),
        Ok(Residence { boot_id, namespace_ns }) => match machine {
            Some(machine) if machine == boot_id => namespace_ns
                .checked_neg()
                .map_or(KnownClock::Unknown(DayProblem::OutOfRange.label()), |offset_ns| {
                    KnownClock::Offset(HostOffset { offset_ns, error_ns: 0 })
                }),
            Some(_) => KnownClock::Unknown("it ran on a different machine than most hosts"),
            None if !is_kept(boot_id) => KnownClock::Unknown(DayProblem::Unbounded.label()),
            None => {
                let readings = readings.get(&boot_id).cloned().unwrap_or_default();
                KnownClock::Day { readings, namespace_ns }
            }
        },
    };
    residences.iter().map(clock).collect()
}

/// Returns the host clocks in a capture; empty for any other file and for an unreadable file.
///
/// An unreadable file is reported when its records are read.
pub(super) fn clocks_of(path: &Path) -> Vec<HostClock> {
    if !is_capture(path) {
        return Vec::new();
    }
    Capture::open(path).map_or_else(|_| Vec::new(), |capture| capture.host_clocks().collect())
}

/// Returns the host clock in a recording's row of a dataset; `None` if the row has no clock.
///
/// The clock has one placeholder reading. The times of the reading are never used, because
/// [`KnownClock::offset_of_summary`] returns the offset in the row. The reading only shows whether
/// the time of day was synchronized: if it was not, the reading has no error bound.
pub(super) fn clock_of_summary(summary: &RecordingSummary) -> Option<HostClock> {
    let MachineClock { boot_id, namespace_ns, day } = summary.machine?;
    let is_kept = day != Err(DayProblem::Unbounded);
    let error_ns = is_kept.then_some(0);
    // A large placeholder time: subtracting the offset of a time namespace cannot make it negative.
    let at_ns = 1 << 62;
    let reading = DayReading { before_ns: at_ns, day_ns: at_ns, after_ns: at_ns, error_ns };
    Some(HostClock { boot_id, namespace_ns, readings: vec![reading] })
}

/// Returns the machine and time namespace in which all recordings of a host were made.
fn residence(clocks: &[HostClock]) -> Result<Residence, &'static str> {
    let mut found: Option<Residence> = None;
    for clock in clocks {
        let Some(boot_id) = clock.boot_id else { return Err(UNTOLD) };
        let here = Residence { boot_id, namespace_ns: clock.namespace_ns };
        let first = *found.get_or_insert(here);
        if (first.boot_id, first.namespace_ns) != (here.boot_id, here.namespace_ns) {
            return Err("its recordings are of several machines, or of before and after a reboot");
        }
    }
    found.ok_or(UNTOLD)
}

const UNTOLD: &str = "its recording does not identify its machine";

/// Converts a host's readings of the time of day to the machine's clock. Omits readings whose time
/// would be negative on the machine's clock.
fn on_machine(clock: &HostClock) -> impl Iterator<Item = DayReading> {
    let shifted = |ns: u64| ns.checked_add_signed(clock.namespace_ns.checked_neg()?);
    clock.readings.iter().filter_map(move |reading| {
        let (before_ns, after_ns) = (shifted(reading.before_ns)?, shifted(reading.after_ns)?);
        Some(DayReading { before_ns, after_ns, ..*reading })
    })
}
