"""Causes that `kprof explain` names for real ops: without them, the program gains what was told."""

from __future__ import annotations

import json
import os

import pytest
from test_process import Recorded, aiclk_mhz, cache, recorded_in, run, variables

__all__ = ["cache", "variables"]

WEAK = [
    # Name of the weakness, recorded waits, expected cause, maximum rank of its sentence, text that its
    # reason or advice contains, and the least share of the told gain that the mended program gains.
    ("launches", "totals", "dispatch", 2, "give each op more work", 0.5),
    ("launches", "events", "dispatch", 2, "give each op more work", 0.5),
    ("one core", "off", "op_group", 1, "the longest on 1 of ", 0.5),
    # Each launch also reads its code from L1, whatever its program_config is.
    ("no program_config", "off", "op_group", 2, "pass a program_config that sets in0_block_w", 0.4),
    ("tilize", "off", "layout", 3, "TilizeDeviceOperation", 0.5),
]


@pytest.mark.parametrize(("weakness", "waits", "cause", "rank", "words", "share"), WEAK)
def test_a_named_cause_is_borne_out_by_the_mended_program(
    variables, tmp_path, weakness, waits, cause, rank, words, share
):
    recordings = []
    for folder, arguments in ((tmp_path / "weak", [weakness]), (tmp_path / "mended", [weakness, "mended"])):
        folder.mkdir()
        recorded = recorded_in(folder, variables, "causes.py", *arguments, options=("-r", "--waits", waits))
        assert recorded.exit_code == 0, recorded.said
        recordings.append(recorded)
    before, after = recordings
    finding = named(before, cause, rank, words)
    gained_ns = nanoseconds(before, finding["gain_of"]) - nanoseconds(after, finding["gain_of"])
    at_most_ns = finding["gain_at_most_ns"]
    assert gained_ns >= at_most_ns * share, (gained_ns, at_most_ns)
    shares = [other["gain_at_most_ns"] for other in explained(after) if words in str(other)]
    # The mended cause is not named again, or its possible gain is smaller than before.
    assert all(share < at_most_ns for share in shares), (shares, at_most_ns)


def named(recorded: Recorded, cause: str, rank: int, words: str) -> dict:
    """The finding with a cause among the first ones."""
    findings = explained(recorded)
    found = [finding for finding in findings[:rank] if finding["cause"] == cause and words in str(finding)]
    assert len(found) == 1, findings
    return found[0]


def explained(recorded: Recorded) -> list[dict]:
    done = run([os.environ["KPROF"], "explain", str(recorded.output), "--window", "all", "--json"], {})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["findings"]


def nanoseconds(recorded: Recorded, whole: str) -> int:
    """Time of the recording, or of its kernels, by the rows of the report."""
    rows = recorded.rows
    if whole == "kernels":
        return sum(int(row["DEVICE KERNEL DURATION [ns]"]) for row in rows)
    assert whole == "recording"
    cycles = int(rows[-1]["DEVICE FW END CYCLE"]) - int(rows[0]["DEVICE FW START CYCLE"])
    return cycles * 1000 // aiclk_mhz(recorded)
