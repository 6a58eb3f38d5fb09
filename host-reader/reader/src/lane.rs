//! Lanes: the decoded records of one RISC, in columns.
//!
//! The decoder and the log reader produce lanes; all later stages read them. A lane contains the
//! records in the order in which they were written, and no derived data. Other modules pair the
//! starts and ends of zones and compute nesting and statistics.

use crate::mesh::Noc0Coord;
use wire::{PacketKind, PacketType, Risc, RunHostId};

/// Identity of a lane: one RISC of one core of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId {
    /// Number of the chip.
    pub chip_id: u32,
    /// Core, on the NoC-0 grid.
    pub core: Noc0Coord,
    /// The RISC, a processor of the core.
    pub risc: Risc,
}

impl std::fmt::Display for LaneId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "chip {} core {} {}", self.chip_id, self.core, self.risc)
    }
}

/// Index of a zone in a [`crate::names::ZoneTable`].
///
/// An index below [`ZoneIndex::FIRST_INTERNED`] is the marker id itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZoneIndex(pub u32);

impl ZoneIndex {
    /// The first index that is not a marker id: ids have at most 18 bits.
    pub const FIRST_INTERNED: u32 = 1 << 18;
    /// The largest index that fits a [`RecordHead`].
    pub const MAX: u32 = (1 << 24) - 1;
}

/// Kind and zone of a record, packed into one word.
///
/// The kind is in the upper 8 bits, the zone in the lower 24 bits. A column of heads can be
/// reinterpreted as a column of `u32` words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct RecordHead(u32);

impl RecordHead {
    /// Packs a kind and a zone; an index above [`ZoneIndex::MAX`] is truncated.
    #[must_use]
    #[inline]
    pub const fn new(kind: PacketKind, zone: ZoneIndex) -> Self {
        Self(((kind as u32) << 24) | (zone.0 & ZoneIndex::MAX))
    }

    /// Packs the type and id of a marker. `packet_type` must be the number of a [`PacketKind`].
    #[inline]
    pub(crate) const fn from_marker(packet_type: PacketType, id: u32) -> Self {
        Self(((packet_type.0 as u32) << 24) | id)
    }

    /// Returns the kind of the record.
    #[must_use]
    #[inline]
    pub const fn kind(self) -> PacketKind {
        PacketKind::numbered((self.0 >> 24) as u64)
    }

    /// Returns the zone, event or data id of the record.
    #[must_use]
    #[inline]
    pub const fn zone(self) -> ZoneIndex {
        ZoneIndex(self.0 & ZoneIndex::MAX)
    }

    /// Returns true if the record is the start or the end of a zone.
    #[inline]
    pub(crate) const fn is_endpoint(self) -> bool {
        self.0 >> 24 <= PacketKind::ZoneEnd as u32
    }

    /// Converts the head of a zone's start to the head of the zone's end.
    #[inline]
    pub(crate) const fn end_of_start(self) -> Self {
        Self(self.0 | (PacketKind::ZoneEnd as u32) << 24)
    }

    /// Returns how many 64-bit values the record has in [`Lane::data`].
    #[must_use]
    #[inline]
    pub const fn data_count(self) -> usize {
        match self.kind() {
            PacketKind::ZoneStart | PacketKind::ZoneEnd | PacketKind::TimestampedEvent => 0,
            PacketKind::ZoneTotal | PacketKind::TimestampedData => 1,
            PacketKind::TimestampedData16B => 2,
        }
    }
}

/// One replay of a trace. A trace is a recorded sequence of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceReplay {
    /// Number of the trace.
    pub trace_id: u64,
    /// Number of the replay; the replays of each trace are counted from 1.
    pub counter: u64,
}

/// Consecutive records of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Id of the program, which includes the number of the chip.
    pub program: RunHostId,
    /// Number of trace replays that the device had counted when the run was launched; 0 if none.
    pub trace_counter: u32,
    /// The trace replay to which the run belongs, if known.
    pub trace: Option<TraceReplay>,
    /// Index of the run's first record in its lane.
    pub first_record: usize,
    /// Position of the run in the input: index of a word in the DRAM lane, or line of a log.
    pub origin: u64,
    /// True if the launch had not ended when its last records were read. The run then lacks the
    /// records that the RISC made later, and its open zones were open at that time.
    pub is_unfinished: bool,
}

/// The records of one RISC, in the order in which they were written.
///
/// `heads` and `times` have one entry per record. `data` contains the 64-bit values of all records
/// with values, in the order of the records. A zone total has one value. A data record has one
/// value, or two if it is a 16-byte record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The lane's identity.
    pub id: LaneId,
    /// True if the lane's first run continues a launch that began in an earlier read.
    ///
    /// The device repeats the first marker of such a launch. The lane does not contain the repeated
    /// marker.
    pub goes_on: bool,
    /// Runs, ordered by `first_record`; a run ends at the beginning of the next run.
    pub runs: Vec<Run>,
    /// Kind and zone of each record.
    pub heads: Vec<RecordHead>,
    /// Times, in cycles of the tile's own clock.
    ///
    /// The decoder corrects a time that is earlier than the previous time if the cause is known,
    /// and otherwise reports an anomaly. A zone total has no time of its own; the decoder gives it
    /// the time of the launch's first zone.
    pub times: Vec<u64>,
    /// Values of all zone totals and data records, in the order of the records.
    pub data: Vec<u64>,
    /// Texts that a log attached to records, as (record index, text), ordered by index.
    pub metadata: Vec<(usize, Box<str>)>,
}

/// One record, assembled from a lane's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'lane> {
    /// Kind of packet.
    pub kind: PacketKind,
    /// Zone, event or data id.
    pub zone: ZoneIndex,
    /// Time, in cycles of the tile's clock.
    pub time: u64,
    /// The record's values: none, one or two.
    pub data: &'lane [u64],
}

/// A record with its index, its run and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotated<'lane> {
    /// Index of the record in its lane.
    pub index: usize,
    /// The record.
    pub record: Record<'lane>,
    /// Index of the run; `None` for a record before the first run.
    pub run: Option<usize>,
    /// Text that a log attached to the record.
    pub text: Option<&'lane str>,
}

impl Lane {
    /// Returns a lane without records.
    #[must_use]
    pub const fn new(id: LaneId) -> Self {
        Self {
            id,
            goes_on: false,
            runs: Vec::new(),
            heads: Vec::new(),
            times: Vec::new(),
            data: Vec::new(),
            metadata: Vec::new(),
        }
    }

    /// Clears all columns, keeping the allocated memory.
    pub(crate) fn clear(&mut self) {
        let Self { id: _, goes_on, runs, heads, times, data, metadata } = self;
        *goes_on = false;
        runs.clear();
        heads.clear();
        times.clear();
        data.clear();
        metadata.clear();
    }

    /// Attaches to each record the text that `text_of` returns for it, and returns the number of
    /// new texts.
    ///
    /// Records that already have a text keep it.
    ///
    /// ```
    /// use reader::{lane::{Lane, LaneId, RecordHead, ZoneIndex}, mesh::Noc0Coord};
    /// use wire::{PacketKind, Risc, RunHostId};
    /// let core = Noc0Coord { x: 1, y: 1 };
    /// let mut lane = Lane::new(LaneId { chip_id: 0, core, risc: Risc::Brisc });
    /// lane.begin_run(RunHostId(1));
    /// for value in [7, 8] {
    ///     let head = RecordHead::new(PacketKind::TimestampedData, ZoneIndex(5));
    ///     lane.push(head, 100, &[value]);
    /// }
    /// let text = |value| (value == 8).then(|| "eight".into());
    /// assert_eq!(lane.attach_texts(|record| text(record.data[0])), 1);
    /// assert_eq!(lane.metadata, [(1, "eight".into())]);
    /// assert_eq!(lane.attach_texts(|_| Some("other".into())), 1);
    /// assert_eq!(lane.metadata, [(0, "other".into()), (1, "eight".into())]);
    /// ```
    pub fn attach_texts(
        &mut self,
        mut text_of: impl FnMut(&Record<'_>) -> Option<Box<str>>,
    ) -> u64 {
        let records = self.annotated_records().filter(|annotated| annotated.text.is_none());
        let texts: Vec<_> = records
            .filter_map(|Annotated { index, record, .. }| Some((index, text_of(&record)?)))
            .collect();
        let count = texts.len() as u64;
        self.add_texts(texts);
        count
    }

    /// Attaches texts to records, which are given by their index. Records that already have a text
    /// keep it.
    pub fn add_texts(&mut self, texts: impl IntoIterator<Item = (usize, Box<str>)>) {
        let known = self.metadata.len();
        for (record, text) in texts {
            let known = self.metadata.get(..known).unwrap_or(&[]);
            if known.binary_search_by_key(&record, |(of, _)| *of).is_err() {
                self.metadata.push((record, text));
            }
        }
        self.metadata.sort_by_key(|(record, _)| *record);
    }

    /// Begins a run of a program that was launched directly, not replayed from a trace.
    ///
    /// Records that are pushed after this call belong to the run.
    ///
    /// ```
    /// use reader::{lane::{Lane, LaneId}, mesh::Noc0Coord};
    /// use wire::{Risc, RunHostId};
    /// let id = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc };
    /// let mut lane = Lane::new(id);
    /// lane.begin_run(RunHostId::encode(3, 0));
    /// assert_eq!((lane.runs[0].program.0, lane.runs[0].first_record), (3 << 10, 0));
    /// ```
    pub fn begin_run(&mut self, program: RunHostId) {
        let first_record = self.record_count();
        self.runs.push(Run {
            program,
            trace_counter: 0,
            trace: None,
            first_record,
            origin: 0,
            is_unfinished: false,
        });
    }

    /// Appends a record to the last run.
    pub fn push(&mut self, head: RecordHead, time: u64, data: &[u64]) {
        debug_assert_eq!(head.data_count(), data.len());
        self.heads.push(head);
        self.times.push(time);
        self.data.extend_from_slice(data);
    }

    /// Appends the runs and records of a later read of the same lane.
    ///
    /// A launch that spans both reads becomes one run, if [`Self::goes_on`] is true for `later`.
    pub fn append(&mut self, later: Self) {
        let by = self.record_count();
        let mut runs = later.runs.into_iter();
        if let Some(last) = self.runs.last_mut().filter(|_| later.goes_on)
            && let Some(rest) = runs.next()
        {
            // The device may set the program id after the launch has begun, so the id of the later
            // read is correct.
            (last.program, last.trace_counter) = (rest.program, rest.trace_counter);
            last.is_unfinished = rest.is_unfinished;
        }
        self.runs.extend(
            runs.map(|run| Run { first_record: run.first_record.saturating_add(by), ..run }),
        );
        self.heads.extend(later.heads);
        self.times.extend(later.times);
        self.data.extend(later.data);
        let metadata = later.metadata.into_iter();
        self.metadata.extend(metadata.map(|(record, text)| (record.saturating_add(by), text)));
    }

    /// Returns the number of records.
    #[must_use]
    pub fn record_count(&self) -> usize {
        self.heads.len()
    }

    /// Returns the record indices of run `index`.
    #[must_use]
    pub fn run_records(&self, index: usize) -> std::ops::Range<usize> {
        let first = self.runs.get(index).map_or(self.heads.len(), |run| run.first_record);
        let end =
            self.runs.get(index.saturating_add(1)).map_or(self.heads.len(), |run| run.first_record);
        first..end.max(first)
    }

    /// Iterates over all records in order.
    ///
    /// ```
    /// use reader::lane::{Lane, LaneId, RecordHead, ZoneIndex};
    /// use reader::mesh::Noc0Coord;
    /// use wire::{PacketKind, Risc};
    /// let id = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc };
    /// let mut lane = Lane::new(id);
    /// lane.push(RecordHead::new(PacketKind::ZoneStart, ZoneIndex(7)), 100, &[]);
    /// lane.push(RecordHead::new(PacketKind::TimestampedData, ZoneIndex(8)), 110, &[42]);
    /// let data: Vec<_> = lane.records().map(|record| record.data.to_vec()).collect();
    /// assert_eq!(data, [vec![], vec![42]]);
    /// ```
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let mut next_value = 0_usize;
        self.heads.iter().zip(&self.times).map(move |(head, &time)| {
            let end = next_value.saturating_add(head.data_count());
            let data = self.data.get(next_value..end).unwrap_or(&[]);
            next_value = end;
            Record { kind: head.kind(), zone: head.zone(), time, data }
        })
    }

    /// Iterates over all records in order, each with its run and its text.
    pub fn annotated_records(&self) -> impl Iterator<Item = Annotated<'_>> {
        let mut texts = self.metadata.iter().peekable();
        let mut begun_runs = 0_usize;
        self.records().enumerate().map(move |(index, record)| {
            while texts.next_if(|(of, _)| *of < index).is_some() {}
            let text = texts.next_if(|(of, _)| *of == index).map(|(_, text)| &**text);
            while self.runs.get(begun_runs).is_some_and(|next| next.first_record <= index) {
                begun_runs = begun_runs.saturating_add(1);
            }
            Annotated { index, record, run: begun_runs.checked_sub(1), text }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a lane with one run, which alternately starts and ends a zone at these times.
    fn part(goes_on: bool, times: &[u64]) -> Lane {
        let id = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc };
        let program = RunHostId::encode(3, 0);
        let run = Run {
            program,
            trace_counter: 0,
            trace: None,
            first_record: 0,
            origin: 0,
            is_unfinished: false,
        };
        let mut lane = Lane { goes_on, runs: vec![run], ..Lane::new(id) };
        for (kind, &time) in [PacketKind::ZoneStart, PacketKind::ZoneEnd].iter().cycle().zip(times)
        {
            lane.push(RecordHead::new(*kind, ZoneIndex(1)), time, &[]);
        }
        lane
    }

    #[test]
    fn a_launch_that_spans_two_reads_becomes_one_run() {
        let mut lane = part(false, &[10, 20, 30]);
        lane.append(part(true, &[40, 50]));
        assert_eq!((lane.runs.len(), lane.times.as_slice()), (1, [10, 20, 30, 40, 50].as_slice()));
        lane.append(part(false, &[60, 70]));
        assert_eq!((lane.runs.len(), lane.runs[1].first_record), (2, 5));
    }

    #[test]
    fn runs_that_are_alike_to_the_cycle_stay_apart_unless_the_reader_says_otherwise() {
        let mut lane = part(false, &[10, 20]);
        lane.append(part(false, &[10, 20]));
        assert_eq!((lane.runs.len(), lane.times.as_slice()), (2, [10, 20, 10, 20].as_slice()));
        let mut nothing_before = Lane::new(lane.id);
        nothing_before.append(part(true, &[40]));
        assert_eq!(
            nothing_before.runs.len(),
            1,
            "a rest without a beginning is a run all the same"
        );
    }

    #[test]
    fn a_head_gives_back_every_kind_and_zone() {
        for kind in PacketKind::ALL {
            for zone in [0, 65_535, ZoneIndex::FIRST_INTERNED, ZoneIndex::MAX] {
                let head = RecordHead::new(kind, ZoneIndex(zone));
                assert_eq!((head.kind(), head.zone()), (kind, ZoneIndex(zone)));
                let is_endpoint = [PacketKind::ZoneStart, PacketKind::ZoneEnd].contains(&kind);
                assert_eq!(head.is_endpoint(), is_endpoint);
            }
        }
    }
}
