/// \file
///
/// Names of TT-Metal's header that this header cannot have, since they read or write the state of
/// TT-Metal's header, and names that only its earlier versions have. A kernel that uses one of them does
/// not compile, and the compiler says what to use instead.
///
/// Firmware gets none of these names, because it defines variables of the profiler itself.

#pragma once

#include "state.hpp"

#if !KERNEL_PROFILER_IN_TT_METAL || defined(KERNEL_BUILD)

#define KERNEL_PROFILER_HAS_OTHER_STATE \
    "this header keeps the profiler's state in another form than TT-Metal's: expected DeviceZoneScopedN, DeviceTimestampedData or DeviceRecordEvent, which record with either header"
#define KERNEL_PROFILER_IS_FORMER \
    "only earlier versions of TT-Metal's header have this name: expected DeviceZoneScopedN for an interval, or DeviceRecordEvent for a point in time"

namespace kernel_profiler {

namespace detail {

template <typename...>
constexpr bool IS_THERE = false;

/// An object of TT-Metal's header that is not there.
struct Absent {
    template <typename NUMBER>
    constexpr operator NUMBER() const {
        static_assert(IS_THERE<NUMBER>, KERNEL_PROFILER_HAS_OTHER_STATE);
        return {};
    }

    template <typename INDEX>
    const Absent& operator[](INDEX) const {
        static_assert(IS_THERE<INDEX>, KERNEL_PROFILER_HAS_OTHER_STATE);
        return *this;
    }
};

/// A number of TT-Metal's header that is not there.
template <typename NUMBER = uint32_t>
constexpr NUMBER absent() {
    static_assert(IS_THERE<NUMBER>, KERNEL_PROFILER_HAS_OTHER_STATE);
    return {};
}

/// A class of TT-Metal's header that is not there.
template <uint32_t = 0>
struct AbsentScope {
    template <typename NOTHING = void>
    AbsentScope() {
        static_assert(IS_THERE<NOTHING>, KERNEL_PROFILER_HAS_OTHER_STATE);
    }
};

}  // namespace detail

#define KERNEL_PROFILER_ABSENT(name, sentence)                   \
    template <typename... ARGUMENTS>                             \
    void name(ARGUMENTS...) {                                    \
        static_assert(detail::IS_THERE<ARGUMENTS...>, sentence); \
    }

KERNEL_PROFILER_ABSENT(mark_padding, KERNEL_PROFILER_HAS_OTHER_STATE)
KERNEL_PROFILER_ABSENT(mark_dropped_timestamps, KERNEL_PROFILER_HAS_OTHER_STATE)
KERNEL_PROFILER_ABSENT(get_dropped_timestamps, KERNEL_PROFILER_HAS_OTHER_STATE)
KERNEL_PROFILER_ABSENT(risc_finished_profiling, KERNEL_PROFILER_HAS_OTHER_STATE)
KERNEL_PROFILER_ABSENT(main_accumulate_begin, KERNEL_PROFILER_HAS_OTHER_STATE)
KERNEL_PROFILER_ABSENT(main_accumulate_end, KERNEL_PROFILER_HAS_OTHER_STATE)
KERNEL_PROFILER_ABSENT(profiler_noc_async_write_posted, KERNEL_PROFILER_HAS_OTHER_STATE)
KERNEL_PROFILER_ABSENT(profiler_noc_async_flush_posted_write, KERNEL_PROFILER_HAS_OTHER_STATE)
KERNEL_PROFILER_ABSENT(signal_host_buffer_full, KERNEL_PROFILER_HAS_OTHER_STATE)
KERNEL_PROFILER_ABSENT(mark_time, KERNEL_PROFILER_IS_FORMER)
KERNEL_PROFILER_ABSENT(mark_time_once, KERNEL_PROFILER_IS_FORMER)

#undef KERNEL_PROFILER_ABSENT

constexpr detail::Absent profiler_data_buffer{};
constexpr detail::Absent profiler_control_buffer{};
constexpr detail::Absent DRAM_PROFILER_ADDRESS{};
constexpr detail::Absent ACCUMULATE_FLUSH_HEADROOM{};
constexpr detail::Absent TRACE_MARK_FW_START{};
constexpr detail::Absent TRACE_MARK_KERNEL_START{};
constexpr detail::Absent TRACE_MARK_ALL_ENDS{};

using NocRegisterStateSave = detail::AbsentScope<>;

}  // namespace kernel_profiler

#define myRiscID (::kernel_profiler::detail::absent())
#define HOST_BUFFER_END_INDEX (::kernel_profiler::detail::absent())
#define PROFILER_MAIN_SCOPE ::kernel_profiler::detail::AbsentScope
#define DeviceZoneScopedND(name) static_assert(sizeof(name) == 0, KERNEL_PROFILER_IS_FORMER);

#endif
