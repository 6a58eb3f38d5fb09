//! Wall-clock time of decoding the cells of streamed lanes, on one thread, compared with a memory
//! copy.
//!
//! The input is four million zones of one lane, 32 MiB; one zone in a thousand is too long for its
//! cell. The benches are
//!
//! - `copy`: copies the cells;
//! - `look`: decodes the cells in place, as for a consumer that only forwards them;
//! - `add_up`: decodes the cells and sums their cycles by zone;
//! - `columns`: decodes the cells to columns of id, start and end, 72 MiB, reusing the same
//!   memory;
//! - `batches`: decodes the cells to the same columns, but a consumer takes the columns every few
//!   thousand zones, as with live batches; the columns stay in the cache.
//!
//! Each bench also asserts its result. Throughput is in zones per second.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use host_reader::stream::{CellReader, CellWords, Piece, Span, StreamRecord, ZoneColumns};
use std::{hint::black_box, time::Duration};
use wire::{
    Cycles, ZoneId,
    stream::{CHUNK_CELLS, Cell, Code},
};

const ZONES: usize = 4 << 20;
const ZONE_IDS: u64 = 200;
const BATCH_ZONES: usize = 4096;

fn roll(dice: &mut u64) -> u64 {
    *dice ^= *dice << 13;
    *dice ^= *dice >> 7;
    *dice ^= *dice << 17;
    *dice >> 16
}

/// Returns the cells of a lane, and the total cycles of its zones.
fn lane() -> (Vec<CellWords>, u64) {
    let (mut dice, mut clock, mut cycles) = (0x9E37_79B9_7F4A_7C15, 1_u64 << 36, 0);
    let mut cells = Vec::with_capacity(2 * ZONES);
    let mut put = |cell: Cell| cells.push([cell.head, cell.value]);
    let mut place = 0;
    for _ in 0..ZONES {
        let id = ZoneId(u16::try_from(1 + roll(&mut dice) % ZONE_IDS).unwrap_or(1));
        let is_long = roll(&mut dice).is_multiple_of(1000);
        let duration = if is_long { 70_000 } else { 20 + roll(&mut dice) % 200 };
        clock += duration;
        cycles += duration;
        let end = Cycles(clock);
        if let Some(cell) = Cell::from_zone(id, end, duration) {
            put(cell);
            place += 1;
            continue;
        }
        if place % CHUNK_CELLS == CHUNK_CELLS - 1 {
            put(Cell::new(Code::PADDING, 0, 0));
            place += 1;
        }
        put(Cell::new(Code::LONG_ZONE, id.0, end.low_word()));
        put(Cell::from_bits(duration));
        place += 2;
    }
    (cells, cycles)
}

/// Calls a function for every zone.
fn each_zone(cells: &[CellWords], mut take: impl FnMut(Span)) {
    let mut reader = CellReader::default();
    for piece in reader.pieces(cells, 0, None) {
        match piece {
            Piece::Zones(zones) => zones.iter().for_each(&mut take),
            Piece::Record(StreamRecord::LongZone(span)) => take(span),
            other => unreachable!("{other:?}"),
        }
    }
}

fn look(cells: &[CellWords]) -> usize {
    let mut reader = CellReader::default();
    let count = |piece| match piece {
        Piece::Zones(zones) => black_box(zones).len(),
        _ => 1,
    };
    reader.pieces(cells, 0, None).map(count).sum()
}

/// Decodes cells to columns. The columns are taken and cleared whenever they have `most` zones.
/// Returns the total number of zones.
fn columns(cells: &[CellWords], zones: &mut ZoneColumns, most: usize) -> usize {
    let mut taken = 0;
    zones.clear();
    let mut reader = CellReader::default();
    for piece in reader.pieces(cells, 0, None) {
        match piece {
            Piece::Zones(found) => zones.extend(&found),
            Piece::Record(StreamRecord::LongZone(span)) => zones.push(span),
            other => unreachable!("{other:?}"),
        }
        if zones.len() >= most {
            taken += black_box(&*zones).len();
            zones.clear();
        }
    }
    taken + black_box(&*zones).len()
}

fn bench_cells(criterion: &mut Criterion) {
    let (cells, cycles) = lane();
    let mut group = criterion.benchmark_group("cells");
    group.warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(4));
    group.sample_size(20).throughput(Throughput::Elements(ZONES as u64));
    group.bench_function("copy", |bench| {
        let mut copy = cells.clone();
        bench.iter(|| {
            copy.copy_from_slice(black_box(&cells));
            black_box(&copy);
        });
    });
    group.bench_function("look", |bench| bench.iter(|| assert_eq!(look(&cells), ZONES)));
    group.bench_function("add_up", |bench| {
        bench.iter(|| {
            let mut sums = vec![0_u64; 1 << 16];
            each_zone(&cells, |zone| sums[usize::from(zone.id.0)] += zone.end - zone.start);
            assert_eq!(sums.iter().sum::<u64>(), cycles);
        });
    });
    group.bench_function("columns", |bench| {
        let mut zones = ZoneColumns::default();
        bench.iter(|| assert_eq!(columns(&cells, &mut zones, usize::MAX), ZONES));
    });
    group.bench_function("batches", |bench| {
        let mut zones = ZoneColumns::default();
        bench.iter(|| assert_eq!(columns(&cells, &mut zones, BATCH_ZONES), ZONES));
    });
    group.finish();
}

criterion_group!(benches, bench_cells);
criterion_main!(benches);
