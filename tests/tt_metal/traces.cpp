// Kernels for the data movers; upstream's own tests count the objects in their NoC traces. CASE
// selects the kernel, and the test defines the coordinates.

#include "api/dataflow/dataflow_api.h"
#include "api/debug/kernel_profiler.hpp"
#include "internal/profiler/fabric_event_profiler.hpp"

namespace {

constexpr uint32_t OWN = 0x90000;
// This address exists in a router's memory, too.
[[maybe_unused]] constexpr uint32_t THERE = 0x30000;

#define COPY 1
#define LINE 2
#define MESH 3
#define PASS_ON 4
#define LINKED 5

#if CASE == LINE || CASE == MESH || CASE == PASS_ON
// Acts like the sender of a packet: records its header, and writes the packet to a router or to the
// core that forwards it.
template <typename Record>
inline void send(uint32_t packets, Record record) {
    const uint64_t next = get_noc_addr(NEXT_X, NEXT_Y, THERE);
    for (uint32_t packet = 0; packet < packets; ++packet) {
        record();
        noc_async_write(OWN, next, 64);
        noc_async_write_barrier();
    }
}
#endif

}  // namespace

void kernel_main() {
#if CASE == COPY
    constexpr uint32_t bytes = 5 * 2048;
    noc_async_read(get_noc_addr_from_bank_id<true>(0, 0x10000000), OWN, bytes);
    noc_async_read_barrier();
    noc_async_write(OWN, get_noc_addr_from_bank_id<true>(0, 0x10010000), bytes);
    noc_async_write_barrier();
#elif CASE == LINE
    auto* header = reinterpret_cast<volatile PACKET_HEADER_TYPE*>(OWN);
    header->to_noc_unicast_write(tt::tt_fabric::NocUnicastCommandHeader{get_noc_addr(FAR_X, FAR_Y, THERE)}, 64);
#if RANGE == 1
    header->to_chip_unicast(START);
#else
    header->to_chip_multicast(tt::tt_fabric::MulticastRoutingCommandHeader{START, RANGE});
#endif
    send(PACKETS, [&] { RECORD_FABRIC_HEADER(header); });
#elif CASE == MESH
    // Records a packet and its route like headers before 0.81.1; 0.81.1 omits the hops.
    send(PACKETS, [] {
        using Metadata = KernelProfilerNocEventMetadata;
        Metadata packet;
        packet.data.fabric_event.noc_xfer_type = Metadata::NocEventType::FABRIC_UNICAST_WRITE;
        packet.data.fabric_event.dst_noc_type = Metadata::NocType::NOC_0;
        packet.data.fabric_event.routing_fields_type = Metadata::FabricPacketType::LOW_LATENCY_MESH;
        kernel_profiler::timeStampedData<kernel_profiler::NOC_TRACING_STATIC_ID>(packet.asU64());
        constexpr uint64_t route = 41 | NS_HOPS << 8 | E_HOPS << 16 | W_HOPS << 24 | uint64_t(IS_MCAST) << 32;
        kernel_profiler::timeStampedData<kernel_profiler::NOC_TRACING_STATIC_ID>(route);
    });
#elif CASE == PASS_ON
    send(PACKETS, [] {});
#else
    const uint64_t rectangle =
        get_noc_multicast_addr(FIRST_X, FIRST_Y, LAST_X, LAST_Y, THERE);
    for (uint32_t transfer = 1; transfer < PACKETS; ++transfer) {
        noc_async_write_multicast_one_packet(OWN, rectangle, 64, 4, true);
    }
    noc_async_write_multicast_one_packet(OWN, rectangle, 64, 4, false);
    noc_async_write_barrier();
#endif
}
