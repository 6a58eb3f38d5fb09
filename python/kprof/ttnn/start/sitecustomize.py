"""Loaded by Python at its start in programs that `kprof record` runs."""

import os
import sys


def _run_other() -> None:
    """Runs the sitecustomize of the user's own, which this one stands in front of."""
    import importlib.util

    own = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != own]
    this = sys.modules.pop("sitecustomize", None)
    if importlib.util.find_spec("sitecustomize") is not None:
        import sitecustomize  # noqa: F401
    elif this is not None:
        # The import that is under way expects to find it.
        sys.modules["sitecustomize"] = this


_run_other()
try:
    import kprof.ttnn
except ImportError as error:
    print(f"kprof: this Python has no package kprof ({error}); the program is not profiled", file=sys.stderr)
else:
    kprof.ttnn.wait_for_ttnn()
