"""Device logs with known figures, and what docs/parquet.md says about reading datasets."""

import pathlib
import re

import pyarrow

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "parquet.md"
TABLES = [
    "buffers", "counters", "host_events", "host_zones", "losses", "markers", "memory",
    "noc_events", "op_buffers", "ops", "ops_report", "profiler_time", "recordings", "wait_sums", "waits", "zones",
]
HEADER = """ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, \
run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data
"""


def write_log(path, choose, launches):
    """Writes a device log; returns the number of its zones and the sum of their cycles."""
    lines, start, zones, cycles = [HEADER], 1000, 0, 0
    for launch in range(1, launches + 1):
        for core in range(1, 9):
            for risc in "BRISC", "NCRISC":
                duration = choose.randint(1, 9000)
                for kind, time in ("ZONE_START", start), ("ZONE_END", start + duration):
                    lines.append(
                        f"0,{core},2,{risc},8,{time},0,{launch << 10},,,{risc}-KERNEL,{kind},1,k.cc,\n"
                    )
                zones += 1
                cycles += duration
        start += 10_000
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))
    return zones, cycles


def python_of_page(heading):
    """The Python of a section of the page, by the name of the module that it imports first."""
    section = PAGE.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", section, re.S)
    named = {re.match(r"(?:import|from) (\w+)", block)[1]: block for block in blocks}
    assert len(named) == len(blocks), named
    return named


def cycles_by_host(found):
    """Cycles by host of the table that a reader has given."""
    sums = {}
    for row in pyarrow.table(found).to_pylist():
        assert row["host"] not in sums, row
        sums[row["host"]] = int(row["cycles"])
    return sums
