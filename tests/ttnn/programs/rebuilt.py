"""A program whose calls build programs again, for reasons that are written down here by hand.

Prints for each launch what is planted: whether it builds a program, and what has changed since the
most similar earlier call of the same line.
"""

import json
import sys

import tensors
import ttnn

DEVICE = tensors.open_device()
PLANTED = []
A, B = (tensors.tiles(DEVICE, seed, (64, 64))[1] for seed in (1, 2))
WIDE = tensors.tiles(DEVICE, 3, (64, 96))[1]
ROWS = tensors.rows(DEVICE, (1, 1, 64, 64))[1]


def planted(is_built, reason=None):
    """Notes what the next launch does."""
    PLANTED.append((ttnn._ttnn.get_device_operation_id(), is_built, reason))


class Model:
    def __call__(self, x, **options):
        return ttnn.add(x, B, **options)

    def project(self, x, weight, **options):
        return ttnn.matmul(x, weight, **options)


def slices(x, ends):
    return ttnn.slice(x, [0, 0, 0, 0], ends)


model, other = Model(), Model()
for _ in range(3):
    planted(len(PLANTED) == 0)
    model(A)
# Another module at the same line finds the program of the first.
planted(False)
other(A)
planted(True, ["memory_config"])
model(A, memory_config=ttnn.L1_MEMORY_CONFIG)
planted(True, ["dtype"])
model(A, dtype=ttnn.float32)
planted(False)
model(A)
planted(True)
model.project(A, B)
planted(True, ["shape of input 1"])
model.project(A, WIDE)
planted(False)
model.project(A, B)
planted(True, ["core_grid"])
model.project(A, B, core_grid=ttnn.CoreGrid(x=1, y=1))
for side in (32, 48, 56):
    planted(True, ["arg2"] if side > 32 else None)
    slices(ROWS, [1, 1, side, 64])
DEVICE.clear_program_cache()
planted(True, "cleared")
model.project(A, B)
planted(False)
model.project(A, B)
ttnn.close_device(DEVICE)
with open(sys.argv[1], "w") as file:
    json.dump(PLANTED, file)
