"""A copy and a sum that all cores of the chip's grid share."""

import tensors
import ttnn

device = tensors.open_device()
grid = device.compute_with_storage_grid_size()
print("= grid", grid.x, grid.y)
print("= banks", device.dram_grid_size().x)
cores = grid.x * grid.y
# A row for each core, and a tile for each core.
x, a = tensors.rows(device, (1, 1, cores, 64))
copy = ttnn.clone(a)
_, m = tensors.tiles(device, 0, (32, 32 * cores))
ttnn.add(m, m)
print("= wrong", int((tensors.values(copy).reshape(x.shape) != x).sum()))
ttnn.close_device(device)
