/// \file
///
/// Records without room are dropped and counted: no RISC waits for the host.
///
/// launch.hpp includes this file, or stall.hpp in the debug dump.

#pragma once

#include "push.hpp"

namespace kernel_profiler {
namespace detail {

KERNEL_PROFILER_ALWAYS_INLINE void forget_stalls() {}

#if KERNEL_PROFILER_HAS_NOC

/// An empty stand-in for a wait.
struct Stall {};

KERNEL_PROFILER_ALWAYS_INLINE void await_host(uint32_t) {}
KERNEL_PROFILER_ALWAYS_INLINE constexpr bool has_given_up() { return false; }
KERNEL_PROFILER_ALWAYS_INLINE Stall await_own_lane(uint32_t, uint32_t, uint32_t, uint32_t) { return {}; }
KERNEL_PROFILER_ALWAYS_INLINE constexpr bool leave_vain_stall(const Stall&, uint32_t) { return false; }
KERNEL_PROFILER_ALWAYS_INLINE constexpr int32_t record_stall(const Stall&, uint32_t, Clock) { return 0; }

#endif

}  // namespace detail
}  // namespace kernel_profiler
