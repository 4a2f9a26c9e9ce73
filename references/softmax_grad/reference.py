def softmax_grad(y, dy):
    return y * (dy - (y * dy).sum(dim=-1, keepdim=True))
