/// \file
///
/// The choice between this header and TT-Metal's header, depending on location and build options.
///
/// - `KERNEL_PROFILER_IN_TT_METAL` is 1 if tt-metal's headers are on the include path.
/// - `KERNEL_PROFILER_IS_UPSTREAMS` is 1 for builds that use TT-Metal's header, which comes later
///   on the include path: profiler off, streaming, Quasar, the DRAM processor, trace-only,
///   accumulate on dispatch cores, and the debug dump with TT-Metal's host.
/// - `KERNEL_PROFILER_IS_ACCUMULATING` is 1 if launches share pushes: see accumulate.hpp. In that
///   mode, Ethernet cores push each launch separately, as with TT-Metal's header.
/// - `KERNEL_PROFILER_IS_STREAMING` is 1 if KERNEL_PROFILER_STREAM is defined: records leave the
///   core while kernels run, and no launch is pushed. See stream.hpp; TT-Metal's PROFILE_STREAMING
///   is a different mode.
/// - `KERNEL_PROFILER_IS_NON_DROPPING` is 1 for the debug dump of this header, in which a RISC
///   waits for the host instead of dropping records: see stall.hpp.

#pragma once

#if __has_include("hostdev/profiler_common.h")
#define KERNEL_PROFILER_IN_TT_METAL 1
#include "hostdev/profiler_common.h"
#else
#define KERNEL_PROFILER_IN_TT_METAL 0
#include "profiler_common.hpp"
#define PROFILER_OPT_DO_DISPATCH_CORES (1 << 1)
#define PROFILER_OPT_DO_TRACE_ONLY (1 << 2)
#define PROFILER_OPT_DO_SUM (1 << 3)
#define PROFILER_OPT_DO_ACCUMULATE (1 << 4)
#endif

#if defined(PROFILE_KERNEL) && \
    (!defined(DISPATCH_KERNEL) || ((PROFILE_KERNEL) & PROFILER_OPT_DO_DISPATCH_CORES) != 0)
#define KERNEL_PROFILER_IS_ON 1
#else
#define KERNEL_PROFILER_IS_ON 0
#endif

#if defined(KERNEL_PROFILER_SAMPLES) && defined(KERNEL_PROFILER_STREAM)
#error "expected KERNEL_PROFILER_SAMPLES without KERNEL_PROFILER_STREAM: rings of records have no room for samples"
#endif

#if KERNEL_PROFILER_IS_ON && defined(KERNEL_PROFILER_STREAM)
#define KERNEL_PROFILER_IS_STREAMING 1
#else
#define KERNEL_PROFILER_IS_STREAMING 0
#endif

// tt-metal defines DEVICE_DEBUG_DUMP for its own polling host, whose handshake this header lacks.
#if KERNEL_PROFILER_IS_STREAMING
#define KERNEL_PROFILER_IS_NON_DROPPING 0
#elif defined(KERNEL_PROFILER_DEBUG_DUMP) || (!KERNEL_PROFILER_IN_TT_METAL && defined(DEVICE_DEBUG_DUMP))
#define KERNEL_PROFILER_IS_NON_DROPPING 1
#else
#define KERNEL_PROFILER_IS_NON_DROPPING 0
#endif

#if KERNEL_PROFILER_IS_ON && !KERNEL_PROFILER_IS_STREAMING && ((PROFILE_KERNEL) & PROFILER_OPT_DO_ACCUMULATE) != 0
#define KERNEL_PROFILER_IS_ASKED_TO_ACCUMULATE 1
#else
#define KERNEL_PROFILER_IS_ASKED_TO_ACCUMULATE 0
#endif

#if KERNEL_PROFILER_IS_ASKED_TO_ACCUMULATE && !defined(COMPILE_FOR_ERISC) && !defined(COMPILE_FOR_IDLE_ERISC) && \
    !defined(COMPILE_FOR_AERISC)
#define KERNEL_PROFILER_IS_ACCUMULATING 1
#else
#define KERNEL_PROFILER_IS_ACCUMULATING 0
#endif

#if KERNEL_PROFILER_IS_STREAMING && (defined(PROFILE_STREAMING) || defined(DEVICE_DEBUG_DUMP) || \
                                     defined(KERNEL_PROFILER_DEBUG_DUMP) ||                  \
                                     ((PROFILE_KERNEL) & PROFILER_OPT_DO_TRACE_ONLY) != 0)
#error "expected KERNEL_PROFILER_STREAM alone: it cannot be joined with PROFILE_STREAMING, a debug dump or trace-only mode"
#endif

#if KERNEL_PROFILER_IS_ON && defined(PROFILE_STREAMING)
#define KERNEL_PROFILER_MODE_IS_BUILT 0
#elif KERNEL_PROFILER_IS_ON && defined(DEVICE_DEBUG_DUMP) && !KERNEL_PROFILER_IS_NON_DROPPING
#define KERNEL_PROFILER_MODE_IS_BUILT 0
#elif KERNEL_PROFILER_IS_ON && ((PROFILE_KERNEL) & PROFILER_OPT_DO_TRACE_ONLY) != 0
#define KERNEL_PROFILER_MODE_IS_BUILT 0
// A dispatch kernel pushes from the beginning of its vector, without the firmware's knowledge.
#elif KERNEL_PROFILER_IS_ASKED_TO_ACCUMULATE && \
    (((PROFILE_KERNEL) & PROFILER_OPT_DO_DISPATCH_CORES) != 0 || KERNEL_PROFILER_IS_NON_DROPPING)
#define KERNEL_PROFILER_MODE_IS_BUILT 0
#else
#define KERNEL_PROFILER_MODE_IS_BUILT 1
#endif

#if KERNEL_PROFILER_IN_TT_METAL && (!KERNEL_PROFILER_IS_ON || !KERNEL_PROFILER_MODE_IS_BUILT || \
                                    defined(ARCH_QUASAR) || defined(COMPILE_FOR_DRISC))
#define KERNEL_PROFILER_IS_UPSTREAMS 1
#else
#define KERNEL_PROFILER_IS_UPSTREAMS 0
#endif
