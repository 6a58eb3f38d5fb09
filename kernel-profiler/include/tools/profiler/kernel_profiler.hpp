/// \file
///
/// Path of this header in tt-metal until mid-2026; see kernel_profiler/header.hpp.

#pragma once

#include "../../kernel_profiler/choice.hpp"

#if KERNEL_PROFILER_IS_UPSTREAMS
#include_next "api/debug/kernel_profiler.hpp"
#include "../../kernel_profiler/polls.hpp"
#else
#include "../../kernel_profiler/header.hpp"
#endif
