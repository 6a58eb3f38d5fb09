/// \file
/// The profiler's probes for C++ kernels, under the names that upstream's header gives them.
///
///     #include "kernel_profiler.hpp"
///
///     void kernel_main() {
///         for (uint32_t tile = 0; tile < tiles; ++tile) {
///             DeviceZoneScopedN("LoadTile");
///             DeviceTimestampedData("Tile", tile);
///         }
///     }
///
/// # How to build with it
///
/// 1. Put the folder of this file on the include path. C++17, freestanding; nothing else is
///    included but the files of its folder kernel_profiler, <stdint.h> and <stddef.h>.
/// 2. Define PROFILE_KERNEL as upstream does: bit 0 always, then the options of the table
///    below. Without PROFILE_KERNEL every macro vanishes: its arguments are type-checked and
///    not evaluated, and the object is, byte for byte, that of a kernel without probes.
/// 3. Build the static library with the Rust target riscv32im-unknown-none-elf:
///
///        cd kernel-profiler/staticlib
///        cargo build --release --target riscv32im-unknown-none-elf --features ...
///
///    | feature | when |
///    |---|---|
///    | blackhole | the chip is a Blackhole |
///    | sums | PROFILE_KERNEL has bit 3 |
///    | trace-only | PROFILE_KERNEL has bit 2 |
///
///    --release puts each function into an archive member of its own: a kernel with zones, data
///    and events gets no more of it than the few instructions that count losses, linked with
///    --gc-sections or without. What has sums, main zones or pushes needs --gc-sections.
///    `--profile firmware` makes one member of all, a quarter smaller where most of it is
///    needed.
/// 4. Link kernels with it and against the firmware's symbols (--just-symbols). The firmware
///    provides the memory, see KERNEL_PROFILER_FIRMWARE_STATE; in Rust the crate's module
///    `tensix` says the same.
///
/// Options of PROFILE_KERNEL and of the compiler:
///
/// | option | effect |
/// |---|---|
/// | bit 1, with DISPATCH_KERNEL defined | a dispatch kernel records, keeps headroom, and pushes when nearly full; without the bit its macros vanish |
/// | bit 2 | one envelope per trace replay and nothing else |
/// | bit 3 | sum zones are recorded; without the bit they vanish |
/// | bit 4, accumulate mode | refused: here every launch is pushed when it ends |
/// | PROFILE_NOC_EVENTS | NoC events of BRISC and NCRISC are recorded, see kernel_profiler/noc_events.hpp |
/// | PROFILE_PERF_COUNTERS, PROFILE_SYNC_EVENTS, DEVICE_DEBUG_DUMP | refused: nothing here would record what they ask for |
/// | -Os | markers are out of line: small call sites, more cycles |
/// | -flto | works, and changes nothing: the library is not of gcc |
/// | KERNEL_PROFILER_LOG_NAMES | also prints each zone's text as a #pragma message, as a host needs that reads upstream's log of zones |
///
/// A library whose features do not match the options lacks the functions that these need, so
/// that the link fails.
///
/// # Zone names
///
/// A zone's text is `name,file,line,KERNEL_PROFILER`, with the file as __FILE__ has it; its id
/// is computed from that while compiling. The text goes into the section .kprof_zones, which is
/// never loaded: keep the kernel's ELF, and the host reads the names from it. Names are string
/// literals without quotes and backslashes.
///
/// # Cost
///
/// In `benches/device` of this project, beside that of the Rust macros. Stack: none but what
/// the compiler needs for the kernel's own variables.
///
/// # When there is no room
///
/// The record is dropped and counted, as in Rust: a kernel author need not care, and the host
/// shows how many of which kind were lost.
///
/// # Compatibility
///
/// Macros and their meaning: `kernel_profiler.hpp`. Where they differ: two zones in one block
/// nest; the close of an open zone always has its room; DeviceZoneScopedNIf honours its
/// condition; the first name that uses a sum accumulator keeps it.

#pragma once

#include <stdint.h>

#if defined(PROFILE_KERNEL) && (!defined(DISPATCH_KERNEL) || ((PROFILE_KERNEL) & 2) != 0)
#define KERNEL_PROFILER_IS_ON 1
#else
#define KERNEL_PROFILER_IS_ON 0
#endif

#if KERNEL_PROFILER_IS_ON

#if ((PROFILE_KERNEL) & 16) != 0
#error "PROFILE_KERNEL has bit 4: expected no accumulate mode, since every launch is pushed when it ends"
#endif
#if defined(PROFILE_PERF_COUNTERS) || defined(PROFILE_SYNC_EVENTS) || defined(DEVICE_DEBUG_DUMP)
#error "PROFILE_PERF_COUNTERS, PROFILE_SYNC_EVENTS or DEVICE_DEBUG_DUMP is defined: nothing here records what it asks for"
#endif

#include "kernel_profiler/record.hpp"

#define KERNEL_PROFILER_STRINGIFY_(token) #token
#define KERNEL_PROFILER_STRINGIFY(token) KERNEL_PROFILER_STRINGIFY_(token)
#define KERNEL_PROFILER_JOIN_(left, right) left##right
#define KERNEL_PROFILER_JOIN(left, right) KERNEL_PROFILER_JOIN_(left, right)

/// The text of a zone at this place.
#define KERNEL_PROFILER_TEXT(name) name "," __FILE__ "," KERNEL_PROFILER_STRINGIFY(__LINE__) ",KERNEL_PROFILER"

/// The id of a zone at this place.
#define KERNEL_PROFILER_ID(name) ::kernel_profiler::detail::hash(KERNEL_PROFILER_TEXT(name))

#if defined(KERNEL_PROFILER_LOG_NAMES)
#define KERNEL_PROFILER_PRAGMA(content) _Pragma(#content)
#define KERNEL_PROFILER_MESSAGE(text) KERNEL_PROFILER_PRAGMA(message(text))
#define KERNEL_PROFILER_LOG(name) KERNEL_PROFILER_MESSAGE(KERNEL_PROFILER_TEXT(name))
#else
#define KERNEL_PROFILER_LOG(name)
#endif

/// Checks the id of a zone and leaves its text for the host, in a section without the flag that
/// would have it loaded.
#define KERNEL_PROFILER_SITE(name)                                                                       \
    KERNEL_PROFILER_LOG(name)                                                                            \
    static_assert(                                                                                       \
        ::kernel_profiler::detail::is_plain(KERNEL_PROFILER_TEXT(name)),                                 \
        "expected a zone name and a file name without quotes and backslashes");                          \
    static_assert(                                                                                       \
        ::kernel_profiler::detail::is_free(KERNEL_PROFILER_ID(name)),                                    \
        "the id of this zone is reserved or, as of padding, 0: rename it or move its line");             \
    __asm__(".pushsection .kprof_zones, \"\", @progbits\n\t.asciz \"" KERNEL_PROFILER_TEXT(name) "\"\n\t" \
            ".popsection")

/// Declares something that lives to the end of the block. Not `const`: gcc would keep the
/// members of a constant on the stack.
#define KERNEL_PROFILER_GUARD(name, ...) \
    KERNEL_PROFILER_SITE(name);          \
    __VA_ARGS__ KERNEL_PROFILER_JOIN(kernel_profiler_zone_, __COUNTER__)

/// Memory of the profiler that a firmware in C++ defines once per RISC, in zeroed local RAM. Its
/// linker script adds, in L1, __kprof_control (64 words) and right behind it __kprof_vectors (512
/// words per RISC).
#define KERNEL_PROFILER_FIRMWARE_STATE                 \
    volatile ::kernel_profiler::State __kprof_state{}; \
    ::kernel_profiler::Tile __kprof_tile{}

/// Measures from here to the end of the enclosing block.
#define DeviceZoneScopedN(name) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::detail::Zone<KERNEL_PROFILER_ID(name)>)

/// Measures from here to the end of the enclosing block if a condition holds.
#define DeviceZoneScopedNIf(name, active) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::detail::Zone<KERNEL_PROFILER_ID(name)>){static_cast<bool>(active)}

/// The firmware's zone around a launch: begins it here, ends and pushes it at the end of the block.
#define DeviceZoneScopedMainN(name) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::detail::FixedZone<false, KERNEL_PROFILER_ID(name)>)

/// The zone around the kernel within the firmware's zone.
#define DeviceZoneScopedMainChildN(name) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::detail::FixedZone<true, KERNEL_PROFILER_ID(name)>)

#if ((PROFILE_KERNEL) & 8) != 0
/// Adds the cycles from here to the end of the enclosing block to the first accumulator.
#define DeviceZoneScopedSumN1(name) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::detail::SumZone<0, KERNEL_PROFILER_ID(name)>)
/// As DeviceZoneScopedSumN1, with the second accumulator.
#define DeviceZoneScopedSumN2(name) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::detail::SumZone<1, KERNEL_PROFILER_ID(name)>)
#else
// The name stays known, as it does upstream.
#define DeviceZoneScopedSumN1(name) KERNEL_PROFILER_SITE(name)
#define DeviceZoneScopedSumN2(name) KERNEL_PROFILER_SITE(name)
#endif

/// Records 64 bits and the time.
#define DeviceTimestampedData(name, data)                                                             \
    do {                                                                                              \
        KERNEL_PROFILER_SITE(name);                                                                   \
        ::kernel_profiler::timeStampedData<KERNEL_PROFILER_ID(name), ::kernel_profiler::detail::METADATA>(data); \
    } while (0)

/// Records 128 bits and the time. This project's own.
#define DeviceTimestampedData16B(name, first, second)                                                        \
    do {                                                                                                     \
        KERNEL_PROFILER_SITE(name);                                                                          \
        ::kernel_profiler::timeStampedData<                                                                  \
            KERNEL_PROFILER_ID(name),                                                                        \
            ::kernel_profiler::detail::METADATA,                                                             \
            ::kernel_profiler::TS_DATA_16B>(first, static_cast<uint64_t>(second));                           \
    } while (0)

/// Records that an event happened, by a number of 16 bits.
#define DeviceRecordEvent(event) ::kernel_profiler::detail::record_event(event)

/// Says whether this launch runs a kernel on this core. If not, nothing of it is pushed.
#define DeviceValidateProfiler(condition) ::kernel_profiler::__kprof_validate(static_cast<bool>(condition))

/// Sets the program id of this launch for all RISCs of the core.
#define DeviceZoneSetCounter(program_id) ::kernel_profiler::__kprof_set_counter(program_id)

/// Prepares the profiler at the firmware's boot.
#define DeviceProfilerInit() ::kernel_profiler::__kprof_init_profiler()

/// Counts a trace replay.
#define DeviceIncrementTraceCount() ::kernel_profiler::__kprof_increment_trace_count()

/// Begins the envelope of a trace replay, in trace-only mode.
#define DeviceTraceOnlyProfilerInit() ::kernel_profiler::__kprof_init_trace_only()

/// Declares `hash`, the id of a name at this place, whose text the host will know.
#define SrcLocNameToHash(name)  \
    KERNEL_PROFILER_SITE(name); \
    constexpr uint16_t hash = KERNEL_PROFILER_ID(name)

#else  // Switched off: arguments are type-checked and not evaluated.

#define KERNEL_PROFILER_NOT_EVALUATED(argument) static_cast<void>(sizeof(argument))

#define KERNEL_PROFILER_FIRMWARE_STATE static_assert(true, "no memory is needed")
#define DeviceZoneScopedN(name) KERNEL_PROFILER_NOT_EVALUATED(name)
#define DeviceZoneScopedNIf(name, active) KERNEL_PROFILER_NOT_EVALUATED(active)
#define DeviceZoneScopedMainN(name) KERNEL_PROFILER_NOT_EVALUATED(name)
#define DeviceZoneScopedMainChildN(name) KERNEL_PROFILER_NOT_EVALUATED(name)
#define DeviceZoneScopedSumN1(name) KERNEL_PROFILER_NOT_EVALUATED(name)
#define DeviceZoneScopedSumN2(name) KERNEL_PROFILER_NOT_EVALUATED(name)
#define DeviceTimestampedData(name, data) KERNEL_PROFILER_NOT_EVALUATED(data)
#define DeviceTimestampedData16B(name, first, second) \
    (KERNEL_PROFILER_NOT_EVALUATED(first), KERNEL_PROFILER_NOT_EVALUATED(second))
#define DeviceRecordEvent(event) KERNEL_PROFILER_NOT_EVALUATED(event)
#define DeviceValidateProfiler(condition) KERNEL_PROFILER_NOT_EVALUATED(condition)
#define DeviceZoneSetCounter(program_id) KERNEL_PROFILER_NOT_EVALUATED(program_id)
#define DeviceProfilerInit() static_cast<void>(0)
#define DeviceIncrementTraceCount() static_cast<void>(0)
#define DeviceTraceOnlyProfilerInit() static_cast<void>(0)
#define SrcLocNameToHash(name) [[maybe_unused]] constexpr uint16_t hash = 0

namespace kernel_profiler {

enum class DoingDispatch { DISPATCH, DISPATCH_META, NOT_DISPATCH };

inline void init_profiler() {}
inline void finish_profiler() {}
inline void quick_push() {}
inline void quick_push_if_linked(uint32_t, bool) {}
template <DoingDispatch = DoingDispatch::NOT_DISPATCH>
inline void flush_to_dram_if_full(uint32_t) {}

}  // namespace kernel_profiler

#endif

#include "kernel_profiler/noc_events.hpp"

// Further names of upstream's that have no producer here. Kernels may contain them; where an
// option asks for what they would record, the build stops above.
#define RECORD_SCOPED_LOCK_EVENT(...) static_cast<void>(0)
#define RECORD_DFB_REGION_CLEAR(...) static_cast<void>(0)
#define StartPerfCounters(...) static_cast<void>(0)
#define StopPerfCounters(...) static_cast<void>(0)
#define RecordPerfCounters(...) static_cast<void>(0)
#define SYNC_WAIT(...) static_cast<void>(0)
#define SYNC_SIGNAL(...) static_cast<void>(0)
