"""Memory that the profiler reserves on the chips of a mesh."""

from __future__ import annotations

from typing import Any

from .unnoticed import undecorated

FILLER_PAGE_BYTES = 1 << 20
ALIGNMENT = 64
"""Alignment in bytes that every chip accepts for transfers between L1 and DRAM."""


class DoesNotFit(RuntimeError):
    """The largest free block of each DRAM bank is too short."""

    def __init__(self, needed: int, found: int) -> None:
        super().__init__(f"expected {needed} free bytes in each DRAM bank, found {found}")
        self.found = found


def reserve(ttnn: Any, device: Any, bank_words: list[int]) -> list[Any]:
    """Returns a tensor for each number of words, with one page in each DRAM bank.

    The tensors are at the end of the largest free block, because the allocator of ttnn begins at
    the start: the tensors of the program keep the addresses that they have without the profiler.
    Meshes whose memory is equally full get equal addresses.
    """
    bank_count = device.dram_grid_size().x
    view = undecorated(ttnn.get_memory_view)(device, ttnn.BufferType.DRAM)
    found = int(view.largest_contiguous_bytes_free_per_bank)
    needed = sum(-(-4 * words // ALIGNMENT) * ALIGNMENT for words in bank_words)
    if needed > found:
        raise DoesNotFit(needed, found)

    def tensor(rows: int, words: int) -> Any:
        return undecorated(ttnn.empty)(
            [rows, words], ttnn.uint32, ttnn.ROW_MAJOR_LAYOUT, device, ttnn.DRAM_MEMORY_CONFIG
        )

    reserved: list[Any] = []
    filler_pages = (found - needed) // FILLER_PAGE_BYTES
    filler = tensor(bank_count * filler_pages, FILLER_PAGE_BYTES // 4) if filler_pages else None
    try:
        for words in bank_words:
            reserved.append(tensor(bank_count, words))
    except RuntimeError as error:
        free(reserved)
        raise DoesNotFit(needed, found) from error
    finally:
        if filler is not None:
            filler.deallocate(True)
    return reserved


def free(tensors: list[Any]) -> None:
    """Frees the memory of tensors."""
    for tensor in tensors:
        tensor.deallocate(True)
