/// \file
///
/// The probes outside of tt-metal with the profiler switched off: arguments are type-checked and
/// not evaluated.

#pragma once

#include <stdint.h>

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

#include "noc_events.hpp"
#include "counters.hpp"
#include "polls.hpp"

#define SYNC_WAIT(...) static_cast<void>(0)
#define SYNC_SIGNAL(...) static_cast<void>(0)
#define SYNC_SIGNAL_NOC_ADDR(...) static_cast<void>(0)
