"""The KernelBench problem in problem.py, as a reference. `proofmark new op --from` wrote this file."""
import os

import proofmark_kernelbench as kernelbench

# Sizes that take the place of those in problem.py.
SIZES = {SIZES}
FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "problem.py")
PROBLEM = kernelbench.Problem(FILE, SIZES, operands={PLACES}, flags={FLAGS})


def reference({PARAMETERS}):
    return PROBLEM.run([{OPERANDS}]{SEED})


def inputs(data_seed):
    return PROBLEM.values([{NAMES}], data_seed)
