//! Parser for a streamed lane's cells. It returns zones in large groups and other records one by
//! one.

use wire::{
    Cycles, ZoneId,
    stream::{CHUNK_CELLS, Cell, Code, FIRST_ESCAPE, LaunchCell, ZONE_CYCLES_MAX},
};

/// Number of possible values of the low 32 bits of a time.
const LOW_RANGE: u64 = 1 << 32;
/// Number of possible values of the 48-bit time in a launch cell.
const LAUNCH_TIME_RANGE: u64 = 1 << 48;

/// The words of one cell.
pub type CellWords = [u32; wire::stream::CELL_WORDS];

/// Consecutive cells, each of which contains one zone.
///
/// The low word of the time does not wrap between the ends of these zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneCells<'a> {
    cells: &'a [CellWords],
    epoch: u64,
}

/// One zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The zone's id.
    pub id: ZoneId,
    /// Start, as a cycle of the tile's clock.
    pub start: u64,
    /// End, as a cycle of the tile's clock.
    pub end: u64,
}

impl<'a> ZoneCells<'a> {
    /// Returns the number of zones.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns true if there are no zones.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Iterates over the zones in the order of their ends.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Span> + DoubleEndedIterator + use<'a> {
        let epoch = self.epoch;
        self.cells.iter().map(move |&[head, value]| {
            let cell = Cell { head, value };
            let end = epoch | u64::from(value);
            let start = end.saturating_sub(u64::from(cell.field()));
            Span { id: ZoneId(cell.code().0), start, end }
        })
    }
}

/// Zones in columns, in the order of their ends.
///
/// ```
/// use reader::stream::{CellReader, Piece, ZoneColumns};
/// let cells = [[9 << 16 | 0x40, 0x180], [7 << 16 | 0x20, 0x1A0]];
/// let mut zones = ZoneColumns::default();
/// for piece in CellReader::default().pieces(&cells, 0, None) {
///     let Piece::Zones(found) = piece else { panic!() };
///     zones.extend(&found);
/// }
/// assert_eq!(zones.ids, [9, 7].map(wire::ZoneId));
/// assert_eq!((zones.starts, zones.ends), (vec![0x140, 0x180], vec![0x180, 0x1A0]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneColumns {
    /// Ids of the zones.
    pub ids: Vec<ZoneId>,
    /// Starts, as cycles of the tile's clock.
    pub starts: Vec<u64>,
    /// Ends, as cycles of the tile's clock.
    pub ends: Vec<u64>,
}

impl ZoneColumns {
    /// Returns the number of zones.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns true if there are no zones.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Removes all zones, keeping the allocated memory.
    pub fn clear(&mut self) {
        self.ids.clear();
        self.starts.clear();
        self.ends.clear();
    }

    /// Appends a zone.
    pub fn push(&mut self, Span { id, start, end }: Span) {
        self.ids.push(id);
        self.starts.push(start);
        self.ends.push(end);
    }

    /// Appends all zones of `zones`.
    ///
    /// # Cost
    /// The codes of the cells are not checked again. Each column is filled by a loop without
    /// branches. The zones are processed in blocks, so that the cells of a block stay in the cache
    /// until all columns are filled.
    pub fn extend(&mut self, zones: &ZoneCells<'_>) {
        /// Number of cells in 16 KiB. A block of this size stays in the processor's L1 cache while
        /// all columns are filled.
        const BLOCK_CELLS: usize = 2048;
        let epoch = zones.epoch;
        let end_of = |value: u32| epoch | u64::from(value);
        let first_end = zones.cells.first().map_or(0, |&[_, value]| end_of(value));
        for cells in zones.cells.chunks(BLOCK_CELLS) {
            let heads = cells.iter().map(|&[head, value]| (Cell { head, value }, end_of(value)));
            self.ids.extend(heads.clone().map(|(cell, _)| ZoneId(cell.code().0)));
            self.ends.extend(cells.iter().map(|&[_, value]| end_of(value)));
            // The ends are in ascending order. If the first end is at least the longest duration,
            // no start is negative.
            if first_end >= ZONE_CYCLES_MAX.into() {
                self.starts.extend(heads.map(|(cell, end)| end.wrapping_sub(cell.field().into())));
            } else {
                self.starts
                    .extend(heads.map(|(cell, end)| end.saturating_sub(cell.field().into())));
            }
        }
    }
}

/// A record that is not a single-cell zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamRecord {
    /// A zone whose duration is in a second cell.
    LongZone(Span),
    /// Timestamped data.
    Data {
        /// Id of the data.
        id: ZoneId,
        /// Time of the record, as a cycle of the tile's clock.
        time: u64,
        /// The value, or the first half of a 128-bit value.
        value: u64,
        /// The second half of a 128-bit value.
        second: Option<u64>,
    },
    /// An event.
    Event {
        /// Id of the event.
        id: ZoneId,
        /// Time of the record, as a cycle of the tile's clock.
        time: u64,
    },
    /// The total of a sum zone.
    Total {
        /// Id of the sum zone.
        id: ZoneId,
        /// Total in cycles, modulo 2^32.
        cycles: u32,
    },
    /// Announcement of a launch. The next records belong to this launch.
    Launch {
        /// The low half of the launch number on the core.
        number: u16,
        /// Time of this record, as a cycle of the tile's clock.
        time: u64,
        /// Cell with the program and the replay count.
        cell: LaunchCell,
    },
    /// Records were lost before this position. The value is the total number of records that the
    /// RISC has lost so far, modulo 2^32.
    Lost(u32),
    /// Chunks were skipped before this position. The value is the total number of cells that the
    /// RISC has skipped so far, modulo 2^32.
    Skipped(u32),
}

/// Cells that are not valid in the format of streamed records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// A cell has an unknown code. The rest of the chunk is skipped.
    UnknownCode {
        /// The code.
        code: Code,
        /// Number of skipped cells.
        cells: usize,
    },
    /// A record crosses the end of its chunk, or the end of the words that were read.
    CutRecord {
        /// The record's code.
        code: Code,
        /// Number of skipped cells.
        cells: usize,
    },
    /// A time is later than the tile's clock. The cell is skipped.
    AheadOfClock {
        /// The cell's value.
        value: u32,
    },
}

/// One result of parsing a lane's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Zones.
    Zones(ZoneCells<'a>),
    /// Another record.
    Record(StreamRecord),
    /// Cells that were skipped.
    Damage(Damage),
}

impl Piece<'_> {
    /// Returns true if the piece contains records that a kernel or the firmware recorded, such as
    /// zones.
    pub(crate) const fn has_records(&self) -> bool {
        !matches!(
            self,
            Self::Record(
                StreamRecord::Launch { .. } | StreamRecord::Lost(_) | StreamRecord::Skipped(_)
            ) | Self::Damage(_)
        )
    }
}

/// Parser for the cells of one lane, which can be passed in several calls. Between calls, it keeps
/// the time of the last record.
///
/// # Cost
/// Zones are checked eight at a time. The cells are neither moved nor copied, and no memory is
/// allocated.
///
/// ```
/// use reader::stream::{CellReader, Piece, StreamRecord};
/// use wire::{Cycles, ZoneId, stream::{Cell, Code, LaunchCell}};
/// let launch = LaunchCell { program: 7, trace_counter: 0, time_high: 1 };
/// let cells = [
///     Cell::new(Code::LAUNCH, 1, 0x100),
///     launch.to_cell(),
///     Cell::from_zone(ZoneId(9), Cycles(0x1_0000_0180), 0x40).unwrap(),
/// ];
/// let words = cells.map(|cell| [cell.head, cell.value]);
/// let mut reader = CellReader::default();
/// let pieces: Vec<_> = reader.pieces(&words, 0, None).collect();
/// let told = StreamRecord::Launch { number: 1, time: 0x1_0000_0100, cell: launch };
/// assert_eq!(pieces[0], Piece::Record(told));
/// let Piece::Zones(zones) = pieces[1] else { panic!() };
/// let zone = zones.iter().next().unwrap();
/// assert_eq!((zone.start, zone.end), (0x1_0000_0140, 0x1_0000_0180));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellReader {
    /// Time of the last record; `None` before the first known time.
    last: Option<u64>,
}

impl CellReader {
    /// Creates a reader for cells if only some high bits of the time before the first cell are
    /// known. `high` contains these bits, from bit 32 on.
    ///
    /// `range` is 2^n if bits 32 to n - 1 of the time are known. `read_at` is the tile's clock,
    /// read after the cells.
    pub(crate) fn from_time_high(high: u32, range: u64, read_at: Option<u64>) -> Self {
        let told = u64::from(high) << 32;
        let last = read_at.and_then(|read_at| last_time_before(read_at, told, range));
        Self { last: last.or(Some(told)) }
    }

    /// Returns true if `high` equals the last time's bits from bit 32 on. If `range` is 2^n, only
    /// bits 32 to n - 1 are compared.
    pub(crate) fn has_time_high(&self, high: u32, range: u64) -> bool {
        let mask = range.wrapping_sub(1);
        self.last.is_some_and(|last| (last & mask) >> 32 == u64::from(high))
    }

    /// Returns an iterator that parses cells. `first_number` is the number of the first cell.
    ///
    /// `read_at` is the tile's clock, read after the cells.
    pub const fn pieces<'a>(
        &'a mut self,
        cells: &'a [CellWords],
        first_number: u32,
        read_at: Option<u64>,
    ) -> Pieces<'a> {
        let reader = self;
        Pieces { reader, cells, number: first_number as usize % CHUNK_CELLS, read_at }
    }
}

/// Iterator over the pieces of a lane's cells; the result of [`CellReader::pieces`].
#[derive(Debug)]
pub struct Pieces<'a> {
    reader: &'a mut CellReader,
    cells: &'a [CellWords],
    /// Index of the next cell in its chunk.
    number: usize,
    read_at: Option<u64>,
}

impl<'a> Pieces<'a> {
    /// Returns the number of cells that are not parsed yet.
    #[must_use]
    pub const fn cells_left(&self) -> usize {
        self.cells.len()
    }

    /// Removes the next `count` cells, or all if there are fewer, and returns them.
    fn take(&mut self, count: usize) -> &'a [CellWords] {
        let (taken, rest) = self.cells.split_at(count.min(self.cells.len()));
        self.cells = rest;
        self.number = self.number.wrapping_add(taken.len()) % CHUNK_CELLS;
        taken
    }

    /// Returns the number of cells up to the end of the chunk or of the input.
    fn rest_of_chunk(&self) -> usize {
        CHUNK_CELLS.saturating_sub(self.number).min(self.cells.len())
    }

    /// Converts the low word of the next record's time to a 64-bit time. Returns `None` if this
    /// time is later than the tile's clock.
    ///
    /// In that case, this time or the time of an earlier record is damaged. The time of the record
    /// after it is then derived from the tile's clock instead of from the damaged time.
    fn time(&mut self, low: u32) -> Option<u64> {
        let low = u64::from(low);
        let in_reach = self.read_at.and_then(|read_at| last_time_before(read_at, low, LOW_RANGE));
        let time = match self.reader.last {
            Some(last) => next_time(last, low, LOW_RANGE),
            None => in_reach.unwrap_or(low),
        };
        let is_ahead = self.read_at.is_some_and(|read_at| time > read_at);
        self.reader.last = if is_ahead { in_reach.or(self.reader.last) } else { Some(time) };
        (!is_ahead).then_some(time)
    }

    /// Removes the leading zone cells and returns them as zones. Stops before the first zone with
    /// an end that is earlier than the previous zone's end, or later than the tile's clock.
    fn zones(&mut self) -> Option<ZoneCells<'a>> {
        let &[_, value] = self.cells.first()?;
        let mut count = plain_zones(self.cells);
        let epoch = self.time(value)? & !(LOW_RANGE - 1);
        let end_of = |cell: &CellWords| epoch | u64::from(cell[1]);
        if let Some(read_at) = self.read_at {
            let is_before = |cell: &CellWords| end_of(cell) <= read_at;
            let run = self.cells.get(..count).unwrap_or_default();
            if !run.last().is_some_and(is_before) {
                count = run.partition_point(is_before);
            }
        }
        let cells = self.take(count);
        self.reader.last = cells.last().map(end_of);
        Some(ZoneCells { cells, epoch })
    }

    /// Removes the `cell_count` cells of the next record and returns the record; returns `None` for
    /// padding.
    fn record(&mut self, cell: Cell, cell_count: usize) -> Option<Piece<'a>> {
        let code = cell.code();
        if cell_count > self.rest_of_chunk() {
            let cells = self.rest_of_chunk();
            self.take(cells);
            return Some(Piece::Damage(Damage::CutRecord { code, cells }));
        }
        let bits = |cells: &[CellWords], index: usize| {
            let [head, value] = cells.get(index).copied().unwrap_or_default();
            Cell { head, value }
        };
        let cells = self.take(cell_count);
        let id = ZoneId(cell.field());
        let record = match code {
            Code::PADDING => {
                let rest = if self.number == 0 { 0 } else { self.rest_of_chunk() };
                self.take(rest);
                return None;
            }
            Code::TOTAL => StreamRecord::Total { id, cycles: cell.value },
            Code::LOST => StreamRecord::Lost(cell.value),
            Code::SKIPPED => StreamRecord::Skipped(cell.value),
            Code::LAUNCH => {
                let told = LaunchCell::from_cell(bits(cells, 1));
                let time =
                    self.launch_time(Cycles::from_words(told.time_high.into(), cell.value).0);
                self.reader.last = Some(time);
                StreamRecord::Launch { number: cell.field(), time, cell: told }
            }
            _ => {
                let Some(time) = self.time(cell.value) else {
                    return Some(Piece::Damage(Damage::AheadOfClock { value: cell.value }));
                };
                match code {
                    Code::LONG_ZONE => {
                        let start = time.saturating_sub(bits(cells, 1).bits());
                        StreamRecord::LongZone(Span { id, start, end: time })
                    }
                    Code::EVENT => StreamRecord::Event { id, time },
                    _ => StreamRecord::Data {
                        id,
                        time,
                        value: bits(cells, 1).bits(),
                        second: (code == Code::DATA_16B).then(|| bits(cells, 2).bits()),
                    },
                }
            }
        };
        Some(Piece::Record(record))
    }

    /// Returns the 64-bit time for the 48-bit time in a launch cell.
    ///
    /// The device reads the two words of its clock one after the other. The high word may therefore
    /// have been read after a wrap of the low word. In that case the 48-bit time is too high by
    /// 2^32 and therefore later than the tile's clock, and this method subtracts 2^32.
    fn launch_time(&self, told: u64) -> u64 {
        match (self.read_at, self.reader.last) {
            (Some(read_at), _) => {
                let latest = read_at.saturating_add(LOW_RANGE);
                let time = last_time_before(latest, told, LAUNCH_TIME_RANGE).unwrap_or(told);
                if time > read_at { time.saturating_sub(LOW_RANGE) } else { time }
            }
            (None, Some(last)) => next_time(last, told, LAUNCH_TIME_RANGE),
            (None, None) => told,
        }
    }
}

/// Returns the earliest time at or after `last` with the low bits `bits`. `range` is 2 to the power
/// of the number of low bits.
const fn next_time(last: u64, bits: u64, range: u64) -> u64 {
    let mask = range.wrapping_sub(1);
    last.saturating_add(bits.wrapping_sub(last) & mask)
}

/// Returns the latest time at or before `latest` with the low bits `bits`; `None` if there is no
/// such time.
const fn last_time_before(latest: u64, bits: u64, range: u64) -> Option<u64> {
    let mask = range.wrapping_sub(1);
    latest.checked_sub(latest.wrapping_sub(bits) & mask)
}

/// Returns the number of leading cells that contain zones with ends in ascending order.
fn plain_zones(cells: &[CellWords]) -> usize {
    const FIRST_ESCAPE_HEAD: u32 = (FIRST_ESCAPE as u32) << wire::stream::CODE_SHIFT;
    let mut low = 0;
    let (chunks, _) = cells.as_chunks::<CHUNK_CELLS>();
    let plain_chunks = chunks.iter().take_while(|chunk| {
        let mut before = low;
        let mut is_plain = true;
        for &[head, value] in *chunk {
            is_plain &= (head < FIRST_ESCAPE_HEAD) & (value >= before);
            before = value;
        }
        low = if is_plain { before } else { low };
        is_plain
    });
    let in_chunks = plain_chunks.count().saturating_mul(CHUNK_CELLS);
    let rest = cells.get(in_chunks..).unwrap_or_default();
    let plain_cells = rest.iter().take_while(|&&[head, value]| {
        let is_plain = head < FIRST_ESCAPE_HEAD && value >= low;
        low = value;
        is_plain
    });
    in_chunks.saturating_add(plain_cells.count())
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            let &[head, value] = self.cells.first()?;
            let cell = Cell { head, value };
            let code = cell.code();
            if code.is_zone() {
                if let Some(zones) = self.zones() {
                    return Some(Piece::Zones(zones));
                }
                self.take(1);
                return Some(Piece::Damage(Damage::AheadOfClock { value }));
            }
            let Some(cell_count) = code.cell_count() else {
                let cells = self.rest_of_chunk();
                self.take(cells);
                return Some(Piece::Damage(Damage::UnknownCode { code, cells }));
            };
            if let Some(piece) = self.record(cell, cell_count) {
                return Some(piece);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn zones_are_as_they_were_whatever_wraps(
            first in prop_oneof![0_u64..1 << 17, 0_u64..1 << 48],
            zones in prop::collection::vec(
                (0..FIRST_ESCAPE, 0_u16.., prop_oneof![9 => 1_u64..5000, 1 => 1_u64..1 << 32]),
                1..100,
            ),
            has_clock: bool,
        ) {
            let mut end = first;
            let mut expected = Vec::new();
            for &(id, duration, step) in &zones {
                end += step;
                let start = end.saturating_sub(duration.into());
                expected.push(Span { id: ZoneId(id), start, end });
            }
            let words: Vec<CellWords> = zones
                .iter()
                .zip(&expected)
                .map(|(&(id, duration, _), span)| {
                    let cell = Cell::new(Code(id), duration, Cycles(span.end).low_word());
                    [cell.head, cell.value]
                })
                .collect();
            let mut reader = CellReader { last: Some(first) };
            let read_at = has_clock.then_some(end);
            let (mut found, mut columns) = (Vec::new(), ZoneColumns::default());
            for piece in reader.pieces(&words, 0, read_at) {
                let Piece::Zones(zones) = piece else { panic!("{piece:?}") };
                found.extend(zones.iter());
                columns.extend(&zones);
            }
            prop_assert_eq!(&found, &expected);
            let ZoneColumns { ids, starts, ends } = columns;
            let rows = ids.iter().zip(starts).zip(ends);
            let rows = rows.map(|((&id, start), end)| Span { id, start, end });
            prop_assert_eq!(rows.collect::<Vec<_>>(), expected);
        }

        #[test]
        fn any_words_are_pieces_that_end(
            words in prop::collection::vec(any::<[u32; 2]>(), 0..64),
            escapes in prop::collection::vec((0_usize..64, FIRST_ESCAPE..=u16::MAX), 0..16),
            number: u32,
            read_at: Option<u64>,
        ) {
            let mut words = words;
            for (index, code) in escapes {
                if let Some(word) = words.get_mut(index) {
                    word[0] = u32::from(code) << 16 | word[0] & 0xFFFF;
                }
            }
            let mut reader = CellReader::default();
            let mut pieces = reader.pieces(&words, number, read_at);
            let mut left = words.len();
            while let Some(piece) = pieces.next() {
                prop_assert!(pieces.cells_left() < left, "{piece:?}");
                left = pieces.cells_left();
                if let (Piece::Zones(zones), Some(read_at)) = (piece, read_at) {
                    prop_assert!(zones.iter().all(|zone| zone.end <= read_at));
                }
            }
        }
    }

    #[test]
    fn one_damaged_time_costs_one_cell() {
        let ends = [100, 200, 0xF000_0000, 400, 500, 600];
        let words = ends.map(|end| [7 << 16 | 50, end]);
        let mut reader = CellReader { last: Some(50) };
        let pieces: Vec<_> = reader.pieces(&words, 0, Some(1000)).collect();
        let times: Vec<u64> = pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Zones(zones) => Some(zones.iter().map(|zone| zone.end)),
                _ => None,
            })
            .flatten()
            .collect();
        assert_eq!(times, [100, 200, 400, 500, 600]);
        assert!(pieces.contains(&Piece::Damage(Damage::AheadOfClock { value: 0xF000_0000 })));
    }
}
