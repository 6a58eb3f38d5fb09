"""A trace of five ops that is replayed often enough for thousands of samples of each kernel."""

import tensors
import ttnn

REPLAYS = 40

device = tensors.open_device()
_, a = tensors.rows(device)
_, m = tensors.tiles(device, 0)
_, n = tensors.tiles(device, 1)


def ops():
    product = ttnn.matmul(m, n)
    total = ttnn.add(product, n)
    return [
        ttnn.permute(total, (1, 0)),
        ttnn.slice(a, [0, 0, 0, 0], [1, 1, 32, 64]),
        ttnn.concat([a, a], dim=3),
    ]


ops()
if tensors.IS_FAST:
    trace = ttnn.begin_trace_capture(device, cq_id=0)
    ops()
    ttnn.end_trace_capture(device, trace, cq_id=0)
    for _ in range(REPLAYS):
        ttnn.execute_trace(device, trace, cq_id=0, blocking=False)
else:
    for _ in range(REPLAYS):
        ops()
ttnn.close_device(device)
