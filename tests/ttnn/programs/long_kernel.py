"""One launch of a kernel on four cores that records as many zones as the command line says."""

import sys

import tensors
import ttnn

SOURCE = r"""
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    const uint32_t count = get_arg_val<uint32_t>(0);
    for (uint32_t number = 0; number < count; number++) {
        DeviceZoneScopedN("TURN");
        for (volatile uint32_t step = 0; step < number % 8; step = step + 1) {
        }
    }
}
"""
CORES = 4

device = tensors.open_device()
output = ttnn.empty([32, 32], ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT, device, ttnn.DRAM_MEMORY_CONFIG)
cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(CORES - 1, 0))])
arguments = ttnn.RuntimeArgs()
for x in range(CORES):
    arguments[x][0] = [int(sys.argv[1])]
kernel = ttnn.KernelDescriptor(
    kernel_source=SOURCE,
    source_type=ttnn.KernelDescriptor.SourceType.SOURCE_CODE,
    core_ranges=cores,
    compile_time_args=[],
    runtime_args=arguments,
    config=ttnn.DataMovementConfigDescriptor(),
)
ttnn.generic_op([output, output], ttnn.ProgramDescriptor(kernels=[kernel], semaphores=[], cbs=[]))
ttnn.close_device(device)
