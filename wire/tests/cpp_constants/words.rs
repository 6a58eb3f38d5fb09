//! Constants of vectors and control vectors, and of the fields of markers and waits.

use crate::{first_bit, source::Source};
use wire::{
    Header, LaneEnd, PacketKind, ZoneId,
    control::{ControlLayout, debug_dump, ext},
    dram::{DEFAULT_PROGRAM_SUPPORT_COUNT, SUM_COUNT, bytes_per_program},
    marker::{self, HeaderLayout, MARKER_WORDS},
    perf_counter,
    risc::RISCS_PER_CORE,
    run::{self, IdPacking},
    vector,
    wait::{self, BlockedWait, SyncWindows, WaitKind, WaitTotal, WindowedWait},
};

const LAYOUT: ControlLayout = ControlLayout::WORDS64;
const PACKING: IdPacking = IdPacking::RISC5;

fn word(index: usize) -> u32 {
    u32::try_from(index).unwrap()
}

/// Returns the constants of tt-metal's `profiler_common.h`.
pub(crate) fn profiler_common() -> Source {
    let mut source = Source::new(&[
        "Constants of the format under the names of tt-metal's `profiler_common.h`, whose place this",
        "file takes outside of tt-metal.",
    ]);
    source.open_namespace("kernel_profiler");
    source.line("");
    source.line(&format!("constexpr int SUM_COUNT = {SUM_COUNT};"));
    source.comment("Ids of records that are no zones.");
    source.constants(&[
        ("NOC_TRACING_STATIC_ID", ZoneId::NOC_TRACING.0.into()),
        ("NOC_DEBUGGING_STATIC_ID", ZoneId::NOC_DEBUGGING.0.into()),
    ]);
    add_vector(&mut source);
    add_fields(&mut source);
    add_control_words(&mut source);
    add_packet_types(&mut source);
    source.close_namespace("kernel_profiler");
    source
}

fn add_vector(source: &mut Source) {
    source.comment(
        "Indices of words in a RISC's vector: ID words, guaranteed slots, first other marker.",
    );
    source.enumeration(
        "enum BufferIndex : uint32_t",
        &[
            ("ID_LH", word(run::ID_LH)),
            ("ID_LL", word(run::ID_LL)),
            ("GUARANTEED_MARKER_1_H", word(vector::MAIN_START)),
            ("GUARANTEED_MARKER_2_H", word(vector::MAIN_END)),
            ("GUARANTEED_MARKER_3_H", word(vector::CHILD_START)),
            ("GUARANTEED_MARKER_4_H", word(vector::CHILD_END)),
            ("CUSTOM_MARKERS", word(vector::FIRST_OPTIONAL)),
        ],
    );
    source.comment(
        "Sizes in words of the control vector, a marker and a vector; a vector's size in bytes.",
    );
    source.constants(&[
        ("PROFILER_L1_CONTROL_VECTOR_SIZE", word(LAYOUT.word_count)),
        ("PROFILER_L1_MARKER_UINT32_SIZE", word(MARKER_WORDS)),
        ("PROFILER_L1_VECTOR_SIZE", word(vector::VECTOR_WORDS)),
        ("PROFILER_L1_BUFFER_SIZE", word(vector::VECTOR_BYTES)),
    ]);
}

/// Adds the fields of the run header's third word and of a marker's first word.
fn add_fields(source: &mut Source) {
    let flat = PACKING.pack(0, u32::MAX, 0);
    let trace = PACKING.trace_field();
    source.comment("First bits and widths of the fields in the ID_LH word.");
    source.constants(&[
        ("PROFILER_ID_RISC_SHIFT", PACKING.pack(1, 0, 0).trailing_zeros()),
        ("PROFILER_ID_RISC_BITS", PACKING.risc_bits),
        ("PROFILER_ID_FLAT_SHIFT", flat.trailing_zeros()),
        ("PROFILER_ID_TRACE_SHIFT", trace.trailing_zeros()),
        ("PROFILER_ID_TRACE_BITS", trace.count_ones()),
    ]);
    source.masks(&[
        ("PROFILER_ID_FLAT_MASK", flat >> flat.trailing_zeros()),
        ("PROFILER_ID_TRACE_MASK", trace >> trace.trailing_zeros()),
    ]);
    let empty = Header::prefix(PacketKind::ZoneStart, ZoneId(0));
    let end = Header::prefix(PacketKind::ZoneEnd, ZoneId(0));
    let all_ids = Header::prefix(PacketKind::ZoneStart, ZoneId(u16::MAX)) ^ empty;
    let id_shift = HeaderLayout::ID16_TIME12.time_high_bits;
    let type_shift = first_bit(end.into(), empty.into()) - id_shift;
    source.comment("First bits of the fields in a marker's first word.");
    source.constants(&[
        ("PROFILER_MARKER_TIMER_ID_SHIFT", id_shift),
        ("PROFILER_TIMER_PACKET_TYPE_SHIFT", type_shift),
    ]);
    source.masks(&[
        ("PROFILER_MARKER_VALID", marker::EMPTY_HEADER),
        ("PROFILER_MARKER_TS_HIGH_MASK", marker::TIME_HIGH_MASK),
        ("PROFILER_TIMER_STATIC_ID_MASK", all_ids >> id_shift),
        ("PROFILER_TIMER_PACKET_TYPE_MASK", (1 << (31 - id_shift - type_shift)) - 1),
    ]);
}

fn add_control_words(source: &mut Source) {
    let (host_end, device_end) = (word(LAYOUT.host_end), word(LAYOUT.device_end));
    source.comment("Indices of words in the control vector.");
    source.enumeration(
        "enum ControlBuffer : uint32_t",
        &[
            ("HOST_BUFFER_END_INDEX_BR_ER", host_end),
            ("HOST_BUFFER_END_INDEX_NC", host_end + 1),
            ("HOST_BUFFER_END_INDEX_T0", host_end + 2),
            ("HOST_BUFFER_END_INDEX_T1", host_end + 3),
            ("HOST_BUFFER_END_INDEX_T2", host_end + 4),
            ("DEVICE_BUFFER_END_INDEX_BR_ER", device_end),
            ("DEVICE_BUFFER_END_INDEX_NC", device_end + 1),
            ("DEVICE_BUFFER_END_INDEX_T0", device_end + 2),
            ("DEVICE_BUFFER_END_INDEX_T1", device_end + 3),
            ("DEVICE_BUFFER_END_INDEX_T2", device_end + 4),
            ("FW_RESET_H", word(LAYOUT.fw_reset_high)),
            ("FW_RESET_L", word(LAYOUT.fw_reset_low)),
            ("DRAM_PROFILER_ADDRESS_DEFAULT", word(LAYOUT.dram_address)),
            ("RUN_COUNTER", word(LAYOUT.run_counter)),
            ("NOC_X", word(LAYOUT.noc_x)),
            ("NOC_Y", word(LAYOUT.noc_y)),
            ("FLAT_ID", word(LAYOUT.flat_id)),
            ("CORE_COUNT_PER_DRAM", word(LAYOUT.cores_per_bank)),
            ("DROPPED_ZONES", word(LAYOUT.dropped_zones)),
            ("PROFILER_DONE", word(LAYOUT.profiler_done)),
            ("TRACE_REPLAY_STATUS", word(LAYOUT.trace_replay_status.unwrap())),
            ("PROFILER_DISPATCH_CORE", word(LAYOUT.dispatch_core.unwrap())),
            ("DRAM_PROFILER_ADDRESS_BR_ER_0", word(debug_dump::BUFFER_ADDRESS)),
            ("DRAM_PROFILER_ADDRESS_NC_0", word(debug_dump::BUFFER_ADDRESS) + 1),
            ("DRAM_PROFILER_ADDRESS_T0_0", word(debug_dump::BUFFER_ADDRESS) + 2),
            ("DRAM_PROFILER_ADDRESS_T1_0", word(debug_dump::BUFFER_ADDRESS) + 3),
        ],
    );
}

fn add_packet_types(source: &mut Source) {
    let named = [
        (PacketKind::ZoneStart, "ZONE_START"),
        (PacketKind::ZoneEnd, "ZONE_END"),
        (PacketKind::ZoneTotal, "ZONE_TOTAL"),
        (PacketKind::TimestampedData, "TS_DATA"),
        (PacketKind::TimestampedEvent, "TS_EVENT"),
        (PacketKind::TimestampedData16B, "TS_DATA_16B"),
    ];
    source.comment("Packet types of the format.");
    let entries = named.map(|(kind, name)| (name, u32::from(kind.packet_type().0)));
    source.enumeration("enum PacketTypes : uint32_t", &entries);
    source
        .comment("Number of 64-bit values in a packet of this type; 0 if the number is not fixed.");
    source.line("template <PacketTypes>\nstruct TimestampedDataSize {");
    source.line("    static constexpr uint32_t size = 0;\n};");
    for (kind, name) in named.into_iter().filter(|(kind, _)| kind.payload_words() > 0) {
        source.line(&format!("template <>\nstruct TimestampedDataSize<{name}> {{"));
        let values = kind.payload_words() / 2;
        source.line(&format!("    static constexpr uint32_t size = {values};\n}};"));
    }
}

/// Returns the constants that this project adds to the format, for waits and hardware counters.
pub(crate) fn constants() -> Source {
    let mut source = Source::new(&[
        "What this project adds to the format, and records without constants in tt-metal's",
        "`profiler_common.h`: waits and hardware counters.",
    ]);
    source.comment("Names of the records of waits.");
    for (name, text) in [
        ("WAIT_TOTAL", wait::WAIT_TOTAL_ZONE),
        ("CB_WAIT", wait::CB_WAIT_ZONE),
        ("CB_RESERVE", wait::CB_RESERVE_ZONE),
        ("SEM_WAIT", wait::SEM_WAIT_ZONE),
        ("NOC_BARRIER", wait::NOC_BARRIER_ZONE),
    ] {
        source.line(&format!("#define KERNEL_PROFILER_{name}_ZONE \"{text}\""));
    }
    source.open_namespace("kernel_profiler");
    source.line("namespace detail {");
    add_private_words(&mut source);
    add_lanes(&mut source);
    add_waits(&mut source);
    add_counters(&mut source);
    source.close_namespace("detail");
    source.close_namespace("kernel_profiler");
    source
}

fn add_private_words(source: &mut Source) {
    source.comment(
        "Words of the control vector that tt-metal reserves: see docs/wire-extensions.md.",
    );
    source.constants(&[
        ("SIGNATURE", word(ext::SIGNATURE)),
        ("LANE_WORDS", word(ext::DRAM_LANE_WORDS)),
        ("GENERATION", word(ext::GENERATION)),
        ("SEEN_RUNS", word(ext::SEEN_RUNS)),
        ("REFUSED_RUNS", word(ext::REFUSED_RUNS)),
        ("REFUSED_MARKERS", word(ext::REFUSED_MARKERS)),
        ("FIRST_REFUSED_PROGRAM", word(ext::FIRST_REFUSED_PROGRAM)),
        ("LAST_REFUSED_PROGRAM", word(ext::LAST_REFUSED_PROGRAM)),
        ("TIMED_OUT_PUSHES", word(ext::TIMED_OUT_PUSHES)),
        ("IDLE_LAUNCHES", word(ext::IDLE_LAUNCHES)),
        ("SCRATCH", word(ext::SCRATCH)),
        ("LOST_ZONES", word(ext::LOST_ZONES)),
        ("LOST_DATA", word(ext::LOST_DATA)),
        ("LOST_EVENTS", word(ext::LOST_EVENTS)),
        ("LATE_RUNS", word(ext::LATE_RUNS)),
        ("STALLED_IN_VAIN", word(ext::STALLED_IN_VAIN)),
        ("CONSUMED", word(ext::CONSUMED)),
    ]);
    source.masks(&[("SIGNATURE_VALUE", ext::SIGNATURE_VALUE)]);
    source.comment(
        "Number of RISCs per core for which the layout has control words, lanes and counters.",
    );
    source.constants(&[("RISCS_PER_CORE", word(RISCS_PER_CORE))]);
}

fn add_lanes(source: &mut Source) {
    let lane_words = |has_sums| DEFAULT_PROGRAM_SUPPORT_COUNT * bytes_per_program(has_sums) / 4;
    source.comment("Size of a lane in words for the default number of programs.");
    source.constants(&[
        ("DEFAULT_LANE_WORDS", lane_words(false)),
        ("DEFAULT_LANE_WORDS_WITH_SUMS", lane_words(true)),
    ]);
    let turned = LaneEnd { end: 0, turned_at: Some(4) }.to_word();
    source.comment(
        "First bit in HOST_END of the end before the lane began anew, in units of four words.",
    );
    source.constants(&[("TURN_SHIFT", turned.trailing_zeros())]);
    source.comment(
        "Maximum size in words of a lane that can begin anew, and of a run in such a lane.",
    );
    source.constants(&[
        ("TURNING_LANE_WORDS_MAX", LaneEnd::TURNING_LANE_WORDS_MAX),
        ("LARGEST_RUN_WORDS", word(vector::VECTOR_WORDS)),
    ]);
    source.comment("The size of a push is a multiple of this number of words.");
    source.constants(&[("PUSH_ALIGN_WORDS", word(vector::PUSH_ALIGN_WORDS))]);
    source.comment("Words of TRISC 2's vector that have records if the rest is room for samples.");
    source.constants(&[("WORDS_BESIDE_SAMPLES", word(vector::WORDS_BESIDE_SAMPLES))]);
    source.comment(
        "First bit of the field in the ID_LH word with the generation of the core's lanes.",
    );
    source.constants(&[("GENERATION_SHIFT", PACKING.generation_field(1).trailing_zeros())]);
}

fn add_waits(source: &mut Source) {
    source.comment("Kinds of waits.");
    let mut kinds = vec![("NONE", 0)];
    kinds.extend(WaitKind::ALL.map(|kind| (kind.name().unwrap(), u32::from(kind.0))));
    source.enumeration("enum class WaitKind : uint32_t", &kinds);
    let total =
        |kind, waits| WaitTotal { kind: WaitKind(kind), key: 0, cycles: 0, waits }.to_data();
    source.comment(
        "First bits of the kind in a wait's first value, and of the number of waits in its second.",
    );
    source.constants(&[
        ("WAIT_KIND_SHIFT", first_bit(total(0, 0)[0], total(1, 0)[0])),
        ("WAIT_COUNT_SHIFT", first_bit(total(0, 0)[1], total(0, 1)[1])),
    ]);
    let wait = BlockedWait { kind: WaitKind::CB_WAIT, key: 0, cycles: 0 };
    let upper = |length_log2, period_log2| {
        let windows = SyncWindows::new(length_log2, period_log2).unwrap();
        WindowedWait { wait, windows, phase: 0 }.to_data()[1] >> 32
    };
    source.comment(
        "Windows of a wait: first bits of length and period, and the maximum period, as log2.",
    );
    source.constants(&[
        ("SYNC_LENGTH_SHIFT", first_bit(upper(2, 17), upper(3, 17))),
        ("SYNC_PERIOD_SHIFT", first_bit(upper(2, 16), upper(2, 17))),
        ("SYNC_PERIOD_LOG2_MAX", SyncWindows::PERIOD_LOG2_MAX.into()),
    ]);
}

fn add_counters(source: &mut Source) {
    source.comment("Id of a hardware counter's record.");
    source.constants(&[("PERF_COUNTER_ID", ZoneId::PERF_COUNTER.0.into())]);
    source.comment("Groups of hardware counters, by their bits in PROFILE_PERF_COUNTERS.");
    source.constants(&[
        ("GROUP_FPU", perf_counter::FPU.trailing_zeros()),
        ("GROUP_PACK", perf_counter::PACK.trailing_zeros()),
        ("GROUP_UNPACK", perf_counter::UNPACK.trailing_zeros()),
        ("GROUP_INSTRUCTIONS", perf_counter::INSTRUCTIONS.trailing_zeros()),
    ]);
    let all_of_l1 = perf_counter::L1.into_iter().fold(0, |all, bank| all | bank);
    source.masks(&[("GROUPS_OF_L1", all_of_l1)]);
}
