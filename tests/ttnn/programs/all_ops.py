"""Every op of the list once: data movement, then compute; values are checked where they are computed."""

import os

import numpy
import tensors
import ttnn

TILE, ROWS = ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT

device = tensors.open_device()
x, a = tensors.rows(device)
p, m = tensors.tiles(device, 0)
q, n = tensors.tiles(device, 1)
r, s = tensors.tiles(device, 2, layout=ROWS)
moved = [
    (ttnn.slice(a, [0, 0, 0, 0], [1, 1, 32, 64]), x[:, :, :32]),
    (ttnn.concat([a, a], dim=3), numpy.concatenate([x, x], 3)),
    (ttnn.pad(a, [(0, 0), (0, 0), (0, 32), (0, 0)], 7), numpy.pad(x, [(0, 0), (0, 0), (0, 32), (0, 0)], constant_values=7)),
    (ttnn.reshape(a, (1, 1, 32, 128)), x.reshape(1, 1, 32, 128)),
    (ttnn.clone(a), x),
    (ttnn.repeat(a, (1, 2, 1, 1)), numpy.tile(x, (1, 2, 1, 1))),
    (ttnn.full([1, 1, 32, 32], 3, dtype=ttnn.uint32, layout=ROWS, device=device), numpy.full((1, 1, 32, 32), 3)),
    (ttnn.to_memory_config(a, ttnn.L1_MEMORY_CONFIG), x),
    (ttnn.slice(m, [0, 0], [32, 64]), p[:32]),
    (ttnn.concat([m, n], dim=0), numpy.concatenate([p, q], 0)),
]
computed = [
    (ttnn.matmul(m, n), p @ q),
    (ttnn.add(m, n), p + q),
    (ttnn.subtract(m, n), p - q),
    (ttnn.to_layout(s, TILE), r),
    (ttnn.to_layout(m, ROWS), p),
    (ttnn.transpose(m, 0, 1), p.T),
    (ttnn.permute(m, (1, 0)), p.T),
]
# kprof's own simulator computes no values, but results of ops that only move tensors are right.
checked = moved + (computed if os.environ.get("KPROF_TTNN_COMPUTES", "1") == "1" else [])
for number, (found, expected) in enumerate(checked):
    values = tensors.values(found).reshape(expected.shape)
    numpy.testing.assert_array_equal(values, expected, err_msg=f"op {number}")
ttnn.close_device(device)
