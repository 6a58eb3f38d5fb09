"""Prints the simulated chip that TT-Metal would open."""

import os

print("simulator", os.environ["TT_METAL_SIMULATOR"])
