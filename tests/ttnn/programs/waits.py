"""Four matmuls of 8 by 8 tiles, each on a core of its own: cores pass tiles on and wait for them."""

import tensors
import ttnn

device = tensors.open_device()
_, m = tensors.tiles(device, 0, (256, 256))
_, n = tensors.tiles(device, 1, (256, 256))
for _ in range(4):
    ttnn.matmul(m, n)
ttnn.close_device(device)
