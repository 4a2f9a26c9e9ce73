# /// script
# [tool.proofmark]
# takes = "torch"
# jit = true
# compiler = {COMPILER}
# summary = "ModelNew of _{NAME}.py"
# ///
"""The answer in _{NAME}.py, as a kernel. `proofmark new op --from` wrote this file."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from adapter import PROBLEM

ANSWER = PROBLEM.answer(os.path.join(HERE, "_{NAME}.py"))


def run({PARAMETERS}):
    return PROBLEM.run([{OPERANDS}]{SEED}, answer=ANSWER)
