/// \file
///
/// The profiler's probes for C++ kernels and firmware, a replacement for tt-metal's
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
/// Put the folder `include` first on the include path, for both firmware and kernels, and build as
/// before: the link line and all other files stay the same. The header needs C++17 with gcc 12 or
/// newer, or clang. The macros, scopes and functions of TT-Metal's header with which kernels record
/// exist, including those for markers of a kernel's own (inner_names.hpp), and its options
/// (`PROFILE_KERNEL` and others) have the same meaning. Firmware and kernels of a chip must be
/// built with the same header, since they share the variables described in ring.hpp and stream.hpp.
///
/// Names of TT-Metal's header that read or write its buffers, or that push them, are not there, since
/// this header's state differs. A kernel that uses one of them, or a name of an earlier version of that
/// header, does not compile, and the compiler says what to use instead: see absent_names.hpp.
///
/// Builds that this header does not support get TT-Metal's own header, which comes later on the
/// include path: see choice.hpp. Outside of tt-metal, see standalone.hpp, and define ARCH_WORMHOLE
/// or ARCH_BLACKHOLE.
///
/// # Differences from TT-Metal's header
/// - Probes take fewer cycles and fewer bytes.
/// - A record without room is counted, per RISC and kind. Runs that are not stored in DRAM are
///   counted, too. The host shows the losses. The end of an open zone always has room.
/// - A push waits only for its own writes, up to a limit.
/// - A lane in DRAM restarts only after the host has reported that it has read the lane. TT-Metal's
///   host sends no such reports; with that host, lanes behave as with TT-Metal's header.
/// - A zone of `DeviceZoneScopedMainN` or `DeviceZoneScopedMainChildN` in a kernel does not use the
///   fixed slots, which are reserved for names that end in FW and KERNEL.
///   `DeviceValidateProfiler(true)` keeps the other RISCs of the launch valid.
/// - `DeviceZoneScopedNIf` honours its condition, as TT-Metal's header does when it streams.
/// - A block may contain several zones.
/// - Sums keep 32 bits, as with TT-Metal's header. A total is written for each accumulator that was
///   used, and its room is reserved at the first use. A total without room counts as a lost zone.
/// - A quick push records its own zone, with its duration, at the beginning of the next run.
/// - Waits for circular buffers and semaphores and at NoC barriers can be added up
///   (`KERNEL_PROFILER_WAITS=1`) or recorded one by one (`PROFILE_SYNC_EVENTS`), on both chips and
///   without streaming: see waits.hpp and barriers.hpp. `DeviceWait` and `DeviceBlockedWait`, which
///   TT-Metal does not have, measure loops of your own in the same way: see own_waits.hpp. Where
///   kernels are also built without this header, test `#if defined(DeviceWait)`.
///
/// As in TT-Metal's header, BRISC, idle Ethernet RISCs and a Blackhole's active Ethernet RISCs
/// push. A Wormhole's active Ethernet RISC only fills its ring.
///
/// - In accumulate mode each launch keeps its program id, its data and its sums. A launch without
///   kernels records nothing: see accumulate.hpp.
/// - In the debug dump (DEVICE_DEBUG_DUMP outside of tt-metal, KERNEL_PROFILER_DEBUG_DUMP within) a
///   RISC waits, up to a time limit, for a host that reads meanwhile. The wait is recorded as a
///   zone: see stall.hpp.
///
/// - With KERNEL_PROFILER_STREAM, which TT-Metal does not have, records leave the core while its
///   kernels run, on both chips: see stream.hpp.
///
/// # Unsupported without TT-Metal's header
/// Without TT-Metal's header on the include path there is no trace-only mode, no accumulate mode on
/// dispatch cores or in the debug dump, no TT-Metal-style streaming, and no support for headers of
/// fabric packets.
///
/// # Zone names
/// The text of a zone is `name,file,line,KERNEL_PROFILER`. Its id is computed from the text at
/// compile time. In tt-metal each call site prints its text as a #pragma message, where tt-metal
/// looks for it. Elsewhere the text goes into the section .kprof_zones, which is never loaded: keep
/// the kernel's ELF. KERNEL_PROFILER_LOG_NAMES prints the text in such builds, too.

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
#if KERNEL_PROFILER_IN_TT_METAL
#define $Line KERNEL_PROFILER_LINE
#endif

/// The text of a zone at this line, without and with its name.
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

/// Makes the text of a zone available to the host.
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

/// Declares an object that lives to the end of the block. The object is not `const`, since gcc
/// would keep the members of a constant object on the stack.
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

/// Declares `hash`, the id of a name at this line, and makes its text available to the host.
#define SrcLocNameToHash(name) \
    KERNEL_PROFILER_SITE(name) \
    auto constexpr hash = KERNEL_PROFILER_ID(name);

/// Records a zone from here to the end of the enclosing block.
#define DeviceZoneScopedN(name) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::profileScope<KERNEL_PROFILER_ID(name), KERNEL_PROFILER_ORDINARY>);

/// Records a zone from here to the end of the enclosing block if a condition holds.
#define DeviceZoneScopedNIf(name, active) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::profileScopeIf<KERNEL_PROFILER_ID(name), KERNEL_PROFILER_ORDINARY>) \
    (static_cast<bool>(active));

/// Records the firmware's zone around a launch: begins the launch here, ends and pushes it at the
/// end of the block. The name must end in FW: with any other name, as in kernels, the macro records
/// an ordinary zone.
#define DeviceZoneScopedMainN(name) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::detail::FixedZone<KERNEL_PROFILER_ID(name), 0, ::kernel_profiler::detail::ends_in(name, "FW")>::Scope);

/// Records the kernel's zone within the firmware's zone. The name must end in KERNEL: with any
/// other name, the macro records an ordinary zone.
#define DeviceZoneScopedMainChildN(name) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::detail::FixedZone<KERNEL_PROFILER_ID(name), 1, ::kernel_profiler::detail::ends_in(name, "KERNEL")>::Scope);

/// Adds the cycles from here to the end of the enclosing block to the first accumulator.
#define DeviceZoneScopedSumN1(name) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::profileScopeAccumulate<KERNEL_PROFILER_ID(name), 0>);

/// Adds cycles like DeviceZoneScopedSumN1, to the second accumulator.
#define DeviceZoneScopedSumN2(name) \
    KERNEL_PROFILER_GUARD(name, ::kernel_profiler::profileScopeAccumulate<KERNEL_PROFILER_ID(name), 1>);

/// Records 64 bits of data and the time.
#define DeviceTimestampedData(name, data)                                                                     \
    {                                                                                                         \
        KERNEL_PROFILER_SITE(name)                                                                            \
        ::kernel_profiler::timeStampedData<KERNEL_PROFILER_ID(name), KERNEL_PROFILER_METADATA>(data);         \
    }

/// Records 128 bits of data and the time; not in TT-Metal's header.
#define DeviceTimestampedData16B(name, first, second)                                                         \
    {                                                                                                         \
        KERNEL_PROFILER_SITE(name)                                                                            \
        ::kernel_profiler::timeStampedData<KERNEL_PROFILER_ID(name), KERNEL_PROFILER_METADATA,                \
            ::kernel_profiler::TS_DATA_16B>(first, static_cast<uint64_t>(second));                            \
    }

/// Records an event, identified by a 16-bit number.
#define DeviceRecordEvent(event_id) ::kernel_profiler::recordEvent<KERNEL_PROFILER_ORDINARY>(event_id);

/// Sets which RISCs run a kernel in this launch; if none does, no record of the launch is pushed. A
/// kernel may pass true, which changes nothing, or false, which prevents any push of the launch.
#define DeviceValidateProfiler(condition) ::kernel_profiler::set_profiler_zone_valid(condition);

/// Sets the program id of this launch for all RISCs of the core.
#define DeviceZoneSetCounter(counter) ::kernel_profiler::set_host_counter(counter);

/// Initialises the profiler when the firmware boots.
#if defined(COMPILE_FOR_BRISC) || defined(COMPILE_FOR_ERISC) || defined(COMPILE_FOR_AERISC)
#define DeviceProfilerInit() ::kernel_profiler::traceCount = 0;
#else
#define DeviceProfilerInit()
#endif

/// Begins a trace replay in trace-only mode, which only TT-Metal's header has.
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
#include "own_waits.hpp"
#include "absent_names.hpp"

#else  // Switched off: arguments are type-checked and not evaluated.

#include "off.hpp"

#endif
