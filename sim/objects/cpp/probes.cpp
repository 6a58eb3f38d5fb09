// Every probe in its own function, for inspection and cost measurement, as in the `probes` crate.

#include "twin_lines.hpp"

#if defined(WITHOUT_HEADER)
// Without any profiler, all probes in this file are empty.
#include <stdint.h>
#define DeviceZoneScopedN(name)
#define DeviceZoneScopedNIf(name, active)
#define DeviceZoneScopedSumN1(name)
#define DeviceTimestampedData(name, data)
#define DeviceTimestampedData16B(name, first, second)
#define DeviceRecordEvent(event)
#define DeviceZoneScopedMainN(name)
#define DeviceValidateProfiler(condition)
#define DeviceZoneSetCounter(program_id)
#define DeviceProfilerInit()
#define DeviceIncrementTraceCount()
#define SrcLocNameToHash(name)
#define RECORD_NOC_EVENT(...)
#define RECORD_NOC_EVENT_WITH_ADDR(...)
#define RECORD_NOC_EVENT_WITH_ID(...)
#define NOC_TRACE_QUICK_PUSH_IF_LINKED(...)
#define RECORD_SCOPED_LOCK_EVENT(...)
#define RECORD_DFB_REGION_CLEAR()
#define RECORD_FABRIC_HEADER(...)
#define RECORD_FABRIC_EVENT(...)
#define RECORD_FABRIC_MULTICAST_EVENT(...)
#define RECORD_FABRIC_SCATTER_EVENT(...)
#define RECORD_FABRIC_ROUTE_1D(...)
#define RECORD_FABRIC_ROUTE_UNAVAILABLE_2D()
#define DeviceZoneScopedMainChildN(name)
#define KERNEL_PROFILER_FIRMWARE_STATE static_assert(true)
namespace kernel_profiler {
inline void init_profiler() {}
inline void finish_profiler() {}
}  // namespace kernel_profiler
#else
#include "kernel_profiler.hpp"
#endif

#define PROBE(name)                         \
    extern "C" void name(uint32_t count);   \
    extern "C" [[gnu::section(".text.probe." #name)]] void name([[maybe_unused]] uint32_t count)

/// Stands for a zone's measured code: an instruction without effect.
#define BODY __asm__ volatile("nop")

/// Defines a function that repeats an action `count` times.
#define LOOPED(name, ...)                             \
    PROBE(name) {                                     \
        for (uint32_t pass = 0; pass < count; ++pass) { \
            __VA_ARGS__;                              \
            BODY;                                     \
        }                                             \
    }

LOOPED(nothing, )
LOOPED(zone, DeviceZoneScopedN("ZONE"))
LOOPED(zone_if, DeviceZoneScopedNIf("ZONE-IF", pass % 2 == 0))
LOOPED(data, DeviceTimestampedData("DATA", 0x1122334455667788))
LOOPED(data_16b, DeviceTimestampedData16B("DATA-16B", 0x1122334455667788, 0x99AABBCCDDEEFF00))
LOOPED(event, DeviceRecordEvent(7))
LOOPED(sum, DeviceZoneScopedSumN1("SUM"))
LOOPED(kernel_zone, DeviceZoneScopedMainChildN("LONE-KERNEL"))
LOOPED(fabric, RECORD_FABRIC_HEADER(&count))

/// Interleaved pages: page 9 is in the tile at column 9 of row 0.
struct Pages {
    uint64_t get_noc_addr(uint32_t page, uint32_t offset, uint8_t /* noc */) const {
        return uint64_t{page} << 36 | offset;
    }
};

#define ADDRESS(x, y) (uint64_t{(y) << 6 | (x)} << 36 | 0x1000)
#define RECTANGLE(x, y, end_x, end_y) (uint64_t{(y) << 18 | (x) << 12 | (end_y) << 6 | (end_x)} << 36)
LOOPED(noc_events,
    RECORD_NOC_EVENT_WITH_ADDR(NocEventType::READ, 0, ADDRESS(0, 11), 4096, -1, false, 0);
    RECORD_NOC_EVENT_WITH_ID(NocEventType::WRITE_, 0, 9, Pages{}, 64, 4096, 1, false, 1);
    RECORD_NOC_EVENT(NocEventType::SEMAPHORE_WAIT, false, 0);
    RECORD_NOC_EVENT(NocEventType::WRITE_BARRIER_START, false, 1);
    RECORD_NOC_EVENT_WITH_ADDR(NocEventType::READ, 0, ADDRESS(17, 13), 256, -1, false, 1);
    RECORD_NOC_EVENT_WITH_ADDR(NocEventType::WRITE_MULTICAST, 0, RECTANGLE(1, 2, 8, 9), 8161, 4, true, 0);
    NOC_TRACE_QUICK_PUSH_IF_LINKED(1, false))
LOOPED(noc_event, RECORD_NOC_EVENT_WITH_ADDR(NocEventType::WRITE_, 0, ADDRESS(18, 25), 2048, 1, false, 0))
LOOPED(noc_addresses,
    RECORD_NOC_EVENT_WITH_ADDR(NocEventType::READ, 0x12345, ADDRESS(0, 11) + 3, 4096, -1, false, 0);
    RECORD_NOC_EVENT_WITH_ADDR(NocEventType::WRITE_, 0xFEDCBA98, ADDRESS(9, 0) + 0xFFFE1, 64, 1, true, 1);
    RECORD_NOC_EVENT_WITH_ID(NocEventType::WRITE_SET_STATE, 6, 9, Pages{}, 64, 96, 1, false, 1);
    RECORD_NOC_EVENT_WITH_ADDR(NocEventType::WRITE_MULTICAST, 4, RECTANGLE(1, 2, 8, 9) + 8, 32, 4, false, 0);
    RECORD_NOC_EVENT(NocEventType::FULL_BARRIER, false, 0))
LOOPED(locks,
    RECORD_SCOPED_LOCK_EVENT(NocDebuggingEventMetadata::NocDebugEventType::CB_LOCK, 0x20000, 2048);
    RECORD_SCOPED_LOCK_EVENT(NocDebuggingEventMetadata::NocDebugEventType::MEM_UNLOCK, 0x1000001, 0xFFFFFF);
    RECORD_DFB_REGION_CLEAR())
LOOPED(fabric_events,
    RECORD_FABRIC_EVENT(NocEventType::FABRIC_UNICAST_WRITE, FabricPacketType::LOW_LATENCY_MESH, ADDRESS(18, 25), 0);
    RECORD_FABRIC_ROUTE_UNAVAILABLE_2D();
    RECORD_FABRIC_MULTICAST_EVENT(
        NocEventType::FABRIC_MULTICAST_ATOMIC_INC, FabricPacketType::REGULAR, 1, 2, 4, 5, 1);
    RECORD_FABRIC_ROUTE_1D(0xAABBCCDD);
    RECORD_FABRIC_SCATTER_EVENT(FabricPacketType::LOW_LATENCY, ADDRESS(1, 2), 1024, 2, 1);
    RECORD_FABRIC_SCATTER_EVENT(FabricPacketType::LOW_LATENCY, ADDRESS(3, 4), 0, 2, 1))

#define SITE(name)               \
    {                            \
        DeviceZoneScopedN(name); \
        BODY;                    \
    }

PROBE(zone_sites_1) { SITE("SITE") }

PROBE(zone_sites_8) {
    SITE("SITE-1")
    SITE("SITE-2")
    SITE("SITE-3")
    SITE("SITE-4")
    SITE("SITE-5")
    SITE("SITE-6")
    SITE("SITE-7")
    SITE("SITE-8")
}

/// The calls that firmware makes around a launch, with a kernel of nested zones inside.
// By #line, zones of whole_launch have the lines of the same zones in Rust, and so the same ids.
PROBE(whole_launch) {
    DeviceProfilerInit();
#line LINE_FW "probes/src/launch.rs"
    DeviceZoneScopedMainN("FW");
    DeviceValidateProfiler(static_cast<uint32_t>(count != 0));
    DeviceZoneSetCounter(0x400 + count);
    DeviceIncrementTraceCount();
#line LINE_KERNEL "probes/src/launch.rs"
    DeviceZoneScopedMainChildN("KERNEL");
    for (uint32_t pass = 0; pass < count; ++pass) {
#line LINE_OUTER "probes/src/launch.rs"
        DeviceZoneScopedN("OUTER");
#line LINE_INNER "probes/src/launch.rs"
        DeviceZoneScopedN("INNER");
#line LINE_PASS "probes/src/launch.rs"
        DeviceTimestampedData("PASS", pass);
#line LINE_EVENT "probes/src/launch.rs"
        SrcLocNameToHash("EVENT");
        DeviceRecordEvent(hash);
    }
}

PROBE(open_main) { kernel_profiler::init_profiler(); }

PROBE(finish) { kernel_profiler::finish_profiler(); }

KERNEL_PROFILER_FIRMWARE_STATE;
