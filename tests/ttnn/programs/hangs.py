"""Waits for ever in a call of ttnn, after an op: for a launch that is counted on another mesh."""

import tensors
import ttnn

device = ttnn.open_mesh_device(ttnn.MeshShape(1, 1))
_, rows = tensors.rows(device)
for _ in range(3):
    ttnn.clone(rows)
ttnn.synchronize_device(device)
submesh = device.create_submesh(ttnn.MeshShape(1, 1))
ttnn.clone(rows)
ttnn.clone(rows)
ttnn.synchronize_device(submesh)
print("= hangs", flush=True)
device.quiesce_devices()
