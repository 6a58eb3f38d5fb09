"""Profiles parts of itself; prints the number of ops of each part."""

import kprof.ttnn

kprof.ttnn.prepare()

import tensors  # noqa: E402
import ttnn  # noqa: E402

device = tensors.open_device()
_, a = tensors.rows(device)
ttnn.clone(a)
for count in (2, 1):
    with kprof.ttnn.profile(device) as profile:
        for _ in range(count):
            ttnn.clone(a)
    recording = profile.recording()
    print(f"{recording.ops.num_rows} ops, {recording.record_count} records")
# The memory that the lanes used belongs to the program again, and nothing else writes to it.
big = ttnn.full([12, 1, 1024, 512], 7, dtype=ttnn.uint32, layout=ttnn.ROW_MAJOR_LAYOUT, device=device)
for _ in range(3):
    ttnn.clone(a)
assert (tensors.values(big) == 7).all()
ttnn.close_device(device)
