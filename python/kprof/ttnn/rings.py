"""Unpushed data in the rings of running kernels, such as dispatch kernels."""

from __future__ import annotations

from typing import Any

FIRST_OPTIONAL = 12
"""Words of a ring before a kernel's first marker."""
EMPTY = 0x80000000
PAYLOAD_WORDS = {0: 0, 1: 0, 2: 0, 3: 2, 4: 0, 5: 4}
"""Number of payload words after a marker, by kind."""
START, END = 0, 1
PUSHED_WORDS = 4
"""Every push is a multiple of this number of words."""


def ended_words(ring: list[int]) -> int:
    """Returns the words of a ring up to the end of its last complete outermost zone.
    A ring is filled repeatedly: words after the RISC's write position are left over from before.
    """
    at = ended = FIRST_OPTIONAL
    depth = last = 0
    while at + 2 <= len(ring):
        header, low = ring[at : at + 2]
        kind, time = header >> 28 & 7, (header & 0xFFF) << 32 | low
        if not header & EMPTY or header == EMPTY or kind not in PAYLOAD_WORDS or time < last:
            break
        last = time
        at += 2 + PAYLOAD_WORDS[kind]
        depth += (kind == START) - (kind == END)
        # A zone's start may have been pushed already; the ring then has only the zone's end.
        depth = max(depth, 0)
        if depth == 0 and at <= len(ring):
            ended = at
    return ended


def waiting_words(ring: list[int]) -> list[int]:
    """Returns the words that a push would write; empty if no zone has ended since the last push."""
    count = ended_words(ring)
    if count == FIRST_OPTIONAL:
        return []
    return ring[:count] + [EMPTY, 0] * (-count % PUSHED_WORDS // 2)


def push_waiting(controls: Any, rings: Any, lanes: Any, place: Any) -> None:
    """Writes the data in the rings of cores to the copies of their lanes, as a push would.
    ``controls`` and ``rings`` belong to the cores, and ``lanes`` has the words of all banks.
    ``place`` returns the bank, the first word and the size of a RISC's lane. Markers that do not
    fit into a lane are counted as refused, as by a push.
    """
    for control, core_rings, core in zip(controls, rings, range(len(controls))):
        for risc in range(5):
            if not int(control[ENABLES]) >> risc & 1:
                continue
            words = waiting_words([int(word) for word in core_rings[risc]])
            bank, begin, lane_words = place(core, risc)
            position = int(control[risc])
            if not words:
                continue
            if position + len(words) > lane_words:
                control[REFUSED_RUNS + risc] += 1
                control[REFUSED_MARKERS + risc] += (len(words) - 4) // 2
                continue
            lanes[bank, begin + position : begin + position + len(words)] = words
            control[risc] += len(words)


ENABLES = 23
REFUSED_RUNS = 9
REFUSED_MARKERS = 14
