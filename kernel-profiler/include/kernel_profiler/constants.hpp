/// \file
/// What this project adds to the format, and records without constants in tt-metal's
/// `profiler_common.h`: waits and hardware counters.
///
/// Written by `wire/tests/cpp_constants.rs`; `BLESS=1` rewrites it.

#pragma once

#include <stdint.h>

/// Names of the records of waits.
#define KERNEL_PROFILER_WAIT_TOTAL_ZONE "SYNC-WAIT-TOTAL"
#define KERNEL_PROFILER_CB_WAIT_ZONE "SYNC-CB-WAIT"
#define KERNEL_PROFILER_CB_RESERVE_ZONE "SYNC-CB-RESERVE"
#define KERNEL_PROFILER_SEM_WAIT_ZONE "SYNC-SEM-WAIT"
#define KERNEL_PROFILER_NOC_BARRIER_ZONE "SYNC-NOC-BARRIER"

namespace kernel_profiler {
namespace detail {

/// Words of the control vector that tt-metal reserves: see docs/wire-extensions.md.
constexpr uint32_t SIGNATURE = 5;
constexpr uint32_t LANE_WORDS = 6;
constexpr uint32_t GENERATION = 7;
constexpr uint32_t SEEN_RUNS = 8;
constexpr uint32_t REFUSED_RUNS = 9;
constexpr uint32_t REFUSED_MARKERS = 14;
constexpr uint32_t FIRST_REFUSED_PROGRAM = 19;
constexpr uint32_t LAST_REFUSED_PROGRAM = 20;
constexpr uint32_t TIMED_OUT_PUSHES = 21;
constexpr uint32_t IDLE_LAUNCHES = 22;
constexpr uint32_t SCRATCH = 23;
constexpr uint32_t LOST_ZONES = 29;
constexpr uint32_t LOST_DATA = 34;
constexpr uint32_t LOST_EVENTS = 39;
constexpr uint32_t LATE_RUNS = 44;
constexpr uint32_t STALLED_IN_VAIN = 58;
constexpr uint32_t CONSUMED = 59;
constexpr uint32_t SIGNATURE_VALUE = 0x4B504000;

/// Number of RISCs per core for which the layout has control words, lanes and counters.
constexpr uint32_t RISCS_PER_CORE = 5;

/// Size of a lane in words for the default number of programs.
constexpr uint32_t DEFAULT_LANE_WORDS = 12000;
constexpr uint32_t DEFAULT_LANE_WORDS_WITH_SUMS = 16000;

/// First bit in HOST_END of the end before the lane began anew, in units of four words.
constexpr uint32_t TURN_SHIFT = 17;

/// Maximum size in words of a lane that can begin anew, and of a run in such a lane.
constexpr uint32_t TURNING_LANE_WORDS_MAX = 130047;
constexpr uint32_t LARGEST_RUN_WORDS = 512;

/// The size of a push is a multiple of this number of words.
constexpr uint32_t PUSH_ALIGN_WORDS = 4;

/// Words of TRISC 2's vector that have records if the rest is room for samples.
constexpr uint32_t WORDS_BESIDE_SAMPLES = 64;

/// First bit of the field in the ID_LH word with the generation of the core's lanes.
constexpr uint32_t GENERATION_SHIFT = 29;

/// Kinds of waits.
enum class WaitKind : uint32_t {
    NONE = 0,
    CB_WAIT = 1,
    CB_RESERVE = 2,
    SEM_WAIT = 3,
    NOC_READ_BARRIER = 4,
    NOC_WRITE_BARRIER = 5,
    NOC_ATOMIC_BARRIER = 6,
    NOC_FULL_BARRIER = 7,
    NOC_WRITE_FLUSH = 8,
};

/// First bits of the kind in a wait's first value, and of the number of waits in its second.
constexpr uint32_t WAIT_KIND_SHIFT = 32;
constexpr uint32_t WAIT_COUNT_SHIFT = 32;

/// Windows of a wait: first bits of length and period, and the maximum period, as log2.
constexpr uint32_t SYNC_LENGTH_SHIFT = 20;
constexpr uint32_t SYNC_PERIOD_SHIFT = 25;
constexpr uint32_t SYNC_PERIOD_LOG2_MAX = 20;

/// Id of a hardware counter's record.
constexpr uint32_t PERF_COUNTER_ID = 9090;

/// Groups of hardware counters, by their bits in PROFILE_PERF_COUNTERS.
constexpr uint32_t GROUP_FPU = 0;
constexpr uint32_t GROUP_PACK = 1;
constexpr uint32_t GROUP_UNPACK = 2;
constexpr uint32_t GROUP_INSTRUCTIONS = 5;
constexpr uint32_t GROUPS_OF_L1 = 0x3D8;

}  // namespace detail

}  // namespace kernel_profiler
