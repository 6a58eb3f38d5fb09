// What setjmp.h declares, for tt-metal's sources on a compiler that comes without a C library.
// Declarations only: nothing here may be called by code that is linked.

#pragma once

typedef int jmp_buf[64];
extern "C" {
int setjmp(jmp_buf);
[[noreturn]] void longjmp(jmp_buf, int);
}
