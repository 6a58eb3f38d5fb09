// Included before every source that the stand-in compiles.

#pragma once
#include <ttinsn.h>
#ifdef __cplusplus
#include <bits/c++config.h>
// A C++ library without threads and without futexes, as on a RISC of a Tensix core.
#undef _GLIBCXX_HAVE_LINUX_FUTEX
#undef _GLIBCXX_HAS_GTHREADS
// gcc 12 refuses static_assert(false) in templates that nobody instantiates.
#define static_assert(...) static_assert(sizeof(#__VA_ARGS__) > 0)
#endif
