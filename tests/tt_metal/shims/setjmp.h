// Declarations of setjmp.h, for tt-metal's sources on a compiler without a C library.
// There are no definitions, so linked code must not call these functions.

#pragma once

typedef int jmp_buf[64];
extern "C" {
int setjmp(jmp_buf);
[[noreturn]] void longjmp(jmp_buf, int);
}
