// The compiler's own integer types, without a C library's header in front of them.

#pragma once
#include <stdint-gcc.h>
