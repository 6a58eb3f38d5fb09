/// \file
/// Where records go: into a vector that is pushed when the launch has ended, or into a ring that is drained
/// while it runs.

#pragma once

#include "choice.hpp"

#if KERNEL_PROFILER_IS_STREAMING
#include "stream_launch.hpp"
#else
#include "launch.hpp"
#endif
