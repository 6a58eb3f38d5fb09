"""Profiles itself where DRAM has no room for the lanes; the ops run all the same."""

import kprof.ttnn

kprof.ttnn.prepare()

import tensors  # noqa: E402
import ttnn  # noqa: E402

device = ttnn.open_device(device_id=0)
x, a = tensors.rows(device)
view = ttnn.get_memory_view(device, ttnn.BufferType.DRAM)
words = (view.largest_contiguous_bytes_free_per_bank - 400_000) // 4 // 16 * 16
shape = [device.dram_grid_size().x, words]
hog = ttnn.empty(shape, ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT, device, ttnn.DRAM_MEMORY_CONFIG)
with kprof.ttnn.profile(device) as profile:
    copy = ttnn.clone(a)
assert (tensors.values(copy).reshape(x.shape) == x).all()
print(f"{profile.recording().record_count} records")
ttnn.close_device(device)
