"""Zones of Python functions where the program enables its profiler, one of its own, and a message."""

import tensors
import ttnn
from tracy import Profiler

device = tensors.open_device()
_, a = tensors.rows(device)


def unseen():
    ttnn.clone(a)


def seen(turns):
    for _ in range(turns):
        ttnn.clone(a)


unseen()
profiler = Profiler()
profiler.enable()
seen(2)
seen(1)
profiler.disable()
unseen()
ttnn.start_tracy_zone(__file__, "of_its_own", 25)
ttnn.tracy_message("a message")
ttnn.stop_tracy_zone()
ttnn.close_device(device)
