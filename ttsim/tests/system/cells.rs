//! Decodes cells (the 64-bit units of streamed records) without their times, by the tables of
//! `docs/streaming.md`.

use crate::support::without_answers;

/// Number of cells in a ring, and number of cells in a chunk.
pub(crate) const RING: u32 = 256;
const CHUNK: u32 = 8;

/// A record decoded from cells, without times and cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Zone { id: u32 },
    LongZone { id: u32 },
    Data { id: u32, values: Vec<u64> },
    Event { number: u32 },
    Launch { number: u32, program: u32, trace_counter: u32 },
    Lost { total: u32 },
    Skipped { total: u32 },
    Padding,
}

/// A record with the number of its first cell.
pub(crate) type Numbered = (u32, Record);

/// Decodes cells; `first` is the number of the first cell, which begins a chunk.
///
/// Asserts that cells with a time are in the order of their times.
#[track_caller]
pub(crate) fn decode(first: u32, cells: &[[u32; 2]]) -> Vec<Numbered> {
    assert_eq!(first % CHUNK, 0);
    let (mut records, mut at, mut time) = (Vec::new(), 0, None);
    while let Some(&[head, value]) = cells.get(at) {
        let wide = |cell: usize| {
            let [low, high] = cells[at + cell];
            u64::from(high) << 32 | u64::from(low)
        };
        let number = first + u32::try_from(at).unwrap();
        let (code, field) = (head >> 16, head & 0xFFFF);
        let is_timed = !matches!(code, 0xFFF6 | 0xFFF7 | 0xFFFF);
        let (record, count) = match code {
            0xFFF0 => (Record::LongZone { id: field }, 2),
            0xFFF1 => (Record::Data { id: field, values: without_answers(field, &[wide(1)]) }, 2),
            0xFFF2 => {
                let values = without_answers(field, &[wide(1), wide(2)]);
                (Record::Data { id: field, values }, 3)
            }
            0xFFF3 => (Record::Event { number: field }, 1),
            0xFFF5 => {
                let [program, more] = cells[at + 1];
                (Record::Launch { number: field, program, trace_counter: more >> 16 }, 2)
            }
            0xFFF6 => (Record::Lost { total: value }, 1),
            0xFFF7 => (Record::Skipped { total: value }, 1),
            0xFFFF => (Record::Padding, CHUNK - number % CHUNK),
            id if id < 0xFFF0 => (Record::Zone { id }, 1),
            code => panic!("cell {number} has the code {code:#x}"),
        };
        if is_timed {
            let elapsed = value.wrapping_sub(*time.get_or_insert(value));
            assert!(elapsed < 1 << 31, "cell {number} is older than the one before it");
            time = Some(value);
        }
        assert!(number % CHUNK + count <= CHUNK, "cell {number} crosses the end of its chunk");
        records.push((number, record));
        at += count as usize;
    }
    records
}

/// Asserts that a RISC has streamed the same cells on both simulators.
#[track_caller]
pub(crate) fn assert_same_cells(what: &str, ttsim: &[Numbered], ours: &[Numbered]) {
    let first = ttsim.iter().zip(ours).position(|(found, expected)| found != expected);
    assert!(
        first.is_none() && ttsim.len() == ours.len(),
        "{what}: {} records on ttsim, {} on ours, first other one: {:?}",
        ttsim.len(),
        ours.len(),
        first.map(|index| (&ttsim[index], &ours[index])),
    );
}
