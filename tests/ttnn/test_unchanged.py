"""A program under `kprof record` does and prints what it does without kprof."""

from __future__ import annotations

import os
import pathlib
import random
import re
import subprocess
import sys

import pytest
from test_process import HERE, IS_FAST, Recorded, cache, record, run, variables  # noqa: F401


def seeds(first: int, count: int) -> list[int]:
    """Seeds of random programs: three fixed ones or, in `.ci/full`, half of `count`, and as many new ones."""
    if "KPROF_TTNN_FULL" not in os.environ:
        return list(range(first, first + 3))
    fresh = random.SystemRandom().randrange(10_000, 1 << 30)
    return [*range(first, first + count // 2), *range(fresh, fresh + count // 2)]


@pytest.fixture(scope="session")
def plain(cache, variables, tmp_path_factory):  # noqa: F811
    """Variables that let a program run without kprof: only the compiler is the stand-in."""
    import ttnn

    package = pathlib.Path(ttnn.__file__).parent
    root = tmp_path_factory.mktemp("plain")
    link(package, root, "runtime")
    link(package / "runtime", root / "runtime", "sfpi")
    compiler = root / "runtime" / "sfpi" / "compiler" / "bin" / "riscv-tt-elf-g++"
    compiler.parent.mkdir(parents=True)
    compiler.symlink_to(variables["KPROF_TTNN_COMPILER"])
    return {
        **variables,
        "TT_METAL_RUNTIME_ROOT": str(root),
        "TT_METAL_CACHE": str(pathlib.Path(cache) / "plain"),
        "TT_METAL_DISABLE_PRECOMPILED_FW": "1",
    }


def link(source: pathlib.Path, target: pathlib.Path, left_out: str) -> None:
    """Links to all entries of a folder but one."""
    target.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir() if source.is_dir() else ():
        if entry.name != left_out:
            (target / entry.name).symlink_to(entry)


def told(done: subprocess.CompletedProcess) -> list[str]:
    """The lines that the program itself prints, among those of tt-metal."""
    return [line for line in done.stdout.splitlines() if line.startswith("=")]


def compare(program: str, arguments: list[str], plain, record, tmp_path) -> Recorded:  # noqa: F811
    words = [sys.executable, str(HERE / "programs" / program), *arguments]
    alone = run(words, plain, tmp_path)
    recorded = record(program, *arguments)
    assert told(alone), alone.stdout + alone.stderr
    of_recorded = [line for line in recorded.said.splitlines() if line.startswith("=")]
    assert of_recorded == told(alone), recorded.said
    assert recorded.exit_code == alone.returncode, recorded.said
    assert "a read failed" not in recorded.said and "not read" not in recorded.said, recorded.said
    return recorded


def test_tensors_of_a_submesh_keep_their_bytes_and_addresses(plain, record, tmp_path):  # noqa: F811
    recorded = compare("submesh_of_one_chip.py", [], plain, record, tmp_path)
    assert recorded.said.count("= wrong 0\n") == 4, recorded.said
    assert recorded.names == ["CloneOperation"] * 3
    assert "Lost: nothing" in recorded.report


@pytest.mark.parametrize("seed", seeds(400, 100))
def test_random_programs_do_what_they_do_without_kprof(seed, plain, record, tmp_path):  # noqa: F811
    recorded = compare("random_meshes.py", [str(seed), "1"], plain, record, tmp_path)
    assert "Lost: nothing" in recorded.report or "Losses" not in recorded.report


def test_a_program_that_needs_all_memory_gets_it(plain, record, tmp_path):  # noqa: F811
    recorded = compare("whole_memory.py", [], plain, record, tmp_path)
    assert recorded.said.count("= wrong 0\n") == 1, recorded.said
    found = re.search(r"the program needs the (\d+) bytes of each DRAM bank", recorded.said)
    assert found and int(found[1]) > 1_000_000, recorded.said
    assert "the recording of chips [0] ends here" in recorded.said
    # What ran before is kept.
    assert recorded.names[:1] == ["CloneOperation"]
