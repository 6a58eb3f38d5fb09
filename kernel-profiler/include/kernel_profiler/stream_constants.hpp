/// \file
/// Streamed lanes: see docs/streaming.md.
///
/// Written by `wire/tests/cpp_constants.rs`; `BLESS=1` rewrites it.

#pragma once

#include <stdint.h>

namespace kernel_profiler {
namespace detail {

/// Indices of words in the control vector. A word that each RISC has is the first of five.
constexpr uint32_t STREAM_PROGRAM = 44;
constexpr uint32_t STREAM_TRACE_COUNT = 45;
constexpr uint32_t STREAM_IDLE_LAUNCHES = 8;
constexpr uint32_t STREAM_POLICY = 9;
constexpr uint32_t STREAM_TOLD = 14;
constexpr uint32_t STREAM_SKIPPED = 19;
constexpr uint32_t STREAM_WAITED_IN_VAIN = 19;
constexpr uint32_t STREAM_WRITTEN = 24;
constexpr uint32_t STREAM_LAUNCHES = 51;
constexpr uint32_t STREAM_READ = 59;
constexpr uint32_t STREAM_TOLD_ENDED = 0x8000;
constexpr uint32_t STREAM_SIGNATURE_VALUE = 0x4B531000;

/// Size of a cell in bytes; sizes of a ring and of a chunk in cells.
constexpr uint32_t STREAM_CELL_BYTES = 8;
constexpr uint32_t STREAM_RING_CELLS = 256;
constexpr uint32_t STREAM_CHUNK_CELLS = 8;

/// First bit of the code in a cell's first word, and longest zone of one cell in cycles.
constexpr uint32_t STREAM_CODE_SHIFT = 16;
constexpr uint32_t STREAM_ZONE_CYCLES_MAX = 65535;
constexpr uint32_t STREAM_FIRST_ESCAPE = 0xFFF0;

/// Codes of cells that are not zones; other codes are zone ids.
enum class StreamCode : uint32_t {
    LONG_ZONE = 0xFFF0,
    DATA = 0xFFF1,
    DATA_16B = 0xFFF2,
    EVENT = 0xFFF3,
    TOTAL = 0xFFF4,
    LAUNCH = 0xFFF5,
    LOST = 0xFFF6,
    SKIPPED = 0xFFF7,
    PADDING = 0xFFFF,
};

/// Number of low bits in the policy word that hold the kind of policy, and these kinds.
constexpr uint32_t STREAM_POLICY_KIND_BITS = 2;
enum class StreamPolicy : uint32_t {
    DROP_NEWEST = 0,
    OVERWRITE_OLDEST = 1,
    BLOCK = 2,
    KEEP_ONE_OF = 3,
};

}  // namespace detail

}  // namespace kernel_profiler
