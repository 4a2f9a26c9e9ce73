# /// script
# [tool.proofmark]
# device = "fake"
# ///
import fake
import torch


def far(x, y, z):
    torch.add(x, y, out=z)
    z.as_strided((1,), (1,), z.storage_offset() + z.numel()).fill_(1.0)


def run(x, y, z):
    fake.usual.launch(lambda: far(x, y, z))
