# Writes into its output, with the standard library alone.
# /// script
# [tool.proofmark]
# takes = "buffer"
# version = "2.1"
# ///


def run(x, y, rows, cols, factor, more=0):
    for i in range(rows):
        for j in range(cols):
            y[i, j] = factor * x[i, j] + more
