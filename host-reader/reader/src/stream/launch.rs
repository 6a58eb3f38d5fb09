//! Conversion of cells, which arrive in the order of zone ends, to a lane ordered by time.
//!
//! Two zones of a RISC are either nested or consecutive. If a launch's records are visited from
//! last to first, the starts and ends of its zones can therefore be produced in descending order of
//! time. On this walk, a zone becomes open when the walk reaches its end. The zone stays open until
//! the walk reaches a record that ended before the zone began.

use super::pieces::{Piece, Span, StreamRecord};
use crate::lane::{Lane, LaneId, RecordHead, Run, ZoneIndex};
use wire::{PacketKind, RunHostId, ZoneId};

/// Identity of a launch, as given by the launch's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaunchId {
    /// The low half of the launch number on the core.
    pub(crate) number: u16,
    /// The program of the launch.
    pub(crate) program: RunHostId,
    /// Number of trace replays that the core had counted when the launch began.
    pub(crate) trace_counter: u32,
}

/// A record of the current launch, stored until the launch is closed.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// Kind and id. For a zone, the kind is that of a zone start.
    head: RecordHead,
    start: u64,
    end: u64,
    /// Index of the record's first value in the `values` of [`LaneAssembly`].
    values: usize,
}

/// A lane that is built from the content of cells.
#[derive(Clone, Debug)]
pub(crate) struct LaneAssembly {
    id: LaneId,
    launch: Option<LaunchId>,
    /// True if earlier records of the current launch are already in the finished records.
    goes_on: bool,
    held: Vec<Held>,
    values: Vec<u64>,
    totals: Vec<(RecordHead, u64)>,
    /// Number of the cell that contains the earliest record of `held` and `totals`.
    origin: u64,
    ready: Lane,
}

impl LaneAssembly {
    pub(crate) const fn new(id: LaneId) -> Self {
        Self {
            id,
            launch: None,
            goes_on: false,
            held: Vec::new(),
            values: Vec::new(),
            totals: Vec::new(),
            origin: 0,
            ready: Lane::new(id),
        }
    }

    /// Returns the lane's identity.
    pub(crate) const fn id(&self) -> LaneId {
        self.id
    }

    /// Returns the launch to which the next records belong, if known.
    pub(crate) const fn launch(&self) -> Option<LaunchId> {
        self.launch
    }

    /// Adds a piece of parsed cells; `cell` is the number of the piece's first cell.
    pub(crate) fn add(&mut self, piece: &Piece<'_>, cell: u64) {
        match piece {
            Piece::Zones(zones) => {
                self.begin_at(cell);
                self.held.extend(zones.iter().map(held_zone));
            }
            Piece::Record(record) => self.add_record(record, cell),
            Piece::Damage(_) => {}
        }
    }

    fn add_record(&mut self, record: &StreamRecord, cell: u64) {
        let values = self.values.len();
        let point = |kind, id: ZoneId, time| Held {
            head: RecordHead::new(kind, ZoneIndex(id.0.into())),
            start: time,
            end: time,
            values,
        };
        match *record {
            StreamRecord::LongZone(span) => self.hold(held_zone(span), cell),
            StreamRecord::Event { id, time } => {
                self.hold(point(PacketKind::TimestampedEvent, id, time), cell);
            }
            StreamRecord::Data { id, time, value, second } => {
                let kind = match second {
                    None => PacketKind::TimestampedData,
                    Some(_) => PacketKind::TimestampedData16B,
                };
                self.values.extend([value].into_iter().chain(second));
                self.hold(point(kind, id, time), cell);
            }
            StreamRecord::Total { id, cycles } => {
                self.begin_at(cell);
                let head = RecordHead::new(PacketKind::ZoneTotal, ZoneIndex(id.0.into()));
                self.totals.push((head, cycles.into()));
            }
            StreamRecord::Launch { .. } | StreamRecord::Lost(_) | StreamRecord::Skipped(_) => {}
        }
    }

    fn hold(&mut self, record: Held, cell: u64) {
        self.begin_at(cell);
        self.held.push(record);
    }

    fn begin_at(&mut self, cell: u64) {
        if self.held.is_empty() && self.totals.is_empty() {
            self.origin = cell;
        }
    }

    /// Starts a launch. If the launch has already started, only updates its program and replay
    /// count.
    pub(crate) fn enter(&mut self, launch: LaunchId) {
        if self.launch == Some(launch) {
            return;
        }
        let is_other = self.launch.is_some_and(|before| before.number != launch.number);
        if is_other || self.launch.is_none() {
            self.close();
            self.goes_on = false;
        }
        self.launch = Some(launch);
    }

    /// Moves the records of the current launch to the finished records. The launch may still be
    /// running.
    pub(crate) fn close(&mut self) {
        if self.held.is_empty() && self.totals.is_empty() {
            return;
        }
        let lane = &mut self.ready;
        let launch = self.launch;
        let run = Run {
            program: launch.map_or(RunHostId(0), |launch| launch.program),
            trace_counter: launch.map_or(0, |launch| launch.trace_counter),
            trace: None,
            first_record: lane.record_count(),
            origin: self.origin,
            is_unfinished: false,
        };
        if lane.runs.is_empty() {
            lane.goes_on = self.goes_on;
            lane.runs.push(run);
        } else if !self.goes_on {
            lane.runs.push(run);
        }
        append_in_order(lane, &self.held, &self.values);
        let first = lane.times.get(run.first_record).copied().unwrap_or(0);
        for (head, cycles) in self.totals.drain(..) {
            lane.push(head, first, &[cycles]);
        }
        self.held.clear();
        self.values.clear();
        self.goes_on = true;
    }

    /// Moves the records of the current launch to the finished records. The launch had not ended at
    /// the last read.
    pub(crate) fn close_unfinished(&mut self) {
        self.close();
        if let Some(run) = self.ready.runs.last_mut().filter(|_| self.goes_on) {
            run.is_unfinished = true;
        }
    }

    /// Moves the current records to the finished records, and returns a new state that contains
    /// only the finished records.
    ///
    /// Call this function if cells are missing between the earlier cells and the next cells, and
    /// use the returned state for the next cells.
    pub(crate) fn abandon(&mut self) -> Self {
        self.close();
        Self { ready: self.take_ready(), ..Self::new(self.id) }
    }

    /// Removes the finished records from this state and returns them.
    pub(crate) fn take_ready(&mut self) -> Lane {
        std::mem::replace(&mut self.ready, Lane::new(self.id))
    }
}

fn held_zone(span: Span) -> Held {
    let head = RecordHead::new(PacketKind::ZoneStart, ZoneIndex(span.id.0.into()));
    Held { head, start: span.start, end: span.end, values: 0 }
}

/// Appends the starts and ends of `held` to a lane, ordered by time. The records in `held` are
/// ordered by their ends.
fn append_in_order(lane: &mut Lane, held: &[Held], values: &[u64]) {
    let mut backwards: Vec<(RecordHead, u64, usize)> = Vec::with_capacity(held.len());
    // Open zones, ordered by start: the walk has passed their ends but not their starts.
    let mut open: Vec<Held> = Vec::new();
    for record in held.iter().rev() {
        while let Some(zone) = open.pop_if(|zone| zone.start >= record.end) {
            backwards.push((zone.head, zone.start, 0));
        }
        if record.head.kind() != PacketKind::ZoneStart {
            backwards.push((record.head, record.end, record.values));
            continue;
        }
        backwards.push((record.head.end_of_start(), record.end, 0));
        let place = open.partition_point(|zone| zone.start <= record.start);
        open.insert(place, *record);
    }
    backwards.extend(open.into_iter().rev().map(|zone| (zone.head, zone.start, 0)));
    lane.heads.reserve(backwards.len());
    lane.times.reserve(backwards.len());
    for (head, time, first_value) in backwards.into_iter().rev() {
        let range = first_value..first_value.saturating_add(head.data_count());
        lane.push(head, time, values.get(range).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Noc0Coord;
    use wire::Risc;

    fn assembly(spans: &[(u16, u64, u64)]) -> LaneAssembly {
        let core = Noc0Coord { x: 1, y: 1 };
        let mut assembly = LaneAssembly::new(LaneId { chip_id: 0, core, risc: Risc::Brisc });
        add(&mut assembly, spans);
        assembly
    }

    fn add(assembly: &mut LaneAssembly, spans: &[(u16, u64, u64)]) {
        for &(id, start, end) in spans {
            let span = Span { id: ZoneId(id), start, end };
            assembly.add(&Piece::Record(StreamRecord::LongZone(span)), 0);
        }
    }

    fn edges(lane: &Lane) -> Vec<(u32, bool, u64)> {
        let records = lane.records();
        records
            .map(|record| (record.zone.0, record.kind == PacketKind::ZoneStart, record.time))
            .collect()
    }

    #[test]
    fn zones_are_in_the_order_of_their_starts_and_ends() {
        let mut assembly = assembly(&[(2, 20, 30), (3, 30, 35), (1, 10, 40), (4, 50, 60)]);
        assembly.close();
        let expected = [
            (1, true, 10),
            (2, true, 20),
            (2, false, 30),
            (3, true, 30),
            (3, false, 35),
            (1, false, 40),
            (4, true, 50),
            (4, false, 60),
        ];
        assert_eq!(edges(&assembly.take_ready()), expected);
    }

    #[test]
    fn zones_that_cross_leave_times_that_do_not_step_back() {
        let mut assembly = assembly(&[(2, 5, 30), (1, 10, 40), (3, 1, 50)]);
        assembly.close();
        let times = assembly.take_ready().times;
        assert_eq!(times, [1, 5, 10, 30, 40, 50]);
    }

    #[test]
    fn a_launch_that_is_given_out_in_parts_goes_on() {
        let launch = |number| LaunchId {
            number,
            program: RunHostId::encode(number.into(), 0),
            trace_counter: 0,
        };
        let mut assembly = assembly(&[]);
        assembly.enter(launch(1));
        add(&mut assembly, &[(1, 10, 20)]);
        assembly.close();
        let mut whole = assembly.take_ready();
        assert!(!whole.goes_on);
        add(&mut assembly, &[(2, 30, 40)]);
        assembly.enter(launch(2));
        add(&mut assembly, &[(3, 50, 60)]);
        assembly.close();
        let rest = assembly.take_ready();
        assert!(rest.goes_on);
        whole.append(rest);
        let runs: Vec<_> =
            whole.runs.iter().map(|run| (run.program.base(), run.first_record)).collect();
        assert_eq!(runs, [(1, 0), (2, 4)]);
    }
}
