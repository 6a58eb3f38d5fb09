"""Ops whose memory is known: after each one, L1 is read as the firmware left it.

The file that the first argument names gets, for each launch: what the launch message in each core's
L1 says, and the program's own tensors, whose sizes are computed from their shapes.
"""

import ctypes
import json
import os
import re
import struct
import sys

import tensors
import ttnn

TILE, ROWS, L1 = ttnn.TILE_LAYOUT, ttnn.ROW_MAJOR_LAYOUT, ttnn.L1_MEMORY_CONFIG

device = tensors.open_device()
IS_BLACKHOLE = "blackhole" in str(device.arch()).lower()

# The layout of `mailboxes_t` and `kernel_config_msg_t` in tt-metal 0.81.1, `dev_msgs.h`.
MAILBOXES = 96 if IS_BLACKHOLE else 16
ENTRIES = 8
STRIDE = 144
CONFIG = struct.Struct("<4I 4H HH 20s BBH 5I 5I 4x Q BBBB I I I 10s H")
PROCESSORS = ["BRISC", "NCRISC", "TRISC_0", "TRISC_1", "TRISC_2"]
# Two words of NCRISC, one of the subordinates, and the number of the next message are before them.
FIRST = MAILBOXES + 16
library = ctypes.CDLL(os.environ.get("KPROF_CHIP_LIBRARY") or os.environ["TT_METAL_SIMULATOR"])


def l1(core, address, size):
    buffer = ctypes.create_string_buffer(size)
    library.libttsim_tile_rd_bytes(*map(ctypes.c_uint32, core), ctypes.c_uint64(address), buffer, ctypes.c_uint32(size))
    return buffer.raw


folder = os.path.dirname(os.environ["TT_METAL_SIMULATOR"])
with open(os.path.join(folder, "soc_descriptor.yaml")) as file:
    listed = re.search(r"functional_workers:\s*\[(.*?)\]", file.read(), re.S)[1]
WORKERS = [tuple(map(int, pair)) for pair in re.findall(r"(\d+)-(\d+)", listed)]


def align(number, to):
    return -(-number // to) * to


def launched(program):
    """What the launch messages of a program say, by core."""
    found = {}
    for core in WORKERS:
        ring = l1(core, FIRST, ENTRIES * STRIDE)
        for entry in range(ENTRIES):
            message = CONFIG.unpack_from(ring, entry * STRIDE)
            base, local = message[0], message[8]
            offsets, sizes = message[14:19], message[19:24]
            mask, least_remote, host_id = message[24], message[27], message[29]
            if host_id != program:
                continue
            kernels = {
                name: [base + offset, size] for name, offset, size in zip(PROCESSORS, offsets, sizes) if size
            }
            config = l1(core, base + local, 16 * 64)
            buffers = {
                number: struct.unpack_from("<4I", config, 16 * number)
                for number in range(64)
                if mask >> number & 1
            }
            assert least_remote >= 32, "a remote circular buffer, which this test does not read"
            found["%d-%d" % core] = {"kernels": kernels, "circular_buffers": buffers}
    return found


if __name__ == "__main__":
    truths, kept = [], []
    grid = device.compute_with_storage_grid_size()
    BANKS = {"L1": grid.x * grid.y, "DRAM": device.dram_grid_size().x}

    def bank_bytes(tensor):
        """Bytes of a tensor in each bank, from its shape."""
        memory = tensor.memory_config()
        shape = list(tensor.padded_shape)
        count = 1
        for side in shape:
            count *= side
        width = 4 if tensor.dtype == ttnn.uint32 else 2
        region = str(memory.buffer_type).rpartition(".")[2]
        if memory.is_sharded():
            rows, columns = memory.shard_spec.shape
            return region, rows * columns * width
        page = 1024 * width if tensor.layout == TILE else shape[-1] * width
        pages = count * width // page
        alignment = 64 if region == "DRAM" and IS_BLACKHOLE else 32 if region == "DRAM" else 16
        return region, -(-pages // BANKS[region]) * align(page, alignment)

    def note(name, result):
        ttnn.synchronize_device(device)
        kept.append(result)
        program = ttnn._ttnn.get_device_operation_id() - 1
        live = [
            [*bank_bytes(tensor), tensor.buffer_address(), f"{list(tensor.shape)}"]
            for tensor in kept
            if tensor.is_allocated()
        ]
        # The op is called on the line that notes it.
        line = sys._getframe(1).f_lineno
        truths.append({"program": program, "op": name, "line": line, "cores": launched(program), "tensors": live})

    _, a = tensors.rows(device)
    _, m = tensors.tiles(device, 0)
    _, n = tensors.tiles(device, 1)
    _, s = tensors.tiles(device, 2, layout=ROWS)
    _, wide = tensors.tiles(device, 3, shape=(256, 512))
    kept += [a, m, n, s, wide]
    height = ttnn.create_sharded_memory_config(
        (256, 512), core_grid=ttnn.CoreGrid(y=2, x=4), strategy=ttnn.ShardStrategy.HEIGHT
    )
    note("slice", ttnn.slice(a, [0, 0, 0, 0], [1, 1, 32, 64]))
    note("concat", ttnn.concat([a, a], dim=3))
    note("pad", ttnn.pad(a, [(0, 0), (0, 0), (0, 32), (0, 0)], 7))
    note("clone", ttnn.clone(a))
    note("to_memory_config", ttnn.to_memory_config(a, L1))
    note("slice", ttnn.slice(m, [0, 0], [32, 64]))
    note("concat", ttnn.concat([m, n], dim=0))
    note("matmul", ttnn.matmul(m, n))
    note("matmul", ttnn.matmul(m, n, memory_config=L1))
    note("add", ttnn.add(m, n))
    note("add", ttnn.add(m, n, memory_config=L1))
    note("add", ttnn.add(m, n, memory_config=L1))
    note("subtract", ttnn.subtract(m, n))
    note("to_layout", ttnn.to_layout(s, TILE))
    note("to_layout", ttnn.to_layout(m, ROWS))
    kept[-2].deallocate(True)
    note("transpose", ttnn.transpose(m, 0, 1))
    note("permute", ttnn.permute(m, (1, 0)))
    note("to_memory_config", ttnn.to_memory_config(wide, L1))
    in_l1 = kept.pop()
    note("to_memory_config", ttnn.to_memory_config(in_l1, height))
    sharded = kept[-1]
    del in_l1
    note("add", ttnn.add(sharded, sharded, memory_config=height))
    note("add", ttnn.add(wide, wide, memory_config=L1))
    with open(sys.argv[1], "w") as file:
        json.dump(truths, file)
    ttnn.close_device(device)
