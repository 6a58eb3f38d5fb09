//! The rows of waits, and of the time that RISCs spent on the profiler.

use super::{
    rows::{Row, RowSink, TableRows},
    schema::TableKind,
    tables::DeviceRows,
    words::Words,
};
use crate::{Trace, TraceDevice, TraceLane};
use analysis::{
    Blocked, OwnTime, OwnZone, RunSync, SyncCounts, SyncDecoder, SyncName, Wait, WaitForm,
};
use parquet::data_type::ByteArray;
use wire::{
    PacketKind,
    wait::{WaitKind, WaitObject},
};

/// Texts of a kind of wait, encoded.
struct KindTexts {
    kind: ByteArray,
    object: ByteArray,
}

impl KindTexts {
    /// The texts; `None` of a number without a meaning.
    fn of(kind: WaitKind) -> Option<Self> {
        let object = match kind.object()? {
            WaitObject::CircularBuffer => "circular buffer",
            WaitObject::Semaphore => "semaphore",
            WaitObject::Noc => "NoC",
        };
        Some(Self { kind: ByteArray::from(kind.name()?), object: ByteArray::from(object) })
    }
}

/// Waits of one run of a lane; the run is `None` before the first.
type RunWaits = (Option<u32>, Box<RunSync>);

impl TableRows {
    /// Collects the rows of a device, as its file of a dataset has them: of `waits`, `wait_sums` or
    /// `profiler_time`; `None` of every other table.
    #[must_use]
    pub fn of_device(
        kind: TableKind,
        trace: &Trace<'_>,
        device: &TraceDevice<'_>,
        recording: &str,
    ) -> Option<Self> {
        let mut out = Self::empty(kind);
        let words = Words::new(recording, &trace.names);
        let rows = DeviceRows { trace, device, words: &words };
        let Ok(()) = match kind {
            TableKind::Waits => rows.write_waits(&mut out),
            TableKind::WaitSums => rows.write_wait_sums(&mut out),
            TableKind::ProfilerTime => rows.write_profiler_time(&mut out),
            _ => return None,
        };
        Some(out)
    }
}

impl<'a> DeviceRows<'_, 'a> {
    /// Every wait that was recorded by itself, lane by lane.
    pub(super) fn write_waits<S: RowSink>(self, out: &mut S) -> Result<(), S::Error> {
        self.for_each_run(|lane, (run, sync)| {
            for wait in &sync.waits {
                let Some(texts) = KindTexts::of(wait.kind) else { continue };
                out.row(|row| self.fill_wait(row, (lane, *run), wait, &texts))?;
            }
            Ok(())
        })
    }

    /// Every sum of waits, lane by lane: the kernel's own, else of the waits that are there.
    pub(super) fn write_wait_sums<S: RowSink>(self, out: &mut S) -> Result<(), S::Error> {
        self.for_each_run(|lane, (run, sync)| {
            for (object, sum) in sync.sums() {
                let Some(texts) = KindTexts::of(object.0) else { continue };
                let is_own = sync.totals.iter().any(|total| (total.kind, total.key) == object);
                out.row(|row| {
                    self.fill_object(row, (lane, *run), object.1, &texts);
                    let Blocked { waits, cycles, is_lower_bound } = sum;
                    row.number(waits).number(cycles).flag(is_lower_bound).flag(is_own);
                })?;
            }
            Ok(())
        })
    }

    /// Time of each lane in the profiler's own zones.
    pub(super) fn write_profiler_time<S: RowSink>(self, out: &mut S) -> Result<(), S::Error> {
        let kinds = OwnZone::ALL.map(|kind| (kind, ByteArray::from(kind.label())));
        let names = self.trace.names.as_slice();
        if names.iter().all(|name| OwnZone::ALL.iter().all(|of| of.zone_name() != name.label)) {
            return Ok(());
        }
        for lane in &self.device.lanes {
            for (kind, text) in &kinds {
                let zones = lane.zones.iter().filter(|zone| {
                    let name = names.get(zone.name.index());
                    !zone.has_synthetic_end
                        && name.is_some_and(|name| name.label == kind.zone_name())
                });
                let time = OwnTime::of_zones(zones.map(|zone| zone.duration_cycles));
                let Some(OwnTime { count, cycles, longest_cycles }) = time else { continue };
                out.row(|row| {
                    self.fill_lane(row, lane.id);
                    row.text(text).number(count).number(cycles).number(longest_cycles);
                })?;
            }
        }
        Ok(())
    }

    /// Calls `visit` with each run that has waits, lane by lane.
    fn for_each_run<E>(
        self,
        mut visit: impl FnMut(&TraceLane<'a>, &RunWaits) -> Result<(), E>,
    ) -> Result<(), E> {
        let names = self.trace.names.as_slice().iter();
        let names: Vec<_> = names.map(|name| SyncName::of(&name.label)).collect();
        if names.iter().all(Option::is_none) {
            return Ok(());
        }
        for lane in &self.device.lanes {
            for run in &runs_of(lane, &names) {
                visit(lane, run)?;
            }
        }
        Ok(())
    }

    fn fill_object(
        self,
        row: &mut Row<'_>,
        (lane, run): (&TraceLane<'a>, Option<u32>),
        key: u32,
        texts: &KindTexts,
    ) {
        self.fill_lane(row, lane.id);
        self.fill_run(row, lane, run);
        row.text(&texts.kind).text(&texts.object).narrow(key);
    }

    fn fill_wait(
        self,
        row: &mut Row<'_>,
        at: (&TraceLane<'a>, Option<u32>),
        wait: &Wait,
        texts: &KindTexts,
    ) {
        let clock = &self.device.clock;
        let (start_ns, end_ns) = (clock.time_ns(wait.start), clock.time_ns(wait.end));
        self.fill_object(row, at, wait.key, texts);
        row.number(wait.start)
            .number(wait.end.saturating_sub(wait.start))
            .nanoseconds(start_ns)
            .nanoseconds(end_ns.saturating_sub(start_ns))
            .maybe_signed(self.host_ns(start_ns))
            .maybe_flag((wait.form != WaitForm::Zone).then_some(true))
            .flag(wait.form == WaitForm::BlockedLonger);
    }
}

/// One record of a wait: its run, its time, its place among those of the same time, its name, kind
/// and data.
type Entry<'a> = (Option<u32>, u64, u8, SyncName, PacketKind, &'a [u64]);

/// Decodes the waits of a lane, run by run.
fn runs_of(lane: &TraceLane<'_>, names: &[Option<SyncName>]) -> Vec<RunWaits> {
    let name_of = |name: crate::NameId| names.get(name.index()).copied().flatten();
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for point in lane.points.iter() {
        if let Some(name) = name_of(point.name) {
            entries.push((point.run, point.cycle, 2, name, point.kind, point.values));
        }
    }
    for zone in lane.zones.iter() {
        let Some(name) = name_of(zone.name) else { continue };
        entries.push((zone.run, zone.start_cycle, 1, name, PacketKind::ZoneStart, &[]));
        if !zone.has_synthetic_end {
            let end = zone.start_cycle.saturating_add(zone.duration_cycles);
            let place = if zone.duration_cycles == 0 { 3 } else { 0 };
            entries.push((zone.run, end, place, name, PacketKind::ZoneEnd, &[]));
        }
    }
    // The key of a zone lies between its start and its end. Of two zones that meet, the first ends
    // before the second begins.
    entries.sort_by_key(|&(run, cycle, place, ..)| (run, cycle, place));
    let runs = entries.chunk_by(|one, other| one.0 == other.0);
    let decoded = runs.filter_map(|records| {
        let (mut decoder, mut counts) = (SyncDecoder::default(), SyncCounts::default());
        for &(_, time, _, name, kind, values) in records {
            decoder.add(name, (kind, time, values), &mut counts);
        }
        Some((records.first()?.0, decoder.finish(&mut counts)?))
    });
    decoded.collect()
}
