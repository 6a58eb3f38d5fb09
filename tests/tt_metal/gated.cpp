// A kernel that decides at run time which of its zones it records. It writes their markers through
// the profiler's inner names, between records of the macros. The test defines PASSES.

#include "api/debug/kernel_profiler.hpp"

namespace {

namespace profiler = kernel_profiler;

constexpr uint32_t WORDS = profiler::PROFILER_L1_MARKER_UINT32_SIZE;

inline __attribute__((always_inline)) void add_marker(uint32_t id) {
    profiler::mark_time_at_index_inlined(profiler::wIndex, id);
    profiler::wIndex += WORDS;
}

// Keeps the room for its end from its start on.
template <uint32_t ID>
class ChosenZone {
public:
    inline __attribute__((always_inline)) explicit ChosenZone(uint32_t is_chosen) {
        is_open_ = is_chosen != 0 && profiler::bufferHasRoom();
        if (is_open_) {
            profiler::stackSize += WORDS;
            add_marker(profiler::get_const_id(ID, profiler::ZONE_START));
        }
    }

    inline __attribute__((always_inline)) ~ChosenZone() {
        if (is_open_) {
            add_marker(profiler::get_id(ID, profiler::ZONE_END));
            profiler::stackSize -= WORDS;
        }
    }

private:
    bool is_open_;
};

// Records an event with a time that was read before.
inline __attribute__((always_inline)) void add_stamped(uint32_t event) {
    volatile tt_reg_ptr uint32_t* clock = reinterpret_cast<volatile tt_reg_ptr uint32_t*>(RISCV_DEBUG_REG_WALL_CLOCK_L);
    const uint32_t low = clock[profiler::WALL_CLOCK_LOW_INDEX];
    const uint32_t high = clock[profiler::WALL_CLOCK_HIGH_INDEX];
    if (profiler::bufferHasRoom()) {
        profiler::mark_time_at_index_with_stamp(
            profiler::wIndex, profiler::get_id(event, profiler::TS_EVENT), high, low);
        profiler::wIndex += WORDS;
    }
}

}  // namespace

void kernel_main() {
    for (uint32_t pass = 0; pass < PASSES; ++pass) {
        DeviceZoneScopedN("pass");
        {
            SrcLocNameToHash("chosen");
            // The compiler must not know which passes are chosen.
            uint32_t chosen = 0x3C;
            __asm__ volatile("" : "+r"(chosen));
            ChosenZone<hash> zone(chosen >> pass % 8 & 1);
            DeviceTimestampedData("number", pass);
        }
        add_stamped(7);
    }
}
