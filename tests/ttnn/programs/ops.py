"""Data movement and compute ops, whose values are checked, and a trace of three that is replayed."""

import os

import numpy
import tensors
import ttnn

device = tensors.open_device()
x, a = tensors.rows(device)
p, m = tensors.tiles(device, 0)
q, n = tensors.tiles(device, 1)
results = [
    (ttnn.slice(a, [0, 0, 0, 0], [1, 1, 32, 64]), x[:, :, :32]),
    (ttnn.concat([a, a], dim=3), numpy.concatenate([x, x], 3)),
    (ttnn.matmul(m, n), p @ q),
    (ttnn.add(m, n), p + q),
    (ttnn.permute(m, (1, 0)), p.T),
]
if tensors.IS_FAST:
    trace = ttnn.begin_trace_capture(device, cq_id=0)
    product = ttnn.matmul(m, n)
    total = ttnn.add(product, n)
    turned = ttnn.permute(total, (1, 0))
    ttnn.end_trace_capture(device, trace, cq_id=0)
    for _ in range(10):
        ttnn.execute_trace(device, trace, cq_id=0, blocking=False)
    results.append((turned, (p @ q + q).T))
# kprof's own simulator computes no values, but results of ops that only move tensors are right.
checked = results if os.environ.get("KPROF_TTNN_COMPUTES", "1") == "1" else results[:2]
for found, expected in checked:
    numpy.testing.assert_array_equal(tensors.values(found).reshape(expected.shape), expected)
ttnn.close_device(device)
