//! Records of waits and signals, decoded from lanes: sums, single waits, and upstream's zones.

use reader::{
    lane::{Record, ZoneIndex},
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

/// Counts of records of waits and signals, and of those that could not be used.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct SyncCounts {
    /// Sums of waits, one for each object that a kernel waited for.
    pub totals: u64,
    /// Single waits that blocked.
    pub waits: u64,
    /// Signals.
    pub signals: u64,
    /// Records of kinds that have no meaning yet, by number.
    pub unknown_kinds: BTreeMap<u8, u64>,
    /// Records with reserved bits set.
    pub malformed: u64,
    /// Records without their second value, for which a line of a device log has no room.
    pub without_cycles: u64,
    /// Upstream's zones of waits without a key, or without an end.
    pub incomplete_zones: u64,
}

impl SyncCounts {
    pub(crate) fn merge(&mut self, other: Self) {
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

    /// Returns true if anything was recorded of waits that can be used.
    #[must_use]
    pub const fn has_waits(&self) -> bool {
        self.totals > 0 || self.waits > 0
    }
}

/// Meaning of a zone's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SyncName {
    Total,
    /// A wait, of this kind where it is a zone.
    Wait(WaitKind),
    /// The key of upstream's zone.
    Key,
    Signal(SignalKind),
}

/// Zones whose records are waits and signals.
#[derive(Debug, Default)]
pub(crate) struct SyncNames(HashMap<ZoneIndex, SyncName>);

impl SyncNames {
    pub(crate) fn of_names(zones: &ZoneTable) -> Self {
        let named = zones.named_indices().filter_map(|(zone, name)| Some((zone, meaning(name)?)));
        Self(named.collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if the zone's records are waits or signals, not work.
    pub(crate) fn contains(&self, zone: ZoneIndex) -> bool {
        !self.0.is_empty() && self.0.contains_key(&zone)
    }
}

fn meaning(name: &str) -> Option<SyncName> {
    let wait = |name: &str| {
        Some(match name {
            CB_WAIT_ZONE => WaitKind::CB_WAIT,
            CB_RESERVE_ZONE => WaitKind::CB_RESERVE,
            SEM_WAIT_ZONE => WaitKind::SEM_WAIT,
            NOC_BARRIER_ZONE => WaitKind::NOC_FULL_BARRIER,
            _ => return None,
        })
    };
    if name == WAIT_TOTAL_ZONE {
        return Some(SyncName::Total);
    }
    if name.strip_suffix(KEY_SUFFIX).is_some_and(|name| wait(name).is_some()) {
        return Some(SyncName::Key);
    }
    wait(name).map(SyncName::Wait).or_else(|| SignalKind::of_zone_name(name).map(SyncName::Signal))
}

/// One wait that blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) kind: WaitKind,
    pub(crate) key: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// True if it went on: records end here, and nobody has ended it.
    pub(crate) is_open: bool,
}

/// One signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SignalAt {
    pub(crate) kind: SignalKind,
    pub(crate) signal: Signal,
    pub(crate) time: u64,
}

/// Windows of time outside of which a run has recorded no single waits and signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowsAt {
    pub(crate) windows: SyncWindows,
    /// Cycle at which one of them opens.
    pub(crate) opens: u64,
}

/// Waits and signals of one run of one lane, in the order of their records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunSync {
    pub(crate) totals: Vec<WaitTotal>,
    /// Ordered by their ends.
    pub(crate) waits: Vec<Wait>,
    pub(crate) signals: Vec<SignalAt>,
    /// `None` if single waits and signals were recorded all the time, or none of them was.
    pub(crate) windows: Option<WindowsAt>,
}

impl RunSync {
    pub(crate) fn is_empty(&self) -> bool {
        self.totals.is_empty() && self.waits.is_empty() && self.signals.is_empty()
    }

    /// When the last single wait or signal was recorded.
    fn last_time(&self) -> Option<u64> {
        let waits = self.waits.iter().map(|wait| wait.end);
        waits.chain(self.signals.iter().map(|signal| signal.time)).max()
    }

    /// Until when each wait is known in a run that has lost records; `None` if all are. Sums are
    /// written last, so that nothing before them was lost where there are any.
    pub(crate) fn known_until(&self) -> Option<u64> {
        if self.totals.is_empty() { self.last_time() } else { None }
    }

    /// The records between two cycles; a wait that goes on after them is open there.
    pub(crate) fn within(&self, start: u64, end: u64) -> Self {
        let waits = self.waits.iter().filter(|wait| wait.start < end && wait.end > start);
        let cut = |wait: &Wait| Wait {
            start: wait.start.max(start),
            end: wait.end.min(end),
            is_open: wait.end > end,
            ..*wait
        };
        let signals = self.signals.iter().filter(|at| (start..=end).contains(&at.time));
        Self {
            totals: Vec::new(),
            waits: waits.map(cut).collect(),
            signals: signals.copied().collect(),
            windows: None,
        }
    }

    /// The sums alone, as of a run that records nothing else.
    pub(crate) fn sums_alone(&self) -> Self {
        Self { totals: self.totals.clone(), ..Self::default() }
    }
}

/// Decoder of the records of one run.
#[derive(Debug)]
pub(crate) struct RunDecoder<'names> {
    names: &'names SyncNames,
    run: RunSync,
    /// Upstream's zones that are open: kind, start, key.
    open: Vec<(WaitKind, u64, Option<u32>)>,
}

impl<'names> RunDecoder<'names> {
    pub(crate) fn new(names: &'names SyncNames) -> Self {
        Self { names, run: RunSync::default(), open: Vec::new() }
    }

    /// Takes the next record.
    pub(crate) fn add(&mut self, record: &Record<'_>, counts: &mut SyncCounts) {
        let Some(&name) = self.names.0.get(&record.zone) else { return };
        match (name, record.kind, record.data) {
            (SyncName::Total, PacketKind::TimestampedData16B, &[first, second]) => {
                self.add_total([first, second], counts);
            }
            (SyncName::Wait(_), PacketKind::TimestampedData16B, &[first, second]) => {
                self.add_wait([first, second], record.time, counts);
            }
            (SyncName::Total | SyncName::Wait(_), PacketKind::TimestampedData, _) => {
                counts.without_cycles = counts.without_cycles.saturating_add(1);
            }
            (SyncName::Wait(kind), PacketKind::ZoneStart, _) => {
                self.open.push((kind, record.time, None));
            }
            (SyncName::Wait(kind), PacketKind::ZoneEnd, _) => {
                self.end_zone(kind, record.time, counts);
            }
            (SyncName::Key, PacketKind::TimestampedData, &[key]) => {
                if let Some((_, _, of_zone)) = self.open.last_mut() {
                    *of_zone = u32::try_from(key).ok();
                }
            }
            (SyncName::Signal(kind), PacketKind::TimestampedData, &[data]) => {
                counts.signals = counts.signals.saturating_add(1);
                let signal = Signal::from_data(data);
                self.run.signals.push(SignalAt { kind, signal, time: record.time });
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
                self.run.waits.push(Wait { kind, key, start, end, is_open: false });
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
        self.run.waits.push(Wait { kind, key, start: start.min(end), end, is_open: false });
    }

    /// Ends the run.
    pub(crate) fn finish(mut self, counts: &mut SyncCounts) -> Option<Box<RunSync>> {
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
    use reader::names::ZoneSource;
    use wire::ZoneId;

    fn names() -> (SyncNames, impl Fn(&str) -> ZoneIndex) {
        let mut zones = ZoneTable::new();
        let all = [
            "SYNC-WAIT-TOTAL",
            "SYNC-CB-WAIT",
            "SYNC-CB-WAIT-KEY",
            "SYNC-NOC-BARRIER",
            "SYNC-CB-PUSH",
            "work",
        ];
        let source = |name: &str| ZoneSource { name: name.into(), file: String::new(), line: 1 };
        let indices: HashMap<String, ZoneIndex> = all
            .iter()
            .map(|name| ((*name).to_owned(), zones.intern(ZoneId(u16::MAX), source(name))))
            .collect();
        (SyncNames::of_names(&zones), move |name: &str| indices[name])
    }

    /// Kind, name, time and data of each record.
    type Line<'a> = (PacketKind, &'a str, u64, &'a [u64]);

    fn decode(lines: &[Line<'_>]) -> (Option<Box<RunSync>>, SyncCounts) {
        let (names, zone) = names();
        let mut counts = SyncCounts::default();
        let mut decoder = RunDecoder::new(&names);
        for &(kind, name, time, data) in lines {
            decoder.add(&Record { kind, zone: zone(name), time, data }, &mut counts);
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
        let wait = |kind, key, start, end| Wait { kind, key, start, end, is_open: false };
        assert_eq!(
            run.waits,
            [wait(WaitKind::CB_WAIT, 7, 100, 400), wait(WaitKind::NOC_READ_BARRIER, 1, 600, 900)]
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
        // Windows of 2^4 in 2^6 cycles; the wait ended 5 cycles after one had opened.
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
