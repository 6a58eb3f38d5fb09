// Functions of the replay buffer, which Tenstorrent's compiler provides.
//
// REPLAY: tt-isa-documentation, TensixCoprocessor/REPLAY.md; INSTRN_BUF_BASE: tensix.h.

#pragma once
#include <cstdint>

namespace lltt {

enum ExecBool : bool { NoExec, Exec };

constexpr std::uint32_t replay_insn(unsigned start, unsigned length) {
    return 0x04u << 24 | start << 14 | length << 4;
}

inline __attribute__((always_inline)) void push(std::uint32_t instruction) {
    *reinterpret_cast<volatile std::uint32_t*>(0xFFE40000) = instruction;
}

template <ExecBool execute = NoExec>
inline __attribute__((always_inline)) void record(unsigned start, unsigned length) {
    push(replay_insn(start, length) | unsigned(execute) << 1 | 1u);
}

inline __attribute__((always_inline)) void replay(unsigned start, unsigned length) {
    push(replay_insn(start, length));
}

}  // namespace lltt
