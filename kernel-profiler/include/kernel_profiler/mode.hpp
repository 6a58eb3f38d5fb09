/// \file
///
/// Selects the destination of records: a vector that is pushed at the end of the launch, or a ring
/// that is drained during the launch.

#pragma once

#include "choice.hpp"

#if KERNEL_PROFILER_IS_STREAMING
#include "stream_launch.hpp"
#else
#include "launch.hpp"
#endif

#include "inner_names.hpp"
