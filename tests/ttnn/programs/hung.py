"""An op, then a launch on two cores that never ends: the command line says why."""

import sys

import tensors
import ttnn

READER = r"""
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    DeviceZoneScopedN("READS");
    cb_reserve_back(3, 1);
    cb_push_back(3, 1);
}
"""
WRITER = r"""
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    {
        DeviceZoneScopedN("FIRST");
        cb_wait_front(3, 1);
    }
    DeviceZoneScopedN("WRITES");
    cb_wait_front(3, 2);  // a push is missing
}
"""
MANY = r"""
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    for (uint32_t pass = 0; pass < 20; ++pass) {
        DeviceZoneScopedN("DONE");
    }
    DeviceZoneScopedN("WRITES");
    cb_wait_front(3, 2);  // a push is missing
}
"""
ENDLESS = r"""
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    DeviceZoneScopedN("COMPUTES");
    volatile uint32_t number = 1;
    while (number != 0) {
        number = number * 4 + 1;  // never 0
    }
}
"""
KERNELS = {"push": [(READER, 1), (WRITER, 0)], "many": [(READER, 1), (MANY, 0)], "endless": [(ENDLESS, 1)]}

device = tensors.open_device()
_, rows = tensors.rows(device)
ttnn.clone(rows)
cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(1, 0))])
processors = [ttnn.DataMovementProcessor.RISCV_0, ttnn.DataMovementProcessor.RISCV_1]
nocs = [ttnn.NOC.RISCV_0_default, ttnn.NOC.RISCV_1_default]
kernels = [
    ttnn.KernelDescriptor(
        kernel_source=source,
        source_type=ttnn.KernelDescriptor.SourceType.SOURCE_CODE,
        core_ranges=cores,
        compile_time_args=[],
        runtime_args=ttnn.RuntimeArgs(),
        config=ttnn.DataMovementConfigDescriptor(processor=processors[number], noc=nocs[number]),
    )
    for source, number in KERNELS[sys.argv[1]]
]
format = ttnn.CBFormatDescriptor(buffer_index=3, data_format=ttnn.uint32, page_size=4096)
buffer = ttnn.CBDescriptor(total_size=8192, core_ranges=cores, format_descriptors=[format])
output = ttnn.empty([32, 32], ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT, device, ttnn.DRAM_MEMORY_CONFIG)
print("= hangs", flush=True)
ttnn.generic_op([output, output], ttnn.ProgramDescriptor(kernels=kernels, semaphores=[], cbs=[buffer]))
ttnn.synchronize_device(device)
