/// \file
/// The profiler's probes for C++ kernels and firmware: takes the place of tt-metal's
/// `kernel_profiler.hpp`.
///
///     #include "api/debug/kernel_profiler.hpp"   // or tools/profiler/, or just kernel_profiler.hpp
///
///     void kernel_main() {
///         for (uint32_t tile = 0; tile < tiles; ++tile) {
///             DeviceZoneScopedN("LoadTile");
///             DeviceTimestampedData("Tile", tile);
///         }
///     }
///
/// # How to use it
/// Put the folder `include` first on the include path, for firmware and kernels alike, and build
/// as before: nothing is added to the link line, no other file changes. C++17, gcc 12 and newer,
/// clang. Everything that upstream's header offers is there under the same names; its options
/// (`PROFILE_KERNEL` and others) mean the same. Firmware and kernels of a chip must be built with
/// the same header, since they share the variables that ring.hpp and stream.hpp explain.
///
/// Builds that this header does not serve get upstream's own, which stands behind it on the include
/// path: see choice.hpp. Outside of tt-metal see standalone.hpp, and define ARCH_WORMHOLE or
/// ARCH_BLACKHOLE.
///
/// # What differs from upstream's
/// - Fewer cycles, fewer bytes.
/// - A record that finds no room is counted, per RISC and kind, and so are runs that DRAM does not
///   take: the host shows how many were lost. The end of an open zone always has its room.
/// - A push waits for its own writes alone, and not forever.
/// - A lane in DRAM begins anew only when the host says that it has read it; upstream's host, which
///   does not know of that, finds everything as before.
/// - A zone of `DeviceZoneScopedMainN` or `DeviceZoneScopedMainChildN` in a kernel leaves the slots of the
///   firmware's zones alone, which have names that end in FW and KERNEL; saying `true` of validity
///   leaves the other RISCs of the launch valid.
/// - `DeviceZoneScopedNIf` honours its condition, as upstream's does when it streams.
/// - Several zones may stand in one block.
/// - Sums keep 32 bits, as upstream's; a total is written for each accumulator that was used, which
///   takes its room when it is used first. One that finds none counts as a lost zone.
/// - A quick push puts its own zone at the beginning of the next run, with the time that it took.
/// - Waits for circular buffers and semaphores and at barriers of the NoC can be added up
///   (`KERNEL_PROFILER_WAITS=1`) or recorded one by one (`PROFILE_SYNC_EVENTS`), on both chips and
///   without streaming: see waits.hpp and barriers.hpp.
///
/// As upstream's, it pushes from BRISC, idle Ethernet RISCs and a Blackhole's active ones; a
/// Wormhole's active Ethernet RISC only fills its ring.
///
/// - In accumulate mode each launch keeps its program id, its data and its sums, and one without
///   kernels leaves nothing: see accumulate.hpp.
/// - In the debug dump (DEVICE_DEBUG_DUMP outside of tt-metal, KERNEL_PROFILER_DEBUG_DUMP within) a
///   RISC waits for a host that reads as it goes, for a bounded time, and shows that as a zone: see
///   stall.hpp.
///
/// - With KERNEL_PROFILER_STREAM records leave the core while its kernels run, on both chips: see
///   stream.hpp. It is this project's own.
///
/// # What is not there
/// Where upstream's header is not behind this one: trace-only mode, accumulate mode on dispatch
/// cores and in the debug dump, streaming, headers of fabric packets.
///
/// # Zone names
/// The text of a zone is `name,file,line,KERNEL_PROFILER`; its id is computed from that while
/// compiling. In tt-metal each site prints its text as a #pragma message, where tt-metal looks for
/// it. Outside, the text goes into the section .kprof_zones, which is never loaded: keep the
/// kernel's ELF; with KERNEL_PROFILER_LOG_NAMES it is printed too.

#pragma once

#include "choice.hpp"

#if KERNEL_PROFILER_IS_UPSTREAMS
#error "expected PROFILE_KERNEL with options that this header serves: include api/debug/kernel_profiler.hpp instead, which finds upstream's for the others"
#endif

#if KERNEL_PROFILER_IS_ON && !KERNEL_PROFILER_MODE_IS_BUILT
#error "PROFILE_KERNEL asks for trace-only mode, or for accumulate mode on dispatch cores or in the debug dump, or PROFILE_STREAMING is defined: expected tt-metal's own header behind this one on the include path, which serves them"
#endif

#define DO_PRAGMA(x) _Pragma(#x)

#define Stringize(L) #L
#define MakeString(M, L) M(L)
#define KERNEL_PROFILER_LINE MakeString(Stringize, __LINE__)

/// The text of this place; that of a zone here.
#define PROFILER_MSG __FILE__ "," KERNEL_PROFILER_LINE ",KERNEL_PROFILER"
#define PROFILER_MSG_NAME(name) name "," PROFILER_MSG

#if KERNEL_PROFILER_IS_ON

#if KERNEL_PROFILER_IN_TT_METAL
#include "tt_metal.hpp"
#else
#include "standalone.hpp"
#endif

#if KERNEL_PROFILER_IN_TT_METAL || defined(KERNEL_PROFILER_LOG_NAMES)
#define KERNEL_PROFILER_LOG(name) DO_PRAGMA(message(PROFILER_MSG_NAME(name)));
#else
#define KERNEL_PROFILER_LOG(name)
#endif

#define KERNEL_PROFILER_ID(name) ::kernel_profiler::Hash16_CT(PROFILER_MSG_NAME(name))

/// Makes the text of a zone known to the host.
#if KERNEL_PROFILER_IN_TT_METAL
#define KERNEL_PROFILER_SITE(name) KERNEL_PROFILER_LOG(name)
#else
#define KERNEL_PROFILER_SITE(name)                                                                              \
    KERNEL_PROFILER_LOG(name)                                                                                   \
    static_assert(                                                                                              \
        ::kernel_profiler::detail::is_plain(PROFILER_MSG_NAME(name)),                                           \
        "expected a zone name and a file name without quotes and backslashes");                                 \
    static_assert(                                                                                              \
        ::kernel_profiler::detail::is_free(KERNEL_PROFILER_ID(name)),                                           \
        "the id of this zone is reserved or, as of padding, 0: rename it or move its line");                    \
    __asm__(".pushsection .kprof_zones, \"\", @progbits\n\t.asciz \"" PROFILER_MSG_NAME(name) "\"\n\t.popsection");
#endif

#include "mode.hpp"

#define KERNEL_PROFILER_JOIN_(left, right) left##right
#define KERNEL_PROFILER_JOIN(left, right) KERNEL_PROFILER_JOIN_(left, right)

/// Declares something that lives to the end of the block. Not `const`: gcc would keep the members
/// of a constant on the stack.
#define KERNEL_PROFILER_GUARD(name, ...) \
    KERNEL_PROFILER_SITE(name)           \
    __VA_ARGS__ KERNEL_PROFILER_JOIN(kernel_profiler_zone_, __COUNTER__)

#if defined(DISPATCH_KERNEL)
#define KERNEL_PROFILER_ORDINARY ::kernel_profiler::DoingDispatch::DISPATCH
#define KERNEL_PROFILER_METADATA ::kernel_profiler::DoingDispatch::DISPATCH_META
#else
#define KERNEL_PROFILER_ORDINARY ::kernel_profiler::DoingDispatch::NOT_DISPATCH
#define KERNEL_PROFILER_METADATA ::kernel_profiler::DoingDispatch::NOT_DISPATCH
#endif

/// Declares `hash`, the id of a name at this place, whose text the host will know.
#define SrcLocNameToHash(name) \
    KERNEL_PROFILER_SITE(name) \
    auto constexpr hash = KERNEL_PROFILER_ID(name);

/// Measures from here to the end of the enclosing block.
#define DeviceZoneScopedN(name) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::profileScope<KERNEL_PROFILER_ID(name), KERNEL_PROFILER_ORDINARY>);

/// Measures from here to the end of the enclosing block if a condition holds.
#define DeviceZoneScopedNIf(name, active) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::profileScopeIf<KERNEL_PROFILER_ID(name), KERNEL_PROFILER_ORDINARY>) \
    (static_cast<bool>(active));

/// The firmware's zone around a launch: begins it here, ends and pushes it at the end of the block.
/// Its name ends in FW; one of another name, as a kernel's, is an ordinary zone.
#define DeviceZoneScopedMainN(name) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::detail::FixedZone<KERNEL_PROFILER_ID(name), 0, ::kernel_profiler::detail::ends_in(name, "FW")>::Scope);

/// The zone around the kernel within the firmware's zone. Its name ends in KERNEL; one of another name
/// is an ordinary zone.
#define DeviceZoneScopedMainChildN(name) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::detail::FixedZone<KERNEL_PROFILER_ID(name), 1, ::kernel_profiler::detail::ends_in(name, "KERNEL")>::Scope);

/// Adds the cycles from here to the end of the enclosing block to the first accumulator.
#define DeviceZoneScopedSumN1(name) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::profileScopeAccumulate<KERNEL_PROFILER_ID(name), 0>);

/// As DeviceZoneScopedSumN1, with the second accumulator.
#define DeviceZoneScopedSumN2(name) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::profileScopeAccumulate<KERNEL_PROFILER_ID(name), 1>);

/// Records 64 bits and the time.
#define DeviceTimestampedData(name, data)                                                                     \
    {                                                                                                         \
        KERNEL_PROFILER_SITE(name)                                                                            \
        ::kernel_profiler::timeStampedData<KERNEL_PROFILER_ID(name), KERNEL_PROFILER_METADATA>(data);         \
    }

/// Records 128 bits and the time. This project's own.
#define DeviceTimestampedData16B(name, first, second)                                                         \
    {                                                                                                         \
        KERNEL_PROFILER_SITE(name)                                                                            \
        ::kernel_profiler::timeStampedData<KERNEL_PROFILER_ID(name), KERNEL_PROFILER_METADATA,                \
            ::kernel_profiler::TS_DATA_16B>(first, static_cast<uint64_t>(second));                            \
    }

/// Records that an event happened, by a number of 16 bits.
#define DeviceRecordEvent(event_id) ::kernel_profiler::recordEvent<KERNEL_PROFILER_ORDINARY>(event_id);

/// Says which RISCs run a kernel in this launch. If none, nothing of it is pushed. A kernel says true,
/// or false, so that nothing of the launch is pushed.
#define DeviceValidateProfiler(condition) ::kernel_profiler::set_profiler_zone_valid(condition);

/// Sets the program id of this launch for all RISCs of the core.
#define DeviceZoneSetCounter(counter) ::kernel_profiler::set_host_counter(counter);

/// Prepares the profiler at the firmware's boot.
#if defined(COMPILE_FOR_BRISC) || defined(COMPILE_FOR_ERISC) || defined(COMPILE_FOR_AERISC)
#define DeviceProfilerInit() ::kernel_profiler::traceCount = 0;
#else
#define DeviceProfilerInit()
#endif

/// Begins the envelope of a trace replay in trace-only mode, which is upstream's.
#define DeviceTraceOnlyProfilerInit() ::kernel_profiler::trace_only_init();

/// Counts a trace replay.
#define DeviceIncrementTraceCount() ::kernel_profiler::increment_trace_count();

#if KERNEL_PROFILER_IN_TT_METAL
#include "internal/profiler/noc_event_profiler.hpp"
#include "internal/profiler/perf_counters.hpp"
#else
#include "noc_events.hpp"
#include "counters.hpp"
#endif
#include "barriers.hpp"

#else  // Switched off: arguments are type-checked and not evaluated.

#include "off.hpp"

#endif
