// Copies tiles from DRAM to L1 and back, with a zone for each direction. Arguments: source and destination
// address in the first DRAM bank, and number of tiles. For BRISC or NCRISC, each of which uses its own NoC.

#include "tools/profiler/kernel_profiler.hpp"

namespace {

using namespace kernel_profiler::detail;

constexpr uint32_t TILE_BYTES = 2048;
/// Values of the register `CTRL`: bit 4 requests a response, bit 1 makes the request a write.
constexpr uint32_t CTRL_READ = 1 << 4;
constexpr uint32_t CTRL_WRITE = 1 << 1 | 1 << 4;
constexpr uint32_t READS_ANSWERED = 0x200 + 4 * 2;
constexpr uint32_t WRITES_ANSWERED = 0x200 + 4 * 1;

alignas(64) uint8_t tile[TILE_BYTES];

/// Copies a tile, and waits until it has arrived. `from_tile` and `to_tile` are NoC coordinates.
void copy(uint32_t from, uint32_t from_tile, uint32_t to, uint32_t to_tile, uint32_t ctrl, uint32_t answered) {
    const uint32_t noc = NOC_REGISTERS + (noc_index << NOC_REGISTERS_SHIFT);
    const uint32_t buffer = noc + (1 << COMMAND_BUFFER_SHIFT);
    while (read_word(buffer + CMD_CTRL) != 0) {
    }
    const uint32_t before = read_word(noc + answered);
    write_word(buffer + TARG_ADDR_LO, from);
    write_word(buffer + TARG_COORDINATE, from_tile);
    write_word(buffer + RET_ADDR_LO, to);
    write_word(buffer + RET_COORDINATE, to_tile);
    if (IS_BLACKHOLE) {
        write_word(buffer + TARG_ADDR_MID, 0);
        write_word(buffer + RET_ADDR_MID, 0);
    }
    write_word(buffer + PACKET_TAG, 0);
    write_word(buffer + CTRL, ctrl);
    write_word(buffer + AT_LEN_BE, TILE_BYTES);
    write_word(buffer + CMD_CTRL, 1);
    while (read_word(noc + answered) == before) {
    }
}

}  // namespace

extern "C" void kernel_main(const volatile uint32_t* launch, uint32_t /* risc */) {
    DeviceZoneScopedMainN("DATAFLOW-KERNEL");
    const uint32_t src_addr = launch[4];
    const uint32_t dst_addr = launch[5];
    const uint32_t num_tiles = launch[3] >= 3 ? launch[6] : 0;
    const uint32_t noc = NOC_REGISTERS + (noc_index << NOC_REGISTERS_SHIFT);
    const uint32_t own =
        read_word(noc + OWN_COORDINATES) << OWN_COORDINATES_SHIFT >> (OWN_COORDINATES_SHIFT - COORDINATE_SHIFT);
    const uint32_t bank = bank_coordinates(0);
    const uint32_t place = reinterpret_cast<uint32_t>(tile);
    {
        DeviceZoneScopedN("ReadFromDRAM");
        for (uint32_t i = 0; i < num_tiles; ++i) {
            copy(src_addr + i * TILE_BYTES, bank, place, own, CTRL_READ, READS_ANSWERED);
        }
    }
    {
        DeviceZoneScopedN("WriteToDRAM");
        for (uint32_t i = 0; i < num_tiles; ++i) {
            copy(place, own, dst_addr + i * TILE_BYTES, bank, CTRL_WRITE, WRITES_ANSWERED);
        }
    }
}
