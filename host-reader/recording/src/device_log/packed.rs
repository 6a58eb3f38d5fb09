//! Packed records of lanes. A record needs only a few bytes, so that a long log fits in memory.
//!
//! A segment contains the records of one lane from one chunk. A record consists of a head, the time
//! since the previous record, and a value if its kind has one. These parts are stored as numbers of
//! variable length. The head contains the source location and the kind. One bit of the head is set
//! if the line number and the launch number are stored after the head. The bit is clear if the
//! record has the same launch as the previous record of the segment and is on the next line.
//!
//! If the segments exceed a memory limit, they are written to a temporary file; all segments of a
//! lane are written together.

use super::wraps::{extend, is_wrap};
use reader::{
    lane::{Lane, LaneId, RecordHead, ZoneIndex},
    packed_bytes::{HeldBytes, PackedBytes, PackedError, PackedMemory},
    packed_numbers::{push, take},
};
use std::{collections::HashMap, sync::Arc};
use wire::PacketKind;

/// One record of a chunk; `place`, `launch` and `line` are numbers local to the chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkRecord {
    pub(super) kind: PacketKind,
    pub(super) place: u32,
    pub(super) launch: u32,
    pub(super) line: u64,
    pub(super) time: u64,
    pub(super) value: u64,
}

/// Packed records of one lane from one chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    bytes: Vec<u8>,
    record_count: usize,
    last: Latest,
    first_time: u64,
    /// True if the times have begun again.
    has_wrapped: bool,
    /// Metadata texts of the records that have one, each with the index of the record in the
    /// segment.
    metadata: Vec<(usize, Box<str>)>,
}

/// State after a record. The next record is stored as the difference from this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Latest {
    time: u64,
    line: u64,
    launch: u32,
}

impl Latest {
    /// State before the first record. No launch has this launch number, so the first record always
    /// stores its launch.
    const NONE: Self = Self { time: 0, line: 0, launch: u32::MAX };
}

const KIND_SHIFT: u32 = 1;
const PLACE_SHIFT: u32 = 4;
const KIND_MASK: u64 = 7;

impl Segment {
    const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            record_count: 0,
            last: Latest::NONE,
            first_time: 0,
            has_wrapped: false,
            metadata: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, record: &ChunkRecord) {
        let ChunkRecord { kind, place, launch, line, time, value } = *record;
        let step = line.wrapping_sub(self.last.line);
        let is_jump = step != 1 || launch != self.last.launch;
        let head =
            u64::from(place) << PLACE_SHIFT | (kind as u64) << KIND_SHIFT | u64::from(is_jump);
        push(&mut self.bytes, head);
        if is_jump {
            push(&mut self.bytes, step);
            push(&mut self.bytes, launch.into());
        }
        // If the time is lower than the previous time, the number takes many bytes, but this is
        // rare.
        push(&mut self.bytes, time.wrapping_sub(self.last.time));
        if has_value(kind) {
            push(&mut self.bytes, value);
        }
        if self.record_count == 0 {
            self.first_time = time;
        } else {
            self.has_wrapped |= is_wrap(self.last.time, time);
        }
        self.last = Latest { time, line, launch };
        self.record_count = self.record_count.saturating_add(1);
    }

    /// Attaches a text to the next record that is pushed.
    pub(super) fn attach(&mut self, text: Box<str>) {
        self.metadata.push((self.record_count, text));
    }

    /// Frees unused capacity.
    pub(super) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }

    fn records(&self) -> Records<'_> {
        Records { bytes: self.bytes.iter(), left: self.record_count, last: Latest::NONE }
    }

    /// Returns the memory size of the segment in bytes.
    fn byte_count(&self) -> u64 {
        let text_bytes = |(_, text): &(usize, Box<str>)| {
            text.len().saturating_add(size_of::<(usize, Box<str>)>())
        };
        let texts = self.metadata.iter().map(text_bytes).fold(0, usize::saturating_add);
        let own = self.bytes.len().saturating_add(size_of::<(u32, Self)>());
        own.saturating_add(texts) as u64
    }

    /// Appends the segment to `out`; [`Self::take`] reads it back.
    fn write(&self, out: &mut Vec<u8>) {
        push(out, self.record_count as u64);
        push_text(out, &self.bytes);
        push(out, self.metadata.len() as u64);
        for (record, text) in &self.metadata {
            push(out, *record as u64);
            push_text(out, text.as_bytes());
        }
    }

    /// Reads the next segment.
    fn take(bytes: &mut std::slice::Iter<'_, u8>) -> Self {
        let record_count = take_index(bytes);
        let mut segment = Self { bytes: take_text(bytes).to_vec(), record_count, ..Self::new() };
        for _ in 0..take(bytes) {
            let record = take_index(bytes);
            let text = String::from_utf8_lossy(take_text(bytes));
            segment.metadata.push((record, text.into()));
        }
        segment
    }
}

fn take_index(bytes: &mut std::slice::Iter<'_, u8>) -> usize {
    usize::try_from(take(bytes)).unwrap_or(usize::MAX)
}

fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    push(out, text.len() as u64);
    out.extend_from_slice(text);
}

fn take_text<'bytes>(bytes: &mut std::slice::Iter<'bytes, u8>) -> &'bytes [u8] {
    let byte_count = take_index(bytes);
    let left = bytes.as_slice();
    let (text, rest) = left.split_at_checked(byte_count).unwrap_or((left, &[]));
    *bytes = rest.iter();
    text
}

/// Returns true if lines of this kind carry a value.
pub(super) const fn has_value(kind: PacketKind) -> bool {
    RecordHead::new(kind, ZoneIndex(0)).data_count() != 0
}

/// Iterator over the records of a segment, in line order.
struct Records<'bytes> {
    bytes: std::slice::Iter<'bytes, u8>,
    left: usize,
    last: Latest,
}

impl Iterator for Records<'_> {
    type Item = ChunkRecord;

    #[inline]
    fn next(&mut self) -> Option<ChunkRecord> {
        self.left = self.left.checked_sub(1)?;
        let head = take(&mut self.bytes);
        let kind = PacketKind::numbered(head >> KIND_SHIFT & KIND_MASK);
        let (mut step, mut launch) = (1, self.last.launch);
        if head & 1 != 0 {
            step = take(&mut self.bytes);
            launch = u32::try_from(take(&mut self.bytes)).unwrap_or(u32::MAX);
        }
        let line = self.last.line.wrapping_add(step);
        let time = self.last.time.wrapping_add(take(&mut self.bytes));
        let value = if has_value(kind) { take(&mut self.bytes) } else { 0 };
        let place = u32::try_from(head >> PLACE_SHIFT).unwrap_or(u32::MAX);
        self.last = Latest { time, line, launch };
        Some(ChunkRecord { kind, place, launch, line, time, value })
    }
}

/// The segments of one chunk, by lane. A segment is found by its number, without a lookup of the
/// lane.
#[derive(Default)]
pub(super) struct Segments {
    ids: Vec<LaneId>,
    segments: Vec<Segment>,
    index: HashMap<LaneId, usize>,
}

impl Segments {
    /// Returns the number of a lane's segment for [`Self::at`]. Adds a segment if the lane is new.
    pub(super) fn number(&mut self, id: LaneId) -> usize {
        *self.index.entry(id).or_insert_with(|| {
            self.ids.push(id);
            self.segments.push(Segment::new());
            self.segments.len().saturating_sub(1)
        })
    }

    #[inline]
    pub(super) fn at(&mut self, number: usize) -> Option<&mut Segment> {
        self.segments.get_mut(number)
    }

    /// Returns every segment with its lane.
    pub(super) fn into_lanes(self) -> impl Iterator<Item = (LaneId, Segment)> {
        self.ids.into_iter().zip(self.segments)
    }

    pub(super) fn shrink(&mut self) {
        self.segments.iter_mut().for_each(Segment::shrink);
    }
}

/// Map from the numbers used in a chunk to the numbers used in the whole log.
#[derive(Debug)]
pub(super) struct ChunkNumbers {
    pub(super) places: Vec<u32>,
    pub(super) launches: LaunchNumbers,
    /// Line number of the chunk's first line in the log.
    pub(super) first_line: u64,
}

/// Map from launch numbers of a chunk to launch numbers of the log.
///
/// In most chunks, launches with consecutive numbers in the chunk also have consecutive numbers in
/// the log. Then only the pair of numbers of the first launch is stored.
#[derive(Debug, Default)]
pub(super) struct LaunchNumbers {
    /// Pairs of a launch's number in the chunk and its number in the log. A pair is stored for each
    /// launch whose log number is not one more than the log number of the previous launch.
    firsts: Vec<(u32, u32)>,
}

impl FromIterator<u32> for LaunchNumbers {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut firsts = Vec::new();
        let mut next = None;
        for (chunk_number, log_number) in (0_u32..).zip(numbers) {
            if next != Some(log_number) {
                firsts.push((chunk_number, log_number));
            }
            next = log_number.checked_add(1);
        }
        firsts.shrink_to_fit();
        Self { firsts }
    }
}

impl LaunchNumbers {
    /// Returns the log number of a launch of the chunk.
    fn log_number(&self, chunk_number: u32) -> u32 {
        let after = self.firsts.partition_point(|&(first, _)| first <= chunk_number);
        let first = after.checked_sub(1).and_then(|last| self.firsts.get(last));
        first.map_or(u32::MAX, |&(first, log_number)| {
            log_number.saturating_add(chunk_number.saturating_sub(first))
        })
    }
}

/// Packed records of one lane.
#[derive(Debug)]
pub(super) struct PackedLane {
    pub(super) id: LaneId,
    /// Ranges of the temporary file with earlier segments, each with its number of records.
    written: Vec<(PackedBytes, usize)>,
    /// Segments, each with the number of its chunk.
    segments: Vec<(u32, Segment)>,
    last_time: Option<u64>,
    has_wrapped: bool,
    /// Registers the memory of the segments as used until it is dropped. `None` until all segments
    /// have been added.
    held: Option<HeldBytes>,
}

impl PackedLane {
    pub(super) const fn new(id: LaneId) -> Self {
        Self {
            id,
            written: Vec::new(),
            segments: Vec::new(),
            last_time: None,
            has_wrapped: false,
            held: None,
        }
    }

    /// Adds a segment; returns its memory size in bytes.
    pub(super) fn push(&mut self, chunk: u32, segment: Segment) -> u64 {
        let byte_count = segment.byte_count();
        let is_between = self.last_time.is_some_and(|before| is_wrap(before, segment.first_time));
        self.has_wrapped |= segment.has_wrapped || is_between;
        self.last_time = Some(segment.last.time);
        self.segments.push((chunk, segment));
        byte_count
    }

    /// Returns true if the times have begun again within the lane.
    pub(super) const fn has_wrapped(&self) -> bool {
        self.has_wrapped
    }

    /// Moves the segments in memory to the temporary file.
    pub(super) fn write(&mut self, memory: &Arc<PackedMemory>) {
        if self.segments.is_empty() {
            return;
        }
        let mut bytes = Vec::new();
        for (chunk, segment) in &self.segments {
            push(&mut bytes, u64::from(*chunk));
            segment.write(&mut bytes);
        }
        let record_count = record_count(&self.segments);
        self.segments = Vec::new();
        self.written.push((memory.write(&bytes), record_count));
    }

    /// Registers the memory of the segments as used.
    pub(super) fn hold(&mut self, memory: &Arc<PackedMemory>) {
        let byte_counts = self.segments.iter().map(|(_, segment)| segment.byte_count());
        self.held = Some(memory.hold(byte_counts.fold(0, u64::saturating_add)));
    }

    pub(super) fn record_count(&self) -> usize {
        let written_counts = self.written.iter().map(|(_, count)| *count);
        written_counts.fold(record_count(&self.segments), usize::saturating_add)
    }

    /// Unpacks the records to columns, in line order.
    pub(super) fn unpack(&self, chunks: &[ChunkNumbers]) -> Result<LaneColumns, PackedError> {
        let mut columns = LaneColumns::new(self.id);
        columns.reserve(self.record_count());
        for (packed, _) in &self.written {
            let bytes = packed.read()?;
            let mut bytes = bytes.iter();
            while bytes.len() > 0 {
                let chunk = take_index(&mut bytes);
                columns.append_segment(&Segment::take(&mut bytes), chunks.get(chunk));
            }
        }
        for (chunk, segment) in &self.segments {
            columns.append_segment(segment, chunks.get(*chunk as usize));
        }
        Ok(columns)
    }
}

fn record_count(segments: &[(u32, Segment)]) -> usize {
    segments.iter().map(|(_, segment)| segment.record_count).fold(0, usize::saturating_add)
}

/// A record whose launch differs from that of the previous record, or that is not on the next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) record: usize,
    pub(super) launch: u32,
    pub(super) line: u64,
}

/// Records of one lane, which is not split into runs yet.
#[derive(Debug)]
pub(super) struct LaneColumns {
    /// The lane. The zone index in the head of a record is the number of the source location.
    pub(super) lane: Lane,
    /// Changes of launch or line. Between two steps, the launch stays the same, and each record is
    /// one line after the previous record.
    steps: Vec<Step>,
    next_line: u64,
}

impl LaneColumns {
    pub(super) const fn new(id: LaneId) -> Self {
        Self { lane: Lane::new(id), steps: Vec::new(), next_line: 0 }
    }

    pub(super) fn reserve(&mut self, record_count: usize) {
        self.lane.heads.reserve_exact(record_count);
        self.lane.times.reserve_exact(record_count);
    }

    fn append_segment(&mut self, segment: &Segment, numbers: Option<&ChunkNumbers>) {
        let Some(numbers) = numbers else { return };
        let first_record = self.lane.heads.len();
        let mut latest = None;
        for record in segment.records() {
            let ChunkRecord { kind, place, launch, line, time, value } = record;
            let place = numbers.places.get(place as usize).copied().unwrap_or(u32::MAX);
            let launch = match latest {
                Some((chunk_number, log_number)) if chunk_number == launch => log_number,
                _ => numbers.launches.log_number(launch),
            };
            latest = Some((record.launch, launch));
            self.note(launch, numbers.first_line.saturating_add(line));
            self.lane.heads.push(RecordHead::new(kind, ZoneIndex(place)));
            self.lane.times.push(time);
            if has_value(kind) {
                self.lane.data.push(value);
            }
        }
        let lane_text = |(record, text): &(usize, _)| {
            (first_record.saturating_add(*record), Clone::clone(text))
        };
        self.lane.metadata.extend(segment.metadata.iter().map(lane_text));
    }

    /// Sets the launch and the line of the next record that is pushed.
    #[inline]
    pub(super) fn note(&mut self, launch: u32, line: u64) {
        let follows = self.steps.last().is_some_and(|step| step.launch == launch);
        if !follows || line != self.next_line {
            self.steps.push(Step { record: self.lane.heads.len(), launch, line });
        }
        self.next_line = line.saturating_add(1);
    }

    /// Returns a step for each record that has another launch than the previous record, or that is
    /// not on the next line.
    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the launch and the line of a record.
    pub(super) fn origin(&self, record: usize) -> Option<(u32, u64)> {
        let after = self.steps.partition_point(|step| step.record <= record);
        let step = self.steps.get(after.checked_sub(1)?)?;
        let since = record.saturating_sub(step.record) as u64;
        Some((step.launch, step.line.saturating_add(since)))
    }

    /// Extends the times, which have begun again.
    pub(super) fn extend_times(&mut self) {
        extend(&mut self.lane.times);
    }

    /// Sorts the records by time; records with equal times remain in line order.
    pub(super) fn in_time_order(self) -> Self {
        if self.lane.times.is_sorted() {
            return self;
        }
        let mut order: Vec<usize> = (0..self.lane.times.len()).collect();
        order.sort_by_key(|&record| self.lane.times.get(record).copied());
        let mut next = 0_usize;
        let firsts = self.lane.heads.iter().map(|head| {
            let end = next.saturating_add(head.data_count());
            std::mem::replace(&mut next, end)
        });
        let first_value: Vec<usize> = firsts.collect();
        let mut texts: HashMap<usize, Box<str>> = self.lane.metadata.iter().cloned().collect();
        let mut sorted = Self::new(self.lane.id);
        sorted.reserve(order.len());
        for record in order {
            let (Some(&head), Some(&time)) =
                (self.lane.heads.get(record), self.lane.times.get(record))
            else {
                continue;
            };
            if let Some(text) = texts.remove(&record) {
                sorted.lane.metadata.push((sorted.lane.heads.len(), text));
            }
            if let Some((launch, line)) = self.origin(record) {
                sorted.note(launch, line);
            }
            let first = first_value.get(record).copied().unwrap_or(0);
            let values = first..first.saturating_add(head.data_count());
            sorted.lane.push(head, time, self.lane.data.get(values).unwrap_or(&[]));
        }
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
    use reader::mesh::Noc0Coord;
    use wire::Risc;

    /// Test numbers of 0 to 64 bits. All numbers of bits are equally likely, so many numbers are
    /// small.
    fn any_number() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0_u32..64).prop_map(|(number, shift)| number >> shift)
    }

    fn any_record() -> impl Strategy<Value = ChunkRecord> {
        let kind = prop::sample::select(PacketKind::ALL.to_vec());
        let numbers = (0_u32..1 << 24, 0_u32..5, any_number());
        (kind, numbers, any_number(), any_number()).prop_map(
            |(kind, (place, launch, line), time, value)| {
                let value = if has_value(kind) { value } else { 0 };
                ChunkRecord { kind, place, launch, line, time, value }
            },
        )
    }

    proptest! {
        #[test]
        fn records_come_back_as_they_were(records in prop::collection::vec(any_record(), 0..60)) {
            let mut segment = Segment::new();
            records.iter().for_each(|record| segment.push(record));
            prop_assert_eq!(segment.records().collect::<Vec<_>>(), records);
        }

        #[test]
        fn a_written_segment_comes_back_as_it_was(
            records in prop::collection::vec((any_record(), prop::option::weighted(0.2, ".{0,9}")), 0..20),
        ) {
            let mut segment = Segment::new();
            for (record, text) in &records {
                text.iter().for_each(|text| segment.attach(text.as_str().into()));
                segment.push(record);
            }
            let mut bytes = Vec::new();
            segment.write(&mut bytes);
            segment.write(&mut bytes);
            let mut left = bytes.iter();
            for _ in 0..2 {
                let read = Segment::take(&mut left);
                prop_assert_eq!(read.metadata, segment.metadata.clone());
                prop_assert_eq!(read.bytes, segment.bytes.clone());
                prop_assert_eq!(read.record_count, records.len());
            }
            prop_assert_eq!(left.len(), 0);
        }

        #[test]
        fn each_launch_of_a_chunk_has_its_number_of_the_log(
            steps in prop::collection::vec(prop_oneof![Just(1_u32), 0_u32..5], 0..60),
        ) {
            let mut next = 0_u32;
            let numbers: Vec<u32> = steps
                .iter()
                .map(|step| {
                    next = (next + step) % 100;
                    next
                })
                .collect();
            let found: LaunchNumbers = numbers.iter().copied().collect();
            let log_numbers: Vec<u32> =
                (0_u32..).zip(&numbers).map(|(number, _)| found.log_number(number)).collect();
            prop_assert_eq!(log_numbers, numbers);
        }

        #[test]
        fn launch_and_line_of_each_record_are_found(
            origins in prop::collection::vec((0_u32..3, 0_u64..6), 1..60),
        ) {
            let core = Noc0Coord { x: 1, y: 1 };
            let mut lane = LaneColumns::new(LaneId { chip_id: 0, core, risc: Risc::Brisc });
            for &(launch, line) in &origins {
                lane.note(launch, line);
                lane.lane.push(RecordHead::new(PacketKind::ZoneStart, ZoneIndex(0)), 0, &[]);
            }
            let found = (0..origins.len()).map(|record| lane.origin(record).unwrap());
            prop_assert_eq!(found.collect::<Vec<_>>(), origins);
        }
    }

    #[test]
    fn the_next_line_of_a_launch_takes_two_bytes() {
        let record = |line, time| ChunkRecord {
            kind: PacketKind::ZoneEnd,
            place: 7,
            launch: 0,
            line,
            time,
            value: 0,
        };
        let mut segment = Segment::new();
        segment.push(&record(3, 1000));
        let before = segment.bytes.len();
        segment.push(&record(4, 1127));
        assert_eq!(segment.bytes.len(), before + 2);
    }
}
