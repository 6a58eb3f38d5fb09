//! Records of waits and signals, decoded from lanes: sums, individual waits, and TT-Metal's zones.

use reader::{
    lane::{Annotated, Lane, ZoneIndex},
    names::ZoneTable,
};
use std::collections::{BTreeMap, HashMap};
use wire::{
    PacketKind,
    wait::{
        BlockedWait, CB_RESERVE_ZONE, CB_WAIT_ZONE, KEY_SUFFIX, NOC_BARRIER_ZONE, SEM_WAIT_ZONE,
        Signal, SignalKind, SyncWindows, WAIT_TOTAL_ZONE, WaitKind, WaitTotal, WindowedWait,
    },
};

/// Numbers of usable and of unusable records of waits and signals.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct SyncCounts {
    /// Number of records that contain the sum of a kernel's waits for one object.
    pub totals: u64,
    /// Number of individual waits, including TT-Metal's wait zones.
    pub waits: u64,
    /// Number of signals.
    pub signals: u64,
    /// Number of records of each unknown kind. The keys are the numbers of the kinds.
    pub unknown_kinds: BTreeMap<u8, u64>,
    /// Number of records that have reserved bits set, or a kind that does not match their name.
    pub malformed: u64,
    /// Number of records whose second value is missing, because a line of a device log has no space
    /// for it.
    pub without_cycles: u64,
    /// Number of TT-Metal's wait zones that lack a start, an end or the key of the object.
    pub incomplete_zones: u64,
}

impl SyncCounts {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: Self) {
        for (sum, more) in [
            (&mut self.totals, other.totals),
            (&mut self.waits, other.waits),
            (&mut self.signals, other.signals),
            (&mut self.malformed, other.malformed),
            (&mut self.without_cycles, other.without_cycles),
            (&mut self.incomplete_zones, other.incomplete_zones),
        ] {
            *sum = sum.saturating_add(more);
        }
        for (kind, count) in other.unknown_kinds {
            let sum = self.unknown_kinds.entry(kind).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Returns true if any usable wait was recorded.
    #[must_use]
    pub const fn has_waits(&self) -> bool {
        self.totals > 0 || self.waits > 0
    }
}

/// What a record of waits or signals contains, according to its zone name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncName {
    /// Sum of one kernel's waits for one object.
    Total,
    /// An individual wait of this kind, recorded as data or as a zone.
    Wait(WaitKind),
    /// The key (buffer, NoC or semaphore) of a wait that TT-Metal records as a zone.
    Key,
    /// A signal.
    Signal(SignalKind),
}

impl SyncName {
    /// Returns what a record with this zone name contains; `None` if it is neither a wait nor a
    /// signal.
    ///
    /// ```
    /// use analysis::SyncName;
    /// use wire::wait::WaitKind;
    /// assert_eq!(SyncName::from_name("SYNC-CB-WAIT"), Some(SyncName::Wait(WaitKind::CB_WAIT)));
    /// assert_eq!(SyncName::from_name("LoadData"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if name == WAIT_TOTAL_ZONE {
            return Some(Self::Total);
        }
        if name.strip_suffix(KEY_SUFFIX).is_some_and(|name| wait_kind(name).is_some()) {
            return Some(Self::Key);
        }
        wait_kind(name)
            .map(Self::Wait)
            .or_else(|| SignalKind::from_zone_name(name).map(Self::Signal))
    }
}

/// Zone indices of waits and signals, each with the content of its records.
#[derive(Debug, Default)]
pub struct SyncNames(HashMap<ZoneIndex, SyncName>);

impl SyncNames {
    /// Collects the names of waits and signals.
    #[must_use]
    pub fn from_names(zones: &ZoneTable) -> Self {
        let zones = zones.named_indices();
        let named = zones.filter_map(|(zone, name)| Some((zone, SyncName::from_name(name)?)));
        Self(named.collect())
    }

    /// Returns true if no zone is a wait or a signal.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the zone's records describe waits or signals, and not work of a kernel.
    #[must_use]
    pub fn contains(&self, zone: ZoneIndex) -> bool {
        !self.0.is_empty() && self.0.contains_key(&zone)
    }

    /// Decodes the waits and signals of each run of a lane; `None` for a run without any.
    pub fn runs_of(&self, lane: &Lane, counts: &mut SyncCounts) -> Vec<Option<Box<RunSync>>> {
        let mut runs = Vec::with_capacity(lane.runs.len());
        let mut decoder = SyncDecoder::default();
        for Annotated { record, run, .. } in lane.annotated_records() {
            let Some(run) = run else { continue };
            while runs.len() < run {
                runs.push(std::mem::take(&mut decoder).finish(counts));
            }
            if let Some(&name) = self.0.get(&record.zone) {
                decoder.add(name, (record.kind, record.time, record.data), counts);
            }
        }
        while runs.len() < lane.runs.len() {
            runs.push(std::mem::take(&mut decoder).finish(counts));
        }
        runs
    }
}

fn wait_kind(name: &str) -> Option<WaitKind> {
    Some(match name {
        CB_WAIT_ZONE => WaitKind::CB_WAIT,
        CB_RESERVE_ZONE => WaitKind::CB_RESERVE,
        SEM_WAIT_ZONE => WaitKind::SEM_WAIT,
        NOC_BARRIER_ZONE => WaitKind::NOC_FULL_BARRIER,
        _ => return None,
    })
}

/// One wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Kind of wait.
    pub kind: WaitKind,
    /// Number of the circular buffer or NoC, or L1 address of the semaphore.
    pub key: u32,
    /// Start cycle, on the clock of the lane's records.
    pub start: u64,
    /// End cycle, on the clock of the lane's records.
    pub end: u64,
    /// True if the wait was still in progress at the end of the recorded time.
    pub is_open: bool,
    /// How the wait was recorded.
    pub form: WaitForm,
}

/// How a wait was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitForm {
    /// Recorded as 16 bytes of data. Waits that did not block are not recorded in this form.
    Blocked,
    /// Recorded as 16 bytes of data with the maximum duration, 2³² - 1 cycles. The wait may have
    /// been longer.
    BlockedLonger,
    /// Recorded as a zone with the name that TT-Metal uses. Waits that did not block are recorded
    /// too.
    Zone,
}

/// One signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalAt {
    /// Kind of signal.
    pub kind: SignalKind,
    /// Buffer or semaphore to which the signal was sent.
    pub signal: Signal,
    /// Cycle of the signal's record.
    pub time: u64,
}

/// Cycles and number of waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocked {
    /// Total cycles.
    pub cycles: u64,
    /// Number of waits.
    pub waits: u64,
    /// True if the real values may be larger than recorded.
    pub is_lower_bound: bool,
}

impl Blocked {
    const fn add(&mut self, cycles: u64, waits: u64, is_lower_bound: bool) {
        self.cycles = self.cycles.saturating_add(cycles);
        self.waits = self.waits.saturating_add(waits);
        self.is_lower_bound |= is_lower_bound;
    }
}

/// Time windows of a run. Individual waits and signals outside the windows are not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowsAt {
    /// Length and period of the windows.
    pub windows: SyncWindows,
    /// Cycle at which one of the windows opens.
    pub opens: u64,
}

/// Waits and signals of one run of one lane, in the order of their records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunSync {
    /// Sums of waits, one per object.
    pub totals: Vec<WaitTotal>,
    /// Individual waits, sorted by end.
    pub waits: Vec<Wait>,
    /// Signals, sorted by time.
    pub signals: Vec<SignalAt>,
    /// Windows of the run; `None` if the run recorded all of its individual waits and signals, or
    /// none of them.
    pub windows: Option<WindowsAt>,
}

impl RunSync {
    /// Returns true if nothing was recorded.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.totals.is_empty() && self.waits.is_empty() && self.signals.is_empty()
    }

    /// Returns the time of the last individual wait or signal.
    fn last_time(&self) -> Option<u64> {
        let waits = self.waits.iter().map(|wait| wait.end);
        waits.chain(self.signals.iter().map(|signal| signal.time)).max()
    }

    /// Sums the waits by kind and key.
    ///
    /// A recorded sum is complete, but individual waits may cover only a window of time. So a
    /// recorded sum takes precedence over individual waits.
    #[must_use]
    pub fn sums(&self) -> BTreeMap<(WaitKind, u32), Blocked> {
        let mut sums: BTreeMap<_, Blocked> = BTreeMap::new();
        for wait in &self.waits {
            let is_lower_bound = wait.form == WaitForm::BlockedLonger || self.windows.is_some();
            let cycles = wait.end.saturating_sub(wait.start);
            sums.entry((wait.kind, wait.key)).or_default().add(cycles, 1, is_lower_bound);
        }
        let mut totals: BTreeMap<_, Blocked> = BTreeMap::new();
        for total in &self.totals {
            let is_lower_bound = total.cycles == u32::MAX || total.waits == u32::MAX;
            let sum = totals.entry((total.kind, total.key)).or_default();
            sum.add(total.cycles.into(), total.waits.into(), is_lower_bound);
        }
        sums.extend(totals);
        sums
    }

    /// Returns the cycle until which all waits of a run with lost records are known; `None` if no
    /// wait of the run is missing.
    ///
    /// Sums are the last records of a run. If they are present, no record of the run was lost.
    #[must_use]
    pub fn known_until(&self) -> Option<u64> {
        if self.totals.is_empty() { self.last_time() } else { None }
    }

    /// Returns the individual waits and signals between two cycles. A wait that continues after
    /// `end` is open in the result.
    #[must_use]
    pub fn within(&self, start: u64, end: u64) -> Self {
        let waits = self.waits.iter().filter(|wait| wait.start < end && wait.end > start);
        let signals = self.signals.iter().filter(|at| (start..=end).contains(&at.time));
        Self {
            totals: Vec::new(),
            waits: waits
                .map(|wait| Wait {
                    start: wait.start.max(start),
                    end: wait.end.min(end),
                    is_open: wait.end > end,
                    ..*wait
                })
                .collect(),
            signals: signals.copied().collect(),
            windows: None,
        }
    }

    /// Returns only the sums, as if the run had no other records.
    #[must_use]
    pub fn sums_alone(&self) -> Self {
        Self { totals: self.totals.clone(), ..Self::default() }
    }
}

/// Decoder of the records of one run.
///
/// ```
/// use analysis::{SyncCounts, SyncDecoder, SyncName};
/// use wire::PacketKind;
/// let mut counts = SyncCounts::default();
/// let mut decoder = SyncDecoder::default();
/// let name = SyncName::from_name("SYNC-CB-WAIT").unwrap();
/// // Buffer 7; the wait ended at cycle 900, after 300 cycles.
/// let record = (PacketKind::TimestampedData16B, 900, &[0x1_0000_0007, 300][..]);
/// decoder.add(name, record, &mut counts);
/// let run = decoder.finish(&mut counts).unwrap();
/// assert_eq!((run.waits[0].key, run.waits[0].start, run.waits[0].end), (7, 600, 900));
/// ```
#[derive(Debug, Default)]
pub struct SyncDecoder {
    run: RunSync,
    /// TT-Metal's wait zones that have not ended yet: kind, start cycle, and key of the object.
    open: Vec<(WaitKind, u64, Option<u32>)>,
}

impl SyncDecoder {
    /// Decodes the next record, given the meaning of its name, and its kind, time and data.
    pub fn add(
        &mut self,
        name: SyncName,
        (kind, time, data): (PacketKind, u64, &[u64]),
        counts: &mut SyncCounts,
    ) {
        match (name, kind, data) {
            (SyncName::Total, PacketKind::TimestampedData16B, &[first, second]) => {
                self.add_total([first, second], counts);
            }
            (SyncName::Wait(_), PacketKind::TimestampedData16B, &[first, second]) => {
                self.add_wait([first, second], time, counts);
            }
            (SyncName::Total | SyncName::Wait(_), PacketKind::TimestampedData, _) => {
                counts.without_cycles = counts.without_cycles.saturating_add(1);
            }
            (SyncName::Wait(kind), PacketKind::ZoneStart, _) => {
                self.open.push((kind, time, None));
            }
            (SyncName::Wait(kind), PacketKind::ZoneEnd, _) => self.end_zone(kind, time, counts),
            (SyncName::Key, PacketKind::TimestampedData, &[key]) => {
                if let Some((_, _, zone_key)) = self.open.last_mut() {
                    *zone_key = u32::try_from(key).ok();
                }
            }
            (SyncName::Signal(kind), PacketKind::TimestampedData, &[data]) => {
                counts.signals = counts.signals.saturating_add(1);
                let signal = Signal::from_data(data);
                self.run.signals.push(SignalAt { kind, signal, time });
            }
            _ => counts.malformed = counts.malformed.saturating_add(1),
        }
    }

    fn add_total(&mut self, data: [u64; 2], counts: &mut SyncCounts) {
        match WaitTotal::from_data(data) {
            Some(total) if total.kind.name().is_some() => {
                counts.totals = counts.totals.saturating_add(1);
                self.run.totals.push(total);
            }
            Some(total) => count_unknown(counts, total.kind),
            None => counts.malformed = counts.malformed.saturating_add(1),
        }
    }

    fn add_wait(&mut self, data: [u64; 2], end: u64, counts: &mut SyncCounts) {
        let windowed = WindowedWait::from_data(data);
        if let Some(WindowedWait { windows, phase, .. }) = windowed {
            let opens = end.saturating_add(windows.period().into()).saturating_sub(phase.into());
            self.run.windows.get_or_insert(WindowsAt { windows, opens });
        }
        match windowed.map(|windowed| windowed.wait).or_else(|| BlockedWait::from_data(data)) {
            Some(BlockedWait { kind, key, cycles }) if kind.name().is_some() => {
                counts.waits = counts.waits.saturating_add(1);
                let start = end.saturating_sub(cycles.into());
                let is_longer = cycles == u32::MAX;
                let form = if is_longer { WaitForm::BlockedLonger } else { WaitForm::Blocked };
                self.run.waits.push(Wait { kind, key, start, end, is_open: false, form });
            }
            Some(wait) => count_unknown(counts, wait.kind),
            None => counts.malformed = counts.malformed.saturating_add(1),
        }
    }

    fn end_zone(&mut self, kind: WaitKind, end: u64, counts: &mut SyncCounts) {
        let found = self.open.iter().rposition(|&(of, _, _)| of == kind);
        let open = found.map(|at| self.open.split_off(at));
        let Some((_, start, Some(key))) = open.and_then(|open| open.first().copied()) else {
            counts.incomplete_zones = counts.incomplete_zones.saturating_add(1);
            return;
        };
        counts.waits = counts.waits.saturating_add(1);
        let (start, form) = (start.min(end), WaitForm::Zone);
        self.run.waits.push(Wait { kind, key, start, end, is_open: false, form });
    }

    /// Ends the run; returns `None` if it has no waits or signals.
    #[must_use]
    pub fn finish(mut self, counts: &mut SyncCounts) -> Option<Box<RunSync>> {
        let open = self.open.len() as u64;
        counts.incomplete_zones = counts.incomplete_zones.saturating_add(open);
        self.run.waits.sort_by_key(|wait| wait.end);
        self.run.signals.sort_by_key(|signal| signal.time);
        (!self.run.is_empty()).then(|| Box::new(self.run))
    }
}

fn count_unknown(counts: &mut SyncCounts, kind: WaitKind) {
    let count = counts.unknown_kinds.entry(kind.0).or_default();
    *count = count.saturating_add(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kind, name, time and data of each record.
    type Line<'a> = (PacketKind, &'a str, u64, &'a [u64]);

    fn decode(lines: &[Line<'_>]) -> (Option<Box<RunSync>>, SyncCounts) {
        let mut counts = SyncCounts::default();
        let mut decoder = SyncDecoder::default();
        for &(kind, name, time, data) in lines {
            if let Some(name) = SyncName::from_name(name) {
                decoder.add(name, (kind, time, data), &mut counts);
            }
        }
        (decoder.finish(&mut counts), counts)
    }

    #[test]
    fn each_form_of_a_record_is_understood() {
        use PacketKind::{TimestampedData, TimestampedData16B, ZoneEnd, ZoneStart};
        let (run, counts) = decode(&[
            (ZoneStart, "SYNC-CB-WAIT", 100, &[]),
            (TimestampedData, "SYNC-CB-WAIT-KEY", 110, &[7]),
            (ZoneEnd, "SYNC-CB-WAIT", 400, &[]),
            (TimestampedData, "SYNC-CB-PUSH", 450, &[16]),
            (TimestampedData16B, "SYNC-NOC-BARRIER", 900, &[0x4_0000_0001, 300]),
            (TimestampedData16B, "SYNC-WAIT-TOTAL", 990, &[0x2_0000_0010, 0x3_0000_0064]),
        ]);
        let run = run.unwrap();
        let wait =
            |kind, key, start, end, form| Wait { kind, key, start, end, is_open: false, form };
        assert_eq!(
            run.waits,
            [
                wait(WaitKind::CB_WAIT, 7, 100, 400, WaitForm::Zone),
                wait(WaitKind::NOC_READ_BARRIER, 1, 600, 900, WaitForm::Blocked),
            ]
        );
        let total = WaitTotal { kind: WaitKind::CB_RESERVE, key: 16, cycles: 100, waits: 3 };
        assert_eq!(run.totals, [total]);
        assert_eq!((run.signals[0].time, run.signals[0].kind), (450, SignalKind::CbPush));
        assert_eq!((counts.totals, counts.waits, counts.signals), (1, 2, 1));
        assert_eq!((counts.malformed, counts.incomplete_zones), (0, 0));
    }

    #[test]
    fn a_wait_tells_the_windows_of_its_run() {
        use PacketKind::TimestampedData16B;
        // Windows of 2^4 cycles, every 2^6 cycles. The wait ended 5 cycles after a window had
        // opened.
        let upper = 6 << 57 | 4 << 52 | 5 << 32;
        let line = (TimestampedData16B, "SYNC-CB-WAIT", 900_u64, &[0x1_0000_0007, upper | 300][..]);
        let (run, counts) = decode(&[line]);
        let run = run.unwrap();
        let WindowsAt { windows, opens } = run.windows.unwrap();
        assert_eq!((windows.length(), windows.period(), opens), (16, 64, 895 + 64));
        assert_eq!((run.waits[0].start, run.waits[0].end, run.waits[0].key), (600, 900, 7));
        assert_eq!((counts.waits, counts.malformed), (1, 0));
    }

    #[test]
    fn records_that_cannot_be_used_are_counted_by_reason() {
        use PacketKind::{TimestampedData, TimestampedData16B, ZoneEnd, ZoneStart};
        let (run, counts) = decode(&[
            (TimestampedData16B, "SYNC-CB-WAIT", 10, &[0x63_0000_0001, 5]),
            (TimestampedData16B, "SYNC-WAIT-TOTAL", 20, &[0x63_0000_0001, 5]),
            (TimestampedData16B, "SYNC-CB-WAIT", 30, &[1 << 40, 5]),
            (TimestampedData, "SYNC-WAIT-TOTAL", 40, &[0x1_0000_0001]),
            (ZoneStart, "SYNC-CB-WAIT", 50, &[]),
            (ZoneEnd, "SYNC-CB-WAIT", 60, &[]),
            (ZoneEnd, "SYNC-CB-WAIT", 70, &[]),
            (ZoneStart, "SYNC-CB-WAIT", 80, &[]),
            (ZoneStart, "work", 90, &[]),
        ]);
        assert_eq!(run, None);
        assert_eq!(counts.unknown_kinds, BTreeMap::from([(0x63, 2)]));
        assert_eq!((counts.malformed, counts.without_cycles), (1, 1));
        assert_eq!((counts.incomplete_zones, counts.has_waits()), (3, false));
    }
}
