"""Kernels that dispatch under `kprof record --profile-dispatch-cores`, against what their RISCs stored."""

from __future__ import annotations

import csv
import pathlib
import re

import pytest
from test_process import IS_FAST, KINDS, RISCS, cache, is_complete, record, variables

__all__ = ["cache", "record", "variables"]

pytestmark = pytest.mark.skipif(not IS_FAST, reason="nothing dispatches without fast dispatch")

ZONES = {"CQ-PREFETCH": "BRISC", "CQ-DISPATCH": "BRISC", "CQ-DISPATCH-SUBORDINATE": "NCRISC"}
"""The zones of the three kernels, and the RISC that each runs on."""
OPTIONS = ("-r", "--profile-dispatch-cores")

Place = tuple[int, int, int]
Zones = list[tuple[int, int]]


class Shown:
    """Rows of a device log."""

    def __init__(self, output: pathlib.Path) -> None:
        with (output / ".logs" / "profile_log_device.csv").open(newline="") as file:
            next(file)
            self.rows = list(csv.DictReader(file, skipinitialspace=True))

    def of_zone(self, name: str) -> list[dict[str, str]]:
        # With metadata, the names in tt-metal's logs have a suffix.
        names = {name} | {row["zone name"] for row in self.rows if row["zone name"].startswith(f"{name}:")}
        return [row for row in self.rows if row["zone name"] in names and row["type"] in KINDS]

    def zones(self, name: str) -> tuple[Place, int, Zones]:
        """Place, id and times of a zone that one RISC alone has."""
        rows = self.of_zone(name)
        ((place, number),) = {(place_of(row), int(row["timer_id"]) & 0xFFFF) for row in rows}
        times = sorted((time_of(row), row["type"]) for row in rows)
        starts, ends = times[::2], times[1::2]
        assert {kind for _, kind in starts} == {"ZONE_START"}
        assert {kind for _, kind in ends} == {"ZONE_END"}
        return place, number, [(start, end) for (start, _), (end, _) in zip(starts, ends, strict=True)]


def place_of(row: dict[str, str]) -> Place:
    return int(row["core_x"]), int(row["core_y"]), RISCS[row["RISC processor type"]]


def time_of(row: dict[str, str]) -> int:
    return int(row["time[cycles since reset]"])


def stored_zones(path: pathlib.Path, place: Place, number: int) -> Zones:
    """Times of the zones with an id that a RISC stored to its ring, as the simulator saw them."""
    zones, opened, before = [], None, (0, 0)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if (int(row["x"]), int(row["y"]), int(row["risc"])) != place:
                continue
            address, word = int(row["address"]), int(row["value"])
            first_address, first = before
            before = address, word
            if address != first_address + 4 or first >> 31 == 0 or first >> 12 & 0xFFFF != number:
                continue
            time = (first & 0xFFF) << 32 | word
            if first >> 28 & 7 == KINDS["ZONE_START"]:
                opened = time
            elif first >> 28 & 7 == KINDS["ZONE_END"] and opened is not None:
                zones.append((opened, time))
                opened = None
    return zones


@pytest.fixture
def stores(variables, tmp_path):
    path = tmp_path / "stores.csv"
    variables["KPROF_CHIP_STORES"] = str(path)
    variables["KPROF_CHIP_STORE_RANGE"] = "0-4000"
    return path


def check_zones(shown: Shown, stores: pathlib.Path, bounds: tuple[int, int]) -> dict[str, Zones]:
    """Checks that between two times, zones of each kernel are those that its RISC has stored."""
    found = {}
    for name, risc in ZONES.items():
        place, number, zones = shown.zones(name)
        assert place[2] == RISCS[risc]
        stored = stored_zones(stores, place, number)
        first = stored.index(zones[0])
        assert stored[first : first + len(zones)] == zones, name
        # The zones cover the time from before the first op until after the last op.
        assert zones[0][0] < bounds[0], name
        assert zones[-1][1] > bounds[1], name
        found[name] = zones
    return found


def test_zones_of_the_three_kernels_are_those_that_were_stored(record, stores):
    recorded = record("loop.py", "5", options=OPTIONS)
    assert recorded.exit_code == 0, recorded.said
    rows = recorded.rows
    ids = {int(row["GLOBAL CALL COUNT"]) for row in rows}
    assert ids == {1024 * n for n in range(1, 6)}
    assert all(is_complete(row) for row in rows)
    report = recorded.report
    assert "Anomalies" not in report
    # "L1 full" counts records without room in a ring before the ring had a lane, if the host was
    # slow. No zone is missing from the first op on, which is checked below.
    causes = re.findall(r"^ (.+?)  +0  +\w+ .*$", report.partition("\n cause ")[2], re.M)
    assert set(causes) <= {"validate off", "L1 full"}, causes
    # Kernels of the dispatch cores belong to no op.
    assert "GenericOp" not in report

    shown = Shown(recorded.output)
    of_ops = [time_of(row) for row in shown.rows if int(row["run host ID"]) in ids]
    if not stores.exists():
        pytest.skip("this simulator does not tell what was stored")
    zones = check_zones(shown, stores, (min(of_ops), max(of_ops)))
    # Each command is a zone. A program needs several commands of the dispatcher and one GO message.
    assert len(zones["CQ-DISPATCH"]) > len(zones["CQ-DISPATCH-SUBORDINATE"]) >= len(rows)
