"""As many ops as the command line says, without a pause."""

import sys

import tensors
import ttnn

device = tensors.open_device()
_, a = tensors.rows(device)
for _ in range(int(sys.argv[1])):
    ttnn.clone(a)
ttnn.close_device(device)
