// Breaks the rules for objects that are linked into a kernel, each at least once: the test that
// holds the others to them must find all of it.

#include <stdint.h>

extern "C" uint32_t outside;

/// Would have to be called before the kernel.
struct Constructed {
    Constructed() { outside = 1; }
};
Constructed constructed;

/// A table of addresses and the strings they point to, which would be copied to local RAM.
extern "C" const char* const names[];
const char* const names[] = {"first", "second"};

/// Memory of a thread, which needs an operating system.
thread_local uint32_t of_thread;
extern "C" uint32_t next();
uint32_t next() { return ++of_thread; }

// A low half whose high half comes later.
__asm__(".pushsection .text.late_high_half, \"ax\", @progbits\n"
        "j 2f\n"
        "1: lw a0, %lo(outside)(a0)\n"
        "ret\n"
        "2: lui a0, %hi(outside)\n"
        "j 1b\n"
        ".popsection");

// A call to what is no code.
__asm__(".pushsection .text.calls_data, \"ax\", @progbits\n"
        "call names\n"
        ".popsection");

// Code that shares its section with all other such code.
__asm__(".text\nret");
