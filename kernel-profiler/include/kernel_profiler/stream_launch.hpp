/// \file
///
/// The beginning and the end of a launch whose records are streamed.
///
/// Each RISC announces its program in its own lane. The first RISC does so when it gets the
/// program id. The other RISCs do so later, when their firmware's zone begins. The end of a
/// launch publishes the cells written so far. Nothing is pushed, and no RISC waits for
/// another.
///
/// # Compatibility
/// The order in `brisc.cc`: the zone, the enables, the program id, and then the start of the other
/// RISCs.

#pragma once

#include "turn.hpp"

namespace kernel_profiler {
namespace detail {

/// Begins a launch in this RISC's lane, in all cases; `Opening::open` handles only the usual case.
inline __attribute__((noinline, cold)) void open_lane_with_care(uint32_t core, uint32_t written) {
    const uint32_t time = clock_low();
    const First first = (detail::next_place & CLOSED_WITH_LOSS) != 0 ? First::LOST_BEFORE : First::NOTHING;
    const uint32_t place = place_of_cell(written);
    const uint32_t rest = -written % STREAM_CHUNK_CELLS;
    // A launch cell is never the last cell of its chunk: otherwise the chunk would be published
    // before the RISC finds it full.
    if (rest >= (first == First::NOTHING ? 3 : 4)) {
        detail::room_left = place + rest * CELL_BYTES;
        detail::next_place = write_first_cells(core, place, first, time);
        return;
    }
    if (rest != 0) {
        write_word(place, cell_head(StreamCode::PADDING));
        write_word(core + 4 * STREAM_WRITTEN, written + rest);
    }
    begin_chunk(core, 0, first, time);
}

/// Inputs for the decision how to open a lane.
struct Opening {
    uint32_t core;
    uint32_t written;
    uint32_t read;
    Clock time;

    /// Reads all inputs together.
    KERNEL_PROFILER_ALWAYS_INLINE static Opening begin() {
        const uint32_t core = hidden(own_place());
        const uint32_t written = read_word(core + 4 * STREAM_WRITTEN);
        const uint32_t read = read_word(core + 4 * STREAM_READ);
        return {core, written, read, Clock::now(TILE_REGISTERS)};
    }

    /// Begins a launch in this RISC's lane.
    KERNEL_PROFILER_ALWAYS_INLINE void open(uint32_t launches, uint32_t program, uint32_t replays) const {
        // A launch cell is never the last cell of its chunk: otherwise the chunk would be published
        // before the RISC finds it full.
        const uint32_t rest = -written % STREAM_CHUNK_CELLS;
        const bool is_cut = rest - 1 < 2;
        const uint32_t first = is_cut ? written + rest : written;
        const uint32_t in_chunk = first % STREAM_CHUNK_CELLS;
        const bool has_room = in_chunk != 0 || !is_full(first, read);
        // Near the end of the low word, the high word may belong to the next wrap.
        if (__builtin_expect(detail::next_place != 0 || !has_room || time.low >= NEAR_END, 0)) {
            open_lane_with_care(core, written);
            return;
        }
        if (is_cut) {
            write_word(place_of_cell(written), cell_head(StreamCode::PADDING));
        }
        const uint32_t place = hidden(place_of_cell(first));
        detail::next_place = write_launch(core, place, first, launches, program, replays, time);
        detail::room_left = place + CHUNK_BYTES - in_chunk * CELL_BYTES;
    }
};

/// Publishes the cells written so far and stops recording until the next launch.
KERNEL_PROFILER_ALWAYS_INLINE void close_lane() {
    const uint32_t core = hidden(own_place());
    const uint32_t written = read_word(core + 4 * STREAM_WRITTEN);
    const uint32_t told = read_word(core + 4 * STREAM_TOLD);
    const uint32_t place = load_cursor();
    const uint32_t limit = load_limit();
    if (place < OPEN) {
        return;
    }
    if (limit != 0) {
        publish(core, written, place);
    }
    // The word is 0 if a host has zeroed it.
    if (told != 0) {
        write_word(core + 4 * STREAM_TOLD, told | STREAM_TOLD_ENDED);
    }
    detail::room_left = 0;
    detail::next_place = limit == 0 ? CLOSED_WITH_LOSS : 0;
}

/// Writes the totals of the accumulators in use and clears them.
KERNEL_PROFILER_ALWAYS_INLINE void write_totals() {
    for (int index = 0; index < SUM_COUNT; ++index) {
        const uint32_t total = sumIDs[index];
        if (total == 0) {
            continue;
        }
        const uint32_t place = take(CELL_BYTES, LOST_ZONES, clock_low());
        if (place != 0) {
            write_cell(place, total, sums[index]);
        }
        sumIDs[index] = 0;
        sums[index] = 0;
    }
}

/// Marks the launch as one without kernels. From now on, the launch records nothing.
inline __attribute__((noinline)) void leave_launch() {
    close_lane();
    detail::next_place = detail::next_place | CLOSED_AS_IDLE;
    if (is_first_risc()) {
        // The signature is needed here, too, as the core may never run another launch.
        write_word(control_place() + 4 * SIGNATURE, STREAM_SIGNATURE_VALUE);
        add_to_word(control_place() + 4 * STREAM_IDLE_LAUNCHES, 1);
    }
}

KERNEL_PROFILER_ALWAYS_INLINE uint32_t trace_count() {
    if constexpr (HAS_TRACE_COUNT) {
        return traceCount;
    }
    return 0;
}

/// Announces the launch to the other RISCs, and begins it on the first RISC.
inline __attribute__((noinline)) void begin_launch(uint32_t program) {
    if (__builtin_expect((detail::next_place & CLOSED_AS_IDLE) != 0, 0)) {
        return;
    }
    forget_cached();
    const uint32_t words = hidden(control_place());
    const uint32_t signature = read_word(words + 4 * SIGNATURE);
    const uint32_t launches = read_word(words + 4 * STREAM_LAUNCHES) + 1;
    const uint32_t told_replays = read_word(words + 4 * STREAM_TRACE_COUNT);
    const uint32_t replays = trace_count();
    Opening opening = Opening::begin();
    // A drain relies on this order.
    write_word(words + 4 * STREAM_LAUNCHES, launches);
    write_word(words + 4 * STREAM_PROGRAM, program);
    // A store to L1 costs more than a comparison with the old value.
    if (__builtin_expect(told_replays != replays, 0)) {
        write_word(words + 4 * STREAM_TRACE_COUNT, replays);
    }
    if (__builtin_expect(signature != STREAM_SIGNATURE_VALUE, 0)) {
        write_word(words + 4 * SIGNATURE, STREAM_SIGNATURE_VALUE);
    }
    opening.open(launches, program, replays);
}

/// Begins a launch on a RISC that the first RISC has started.
inline __attribute__((noinline)) void open_lane_of_others() {
    forget_cached();
    Opening opening = Opening::begin();
    const uint32_t words = hidden(control_place());
    const uint32_t launches = read_word(words + 4 * STREAM_LAUNCHES);
    const uint32_t program = read_word(words + 4 * STREAM_PROGRAM);
    const uint32_t replays = read_word(words + 4 * STREAM_TRACE_COUNT);
    opening.open(launches, program, replays);
}

}  // namespace detail

/// Begins a launch on this RISC. The first RISC does not know the program yet.
KERNEL_PROFILER_ALWAYS_INLINE void init_profiler(uint16_t = 0, uint16_t = 0, uint16_t = 0) {
    using namespace detail;
    if (is_first_risc()) {
        detail::next_place = detail::next_place & CLOSED_WITH_LOSS;
    } else {
        open_lane_of_others();
    }
    if constexpr (DO_SUM) {
        // This emits no instruction. gcc lays variables out in the order of their first use, and
        // would otherwise leave a gap before these.
        __asm__ volatile("" : : "i"(sums), "i"(sumIDs));
    }
}

/// Sets the program id of this launch for all RISCs of the core. Does nothing on RISCs other than
/// the first.
KERNEL_PROFILER_ALWAYS_INLINE void set_host_counter(uint32_t program_id) {
    if (detail::is_first_risc()) {
        detail::begin_launch(program_id);
    }
}

/// Sets which RISCs have a kernel in this launch; if none has, the launch is marked as one without
/// kernels.
template <typename Enables>
KERNEL_PROFILER_ALWAYS_INLINE void set_profiler_zone_valid(Enables enables) {
    if (static_cast<uint32_t>(enables) == 0) {
        detail::leave_launch();
    }
}

/// Returns true if this RISC's launch is marked as one without kernels.
KERNEL_PROFILER_ALWAYS_INLINE bool get_profiler_zone_invalid() {
    return detail::load_cursor() < detail::OPEN && (detail::load_cursor() & detail::CLOSED_AS_IDLE) != 0;
}

/// Counts a trace replay.
KERNEL_PROFILER_ALWAYS_INLINE void increment_trace_count() { traceCount = traceCount + 1; }

/// Does nothing: only TT-Metal's header has trace-only mode.
KERNEL_PROFILER_ALWAYS_INLINE void trace_only_init() {}

/// Ends a launch on this RISC.
static inline void finish_profiler(bool = false) {
    if constexpr (DO_SUM) {
        detail::write_totals();
    }
    detail::close_lane();
}

namespace detail {

/// Writes the totals of a kernel's waits. The definition follows the probes that it calls.
template <uint32_t index>
KERNEL_PROFILER_ALWAYS_INLINE void end_kernel();

/// Ends a zone of any length.
inline __attribute__((noinline)) void end_measured_zone(uint32_t id, uint32_t begun, uint32_t high_begun) {
    const uint32_t told = read_word(own_place() + 4 * STREAM_TOLD);
    Clock ended = whole_time();
    const uint32_t high_cycles = ended.high - high_begun - (ended.low < begun);
    write_measured_zone(id, high_cycles, ended.low - begun, ended.low, ended.high, told);
}

}  // namespace detail

namespace detail {

/// True on RISCs whose firmware has no lane. The kernel's zone begins and ends the launch there, because
/// tt-metal's linker scripts leave the firmware of NCRISC and of the TRISCs some 500 to 1,300 bytes, and a
/// lane takes 2,000. Firmware with more room defines KERNEL_PROFILER_STREAM_FIRMWARE, as do its kernels.
#if KERNEL_PROFILER_IN_TT_METAL && !defined(KERNEL_PROFILER_STREAM_FIRMWARE) && \
    (defined(COMPILE_FOR_NCRISC) || defined(COMPILE_FOR_TRISC))
constexpr bool IS_LANE_OF_KERNEL = true;
#else
constexpr bool IS_LANE_OF_KERNEL = false;
#endif

/// Index of the zone that begins and ends the launch in the RISC's lane.
constexpr uint32_t LAUNCH_ZONE = IS_LANE_OF_KERNEL ? 1 : 0;

}  // namespace detail

/// The zone of the firmware (index 0) or of the kernel within it. One of the two begins and ends
/// the launch. If the kernel's zone does so, the firmware's zone is not recorded.
template <uint32_t timer_id, uint32_t index>
struct profileScopeGuaranteed {
    static_assert(index < 2, "index 0 or 1");
    static constexpr bool IS_RECORDED = index >= detail::LAUNCH_ZONE;
    detail::Clock begun = IS_RECORDED ? detail::whole_time() : detail::Clock{0, 0};

    KERNEL_PROFILER_ALWAYS_INLINE profileScopeGuaranteed() {
        if constexpr (index == detail::LAUNCH_ZONE) {
            init_profiler();
        }
    }

    KERNEL_PROFILER_ALWAYS_INLINE ~profileScopeGuaranteed() {
        // A launch without kernels records nothing, so no zone is lost.
        if (IS_RECORDED && (index != 0 || !get_profiler_zone_invalid())) {
            detail::end_measured_zone(timer_id, begun.low, begun.high);
        }
        if constexpr (index == 1) {
            detail::end_kernel<index>();
        }
        if constexpr (index == detail::LAUNCH_ZONE) {
            finish_profiler();
        }
    }

    profileScopeGuaranteed(const profileScopeGuaranteed&) = delete;
    profileScopeGuaranteed& operator=(const profileScopeGuaranteed&) = delete;
};

}  // namespace kernel_profiler

#include "fixed_zones.hpp"
