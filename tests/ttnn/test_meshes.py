"""Programs on two simulated chips: `kprof record --simulate CHIP*2`."""

from __future__ import annotations

import collections
import os
import pathlib

import pytest
from test_process import CHIP, IS_FAST, SIMULATOR, cache, is_complete, record, run, variables  # noqa: F401
from test_unchanged import compare, plain, seeds  # noqa: F401

ARCH = next(
    (
        line.split(":")[1].strip().lower()
        for line in pathlib.Path(SIMULATOR).with_name("soc_descriptor.yaml").read_text().splitlines()
        if line.startswith("arch_name:")
    ),
    "",
)
pytestmark = pytest.mark.skipif(not CHIP.exists(), reason="this package kprof has no simulated chip in it")


@pytest.fixture
def record_two(record):  # noqa: F811
    """Runs a program under `kprof record` on two chips."""
    return lambda *words: record(*words, options=("-r", "--simulate", f"{ARCH}*2"))


@pytest.fixture
def plain_two(record_two, plain):  # noqa: F811
    """Variables that let a program run on the same two chips without kprof."""
    said = record_two("simulator.py").said
    (library,) = [line.split(maxsplit=1)[1] for line in said.splitlines() if line.startswith("simulator ")]
    return {**plain, "TT_METAL_SIMULATOR": library, "KPROF_CHIP_COUNT": "2"}


def by_chip(recorded) -> dict[str, list[str]]:
    """Names of the ops of each chip, in their order."""
    names = collections.defaultdict(list)
    for row in recorded.rows:
        names[row["DEVICE ID"]].append(row["OP CODE"])
    return dict(names)


@pytest.mark.parametrize("how", ["devices", "submeshes"])
def test_each_chip_has_the_ops_that_ran_on_it(record_two, how):
    recorded = record_two("two_devices.py", how)
    assert recorded.exit_code == 0, recorded.said
    both = ["CloneOperation"] if how == "submeshes" else []
    expected = {"0": both + ["CloneOperation"] * 3, "1": both + ["SliceDeviceOperation"] * 2}
    assert by_chip(recorded) == expected
    assert "Lost: nothing" in recorded.report
    wrong = [line for line in recorded.said.splitlines() if line.startswith("= wrong")]
    assert wrong == ["= wrong 0"] * (5 + 2 * len(both)), recorded.said


def test_replicated_and_sharded_tensors_and_a_trace_run_on_both_chips(record_two):
    recorded = record_two("mesh_tensors.py")
    assert recorded.exit_code == 0, recorded.said
    # Two clones, and with fast dispatch the capture and three replays of another one.
    ops = ["CloneOperation"] * (6 if IS_FAST else 2)
    assert by_chip(recorded) == {"0": ops, "1": ops}
    sessions = [row["METAL TRACE REPLAY SESSION ID"] for row in recorded.rows if row["DEVICE ID"] == "1"]
    assert sessions == ["", "", *(["", "1", "2", "3"] if IS_FAST else [])]
    ran = [row for row in recorded.rows if not row["METAL TRACE ID"] or row["METAL TRACE REPLAY SESSION ID"]]
    assert all(is_complete(row) for row in ran)
    assert "Lost: nothing" in recorded.report
    wrong = [line for line in recorded.said.splitlines() if line.startswith("= wrong")]
    assert wrong == ["= wrong 0"] * (6 if IS_FAST else 4), recorded.said


# 545 leaves a submesh open that it has used without launching anything.
@pytest.mark.parametrize("seed", [500, 545, *(seeds(600, 20) if "KPROF_TTNN_FULL" in os.environ else [])])
def test_random_programs_on_two_chips_do_what_they_do_without_kprof(
    seed, record_two, plain_two, monkeypatch, tmp_path
):
    monkeypatch.setenv("KPROF_TEST_MESH", "1x2")
    again = tmp_path / "again"
    again.mkdir()
    compare("random_meshes.py", [str(seed), "1"], plain_two, record_two, again)
