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
ttnn.close_device(device)
