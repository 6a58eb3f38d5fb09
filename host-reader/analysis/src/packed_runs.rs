//! Runs of lanes, packed into about twenty bytes each. A report needs the runs of all launches at
//! once. Runs beyond the memory limit are stored in a temporary file.

use super::{
    codec::Codec,
    figures::{Extent, LaneExtents, LaneRun, OpKey},
};
use reader::{
    lane::{LaneId, TraceReplay},
    mesh::Noc0Coord,
    packed_bytes::{PackedBytes, PackedMemory, PackedWindow},
};
use std::{collections::BTreeSet, iter::Peekable, sync::Arc};

/// Runs of the lanes of one chip.
#[derive(Debug, Default)]
pub(super) struct ChipRuns {
    lanes: Vec<PackedRuns>,
    /// Cores with dispatch kernels. Their runs belong to no op.
    dispatch_cores: BTreeSet<Noc0Coord>,
}

impl ChipRuns {
    /// Adds the runs of a lane, and stores them in `memory`.
    pub(super) fn add(
        &mut self,
        lane: LaneId,
        runs: impl Iterator<Item = LaneRun>,
        memory: &Arc<PackedMemory>,
    ) {
        let dispatch_cores = &mut self.dispatch_cores;
        let op_runs = runs.filter(|run| {
            if run.is_dispatch {
                dispatch_cores.insert(run.lane.core);
            }
            !run.is_dispatch
        });
        let (bytes, run_count) = packed_runs(lane, op_runs);
        if run_count > 0 {
            self.lanes.push(PackedRuns { lane, bytes: memory.keep(bytes), run_count });
        }
    }

    /// Adds the runs of other lanes.
    pub(super) fn merge(&mut self, mut other: Self) {
        self.lanes.append(&mut other.lanes);
        self.dispatch_cores.append(&mut other.dispatch_cores);
    }

    pub(super) const fn dispatch_cores(&self) -> &BTreeSet<Noc0Coord> {
        &self.dispatch_cores
    }

    /// Returns the runs in pieces, sorted by program, lane and order in the lane. A piece contains
    /// all runs of each of its programs.
    pub(super) fn pieces(&mut self) -> Pieces<'_> {
        self.lanes.sort_by_key(|runs| runs.lane);
        let mut lanes: Vec<_> = self.lanes.iter().map(|runs| runs.runs().peekable()).collect();
        let next_keys = lanes.iter_mut().map(next_key).collect();
        Pieces { lanes, next_keys }
    }
}

/// Minimum number of runs in a piece, except in the last piece. This many unpacked runs take about
/// a megabyte, so they are still in the CPU's cache when they are joined.
const PIECE_RUN_COUNT: usize = 1 << 12;

/// Iterator over the runs of a chip, piece by piece.
pub(super) struct Pieces<'runs> {
    lanes: Vec<Peekable<Runs<'runs>>>,
    /// Next program of each lane; `None` for lanes without further runs.
    next_keys: Vec<Option<OpKey>>,
}

impl Iterator for Pieces<'_> {
    type Item = Vec<LaneRun>;

    fn next(&mut self) -> Option<Vec<LaneRun>> {
        // A piece exceeds the minimum by at most one program, estimated here as one run per lane.
        let mut piece: Vec<LaneRun> =
            Vec::with_capacity(PIECE_RUN_COUNT.saturating_add(self.lanes.len()));
        // Most lanes run the same programs, so few iterations are needed.
        while let Some(key) = self.next_keys.iter().flatten().min().copied() {
            // Runs without a replay may belong to a replay of their program.
            let belongs = piece.last().is_some_and(|last| {
                last.key.program == key.program && piece_has_unreplayed(&piece, key.program)
            });
            if piece.len() >= PIECE_RUN_COUNT && !belongs {
                break;
            }
            for (lane, next) in self.lanes.iter_mut().zip(&mut self.next_keys) {
                if *next != Some(key) {
                    continue;
                }
                while let Some(run) = lane.next_if(|run| run.key == key) {
                    piece.push(run);
                }
                *next = next_key(lane);
            }
        }
        (!piece.is_empty()).then_some(piece)
    }
}

/// Returns true if a piece, whose last runs are of this program, has runs of it that name no replay.
fn piece_has_unreplayed(piece: &[LaneRun], program: u32) -> bool {
    let first = piece.partition_point(|run| run.key.program < program);
    piece.get(first).is_some_and(|run| run.key.trace.is_none())
}

fn next_key(lane: &mut Peekable<Runs<'_>>) -> Option<OpKey> {
    lane.peek().map(|run| run.key)
}

/// Packed runs of one lane in memory or in the temporary file, sorted by program, then by index in
/// the lane.
#[derive(Debug)]
struct PackedRuns {
    lane: LaneId,
    bytes: PackedBytes,
    run_count: usize,
}

impl PackedRuns {
    fn runs(&self) -> Runs<'_> {
        Runs::new(self.lane, self.run_count, self.bytes.window())
    }
}

/// Bit flags of a packed run. Missing fields are not stored.
struct Shape;

impl Shape {
    const IS_FAR: u64 = 1;
    const HAS_TRACE: u64 = 1 << 1;
    const HAS_SUB_DEVICE: u64 = 1 << 2;
    /// Flag of a run whose extents `data_movement` and `kernel` are equal.
    const MOVES_DATA: u64 = 1 << 3;
    /// Flag of a run whose extents `own_kernel` and `kernel` are equal.
    const IS_OWN: u64 = 1 << 4;
    const HAS_ZONES: u64 = 1 << 5;
}

/// Previous run of the lane. The next run's program, index and times are stored relative to it.
#[derive(Clone, Copy, Default)]
struct PreviousRun {
    program: u32,
    index: u64,
    start: u64,
}

impl PreviousRun {
    const fn from_run(run: &LaneRun) -> Self {
        Self { program: run.key.program, index: run.index as u64, start: run.bounds.0 }
    }
}

/// Packs the runs of a lane, and returns their bytes and their number. Most often the runs are
/// already sorted by program.
fn packed_runs(lane: LaneId, mut runs: impl Iterator<Item = LaneRun>) -> (Vec<u8>, usize) {
    let (mut bytes, mut run_count) = (Vec::new(), 0_usize);
    let (mut before, mut last_key) = (PreviousRun::default(), None);
    while let Some(mut run) = runs.next() {
        if last_key > Some(run.key) {
            let packed = Runs::new(lane, run_count, PackedWindow::new(&bytes));
            let mut unordered: Vec<_> = packed.chain([run]).chain(runs).collect();
            unordered.sort_by_key(|run| (run.key, run.index));
            return packed_runs(lane, unordered.into_iter());
        }
        code_run(&mut bytes, &mut run, before);
        run_count = run_count.saturating_add(1);
        before = PreviousRun::from_run(&run);
        last_key = Some(run.key);
    }
    bytes.shrink_to_fit();
    (bytes, run_count)
}

/// Packs `run`, or unpacks the next run into it.
fn code_run(codec: &mut impl Codec, run: &mut LaneRun, before: PreviousRun) {
    let LaneRun { key, index, bounds: (start, end), extents, has_zones, sub_device_id, .. } = run;
    let near = near_extents(extents, (*start, *end));
    let has = |is_there: bool, bit: u64| if is_there { bit } else { 0 };
    let mut shape = near.map_or(Shape::IS_FAR, |(shape, _)| shape)
        | has(key.trace.is_some(), Shape::HAS_TRACE)
        | has(sub_device_id.is_some(), Shape::HAS_SUB_DEVICE)
        | has(*has_zones, Shape::HAS_ZONES);
    codec.number(&mut shape);
    *has_zones = shape & Shape::HAS_ZONES != 0;
    let mut program = key.program.wrapping_sub(before.program).into();
    codec.number(&mut program);
    key.program = before.program.wrapping_add(u32::try_from(program).unwrap_or(0));
    if shape & Shape::HAS_TRACE != 0 {
        let trace = key.trace.get_or_insert(TraceReplay { trace_id: 0, counter: 0 });
        codec.numbers([&mut trace.trace_id, &mut trace.counter]);
    }
    if shape & Shape::HAS_SUB_DEVICE != 0 {
        let mut id = sub_device_id.unwrap_or_default().into();
        codec.number(&mut id);
        *sub_device_id = Some(u8::try_from(id).unwrap_or(u8::MAX));
    }
    let mut index_number = *index as u64;
    codec.number_near(&mut index_number, before.index);
    *index = usize::try_from(index_number).unwrap_or(usize::MAX);
    codec.number_near(start, before.start);
    codec.number_above(end, *start);
    if shape & Shape::IS_FAR != 0 {
        return code_far(codec, extents);
    }
    let mut numbers = near.map_or_else(NearExtents::default, |(_, numbers)| numbers);
    numbers.iter_mut().flatten().for_each(|number| codec.number(number));
    *extents = from_near(numbers, shape, (*start, *end));
}

/// Packed times of the firmware extent and the kernel extent.
///
/// Each extent has three numbers: the first start relative to the run's start, the last start
/// relative to the first start, and the last end relative to the run's end. Each number is
/// increased by 1; 0 means no time.
type NearExtents = [[u64; 3]; 2];

/// Packs the firmware and kernel extents, and returns them with the [`Shape`] flags.
///
/// Returns `None` in three cases: there is a stall; another extent is neither empty nor equal to
/// the kernel extent; a number would wrap around.
fn near_extents(extents: &LaneExtents, bounds: (u64, u64)) -> Option<(u64, NearExtents)> {
    let LaneExtents { firmware, kernel, data_movement, own_kernel, stall } = extents;
    let as_kernel = |part: &Extent, bit: u64| match part {
        part if *part == Extent::default() => Some(0),
        part => (part == kernel).then_some(bit),
    };
    let shape =
        as_kernel(data_movement, Shape::MOVES_DATA)? | as_kernel(own_kernel, Shape::IS_OWN)?;
    let numbers = [near_extent(firmware, bounds)?, near_extent(kernel, bounds)?];
    stall.is_none().then_some((shape, numbers))
}

/// Packs one extent; `None` if a number would wrap around to 0, which means no time.
fn near_extent(extent: &Extent, (start, end): (u64, u64)) -> Option<[u64; 3]> {
    let number = |time: Option<u64>, since: fn(u64, u64) -> u64, place: u64| match time {
        None => Some(0),
        Some(time) => Some(since(time, place).wrapping_add(1)).filter(|&number| number != 0),
    };
    let first = extent.first_start;
    Some([
        number(first, u64::wrapping_sub, start)?,
        number(extent.last_start, u64::wrapping_sub, first.unwrap_or(start))?,
        number(extent.last_end, |time, end| end.wrapping_sub(time), end)?,
    ])
}

/// Returns the extents that [`near_extents`] packed.
fn from_near(numbers: NearExtents, shape: u64, (start, end): (u64, u64)) -> LaneExtents {
    let [firmware, kernel] = numbers.map(|numbers| {
        let [first, last, ended] = numbers.map(|number| number.checked_sub(1));
        let first_start = first.map(|since| start.wrapping_add(since));
        let last_start = last.map(|since| first_start.unwrap_or(start).wrapping_add(since));
        Extent { first_start, last_start, last_end: ended.map(|before| end.wrapping_sub(before)) }
    });
    let kernel_if = |bit: u64| if shape & bit != 0 { kernel } else { Extent::default() };
    let (data_movement, own_kernel) = (kernel_if(Shape::MOVES_DATA), kernel_if(Shape::IS_OWN));
    LaneExtents { firmware, kernel, data_movement, own_kernel, stall: None }
}

/// Packs or unpacks all times of the extents.
fn code_far(codec: &mut impl Codec, extents: &mut LaneExtents) {
    let LaneExtents { firmware, kernel, data_movement, own_kernel, stall } = extents;
    for extent in [firmware, kernel, data_movement, own_kernel] {
        let Extent { first_start, last_start, last_end } = extent;
        for time in [first_start, last_start, last_end] {
            codec.optional(time, Codec::number);
        }
    }
    codec.own_time(stall);
}

/// Iterator over the runs of one lane.
struct Runs<'runs> {
    lane: LaneId,
    window: PackedWindow<'runs>,
    left: usize,
    before: PreviousRun,
}

/// Upper bound for the bytes of a packed run.
const RUN_BYTES: usize = 256;

impl<'runs> Runs<'runs> {
    fn new(lane: LaneId, run_count: usize, window: PackedWindow<'runs>) -> Self {
        Self { lane, window, left: run_count, before: PreviousRun::default() }
    }
}

impl Iterator for Runs<'_> {
    type Item = LaneRun;

    fn next(&mut self) -> Option<LaneRun> {
        self.left = self.left.checked_sub(1)?;
        let mut run = LaneRun {
            key: OpKey { program: 0, trace: None },
            lane: self.lane,
            index: 0,
            bounds: (0, 0),
            extents: LaneExtents::default(),
            has_zones: false,
            is_dispatch: false,
            sub_device_id: None,
        };
        let ahead = self.window.ahead(RUN_BYTES);
        let mut bytes = ahead.iter();
        code_run(&mut bytes, &mut run, self.before);
        let taken = ahead.len().saturating_sub(bytes.len());
        self.window.advance(taken);
        self.before = PreviousRun::from_run(&run);
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own_zones::OwnTime;
    use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, proptest};
    use wire::Risc;

    fn any_extent() -> impl Strategy<Value = Extent> {
        let offset =
            prop::sample::select(vec![0, 1, 200, 1 << 40, u64::MAX - 1001, u64::MAX - 1000]);
        let time = prop::option::of(offset.prop_map(|offset| 1000 + offset));
        let early = prop::option::weighted(0.1, Just(999));
        ((time.clone(), time.clone(), time), early).prop_map(|((a, b, c), early)| Extent {
            first_start: early.or(a),
            last_start: b,
            last_end: c,
        })
    }

    /// Generates a run on one of two lanes, with one of a few programs and any kinds of kernels.
    /// The times of some runs fit in `NearExtents`; the times of others do not.
    fn any_run() -> impl Strategy<Value = LaneRun> {
        let extents = [any_extent(), any_extent(), any_extent(), any_extent()];
        let like_kernel = any::<(Option<bool>, Option<bool>)>();
        let stall = prop::option::weighted(0.2, any::<u64>().prop_map(OwnTime::from_zone));
        let key = (any::<bool>(), 0_u32..4, prop::option::weighted(0.3, (0_u64..2, 0_u64..3)));
        let rest = (
            prop::option::weighted(0.2, any::<u8>()),
            0_u64..5000,
            stall,
            prop::bool::weighted(0.1),
        );
        (extents, like_kernel, key, rest).prop_map(|(extents, like_kernel, key, rest)| {
            let [firmware, kernel, data_movement, own_kernel] = extents;
            let part = |is: Option<bool>, other| match is {
                None => other,
                Some(true) => kernel,
                Some(false) => Extent::default(),
            };
            let (is_second, program, trace) = key;
            let (sub_device_id, duration, stall, is_dispatch) = rest;
            let core = Noc0Coord { x: 1, y: 1 + u16::from(is_second) };
            LaneRun {
                key: OpKey {
                    program: program << 10,
                    trace: trace.map(|(trace_id, counter)| TraceReplay { trace_id, counter }),
                },
                lane: LaneId { chip_id: 0, core, risc: Risc::Brisc },
                index: 0,
                bounds: (1000, 1000 + duration),
                extents: LaneExtents {
                    firmware,
                    kernel,
                    data_movement: part(like_kernel.0, data_movement),
                    own_kernel: part(like_kernel.1, own_kernel),
                    stall,
                },
                has_zones: is_second,
                is_dispatch,
                sub_device_id,
            }
        })
    }

    proptest! {
        #[test]
        fn runs_come_back_as_they_were_by_program_and_lane(
            mut runs in prop::collection::vec(any_run(), 0..60),
            is_written in any::<bool>(),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let limit_bytes = if is_written { 0 } else { u64::MAX };
            let memory = PackedMemory::new(limit_bytes, folder.path());
            let mut chip = ChipRuns::default();
            for (index, run) in runs.iter_mut().enumerate() {
                run.index = index;
            }
            let mut lanes: Vec<LaneId> = runs.iter().map(|run| run.lane).collect();
            lanes.sort_unstable();
            lanes.dedup();
            // Lanes are added in reverse order, to test that pieces do not depend on this order.
            for &lane in lanes.iter().rev() {
                let mut other = ChipRuns::default();
                let lane_runs = runs.iter().copied().filter(|run| run.lane == lane);
                other.add(lane, lane_runs, &memory);
                chip.merge(other);
            }
            let dispatch = runs.iter().filter(|run| run.is_dispatch).map(|run| run.lane.core);
            prop_assert_eq!(chip.dispatch_cores(), &dispatch.collect());
            runs.retain(|run| !run.is_dispatch);
            runs.sort_by_key(|run| (run.key, run.lane, run.index));
            prop_assert_eq!(chip.pieces().flatten().collect::<Vec<_>>(), runs.clone());
            prop_assert_eq!(memory.written_bytes() > 0, is_written && !runs.is_empty());
            memory.check().unwrap();
        }
    }

    fn run(program: u32, y: u16) -> LaneRun {
        let lane = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y }, risc: Risc::Brisc };
        let start = u64::from(program) * 100_000;
        let span = |first, last| Extent {
            first_start: Some(start + first),
            last_start: Some(start + first),
            last_end: Some(start + last),
        };
        let kernel = span(60, 9_000);
        LaneRun {
            key: OpKey { program: program << 10, trace: None },
            lane,
            index: program as usize,
            bounds: (start, start + 9_030),
            extents: LaneExtents {
                firmware: span(0, 9_030),
                kernel,
                own_kernel: kernel,
                ..LaneExtents::default()
            },
            has_zones: true,
            is_dispatch: false,
            sub_device_id: None,
        }
    }

    #[test]
    fn a_run_takes_seventeen_bytes() {
        let runs = (0..1000).map(|program| run(program, 1));
        let (bytes, _) = packed_runs(run(0, 1).lane, runs);
        assert!(bytes.len() < 17_100, "{}", bytes.len());
    }

    #[test]
    fn pieces_end_with_a_program() {
        let (programs, lanes) = (20, 4_000_u32);
        let mut chip = ChipRuns::default();
        for number in 0..lanes {
            let place = |mut run: LaneRun| {
                run.lane.chip_id = number;
                run
            };
            let runs = (0..programs).map(|program| place(run(program, 1)));
            chip.add(place(run(0, 1)).lane, runs, &PackedMemory::unlimited());
        }
        let counts: Vec<usize> = chip.pieces().map(|piece| piece.len()).collect();
        // Each program has 4,000 runs, so two programs are needed to reach `PIECE_RUN_COUNT`.
        assert_eq!(counts, [8_000; 10]);
    }
}
