# /// script
# [tool.proofmark]
# device = "fake"
# ///
import fake
import torch

second = fake.Stream()


def run(x, y, z):
    second.launch(lambda: torch.add(x, y, out=z))
