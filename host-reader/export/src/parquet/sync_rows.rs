//! Rows of waits, and of the time that RISCs spent in the profiler.

use super::device_rows::{DeviceRows, DeviceTable, run_of, signed};
use crate::TraceLane;
use analysis::{OwnTime, OwnZone, RunSync, SyncCounts, SyncDecoder, SyncName, Wait, WaitForm};
use tables::{ProfilerTime, ProfilerTimeRow, WaitRow, WaitSumRow, WaitSums, Waits};
use wire::{
    PacketKind,
    wait::{WaitKind, WaitObject},
};

/// Returns the name of a kind of wait and the name of the object waited for; `None` for an unknown
/// kind.
fn labels_of(kind: WaitKind) -> Option<(&'static str, &'static str)> {
    let object = match kind.object()? {
        WaitObject::CircularBuffer => "circular buffer",
        WaitObject::Semaphore => "semaphore",
        WaitObject::Noc => "NoC",
    };
    Some((kind.name()?, object))
}

/// The waits of one run of a lane; the run is `None` for records before the first run.
type RunWaits = (Option<u32>, Box<RunSync>);

impl DeviceTable for Waits {
    fn for_each_row<E>(
        rows: DeviceRows<'_, '_>,
        mut visit: impl FnMut(&WaitRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        rows.for_each_run(|lane, (run, sync)| {
            let waits = sync.waits.iter();
            waits.filter_map(|wait| rows.wait(lane, *run, wait)).try_for_each(|row| visit(&row))
        })
    }
}

impl DeviceTable for WaitSums {
    /// Visits the sums recorded by the kernel or, if there are none, sums over the recorded waits.
    fn for_each_row<E>(
        rows: DeviceRows<'_, '_>,
        mut visit: impl FnMut(&WaitSumRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        rows.for_each_run(|lane, (run, sync)| {
            for ((kind, key), sum) in sync.sums() {
                let Some((kind_label, object)) = labels_of(kind) else { continue };
                let (op, run_host_id) = run_of(lane, *run);
                visit(&WaitSumRow {
                    place: rows.place(lane.id),
                    op,
                    run_host_id,
                    kind: kind_label.into(),
                    object: object.into(),
                    key,
                    waits: sum.waits,
                    total_cycles: sum.cycles,
                    is_lower_bound: sum.is_lower_bound,
                    is_from_kernel: sync
                        .totals
                        .iter()
                        .any(|total| (total.kind, total.key) == (kind, key)),
                })?;
            }
            Ok(())
        })
    }
}

impl DeviceTable for ProfilerTime {
    fn for_each_row<E>(
        rows: DeviceRows<'_, '_>,
        mut visit: impl FnMut(&ProfilerTimeRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let names = rows.trace.names.as_slice();
        if names.iter().all(|name| OwnZone::ALL.iter().all(|of| of.zone_name() != name.label)) {
            return Ok(());
        }
        for lane in &rows.device.lanes {
            for kind in OwnZone::ALL {
                let zones = lane.zones.iter().filter(|zone| {
                    let name = names.get(zone.name.index());
                    !zone.has_synthetic_end
                        && name.is_some_and(|name| name.label == kind.zone_name())
                });
                let time = OwnTime::from_zones(zones.map(|zone| zone.duration_cycles));
                let Some(OwnTime { count, cycles, longest_cycles }) = time else { continue };
                visit(&ProfilerTimeRow {
                    place: rows.place(lane.id),
                    kind: kind.label().into(),
                    count,
                    total_cycles: cycles,
                    max_cycles: longest_cycles,
                })?;
            }
        }
        Ok(())
    }
}

impl<'t, 'a> DeviceRows<'t, 'a> {
    /// Calls `visit` with each run that has waits, lane by lane.
    fn for_each_run<E>(
        self,
        mut visit: impl FnMut(&TraceLane<'a>, &RunWaits) -> Result<(), E>,
    ) -> Result<(), E> {
        let names = self.trace.names.as_slice().iter();
        let names: Vec<_> = names.map(|name| SyncName::from_name(&name.label)).collect();
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

    fn wait(self, lane: &TraceLane<'_>, run: Option<u32>, wait: &Wait) -> Option<WaitRow<'t>> {
        let (kind, object) = labels_of(wait.kind)?;
        let (op, run_host_id) = run_of(lane, run);
        let clock = &self.device.clock;
        let (start_ns, end_ns) = (clock.time_ns(wait.start), clock.time_ns(wait.end));
        Some(WaitRow {
            place: self.place(lane.id),
            op,
            run_host_id,
            kind: kind.into(),
            object: object.into(),
            key: wait.key,
            start_cycle: wait.start,
            duration_cycles: wait.end.saturating_sub(wait.start),
            start_ns: signed(start_ns),
            duration_ns: signed(end_ns.saturating_sub(start_ns)),
            start_host_ns: self.host_ns(start_ns),
            has_blocked: (wait.form != WaitForm::Zone).then_some(true),
            is_lower_bound: wait.form == WaitForm::BlockedLonger,
        })
    }
}

/// One record of a wait: its run, its time, its rank among records with the same time, and then its
/// name, kind and data.
type Entry<'a> = (Option<u32>, u64, u8, SyncName, PacketKind, &'a [u64]);

/// Decodes the waits of a lane, run by run.
fn runs_of(lane: &TraceLane<'_>, names: &[Option<SyncName>]) -> Vec<RunWaits> {
    let name_of = |name: crate::NameId| names.get(name.index()).copied().flatten();
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for point in &lane.points {
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
    // A zone's key is recorded between the zone's start and end. If one zone ends when another
    // begins, the end comes first.
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
