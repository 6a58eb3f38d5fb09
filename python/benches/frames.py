"""What keeping the frames of calls costs: `kprof record -o DIR -- python frames.py [CALLS]`.

Calls of an op with and without the keeping of frames are made in pairs in one process, in random order,
so that both see the same load of the machine. Times are those of the processor in the program's
thread; a chip that is simulated in another one does not count. With `trace` as a second argument, the
calls are captured in a trace, so that no chip has to be waited for.
"""

import random
import statistics
import sys
import time

import ttnn
from kprof.ttnn import session

CALLS = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
BETWEEN_WAITS = 50
"""Number of pairs of calls between two waits for the chip, whose queue never fills up."""
TRACE_BYTES = 20_000
"""Room for a call in a trace."""


class Part:
    """A module that calls the next one, the last of which calls an op."""

    def __init__(self, depth):
        self.inner = Part(depth - 1) if depth else None

    def forward(self, x):
        return self.inner.forward(x) if self.inner is not None else ttnn.add(x, x)


def interval(values):
    """The median, and the 95 % interval of medians of samples with repetition."""
    choose = random.Random(1)
    medians = sorted(statistics.median(choose.choices(values, k=len(values))) for _ in range(1000))
    return statistics.median(values), medians[25], medians[975]


is_captured = sys.argv[2:] == ["trace"]
device = ttnn.open_device(device_id=0, trace_region_size=CALLS * TRACE_BYTES if is_captured else 0)
numbers = ttnn.Tensor([0.0] * 1024, [32, 32], ttnn.bfloat16, ttnn.ROW_MAJOR_LAYOUT)
x = numbers.to(ttnn.TILE_LAYOUT).to(device)
model = Part(4)
(profile,) = session.ACTIVE
frames = profile._frames
assert frames is not None, "expected a recording with frames: leave --no-calls out"
choose = random.Random(2)
pairs_ns = []
model.forward(x)
trace = ttnn.begin_trace_capture(device) if is_captured else None
for number in range(CALLS // 2):
    if number % BETWEEN_WAITS == 0 and trace is None:
        ttnn.synchronize_device(device)
    times_ns = {}
    for is_kept in choose.sample((False, True), 2):
        profile._frames = frames if is_kept else None
        start = time.thread_time_ns()
        model.forward(x)
        times_ns[is_kept] = time.thread_time_ns() - start
    # The first calls compile, and describe the frames.
    if number >= 5:
        pairs_ns.append((times_ns[False], times_ns[True]))
profile._frames = frames
if trace is not None:
    ttnn.end_trace_capture(device, trace)
ttnn.close_device(device)

for what, found in (
    ("a call without frames", [without / 1000 for without, _ in pairs_ns]),
    ("frames of a call", [(kept - without) / 1000 for without, kept in pairs_ns]),
):
    median, low, high = interval(found)
    print(f"{what}: {median:.1f} us ({low:.1f} to {high:.1f}), {len(pairs_ns)} pairs")
