# Packs a weight before calls, and returns its result.
import struct


def setup(w, cols):
    return [sum(w[i, j] for i in range(cols)) for j in range(cols)]


def run(x, packed, rows, cols, threads):
    values = [x[i, j] * packed[j] + threads for i in range(rows) for j in range(cols)]
    return struct.pack(f"{len(values)}f", *values)
