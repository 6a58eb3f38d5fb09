"""Two ops with signposts before each; then the program ends as the command line says."""

import os
import signal
import sys

import kprof
import tensors
import ttnn

if sys.argv[1] != "without a device":
    device = tensors.open_device()
    _, a = tensors.rows(device)
    ttnn.slice(a, [0, 0, 0, 0], [1, 1, 32, 64])
    kprof.signpost("between")
    ttnn.concat([a, a], dim=3)
if sys.argv[1] == "in an exception":
    raise ValueError("the model is wrong")
if sys.argv[1].startswith("SIG"):
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
