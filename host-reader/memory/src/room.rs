//! Tensors of an op that lie in DRAM, and whether L1 has room for them.

use crate::{
    lifetimes::Lifetime,
    usage::{L1Usage, OpUsage, Usage},
};

/// Sides of a tile in elements.
const TILE: u64 = 32;
/// Alignment in bytes of pages in L1.
const ALIGNMENT: u64 = 16;

/// Tensors of an op that lie in DRAM, and the room that L1 has for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct L1Room<'a> {
    /// The op.
    pub op: &'a OpUsage,
    /// The tensors, each with the bytes that it would take in each bank of L1 if it were interleaved,
    /// most first.
    pub tensors: Vec<(&'a str, u64)>,
    /// Number of tensors in DRAM whose bytes are unknown, because of their data type or layout.
    pub unknown_count: u64,
    /// Bytes of L1 on the fullest core that no later op has as a tensor.
    pub outlived_bytes: u64,
}

impl L1Room<'_> {
    /// Returns the bytes that all of the tensors would take in each bank of L1.
    #[must_use]
    pub fn needed_bytes(&self) -> u64 {
        self.tensors.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Returns whether the largest free piece of the fullest core has room for all of the tensors;
    /// `None` if what is free or needed is unknown.
    #[must_use]
    pub fn has_room(&self) -> Option<bool> {
        let free = self.op.l1.largest_free_bytes?;
        (self.unknown_count == 0 || self.needed_bytes() > free)
            .then_some(self.needed_bytes() <= free)
    }

    /// Returns the use of L1 on the fullest core.
    #[must_use]
    pub const fn l1(&self) -> &L1Usage {
        &self.op.l1
    }
}

impl Usage {
    /// Returns the tensors of an op that lie in DRAM, and the room that L1 has for them; `None` if it has
    /// none there, or if no sizes of memories are known.
    #[must_use]
    pub fn l1_room(&self, index: usize) -> Option<L1Room<'_>> {
        let op = self.ops.get(index)?;
        let banks = op.l1_bank_count()?;
        let live = self.live(index);
        let in_dram = live.iter().copied().filter(|buffer| {
            buffer.memory() == "DRAM" && buffer.uses.binary_search(&index).is_ok()
        });
        let (mut tensors, mut unknown_count) = (Vec::new(), 0);
        for buffer in in_dram {
            match buffer.content.as_deref().and_then(|of| Some((of, bank_bytes(of, banks)?))) {
                Some(known) => tensors.push(known),
                None => unknown_count += 1,
            }
        }
        tensors.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let outlived =
            |buffer: &&Lifetime| buffer.memory() == "L1" && buffer.outlives_its_use(index);
        let outlived_bytes = live.iter().copied().filter(outlived).map(|of| of.size_bytes).sum();
        let is_there = !tensors.is_empty() || unknown_count > 0;
        is_there.then_some(L1Room { op, tensors, unknown_count, outlived_bytes })
    }
}

/// Returns the bytes in each of `banks` banks of an interleaved tensor, such as `[1, 64, 64] BFLOAT16
/// TILE`: pages are tiles or rows, and the first banks have one more than the last ones. `None` for
/// other data types and layouts.
fn bank_bytes(content: &str, banks: u32) -> Option<u64> {
    let (shape, rest) = content.strip_prefix('[')?.split_once(']')?;
    let mut words = rest.split_whitespace();
    let (data_type, layout) = (words.next()?, words.next()?);
    let sides = shape.split(',').map(|side| side.trim().parse::<u64>().ok());
    let mut sides: Vec<u64> = sides.collect::<Option<_>>()?;
    let width = sides.pop()?;
    let (pages, page_bytes) = match layout {
        "TILE" => {
            let height = sides.pop().unwrap_or(1);
            let tiles = width.div_ceil(TILE).checked_mul(height.div_ceil(TILE))?;
            let tiles = sides.iter().try_fold(tiles, |all, side| all.checked_mul(*side))?;
            (tiles, tile_bytes(data_type)?)
        }
        "ROW_MAJOR" => {
            let rows = sides.iter().try_fold(1_u64, |all, side| all.checked_mul(*side))?;
            let row_bytes = width.checked_mul(element_bytes(data_type)?)?;
            (rows, row_bytes.checked_next_multiple_of(ALIGNMENT)?)
        }
        _ => return None,
    };
    pages.div_ceil(banks.max(1).into()).checked_mul(page_bytes)
}

/// Bytes of an element. Block floats exist in tiles only.
fn element_bytes(data_type: &str) -> Option<u64> {
    match data_type {
        "FLOAT32" | "UINT32" | "INT32" => Some(4),
        "BFLOAT16" | "UINT16" => Some(2),
        "UINT8" => Some(1),
        _ => None,
    }
}

/// Bytes of a tile: for block floats, 64 exponents of 16 elements each come first.
fn tile_bytes(data_type: &str) -> Option<u64> {
    let elements = TILE * TILE;
    match data_type {
        "BFLOAT8_B" => Some(elements + 64),
        "BFLOAT4_B" => Some(elements / 2 + 64),
        _ => Some(elements * element_bytes(data_type)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::RecordedOp;
    use tables::MemoryRow;
    use wire::RunHostId;

    #[test]
    fn interleaved_tensors_take_whole_pages_of_each_bank() {
        // 2 x 2 tiles on 3 banks: two in the first.
        assert_eq!(bank_bytes("[64, 33] BFLOAT16 TILE", 3), Some(2 * 2048));
        assert_eq!(bank_bytes("[2, 1, 32, 32] BFLOAT8_B TILE", 1), Some(2 * 1088));
        assert_eq!(bank_bytes("[1, 32] BFLOAT4_B TILE", 64), Some(576));
        // Five rows of 24 bytes, aligned to 32, on two banks.
        assert_eq!(bank_bytes("[5, 6] FLOAT32 ROW_MAJOR", 2), Some(3 * 32));
        assert_eq!(bank_bytes("[7] UINT8 ROW_MAJOR", 2), Some(16));
        for unknown in ["[2, 2] FP6 TILE", "[2, x] UINT8 ROW_MAJOR", "[2] BFLOAT8_B ROW_MAJOR", "4"]
        {
            assert_eq!(bank_bytes(unknown, 2), None, "{unknown}");
        }
    }

    fn room_of(dram: &str, circular_buffer_bytes: u64) -> (Option<bool>, u64, u64, u64) {
        let first = r#"{"mesh": 1, "layout": {"l1_bytes": 10000, "l1_reserved_bytes": 1000, "l1_banks": 2,
            "dram_bank_bytes": 50000, "dram_banks": 2}, "events": [
            {"a": ["L1", 9000, 1000, null]}, {"u": ["L1", 9000, "[1, 500] BFLOAT16 ROW_MAJOR"]}]}"#;
        let second = format!(
            r#"{{"mesh": 1, "events": [{{"a": ["DRAM", 0, 4096, null]}}, {{"u": ["DRAM", 0, "{dram}"]}},
                {{"a": ["DRAM", 8192, 64, null]}}]}}"#
        );
        let op = |base, text: &str| RecordedOp {
            chip_id: 0,
            run_host_id: RunHostId::encode(base, 0).0,
            name: None,
            buffers: Some(text.to_owned()),
        };
        let launch = MemoryRow {
            run_host_id: RunHostId::encode(2, 0).0,
            layout: Some(0),
            memory: "L1".to_owned(),
            cores: Some("1-1".to_owned()),
            kind: MemoryRow::CIRCULAR_BUFFER.to_owned(),
            start: 1000,
            size_bytes: circular_buffer_bytes,
            ..MemoryRow::default()
        };
        let usage = Usage::new(vec![op(1, first), op(2, &second)], vec![launch]);
        assert_eq!(usage.l1_room(0), None, "the first op has no tensor in DRAM");
        let room = usage.l1_room(1).unwrap();
        (room.has_room(), room.needed_bytes(), room.unknown_count, room.outlived_bytes)
    }

    #[test]
    fn a_tensor_in_dram_fits_into_the_largest_free_piece_or_not() {
        // Two tiles of 2,048 bytes: one in each bank. 8,000 bytes are free without circular buffers.
        let tiles = "[32, 64] BFLOAT16 TILE";
        assert_eq!(room_of(tiles, 5952), (Some(true), 2048, 0, 1000));
        assert_eq!(room_of(tiles, 5953), (Some(false), 2048, 0, 1000));
        assert_eq!(room_of("[32, 64] FP6 TILE", 100), (None, 0, 1, 1000));
    }
}
