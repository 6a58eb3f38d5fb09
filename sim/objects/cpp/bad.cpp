// Breaks each rule for objects that are linked into a kernel at least once. The test that checks
// the other objects must report every one of these violations.

#include <stdint.h>

extern "C" uint32_t outside;

/// An object whose constructor would have to be called before the kernel.
struct Constructed {
    Constructed() { outside = 1; }
};
Constructed constructed;

/// A table of addresses and the strings they point to, which would be copied to local RAM.
extern "C" const char* const names[];
const char* const names[] = {"first", "second"};

/// Thread-local memory, which needs an operating system.
thread_local uint32_t of_thread;
extern "C" uint32_t next();
uint32_t next() { return ++of_thread; }

// The relocation of a low half before the relocation of its high half.
__asm__(".pushsection .text.late_high_half, \"ax\", @progbits\n"
        "j 2f\n"
        "1: lw a0, %lo(outside)(a0)\n"
        "ret\n"
        "2: lui a0, %hi(outside)\n"
        "j 1b\n"
        ".popsection");

// A call to a symbol that is not code.
__asm__(".pushsection .text.calls_data, \"ax\", @progbits\n"
        "call names\n"
        ".popsection");

// Code that shares its section with all other such code.
__asm__(".text\nret");
