/// \file
/// What the macros of `kernel_profiler.hpp` stand for: the hot paths, and the few figures and
/// names that C++ and the static library share.
///
/// `kernel_profiler.hpp` includes this file where the profiler is switched on; it decides that,
/// and it says how everything is used.

#pragma once

#include <stddef.h>
#include <stdint.h>

#if !defined(__riscv) || __riscv_xlen != 32
#error "expected a 32-bit RISC-V compiler: the probes read registers of a Tensix core"
#endif

#define KERNEL_PROFILER_ALWAYS_INLINE [[gnu::always_inline]] inline

namespace kernel_profiler {

/// Which limit a record of a dispatch kernel keeps.
enum class DoingDispatch {
    /// Leaves the headroom free.
    DISPATCH,
    /// Metadata: may use most of the headroom.
    DISPATCH_META,
    /// May use all room.
    NOT_DISPATCH,
};

/// Packet types of the format.
enum PacketTypes : uint32_t {
    ZONE_START = 0,
    ZONE_END = 1,
    ZONE_TOTAL = 2,
    TS_DATA = 3,
    TS_EVENT = 4,
    TS_DATA_16B = 5,
};

/// What the runtime remembers of one RISC. Only the first two members are shared with C++; the
/// Rust side asserts these figures when it is compiled.
constexpr uint32_t STATE_CURSOR_OFFSET = 0;
constexpr uint32_t STATE_ROOM_OFFSET = 4;
constexpr uint32_t STATE_BYTES = 136;

struct State {
    /// Address of the next free word of this RISC's vector.
    uint32_t cursor;
    /// Bytes that are neither used nor kept for the end of an open zone.
    int32_t room;
    /// The library's own.
    uint32_t opaque[STATE_BYTES / 4 - 2];
};

static_assert(offsetof(State, cursor) == STATE_CURSOR_OFFSET, "the layout of the state");
static_assert(offsetof(State, room) == STATE_ROOM_OFFSET, "the layout of the state");
static_assert(sizeof(State) == STATE_BYTES, "the layout of the state");

/// What the firmware knows about the RISC that runs; filled before the first probe. The members
/// are explained at `kernel_profiler::tensix::Tile`.
constexpr uint32_t TILE_BYTES = 48;

struct Tile {
    uint32_t risc_index;
    uint32_t risc_count;
    uint32_t noc;
    uint32_t command_buffer;
    uint32_t lane_words;
    uint32_t noc_x;
    uint32_t noc_y;
    uint32_t bank_count;
    const uint16_t* bank_coordinates;
    const uint32_t* bank_offsets;
    uint32_t* writes_issued;
    uint32_t* writes_acked;
};

static_assert(sizeof(Tile) == TILE_BYTES, "the layout of the tile's description");

/// Words of one RISC's vector.
constexpr uint32_t VECTOR_WORDS = 512;

extern "C" {
// The firmware's.
extern volatile State __kprof_state;
extern Tile __kprof_tile;
extern uint32_t __kprof_vectors[][VECTOR_WORDS];

// The static library's.
void __kprof_init();
void __kprof_finish();
void __kprof_validate(uint32_t is_valid);
void __kprof_set_counter(uint32_t program_id);
void __kprof_init_profiler();
void __kprof_increment_trace_count();
void __kprof_init_trace_only();
void __kprof_quick_push();
void __kprof_quick_push_if_linked(uint32_t command_buffer, uint32_t is_to_be_linked);
void __kprof_open_scope(uint32_t is_child, uint32_t id);
void __kprof_close_scope(uint32_t is_child, uint32_t id);
void __kprof_open_scope_trace_only(uint32_t is_child, uint32_t id);
void __kprof_close_scope_trace_only(uint32_t is_child, uint32_t id);
void __kprof_add_to_sum(uint32_t accumulator, uint32_t id, uint64_t cycles);
// __kprof_lose_zone, __kprof_lose_data and __kprof_lose_event are called by assembly: they
// return to t0 and change t1 and t2 only, so that a hot path keeps its registers.
}

namespace detail {

#if defined(DISPATCH_KERNEL)
constexpr bool IS_DISPATCH = true;
#else
constexpr bool IS_DISPATCH = false;
#endif
constexpr bool IS_TRACE_ONLY = ((PROFILE_KERNEL) & 4) != 0;

constexpr int32_t MARKER_BYTES = 8;

/// The format's 16-bit hash of a text: FNV-1a, its halves combined.
constexpr uint16_t hash(const char* text) {
    uint32_t hash = 2166136261u;
    for (; *text != '\0'; ++text) {
        hash = (hash ^ static_cast<unsigned char>(*text)) * 16777619u;
    }
    return static_cast<uint16_t>(hash ^ hash >> 16);
}

/// Ids that the format keeps for records that are no zones, and 0, as of padding.
constexpr bool is_free(uint16_t id) {
    return id != 0 && id != 12345 && id != 23456 && id != 9090;
}

/// Whether the assembler takes a text as it stands.
constexpr bool is_plain(const char* text) {
    for (; *text != '\0'; ++text) {
        if (*text == '"' || *text == '\\' || *text == '\n') {
            return false;
        }
    }
    return true;
}

/// A marker's first word without its time.
constexpr uint32_t prefix(PacketTypes type, uint32_t id) {
    return 0x80000000u | static_cast<uint32_t>(type) << 28 | (id & 0xFFFFu) << 12;
}

/// Bytes that a record must leave free.
constexpr int32_t headroom(DoingDispatch dispatch) {
    return dispatch == DoingDispatch::DISPATCH        ? 64
           : dispatch == DoingDispatch::DISPATCH_META ? 16
                                                      : 0;
}

constexpr DoingDispatch ORDINARY = IS_DISPATCH ? DoingDispatch::DISPATCH : DoingDispatch::NOT_DISPATCH;
constexpr DoingDispatch METADATA = IS_DISPATCH ? DoingDispatch::DISPATCH_META : DoingDispatch::NOT_DISPATCH;

/// Two constants that a probe needs in registers. The compiler cannot see what they are, so
/// that it makes them once for a zone, or once for a loop, and not for each marker anew.
struct Constants {
    uint32_t registers;
    uint32_t time_mask;

    KERNEL_PROFILER_ALWAYS_INLINE static Constants load() {
        uint32_t registers;
        uint32_t time_mask;
        __asm__("lui %0, 0xffb12" : "=r"(registers));
        __asm__("" : "=r"(time_mask) : "0"(0xFFFu));
        return {registers, time_mask};
    }
};

/// A reading of the tile's wall clock.
struct Clock {
    uint32_t low;
    uint32_t high;

    /// Reads the low and the live high word, back to back, low first; the host repairs a pair
    /// that is torn by a wrap.
    KERNEL_PROFILER_ALWAYS_INLINE static Clock now(uint32_t registers) {
        const uint32_t low = *reinterpret_cast<const volatile uint32_t*>(registers + 0x1F0);
        const uint32_t high = *reinterpret_cast<const volatile uint32_t*>(registers + 0x1F4);
        return {low, high};
    }
};

/// Writes a word of this RISC's vector.
KERNEL_PROFILER_ALWAYS_INLINE void write_word(uint32_t place, uint32_t value) {
    *reinterpret_cast<volatile uint32_t*>(place) = value;
}

/// Writes the two words of a marker, after everything that has been stored to the state: the
/// core stalls at the first use of the clock, and stores that come before cost nothing.
KERNEL_PROFILER_ALWAYS_INLINE void write_marker(uint32_t place, uint32_t prefix, Clock now, uint32_t time_mask) {
    uint32_t high = now.high;
    __asm__("" : "+r"(high) : "m"(__kprof_state));
    write_word(place, prefix | (high & time_mask));
    write_word(place + 4, now.low);
}

/// Pushes from a dispatch kernel that has only its headroom left. The cursor of such a kernel
/// never reaches the end of its vector.
KERNEL_PROFILER_ALWAYS_INLINE void push_when_nearly_full() {
    constexpr uint32_t VECTOR_BYTES = VECTOR_WORDS * 4;
    const uint32_t first = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&__kprof_vectors));
    if ((__kprof_state.cursor - first) % VECTOR_BYTES >= VECTOR_BYTES - headroom(DoingDispatch::DISPATCH)) {
        __kprof_quick_push();
    }
}

/// Moves the cursor behind the marker at a place. Two instructions that stay together: behind the
/// clock's loads a Wormhole passes a result on to the very next instruction at once, and to any
/// other only once the clock has been read.
KERNEL_PROFILER_ALWAYS_INLINE void move_cursor(uint32_t place) {
    uint32_t next;
    __asm__ volatile("addi %0, %1, %2" : "=r"(next) : "r"(place), "I"(MARKER_BYTES));
    __kprof_state.cursor = next;
}

/// Opens a zone; returns the room that is left, negative if there was none.
KERNEL_PROFILER_ALWAYS_INLINE int32_t open_zone(uint32_t prefix, Constants constants) {
    constexpr int32_t START_AND_END = 2 * MARKER_BYTES;
    // The accesses are volatile to stand in this order: what the clock's loads would delay
    // comes before them, what their latency can hide comes after.
    const uint32_t place = __kprof_state.cursor;
    const int32_t room = __kprof_state.room;
    const Clock now = Clock::now(constants.registers);
    const int32_t left = room - START_AND_END - headroom(ORDINARY);
    if (__builtin_expect(left < 0, 0)) {
        __asm__ volatile("call t0, __kprof_lose_zone" : : : "t0", "t1", "t2", "memory");
        return left;
    }
    move_cursor(place);
    __kprof_state.room = room - START_AND_END;
    write_marker(place, prefix, now, constants.time_mask);
    return left;
}

/// Closes a zone for which `open_zone` has returned `left`.
KERNEL_PROFILER_ALWAYS_INLINE void close_zone(uint32_t prefix, int32_t left, Constants constants) {
    const uint32_t place = __kprof_state.cursor;
    const Clock now = Clock::now(constants.registers);
    // Else the compiler would make two copies of what the zone measures, to spare a branch that
    // the clock's latency hides.
    __asm__("" : "+r"(left));
    if (__builtin_expect(left < 0, 0)) {
        return;
    }
    move_cursor(place);
    write_marker(place, prefix, now, constants.time_mask);
    if (IS_DISPATCH) {
        push_when_nearly_full();
    }
}

/// Takes room for a record and writes its marker; `place` becomes the place behind it. False if
/// there was no room.
KERNEL_PROFILER_ALWAYS_INLINE bool append(uint32_t prefix, int32_t size, DoingDispatch dispatch, uint32_t& place) {
    const Constants constants = Constants::load();
    const int32_t room = __kprof_state.room;
    place = __kprof_state.cursor;
    const Clock now = Clock::now(constants.registers);
    if (__builtin_expect(room - size < headroom(dispatch), 0)) {
        return false;
    }
    __kprof_state.room = room - size;
    __kprof_state.cursor = place + static_cast<uint32_t>(size);
    write_marker(place, prefix, now, constants.time_mask);
    place += MARKER_BYTES;
    return true;
}

/// Writes 64 bits as the format has them, high word first.
KERNEL_PROFILER_ALWAYS_INLINE uint32_t write_data(uint32_t place, uint64_t data) {
    write_word(place, static_cast<uint32_t>(data >> 32));
    write_word(place + 4, static_cast<uint32_t>(data));
    return place + 8;
}

#if defined(__OPTIMIZE_SIZE__)
// Kernels that are built to be small call the markers.

[[gnu::noinline, gnu::noclone]] inline int32_t open_zone_out_of_line(uint32_t prefix) {
    return open_zone(prefix, Constants::load());
}

[[gnu::noinline, gnu::noclone]] inline void close_zone_out_of_line(uint32_t prefix, int32_t left) {
    close_zone(prefix, left, Constants::load());
}

/// A zone, open as long as it lives.
template <uint16_t ID>
class Zone {
public:
    KERNEL_PROFILER_ALWAYS_INLINE explicit Zone(bool is_active = true)
        : left_(is_active ? open_zone_out_of_line(prefix(ZONE_START, ID)) : -1) {}
    KERNEL_PROFILER_ALWAYS_INLINE ~Zone() { close_zone_out_of_line(prefix(ZONE_END, ID), left_); }
    Zone(const Zone&) = delete;
    Zone& operator=(const Zone&) = delete;

private:
    int32_t left_;
};
#else
/// A zone, open as long as it lives.
template <uint16_t ID>
class Zone {
public:
    KERNEL_PROFILER_ALWAYS_INLINE explicit Zone(bool is_active = true)
        : constants_(Constants::load()),
          left_(is_active ? open_zone(prefix(ZONE_START, ID), constants_) : -1) {}
    KERNEL_PROFILER_ALWAYS_INLINE ~Zone() { close_zone(prefix(ZONE_END, ID), left_, constants_); }
    Zone(const Zone&) = delete;
    Zone& operator=(const Zone&) = delete;

private:
    const Constants constants_;
    int32_t left_;
};
#endif

/// The firmware's zone, or the kernel's within it: its markers have places of their own.
template <bool IS_CHILD, uint16_t ID>
class FixedZone {
public:
    KERNEL_PROFILER_ALWAYS_INLINE FixedZone() {
        if (IS_TRACE_ONLY) {
            __kprof_open_scope_trace_only(IS_CHILD, ID);
        } else {
            __kprof_open_scope(IS_CHILD, ID);
        }
    }
    KERNEL_PROFILER_ALWAYS_INLINE ~FixedZone() {
        if (IS_TRACE_ONLY) {
            __kprof_close_scope_trace_only(IS_CHILD, ID);
        } else {
            __kprof_close_scope(IS_CHILD, ID);
        }
    }
    FixedZone(const FixedZone&) = delete;
    FixedZone& operator=(const FixedZone&) = delete;
};

/// A zone whose cycles are added up.
template <uint32_t ACCUMULATOR, uint16_t ID>
class SumZone {
public:
    KERNEL_PROFILER_ALWAYS_INLINE SumZone() : started_(now()) {}
    KERNEL_PROFILER_ALWAYS_INLINE ~SumZone() { __kprof_add_to_sum(ACCUMULATOR, ID, now() - started_); }
    SumZone(const SumZone&) = delete;
    SumZone& operator=(const SumZone&) = delete;

private:
    KERNEL_PROFILER_ALWAYS_INLINE static uint64_t now() {
        const Clock now = Clock::now(Constants::load().registers);
        return static_cast<uint64_t>(now.high) << 32 | now.low;
    }

    const uint64_t started_;
};

/// Records an event.
KERNEL_PROFILER_ALWAYS_INLINE void record_event(uint16_t event) {
    uint32_t place;
    if (!append(prefix(TS_EVENT, event), MARKER_BYTES, ORDINARY, place)) {
        __asm__ volatile("call t0, __kprof_lose_event" : : : "t0", "t1", "t2", "memory");
    }
}

}  // namespace detail

/// Begins a launch on this RISC, as the opening of the main zone does.
inline void init_profiler() { __kprof_init(); }

/// Ends a launch on this RISC, as the closing of the main zone does.
inline void finish_profiler() { __kprof_finish(); }

/// Pushes what this RISC has recorded so far to DRAM.
inline void quick_push() { __kprof_quick_push(); }

/// Pushes before a linked transaction begins on a command buffer.
inline void quick_push_if_linked(uint32_t cmd_buf, bool linked) { __kprof_quick_push_if_linked(cmd_buf, linked); }

/// Pushes if a record of so many words does not fit.
template <DoingDispatch DISPATCH = DoingDispatch::NOT_DISPATCH>
KERNEL_PROFILER_ALWAYS_INLINE void flush_to_dram_if_full(uint32_t words) {
    if (__kprof_state.room - detail::headroom(DISPATCH) < static_cast<int32_t>(words * 4)) {
        __kprof_quick_push();
    }
}

/// Records data under an id, with the time.
///
/// TS_DATA takes 64 bits, TS_DATA_16B 128.
template <uint32_t ID, DoingDispatch DISPATCH = DoingDispatch::NOT_DISPATCH, PacketTypes TYPE = TS_DATA, typename... Trailers>
KERNEL_PROFILER_ALWAYS_INLINE void timeStampedData(uint64_t data, Trailers... trailers) {
    static_assert(
        (TYPE == TS_DATA && sizeof...(Trailers) == 0) || (TYPE == TS_DATA_16B && sizeof...(Trailers) == 1),
        "TS_DATA takes one value of 64 bits, TS_DATA_16B takes two");
    constexpr int32_t SIZE = detail::MARKER_BYTES + 8 * (1 + static_cast<int32_t>(sizeof...(Trailers)));
    uint32_t place;
    if (!detail::append(detail::prefix(TYPE, ID), SIZE, DISPATCH, place)) {
        __asm__ volatile("call t0, __kprof_lose_data" : : : "t0", "t1", "t2", "memory");
        return;
    }
    place = detail::write_data(place, data);
    ((place = detail::write_data(place, trailers)), ...);
}

}  // namespace kernel_profiler
