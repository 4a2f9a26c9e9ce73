"""The GPU MODE task in the folder `task`, as a reference. `proofmark new op --from` wrote this file."""
import os

import proofmark_gpu_mode as gpu_mode

FOLDER = os.path.dirname(os.path.abspath(__file__))
TASK = gpu_mode.Task(gpu_mode.folder_of(os.path.join(FOLDER, "task")), fixed={FIXED}, places={PLACES}, flags={FLAGS},
                     scratch={SCRATCH})


def reference({PARAMETERS}):
    return TASK.run([{OPERANDS}], {CASE})


def inputs({DRAWN}):
    return TASK.values([{NAMES}], {CASE}, data_seed)
