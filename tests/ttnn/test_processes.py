"""Programs of several processes: each one's ops have the names of its own launches."""

from __future__ import annotations

import collections
import os
import re

import pytest
from test_process import cache, record, run, variables  # noqa: F401

COUNTS = {"CloneOperation": 3, "SliceDeviceOperation": 2, "ConcatDeviceOperation": 4}


@pytest.mark.parametrize("how", ["start", "fork"])
def test_ops_of_processes_at_once_keep_their_own_names(record, how):  # noqa: F811
    recorded = record("processes.py", how, options=())
    assert recorded.exit_code == 0, recorded.said
    found = []
    for capture in recorded.output.glob(".logs/*.kprof"):
        shown = run([os.environ["KPROF"], "report", str(capture)], {}).stdout
        names = collections.Counter(re.findall(r"\b(?:Clone|Slice|Concat)\w*Operation\b", shown))
        assert "Lost: nothing" in shown
        if names:
            found.append(dict(names))
    assert sorted(found, key=str) == sorted(({name: count} for name, count in COUNTS.items()), key=str)
    # The Inspector's logs of each process are in a folder of its own.
    logs = list(recorded.output.glob(".logs/process-*/generated/inspector/startup.yaml"))
    assert len(logs) == len(COUNTS)
