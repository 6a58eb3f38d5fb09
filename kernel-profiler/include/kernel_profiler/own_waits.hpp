/// \file
///
/// Waits of loops that authors write themselves: `DeviceWait` and `DeviceBlockedWait`.
///
/// The hooks in waits.hpp measure only TT-Metal's own functions. These two macros measure every
/// other loop that polls, for any kind of wait and on every RISC. Their records have the format of
/// the hooks' records.
///
/// The totals are in one table with an entry for each object: a kind and a key. In tt-metal, the
/// table is in the kernel's local RAM, and the end of the kernel's zone writes it. Elsewhere, the
/// firmware owns the table under the symbol `__kprof_waits`, and writes it when the kernel's zone
/// ends: `kprof sdk --waits` writes linker scripts for such firmware.
///
/// # Cost
/// None if the first poll succeeds, and none without `KERNEL_PROFILER_WAITS`. If the first poll
/// fails: two readings of the clock and a search among the objects for which the kernel has already
/// waited, and at the kernel's end 24 bytes of records for each such object. In tt-metal, a kernel
/// that contains one of the macros has 140 bytes more in local RAM, on a TRISC 76; other kernels have
/// none.

#pragma once

#include "waits.hpp"

#if KERNEL_PROFILER_HAS_WAITS

namespace kernel_profiler {
namespace detail {

#if KERNEL_PROFILER_IN_TT_METAL && defined(COMPILE_FOR_TRISC)
constexpr uint32_t OWN_OBJECTS = 4;
#elif KERNEL_PROFILER_IN_TT_METAL
constexpr uint32_t OWN_OBJECTS = 8;
#else
// As in the firmware: `OBJECTS_MAX` of the module `kernel_profiler::wait` of the Rust runtime.
constexpr uint32_t OWN_OBJECTS = 16;
#endif

/// Total of the waits for one object of an author's own loops.
struct OwnWait {
    uint8_t kind;
    uint32_t key;
    WaitSum sum;
};

/// Totals of the waits of an author's own loops.
struct OwnWaits {
    OwnWait objects[OWN_OBJECTS];
    uint32_t count;
    uint16_t total_id;
};

static_assert(
    sizeof(OwnWait) == 16 && offsetof(OwnWait, key) == 4 && offsetof(OwnWait, sum) == 8 &&
        offsetof(OwnWaits, count) == 16 * OWN_OBJECTS && offsetof(OwnWaits, total_id) == 16 * OWN_OBJECTS + 4,
    "the firmware's table has this layout");

#if KERNEL_PROFILER_IN_TT_METAL
static OwnWaits own_waits;
/// The function that writes the totals; null until the first wait. The pointer has internal linkage
/// and is set only where a wait ends: in a kernel without such waits, the compiler therefore knows
/// that it is null, and omits the function and the table.
static void (*own_waits_writer)();
#else
extern "C" OwnWaits __kprof_waits;
static constexpr OwnWaits& own_waits = __kprof_waits;
#endif

/// Writes the totals of an author's own loops and clears them.
inline __attribute__((noinline)) void write_own_waits() {
    const uint32_t count = own_waits.count;
    for (uint32_t index = 0; index < count; ++index) {
        const OwnWait& object = own_waits.objects[index];
        record_wait_total(static_cast<WaitKind>(object.kind), object.key, object.sum);
    }
    own_waits.count = 0;
}

/// Adds a wait to the total of its object; counts lost data if there is no room for the object.
inline __attribute__((noinline)) void add_own_wait(uint8_t kind, uint32_t key, uint32_t cycles) {
#if KERNEL_PROFILER_IN_TT_METAL
    own_waits_writer = write_own_waits;
#endif
    own_waits.total_id = WAIT_TOTAL_ID;
    const uint32_t count = own_waits.count;
    for (uint32_t index = 0; index < count; ++index) {
        OwnWait& object = own_waits.objects[index];
        if (object.key == key && object.kind == kind) {
            add_to_sum(object.sum, cycles);
            return;
        }
    }
    if (count == OWN_OBJECTS) {
        lose<LOST_DATA>();
        return;
    }
    own_waits.objects[count] = {kind, key, {cycles, 1}};
    own_waits.count = count + 1;
}

constexpr uint32_t wait_key(uint32_t key) { return key; }
inline uint32_t wait_key(const volatile void* address) { return reinterpret_cast<uint32_t>(address); }

/// A wait that has begun and ends with this object.
template <WaitKind KIND, uint32_t ID>
struct BlockedWait {
    const uint32_t key;
    const uint32_t begun;

    KERNEL_PROFILER_ALWAYS_INLINE explicit BlockedWait(uint32_t key) : key(key), begun(clock_where_it_stands()) {}

    KERNEL_PROFILER_ALWAYS_INLINE ~BlockedWait() {
        const uint32_t cycles = clock_where_it_stands() - begun;
        if constexpr (KERNEL_PROFILER_SYNC_EVENTS) {
            // First, because the time of the record is the end of the wait.
            record_blocked_wait<ID>(KIND, key, cycles);
        }
        add_own_wait(static_cast<uint8_t>(KIND), key, cycles);
    }

    BlockedWait(const BlockedWait&) = delete;
    BlockedWait& operator=(const BlockedWait&) = delete;
};

/// Ends the waits of a kernel, at the end of its zone.
template <uint32_t index>
KERNEL_PROFILER_ALWAYS_INLINE void end_kernel() {
    write_wait_totals();
#if KERNEL_PROFILER_IN_TT_METAL
    if (__builtin_expect(own_waits_writer != nullptr, 0)) {
        own_waits_writer();
    }
#else
    write_own_waits();
#endif
}

}  // namespace detail
}  // namespace kernel_profiler

#if KERNEL_PROFILER_IN_TT_METAL
#define KERNEL_PROFILER_WAITS_STATE
#else
/// Defines the table in C++ firmware.
#define KERNEL_PROFILER_WAITS_STATE extern "C" { ::kernel_profiler::detail::OwnWaits __kprof_waits; }
#endif

#define KERNEL_PROFILER_ZONE_OF_CB_WAIT KERNEL_PROFILER_CB_WAIT_ZONE
#define KERNEL_PROFILER_ZONE_OF_CB_RESERVE KERNEL_PROFILER_CB_RESERVE_ZONE
#define KERNEL_PROFILER_ZONE_OF_SEM_WAIT KERNEL_PROFILER_SEM_WAIT_ZONE
#define KERNEL_PROFILER_ZONE_OF_NOC_READ_BARRIER KERNEL_PROFILER_NOC_BARRIER_ZONE
#define KERNEL_PROFILER_ZONE_OF_NOC_WRITE_BARRIER KERNEL_PROFILER_NOC_BARRIER_ZONE
#define KERNEL_PROFILER_ZONE_OF_NOC_ATOMIC_BARRIER KERNEL_PROFILER_NOC_BARRIER_ZONE
#define KERNEL_PROFILER_ZONE_OF_NOC_FULL_BARRIER KERNEL_PROFILER_NOC_BARRIER_ZONE
#define KERNEL_PROFILER_ZONE_OF_NOC_WRITE_FLUSH KERNEL_PROFILER_NOC_BARRIER_ZONE

/// Adds the cycles from here to the end of the enclosing block to the total of the object that the
/// kernel waits for. For loops that `DeviceWait` cannot express: poll once before the block, so that
/// a wait that does not block adds nothing. Kinds, keys and cost are those of `DeviceWait`.
#define DeviceBlockedWait(kind, key)                                                                          \
    KERNEL_PROFILER_SYNC_SITE(KERNEL_PROFILER_ZONE_OF_##kind)                                                 \
    ::kernel_profiler::detail::BlockedWait<                                                                   \
        ::kernel_profiler::detail::WaitKind::kind, KERNEL_PROFILER_SYNC_ID(KERNEL_PROFILER_ZONE_OF_##kind)>   \
        KERNEL_PROFILER_JOIN(kernel_profiler_wait_, __COUNTER__)(::kernel_profiler::detail::wait_key(key))

/// Polls until a condition holds, and adds the cycles to the total of the object that the kernel
/// waits for. A wait that succeeds at its first poll adds nothing.
///
/// The kind is `CB_WAIT`, `CB_RESERVE`, `SEM_WAIT`, `NOC_READ_BARRIER`, `NOC_WRITE_BARRIER`,
/// `NOC_ATOMIC_BARRIER`, `NOC_FULL_BARRIER` or `NOC_WRITE_FLUSH`. The key is the number of the circular
/// buffer or of the NoC, or the address of the word that is polled:
///
///     DeviceWait(SEM_WAIT, ready, *ready >= tile);
///
/// If the data cache of a Blackhole is on, the condition must empty it, as in every loop that polls
/// L1: `(invalidate_l1_cache(), *ready >= tile)`.
#define DeviceWait(kind, key, ...)         \
    do {                                   \
        if (!(__VA_ARGS__)) {              \
            DeviceBlockedWait(kind, key);  \
            while (!(__VA_ARGS__)) {       \
            }                              \
        }                                  \
    } while (0)

#else

namespace kernel_profiler {
namespace detail {

template <uint32_t index>
KERNEL_PROFILER_ALWAYS_INLINE void end_kernel() {}

}  // namespace detail
}  // namespace kernel_profiler

#define KERNEL_PROFILER_WAITS_STATE

#include "polls.hpp"

#endif
