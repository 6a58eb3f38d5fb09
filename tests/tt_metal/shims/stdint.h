// The compiler's own integer types, without a C library's header in front of them.

#pragma once
#if __has_include(<stdint-gcc.h>)
#include <stdint-gcc.h>
#else
#include_next <stdint.h>
#endif
