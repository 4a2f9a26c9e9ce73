# /// script
# [tool.proofmark]
# device = "fake"
# ///
import fake
import torch


def run(x, y, z):
    fake.usual.launch(lambda: torch.add(x, y, out=z))
