"""Devices and tensors of the test programs."""

import os

import numpy
import ttnn

IS_FAST = "TT_METAL_SLOW_DISPATCH_MODE" not in os.environ


def open_device(trace_bytes=400_000):
    return ttnn.open_device(device_id=0, **({"trace_region_size": trace_bytes} if IS_FAST else {}))


def rows(device, shape=(1, 1, 64, 64)):
    """Numbers in row-major order, and a tensor of them."""
    numbers = numpy.arange(int(numpy.prod(shape)), dtype=numpy.uint32).reshape(shape)
    layout = ttnn.ROW_MAJOR_LAYOUT
    return numbers, ttnn.Tensor(numbers.flatten().tolist(), list(shape), ttnn.uint32, layout, device)


def tiles(device, seed, shape=(64, 64), layout=ttnn.TILE_LAYOUT):
    """Small whole numbers, and a tensor of their tiles, or of their rows."""
    numbers = numpy.random.RandomState(seed).randint(-1, 2, size=shape).astype(numpy.float32)
    flat = numbers.flatten().tolist()
    tensor = ttnn.Tensor(flat, list(shape), ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT)
    return numbers, tensor.to(layout).to(device)


def values(tensor):
    return numpy.array(tensor.cpu().to(ttnn.ROW_MAJOR_LAYOUT).to_list())
