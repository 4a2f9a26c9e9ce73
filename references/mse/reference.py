def mse(x, target, reduction):
    squared = (x - target) ** 2
    return (squared.sum() if reduction == "sum" else squared.mean()).reshape(1)
