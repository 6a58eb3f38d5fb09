// Functions that the tests call on one RISC with streamed records, with our header or with
// upstream's own streaming header.
//
// They use only names that tt-metal's own sources use, except names of our mode. The firmware's
// definitions are in `firmware_state.hpp`.

#include <cstddef>
#include <cstdint>

#if defined(COMPILE_FOR_TRISC)
#include "ckernel_globals.h"
#include "internal/firmware_common.h"
#include "tensix_types.h"
#else
#include "risc_common.h"
#include "tensix.h"
#include "tensix_types.h"
#include "noc.h"
#include "noc_overlay_parameters.h"
#include "stream_io_map.h"
#include "noc_nonblocking_api.h"
#include "internal/firmware_common.h"
#endif
#include "api/debug/kernel_profiler.hpp"
#include "hostdev/dev_msgs.h"

#include "firmware_state.hpp"

#if !defined(COMPILE_FOR_TRISC)
uint8_t noc_index __attribute__((used));
uint8_t noc_mode __attribute__((used)) = DM_DEDICATED_NOC;
#endif

#define STEP() __asm__ volatile("nop")
// Stops the program, so that the test can act and then resume.
#define PAUSE() __asm__ volatile("ebreak" : : : "memory")

PROBE nothing(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
        STEP();
    }
}

PROBE zone(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
        DeviceZoneScopedN("zone");
        STEP();
    }
}

PROBE data(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
        DeviceTimestampedData("data", pass);
        STEP();
    }
}

PROBE data_16b(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
#if defined(PROFILE_STREAMING)
        kernel_profiler::time_stamped_data(16, uint64_t(pass), uint64_t(pass));
#else
        DeviceTimestampedData16B("data 16b", pass, pass);
#endif
        STEP();
    }
}

PROBE event(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
#if defined(PROFILE_STREAMING)
        DeviceRecordEvent("event");
#else
        DeviceRecordEvent(7);
#endif
        STEP();
    }
}

PROBE kernel_zone(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
        DeviceZoneScopedMainChildN("INNER-KERNEL");
        STEP();
    }
}

#define ZONE_SITE(name)          \
    {                            \
        DeviceZoneScopedN(name); \
        STEP();                  \
    }

PROBE zone_sites_1() { ZONE_SITE("site 1") }

PROBE zone_sites_8() {
    ZONE_SITE("site 1")
    ZONE_SITE("site 2")
    ZONE_SITE("site 3")
    ZONE_SITE("site 4")
    ZONE_SITE("site 5")
    ZONE_SITE("site 6")
    ZONE_SITE("site 7")
    ZONE_SITE("site 8")
}

PROBE nothing_sites_1() { STEP(); }

PROBE nothing_sites_8() {
    STEP();
    STEP();
    STEP();
    STEP();
    STEP();
    STEP();
    STEP();
    STEP();
}

// Begins a launch like firmware, without its zones; the next function ends it.
PROBE begin(uint32_t program) {
    kernel_profiler::init_profiler();
#if PROCESSOR_INDEX == 0
    DeviceValidateProfiler(1 | program);
    DeviceZoneSetCounter(program);
#endif
}

PROBE finish() { kernel_profiler::finish_profiler(); }

#if !defined(PROFILE_STREAMING)

// Opcodes of a script that the tests write to L1, one word each. Numbers as in `stream_script.rs`.
enum Op : uint32_t { END, ZONE_A, ZONE_B, ZONE_IF, DATA, DATA_16B, EVENT, SUM_1, SUM_2, ESCAPE, WAIT, REPEAT, INVALID };

static const volatile uint32_t* run_script(const volatile uint32_t* at) __attribute__((noinline));

static const volatile uint32_t* run_script(const volatile uint32_t* at) {
    const auto next = [&at]() {
        const uint64_t high = *at++;
        return high << 32 | *at++;
    };
    for (;;) {
        switch (*at++) {
            case ZONE_A: {
                DeviceZoneScopedN("zone A");
                at = run_script(at);
                break;
            }
            case ZONE_B: {
                DeviceZoneScopedN("zone B");
                at = run_script(at);
                break;
            }
            case ZONE_IF: {
                const bool is_active = *at++ != 0;
                DeviceZoneScopedNIf("zone if", is_active);
                at = run_script(at);
                break;
            }
            // The id of a text may have another meaning as a code.
            case ESCAPE: {
                kernel_profiler::profileScope<0xFFF3> zone;
                at = run_script(at);
                break;
            }
            case DATA: {
                const uint64_t value = next();
                DeviceTimestampedData("some data", value);
                break;
            }
            case DATA_16B: {
                const uint64_t first = next();
                const uint64_t second = next();
                DeviceTimestampedData16B("more data", first, second);
                break;
            }
            case EVENT: {
                const uint16_t number = *at++;
                DeviceRecordEvent(number);
                break;
            }
            case SUM_1: {
                DeviceZoneScopedSumN1("sum 1");
                at = run_script(at);
                break;
            }
            case SUM_2: {
                DeviceZoneScopedSumN2("sum 2");
                at = run_script(at);
                break;
            }
            case WAIT: {
                const uint32_t passes = *at++;
                for (uint32_t pass = 0; pass < passes; ++pass) {
                    STEP();
                }
                break;
            }
            case REPEAT: {
                const uint32_t passes = *at++;
                const volatile uint32_t* const begin = at;
                for (uint32_t pass = 0; pass < passes; ++pass) {
                    at = run_script(begin);
                }
                break;
            }
            case INVALID: DeviceValidateProfiler(false); break;
            default: return at;
        }
    }
}

// Runs a launch like firmware and a kernel's wrapper. Without enabled RISCs the launch is idle.
extern "C" __attribute__((used, noinline)) void launch(const uint32_t* script, uint32_t enables, uint32_t program) {
    DeviceZoneScopedMainN("FW");
#if defined(COMPILE_FOR_BRISC)
    DeviceValidateProfiler(enables);
    DeviceZoneSetCounter(program);
#endif
    PAUSE();
    if (enables != 0) {
        DeviceZoneScopedMainChildN("KERNEL");
        run_script(script);
    }
    PAUSE();
}

// Emits a record outside of a launch.
PROBE stray() { DeviceRecordEvent(9); }

PROBE replay() { DeviceIncrementTraceCount(); }

#endif

#if !defined(COMPILE_FOR_TRISC)

// Called once after a reset.
PROBE boot() {
    risc_init();
    noc_init(MEM_NOC_ATOMIC_RET_VAL_ADDR);
    for (int noc = 0; noc < NUM_NOCS; ++noc) {
        noc_local_state_init(noc);
    }
}

#endif
