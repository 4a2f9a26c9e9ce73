"""A wrong submission: it does no more than 64 columns."""
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    x, weight, _ = data
    return x[:, :64] @ weight[:64]
