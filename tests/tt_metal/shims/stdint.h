// The compiler's own integer types, without the header of a C library.

#pragma once
#if __has_include(<stdint-gcc.h>)
#include <stdint-gcc.h>
#else
#include_next <stdint.h>
#endif
