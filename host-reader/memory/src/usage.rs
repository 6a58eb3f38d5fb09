//! What is in memory during each op, and how full it is.

use crate::{
    CoreSet,
    buffers::{Layout, OpBuffers},
    intervals::Intervals,
    lifetimes::{Follower, Lifetime},
    place::{CallPlace, CallPlaces},
};
use std::collections::BTreeMap;
use tables::MemoryRow;
use wire::RunHostId;

/// An op of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedOp {
    /// Number of the chip.
    pub chip_id: u32,
    /// Id of the program, with the chip encoded in it.
    pub run_host_id: u32,
    /// Name of the op.
    pub name: Option<String>,
    /// Place of its call.
    pub place: CallPlace,
    /// The allocator's JSON of the op; `None` if the host did not record it.
    pub buffers: Option<String>,
}

/// Use of the fullest core's L1 during an op. Bytes are counted once, also where a circular buffer
/// lies in a tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct L1Usage {
    /// The cores that are as full as the fullest one, and have the same ranges; empty if launch
    /// messages are not known.
    pub cores: CoreSet,
    /// Number of the layout on these cores; see the table `memory`.
    pub layout: Option<u32>,
    /// Bytes that tt-metal keeps for itself, with kernels and their configuration. `None` if
    /// unknown.
    pub reserved_bytes: Option<u64>,
    /// Bytes of kernels and their configuration, which are part of `reserved_bytes`. `None` if launch
    /// messages or what is reserved are not known.
    pub kernel_bytes: Option<u64>,
    /// Bytes of circular buffers outside of tensors. `None` if launch messages are not known.
    pub circular_buffer_bytes: Option<u64>,
    /// Bytes of tensors and other buffers of the allocator. `None` if the host did not record them.
    pub buffer_bytes: Option<u64>,
    /// Bytes of L1.
    pub l1_bytes: Option<u64>,
    /// Bytes of the largest free range. `None` if anything above is unknown.
    pub largest_free_bytes: Option<u64>,
}

impl L1Usage {
    /// Labels of [`Self::parts`].
    pub const PARTS: [&str; 4] = [
        "circular buffers",
        "tensors and other buffers",
        "reserved by tt-metal, with kernels and their configuration",
        "of what is reserved: kernels and their configuration",
    ];

    /// Returns the bytes of the parts of what is in use; the last one is part of the one before. `None` if
    /// unknown.
    #[must_use]
    pub const fn parts(&self) -> [Option<u64>; 4] {
        [self.circular_buffer_bytes, self.buffer_bytes, self.reserved_bytes, self.kernel_bytes]
    }

    /// Returns the bytes in use that are known.
    #[must_use]
    pub fn known_bytes(&self) -> u64 {
        [self.reserved_bytes, self.circular_buffer_bytes, self.buffer_bytes].iter().flatten().sum()
    }

    /// Returns true if other bytes may be in use.
    #[must_use]
    pub const fn is_lower_bound(&self) -> bool {
        self.reserved_bytes.is_none()
            || self.circular_buffer_bytes.is_none()
            || self.buffer_bytes.is_none()
    }

    /// Returns the free bytes; `None` if they are unknown.
    #[must_use]
    pub fn free_bytes(&self) -> Option<u64> {
        if self.is_lower_bound() {
            return None;
        }
        self.l1_bytes?.checked_sub(self.known_bytes())
    }
}

/// What is known of memory during an op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpUsage {
    /// Number of the chip.
    pub chip_id: u32,
    /// Id of the program, with the chip encoded in it.
    pub run_host_id: u32,
    /// Name of the op.
    pub name: Option<String>,
    /// Place of its call.
    pub place: CallPlace,
    /// The fullest core.
    pub l1: L1Usage,
    /// Bytes of buffers in each DRAM bank; `None` if the host did not record them.
    pub dram_bytes: Option<u64>,
    /// Bytes of a DRAM bank that buffers may take.
    pub dram_bank_bytes: Option<u64>,
    layout: Option<Layout>,
}

impl OpUsage {
    /// Returns the number of workers whose L1 has buffers; `None` if unknown.
    #[must_use]
    pub fn l1_bank_count(&self) -> Option<u32> {
        self.layout.map(|layout| layout.l1_banks)
    }
}

/// Memory during the ops of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Ops of which something is known, by chip in the order of their launches.
    pub ops: Vec<OpUsage>,
    /// Buffers of the allocator; the numbers of ops in them are indices of `ops`.
    pub lifetimes: Vec<Lifetime>,
    /// Number of ops in the recording.
    pub op_count: u64,
    /// Number of ops for which the host recorded no buffers.
    pub op_without_buffers_count: u64,
    /// Number of ops whose launch messages are not known.
    pub op_without_launch_count: u64,
    /// Number of ops whose buffers cannot be read.
    pub unreadable_count: u64,
    /// Number of frees and uses of buffers that were never seen.
    pub unknown_buffer_count: u64,
    launches: BTreeMap<(u32, u32), Vec<MemoryRow<'static>>>,
}

/// Rows of the cores that have the same ranges during an op.
struct Group<'a> {
    cores: CoreSet,
    rows: Vec<&'a MemoryRow<'static>>,
}

impl Usage {
    /// Joins ops and the buffers of their host with rows of launch messages. `places` are those of the
    /// calls that the host's buffers name.
    #[must_use]
    pub fn new(
        mut recorded: Vec<RecordedOp>,
        launches: Vec<MemoryRow<'static>>,
        places: &CallPlaces,
    ) -> Self {
        recorded.sort_by_key(|op| (op.chip_id, RunHostId(op.run_host_id).base()));
        recorded.dedup_by_key(|op| (op.chip_id, op.run_host_id));
        let mut usage = Self { op_count: recorded.len() as u64, ..Self::default() };
        for row in launches {
            usage.launches.entry((row.chip_id, row.run_host_id)).or_default().push(row);
        }
        let mut chips: BTreeMap<u32, (Follower<'_>, Option<Layout>)> = BTreeMap::new();
        for op in &recorded {
            let (follower, layout) = chips
                .entry(op.chip_id)
                .or_insert_with(|| (Follower::new(op.chip_id, places), None));
            usage.add(op, follower, layout);
        }
        for (follower, _) in chips.into_values() {
            let (lifetimes, unknown_count) = follower.finish();
            usage.lifetimes.extend(lifetimes);
            usage.unknown_buffer_count += unknown_count;
        }
        usage.count();
        usage
    }

    fn add(&mut self, op: &RecordedOp, follower: &mut Follower<'_>, layout: &mut Option<Layout>) {
        let buffers = op.buffers.as_deref().and_then(|text| {
            let parsed = OpBuffers::parse(text);
            self.unreadable_count += u64::from(parsed.is_none());
            parsed
        });
        let has_launch = self.launches.contains_key(&(op.chip_id, op.run_host_id));
        self.op_without_launch_count += u64::from(!has_launch);
        self.op_without_buffers_count += u64::from(op.buffers.is_none());
        if buffers.is_none() && !has_launch {
            return;
        }
        if let Some(buffers) = &buffers {
            *layout = buffers.layout.or(*layout);
            follower.follow(self.ops.len(), buffers);
        }
        self.ops.push(OpUsage {
            chip_id: op.chip_id,
            run_host_id: op.run_host_id,
            name: op.name.clone(),
            place: op.place.clone(),
            l1: L1Usage::default(),
            // Replaced by the sum of the buffers.
            dram_bytes: buffers.is_some().then_some(0),
            dram_bank_bytes: layout.map(|layout| layout.dram_bank_bytes),
            layout: *layout,
        });
    }

    /// Counts the bytes of every op.
    fn count(&mut self) {
        let mut next: BTreeMap<u32, std::iter::Peekable<_>> = BTreeMap::new();
        let lifetimes = std::mem::take(&mut self.lifetimes);
        for of_chip in lifetimes.chunk_by(|a, b| a.chip_id == b.chip_id) {
            next.insert(of_chip[0].chip_id, of_chip.iter().peekable());
        }
        let mut live: Vec<&Lifetime> = Vec::new();
        for index in 0..self.ops.len() {
            let chip_id = self.ops[index].chip_id;
            live.retain(|one| one.chip_id == chip_id && one.is_live(index));
            if let Some(next) = next.get_mut(&chip_id) {
                let begun = std::iter::from_fn(|| next.next_if(|one| one.first_op <= index));
                live.extend(begun.filter(|one| one.is_live(index)));
            }
            let mut dram = Intervals::default();
            for buffer in live.iter().filter(|buffer| buffer.memory() == "DRAM") {
                dram.add(buffer.range());
            }
            let l1 = self.fullest(index, &live);
            let op = &mut self.ops[index];
            op.l1 = l1;
            op.dram_bytes = op.dram_bytes.map(|_| dram.size());
        }
        self.lifetimes = lifetimes;
    }

    fn fullest(&self, index: usize, live: &[&Lifetime]) -> L1Usage {
        let op = &self.ops[index];
        let mut common = Intervals::default();
        let reserved_bytes = op.layout.map(|layout| common.add(0..layout.l1_reserved_bytes));
        let mut buffer_bytes = op.dram_bytes.map(|_| 0);
        for buffer in live.iter().filter(|buffer| buffer.memory() == "L1") {
            let fresh = common.add(buffer.range());
            buffer_bytes = buffer_bytes.map(|bytes| bytes + fresh);
        }
        let l1_bytes = op.layout.map(|layout| layout.l1_bytes);
        let known = L1Usage { reserved_bytes, buffer_bytes, l1_bytes, ..L1Usage::default() };
        let of_groups = self.groups(op).into_iter().map(|group| {
            let (mut used, mut kernels) = (common.clone(), Intervals::default());
            let mut circular_buffer_bytes = 0;
            for row in &group.rows {
                let range = row.start..row.start + row.size_bytes;
                let fresh = used.add(range.clone());
                if row.is_circular_buffer() {
                    circular_buffer_bytes += fresh;
                } else if row.is_of_kernel() {
                    // Kernels and their configuration are in what tt-metal reserves.
                    let end = range.end.min(reserved_bytes.unwrap_or_default());
                    kernels.add(range.start.min(end)..end);
                }
            }
            let mut usage = L1Usage {
                kernel_bytes: reserved_bytes.map(|_| kernels.size()),
                layout: group.rows.first().and_then(|row| row.layout),
                cores: group.cores,
                circular_buffer_bytes: Some(circular_buffer_bytes),
                ..known.clone()
            };
            let is_whole = !usage.is_lower_bound();
            usage.largest_free_bytes =
                l1_bytes.filter(|_| is_whole).map(|end| used.largest_gap(end));
            usage
        });
        let mut fullest: Option<L1Usage> = None;
        for usage in of_groups {
            if fullest.as_ref().is_none_or(|most| usage.known_bytes() > most.known_bytes()) {
                fullest = Some(usage);
            }
        }
        fullest.unwrap_or(known)
    }

    /// Returns the largest range of L1 that is free on every core while an op runs, in the launch with the
    /// least room; `None` if anything in use is unknown. Buffers that `is_kept` excludes count as free.
    pub(crate) fn largest_common_free(
        &self,
        index: usize,
        is_kept: impl Fn(&Lifetime) -> bool,
    ) -> Option<u64> {
        let op = self.ops.get(index)?;
        let (layout, common) = self.common_ranges(index, is_kept)?;
        // An interleaved tensor has the same address on every core. Launches with other ranges have
        // other layouts.
        let mut of_layouts: BTreeMap<Option<u32>, Intervals> = BTreeMap::new();
        for group in self.groups(op) {
            for row in group.rows {
                let used = of_layouts.entry(row.layout).or_insert_with(|| common.clone());
                used.add(row.start..row.start + row.size_bytes);
            }
        }
        of_layouts.into_values().map(|used| used.largest_gap(layout.l1_bytes)).min()
    }

    /// Returns the largest range of L1 that is free on cores on which an op was not launched; `None` if
    /// anything in use is unknown.
    pub(crate) fn largest_free_without_launch(&self, index: usize) -> Option<u64> {
        let (layout, common) = self.common_ranges(index, |_| true)?;
        Some(common.largest_gap(layout.l1_bytes))
    }

    /// Returns the ranges in use on every core while an op runs; `None` if anything in use is unknown.
    fn common_ranges(
        &self,
        index: usize,
        is_kept: impl Fn(&Lifetime) -> bool,
    ) -> Option<(Layout, Intervals)> {
        let op = self.ops.get(index).filter(|op| !op.l1.is_lower_bound())?;
        let layout = op.layout?;
        let mut common = Intervals::default();
        common.add(0..layout.l1_reserved_bytes);
        let buffers = self.live(index).into_iter().filter(|one| one.memory() == "L1");
        for buffer in buffers.filter(|one| is_kept(one)) {
            common.add(buffer.range());
        }
        Some((layout, common))
    }

    /// Returns the rows of launch messages, by cores and layout.
    fn groups(&self, op: &OpUsage) -> Vec<Group<'_>> {
        let mut groups: BTreeMap<(&str, Option<u32>), Vec<&MemoryRow<'static>>> = BTreeMap::new();
        for row in self.launches.get(&(op.chip_id, op.run_host_id)).into_iter().flatten() {
            groups
                .entry((row.cores.as_deref().unwrap_or_default(), row.layout))
                .or_default()
                .push(row);
        }
        let groups = groups.into_iter();
        groups
            .filter_map(|((cores, _), rows)| Some(Group { cores: cores.parse().ok()?, rows }))
            .collect()
    }

    /// Returns the buffers that were there when an op was launched.
    #[must_use]
    pub fn live(&self, index: usize) -> Vec<&Lifetime> {
        let Some(op) = self.ops.get(index) else { return Vec::new() };
        let of_chip = self.lifetimes.iter().filter(|one| one.chip_id == op.chip_id);
        of_chip.filter(|one| one.is_live(index)).collect()
    }

    /// Returns the rows of an op: what is the same on all cores, then the cores with the same
    /// ranges, then DRAM. `core` chooses the rows of one core, besides those of all.
    #[must_use]
    pub fn rows(&self, index: usize, core: Option<(u32, u32)>) -> Vec<MemoryRow<'static>> {
        let Some(op) = self.ops.get(index) else { return Vec::new() };
        let live = self.live(index);
        let row = |memory: &str| MemoryRow {
            chip_id: op.chip_id,
            run_host_id: op.run_host_id,
            op: op.name.clone(),
            memory: memory.to_owned(),
            ..MemoryRow::default()
        };
        let mut rows = Vec::new();
        let (mut common, mut dram) = (Intervals::default(), Intervals::default());
        if let Some(layout) = op.layout {
            let size_bytes = layout.l1_reserved_bytes;
            rows.push(MemoryRow {
                core_count: Some(layout.l1_banks),
                kind: MemoryRow::RESERVED.to_owned(),
                size_bytes,
                counted_bytes: common.add(0..size_bytes),
                ..row("L1")
            });
        }
        let mut in_dram = Vec::new();
        for buffer in live {
            let memory = buffer.memory();
            let (used, banks, rows) = match memory {
                "L1" => (&mut common, op.layout.map(|of| of.l1_banks), &mut rows),
                _ => (&mut dram, op.layout.map(|of| of.dram_banks), &mut in_dram),
            };
            rows.push(MemoryRow {
                core_count: banks,
                kind: buffer.kind().to_owned(),
                content: buffer.content.clone(),
                start: buffer.start,
                size_bytes: buffer.size_bytes,
                counted_bytes: used.add(buffer.range()),
                owner: buffer.owner.clone(),
                last_use_run_host_id: buffer.last_use.map(|last| self.ops[last].run_host_id),
                owner_module: buffer.place.module.clone(),
                owner_location: buffer.place.location.clone(),
                ..row(memory)
            });
        }
        rows.sort_by_key(|row| row.start);
        for group in self.groups(op) {
            if core.is_some_and(|core| !group.cores.contains(core)) {
                continue;
            }
            let mut used = common.clone();
            for row in group.rows {
                let counted_bytes = used.add(row.start..row.start + row.size_bytes);
                rows.push(MemoryRow { op: op.name.clone(), counted_bytes, ..row.clone() });
            }
        }
        in_dram.sort_by_key(|row| row.start);
        rows.extend(in_dram);
        rows
    }

    /// Returns the one of some ops, by index, during which a core has the most bytes in use.
    #[must_use]
    pub fn l1_peak(&self, ops: &[usize]) -> Option<usize> {
        self.peak(ops, |op| Some(op.l1.known_bytes()))
    }

    /// Returns the one of some ops, by index, during which DRAM banks have the most bytes in use;
    /// `None` if the buffers of no op are known.
    #[must_use]
    pub fn dram_peak(&self, ops: &[usize]) -> Option<usize> {
        self.peak(ops, |op| op.dram_bytes)
    }

    fn peak(&self, ops: &[usize], bytes: impl Fn(&OpUsage) -> Option<u64>) -> Option<usize> {
        let mut most: Option<(u64, usize)> = None;
        for &index in ops {
            let Some(bytes) = self.ops.get(index).and_then(&bytes) else { continue };
            if most.is_none_or(|(most, _)| bytes > most) {
                most = Some((bytes, index));
            }
        }
        most.map(|(_, index)| index)
    }

    /// Returns the numbers of the chips with ops of which something is known.
    #[must_use]
    pub fn chips(&self) -> Vec<u32> {
        let mut chips: Vec<_> = self.ops.iter().map(|op| op.chip_id).collect();
        chips.dedup();
        chips
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: &str = r#""layout": {"l1_bytes": 1000, "l1_reserved_bytes": 100, "l1_banks": 4,
        "dram_bank_bytes": 5000, "dram_banks": 2}"#;

    fn op(chip_id: u32, base: u32, name: &str, buffers: Option<&str>) -> RecordedOp {
        RecordedOp {
            chip_id,
            run_host_id: RunHostId::encode(base, chip_id).0,
            name: Some(name.to_owned()),
            buffers: buffers.map(str::to_owned),
            ..RecordedOp::default()
        }
    }

    /// A row of a launch message of the op with this number on chip 0.
    fn launch(
        base: u32,
        cores: &str,
        kind: &str,
        start: u64,
        size_bytes: u64,
    ) -> MemoryRow<'static> {
        MemoryRow {
            run_host_id: RunHostId::encode(base, 0).0,
            layout: Some(0),
            launches: Some(1),
            memory: "L1".to_owned(),
            cores: Some(cores.to_owned()),
            kind: kind.to_owned(),
            start,
            size_bytes,
            ..MemoryRow::default()
        }
    }

    fn cores(text: &str) -> CoreSet {
        text.parse().unwrap()
    }

    /// Three ops. The second has a tensor in which one of its circular buffers lies.
    fn three_ops() -> Usage {
        let first = format!(
            r#"{{"mesh": 1, {LAYOUT}, "events": [
                {{"a": ["DRAM", 4000, 64, null]}}, {{"o": ["DRAM", 4000]}},
                {{"a": ["L1", 900, 100, "ttnn.ones"]}},
                {{"u": ["L1", 900, "[2, 2] BFLOAT16 TILE"]}}]}}"#
        );
        let second = r#"{"mesh": 1, "events": [
            {"a": ["L1", 800, 50, "ttnn.add"]}, {"a": ["L1", 600, 10, null]}, {"f": ["L1", 600]},
            {"u": ["L1", 800, "[4] UINT32 ROW_MAJOR"]}, {"u": ["L1_SMALL", 7, "[1]"]}]}"#;
        let third =
            r#"{"mesh": 1, "events": [{"f": ["L1", 800]}, {"a": ["DRAM", 0, 32, "ttnn.mul"]}]}"#;
        let ops = vec![
            op(0, 3, "Mul", Some(third)),
            op(0, 1, "Ones", Some(&first)),
            op(0, 2, "Add", Some(second)),
            op(0, 4, "Lost", None),
        ];
        let launches = vec![
            launch(1, "1-1:2-1", MemoryRow::KERNEL, 40, 20),
            launch(2, "1-1", MemoryRow::CIRCULAR_BUFFER, 100, 60),
            launch(2, "2-1 3-1", MemoryRow::CIRCULAR_BUFFER, 100, 40),
            launch(2, "2-1 3-1", MemoryRow::CIRCULAR_BUFFER, 820, 30),
            launch(2, "2-1 3-1", MemoryRow::REMOTE_CIRCULAR_BUFFER, 840, 45),
        ];
        Usage::new(ops, launches, &CallPlaces::new())
    }

    #[test]
    fn bytes_of_the_fullest_core_count_once() {
        let usage = three_ops();
        let known: Vec<_> =
            usage.ops.iter().map(|op| (op.name.as_deref().unwrap(), &op.l1)).collect();
        let common =
            L1Usage { reserved_bytes: Some(100), l1_bytes: Some(1000), ..L1Usage::default() };
        let ones = L1Usage {
            cores: cores("1-1:2-1"),
            layout: Some(0),
            kernel_bytes: Some(20),
            circular_buffer_bytes: Some(0),
            buffer_bytes: Some(100),
            largest_free_bytes: Some(800),
            ..common.clone()
        };
        // On 2-1: 40 bytes, none of those from 820 to 850, and 35 of those from 840 to 885.
        let add = L1Usage {
            cores: cores("2-1 3-1"),
            layout: Some(0),
            kernel_bytes: Some(0),
            circular_buffer_bytes: Some(75),
            buffer_bytes: Some(150),
            largest_free_bytes: Some(660),
            ..common.clone()
        };
        let mul = L1Usage { buffer_bytes: Some(100), ..common };
        assert_eq!(known, [("Ones", &ones), ("Add", &add), ("Mul", &mul)]);
        assert_eq!((ones.known_bytes(), ones.free_bytes()), (200, Some(800)));
        assert_eq!((add.known_bytes(), add.free_bytes()), (325, Some(675)));
        assert_eq!((mul.known_bytes(), mul.free_bytes(), mul.is_lower_bound()), (200, None, true));
        assert_eq!(usage.l1_peak(&[0, 1, 2]), Some(1));
        assert_eq!(usage.l1_peak(&[0, 2]), Some(0), "the first of equals");
        let dram: Vec<_> = usage.ops.iter().map(|op| (op.dram_bytes, op.dram_bank_bytes)).collect();
        assert_eq!(dram, [(Some(64), Some(5000)), (Some(64), Some(5000)), (Some(96), Some(5000))]);
        assert_eq!(usage.dram_peak(&[0, 1, 2]), Some(2));
    }

    #[test]
    fn what_is_unknown_is_counted() {
        let usage = three_ops();
        let counts =
            (usage.op_count, usage.op_without_buffers_count, usage.op_without_launch_count);
        assert_eq!(counts, (4, 1, 2));
        assert_eq!((usage.unreadable_count, usage.unknown_buffer_count), (0, 1));
        let ops = vec![op(0, 1, "A", Some("{")), op(1, 1, "B", None)];
        let damaged = Usage::new(ops, Vec::new(), &CallPlaces::new());
        assert_eq!((damaged.ops.len(), damaged.unreadable_count), (0, 1));
        assert_eq!((damaged.op_without_buffers_count, damaged.op_without_launch_count), (1, 2));
    }

    #[test]
    fn buffers_live_from_their_allocation_until_they_are_freed() {
        let usage = three_ops();
        let told: Vec<_> = usage
            .lifetimes
            .iter()
            .map(|one| (one.start, one.kind(), one.first_op, one.end_op, one.last_use))
            .collect();
        assert_eq!(
            told,
            [
                (4000, MemoryRow::PROFILER, 0, None, None),
                (900, MemoryRow::TENSOR, 0, None, Some(0)),
                (800, MemoryRow::TENSOR, 1, Some(2), Some(1)),
                (0, MemoryRow::BUFFER, 2, None, None),
            ]
        );
        let outlived: Vec<_> = (0..3)
            .map(|op| usage.live(op).iter().filter(|one| one.outlives_its_use(op)).count())
            .collect();
        assert_eq!(outlived, [0, 1, 1]);
    }

    #[test]
    fn rows_are_those_of_the_op_and_core() {
        let usage = three_ops();
        let places = |core| -> Vec<_> {
            let rows = usage.rows(1, core);
            rows.iter()
                .map(|row| (row.start, row.size_bytes, row.counted_bytes, row.cores.clone()))
                .collect()
        };
        let both = Some("2-1 3-1".to_owned());
        let common = [(0, 100, 100, None), (800, 50, 50, None), (900, 100, 100, None)];
        let of_first = [(100, 60, 60, Some("1-1".to_owned()))];
        let of_others =
            [(100, 40, 40, both.clone()), (820, 30, 0, both.clone()), (840, 45, 35, both)];
        let dram = [(4000, 64, 64, None)];
        assert_eq!(places(Some((1, 1))), [&common[..], &of_first, &dram].concat());
        assert_eq!(places(Some((3, 1))), [&common[..], &of_others, &dram].concat());
        assert_eq!(places(None), [&common[..], &of_first, &of_others, &dram].concat());
        assert_eq!(usage.rows(9, None), []);
    }

    #[test]
    fn a_mesh_that_closes_or_is_opened_anew_has_no_buffers_any_more() {
        let opened = |mesh: u32, rest: &str| {
            format!(
                r#"{{"mesh": {mesh}, {LAYOUT}, {rest} "events": [{{"a": ["L1", 500, 20, null]}}]}}"#
            )
        };
        let plain = r#"{"mesh": 1, "events": []}"#;
        let ops = vec![
            op(2, 1, "A", Some(&opened(1, ""))),
            op(2, 2, "B", Some(plain)),
            op(2, 3, "C", Some(&opened(2, "\"closed\": [1],"))),
            op(2, 4, "D", Some(&opened(2, ""))),
            op(3, 9, "E", Some(plain)),
        ];
        let usage = Usage::new(ops, Vec::new(), &CallPlaces::new());
        let spans: Vec<_> =
            usage.lifetimes.iter().map(|one| (one.chip_id, one.first_op, one.end_op)).collect();
        assert_eq!(spans, [(2, 0, Some(2)), (2, 2, Some(3)), (2, 3, None)]);
        let bytes: Vec<_> = usage.ops.iter().map(|op| op.l1.buffer_bytes).collect();
        assert_eq!(bytes, [Some(20), Some(20), Some(20), Some(20), Some(0)]);
        assert_eq!(usage.chips(), [2, 3]);
    }
}
