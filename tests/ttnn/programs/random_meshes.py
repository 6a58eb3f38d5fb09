"""Random programs on a device, its submeshes and sub-devices; prints all that a program can see.

The first argument is the seed of the first program, the second the number of programs, each of which
opens the device anew. Only data is moved, so that all values are right on every simulator.
"""

import hashlib
import os
import random
import sys

import numpy
import ttnn

IS_FAST = "TT_METAL_SLOW_DISPATCH_MODE" not in os.environ
SMALL, LARGE = [(1, 32), (3, 64), (32, 32)], [(64, 64), (256, 256), (512, 1024)]


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.say("program", seed)
        self.device = ttnn.open_mesh_device(
            ttnn.MeshShape(*SHAPE), **({"trace_region_size": 2_000_000} if IS_FAST else {})
        )
        self.meshes = {"device": self.device}
        self.parents = {}
        self.tensors = []
        self.last = "device"
        self.count = 0

    def say(self, *words):
        print("=", *words, flush=True)

    def use(self, name):
        """Moves to another mesh as tt-metal asks for: the command queues are given up before."""
        if name != self.last:
            # Only what was used: each mesh counts its launches alone, and a command of another one
            # lets the command queue wait for launches that are counted elsewhere, for ever.
            if self.last in self.meshes:
                ttnn.synchronize_device(self.meshes[self.last])
            if IS_FAST:
                self.device.quiesce_devices()
            self.last = name
        return self.meshes[name]

    def usable(self):
        """Names of the meshes that may be used: fast dispatch uses either a mesh or its submeshes."""
        parents = set(self.parents.values()) if IS_FAST else set()
        return [name for name in self.meshes if name not in parents]

    def pick(self):
        """A tensor of a mesh that may be used."""
        usable = self.usable()
        tensors = [entry for entry in self.tensors if entry[0] in usable]
        return self.random.choice(tensors) if tensors else None

    def keep(self, name, tensor, values):
        address = [hex(part.buffer_address()) for part in ttnn.get_device_tensors(tensor)]
        self.say("tensor", len(self.tensors), "of", name, "at", *address, tensor.memory_config())
        self.tensors.append((name, tensor, values))

    def allocate(self):
        name = self.random.choice(self.usable())
        shape = self.random.choice(SMALL + LARGE)
        memory = self.random.choice([ttnn.DRAM_MEMORY_CONFIG, ttnn.L1_MEMORY_CONFIG])
        values = numpy.arange(shape[0] * shape[1], dtype=numpy.uint32) + self.random.randrange(1 << 20)
        host = ttnn.Tensor(values.tolist(), list(shape), ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT)
        self.keep(name, host.to(self.use(name), memory), values)

    def move(self):
        picked = self.pick()
        if picked is None:
            return self.allocate()
        name, tensor, values = picked
        self.use(name)
        if self.random.random() < 0.5:
            memory = self.random.choice([ttnn.DRAM_MEMORY_CONFIG, ttnn.L1_MEMORY_CONFIG])
            return self.keep(name, ttnn.clone(tensor, memory_config=memory), values)
        # To the other memory: else the result would be the same tensor.
        memory = ttnn.L1_MEMORY_CONFIG if is_in_dram(tensor) else ttnn.DRAM_MEMORY_CONFIG
        return self.keep(name, ttnn.to_memory_config(tensor, memory), values)

    def replay(self):
        picked = self.pick()
        if not IS_FAST or picked is None:
            return self.move()
        name, tensor, values = picked
        device = self.use(name)
        ttnn.clone(tensor).deallocate(True)
        trace = ttnn.begin_trace_capture(device, cq_id=0)
        copy = ttnn.clone(tensor)
        ttnn.end_trace_capture(device, trace, cq_id=0)
        for _ in range(self.random.randrange(1, 4)):
            ttnn.execute_trace(device, trace, cq_id=0, blocking=False)
        self.keep(name, copy, values)
        ttnn.synchronize_device(device)
        ttnn.release_trace(device, trace)

    def free(self):
        picked = self.pick()
        if picked is not None:
            self.tensors = [entry for entry in self.tensors if entry is not picked]
            name, tensor, _ = picked
            self.use(name)
            tensor.deallocate(True)
            self.say("free", name)

    def divide(self):
        if len(self.meshes) >= 4:
            return self.move()
        parent = self.random.choice(self.usable())
        mesh = self.use(parent)
        shape = ttnn.MeshShape(1, self.random.randrange(1, mesh.shape[1] + 1))
        if mesh.shape[1] % shape[1] == 0 and self.random.random() < 0.5:
            made = mesh.create_submeshes(shape)
        else:
            made = [mesh.create_submesh(shape)]
        for submesh in made:
            self.count += 1
            name = f"submesh {self.count}"
            self.meshes[name] = submesh
            self.parents[name] = parent
            self.say(name, "of", parent, submesh.id(), submesh.get_device_ids())

    def close_one(self):
        names = [name for name in self.meshes if name != "device" and name not in self.parents.values()]
        # With fast dispatch, the parent of a closed submesh cannot be quiesced.
        if not names or IS_FAST:
            return self.move()
        name = self.random.choice(names)
        self.check(name)
        self.use("device")
        # A closed submesh that something still refers to cannot be quiesced.
        self.tensors = [entry for entry in self.tensors if entry[0] != name]
        ttnn.close_mesh_device(self.meshes.pop(name))
        self.parents.pop(name)
        self.say("closed", name)

    def sub_devices(self):
        device = self.use("device")
        rows = device.compute_with_storage_grid_size().y
        halves = [
            ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(x, 0), ttnn.CoreCoord(x + 1, rows - 1))])
            for x in (0, 2)
        ]
        if not IS_FAST or "device" not in self.usable() or any(name == "device" and not is_in_dram(tensor) for name, tensor, _ in self.tensors):
            return self.move()
        manager = device.create_sub_device_manager([ttnn.SubDevice([half]) for half in halves], 3200)
        device.load_sub_device_manager(manager)
        for turn in range(self.random.randrange(1, 4)):
            launch(device, halves[turn % 2])
        device.clear_loaded_sub_device_manager()
        device.remove_sub_device_manager(manager)
        self.say("sub-devices")

    def check(self, name):
        """Prints what the tensors of a mesh hold."""
        self.use(name)
        for number, (owner, tensor, values) in enumerate(self.tensors):
            if owner != name:
                continue
            for part in ttnn.get_device_tensors(tensor.cpu()):
                found = part.to_numpy().flatten()
                wrong = int((found != values).sum())
                digest = hashlib.sha256(found.tobytes()).hexdigest()[:16]
                self.say("values of", number, digest, "wrong", wrong)
        mesh = self.meshes[name]
        self.say(name, "cached programs", mesh.num_program_cache_entries())

    def run(self):
        steps = [self.allocate] * 4 + [self.move] * 6 + [self.free] * 2 + [self.divide] * 2
        steps += [self.close_one, self.sub_devices, self.replay, self.replay]
        for _ in range(self.random.randrange(6, 20)):
            self.random.choice(steps)()
        for name in reversed(self.usable()):
            self.check(name)
        self.tensors.clear()
        if self.random.random() < 0.8:
            self.use("device")
            for name in reversed(list(self.meshes)):
                ttnn.close_mesh_device(self.meshes.pop(name))
        else:
            self.say("left open")
            return False
        self.say("ids", ttnn._ttnn.get_device_operation_id(), ttnn._ttnn.get_tensor_id())
        return True


def is_in_dram(tensor):
    return tensor.memory_config().buffer_type == ttnn.BufferType.DRAM


SOURCE = """
#include <cstdint>
void kernel_main() {
    for (volatile uint32_t turn = 0; turn < 100; turn = turn + 1) {}
}
"""


def launch(device, cores):
    kernel = ttnn.KernelDescriptor(
        kernel_source=SOURCE,
        source_type=ttnn.KernelDescriptor.SourceType.SOURCE_CODE,
        core_ranges=cores,
        compile_time_args=[],
        runtime_args=ttnn.RuntimeArgs(),
        config=ttnn.DataMovementConfigDescriptor(),
    )
    program = ttnn.ProgramDescriptor(kernels=[kernel], semaphores=[], cbs=[])
    tensor = ttnn.empty([1, 32], ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT, device, ttnn.DRAM_MEMORY_CONFIG)
    ttnn.generic_op([tensor, tensor], program)


SHAPE = tuple(map(int, os.environ.get("KPROF_TEST_MESH", "1x1").split("x")))
for seed in range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])):
    if not Program(seed).run():
        break
