"""Tensors that a mesh of two chips replicates or shards, and a trace that is replayed on both."""

import numpy
import tensors
import ttnn

mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2), **({"trace_region_size": 1_000_000} if tensors.IS_FAST else {}))
values = [numpy.arange(4096, dtype=numpy.uint32) + 10_000 * chip for chip in (1, 2)]


def host(part):
    return ttnn.Tensor(part.tolist(), [64, 64], ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT)


def check(tensor, expected):
    for part, of_chip in zip(ttnn.get_device_tensors(tensor.cpu()), expected, strict=True):
        print("= wrong", int((part.to_numpy().flatten() != of_chip).sum()))


replicated = host(values[0]).to(mesh, ttnn.DRAM_MEMORY_CONFIG)
sharded = ttnn.from_host_shards([host(part) for part in values], mesh.shape).to(mesh, ttnn.DRAM_MEMORY_CONFIG)
check(ttnn.clone(replicated), [values[0], values[0]])
check(ttnn.clone(sharded), values)
if tensors.IS_FAST:
    trace = ttnn.begin_trace_capture(mesh, cq_id=0)
    copy = ttnn.clone(sharded)
    ttnn.end_trace_capture(mesh, trace, cq_id=0)
    for _ in range(3):
        ttnn.execute_trace(mesh, trace, cq_id=0, blocking=False)
    check(copy, values)
    ttnn.synchronize_device(mesh)
    ttnn.release_trace(mesh, trace)
ttnn.close_mesh_device(mesh)
