def dot(x, y):
    return (x * y).sum(dim=-1)
