def variance(x, correction):
    return x.var(dim=-1, correction=correction)
