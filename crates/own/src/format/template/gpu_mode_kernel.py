# /// script
# [tool.proofmark]
# takes = "torch"
# jit = true
# compiler = {COMPILER}
# summary = "custom_kernel of _{NAME}.py"
# ///
"""The submission in _{NAME}.py, as a kernel. `proofmark new op --from` wrote this file."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from adapter import TASK

SUBMISSION = TASK.submission(os.path.join(HERE, "_{NAME}.py"))


def run({PARAMETERS}):
    return TASK.run([{OPERANDS}], {CASE}, SUBMISSION)
