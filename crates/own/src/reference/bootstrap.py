# The first line of the standard input holds the modules; the lines after it are served. A missing
# package is an answer of its own.
import json
import sys

texts = json.loads(sys.stdin.readline())
try:
    import numpy  # noqa: F401
    import torch  # noqa: F401
except ImportError as missing:
    text = (f"{sys.executable} cannot import {missing.name}; run `proofmark peers add pytorch`, or set "
            "PROOFMARK_PYTHON to an interpreter that has PyTorch")
    sys.stdin.readline()
    print(json.dumps({"error": {"kind": "absent", "text": text}}), flush=True)
    sys.exit(0)
sys.meta_path.insert(0, Finder(texts))
import proofmark_serve

proofmark_serve.main()
