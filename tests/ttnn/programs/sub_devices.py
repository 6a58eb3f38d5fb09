"""Kernels on two sub-devices in turn, as often as the first argument says; the second one, if there
is one, leaves the first core out of both."""

import sys

import tensors
import ttnn

SOURCE = """
#include <cstdint>
void kernel_main() {
    for (volatile uint32_t turn = 0; turn < 100; turn = turn + 1) {}
}
"""


def cores(x, y, last_x, last_y):
    return ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(x, y), ttnn.CoreCoord(last_x, last_y))])


def launch(some_cores, tensor):
    kernel = ttnn.KernelDescriptor(
        kernel_source=SOURCE,
        source_type=ttnn.KernelDescriptor.SourceType.SOURCE_CODE,
        core_ranges=some_cores,
        compile_time_args=[],
        runtime_args=ttnn.RuntimeArgs(),
        config=ttnn.DataMovementConfigDescriptor(),
    )
    program = ttnn.ProgramDescriptor(kernels=[kernel], semaphores=[], cbs=[])
    ttnn.generic_op([tensor, tensor], program)


device = tensors.open_device()
x, a = tensors.rows(device)
halves = [cores(0, 0, 3, 6) if len(sys.argv) < 3 else cores(1, 1, 3, 6), cores(4, 0, 7, 6)]
manager = device.create_sub_device_manager([ttnn.SubDevice([half]) for half in halves], 3200)
device.load_sub_device_manager(manager)
for number in range(int(sys.argv[1])):
    launch(halves[number % 2], a)
device.clear_loaded_sub_device_manager()
copy = ttnn.clone(a)
assert (tensors.values(copy).reshape(x.shape) == x).all()
device.remove_sub_device_manager(manager)
ttnn.close_device(device)
