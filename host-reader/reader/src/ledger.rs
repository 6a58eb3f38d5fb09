//! The loss ledger: counts of missing records, by lane, program and cause.
//!
//! The ledger only adds up losses. The modules that detect losses determine the cause.

use crate::lane::LaneId;
use std::collections::{BTreeMap, BTreeSet};
use wire::{RunHostId, loss::LossCounts};

crate::labelled! {
    /// Cause of missing records.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum LossCause {
        /// The RISC's L1 vector had no room.
        L1Full = "L1 full",
        /// The RISC's DRAM lane had no room.
        DramFull = "DRAM full",
        /// The device reported a push of a run, but DRAM does not contain the run.
        NeverArrived = "never arrived",
        /// Some words of a run are not valid markers and were skipped.
        Damaged = "damaged",
        /// The host overwrote data in DRAM before reading it.
        HostOverwritten = "host overwrote",
        /// The firmware found that no kernel ran on the core in a launch, and discarded the
        /// records.
        ValidateOff = "validate off",
        /// The write of a run to DRAM was not complete when the RISC that pushes the core's runs
        /// stopped waiting for the write.
        PushTimedOut = "push timed out",
        /// The RISC had not yet reported that its run in L1 is complete when the RISC that pushes
        /// the core's runs stopped waiting for the report.
        NotPublished = "not published in time",
        /// The memory with the records could not be read, and no later read can succeed.
        Unreadable = "unreadable",
        /// The memory with the records could not be read yet; a later read tries again.
        Unread = "not read",
        /// The ring of a streaming RISC had no room.
        RingFull = "ring full",
        /// A streaming RISC overwrote cells before the host read them, as its policy allows.
        Overwritten = "overwritten",
        /// A streaming RISC skipped chunks, as its policy allows.
        Skipped = "skipped",
    }
}

impl LossCause {
    /// Returns true if the device was configured to omit these records, so the loss is not a
    /// failure.
    #[must_use]
    pub const fn is_intended(self) -> bool {
        matches!(self, Self::ValidateOff | Self::Skipped)
    }

    /// Returns true if whole launches of a lane may be missing.
    ///
    /// If false, every recorded launch has the start and the end of its firmware zone and of its
    /// kernel zone. The result is false for [`Self::ValidateOff`], because the discarded launches
    /// ran no kernel.
    #[must_use]
    pub const fn loses_launches(self) -> bool {
        !matches!(self, Self::L1Full | Self::ValidateOff)
    }
}

/// An interval in which launches of a lane may be missing, in cycles of the clock of the lane's
/// tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LossWindow {
    /// The missing launches began after this cycle; `None` if unknown.
    pub after: Option<u64>,
    /// The missing launches ended before this cycle; `None` if unknown.
    pub before: Option<u64>,
    /// True if a recorded launch in the window may lack the start or the end of its firmware zone
    /// or its kernel zone.
    pub may_cut_launches: bool,
}

impl LossWindow {
    /// The window that contains all times, for missing launches whose time is unknown.
    pub const ANY_TIME: Self = Self { after: None, before: None, may_cut_launches: true };

    /// The window that contains all times, if only whole launches may be missing.
    const UNREAD: Self = Self { may_cut_launches: false, ..Self::ANY_TIME };

    fn moved(self, moved: impl Fn(u64) -> u64) -> Self {
        Self { after: self.after.map(&moved), before: self.before.map(&moved), ..self }
    }

    /// Returns true if the window overlaps the interval between two cycles.
    ///
    /// ```
    /// use reader::ledger::LossWindow;
    /// let window = LossWindow { after: Some(100), before: Some(200), may_cut_launches: false };
    /// assert!(window.touches(150, 300) && window.touches(50, 150));
    /// assert!(!window.touches(200, 300) && !window.touches(0, 100));
    /// ```
    #[must_use]
    pub fn touches(&self, from_cycle: u64, to_cycle: u64) -> bool {
        self.after.is_none_or(|after| after < to_cycle)
            && self.before.is_none_or(|before| before > from_cycle)
    }

    /// Returns true if both cycles are in the window or at its edges.
    #[must_use]
    pub fn holds(&self, from_cycle: u64, to_cycle: u64) -> bool {
        self.after.is_none_or(|after| after <= from_cycle)
            && self.before.is_none_or(|before| before >= to_cycle)
    }
}

/// The programs of the first and the last of several launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramSpan {
    /// Program of the first launch.
    pub first: RunHostId,
    /// Program of the last launch. Launches in between may have program ids outside the range from
    /// `first` to `last`.
    pub last: RunHostId,
}

impl ProgramSpan {
    /// Returns a span that contains only the launch of `program`.
    #[must_use]
    pub const fn for_launch(program: RunHostId) -> Self {
        Self { first: program, last: program }
    }

    /// Returns the span from the first launch of one span to the last launch of a later span. If
    /// one of the spans is unknown, returns the other span.
    #[must_use]
    pub const fn joined(earlier: Option<Self>, later: Option<Self>) -> Option<Self> {
        match (earlier, later) {
            (Some(Self { first, .. }), Some(Self { last, .. })) => Some(Self { first, last }),
            (span, None) | (None, span) => span,
        }
    }
}

crate::labelled! {
    /// Kind of missing records. File formats use the labels as keys, so labels are in lower case,
    /// with words joined by `_`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum LostKind {
        /// Whole zones.
        Zones = "zones",
        /// Timestamped data.
        Data = "data",
        /// Events.
        Events = "events",
        /// Totals of sum zones.
        Sums = "sums",
        /// Marker slots (two words) of unknown kind.
        UnknownMarkers = "unknown_markers",
    }
}

/// Numbers of missing records, by kind. A zone counts as one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct LossTotals {
    /// Whole zones.
    pub zones: u64,
    /// Timestamped data.
    pub data: u64,
    /// Events.
    pub events: u64,
    /// Totals of sum zones.
    pub sums: u64,
    /// Marker slots (two words) of unknown kind.
    pub unknown_markers: u64,
    /// True if the counts are lower bounds: more records may be missing.
    pub is_lower_bound: bool,
    /// Programs of the first and the last launch that may have lost the records; `None` if these
    /// programs are unknown or equal.
    #[serde(skip)]
    pub programs: Option<ProgramSpan>,
    /// Number of runs with missing records, if the device counts them; otherwise 0.
    #[serde(skip)]
    pub runs: u64,
}

impl LossTotals {
    /// Converts the values of a device's loss counters to a loss. The counts of the loss are exact,
    /// not lower bounds.
    #[must_use]
    pub fn from_counts(counts: LossCounts) -> Self {
        Self {
            zones: counts.zones.into(),
            data: counts.data.into(),
            events: counts.events.into(),
            ..Self::default()
        }
    }

    /// Returns a loss of at least `unknown_markers` markers of unknown kind.
    #[must_use]
    pub fn at_least_markers(unknown_markers: u64) -> Self {
        Self { unknown_markers, is_lower_bound: true, ..Self::default() }
    }

    /// Adds a loss of later launches to this loss.
    pub const fn add(&mut self, other: Self) {
        self.zones = self.zones.saturating_add(other.zones);
        self.data = self.data.saturating_add(other.data);
        self.events = self.events.saturating_add(other.events);
        self.sums = self.sums.saturating_add(other.sums);
        self.unknown_markers = self.unknown_markers.saturating_add(other.unknown_markers);
        self.is_lower_bound |= other.is_lower_bound;
        self.runs = self.runs.saturating_add(other.runs);
        self.programs = ProgramSpan::joined(self.programs, other.programs);
    }

    /// Returns each kind of record with the number of lost records of this kind.
    #[must_use]
    pub const fn counts(&self) -> [(LostKind, u64); 5] {
        [
            (LostKind::Zones, self.zones),
            (LostKind::Data, self.data),
            (LostKind::Events, self.events),
            (LostKind::Sums, self.sums),
            (LostKind::UnknownMarkers, self.unknown_markers),
        ]
    }

    /// Returns the number of missing records of all kinds.
    #[must_use]
    pub fn record_count(&self) -> u64 {
        self.counts().into_iter().fold(0, |sum, (_, count)| sum.saturating_add(count))
    }

    /// Formats the loss, for example `at least 64 zones, 3 events`.
    ///
    /// `amount` formats the count of one kind.
    ///
    /// ```
    /// use reader::ledger::LossTotals;
    /// let totals = LossTotals { zones: 64, events: 3, ..LossTotals::default() };
    /// let text = totals.in_words(|kind, count| format!("{count} {}", kind.label()));
    /// assert_eq!(text, "64 zones, 3 events");
    /// ```
    #[must_use]
    pub fn in_words(&self, amount: impl Fn(LostKind, u64) -> String) -> String {
        let known = self.counts().into_iter().filter(|&(_, count)| count > 0);
        let parts: Vec<String> = known.map(|(kind, count)| amount(kind, count)).collect();
        match (parts.is_empty(), self.is_lower_bound) {
            (true, _) => "an unknown number of records".to_owned(),
            (false, true) => format!("at least {}", parts.join(", ")),
            (false, false) => parts.join(", "),
        }
    }
}

/// Returns a count of lost records; `None` if nothing is known, which a lower bound of 0 says.
///
/// ```
/// use reader::ledger::known_count;
/// assert_eq!([known_count(0, false), known_count(3, true)], [Some(0), Some(3)]);
/// assert_eq!(known_count(0, true), None);
/// ```
#[must_use]
pub fn known_count(count: u64, is_lower_bound: bool) -> Option<u64> {
    (count > 0 || !is_lower_bound).then_some(count)
}

crate::labelled! {
    /// A source of records that does not count its losses.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum UncountedSource {
        /// A runtime on the chip without loss counters: TT-Metal's, or an older version of this
        /// project's runtime.
        ForeignRuntime = "the runtime on the chip does not count what it loses",
        /// A log from TT-Metal.
        TtMetalLog = "TT-Metal's logs do not record losses",
        /// Rings of kernels that were still running at the last read. A RISC writes a zone when the
        /// zone ends, and publishes eight cells at a time, so the ring has neither the open zones
        /// nor the last records.
        RunningStream = "streaming kernels had not ended; their open zones and last records are not in the rings",
        /// The ring of a RISC that has not announced the last launch of its core, because the ring was
        /// full: its records are counted as lost, but if it has not ended, its open zones are not.
        UnannouncedStream = "a streaming launch found no room in its ring to begin, so it is not known whether it has ended",
        /// Kernels that ran without profiling, because they do not compile with the profiler's header.
        UnprofiledKernel = "kernels that do not compile with kprof's header ran without profiling",
        /// A capture that its writer did not finish.
        UnfinishedCapture = "the capture was never finished",
        /// A capture with unusable bytes.
        DamagedCapture = "the capture is damaged",
    }
}

impl UncountedSource {
    /// Returns true if the source is faulty. A source that by design does not report losses is not
    /// faulty.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::UnfinishedCapture | Self::DamagedCapture)
    }
}

/// Key of a loss: lane, cause and program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LossKey {
    /// The lane that lost the records.
    pub lane: LaneId,
    /// The cause.
    pub cause: LossCause,
    /// The program whose records were lost; `None` if unknown.
    pub program: Option<RunHostId>,
}

/// All losses of a readout.
///
/// ```
/// use reader::{lane::LaneId, ledger::*, mesh::Noc0Coord};
/// use wire::{Risc, RunHostId};
/// let lane = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc };
/// let mut ledger = LossLedger::default();
/// let key = LossKey { lane, cause: LossCause::L1Full, program: Some(RunHostId(1024)) };
/// ledger.record(key, LossTotals { zones: 25, ..LossTotals::default() });
/// assert_eq!(ledger.by_cause(LossCause::L1Full).zones, 25);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossLedger {
    entries: BTreeMap<LossKey, LossTotals>,
    uncounted: BTreeSet<UncountedSource>,
    windows: BTreeMap<LaneId, BTreeSet<LossWindow>>,
    /// Windows of launches whose records have not been read. A later read may still return these
    /// records.
    unread: BTreeMap<LaneId, LossWindow>,
}

impl LossLedger {
    /// Adds a loss to the entry with this key. If whole launches may be missing, also adds a window
    /// of unknown time.
    pub fn record(&mut self, key: LossKey, totals: LossTotals) {
        if key.cause == LossCause::Unread {
            self.unread.insert(key.lane, LossWindow::UNREAD);
        } else if key.cause.loses_launches() {
            let may_cut_launches = key.cause != LossCause::Unreadable;
            let window = LossWindow { may_cut_launches, ..LossWindow::ANY_TIME };
            self.note_window(key.lane, window);
        }
        self.add_in_windows(key, totals);
    }

    /// Adds the unread records of a lane: a loss of launches that began after cycle `after`.
    ///
    /// `after` is a cycle of the tile's clock; `None` if the lane was never read.
    pub fn add_unread(&mut self, lane: LaneId, totals: LossTotals, after: Option<u64>) {
        self.unread.insert(lane, LossWindow { after, ..LossWindow::UNREAD });
        self.add_in_windows(LossKey { lane, cause: LossCause::Unread, program: None }, totals);
    }

    /// Adds a loss to the entry with this key, without adding a window of time.
    ///
    /// The windows of the lane are added separately, with [`Self::note_window`].
    pub fn add_in_windows(&mut self, key: LossKey, totals: LossTotals) {
        self.entries.entry(key).or_default().add(totals);
    }

    /// Adds a window of time in which launches of a lane may be missing.
    pub fn note_window(&mut self, lane: LaneId, window: LossWindow) {
        self.windows.entry(lane).or_default().insert(window);
    }

    /// Iterates over the windows in which launches may be missing, lane by lane.
    pub fn windows(&self) -> impl Iterator<Item = (LaneId, &LossWindow)> {
        let noted = self.windows.iter();
        let noted = noted.flat_map(|(&lane, windows)| windows.iter().map(move |w| (lane, w)));
        noted.chain(self.unread.iter().map(|(&lane, window)| (lane, window)))
    }

    /// Converts the windows of all lanes to another clock with the function `moved`.
    ///
    /// `moved` takes a lane and a cycle of the clock of the lane's tile. It returns the cycle of
    /// the other clock.
    pub fn move_windows(&mut self, moved: impl Fn(LaneId, u64) -> u64) {
        for (&lane, windows) in &mut self.windows {
            let tile_windows = std::mem::take(windows).into_iter();
            *windows =
                tile_windows.map(|window| window.moved(|cycle| moved(lane, cycle))).collect();
        }
        for (&lane, window) in &mut self.unread {
            *window = window.moved(|cycle| moved(lane, cycle));
        }
    }

    /// Notes that a source of records does not count its losses. The ledger's counts are then lower
    /// bounds.
    pub fn note_uncounted(&mut self, source: UncountedSource) {
        self.uncounted.insert(source);
    }

    /// Iterates over the sources that do not count their losses.
    pub fn uncounted(&self) -> impl Iterator<Item = UncountedSource> {
        self.uncounted.iter().copied()
    }

    /// Adds all entries of another ledger, whose launches must be later than those of this ledger.
    pub fn merge(&mut self, other: &Self) {
        self.uncounted.extend(&other.uncounted);
        for (&key, &totals) in &other.entries {
            self.add_in_windows(key, totals);
        }
        for (&lane, windows) in &other.windows {
            self.windows.entry(lane).or_default().extend(windows);
        }
        self.unread.extend(&other.unread);
    }

    /// Adds the results of the next read of the same mesh.
    ///
    /// Words that are still unread appear again in `later`, so this ledger's entries for unread
    /// words are dropped.
    ///
    /// ```
    /// use reader::{lane::LaneId, ledger::*, mesh::Noc0Coord};
    /// use wire::Risc;
    /// let lane = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc };
    /// let mut ledger = LossLedger::default();
    /// let key = LossKey { lane, cause: LossCause::Unread, program: None };
    /// ledger.record(key, LossTotals::at_least_markers(4));
    /// ledger.append_read(&LossLedger::default());
    /// assert!(ledger.is_empty(), "the next read got it");
    /// ```
    pub fn append_read(&mut self, later: &Self) {
        self.entries.retain(|key, _| key.cause != LossCause::Unread);
        self.unread.clear();
        self.merge(later);
    }

    /// Keeps only the entries for which `is_wanted` returns true, and the windows of their lanes.
    /// Uncounted sources are kept.
    pub fn retain(&mut self, mut is_wanted: impl FnMut(&LossKey, &LossTotals) -> bool) {
        self.entries.retain(|key, totals| is_wanted(key, totals));
        let lanes: BTreeSet<LaneId> = self.entries.keys().map(|key| key.lane).collect();
        self.windows.retain(|lane, _| lanes.contains(lane));
        let unread = self.entries.keys().filter(|key| key.cause == LossCause::Unread);
        let lanes: BTreeSet<LaneId> = unread.map(|key| key.lane).collect();
        self.unread.retain(|lane, _| lanes.contains(lane));
    }

    /// Converts the entries for unread data to losses of unknown amount.
    ///
    /// Call this method if another reader takes over the data. It is then unknown whether the data
    /// will be read.
    pub fn hand_over(&mut self) {
        let unread: Vec<_> =
            self.entries.keys().filter(|key| key.cause == LossCause::Unread).copied().collect();
        for key in unread {
            self.entries.remove(&key);
            let window = self.unread.remove(&key.lane).unwrap_or(LossWindow::UNREAD);
            self.note_window(key.lane, window);
            let key = LossKey { cause: LossCause::Unreadable, ..key };
            self.add_in_windows(key, LossTotals::at_least_markers(0));
        }
    }

    /// Iterates over all entries, ordered by lane, cause and program.
    pub fn entries(&self) -> impl Iterator<Item = (&LossKey, &LossTotals)> {
        self.entries.iter()
    }

    /// Returns true if there are no known losses.
    ///
    /// See [`Self::uncounted`] for sources that do not count their losses.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns true if all known losses were intended.
    #[must_use]
    pub fn is_intended(&self) -> bool {
        self.entries.keys().all(|key| key.cause.is_intended())
    }

    /// Returns true if there are, or may be, unintended losses.
    ///
    /// A source that by design does not report losses does not count as a failure.
    #[must_use]
    pub fn has_failures(&self) -> bool {
        !self.is_intended() || self.uncounted().any(UncountedSource::is_failure)
    }

    /// Returns the sum of all losses.
    #[must_use]
    pub fn total(&self) -> LossTotals {
        self.sum_of(|_| true)
    }

    /// Returns the sum of all unintended losses.
    #[must_use]
    pub fn unintended_total(&self) -> LossTotals {
        self.sum_of(|key| !key.cause.is_intended())
    }

    /// Returns the number of records that are known to be lost, and whether more may be. The number
    /// is `None` if nothing is known.
    ///
    /// ```
    /// use reader::ledger::{LossLedger, UncountedSource};
    /// let mut losses = LossLedger::default();
    /// assert_eq!(losses.known_losses(), (Some(0), false));
    /// losses.note_uncounted(UncountedSource::TtMetalLog);
    /// assert_eq!(losses.known_losses(), (None, true));
    /// ```
    #[must_use]
    pub fn known_losses(&self) -> (Option<u64>, bool) {
        let total = self.unintended_total();
        let is_lower_bound = total.is_lower_bound || self.uncounted().next().is_some();
        (known_count(total.record_count(), is_lower_bound), is_lower_bound)
    }

    /// Returns the sum of all records that were omitted on purpose.
    #[must_use]
    pub fn intended_total(&self) -> LossTotals {
        self.sum_of(|key| key.cause.is_intended())
    }

    /// Returns the sum of all losses with one cause.
    #[must_use]
    pub fn by_cause(&self, cause: LossCause) -> LossTotals {
        self.sum_of(|key| key.cause == cause)
    }

    fn sum_of(&self, wanted: impl Fn(&LossKey) -> bool) -> LossTotals {
        let mut sum = LossTotals::default();
        for (_, &totals) in self.entries.iter().filter(|(key, _)| wanted(key)) {
            sum.add(totals);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Noc0Coord;
    use wire::Risc;

    #[test]
    fn unread_records_of_a_known_program_keep_their_program_and_window() {
        let lane = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc };
        let key = LossKey { lane, cause: LossCause::Unread, program: Some(RunHostId(7)) };
        let mut ledger = LossLedger::default();
        ledger.record(key, LossTotals::at_least_markers(4));
        ledger.retain(|_, _| true);
        assert_eq!(ledger.entries().map(|(key, _)| *key).collect::<Vec<_>>(), [key]);
        assert_eq!(ledger.windows().collect::<Vec<_>>(), [(lane, &LossWindow::UNREAD)]);
        ledger.append_read(&LossLedger::default());
        assert!(ledger.is_empty() && ledger.windows().next().is_none());
    }
}
