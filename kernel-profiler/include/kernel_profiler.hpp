/// \file
/// Path of this header outside of tt-metal; see kernel_profiler/header.hpp.

#pragma once

#include "kernel_profiler/header.hpp"
