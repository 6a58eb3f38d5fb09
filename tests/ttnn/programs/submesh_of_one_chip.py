"""A submesh of the only chip of a mesh; tensors of the submesh and of the mesh are read back."""

import tensors
import ttnn

mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 1))
submesh = mesh.create_submesh(ttnn.MeshShape(1, 1))
x, a = tensors.rows(submesh, (1, 1, 256, 256))
print("=", hex(a.buffer_address()))
copies = [ttnn.clone(a) for _ in range(3)]
for copy in (a, *copies):
    print("= wrong", int((tensors.values(copy).reshape(x.shape) != x).sum()))
ttnn.close_mesh_device(submesh)
ttnn.close_mesh_device(mesh)
print("= closed")
