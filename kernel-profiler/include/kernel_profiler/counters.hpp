/// \file
///
/// Hardware counters outside of tt-metal: activity of a tile's coprocessor and L1 between a start
/// and a stop.
///
/// header.hpp includes this file. PROFILE_PERF_COUNTERS is a mask of groups, with tt-metal's bits:
/// FPU 0, packers 1, unpackers 2, banks of L1 3, 4, 6 to 9, instructions 5. If several banks of L1
/// are requested, only the lowest is counted. Without PROFILE_PERF_COUNTERS the macros do nothing.
///
/// In tt-metal, TRISC 1 starts the counters, and BRISC stops and reads them. Here each macro acts
/// on the RISC that runs it. A tile has one set of counters, so only one of its kernels may use
/// them.

#pragma once

#if KERNEL_PROFILER_IS_ON && defined(PROFILE_PERF_COUNTERS)

namespace kernel_profiler {
namespace detail {

constexpr uint32_t DEBUG_REGISTERS = 0xFFB12000;
/// Register that selects the L1 ports to count, and the mask of the selection.
constexpr uint32_t L1_CHOICE = DEBUG_REGISTERS + 0x218;
constexpr uint32_t L1_CHOICE_MASK = (IS_BLACKHOLE ? 7u : 1u) << 4;
constexpr uint32_t COUNTER_START = 1;
constexpr uint32_t COUNTER_STOP = 2;
constexpr uint32_t SELECT_SHIFT = 8;
/// Maximum number of reads of the mode register before it shows the selection.
constexpr uint32_t SELECT_POLLS = 1024;

constexpr uint32_t GROUP_COUNT = 10;

/// Returns the L1 bank of a group.
constexpr uint32_t l1_bank(uint32_t group) { return group < GROUP_INSTRUCTIONS ? group - 3 : group - 4; }
constexpr bool is_l1(uint32_t group) { return (GROUPS_OF_L1 >> group & 1) != 0; }

/// Returns true if a group is requested and can be counted together with the groups below it.
constexpr bool is_counted(uint32_t group) {
    constexpr uint32_t GROUPS = PROFILE_PERF_COUNTERS;
    const uint32_t below = GROUPS & GROUPS_OF_L1 & ((1u << group) - 1);
    return (GROUPS >> group & 1) != 0 && !(is_l1(group) && below != 0);
}

/// Returns the first of the three registers that configure a group's bank. `readings_of` returns
/// the first of the two registers that are read.
constexpr uint32_t setup_of(uint32_t group) {
    return DEBUG_REGISTERS + (group == GROUP_FPU            ? 0x018
                              : group == GROUP_PACK         ? 0x0F0
                              : group == GROUP_UNPACK       ? 0x00C
                              : group == GROUP_INSTRUCTIONS ? 0x000
                                                            : 0x030);
}
constexpr uint32_t readings_of(uint32_t group) {
    return DEBUG_REGISTERS + (group == GROUP_FPU            ? 0x120
                              : group == GROUP_PACK         ? 0x110
                              : group == GROUP_UNPACK       ? 0x108
                              : group == GROUP_INSTRUCTIONS ? 0x100
                                                            : 0x118);
}

/// A type for each group, so that the compiler makes no table of the groups' data in memory.
template <uint32_t value>
struct Group {
    static constexpr uint32_t number = value;
};

/// Calls `visit` with each group that is counted.
template <uint32_t group = 0, typename Visit>
KERNEL_PROFILER_ALWAYS_INLINE void for_each_group(Visit visit) {
    if constexpr (group < GROUP_COUNT) {
        if constexpr (is_counted(group)) {
            visit(Group<group>());
        }
        for_each_group<group + 1>(visit);
    }
}

/// Records counters whose numbers and selections increase by constant steps.
inline __attribute__((noinline)) void record_counters(
    uint32_t mode_register, uint32_t readings, uint32_t number, uint32_t select, uint32_t count, uint32_t number_step,
    uint32_t select_step) {
    for (; count != 0; --count) {
        const uint32_t mode = select << SELECT_SHIFT;
        write_word(mode_register, mode);
        uint32_t polls = SELECT_POLLS;
        while (read_word(mode_register) != mode && polls != 0) {
            --polls;
        }
        if (polls != 0) {
            const uint32_t cycles = read_word(readings);
            const uint32_t events = read_word(readings + 4);
#if !defined(COMPILE_FOR_TRISC)
            flush_to_dram_if_full(RECORD_BYTES_MAX / 4);
#endif
            timeStampedData<PERF_COUNTER_ID, DoingDispatch::NOT_DISPATCH, TS_DATA_16B>(
                static_cast<uint64_t>(cycles) << 32 | events, static_cast<uint64_t>(number));
        } else {
            // The selection has not taken effect: the register would show another counter.
            lose<LOST_DATA>();
        }
        number += number_step;
        select += select_step;
    }
}

/// Records the counters of a group, in tt-metal's order.
template <uint32_t group>
inline void record_group() {
    const auto record = [](uint32_t number, uint32_t select, uint32_t count, uint32_t number_step = 1, uint32_t select_step = 1) {
        record_counters(setup_of(group) + 4, readings_of(group), number, select, count, number_step, select_step);
    };
    if constexpr (group == GROUP_FPU) {
        record(1, 0, 2);
        record(3, 257, 1);
    } else if constexpr (group == GROUP_UNPACK) {
        record(4, 0, 2);
        record(7, 3, 8);
        record(113, 259, 1);
        record(116, 260, 1);
        record(114, 261, 2);
        record(117, 263, 4);
    } else if constexpr (group == GROUP_PACK) {
        record(18, 11, 1);
        if constexpr (IS_BLACKHOLE) {
            record(19, 18, 1);
            record(127, 267, 1);
            record(131, 271, 1);
        } else {
            record(121, 12, 6);
            record(19, 18, 1);
            record(127, 267, 5);
        }
        record(20, 272, 1);
    } else if constexpr (group == GROUP_INSTRUCTIONS) {
        record(21, 0, 9);
        if constexpr (IS_BLACKHOLE) {
            record(30, 12, 20);
        } else {
            record(30, 12, 16);
            record(46, 30, 4, 1, 3);
        }
        // The numbers of one thread's wait counters are three apart.
        constexpr uint32_t WAITS = IS_BLACKHOLE ? 32 : 40;
        record(52, WAITS, 8, 3, 1);
        record(50, WAITS + 8, 9, 3, 1);
        record(51, WAITS + 17, 9, 3, 1);
        record(110, 256, 3, 1, 8);
        record(180, 283, 1);
    } else if constexpr (!IS_BLACKHOLE) {
        if constexpr (l1_bank(group) < 2) {
            record(76 + 8 * l1_bank(group), 0, 8);
            record(94 + 8 * l1_bank(group), 256, 8);
        }
    } else if constexpr (l1_bank(group) == 0) {
        record(76, 0, 1);
        record(185, 1, 1);
        record(78, 2, 6);
        record(94, 256, 1);
        record(190, 257, 1);
        record(96, 258, 6);
    } else if constexpr (l1_bank(group) == 1) {
        record(186, 0, 4);
        record(88, 4, 4);
        record(191, 256, 4);
        record(106, 260, 4);
    } else if constexpr (l1_bank(group) < 5) {
        constexpr uint32_t first = l1_bank(group) == 2 ? 148 : l1_bank(group) == 3 ? 164 : 132;
        record(first, 0, 8);
        record(first + 8, 256, 8);
    } else {
        record(181, 0, 2);
        record(183, 256, 2);
    }
}

}  // namespace detail

/// Resets and starts the counters.
KERNEL_PROFILER_ALWAYS_INLINE void start_perf_counter() {
    using namespace detail;
    for_each_group([](auto of) {
        constexpr uint32_t group = decltype(of)::number;
        if constexpr (is_l1(group)) {
            // The other bits of the register select what the debug bus shows.
            write_word(L1_CHOICE, (read_word(L1_CHOICE) & ~L1_CHOICE_MASK) | (l1_bank(group) << 4 & L1_CHOICE_MASK));
        }
        constexpr uint32_t setup = setup_of(group);
        write_word(setup, ~0u);
        write_word(setup + 4, 0);
        // The control bits act on a rising edge.
        write_word(setup + 8, 0);
        write_word(setup + 8, COUNTER_START);
    });
}

/// Stops all banks before any of them is read, so that the reading is not counted.
KERNEL_PROFILER_ALWAYS_INLINE void stop_perf_counter() {
    using namespace detail;
    for_each_group([](auto of) { write_word(setup_of(decltype(of)::number) + 8, COUNTER_STOP); });
}

/// Records every counter if TRISC 1 has a kernel in this launch; otherwise no counter was started.
/// `enables` has one bit for each RISC with a kernel.
inline void read_perf_counters(uint32_t enables) {
    using namespace detail;
    if ((enables >> 3 & 1) != 0) {
        for_each_group([](auto of) { record_group<decltype(of)::number>(); });
    }
}

}  // namespace kernel_profiler

#define StartPerfCounters() kernel_profiler::start_perf_counter();
#define RecordPerfCounters() kernel_profiler::start_perf_counter();
#define StopPerfCounters() kernel_profiler::stop_perf_counter();
#define ReadPerfCounters(enables) kernel_profiler::read_perf_counters(enables);

#else

#define StartPerfCounters(...) static_cast<void>(0)
#define StopPerfCounters(...) static_cast<void>(0)
#define ReadPerfCounters(...) static_cast<void>(0)
#define RecordPerfCounters(...) static_cast<void>(0)

#endif
