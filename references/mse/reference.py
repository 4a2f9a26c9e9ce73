def mse(x, y, reduction):
    squared = (x - y) ** 2
    return (squared.sum() if reduction == "sum" else squared.mean()).reshape(1)
