"""Tests that the Python code of each page runs, from the page's first block to its last.

The tests create only what the pages require: a recording, a later one, and a model's results.
"""

import re
from pathlib import Path

import pytest

import kprof
import kprof.perf

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text())


def names_of_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Enters a folder with the files that a page requires; returns the page's initial names."""
    mesh = kprof.SimulatedMesh("matmul")
    measured = kprof.read_device_profiler(mesh, capture=folder / "later.kprof")
    logs = folder / "generated" / "profiler" / ".logs"
    logs.mkdir(parents=True)
    measured.export(logs / "profile_log_device.csv")
    monkeypatch.chdir(folder)
    # There is no model to run, so fixed results replace those of its ten runs.
    results = kprof.perf.PerfResults({"AVG DEVICE FW SAMPLES/S": 410.0}, {})
    monkeypatch.setattr(kprof.perf, "run_device_perf", lambda *_, **__: results)
    return {"__name__": "page"}


@pytest.mark.parametrize("page", [page for page in PAGES if "```python" in page.read_text()])
def test_blocks_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.stem in ("ttnn", "parquet"):
        # These pages need ttnn and a chip, or other readers of datasets, which tests/datasets
        # tests. Here, their blocks are only compiled.
        for block in blocks(page):
            compile(block, str(page), "exec")
        return
    names = names_of_page(tmp_path, monkeypatch)
    for block in blocks(page):
        exec(compile("import kprof, pytest\n" + block, str(page), "exec"), names)
    if page.stem == "python":
        # The first block has run: it has defined its names and written its file.
        assert len(names["zones"]) > 0 and (tmp_path / "run.pftrace").stat().st_size > 0
