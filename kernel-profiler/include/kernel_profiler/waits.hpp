/// \file
///
/// Waits of kernels, measured through TT-Metal's hooks `SYNC_WAIT`, `SYNC_SIGNAL` and
/// `SYNC_SIGNAL_NOC_ADDR`.
///
/// NoC barriers have a separate hook: see barriers.hpp. For loops of authors' own, see own_waits.hpp.
///
/// The hook is called before the polling loop. It declares an object with the name of the function
/// that the loop calls, so that each poll calls the object. The first poll does only what the
/// function does, and the second poll also reads the clock. At the end of the block, the cycles are
/// added up if there was a second poll. A wait whose first poll succeeds costs next to nothing.
///
/// | macro | effect |
/// |---|---|
/// | `KERNEL_PROFILER_WAITS=1` | adds up, per kernel and object, the cycles and number of waits that blocked; one record with 16 bytes of data each at the kernel's end |
/// | `PROFILE_SYNC_EVENTS` | the same, and records each wait that blocked (16 bytes of data) and each signal (8 bytes of data) |
/// | `KERNEL_PROFILER_SYNC_WINDOW=14` | restricts these records to windows of 2^14 cycles; a window opens whenever the tile's clock reaches a multiple of 2^17; `KERNEL_PROFILER_SYNC_PERIOD` sets the exponent 17 |
///
/// docs/wire-extensions.md documents the format of the records. The totals are in the kernel's
/// local RAM: 256 bytes on a Wormhole's TRISC 0 and 2.

#pragma once

#include "mode.hpp"

#if defined(PROFILE_SYNC_EVENTS) && !defined(DISPATCH_KERNEL)
#define KERNEL_PROFILER_SYNC_EVENTS 1
#else
#define KERNEL_PROFILER_SYNC_EVENTS 0
#endif

#if KERNEL_PROFILER_SYNC_EVENTS && defined(KERNEL_PROFILER_SYNC_WINDOW)
#define KERNEL_PROFILER_HAS_SYNC_WINDOWS 1
#if !defined(KERNEL_PROFILER_SYNC_PERIOD)
#define KERNEL_PROFILER_SYNC_PERIOD 17
#endif
#else
#define KERNEL_PROFILER_HAS_SYNC_WINDOWS 0
#endif

#if !defined(KERNEL_PROFILER_WAITS)
#define KERNEL_PROFILER_WAITS KERNEL_PROFILER_SYNC_EVENTS
#endif

// Firmware does not wait for objects of a kernel; dispatch kernels wait all the time.
#if (KERNEL_PROFILER_WAITS || KERNEL_PROFILER_SYNC_EVENTS) && !defined(DISPATCH_KERNEL) && \
    (defined(KERNEL_BUILD) || !KERNEL_PROFILER_IN_TT_METAL)
#define KERNEL_PROFILER_HAS_WAITS 1
#else
#define KERNEL_PROFILER_HAS_WAITS 0
#endif

#if KERNEL_PROFILER_HAS_WAITS

namespace kernel_profiler {
namespace detail {

constexpr bool is_same(const char* left, const char* right) {
    while (*left != '\0' && *left == *right) {
        ++left;
        ++right;
    }
    return *left == *right;
}

constexpr WaitKind wait_kind(const char* name) {
    return is_same(name, KERNEL_PROFILER_CB_WAIT_ZONE)      ? WaitKind::CB_WAIT
           : is_same(name, KERNEL_PROFILER_CB_RESERVE_ZONE) ? WaitKind::CB_RESERVE
           : is_same(name, KERNEL_PROFILER_SEM_WAIT_ZONE)   ? WaitKind::SEM_WAIT
                                              : WaitKind::NONE;
}

#if defined(NUM_CIRCULAR_BUFFERS)
constexpr uint32_t BUFFERS = NUM_CIRCULAR_BUFFERS;
#else
constexpr uint32_t BUFFERS = 32;
#endif
static_assert((BUFFERS & (BUFFERS - 1)) == 0, "numbers of buffers are masked");

/// Total of the waits for one object.
struct WaitSum {
    uint32_t cycles;
    uint32_t waits;
};

/// Total of the waits for one semaphore.
struct SemaphoreWaits {
    uint32_t address;
    WaitSum sum;
};

constexpr uint32_t SEMAPHORES = 8;
constexpr uint32_t BARRIER_KINDS = 5;
constexpr uint32_t NOCS = 2;

inline WaitSum waits_for_tiles[BUFFERS];
inline WaitSum waits_for_room[BUFFERS];
inline SemaphoreWaits waits_for_semaphores[SEMAPHORES];
/// Totals of waits at barriers: by kind, and by NoC within a kind.
inline WaitSum waits_at_barriers[BARRIER_KINDS * NOCS];

/// Returns the index of a barrier's first NoC in `waits_at_barriers`.
constexpr uint32_t first_barrier(WaitKind kind) {
    return (static_cast<uint32_t>(kind) - static_cast<uint32_t>(WaitKind::NOC_READ_BARRIER)) * NOCS;
}

// Both macros must be on one line, because both use the current line number.
KERNEL_PROFILER_SITE(KERNEL_PROFILER_WAIT_TOTAL_ZONE) constexpr uint32_t WAIT_TOTAL_ID = KERNEL_PROFILER_ID(KERNEL_PROFILER_WAIT_TOTAL_ZONE);

constexpr uint64_t wait_words(WaitKind kind, uint32_t key) {
    return static_cast<uint64_t>(kind) << WAIT_KIND_SHIFT | key;
}

/// Size in bytes of a record with 64 bits of data, and of a record with 128 bits of data.
constexpr int32_t DATA_BYTES = MARKER_BYTES + sizeof(uint64_t);
constexpr int32_t DATA_16B_BYTES = MARKER_BYTES + 2 * sizeof(uint64_t);

/// Writes a total with the time of the kernel's end. The host decodes the marker of the kernel's
/// end after the total, so with a later time for the total, it would find times out of order.
inline __attribute__((noinline)) void record_wait_total(WaitKind kind, uint32_t key, WaitSum sum) {
    uint32_t place = 0;
    if (append_at(prefix(TS_DATA_16B, WAIT_TOTAL_ID), DATA_16B_BYTES, end_of_kernel(), place)) {
        const uint32_t behind = write_data(place, wait_words(kind, key));
        write_data(behind, static_cast<uint64_t>(sum.waits) << WAIT_COUNT_SHIFT | sum.cycles);
    }
}

/// Adds a wait to a saturating total.
KERNEL_PROFILER_ALWAYS_INLINE void add_to_sum(WaitSum& sum, uint32_t cycles) {
    const uint32_t now = sum.cycles + cycles;
    sum.waits += 1;
    sum.cycles = now < cycles ? UINT32_MAX : now;
}

/// Adds a wait for a semaphore other than the first; counts lost data if there is no room for the
/// semaphore.
inline __attribute__((noinline)) void add_semaphore_wait(uint32_t address, uint32_t cycles) {
    for (SemaphoreWaits& entry : waits_for_semaphores) {
        if (entry.sum.waits == 0 || entry.address == address) {
            entry.address = address;
            add_to_sum(entry.sum, cycles);
            return;
        }
    }
    lose<LOST_DATA>();
}

/// Reads the clock with instructions that the compiler does not move, so that they stay out of the
/// path of a wait that does not block.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t clock_where_it_stands() {
    uint32_t low;
    __asm__ volatile("lui %0, %1\n\tlw %0, %2(%0)" : "=r"(low) : "i"(TILE_REGISTERS >> 12), "i"(WALL_CLOCK_LOW));
    return low;
}

static_assert(offsetof(WaitSum, cycles) == 0 && offsetof(WaitSum, waits) == 4, "the next function writes there");

/// Adds the cycles from t2 to now to the total at t1 and leaves them in t2; returns to t0. An
/// ordinary call would cost the call sites registers even if no wait blocks.
inline __attribute__((naked, noinline)) void add_cycles_to_sum() {
    __asm__(
        "lui t3, %0\n\t"
        "lw t3, %1(t3)\n\t"
        "lw t4, 0(t1)\n\t"
        "lw t5, 4(t1)\n\t"
        "sub t2, t3, t2\n\t"
        "add t4, t4, t2\n\t"
        "addi t5, t5, 1\n\t"
        "sw t5, 4(t1)\n\t"
        // The total saturates.
        "bgeu t4, t2, 1f\n\t"
        "li t4, -1\n"
        "1:\n\t"
        "sw t4, 0(t1)\n\t"
        "jr t0"
        :
        : "i"(TILE_REGISTERS >> 12), "i"(WALL_CLOCK_LOW));
}

/// Ends a wait that began at `begun`, adds it to a total and returns its cycles.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t add_since(uint32_t begun, WaitSum* sum) {
    register WaitSum* place __asm__("t1") = sum;
    register uint32_t cycles __asm__("t2") = begun;
    __asm__ volatile("jal t0, %2"
                     : "+r"(place), "+r"(cycles)
                     : "i"(&add_cycles_to_sum)
                     : "t0", "t3", "t4", "t5", "memory");
    return cycles;
}

/// Loads the address of the totals at the point of use. Otherwise the compiler would load it before
/// the first poll.
#define KERNEL_PROFILER_FIND_SUMS(pointer, sums) __asm__ volatile("la %0, %1" : "=r"(pointer) : "i"(sums))

/// Ends a wait that began at `begun`, adds it to its object's total and returns its cycles.
template <WaitKind KIND>
KERNEL_PROFILER_ALWAYS_INLINE uint32_t add_wait(uint32_t key, uint32_t begun) {
    if constexpr (KIND == WaitKind::SEM_WAIT) {
        const uint32_t cycles = clock_where_it_stands() - begun;
        SemaphoreWaits* first;
        KERNEL_PROFILER_FIND_SUMS(first, waits_for_semaphores);
        if (__builtin_expect(first->address == key, 1)) {
            add_to_sum(first->sum, cycles);
        } else {
            add_semaphore_wait(key, cycles);
        }
        return cycles;
    } else {
        WaitSum* sums;
        if constexpr (KIND == WaitKind::CB_WAIT) {
            KERNEL_PROFILER_FIND_SUMS(sums, waits_for_tiles);
            return add_since(begun, &sums[key & (BUFFERS - 1)]);
        } else if constexpr (KIND == WaitKind::CB_RESERVE) {
            KERNEL_PROFILER_FIND_SUMS(sums, waits_for_room);
            return add_since(begun, &sums[key & (BUFFERS - 1)]);
        } else {
            KERNEL_PROFILER_FIND_SUMS(sums, waits_at_barriers);
            WaitSum* sum = &sums[first_barrier(KIND) + (key & (NOCS - 1))];
            if constexpr (KIND == WaitKind::NOC_FULL_BARRIER) {
                // This barrier already has a separate function, so no further call is needed.
                const uint32_t cycles = clock_where_it_stands() - begun;
                add_to_sum(*sum, cycles);
                return cycles;
            }
            return add_since(begun, sum);
        }
    }
}

template <WaitKind KIND>
KERNEL_PROFILER_ALWAYS_INLINE void write_buffer_totals(WaitSum* sums) {
    for (uint32_t key = 0; key < BUFFERS; ++key) {
        if (__builtin_expect(sums[key].waits != 0, 0)) {
            record_wait_total(KIND, key, sums[key]);
            sums[key] = {0, 0};
        }
    }
}

/// Writes the totals of a kernel's waits and clears them.
KERNEL_PROFILER_ALWAYS_INLINE void write_wait_totals() {
#if !defined(COMPILE_FOR_TRISC) || COMPILE_FOR_TRISC == 0
    write_buffer_totals<WaitKind::CB_WAIT>(waits_for_tiles);
#endif
#if !defined(COMPILE_FOR_TRISC) || COMPILE_FOR_TRISC == 2
    write_buffer_totals<WaitKind::CB_RESERVE>(waits_for_room);
#endif
#if !defined(COMPILE_FOR_TRISC)
    for (SemaphoreWaits& entry : waits_for_semaphores) {
        if (entry.sum.waits == 0) {
            break;
        }
        record_wait_total(WaitKind::SEM_WAIT, entry.address, entry.sum);
        entry = {0, {0, 0}};
    }
    for (uint32_t barrier = 0; barrier < BARRIER_KINDS * NOCS; ++barrier) {
        WaitSum& sum = waits_at_barriers[barrier];
        if (__builtin_expect(sum.waits != 0, 0)) {
            constexpr uint32_t FIRST = static_cast<uint32_t>(WaitKind::NOC_READ_BARRIER);
            record_wait_total(static_cast<WaitKind>(FIRST + barrier / NOCS), barrier % NOCS, sum);
            sum = {0, 0};
        }
    }
#endif
}

#if KERNEL_PROFILER_HAS_SYNC_WINDOWS

/// Windows of time in which single waits and signals are recorded. They are the same on all RISCs
/// of a tile, which share its clock.
struct SyncWindows {
    static constexpr uint32_t LENGTH_LOG2 = KERNEL_PROFILER_SYNC_WINDOW;
    static constexpr uint32_t PERIOD_LOG2 = KERNEL_PROFILER_SYNC_PERIOD;
    static_assert(
        LENGTH_LOG2 < PERIOD_LOG2 && PERIOD_LOG2 <= SYNC_PERIOD_LOG2_MAX,
        "expected KERNEL_PROFILER_SYNC_WINDOW below KERNEL_PROFILER_SYNC_PERIOD, and that 20 at most");

    /// Returns the cycles since the last window opened.
    static constexpr uint32_t phase(uint32_t time) { return time & ((UINT32_C(1) << PERIOD_LOG2) - 1); }

    static constexpr bool is_open(uint32_t time) { return phase(time) >> LENGTH_LOG2 == 0; }

    /// Returns true if a part of a wait is in a window.
    static constexpr bool has_wait(uint32_t begun, uint32_t ended) {
        return is_open(begun) || (begun ^ ended) >> PERIOD_LOG2 != 0;
    }

    /// Returns the word of a wait's record that describes the windows.
    static constexpr uint32_t word(uint32_t ended) { return phase(ended) | LENGTH_LOG2 << SYNC_LENGTH_SHIFT | PERIOD_LOG2 << SYNC_PERIOD_SHIFT; }
};

/// Records a wait that blocked, if a part of it is in a window.
template <uint32_t ID>
inline __attribute__((noinline)) void record_blocked_wait(WaitKind kind, uint32_t key, uint32_t cycles) {
    make_room(DATA_16B_BYTES);
    Clock ended = Clock::now(TILE_REGISTERS);
    uint32_t place = 0;
    if (SyncWindows::has_wait(ended.low - cycles, ended.low) &&
        append_at(prefix(TS_DATA_16B, ID), DATA_16B_BYTES, ended, place)) {
        const uint32_t behind = write_data(place, wait_words(kind, key));
        write_data(behind, static_cast<uint64_t>(SyncWindows::word(ended.low)) << 32 | cycles);
    }
}

/// Records a signal, if a window is open.
template <uint32_t ID>
inline __attribute__((noinline)) void record_signal(uint64_t data) {
    make_room(DATA_BYTES);
    Clock now = Clock::now(TILE_REGISTERS);
    uint32_t place = 0;
    if (SyncWindows::is_open(now.low) && append_at(prefix(TS_DATA, ID), DATA_BYTES, now, place)) {
        write_data(place, data);
    }
}

#else

/// Records a wait that blocked.
template <uint32_t ID>
inline __attribute__((noinline)) void record_blocked_wait(WaitKind kind, uint32_t key, uint32_t cycles) {
    timeStampedData<ID, DoingDispatch::NOT_DISPATCH, TS_DATA_16B>(
        wait_words(kind, key), static_cast<uint64_t>(cycles));
}

#endif

/// Ends a wait that blocked and began at `begun`: adds it to the total of its object, and records
/// it if single waits are recorded.
template <WaitKind KIND, uint32_t ID>
KERNEL_PROFILER_ALWAYS_INLINE void end_wait(uint32_t key, uint32_t begun) {
    const uint32_t cycles = add_wait<KIND>(key, begun);
    if constexpr (KERNEL_PROFILER_SYNC_EVENTS) {
        record_blocked_wait<ID>(KIND, key, cycles);
    }
}

/// A wait that replaces the function that its loop polls. The replaced function either reads a
/// register, or makes words written by others visible to the next load.
template <WaitKind KIND, uint32_t ID>
struct Wait {
    // The states are chosen so that comparisons with 0 distinguish them.
    static constexpr int32_t UNPOLLED = -1;
    static constexpr int32_t POLLED = 0;
    static constexpr int32_t BLOCKED = 1;

    const uint32_t key;
    int32_t state = UNPOLLED;
    uint32_t started;

    KERNEL_PROFILER_ALWAYS_INLINE explicit Wait(uint32_t key) : key(key) {
        __asm__("" : "=r"(started));
    }

    KERNEL_PROFILER_ALWAYS_INLINE void poll() {
        if (__builtin_expect_with_probability(state < POLLED, 1, 0.99)) {
            state = POLLED;
        } else if (state == POLLED) {
            state = BLOCKED;
            started = clock_where_it_stands();
        }
    }

    KERNEL_PROFILER_ALWAYS_INLINE uint32_t operator()(uint32_t address) {
        poll();
        return read_word(address);
    }

    KERNEL_PROFILER_ALWAYS_INLINE void operator()() {
        poll();
        forget_cached();
    }

    KERNEL_PROFILER_ALWAYS_INLINE ~Wait() {
        if (__builtin_expect(state > POLLED, 0)) {
            end_wait<KIND, ID>(key, started);
        }
    }

    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
};

/// Replacement of a function that the loop calls, but whose calls are not counted as polls.
struct NoWait {
    KERNEL_PROFILER_ALWAYS_INLINE explicit constexpr NoWait(uint32_t) {}
    KERNEL_PROFILER_ALWAYS_INLINE uint32_t operator()(uint32_t address) const { return read_word(address); }
    KERNEL_PROFILER_ALWAYS_INLINE void operator()() const { forget_cached(); }
};

template <bool IS_WAIT, WaitKind KIND, uint32_t ID>
struct PollOf {
    using Type = NoWait;
};
template <WaitKind KIND, uint32_t ID>
struct PollOf<true, KIND, ID> {
    using Type = Wait<KIND, ID>;
};

/// Returns true if polls of a kind are detected in calls of `read_word`, and false if they are
/// detected in calls of `forget_cached`. A loop that waits for room on a Blackhole's BRISC or
/// NCRISC calls both functions. There, polls are detected at `forget_cached`, since the compiler
/// would otherwise duplicate this fence.
///
/// # Compatibility
/// `cb_reserve_back` in `dataflow_api.h` of tt-metal 0.81.
constexpr bool is_told_by_address(WaitKind kind) {
#if defined(COMPILE_FOR_TRISC)
    constexpr bool IS_ROOM_FENCED = false;
#else
    constexpr bool IS_ROOM_FENCED = IS_BLACKHOLE && KERNEL_PROFILER_IN_TT_METAL != 0;
#endif
    return kind == WaitKind::CB_WAIT || (kind == WaitKind::CB_RESERVE && !IS_ROOM_FENCED);
}

/// The type that replaces one of the two polled functions: it detects the polls, or does nothing.
template <bool IS_ADDRESSED, WaitKind KIND, uint32_t ID>
using Poll = typename PollOf<
    KIND != WaitKind::NONE && IS_ADDRESSED == is_told_by_address(KIND), KIND, ID>::Type;

}  // namespace detail
}  // namespace kernel_profiler

#if KERNEL_PROFILER_SYNC_EVENTS
#define KERNEL_PROFILER_SYNC_SITE(name) KERNEL_PROFILER_SITE(name)
#define KERNEL_PROFILER_SYNC_ID(name) KERNEL_PROFILER_ID(name)
#else
#define KERNEL_PROFILER_SYNC_SITE(name)
#define KERNEL_PROFILER_SYNC_ID(name) 0
#endif

/// Measures the wait of the loop that follows in the block. `key` is evaluated once.
#define SYNC_WAIT(name, key)                                                                                      \
    KERNEL_PROFILER_SYNC_SITE(name)                                                                               \
    [[maybe_unused]] ::kernel_profiler::detail::Poll<                                                             \
        true, ::kernel_profiler::detail::wait_kind(name), KERNEL_PROFILER_SYNC_ID(name)>                          \
        reg_read(static_cast<uint32_t>(key));                                                                     \
    [[maybe_unused]] ::kernel_profiler::detail::Poll<                                                             \
        false, ::kernel_profiler::detail::wait_kind(name), KERNEL_PROFILER_SYNC_ID(name)>                         \
        invalidate_l1_cache(static_cast<uint32_t>(key))

#else

#define SYNC_WAIT(name, key) (void(sizeof(key)))

#endif

#if KERNEL_PROFILER_HAS_WAITS && KERNEL_PROFILER_SYNC_EVENTS
/// Records a signal with its key.
#if KERNEL_PROFILER_HAS_SYNC_WINDOWS
#define SYNC_SIGNAL(name, key)                                                                                    \
    {                                                                                                             \
        KERNEL_PROFILER_SITE(name)                                                                                \
        ::kernel_profiler::detail::record_signal<KERNEL_PROFILER_ID(name)>(static_cast<uint64_t>(key));           \
    }
#else
#define SYNC_SIGNAL(name, key) DeviceTimestampedData(name, static_cast<uint64_t>(key))
#endif
/// Records a signal to other tiles; the key is their NoC address, with bit 63 set and the NoC in
/// bit 62.
#define SYNC_SIGNAL_NOC_ADDR(name, addr, noc) \
    SYNC_SIGNAL(name, static_cast<uint64_t>(addr) | static_cast<uint64_t>((noc) & 1) << 62 | UINT64_C(1) << 63)
#else
#define SYNC_SIGNAL(name, key) (void(sizeof(key)))
#define SYNC_SIGNAL_NOC_ADDR(name, addr, noc) (void(sizeof(addr) + sizeof(noc)))
#endif
