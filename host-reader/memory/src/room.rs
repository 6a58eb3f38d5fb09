//! Tensors of an op that lie in DRAM, and whether L1 has room for them.

use crate::usage::{L1Usage, OpUsage, Usage};

/// Sides of a tile in elements.
const TILE: u64 = 32;
/// Alignment in bytes of pages in L1.
const ALIGNMENT: u64 = 16;

/// Tensor of an op that lies in DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramTensor<'a> {
    /// Shape, data type and layout.
    pub content: &'a str,
    /// Bytes that it would take in each bank of L1 if it were interleaved there.
    pub bank_bytes: u64,
}

/// Tensors of an op that lie in DRAM, and the room that L1 has for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct L1Room<'a> {
    /// The op.
    pub op: &'a OpUsage,
    /// The tensors, largest first.
    pub tensors: Vec<DramTensor<'a>>,
    /// Number of tensors in DRAM whose bytes are unknown, because of their data type or layout.
    pub unknown_count: u64,
    /// Bytes of the largest range that is free on every core, in the launch of the op with the least
    /// room; `None` if anything in use is unknown.
    pub largest_free_bytes: Option<u64>,
    /// What `largest_free_bytes` would be without the tensors that no later op has; `None` if there are
    /// none, or if anything in use is unknown.
    pub largest_free_if_freed_bytes: Option<u64>,
    /// Bytes of tensors in L1 that no later op has as a tensor.
    pub outlived_bytes: u64,
}

impl L1Room<'_> {
    /// Returns the bytes that all of the tensors would take in each bank of L1.
    #[must_use]
    pub fn needed_bytes(&self) -> u64 {
        self.tensors.iter().map(|tensor| tensor.bank_bytes).sum()
    }

    /// Returns whether the largest free range has room for all of the tensors; `None` if what is free
    /// or needed is unknown.
    #[must_use]
    pub fn has_room(&self) -> Option<bool> {
        self.fits_in(self.largest_free_bytes?)
    }

    /// Returns whether there would be room without the tensors that no later op has; `None` if there are
    /// none, or if what is free or needed is unknown.
    #[must_use]
    pub fn has_room_if_freed(&self) -> Option<bool> {
        self.fits_in(self.largest_free_if_freed_bytes?)
    }

    fn fits_in(&self, free_bytes: u64) -> Option<bool> {
        (self.unknown_count == 0 || self.needed_bytes() > free_bytes)
            .then_some(self.needed_bytes() <= free_bytes)
    }

    /// Returns the largest tensor that does not fit even alone; `None` if each one fits alone, or if
    /// what is free is unknown.
    #[must_use]
    pub fn too_large(&self) -> Option<DramTensor<'_>> {
        let free = self.largest_free_bytes?;
        self.tensors.first().copied().filter(|tensor| tensor.bank_bytes > free)
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
            let known = buffer.content.as_deref().and_then(|content| {
                Some(DramTensor { content, bank_bytes: bank_bytes(content, banks)? })
            });
            match known {
                Some(tensor) => tensors.push(tensor),
                None => unknown_count += 1,
            }
        }
        if tensors.is_empty() && unknown_count == 0 {
            return None;
        }
        tensors.sort_by_key(|tensor| std::cmp::Reverse(tensor.bank_bytes));
        let outlived_bytes = self.outlived_bytes(index, "L1");
        let if_freed = || self.largest_common_free(index, |one| !one.outlives_its_use(index));
        Some(L1Room {
            op,
            tensors,
            unknown_count,
            largest_free_bytes: self.largest_common_free(index, |_| true),
            largest_free_if_freed_bytes: (outlived_bytes > 0).then(if_freed).flatten(),
            outlived_bytes,
        })
    }

    /// Returns the bytes of circular buffers of an op on its fullest core, and the bytes of the largest
    /// range that is free on cores without launches of the op; `None` if either is unknown.
    #[must_use]
    pub fn idle_core_room(&self, index: usize) -> Option<(u64, u64)> {
        let op = self.ops.get(index)?;
        let needed_bytes = op.l1.circular_buffer_bytes.filter(|_| !op.l1.cores.is_empty())?;
        Some((needed_bytes, self.largest_free_without_launch(index)?))
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
    use crate::{place::CallPlaces, usage::RecordedOp};
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

    fn launch(cores: &str, layout: u32, start: u64, size_bytes: u64) -> MemoryRow<'static> {
        MemoryRow {
            run_host_id: RunHostId::encode(2, 0).0,
            layout: Some(layout),
            memory: "L1".to_owned(),
            cores: Some(cores.to_owned()),
            kind: MemoryRow::CIRCULAR_BUFFER.to_owned(),
            start,
            size_bytes,
            ..MemoryRow::default()
        }
    }

    /// Two ops: the first has a tensor in the last 1,000 bytes of L1, the second one in DRAM.
    fn usage_of(dram: &str, launches: Vec<MemoryRow<'static>>) -> Usage {
        let first = r#"{"mesh": 1, "layout": {"l1_bytes": 10000, "l1_reserved_bytes": 1000, "l1_banks": 2,
            "dram_bank_bytes": 50000, "dram_banks": 2}, "events": [
            {"a": ["L1", 9000, 1000, null]}, {"u": ["L1", 9000, "[1, 500] BFLOAT16 ROW_MAJOR"]}]}"#;
        let second = format!(
            r#"{{"mesh": 1, "events": [{{"a": ["DRAM", 0, 4096, null]}}, {{"u": ["DRAM", 0, "{dram}"]}},
                {{"a": ["DRAM", 8192, 64, null]}}]}}"#
        );
        let op = |base, text: &str| RecordedOp {
            run_host_id: RunHostId::encode(base, 0).0,
            buffers: Some(text.to_owned()),
            ..RecordedOp::default()
        };
        Usage::new(vec![op(1, first), op(2, &second)], launches, &CallPlaces::new())
    }

    fn room_of(dram: &str, circular_buffer_bytes: u64) -> (Option<bool>, u64, u64, u64) {
        let usage = usage_of(dram, vec![launch("1-1", 0, 1000, circular_buffer_bytes)]);
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

    #[test]
    fn a_tensor_needs_the_same_addresses_on_every_core() {
        let tiles = "[32, 64] BFLOAT16 TILE";
        // On each core, 7,000 of 8,000 bytes are free in one piece, of which both have 6,000.
        let launches = vec![launch("1-1", 0, 1000, 1000), launch("2-1", 0, 8000, 1000)];
        let usage = usage_of(tiles, launches);
        let room = usage.l1_room(1).unwrap();
        assert_eq!(
            (room.largest_free_bytes, room.l1().largest_free_bytes),
            (Some(6000), Some(7000))
        );
        // Of two launches, the one with less room counts.
        let launches = vec![launch("1-1", 0, 1000, 1000), launch("1-1", 1, 4000, 1000)];
        let usage = usage_of(tiles, launches);
        assert_eq!(usage.l1_room(1).unwrap().largest_free_bytes, Some(4000));
        // Cores that the op leaves idle have no circular buffers.
        assert_eq!(usage.idle_core_room(1), Some((1000, 8000)));
        let unknown = usage_of(tiles, Vec::new());
        assert_eq!(unknown.l1_room(1).unwrap().largest_free_bytes, None);
        assert_eq!(unknown.idle_core_room(1), None);
    }

    #[test]
    fn room_counts_what_would_be_free_without_tensors_that_no_later_op_has() {
        // 2,000 bytes are free in front of the tensor, with it 3,000.
        let room = |dram| {
            let usage = usage_of(dram, vec![launch("1-1", 0, 1000, 6000)]);
            let room = usage.l1_room(1).unwrap();
            let large = room.too_large().map(|tensor| tensor.bank_bytes);
            let free = (room.largest_free_bytes, room.largest_free_if_freed_bytes);
            assert_eq!(free, (Some(2000), Some(3000)));
            (room.has_room(), room.has_room_if_freed(), large)
        };
        assert_eq!(room("[32, 64] BFLOAT16 TILE"), (Some(false), Some(true), Some(2048)));
        assert_eq!(room("[32, 128] BFLOAT16 TILE"), (Some(false), Some(false), Some(4096)));
        assert_eq!(room("[1, 500] BFLOAT16 ROW_MAJOR"), (Some(true), Some(true), None));
    }
}
