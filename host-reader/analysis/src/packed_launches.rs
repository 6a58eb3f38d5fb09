//! Launches, packed into about a hundred bytes each. Reports visit the launches of a long log one
//! by one, so only one launch is unpacked at a time. Launches beyond the memory limit are in a
//! temporary file.

use super::{
    codec::Codec,
    distribution::CycleStatistics,
    doubt::Doubt,
    latency::{MissingLaunches, Timing, latency_pairs},
    op::{Launch, Op},
    span::{Span, cycles_to_ns},
};
use reader::{
    packed_bytes::{PackedError, PackedMemory},
    packed_items::{ItemPlace, PackedItems},
};
use std::{borrow::Cow, fmt, slice, sync::Arc};

/// Launches without their runs, sorted by chip and time.
///
/// # Cost
/// Memory: about 100 bytes for each launch; launches beyond a limit go to a temporary file.
#[derive(Clone, Default)]
pub struct PackedLaunches {
    chips: Vec<Arc<ChipLaunches>>,
    memory: Option<Arc<PackedMemory>>,
}

impl PackedLaunches {
    pub(super) fn new(chips: Vec<ChipLaunches>, memory: &Arc<PackedMemory>) -> Self {
        let chips = chips.into_iter().map(Arc::new).collect();
        Self { chips, memory: Some(Arc::clone(memory)) }
    }

    /// Returns the number of launches.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chips.iter().map(|chip| chip.count).fold(0, usize::saturating_add)
    }

    /// Returns true if there are no launches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Unpacks the launches. If the temporary file cannot be read, some launches are left out, and
    /// [`Self::check`] returns the error.
    pub fn iter(&self) -> impl Iterator<Item = Launch> + '_ {
        self.chips.iter().flat_map(|chip| chip.iter())
    }

    /// Unpacks the ops of the launches, as [`Self::iter`] does.
    pub fn ops(&self) -> impl Iterator<Item = Op> + '_ {
        self.iter().map(|launch| launch.op)
    }

    /// Unpacks the launches of one chip, as [`Self::iter`] does.
    pub fn chip_launches(&self, chip_id: u32) -> impl Iterator<Item = Launch> + '_ {
        self.chips.iter().filter(move |chip| chip.chip_id == chip_id).flat_map(|chip| chip.iter())
    }

    /// Checks that no access to the temporary file has failed.
    ///
    /// # Errors
    /// Returns an error if launches could not be written or read back.
    pub fn check(&self) -> Result<(), PackedError> {
        self.memory.as_ref().map_or(Ok(()), |memory| memory.check())
    }
}

impl fmt::Debug for PackedLaunches {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for PackedLaunches {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// Packed launches of one chip.
#[derive(Debug)]
pub(super) struct ChipLaunches {
    chip_id: u32,
    aiclk_mhz: u32,
    count: usize,
    packed: PackedItems,
}

impl ChipLaunches {
    pub(super) fn new(chip_id: u32, aiclk_mhz: u32, memory: &Arc<PackedMemory>) -> Self {
        Self { chip_id, aiclk_mhz, count: 0, packed: PackedItems::new(memory) }
    }

    fn push(&mut self, launch: &mut Launch) -> ItemPlace {
        self.count = self.count.saturating_add(1);
        self.packed.push(|bytes| code_launch(bytes, launch, self.aiclk_mhz))
    }

    fn iter(&self) -> impl Iterator<Item = Launch> + '_ {
        self.packed.iter(|bytes| self.take(bytes))
    }

    fn take(&self, bytes: &mut slice::Iter<'_, u8>) -> Launch {
        let op = Op { chip_id: self.chip_id, ..Op::default() };
        let mut launch = Launch { op, first_cycle: 0, last_cycle: 0, runs: Vec::new() };
        code_launch(bytes, &mut launch, self.aiclk_mhz);
        launch
    }
}

/// Launches of one chip in the order in which they were joined. Their latencies are not computed
/// yet.
pub(super) struct JoinedLaunches {
    packed: ChipLaunches,
    launches: Vec<JoinedLaunch>,
}

/// Position of a launch among the packed launches, and the times from which the launch's latencies
/// are computed.
struct JoinedLaunch {
    place: ItemPlace,
    timing: Timing,
}

impl AsRef<Timing> for JoinedLaunch {
    fn as_ref(&self) -> &Timing {
        &self.timing
    }
}

impl JoinedLaunches {
    pub(super) fn new(chip_id: u32, aiclk_mhz: u32, memory: &Arc<PackedMemory>) -> Self {
        Self { packed: ChipLaunches::new(chip_id, aiclk_mhz, memory), launches: Vec::new() }
    }

    pub(super) fn push(&mut self, launch: &mut Launch) {
        let place = self.packed.push(launch);
        self.launches.push(JoinedLaunch { place, timing: Timing::new(launch) });
    }

    pub(super) const fn count(&self) -> usize {
        self.launches.len()
    }

    /// Returns the first cycle of each launch.
    pub(super) fn first_cycles(&self) -> impl Iterator<Item = u64> {
        self.launches.iter().map(|launch| launch.timing.first_cycle)
    }

    /// Returns the launches sorted by first cycle, with latencies.
    pub(super) fn sorted(self, before: &MissingLaunches<'_>) -> ChipLaunches {
        let Self { packed, mut launches } = self;
        // Sorting in place needs no memory. Launches with the same first cycle stay in the order of
        // joining, since `place` increases in this order.
        launches.sort_unstable_by_key(|launch| (launch.timing.first_cycle, launch.place));
        let latencies = latency_pairs(&launches, before);
        let memory = packed.packed.memory();
        let mut sorted = ChipLaunches::new(packed.chip_id, packed.aiclk_mhz, memory);
        let (mut number, mut part) = (u32::MAX, Cow::Borrowed(&[][..]));
        for (launch, latency) in launches.iter().zip(latencies) {
            let (part_number, offset) = launch.place;
            if number != part_number {
                (number, part) = (part_number, packed.packed.part(part_number));
            }
            let bytes = part.get(offset as usize..).filter(|bytes| !bytes.is_empty());
            let Some(bytes) = bytes else { continue };
            let mut launch = packed.take(&mut bytes.iter());
            latency.add_to(&mut launch.op, packed.aiclk_mhz);
            sorted.push(&mut launch);
        }
        sorted.packed.shrink_to_fit();
        sorted
    }
}

/// Packs or unpacks a launch without its runs. Nanoseconds are not packed, but computed from
/// cycles.
fn code_launch(codec: &mut impl Codec, launch: &mut Launch, aiclk_mhz: u32) {
    let Launch { op, first_cycle, last_cycle, runs: _ } = launch;
    codec.number(first_cycle);
    codec.number_above(last_cycle, *first_cycle);
    let mut run_host_id = op.run_host_id.into();
    codec.number(&mut run_host_id);
    op.run_host_id = u32::try_from(run_host_id).unwrap_or(u32::MAX);
    codec.numbers([
        &mut op.launch,
        &mut op.core_count,
        &mut op.recorded_core_count,
        &mut op.unfinished_core_count,
        &mut op.time_matched_core_count,
    ]);
    codec.flag(&mut op.is_first_of_chip);
    codec.flag(&mut op.is_spread_implausible);
    code_doubt(codec, &mut op.duration_doubt);
    code_doubt(codec, &mut op.latency_doubt);
    codec.optional(&mut op.trace_id, Codec::number);
    codec.optional(&mut op.trace_replay, Codec::number);
    let mut sub_device_id = op.sub_device_id.map(u64::from);
    codec.optional(&mut sub_device_id, Codec::number);
    op.sub_device_id = sub_device_id.map(|id| u8::try_from(id).unwrap_or(u8::MAX));
    let ns = |cycles: Option<u64>| cycles.and_then(|cycles| cycles_to_ns(cycles, aiclk_mhz));
    for (cycles, in_ns) in [
        (&mut op.kernel_first_to_last_start_cycles, &mut op.kernel_first_to_last_start_ns),
        (&mut op.op_to_op_latency_cycles, &mut op.op_to_op_latency_ns),
        (&mut op.data_movement_op_to_op_latency_cycles, &mut op.data_movement_op_to_op_latency_ns),
    ] {
        codec.optional(cycles, Codec::number);
        *in_ns = ns(*cycles);
    }
    let spans = [
        &mut op.firmware,
        &mut op.kernel,
        &mut op.data_movement_kernel,
        &mut op.trace_firmware,
        &mut op.trace_kernel,
    ];
    for span in spans.into_iter().chain(op.risc_kernels.groups_mut()) {
        code_span(codec, span, (*first_cycle, aiclk_mhz));
    }
    code_core_kernel(codec, &mut op.core_kernel, aiclk_mhz);
    codec.own_time(&mut op.stall);
    op.stall_ns = ns(op.stall.map(|stall| stall.cycles));
}

fn code_doubt(codec: &mut impl Codec, doubt: &mut Option<Doubt>) {
    let place = Doubt::ALL.iter().position(|known| Some(*known) == *doubt);
    let mut place = place.map(|place| place as u64);
    codec.optional(&mut place, Codec::number);
    let place = place.and_then(|place| usize::try_from(place).ok());
    *doubt = place.and_then(|place| Doubt::ALL.get(place).copied());
}

/// Packs or unpacks a span relative to the first cycle of its launch.
fn code_span(
    codec: &mut impl Codec,
    span: &mut Option<Span>,
    (first_cycle, aiclk_mhz): (u64, u32),
) {
    let mut bounds = span.map(|span| (span.start_cycle, span.end_cycle));
    codec.optional(&mut bounds, |codec, (start, end)| {
        codec.number_near(start, first_cycle);
        codec.number_above(end, *start);
    });
    *span = bounds.and_then(|(start, end)| Span::new(start, end, aiclk_mhz));
}

fn code_core_kernel(codec: &mut impl Codec, core_kernel: &mut CycleStatistics, aiclk_mhz: u32) {
    // A launch that lost records has the default statistics, in which nanoseconds are unknown. That
    // differs from the statistics of 0 cores, whose sum is 0 ns.
    let mut known = Some(*core_kernel).filter(|known| *known != CycleStatistics::default());
    codec.optional(&mut known, |codec, known| {
        let CycleStatistics { count, total_cycles, min_cycles, .. } = known;
        codec.numbers([count, total_cycles, min_cycles]);
        codec.numbers([&mut known.median_cycles, &mut known.p99_cycles, &mut known.max_cycles]);
    });
    *core_kernel = known.map(|known| known.with_ns(aiclk_mhz)).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{doubt::Holes, op::RiscKernels, own_zones::OwnTime};
    use proptest::{
        array::{uniform4, uniform6, uniform13},
        prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest},
    };

    const FIRST: u64 = 10_000_000_000;

    fn any_number() -> impl Strategy<Value = u64> {
        prop_oneof![0..200_u64, Just(u64::MAX), any::<u64>(), Just(0)]
    }

    fn any_span(aiclk_mhz: u32) -> impl Strategy<Value = Option<Span>> {
        let start = prop_oneof![FIRST - 3..FIRST + 5_000, Just(0), any::<u64>()];
        let bounds = (start, prop_oneof![0..20_000_u64, any::<u64>()]);
        // There is no span if its end does not fit 64 bits.
        let span = move |(start, cycles): (u64, u64)| {
            start.checked_add(cycles).and_then(|end| Span::new(start, end, aiclk_mhz))
        };
        prop::option::weighted(0.7, bounds).prop_map(move |bounds| bounds.and_then(span))
    }

    fn any_doubt() -> impl Strategy<Value = Option<Doubt>> {
        prop::option::of(prop::sample::select(&Doubt::ALL[..]))
    }

    fn any_core_kernel(aiclk_mhz: u32) -> impl Strategy<Value = CycleStatistics> {
        let durations = prop::collection::vec(any_number(), 0..4);
        prop_oneof![
            Just(CycleStatistics::default()),
            durations.prop_map(move |cycles| CycleStatistics::from_durations(&cycles, aiclk_mhz)),
        ]
    }

    /// Generates launches whose nanoseconds match their cycles, as in launches from the analysis.
    fn any_launch(chip_id: u32, aiclk_mhz: u32) -> impl Strategy<Value = Launch> {
        let option = || prop::option::of(any_number());
        let numbers = (any::<u32>(), uniform6(any_number()), any::<(bool, bool)>());
        let optional = (uniform6(option()), prop::option::of(any::<u8>()));
        let stall = prop::option::of(uniform4(any_number()));
        let spans = uniform13(any_span(aiclk_mhz));
        let rest = (any_core_kernel(aiclk_mhz), any_doubt(), any_doubt());
        let ns = move |cycles: Option<u64>| cycles_to_ns(cycles?, aiclk_mhz);
        (numbers, optional, stall, spans, rest).prop_map(
            move |(numbers, (optional, sub_device_id), stall, spans, rest)| {
                let (run_host_id, numbers, (is_first_of_chip, is_spread_implausible)) = numbers;
                let [last, launch, core_count, recorded, unfinished, matched] = numbers;
                let [trace_id, trace_replay, skew, latency, data_latency, _] = optional;
                let [firmware, kernel, data_movement_kernel, trace_firmware, rest_of_spans @ ..] =
                    spans;
                let [trace_kernel, brisc, ncrisc, trisc0, trisc1, trisc2, others @ ..] =
                    rest_of_spans;
                let [erisc, quasar_dm, quasar_trisc] = others;
                let (core_kernel, duration_doubt, latency_doubt) = rest;
                let stall = stall.map(|[count, cycles, longest_cycles, _]| OwnTime {
                    count,
                    cycles,
                    longest_cycles,
                });
                let risc_kernels = RiscKernels {
                    brisc,
                    ncrisc,
                    trisc0,
                    trisc1,
                    trisc2,
                    erisc,
                    quasar_dm,
                    quasar_trisc,
                };
                let op = Op {
                    chip_id,
                    run_host_id,
                    trace_id,
                    trace_replay,
                    launch,
                    sub_device_id,
                    core_count,
                    recorded_core_count: recorded,
                    unfinished_core_count: unfinished,
                    time_matched_core_count: matched,
                    firmware,
                    kernel,
                    data_movement_kernel,
                    trace_firmware,
                    trace_kernel,
                    risc_kernels,
                    kernel_first_to_last_start_cycles: skew,
                    kernel_first_to_last_start_ns: ns(skew),
                    core_kernel,
                    is_first_of_chip,
                    op_to_op_latency_cycles: latency,
                    op_to_op_latency_ns: ns(latency),
                    data_movement_op_to_op_latency_cycles: data_latency,
                    data_movement_op_to_op_latency_ns: ns(data_latency),
                    stall,
                    stall_ns: ns(stall.map(|stall| stall.cycles)),
                    is_spread_implausible,
                    duration_doubt,
                    latency_doubt,
                };
                Launch { op, first_cycle: FIRST, last_cycle: last, runs: Vec::new() }
            },
        )
    }

    fn memory_of(is_written: bool, folder: &std::path::Path) -> Arc<PackedMemory> {
        PackedMemory::new(if is_written { 0 } else { u64::MAX }, folder)
    }

    proptest! {
        #[test]
        fn launches_come_back_as_they_were(
            (aiclk_mhz, launches) in prop::sample::select(vec![0, 1000, 1350]).prop_flat_map(
                |aiclk_mhz| (Just(aiclk_mhz), prop::collection::vec(any_launch(3, aiclk_mhz), 0..40)),
            ),
        ) {
            let memory = PackedMemory::unlimited();
            let mut packed = ChipLaunches::new(3, aiclk_mhz, &memory);
            launches.clone().iter_mut().for_each(|launch| _ = packed.push(launch));
            let packed = PackedLaunches::new(vec![packed], &memory);
            prop_assert_eq!(packed.len(), launches.len());
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), launches);
        }
    }

    fn kernel_at(number: u32, first_cycle: u64) -> Launch {
        let kernel = Span::new(first_cycle, first_cycle + 10, 1000);
        let op = Op { run_host_id: number, kernel, ..Op::default() };
        Launch { op, first_cycle, last_cycle: first_cycle + 10, runs: Vec::new() }
    }

    #[test]
    fn joined_launches_are_sorted_by_time_and_then_by_order_with_their_latencies() {
        let folder = tempfile::tempdir().unwrap();
        for is_written in [false, true] {
            let memory = memory_of(is_written, folder.path());
            let mut joined = JoinedLaunches::new(0, 1000, &memory);
            // The launches fill many parts of the packed memory. They come in pairs that begin at
            // the same time, and the later half of the launches is added first.
            let count = 4_000_u32;
            let time = |number: u32| 100 * u64::from((number / 2 + count / 4) % (count / 2));
            (0..count).for_each(|number| joined.push(&mut kernel_at(number, time(number))));
            let sorted =
                joined.sorted(&MissingLaunches { holes: Holes::default(), hidden: Vec::new() });
            let packed = PackedLaunches::new(vec![sorted], &memory);
            let found: Vec<_> = packed
                .iter()
                .map(|launch| {
                    let Op { run_host_id, is_first_of_chip, .. } = launch.op;
                    let latency = launch.op.op_to_op_latency_ns;
                    (run_host_id, launch.first_cycle, is_first_of_chip, latency)
                })
                .collect();
            let expected: Vec<_> = (0..count)
                .map(|place| {
                    let number = (place + count / 2) % count;
                    // The second launch of a pair begins before the first ends.
                    let latency = match (place, place % 2) {
                        (0, _) => Some(0),
                        (_, 0) => Some(90),
                        _ => None,
                    };
                    (number, 100 * u64::from(place / 2), place == 0, latency)
                })
                .collect();
            assert_eq!(found, expected, "{is_written}");
            packed.check().unwrap();
            assert_eq!(memory.written_bytes() > 0, is_written);
        }
    }

    #[test]
    fn a_launch_takes_about_a_hundred_bytes() {
        let span = |first: u64, last| Span::new(FIRST + first, FIRST + last, 1000);
        let kernel = span(70, 12_000);
        let riscs = RiscKernels {
            brisc: kernel,
            ncrisc: kernel,
            trisc0: kernel,
            trisc1: kernel,
            trisc2: kernel,
            ..RiscKernels::default()
        };
        let op = Op {
            run_host_id: 90_000 << 10,
            launch: 1,
            core_count: 64,
            recorded_core_count: 64,
            firmware: span(0, 12_200),
            kernel,
            data_movement_kernel: kernel,
            risc_kernels: riscs,
            kernel_first_to_last_start_cycles: Some(90),
            core_kernel: CycleStatistics::from_durations(&[11_000; 64], 1000),
            op_to_op_latency_cycles: Some(90_000),
            data_movement_op_to_op_latency_cycles: Some(90_000),
            ..Op::default()
        };
        let last_cycle = FIRST + 12_200;
        let mut launch = Launch { op, first_cycle: FIRST, last_cycle, runs: vec![] };
        let mut bytes = Vec::new();
        code_launch(&mut bytes, &mut launch, 1000);
        assert!(bytes.len() < 110, "{}", bytes.len());
        assert!(size_of::<Launch>() > 8 * bytes.len());
    }

    #[test]
    fn launches_that_cannot_be_kept_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let memory = PackedMemory::new(0, &folder.path().join("none"));
        let mut packed = ChipLaunches::new(0, 1000, &memory);
        (0..1_000).for_each(|number| _ = packed.push(&mut kernel_at(number, 7)));
        let packed = PackedLaunches::new(vec![packed], &memory);
        assert!(packed.iter().count() < packed.len());
        assert!(packed.check().is_err());
    }
}
