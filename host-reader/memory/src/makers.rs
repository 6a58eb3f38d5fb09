//! What makes a memory as full as it is: bytes by the call or op that they belong to.

use crate::{place::CallPlace, usage::Usage};
use serde::Serialize;
use std::collections::BTreeMap;
use tables::MemoryRow;

/// Bytes of a memory that belong to one call or op, on the fullest core or in each DRAM bank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Maker {
    /// `L1` or `DRAM`.
    pub memory: &'static str,
    /// What is there: a kind of the table `memory`. Circular buffers and kernels count together, the
    /// latter with their configuration; what is reserved counts without them.
    pub kind: &'static str,
    /// Call that allocated buffers, or the op that has circular buffers and kernels; `None` if unknown,
    /// and for what is reserved.
    pub owner: Option<String>,
    /// Place of the owner's call.
    #[serde(flatten)]
    pub place: CallPlace,
    /// Number of ranges.
    pub range_count: u64,
    /// Bytes of the ranges. A byte of several ranges counts once.
    pub bytes: u64,
    /// Bytes of tensors that no later op has as a tensor.
    pub outlived_bytes: u64,
}

/// What the bytes of one maker have in common.
type Key = (&'static str, &'static str, Option<String>, CallPlace);

/// Ranges, their bytes, and those of them that outlive their use.
type Sums = (u64, u64, u64);

impl Usage {
    /// Returns what keeps L1 in use on the fullest core during an op, and then what keeps DRAM in use;
    /// most bytes first. The sum for L1 is [`L1Usage::known_bytes`](crate::L1Usage::known_bytes).
    #[must_use]
    pub fn makers(&self, index: usize) -> Vec<Maker> {
        let Some(op) = self.ops.get(index) else { return Vec::new() };
        let mut sums: BTreeMap<Key, Sums> = BTreeMap::new();
        let mut add = |key: Key, bytes: u64, outlived_bytes: u64| {
            let (count, sum, outlived) = sums.entry(key).or_default();
            *count += 1;
            *sum += bytes;
            *outlived += outlived_bytes;
        };
        let kernel_bytes = op.l1.kernel_bytes.unwrap_or_default();
        for row in self.rows(index, op.l1.cores.first()) {
            let memory = if row.memory == "L1" { "L1" } else { "DRAM" };
            let is_other_layout = row.cores.is_some() && row.layout != op.l1.layout;
            let of_op = |kind| (memory, kind, op.name.clone(), op.place.clone());
            match kind_of(&row) {
                _ if is_other_layout => {}
                MemoryRow::RESERVED => {
                    let key = (memory, MemoryRow::RESERVED, None, CallPlace::default());
                    add(key, row.counted_bytes.saturating_sub(kernel_bytes), 0);
                }
                MemoryRow::CIRCULAR_BUFFER => {
                    add(of_op(MemoryRow::CIRCULAR_BUFFER), row.counted_bytes, 0);
                }
                // Kernels may share bytes, which `kernel_bytes` counts once.
                MemoryRow::KERNEL => add(of_op(MemoryRow::KERNEL), 0, 0),
                // In what tt-metal reserves.
                MemoryRow::PROFILER if row.cores.is_some() => {}
                kind => {
                    let place =
                        CallPlace { module: row.owner_module, location: row.owner_location };
                    let last = row.last_use_run_host_id;
                    let outlives = last.is_some_and(|last| self.is_before(last, index));
                    let outlived_bytes = if outlives { row.counted_bytes } else { 0 };
                    add((memory, kind, row.owner, place), row.counted_bytes, outlived_bytes);
                }
            }
        }
        let makers = sums.into_iter().map(|((memory, kind, owner, place), sums)| {
            let (range_count, mut bytes, outlived_bytes) = sums;
            if kind == MemoryRow::KERNEL {
                bytes = kernel_bytes;
            }
            Maker { memory, kind, owner, place, range_count, bytes, outlived_bytes }
        });
        let mut makers: Vec<Maker> = makers.collect();
        makers.sort_by(|a, b| (b.memory, b.bytes).cmp(&(a.memory, a.bytes)));
        makers
    }

    /// Returns true if an op was launched before another one of its chip.
    fn is_before(&self, run_host_id: u32, index: usize) -> bool {
        let Some(op) = self.ops.get(index) else { return false };
        let mut before = self.ops.iter().take(index).rev();
        before.any(|one| one.chip_id == op.chip_id && one.run_host_id == run_host_id)
    }
}

/// Returns the kind of a row; circular buffers of other cores count as such, and configurations as
/// kernels.
fn kind_of(row: &MemoryRow<'_>) -> &'static str {
    match row.kind.as_str() {
        MemoryRow::RESERVED => MemoryRow::RESERVED,
        MemoryRow::KERNEL | MemoryRow::CONFIGURATION => MemoryRow::KERNEL,
        MemoryRow::PROFILER => MemoryRow::PROFILER,
        MemoryRow::TENSOR => MemoryRow::TENSOR,
        _ if row.is_circular_buffer() => MemoryRow::CIRCULAR_BUFFER,
        _ => MemoryRow::BUFFER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{L1Usage, place::CallPlaces, usage::RecordedOp};
    use wire::RunHostId;

    fn place(module: &str, location: &str) -> CallPlace {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        CallPlace { module: text(module), location: text(location) }
    }

    /// Two ops: the first makes a tensor in L1 and one in DRAM, the second has two of its own, circular
    /// buffers, of which one lies in a tensor, and kernels that share a byte.
    fn two_ops() -> Usage {
        let first = r#"{"mesh": 1, "layout": {"l1_bytes": 1000, "l1_reserved_bytes": 100, "l1_banks": 4,
            "dram_bank_bytes": 5000, "dram_banks": 2}, "calls": ["a", null, "a"], "events": [
            {"a": ["L1", 900, 100, "ttnn.ones"]}, {"u": ["L1", 900, "[2, 2] BFLOAT16 TILE"]},
            {"a": ["DRAM", 0, 40, null]}, {"a": ["DRAM", 64, 8, "ttnn.ones"]}]}"#;
        let second = r#"{"mesh": 1, "calls": ["b", "b"], "events": [
            {"a": ["L1", 700, 50, "ttnn.add"]}, {"u": ["L1", 700, "[1] UINT32 TILE"]},
            {"a": ["L1", 750, 30, "ttnn.add"]}, {"u": ["L1", 750, "[3] UINT32 TILE"]}]}"#;
        let op = |base, name: &str, place, text: &str| RecordedOp {
            chip_id: 0,
            run_host_id: RunHostId::encode(base, 0).0,
            name: Some(name.to_owned()),
            place,
            buffers: Some(text.to_owned()),
        };
        let launch = |cores: &str, layout, kind: &str, start, size_bytes| MemoryRow {
            run_host_id: RunHostId::encode(2, 0).0,
            layout: Some(layout),
            memory: "L1".to_owned(),
            cores: Some(cores.to_owned()),
            kind: kind.to_owned(),
            start,
            size_bytes,
            ..MemoryRow::default()
        };
        let launches = vec![
            launch("1-1", 0, MemoryRow::CIRCULAR_BUFFER, 100, 60),
            launch("1-1", 0, MemoryRow::REMOTE_CIRCULAR_BUFFER, 740, 20),
            launch("1-1", 0, MemoryRow::KERNEL, 10, 21),
            launch("1-1", 0, MemoryRow::KERNEL, 30, 10),
            launch("1-1", 0, MemoryRow::CONFIGURATION, 90, 20),
            launch("1-1", 0, MemoryRow::PROFILER, 50, 8),
            // Less full: another layout of the same core, and another core.
            launch("1-1", 1, MemoryRow::CIRCULAR_BUFFER, 100, 30),
            launch("2-1", 0, MemoryRow::CIRCULAR_BUFFER, 300, 31),
        ];
        let places: CallPlaces =
            [("a", place("", "a.py:1")), ("b", place("M.mlp", "b.py:2")), ("c", place("", ""))]
                .map(|(name, place)| (name.to_owned(), place))
                .into();
        let ops = vec![
            op(1, "Ones", CallPlace::default(), first),
            op(2, "Add", place("M.mlp", "b.py:2"), second),
        ];
        Usage::new(ops, launches, &places)
    }

    #[test]
    fn every_byte_of_the_fullest_core_has_one_maker() {
        let usage = two_ops();
        let told: Vec<_> = usage
            .makers(1)
            .into_iter()
            .map(|of| {
                let owner = of.owner.unwrap_or_default();
                let (count, bytes, outlived) = (of.range_count, of.bytes, of.outlived_bytes);
                (of.memory, of.kind, owner, of.place.to_string(), count, bytes, outlived)
            })
            .collect();
        let row = |memory, kind, owner: &str, place: &str, count, bytes, outlived| {
            (memory, kind, owner.to_owned(), place.to_owned(), count, bytes, outlived)
        };
        assert_eq!(
            told,
            [
                row("L1", "tensor", "ttnn.ones", "a.py:1", 1, 100, 100),
                row("L1", "tensor", "ttnn.add", "b.py:2, M.mlp", 2, 80, 0),
                row("L1", "circular buffer", "Add", "b.py:2, M.mlp", 2, 60, 0),
                // Without kernels from 10 to 40, and configuration from 90 on.
                row("L1", "reserved", "", "", 1, 60, 0),
                row("L1", "kernel", "Add", "b.py:2, M.mlp", 3, 40, 0),
                row("DRAM", "buffer", "", "", 1, 40, 0),
                row("DRAM", "buffer", "ttnn.ones", "a.py:1", 1, 8, 0),
            ]
        );
        let l1: &L1Usage = &usage.ops[1].l1;
        assert_eq!((l1.known_bytes(), l1.kernel_bytes, l1.layout), (340, Some(40), Some(0)));
    }

    #[test]
    fn peaks_have_their_place_and_their_makers() {
        let usage = two_ops();
        let peaks = usage.peaks_and_makers(&[0, 1]);
        let told: Vec<_> = peaks
            .iter()
            .map(|(peak, makers)| {
                let sum: u64 = makers.iter().map(|maker| maker.bytes).sum();
                (
                    peak.memory,
                    peak.used_bytes,
                    sum,
                    peak.location.as_deref(),
                    peak.module.as_deref(),
                )
            })
            .collect();
        let second = (Some("b.py:2"), Some("M.mlp"));
        assert_eq!(told, [("L1", 340, 340, second.0, second.1), ("DRAM", 48, 48, None, None)]);
        // Without launch messages, kernels are part of what is reserved.
        let makers = usage.makers(0);
        let told: Vec<_> = makers.iter().map(|maker| (maker.kind, maker.bytes)).collect();
        assert_eq!(told[..2], [("reserved", 100), ("tensor", 100)]);
    }
}
