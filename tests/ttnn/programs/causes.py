"""Matmuls with one weakness, which the first argument names; with `mended` behind it, without it."""

import sys

import tensors
import ttnn

WEAKNESS, IS_MENDED = sys.argv[1], "mended" in sys.argv
# Launches cost more than the work of small ops.
SIZE, REPEATS = 128 if WEAKNESS == "launches" else 256, 4


def one_matmul_for_all(device, m, n):
    """The same rows in one launch."""
    _, all_rows = tensors.tiles(device, 0, (REPEATS * SIZE, SIZE))
    ttnn.matmul(all_rows, n)


def matmuls(device, m, n, **options):
    for _ in range(REPEATS):
        ttnn.matmul(m, n, **options)


def on_few_cores(device, m, n):
    grid = ttnn.CoreGrid(y=4, x=8) if IS_MENDED else ttnn.CoreGrid(y=1, x=1)
    matmuls(device, m, n, core_grid=grid)


def without_program_config(device, m, n):
    config = ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(
        compute_with_storage_grid_size=(8, 8),
        # The whole inner dimension at once, instead of one tile after the other.
        in0_block_w=SIZE // 32,
        out_subblock_h=1,
        out_subblock_w=1,
        per_core_M=1,
        per_core_N=1,
        transpose_mcast=False,
        fused_activation=None,
    )
    matmuls(device, m, n, program_config=config if IS_MENDED else None)


def tilized_in_the_loop(device, m, n):
    _, rows = tensors.tiles(device, 0, (SIZE, SIZE), layout=ttnn.ROW_MAJOR_LAYOUT)
    for _ in range(REPEATS):
        ttnn.matmul(m if IS_MENDED else ttnn.to_layout(rows, ttnn.TILE_LAYOUT), n)


device = tensors.open_device()
_, first = tensors.tiles(device, 0, (SIZE, SIZE))
_, second = tensors.tiles(device, 1, (SIZE, SIZE))
{
    "launches": one_matmul_for_all if IS_MENDED else matmuls,
    "one core": on_few_cores,
    "no program_config": without_program_config,
    "tilize": tilized_in_the_loop,
}[WEAKNESS](device, first, second)
ttnn.close_device(device)
