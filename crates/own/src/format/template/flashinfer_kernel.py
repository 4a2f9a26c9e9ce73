# /// script
# [tool.proofmark]
# takes = "torch"
# jit = true
# compiler = {COMPILER}
# summary = "{ENTRY} of the Solution {NAME}"
# ///
"""A Solution, as a kernel. `proofmark new op --from` wrote this file."""
import os
import sys

import proofmark_flashinfer as flashinfer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from adapter import DEFINITION

SOURCES = {SOURCES}
FUNCTION = flashinfer.solution(SOURCES, "{ENTRY}")


def run({TAKEN}):
    {CALL}
