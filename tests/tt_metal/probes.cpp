// Functions that the tests call on one RISC, with the first profiler header on the include path.
//
// They use only names that tt-metal's own sources use: macros and kernel_profiler:: functions. The
// firmware's definitions are in `firmware_state.hpp`.

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
#if defined(PROFILE_PERF_COUNTERS)
#include "internal/profiler/perf_counters.hpp"
#endif

#include "firmware_state.hpp"

#if !defined(COMPILE_FOR_TRISC) && !defined(KERNEL_BUILD)
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

// Simulates a kernel's own memory accesses: loads and stores in local RAM.
static volatile uint32_t memory_words[4];

#define USE_MEMORY(pass)                                              \
    memory_words[0] = memory_words[1] + (pass);                       \
    memory_words[2] = memory_words[3] ^ (pass)

PROBE memory(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
        USE_MEMORY(pass);
    }
}

PROBE zone_and_memory(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
        DeviceZoneScopedN("zone");
        USE_MEMORY(pass);
    }
}

PROBE data_and_memory(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
        DeviceTimestampedData("data", pass);
        USE_MEMORY(pass);
    }
}

PROBE event_and_memory(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
        DeviceRecordEvent(7);
        USE_MEMORY(pass);
    }
}

PROBE sum_and_memory(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
        DeviceZoneScopedSumN1("sum");
        USE_MEMORY(pass);
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
        constexpr uint32_t id = kernel_profiler::Hash16_CT("data 16b");
        kernel_profiler::timeStampedData<
            id,
            kernel_profiler::DoingDispatch::NOT_DISPATCH,
            kernel_profiler::PacketTypes::TS_DATA_16B>(uint64_t(pass), uint64_t(pass));
        STEP();
    }
}

PROBE event(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
        DeviceRecordEvent(7);
        STEP();
    }
}

#if !defined(COMPILE_FOR_TRISC) && defined(PROFILE_NOC_EVENTS)
PROBE noc_event(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
        const uint64_t there = uint64_t(0x652 + pass) << NOC_ADDR_LOCAL_BITS | 0x10000;
        RECORD_NOC_EVENT_WITH_ADDR(NocEventType::WRITE_, 0x20000, there, 2048, NOC_UNICAST_WRITE_VC, false, noc_index);
        STEP();
    }
}
#endif

#if defined(PROFILE_SYNC_EVENTS)
PROBE signal(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
#if defined(KERNEL_PROFILER_HAS_WAITS) && KERNEL_PROFILER_HAS_WAITS
        SYNC_SIGNAL("signal", pass);
#else
        // Upstream's release defines only the macro's name; data have the same cost as its record.
        DeviceTimestampedData("signal", pass);
#endif
        STEP();
    }
}
#endif

#if defined(COMPILE_FOR_BRISC) && defined(PROFILE_PERF_COUNTERS)
PROBE counter(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
        kernel_profiler::emit_counter(PerfCounterType::THREAD_STALLS_0, passes, pass);
        STEP();
    }
}
#endif

PROBE sum(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
        DeviceZoneScopedSumN1("sum");
        STEP();
    }
}

PROBE kernel_zone(uint32_t passes) {
    for (uint32_t pass = 0; pass < passes; ++pass) {
        DeviceZoneScopedMainChildN("INNER-KERNEL");
        STEP();
    }
}

PROBE begin() { kernel_profiler::init_profiler(); }

PROBE finish() { kernel_profiler::finish_profiler(); }

PROBE quick_push() { kernel_profiler::quick_push(); }

// Straight code with a probe once and eight times, to measure the size of a site, and its cost where
// the code is executed once.
#define ONCE(...)    \
    {                \
        __VA_ARGS__; \
        STEP();      \
    }
#define SITES(name, ...)                                                    \
    PROBE name##_sites_1(uint32_t pass) { ONCE(__VA_ARGS__) }               \
    PROBE name##_sites_8(uint32_t pass) {                                   \
        ONCE(__VA_ARGS__) ONCE(__VA_ARGS__) ONCE(__VA_ARGS__) ONCE(__VA_ARGS__) \
        ONCE(__VA_ARGS__) ONCE(__VA_ARGS__) ONCE(__VA_ARGS__) ONCE(__VA_ARGS__) \
    }

SITES(nothing)
SITES(data, DeviceTimestampedData("data", pass))
SITES(data_16b, constexpr uint32_t id = kernel_profiler::Hash16_CT("data 16b");
      kernel_profiler::timeStampedData<
          id,
          kernel_profiler::DoingDispatch::NOT_DISPATCH,
          kernel_profiler::PacketTypes::TS_DATA_16B>(uint64_t(pass), uint64_t(pass)))
SITES(event, DeviceRecordEvent(7))
SITES(sum, DeviceZoneScopedSumN1("sum"))
SITES(kernel_zone, DeviceZoneScopedMainChildN("INNER-KERNEL"))
#if !defined(COMPILE_FOR_TRISC) && defined(PROFILE_NOC_EVENTS)
SITES(noc_event, const uint64_t there = uint64_t(0x652 + pass) << NOC_ADDR_LOCAL_BITS | 0x10000;
      RECORD_NOC_EVENT_WITH_ADDR(NocEventType::WRITE_, 0x20000, there, 2048, NOC_UNICAST_WRITE_VC, false, noc_index))
#endif
#if defined(PROFILE_SYNC_EVENTS)
#if defined(KERNEL_PROFILER_HAS_WAITS) && KERNEL_PROFILER_HAS_WAITS
SITES(signal, SYNC_SIGNAL("signal", pass))
#else
SITES(signal, DeviceTimestampedData("signal", pass))
#endif
#endif
#if defined(COMPILE_FOR_BRISC) && defined(PROFILE_PERF_COUNTERS)
SITES(counter, kernel_profiler::emit_counter(PerfCounterType::THREAD_STALLS_0, pass, pass))
#endif

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

// Opcodes of a script that the tests write to L1, one word each. Numbers as in `script.rs`.
enum Op : uint32_t { END, ZONE_A, ZONE_B, ZONE_IF, DATA, DATA_16B, EVENT, SUM_1, SUM_2, TRANSFERS };

#if defined(DEVICE_DEBUG_DUMP) && !defined(COMPILE_FOR_TRISC)
// Records a read and a write of each address below a number, each with its barrier.
static void transfers(uint32_t count) __attribute__((noinline));

static void transfers(uint32_t count) {
    const uint64_t there = uint64_t(0x652) << NOC_ADDR_LOCAL_BITS;
    for (uint32_t address = 0; address < count; ++address) {
        RECORD_NOC_EVENT_WITH_ADDR(NocEventType::READ, 0x20000, there | address, 64, -1, false, noc_index);
        RECORD_NOC_EVENT(NocEventType::READ_BARRIER_START, false, noc_index);
        RECORD_NOC_EVENT(NocEventType::READ_BARRIER_END, false, noc_index);
        RECORD_NOC_EVENT_WITH_ADDR(
            NocEventType::WRITE_, 0x20000, there | address, 64, NOC_UNICAST_WRITE_VC, false, noc_index);
        RECORD_NOC_EVENT(NocEventType::WRITE_BARRIER_START, false, noc_index);
        RECORD_NOC_EVENT(NocEventType::WRITE_BARRIER_END, false, noc_index);
    }
}
#endif

static const volatile uint32_t* run_script(const volatile uint32_t* at) __attribute__((noinline));

static const volatile uint32_t* run_script(const volatile uint32_t* at) {
    for (;;) {
        switch (*at++) {
#if defined(DEVICE_DEBUG_DUMP) && !defined(COMPILE_FOR_TRISC)
            case TRANSFERS: transfers(*at++); break;
#endif
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
                const bool active = *at++ != 0;
                (void)active;
                DeviceZoneScopedNIf("zone if", active);
                at = run_script(at);
                break;
            }
            case DATA: {
                const uint64_t high = *at++;
                const uint64_t low = *at++;
                DeviceTimestampedData("data", high << 32 | low);
                break;
            }
            case DATA_16B: {
                uint64_t values[2];
                for (uint64_t& value : values) {
                    const uint64_t high = *at++;
                    const uint64_t low = *at++;
                    value = high << 32 | low;
                }
                constexpr uint32_t id = kernel_profiler::Hash16_CT("data 16b");
                kernel_profiler::timeStampedData<
                    id,
                    kernel_profiler::DoingDispatch::NOT_DISPATCH,
                    kernel_profiler::PacketTypes::TS_DATA_16B>(values[0], values[1]);
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
            default: return at;
        }
    }
}

// Runs a launch like firmware and a kernel's wrapper. `script` 0: one zone in the kernel.
extern "C" __attribute__((used, noinline)) void launch(const uint32_t* script, uint32_t enables, uint32_t program) {
    DeviceZoneScopedMainN("FW");
#if defined(COMPILE_FOR_BRISC)
    DeviceValidateProfiler(enables);
    DeviceZoneSetCounter(program);
#endif
    PAUSE();
    {
        DeviceZoneScopedMainChildN("KERNEL");
        if (script == nullptr) {
            DeviceZoneScopedN("only zone");
            STEP();
        } else {
            run_script(script);
        }
    }
    PAUSE();
}

#if !defined(COMPILE_FOR_TRISC)

// Called once after a reset. Kernels whose NoC counters are in L1 have their own buffers.
PROBE boot() {
    risc_init();
#if defined(KERNEL_BUILD)
    dynamic_noc_init();
    dynamic_noc_local_state_init();
#else
    noc_init(MEM_NOC_ATOMIC_RET_VAL_ADDR);
#endif
    for (int noc = 0; noc < NUM_NOCS; ++noc) {
        noc_local_state_init(noc);
    }
}

// Does the firmware's setup at each launch: the kernel's NoC, and the NoC's present counts.
PROBE choose_noc(uint32_t noc) {
#if !defined(KERNEL_BUILD)
    noc_index = noc;
#endif
    noc_local_state_init(noc);
}

#if defined(KERNEL_BUILD)
constexpr uint8_t MODE = NOC_MODE;
#else
constexpr uint8_t MODE = DM_DEDICATED_NOC;
#endif

// Sends writes of 16 bytes that the kernel's counters do not include, like the fabric.
PROBE write_uncounted(uint32_t count, uint32_t is_posted, uint32_t bank) {
    for (uint32_t write = 0; write < count; ++write) {
        const uint64_t xy = dram_bank_to_noc_xy[noc_index][bank];
        const uint64_t place = xy << NOC_ADDR_COORD_SHIFT | (0x1000 + 16 * write);
        while (!noc_cmd_buf_ready(noc_index, BRISC_WR_REG_CMD_BUF)) {
        }
        ncrisc_noc_fast_write<MODE, false, false>(
            noc_index, BRISC_WR_REG_CMD_BUF, 0x10000, place, 16, 1, false, false, 1, false, is_posted != 0);
    }
}

// Waits like a kernel before its end, until the NoC has sent and acknowledged all counted writes.
PROBE barrier() {
#if defined(KERNEL_BUILD)
    while (!ncrisc_dynamic_noc_nonposted_writes_sent(noc_index)) {
    }
    while (!ncrisc_dynamic_noc_nonposted_writes_flushed(noc_index)) {
    }
    while (!ncrisc_dynamic_noc_posted_writes_sent(noc_index)) {
    }
#else
    while (!ncrisc_noc_nonposted_writes_sent(noc_index)) {
    }
    while (!ncrisc_noc_nonposted_writes_flushed(noc_index)) {
    }
    while (!ncrisc_noc_posted_writes_sent(noc_index)) {
    }
#endif
}

PROBE push() { kernel_profiler::quick_push(); }

#endif
