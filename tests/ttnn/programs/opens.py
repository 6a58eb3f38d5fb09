"""Opens the device three times, with an op each."""

import tensors
import ttnn

for _ in range(3):
    device = tensors.open_device()
    _, a = tensors.rows(device)
    ttnn.slice(a, [0, 0, 0, 0], [1, 1, 32, 64])
    ttnn.close_device(device)
