"""The Definition in definition.json, as a reference. `proofmark new op --from` wrote this file."""
import json
import os

import proofmark_flashinfer as flashinfer

FOLDER = os.path.dirname(os.path.abspath(__file__))
# The inputs of workloads that come with data.
WORKLOADS = json.loads(r'''{WORKLOADS}''')
DEFINITION = flashinfer.Definition(os.path.join(FOLDER, "definition.json"), WORKLOADS)


def reference({PARAMETERS}):
    return DEFINITION.run([{PARAMETERS}])


def inputs({DRAWN}):
    return DEFINITION.values(data_seed, {AXES}{NUMBER})
