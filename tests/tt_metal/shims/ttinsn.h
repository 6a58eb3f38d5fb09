// The assembler directive .ttinsn of Tenstorrent's binutils: a Tensix instruction, rotated left
// by two bits (tt-isa-documentation, BabyRISCV/PushTensixInstruction.md). The compiler writes
// instructions with their highest bit set as negative numbers, and the assembler counts in 64 bits.

#pragma once

__asm__(
    ".ifndef kprof_ttinsn\n"
    ".set kprof_ttinsn, 1\n"
    ".macro .ttinsn instruction\n"
    ".long (((\\instruction) & 0x3fffffff) << 2) | (((\\instruction) >> 30) & 3)\n"
    ".endm\n"
    ".endif");
