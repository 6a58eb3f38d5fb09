"""Different ops on two chips: as two devices of one process, or with a submesh for each chip."""

import sys

import tensors
import ttnn

if sys.argv[1] == "devices":
    opened = ttnn.CreateDevices([0, 1])
    first, second = opened[0], opened[1]
else:
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
    x, a = tensors.rows(mesh)
    for part in ttnn.get_device_tensors(ttnn.clone(a).cpu()):
        print("= wrong", int((part.to_numpy().reshape(x.shape) != x).sum()))
    ttnn.synchronize_device(mesh)
    if tensors.IS_FAST:
        mesh.quiesce_devices()
    first, second = mesh.create_submeshes(ttnn.MeshShape(1, 1))
x, a = tensors.rows(first)
y, b = tensors.rows(second)
copies = [ttnn.clone(a) for _ in range(3)]
parts = [ttnn.slice(b, [0, 0, 0, 0], [1, 1, 32, 64]) for _ in range(2)]
for copy in copies:
    print("= wrong", int((tensors.values(copy).reshape(x.shape) != x).sum()))
for part in parts:
    print("= wrong", int((tensors.values(part).reshape(1, 1, 32, 64) != y[:, :, :32]).sum()))
print("=", [hex(tensor.buffer_address()) for tensor in (a, b, *copies, *parts)])
if sys.argv[1] == "devices":
    ttnn.CloseDevices(opened)
else:
    ttnn.close_mesh_device(first)
    ttnn.close_mesh_device(second)
    ttnn.close_mesh_device(mesh)
