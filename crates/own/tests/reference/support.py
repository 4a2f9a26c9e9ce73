"""Finds the modules under test in PROOFMARK_REFERENCE, a folder that `cargo xtask check` makes."""
import os
import sys

REFERENCE = os.environ["PROOFMARK_REFERENCE"]
sys.path.insert(0, REFERENCE)

U = 2.0 ** -24
