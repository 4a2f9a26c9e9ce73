"""Validates traces with the models of flashinfer-bench, and refuses fields that those do not know.

    python validate.py TRACES

The package's own `__init__` imports PyTorch; its models do not need it, so that it is bypassed.
"""
import importlib.machinery
import importlib.util
import json
import os
import sys
import types


def models():
    """`Trace` of the installed package."""
    folder = os.path.dirname(importlib.util.find_spec("flashinfer_bench").origin)
    for name, place in (("flashinfer_bench", folder), ("flashinfer_bench.data", os.path.join(folder, "data"))):
        module = types.ModuleType(name)
        module.__path__ = [place]
        sys.modules[name] = module
    import flashinfer_bench.data.trace as trace
    return trace.Trace


def unknown(given, read, place="trace"):
    """Fields that were given and are not among those that were read."""
    if isinstance(given, dict) and isinstance(read, dict):
        for name in given:
            if name not in read:
                yield f"{place}.{name}"
            else:
                yield from unknown(given[name], read[name], f"{place}.{name}")


def main():
    trace, statuses = models(), []
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.strip()]
    for number, line in enumerate(lines, 1):
        read = trace.model_validate(line)
        extra = list(unknown(line, read.model_dump(mode="json")))
        if extra:
            sys.exit(f"line {number}: unknown fields: {', '.join(extra)}")
        statuses.append((line["solution"], line["evaluation"]["status"]))
    passed = {solution for solution, status in statuses if status == "PASSED"}
    if not lines or "right_v1" not in passed or "wrong_v1" in passed:
        sys.exit(f"right_v1 must have passed, and wrong_v1 must not: {statuses}")
    print(f"{len(lines)} traces are valid: {statuses}")


if __name__ == "__main__":
    main()
