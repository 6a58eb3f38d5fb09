"""Ops with the shapes, types and memory of rows of `cards.jsonl`: each row three times, after a signpost.

Cores that wait for an op have its kernels and configuration, and begin with it at the same time. So an op starts when
the one before has ended, unless the card had none of this time either."""

import json
import sys

import kprof
import tensors
import ttnn

REPEATS = 3


def memory(facts):
    """A memory configuration; without the shard where the op chooses it."""
    layout = getattr(ttnn.TensorMemoryLayout, facts["layout"].upper())
    buffer = getattr(ttnn.BufferType, facts["buffer"].upper())
    if "shard" not in facts:
        return ttnn.MemoryConfig(layout, buffer)
    ranges = [ttnn.CoreRange(ttnn.CoreCoord(x, y), ttnn.CoreCoord(to_x, to_y)) for x, y, to_x, to_y in facts["grid"]]
    orientation = getattr(ttnn.ShardOrientation, facts.get("orientation", "row_major").upper())
    shard = ttnn.ShardSpec(ttnn.CoreRangeSet(set(ranges)), facts["shard"], orientation)
    return ttnn.MemoryConfig(layout, buffer, shard)


def tensor(device, facts):
    layout = ttnn.TILE_LAYOUT if facts["layout"] == "tile" else ttnn.ROW_MAJOR_LAYOUT
    dtype = getattr(ttnn, facts["type"])
    return ttnn.empty(facts["shape"], dtype=dtype, layout=layout, device=device, memory_config=memory(facts["memory"]))


def program_config(facts):
    """The configuration of a matmul's program."""
    facts = dict(facts)
    kind, grid = facts.pop("kind"), facts.pop("grid")
    renamed = {"mcast_in0": bool, "fuse_batch": bool, "gather_in0": bool, "transpose_mcast": bool}
    options = {name: renamed.get(name, int)(value) for name, value in facts.items()}
    return getattr(ttnn, kind)(compute_with_storage_grid_size=tuple(grid), fused_activation=None, **options)


def matmul(device, inputs, options, output):
    settings = {"math_fidelity": getattr(ttnn.MathFidelity, options["fidelity"])}
    settings |= {"math_approx_mode": options["approximate"], "fp32_dest_acc_en": options["fp32_dest"]}
    kernel = ttnn.init_device_compute_kernel_config(
        device.arch(), packer_l1_acc=options["packer_l1_acc"], **settings
    )
    chosen = {}
    if "core_grid" in options:
        x, y = options["core_grid"]
        chosen["core_grid"] = ttnn.CoreGrid(x=x, y=y)
    if "program_config" in options:
        chosen["program_config"] = program_config(options["program_config"])
    if len(inputs) == 3:
        chosen["bias"] = inputs[2]
    op = ttnn.linear if len(inputs) == 3 else ttnn.matmul
    return op(inputs[0], inputs[1], compute_kernel_config=kernel, **output, **chosen)


def call(device, row, inputs, spare):
    """Calls the op of a row; what it returns is freed by the caller. A move frees `spare`, to move to there."""
    options, first = row["options"], inputs[0]
    output = {"memory_config": memory(options["memory"])}
    dtype = getattr(ttnn, options["dtype"])
    is_converted = options["dtype"] != row["inputs"][0]["type"]
    typed = {"dtype": dtype} if is_converted else {}
    match row["call"]:
        case "matmul":
            return matmul(device, inputs, options, {"dtype": dtype, **output})
        case "interleaved_to_sharded":
            return ttnn.interleaved_to_sharded(first, output["memory_config"], dtype)
        case "sharded_to_interleaved":
            return ttnn.sharded_to_interleaved(first, output["memory_config"], output_dtype=dtype)
        case "transpose":
            return ttnn.transpose(first, *options["dims"], **output)
        case "permute":
            return ttnn.permute(first, options["dims"], **output)
        case "add" | "sub" | "mul" as name:
            op = {"add": ttnn.add, "sub": ttnn.subtract, "mul": ttnn.multiply}[name]
            return op(*inputs, dtype=dtype, **output)
        case "tilize":
            return ttnn.tilize(first, use_multicore=options["multicore"], **typed, **output)
        case "untilize":
            return ttnn.untilize(first, use_multicore=options["multicore"], **output)
        case "tilize_with_val_padding":
            padded = options["padded"]
            return ttnn.tilize_with_val_padding(first, padded, 0.0, use_multicore=options["multicore"], **typed, **output)
        case "untilize_with_unpadding":
            end = options["end"]
            return ttnn.untilize_with_unpadding(first, end, use_multicore=options["multicore"], **output)
        case "reshape":
            return ttnn.reshape(first, options["shape"], **output)
        case "concat":
            return ttnn.concat(inputs, options["dim"], **output)
        case "slice":
            return ttnn.slice(first, options["start"], options["end"], **output)
        case "pad":
            return ttnn.pad(first, options["shape"], [0, 0, 0, 0], 0.0, use_multicore=options["multicore"], **output)
        case "to_memory_config":
            return ttnn.to_memory_config(first, output["memory_config"])
        case "move":
            if spare is not None:
                ttnn.deallocate(spare)
            return ttnn.move(first, **output)
        case other:
            raise ValueError(f"expected the call of an op, found `{other}`")


def main():
    path, wanted = sys.argv[1], [int(number) for number in sys.argv[2].split(",")]
    with open(path) as file:
        rows = file.read().splitlines()
    device = tensors.open_device()
    for number in wanted:
        row = json.loads(rows[number])
        kprof.signpost(f"card {number}")
        try:
            for _ in range(REPEATS):
                # A sharded tensor moves if there is room behind it.
                is_moved = row["call"] == "move" and "shard" in row["inputs"][0]["memory"]
                spare = tensor(device, row["inputs"][0]) if is_moved else None
                inputs = [tensor(device, facts) for facts in row["inputs"]]
                output = call(device, row, inputs, spare)
                if "back_to_back" not in row:
                    ttnn.synchronize_device(device)
                for one in [output, *inputs]:
                    if one.is_allocated():
                        ttnn.deallocate(one)
            ttnn.synchronize_device(device)
        except (RuntimeError, TypeError, ValueError) as error:
            print(f"= refused {number}", str(error).strip().splitlines()[0][:300], flush=True)
    ttnn.close_device(device)


main()
