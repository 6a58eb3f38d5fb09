"""Runs tt-perf-report many times in one process, which saves its start-up.

Reads a JSON list of argument lists from standard input and prints a JSON list of what each
run printed. Pictures are left out: nothing compares them, and drawing the one of a report
without any device time fails.
"""

import contextlib
import io
import json
import sys

from tt_perf_report import perf_report


def run(arguments):
    """What one run prints."""
    sys.argv = ["tt-perf-report", *arguments]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        perf_report.main()
    return printed.getvalue()


perf_report.plot_stacked_report = lambda *_, **__: None
json.dump([run(arguments) for arguments in json.load(sys.stdin)], sys.stdout)
