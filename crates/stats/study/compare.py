"""Runs other change detectors on the series of `change_study export N FOLDER` and prints one table.

    cargo run --release -p proofmark-stats --example change_study -- export 300 series
    pip install apache-otava==0.8.0 asv==0.6.6 ruptures==1.1.10 numpy
    python crates/stats/study/compare.py series

Each detector has its default settings. The zero detector never alerts: a detector that does not beat it
is worth nothing. A step is found if a change is reported within three points of it.
"""

import logging
import math
import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np
import ruptures
from asv.step_detect import detect_steps
from otava.analysis import compute_change_points

logging.disable(logging.CRITICAL)

POINTS, PLACE = 100, 50
CLASSES = ["normal", "outliers", "ar060", "control_ratio", "machines", "rounded"]
STEPS = ["0", "1", "2", "5"]


def otava(values):
    points, _ = compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=0.0)
    return [int(point.index) for point in points]


def asv(values):
    return [int(step[0]) for step in detect_steps(values)[1:]]


def pelt(values):
    """PELT with the squared error and the penalty 2 ln n in units of a robust variance."""
    array = np.array(values)
    sigma = np.median(np.abs(np.diff(array))) / 0.6745 / math.sqrt(2) or 1e-9
    search = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(array / sigma)
    return search.predict(pen=2 * math.log(len(array)))[:-1]


def read(folder, name, step):
    with open(os.path.join(folder, f"{name}-{step}.txt"), encoding="utf-8") as file:
        for line in file:
            ours, values = line.rstrip("\n").split(";")
            yield [int(word) for word in ours.split()], [float(word) for word in values.split()]


def main(folder, most):
    detectors = {"otava": otava, "asv": asv, "ruptures PELT": pelt, "zero": lambda values: []}
    names = ["Proofmark", *detectors]
    print("| noise | step | " + " | ".join(names) + " |")
    print("|---|---:|" + "---:|" * len(names))
    for name in CLASSES:
        for step in STEPS:
            rows = list(read(folder, name, step))[:most]
            cells = []
            for column in names:
                found = others = 0
                for ours, values in rows:
                    places = ours if column == "Proofmark" else detectors[column](values)
                    hits = sum(abs(place - PLACE) <= 3 for place in places)
                    if step == "0":
                        found += bool(places)
                        others += len(places)
                    else:
                        found += bool(hits)
                        others += len(places) - min(hits, 1)
                cells.append(f"{100 * found / len(rows):.1f} % / {others / len(rows):.2f}")
            label = "none" if step == "0" else f"+{step} %"
            print(f"| {name} | {label} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000)
