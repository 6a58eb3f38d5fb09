//! The loss ledger: what was emitted and did not arrive, by lane, program and cause.
//!
//! The ledger only adds up. The module that records a loss knows how it was found.

use crate::lane::LaneId;
use std::collections::{BTreeMap, BTreeSet};
use wire::{RunHostId, loss::LossCounts};

/// Why records are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LossCause {
    /// The RISC's L1 vector had no room.
    L1Full,
    /// The RISC's DRAM lane had no room.
    DramFull,
    /// The device said that it pushed a run, but DRAM does not hold it.
    NeverArrived,
    /// Words of a run cannot be markers and were skipped.
    Damaged,
    /// The host overwrote data before it was read.
    HostOverwritten,
    /// The firmware declared that no kernel ran in the launch, and left it out.
    ValidateOff,
    /// The write to DRAM was not done when the RISC that pushes stopped waiting for it.
    PushTimedOut,
    /// The RISC had not published its run when the one that pushes stopped waiting for it.
    NotPublished,
    /// The memory that held the records could not be read, and never can be.
    Unreadable,
    /// The memory that holds the records could not be read so far; a later read tries again.
    Unread,
    /// The ring of a RISC that streams had no room.
    RingFull,
    /// A RISC that streams wrote over cells before they were read, as its policy says.
    Overwritten,
    /// A RISC that streams left chunks out, as its policy says.
    Skipped,
}

impl LossCause {
    /// Every cause.
    pub const ALL: [Self; 13] = [
        Self::L1Full,
        Self::DramFull,
        Self::NeverArrived,
        Self::Damaged,
        Self::HostOverwritten,
        Self::ValidateOff,
        Self::PushTimedOut,
        Self::NotPublished,
        Self::Unreadable,
        Self::Unread,
        Self::RingFull,
        Self::Overwritten,
        Self::Skipped,
    ];

    /// A few words for tables.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::L1Full => "L1 full",
            Self::DramFull => "DRAM full",
            Self::NeverArrived => "never arrived",
            Self::Damaged => "damaged",
            Self::HostOverwritten => "host overwrote",
            Self::ValidateOff => "validate off",
            Self::PushTimedOut => "push timed out",
            Self::NotPublished => "not published in time",
            Self::Unreadable => "unreadable",
            Self::Unread => "not read",
            Self::RingFull => "ring full",
            Self::Overwritten => "overwritten",
            Self::Skipped => "skipped",
        }
    }

    /// Returns true if the device was configured to leave these records out, so that nothing
    /// failed.
    #[must_use]
    pub const fn is_intended(self) -> bool {
        matches!(self, Self::ValidateOff | Self::Skipped)
    }

    /// Returns true if whole launches of a lane may be missing. Otherwise every launch still has
    /// the start and the end of its firmware and its kernel, or none was to be recorded.
    #[must_use]
    pub const fn loses_launches(self) -> bool {
        !matches!(self, Self::L1Full | Self::ValidateOff)
    }
}

/// A stretch of time in which launches of a lane may be missing, on the clock of its tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LossWindow {
    /// Cycle after which the missing launches began; `None` if that cannot be known.
    pub after: Option<u64>,
    /// Cycle before which they ended; `None` if that cannot be known.
    pub before: Option<u64>,
    /// True if a launch of the lane that lies within the window may itself have lost the start
    /// or the end of its firmware or its kernel.
    pub may_cut_launches: bool,
}

impl LossWindow {
    /// Any time: nothing is known of when the launches were.
    pub const ANY_TIME: Self = Self { after: None, before: None, may_cut_launches: true };

    /// Any time, of whole launches alone.
    const UNREAD: Self = Self { may_cut_launches: false, ..Self::ANY_TIME };

    /// Returns true if something of the window lies between two cycles.
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

    /// Returns true if both cycles lie in the window or on its edges.
    #[must_use]
    pub fn holds(&self, from_cycle: u64, to_cycle: u64) -> bool {
        self.after.is_none_or(|after| after <= from_cycle)
            && self.before.is_none_or(|before| before >= to_cycle)
    }
}

/// The programs of several launches, by the first and the last of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramSpan {
    /// Program of the first launch.
    pub first: RunHostId,
    /// Program of the last launch; ids in between need not lie between the two.
    pub last: RunHostId,
}

impl ProgramSpan {
    /// The span of one launch.
    #[must_use]
    pub const fn of_launch(program: RunHostId) -> Self {
        Self { first: program, last: program }
    }

    /// The span of the launches of this one and of a later one.
    #[must_use]
    pub const fn and_later(self, later: Self) -> Self {
        Self { first: self.first, last: later.last }
    }

    /// The span of all the launches, where any is known; those of `later` came later.
    #[must_use]
    pub const fn joined(earlier: Option<Self>, later: Option<Self>) -> Option<Self> {
        match (earlier, later) {
            (Some(earlier), Some(later)) => Some(earlier.and_later(later)),
            (Some(span), None) | (None, Some(span)) => Some(span),
            (None, None) => None,
        }
    }
}

/// Kind of records that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LostKind {
    /// Whole zones.
    Zones,
    /// Timestamped data.
    Data,
    /// Events.
    Events,
    /// Sum totals.
    Sums,
    /// Marker slots (two words) whose kind cannot be known.
    UnknownMarkers,
}

impl LostKind {
    /// The kind as a key of formats: lower case, words joined by `_`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Zones => "zones",
            Self::Data => "data",
            Self::Events => "events",
            Self::Sums => "sums",
            Self::UnknownMarkers => "unknown_markers",
        }
    }
}

/// How many records are missing, by kind; zones count whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossTotals {
    /// True if more may be missing than is counted here.
    pub is_lower_bound: bool,
    /// Whole zones.
    pub zones: u64,
    /// Timestamped data.
    pub data: u64,
    /// Events.
    pub events: u64,
    /// Sum totals.
    pub sums: u64,
    /// Marker slots (two words) whose kind cannot be known.
    pub unknown_markers: u64,
    /// Launches among which those are that lost the records, where more than one can be.
    pub programs: Option<ProgramSpan>,
    /// Runs of which records are missing, where the device counts them; 0 where it does not.
    pub runs: u64,
}

impl LossTotals {
    /// The exact loss that a device has counted.
    #[must_use]
    pub fn of_counts(counts: LossCounts) -> Self {
        Self {
            zones: counts.zones.into(),
            data: counts.data.into(),
            events: counts.events.into(),
            ..Self::default()
        }
    }

    /// Markers of unknown kind, of which there may be more.
    #[must_use]
    pub fn at_least_markers(unknown_markers: u64) -> Self {
        Self { unknown_markers, is_lower_bound: true, ..Self::default() }
    }

    /// Adds another loss, of later launches, to this one.
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

    /// The counts, by kind.
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

    /// Records of every kind together.
    #[must_use]
    pub fn record_count(&self) -> u64 {
        self.counts().into_iter().fold(0, |sum, (_, count)| sum.saturating_add(count))
    }

    /// The loss in words, such as `at least 64 zones, 3 events`; `amount` writes a count of a kind.
    ///
    /// ```
    /// use reader::ledger::LossTotals;
    /// let totals = LossTotals { zones: 64, events: 3, ..LossTotals::default() };
    /// let text = totals.in_words(|kind, count| format!("{count} {}", kind.key()));
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

/// A source of records that does not say how much it lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum UncountedSource {
    /// A runtime on the chip that does not count: that of TT-Metal, or an older one of ours.
    ForeignRuntime,
    /// A log of TT-Metal.
    TtMetalLog,
    /// A capture whose writer did not say that it was done.
    UnfinishedCapture,
    /// A capture of which some bytes cannot be used.
    DamagedCapture,
}

impl UncountedSource {
    /// Every source.
    pub const ALL: [Self; 4] =
        [Self::ForeignRuntime, Self::TtMetalLog, Self::UnfinishedCapture, Self::DamagedCapture];

    /// Returns true if something went wrong; the others never say what they lost.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::UnfinishedCapture | Self::DamagedCapture)
    }

    /// A sentence about it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::ForeignRuntime => "the runtime on the chip does not count what it loses",
            Self::TtMetalLog => "TT-Metal's logs do not record losses",
            Self::UnfinishedCapture => "the capture was never finished",
            Self::DamagedCapture => "the capture is damaged",
        }
    }
}

/// Key of a loss: lane, cause and program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LossKey {
    /// Whose records.
    pub lane: LaneId,
    /// Why.
    pub cause: LossCause,
    /// The program that recorded them; `None` if that cannot be known.
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
    /// Windows of what is not read yet, which a later read may get.
    unread: BTreeMap<LaneId, LossWindow>,
}

impl LossLedger {
    /// Adds a loss to the entry of its key. If launches may be missing, they may be of any time.
    pub fn record(&mut self, key: LossKey, totals: LossTotals) {
        if key.cause == LossCause::Unread {
            return self.add_unread(key.lane, totals, None);
        }
        if key.cause.loses_launches() {
            let may_cut_launches = key.cause != LossCause::Unreadable;
            let window = LossWindow { may_cut_launches, ..LossWindow::ANY_TIME };
            self.note_window(key.lane, window);
        }
        self.add_in_windows(key, totals);
    }

    /// Adds what a lane holds unread, all of it of launches that began after a cycle of its tile;
    /// `None` if the lane was never read.
    pub fn add_unread(&mut self, lane: LaneId, totals: LossTotals, after: Option<u64>) {
        self.unread.insert(lane, LossWindow { after, ..LossWindow::UNREAD });
        self.add_in_windows(LossKey { lane, cause: LossCause::Unread, program: None }, totals);
    }

    /// Adds a loss of launches that lie in windows of their lane, which are
    /// [noted](Self::note_window) apart.
    pub fn add_in_windows(&mut self, key: LossKey, totals: LossTotals) {
        self.entries.entry(key).or_default().add(totals);
    }

    /// Says when launches of a lane may be missing.
    pub fn note_window(&mut self, lane: LaneId, window: LossWindow) {
        self.windows.entry(lane).or_default().insert(window);
    }

    /// When launches may be missing, lane by lane.
    pub fn windows(&self) -> impl Iterator<Item = (LaneId, &LossWindow)> {
        let noted = self.windows.iter();
        let noted = noted.flat_map(|(&lane, windows)| windows.iter().map(move |w| (lane, w)));
        noted.chain(self.unread.iter().map(|(&lane, window)| (lane, window)))
    }

    /// Moves the windows of every lane to another clock; the function is given the lane and a
    /// cycle of its tile.
    pub fn move_windows(&mut self, moved: impl Fn(LaneId, u64) -> u64) {
        let on_clock = |lane, window: LossWindow| {
            let cycle = |cycle: Option<u64>| cycle.map(|cycle| moved(lane, cycle));
            LossWindow { after: cycle(window.after), before: cycle(window.before), ..window }
        };
        for (&lane, windows) in &mut self.windows {
            let of_tile = std::mem::take(windows).into_iter();
            *windows = of_tile.map(|window| on_clock(lane, window)).collect();
        }
        for (&lane, window) in &mut self.unread {
            *window = on_clock(lane, *window);
        }
    }

    /// Says that some of the records come from a source that does not count what it loses, so
    /// that more may be missing than is counted.
    pub fn note_uncounted(&mut self, source: UncountedSource) {
        self.uncounted.insert(source);
    }

    /// Sources that do not count what they lose.
    pub fn uncounted(&self) -> impl Iterator<Item = UncountedSource> {
        self.uncounted.iter().copied()
    }

    /// Adds every entry of another ledger, which is of later launches.
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

    /// Adds what the next read of the same mesh found.
    ///
    /// Words that it could not read either are in `later` again, so that nothing is counted twice.
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

    /// Keeps the entries that are wanted, and the windows of their lanes; sources that do not count stay.
    pub fn retain(&mut self, mut is_wanted: impl FnMut(&LossKey, &LossTotals) -> bool) {
        self.entries.retain(|key, totals| is_wanted(key, totals));
        let lanes: BTreeSet<LaneId> = self.entries.keys().map(|key| key.lane).collect();
        self.windows.retain(|lane, _| lanes.contains(lane));
        self.unread.retain(|&lane, _| {
            let key = LossKey { lane, cause: LossCause::Unread, program: None };
            self.entries.contains_key(&key)
        });
    }

    /// Leaves what could not be read to another reader, which may or may not get it: from here on,
    /// how much of it is lost is unknown.
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

    /// Every entry, ordered by lane, cause and program.
    pub fn entries(&self) -> impl Iterator<Item = (&LossKey, &LossTotals)> {
        self.entries.iter()
    }

    /// Returns true if nothing is known to be missing; see [`Self::uncounted`] for sources that
    /// do not count their losses.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns true if everything that is known to be missing was left out on purpose.
    #[must_use]
    pub fn is_intended(&self) -> bool {
        self.entries.keys().all(|key| key.cause.is_intended())
    }

    /// Returns true if anything is missing, or may be, that was not left out on purpose.
    ///
    /// A source that never says what it lost is no failure.
    #[must_use]
    pub fn has_failures(&self) -> bool {
        !self.is_intended() || self.uncounted().any(UncountedSource::is_failure)
    }

    /// Everything that is missing.
    #[must_use]
    pub fn total(&self) -> LossTotals {
        self.sum_of(|_| true)
    }

    /// Everything that is missing and was not left out on purpose.
    #[must_use]
    pub fn unintended_total(&self) -> LossTotals {
        self.sum_of(|key| !key.cause.is_intended())
    }

    /// Everything that is missing for one cause.
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
