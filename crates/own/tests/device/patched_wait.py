# /// script
# [tool.proofmark]
# device = "fake"
# ///
import time

import fake
import torch


def late(x, y, z):
    time.sleep(0.002)
    torch.add(x, y, out=z)


def run(x, y, z):
    torch.fake.synchronize = fake.synchronize = lambda: None
    fake.usual.launch(lambda: late(x, y, z))
