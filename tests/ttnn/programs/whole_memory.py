"""An op, then a tensor that takes almost all DRAM, as it fits without a profiler, then another op."""

import tensors
import ttnn

PAGE_BYTES = 1 << 16
device = tensors.open_device()
x, a = tensors.rows(device)
b = ttnn.clone(a)
view = ttnn.get_memory_view(device, ttnn.BufferType.DRAM)
# Two pages for the small tensors of this program.
pages = view.total_bytes_per_bank // PAGE_BYTES - 2
big = ttnn.empty(
    [view.num_banks * pages, PAGE_BYTES // 4], ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT, device, ttnn.DRAM_MEMORY_CONFIG
)
print("=", pages, hex(big.buffer_address()))
c = ttnn.clone(b)
print("= wrong", int((tensors.values(c).reshape(x.shape) != x).sum()))
ttnn.close_device(device)
