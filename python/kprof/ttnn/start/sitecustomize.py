"""Module that Python loads at start-up in programs run by `kprof record`."""

import os
import sys


def _run_other() -> None:
    """Runs the user's own sitecustomize, which this module hides."""
    import importlib.util

    own = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != own]
    this = sys.modules.pop("sitecustomize", None)
    if importlib.util.find_spec("sitecustomize") is not None:
        import sitecustomize  # noqa: F401
    elif this is not None:
        # The import in progress expects to find this module.
        sys.modules["sitecustomize"] = this


_run_other()
try:
    import kprof.ttnn
except ImportError as error:
    print(f"kprof: this Python has no package kprof ({error}); the program is not profiled", file=sys.stderr)
else:
    kprof.ttnn.wait_for_ttnn()
