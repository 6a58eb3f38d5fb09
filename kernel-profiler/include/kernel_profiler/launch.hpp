/// \file
///
/// The beginning and the end of a launch.
///
/// Each RISC begins with an empty ring and publishes the end of its records. One RISC (BRISC or the
/// first Ethernet RISC) also prepares the vectors of all RISCs and pushes them.
///
/// | what | file |
/// |---|---|
/// | words of the control vector | control_words.hpp |
/// | vectors, and lanes in DRAM | lanes.hpp |
/// | pushes | push.hpp; in the middle of a launch quick_push.hpp |
/// | launches that are pushed one by one | plain.hpp |
/// | launches that share a push | accumulate.hpp |
/// | the debug dump, in which a RISC waits for the host | stall.hpp; otherwise no_stall.hpp |

#pragma once

#if KERNEL_PROFILER_IS_NON_DROPPING
#include "stall.hpp"
#else
#include "no_stall.hpp"
#endif
#if KERNEL_PROFILER_IS_ACCUMULATING
#include "accumulate.hpp"
#else
#include "plain.hpp"
#endif

namespace kernel_profiler {

/// Begins a launch on this RISC.
static inline void init_profiler(uint16_t = 0, uint16_t = 0, uint16_t = 0) {
    using namespace detail;
#if KERNEL_PROFILER_HAS_NOC && KERNEL_PROFILER_IS_ACCUMULATING
    if (is_aggregator()) {
        begin_launch();
    }
#endif
    prepare_own_run();
    const uint32_t before = bytes_before_run(own_place());
    detail::next_place = own_vector() + before + FIRST_OPTIONAL_BYTES;
    detail::room_left = OPTIONAL_BYTES - before;
    forget_stalls();
    if constexpr (DO_SUM) {
        // This emits no instruction. gcc lays variables out in the order of their first use, and
        // would otherwise leave a gap before these.
        __asm__ volatile("" : : "i"(sums), "i"(sumIDs));
    }
#if KERNEL_PROFILER_HAS_NOC && !KERNEL_PROFILER_IS_ACCUMULATING
    if (is_aggregator()) {
        begin_launch();
    }
#endif
}

/// Sets which RISCs have a kernel in this launch; if none has, no record of the launch is pushed.
template <typename Enables>
KERNEL_PROFILER_ALWAYS_INLINE void set_profiler_zone_valid(Enables enables) {
    detail::set_control(PROFILER_DONE, static_cast<uint32_t>(enables) == 0);
    detail::set_control(detail::SCRATCH, static_cast<uint32_t>(enables));
}

/// Adds this RISC to the launch's enables if true; marks the whole launch as one without kernels if
/// false.
KERNEL_PROFILER_ALWAYS_INLINE void set_profiler_zone_valid(bool is_valid) {
    using namespace detail;
    if (is_valid) {
        set_control(SCRATCH, control(SCRATCH) | 1u << ((own_place() - control_place()) / 4));
    }
    set_control(PROFILER_DONE, !is_valid);
}

KERNEL_PROFILER_ALWAYS_INLINE bool get_profiler_zone_invalid() { return detail::control(PROFILER_DONE) == 1; }

/// Sets the program id of this launch for all RISCs of the core.
KERNEL_PROFILER_ALWAYS_INLINE void set_host_counter(uint32_t program_id) {
    using namespace detail;
    if constexpr (!IS_TOLD_ENABLES) {
        set_control(SCRATCH, launch_enables());
    }
    uint32_t vector = hidden(first_vector());
    for (uint32_t risc = 0; risc < risc_count(); ++risc) {
        write_word(vector + bytes_before_run(control_place() + 4 * risc) + ID_LL_BYTES, program_id);
        vector += PROFILER_L1_BUFFER_SIZE;
    }
}

/// Counts a trace replay.
KERNEL_PROFILER_ALWAYS_INLINE void increment_trace_count() {
    using namespace detail;
    traceCount = traceCount + 1;
    if constexpr (DO_ACCUMULATE) {
        return;  // The next launch prepares its runs anew; earlier runs keep their count.
    }
    uint32_t vector = hidden(first_vector()) + ID_LH_BYTES;
    for (uint32_t risc = 0; risc < risc_count(); ++risc) {
        write_word(vector, (read_word(vector) & ~(PROFILER_ID_TRACE_MASK << PROFILER_ID_TRACE_SHIFT)) | trace_field());
        vector += PROFILER_L1_BUFFER_SIZE;
    }
}

/// Does nothing: only TT-Metal's header has trace-only mode.
KERNEL_PROFILER_ALWAYS_INLINE void trace_only_init() {}

namespace detail {

/// Returns 0 if no accumulator is in use, otherwise another value.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t accumulators_in_use() {
    if constexpr (!DO_SUM) {
        return 0;
    }
    uint32_t used = 0;
#pragma GCC unroll 2
    for (int index = 0; index < SUM_COUNT; ++index) {
        used |= sumIDs[index];
    }
    return loaded(used);
}

/// Writes the totals of the accumulators in use, as long as the vector has room, and clears the
/// accumulators. Returns the address after the totals.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t write_totals(uint32_t place) {
    // The debug dump reserves room for the zone of a wait at the launch's end.
    constexpr uint32_t KEPT_BYTES = STALL_BYTES / 2;
    const uint32_t last = own_vector() + 4 * RECORD_WORDS - MARKER_BYTES - KEPT_BYTES;
    for (int index = 0; index < SUM_COUNT; ++index) {
        const uint32_t total = sumIDs[index];
        if (total == 0) {
            continue;
        }
        if (__builtin_expect(place <= last, 1)) {
            write_word(place, total);
            write_word(place + 4, sums[index]);
            place += MARKER_BYTES;
        } else {
            lose<LOST_ZONES>();
        }
        sumIDs[index] = 0;
        sums[index] = 0;
    }
    return place;
}

}  // namespace detail

/// Ends a launch on this RISC: publishes its ring. The RISC that pushes for its core then pushes.
///
/// A RISC that is too late for the push does not publish, since its markers would look like markers
/// of the next launch.
static inline void finish_profiler(bool = false) {
    using namespace detail;
    uint32_t place = load_cursor();
    const uint32_t used = accumulators_in_use();
    // L1 is slow, so this load precedes code that does not need its result. An even earlier load
    // would delay the loads from local RAM.
    const uint32_t done = control(PROFILER_DONE);
    if (__builtin_expect(used != 0, 0)) {
        place = write_totals(place);
    }
    uint32_t words = (place - own_vector()) / 4;
    __asm__ volatile("" : "+r"(words));
    if (done != 0) {
        if (is_aggregator()) {
            add_to_word(control_place() + 4 * IDLE_LAUNCHES, 1);
            leave_no_run();
        }
        return;
    }
    publish_run(place, words);
#if KERNEL_PROFILER_HAS_NOC
    if (is_aggregator()) {
        end_launch();
    }
#endif
}

}  // namespace kernel_profiler

#include "quick_push.hpp"

namespace kernel_profiler {

namespace detail {

/// Writes the totals of a kernel's waits. The definition follows the probes that it calls.
template <uint32_t index>
KERNEL_PROFILER_ALWAYS_INLINE void end_kernel();

}  // namespace detail

/// The zone of the firmware (index 0), which begins and ends the launch, or the zone of the kernel
/// within it. The markers of both zones have fixed slots.
template <uint32_t timer_id, uint32_t index>
struct profileScopeGuaranteed {
    static_assert(index < 2, "index 0 or 1");
    static constexpr uint32_t start_index = index == 0 ? GUARANTEED_MARKER_1_H : GUARANTEED_MARKER_3_H;
    static constexpr uint32_t end_index = index == 0 ? GUARANTEED_MARKER_2_H : GUARANTEED_MARKER_4_H;

    KERNEL_PROFILER_ALWAYS_INLINE profileScopeGuaranteed() {
        if constexpr (index == 0) {
            init_profiler();
        }
        detail::write_fixed(start_index, detail::prefix(ZONE_START, timer_id));
    }

    KERNEL_PROFILER_ALWAYS_INLINE ~profileScopeGuaranteed() {
        detail::write_fixed(end_index, detail::prefix(ZONE_END, timer_id));
        if constexpr (index == 0) {
            finish_profiler();
        } else {
            detail::end_kernel<index>();
        }
    }

    profileScopeGuaranteed(const profileScopeGuaranteed&) = delete;
    profileScopeGuaranteed& operator=(const profileScopeGuaranteed&) = delete;
};

}  // namespace kernel_profiler

#include "fixed_zones.hpp"
