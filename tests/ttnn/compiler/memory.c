// Functions that the compiler may call on its own; the stand-in links no C library.

#include <stddef.h>

#ifdef FUNCTION_memcpy
void* memcpy(void* to, const void* from, size_t size) {
    unsigned char* target = to;
    const unsigned char* source = from;
    while (size-- != 0) {
        *target++ = *source++;
    }
    return to;
}
#endif

#ifdef FUNCTION_memmove
void* memmove(void* to, const void* from, size_t size) {
    unsigned char* target = to;
    const unsigned char* source = from;
    if (target <= source) {
        while (size-- != 0) {
            *target++ = *source++;
        }
        return to;
    }
    while (size-- != 0) {
        target[size] = source[size];
    }
    return to;
}
#endif

#ifdef FUNCTION_memset
void* memset(void* to, int value, size_t size) {
    unsigned char* target = to;
    while (size-- != 0) {
        *target++ = (unsigned char)value;
    }
    return to;
}
#endif

#ifdef FUNCTION_ctzsi2
// libgcc for rv32im has it only in a form that reads a table.
int __ctzsi2(unsigned value) {
    int count = 0;
    while (count < 32 && (value >> count & 1) == 0) {
        count++;
    }
    return count;
}
#endif
