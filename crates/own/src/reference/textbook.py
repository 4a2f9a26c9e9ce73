"""Composite operators that ATen keeps whole, written as a textbook does, in primitives that have rules."""
import math

import torch

aten = torch.ops.aten


def _softmax(x, dim, half):
    if not x.numel():
        return x.clone()
    e = (x - x.amax(dim, True)).exp()
    return e / e.sum(dim, True)


def _log_softmax(x, dim, half):
    if not x.numel():
        return x.clone()
    apart = x - x.amax(dim, True)
    return apart - apart.exp().sum(dim, True).log()


def _logsumexp(x, dim, keepdim=False):
    m = x.amax(dim, True)
    m = torch.where(m.abs() == math.inf, 0.0, m)
    y = (x - m).exp().sum(dim, True).log() + m
    if keepdim or not x.dim():
        return y
    dims = [dim] if isinstance(dim, int) else dim
    return y.squeeze([d % x.dim() for d in dims])


def _normalise(x, dims, eps):
    mean = x.mean(dims, True)
    apart = x - mean
    r = ((apart * apart).mean(dims, True) + eps).rsqrt()
    return apart * r, mean, r


def _affine(y, w, b, shape):
    y = y if w is None else y * w.reshape(shape)
    return y if b is None else y + b.reshape(shape)


def _layer_norm(x, shape, w, b, eps):
    y, mean, r = _normalise(x, list(range(x.dim() - len(shape), x.dim())), eps)
    return _affine(y, w, b, shape), mean, r


def _rms_norm(x, shape, w, eps):
    dims = list(range(x.dim() - len(shape), x.dim()))
    r = ((x * x).mean(dims, True) + (torch.finfo(torch.float32).eps if eps is None else eps)).rsqrt()
    return _affine(x * r, w, None, shape), r


def _group_norm(x, w, b, n, c, hw, groups, eps):
    y, mean, r = _normalise(x.reshape(n, groups, -1), [2], eps)
    shape = [1, c] + [1] * (x.dim() - 2)
    return _affine(y.reshape(x.shape), w, b, shape), mean.reshape(n, groups), r.reshape(n, groups)


def _batch_norm(x, w, b, mean, var, training, momentum, eps):
    shape = [1, -1] + [1] * (x.dim() - 2)
    if training or mean is None:
        y, m, r = _normalise(x, [d for d in range(x.dim()) if d != 1], eps)
    else:
        m, r = mean.reshape(shape), (var.reshape(shape) + eps).rsqrt()
        y = (x - m) * r
    return _affine(y, w, b, shape), m.reshape(-1), r.reshape(-1)


def _var_mean(x, dim=None, *, correction=None, keepdim=False):
    dims = list(range(x.dim())) if dim is None or len(dim) == 0 else list(dim)
    n = math.prod(x.shape[d] for d in dims) - (1 if correction is None else correction)
    mean = x.mean(dims, True)
    apart = x - mean
    var = (apart * apart).sum(dims, keepdim) / (n if n > 0 else math.nan)
    return var, mean if keepdim else mean.squeeze([d % x.dim() for d in dims])


def _var(x, dim=None, *, correction=None, keepdim=False):
    return _var_mean(x, dim, correction=correction, keepdim=keepdim)[0]


def _std(x, dim=None, *, correction=None, keepdim=False):
    return _var(x, dim, correction=correction, keepdim=keepdim).sqrt()


def _gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + (math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)).tanh())
    return 0.5 * x * (1 + (x * math.sqrt(0.5)).erf())


def _scaled(y, factor):
    return y if factor == 1 else y * factor


def _plus_product(c, product, beta, alpha):
    return _scaled(product, alpha) if beta == 0 else _scaled(product, alpha) + _scaled(c, beta)


def _addmm(c, a, b, *, beta=1, alpha=1):
    return _plus_product(c, a @ b, beta, alpha)


def _addbmm(c, a, b, *, beta=1, alpha=1):
    return _plus_product(c, (a @ b).sum(0), beta, alpha)


def _addr(c, a, b, *, beta=1, alpha=1):
    return _plus_product(c, a[:, None] * b, beta, alpha)


def _norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    dims = list(range(x.dim())) if dim is None else list(dim)
    if ord == math.inf:
        return x.abs().amax(dims, keepdim)
    if ord == -math.inf:
        return x.abs().amin(dims, keepdim)
    if ord == 0:
        return (x != 0).to(x.dtype).sum(dims, keepdim)
    if ord == 1:
        return x.abs().sum(dims, keepdim)
    if ord == 2:
        return (x * x).sum(dims, keepdim).sqrt()
    return (x.abs() ** ord).sum(dims, keepdim) ** (1.0 / ord)


def _norm_scalar(x, p=2):
    return _norm(x, 2 if p is None else p)


def _norm_dims(x, p, dim, keepdim=False, **_):
    return _norm(x, 2 if p is None else p, dim or None, keepdim)


def _cdist(a, b, p=2.0, mode=None):
    return _norm(a[..., :, None, :] - b[..., None, :, :], p, [-1])


def _attention(q, k, v, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    s = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if is_causal:
        hidden = torch.ones(s.shape[-2:], dtype=torch.bool).triu(1)
        s = s.masked_fill(hidden, -math.inf)
    if attn_mask is not None:
        s = s.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else s + attn_mask
    p = _softmax(s, -1, False)
    return p @ v, s.logsumexp(-1)


def _reduced(x, reduction):
    return x if reduction == 0 else x.mean() if reduction == 1 else x.sum()


def _mse(x, y, reduction=1):
    d = x - y
    return _reduced(d * d, reduction)


def _huber(x, y, reduction=1, delta=1.0):
    d = (x - y).abs()
    return _reduced(torch.where(d < delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)


def _smooth_l1(x, y, reduction=1, beta=1.0):
    d = (x - y).abs()
    return _reduced(torch.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta) if beta else d, reduction)


def _cosine(x, y, dim=1, eps=1e-8):
    product = (x * y).sum(dim)
    return product / ((x * x).sum(dim).sqrt().clamp_min(eps) * (y * y).sum(dim).sqrt().clamp_min(eps))


def _leaky_relu(x, slope=0.01):
    return torch.where(x > 0, x, x * slope)


def _prelu(x, w):
    return torch.where(x > 0, x, x * w)


def _elu(x, alpha=1.0, scale=1.0, input_scale=1.0):
    y = torch.where(x > 0, x, _scaled((_scaled(x.clamp_max(0), input_scale)).expm1(), alpha))
    return _scaled(y, scale)


def _hardswish(x):
    return x * (x + 3).clamp(0, 6) / 6


def _hardsigmoid(x):
    return (x + 3).clamp(0, 6) / 6


def _logcumsumexp(x, dim):
    m = x.amax(dim, True)
    return (x - m).exp().cumsum(dim).log() + m


def _silu(x):
    return x * torch.sigmoid(x)


def _mish(x):
    return x * torch.nn.functional.softplus(x).tanh()


def _sinc(x):
    return torch.where(x == 0, 1.0, torch.sin(math.pi * x) / (math.pi * x))


def _logit(x, eps=None):
    if eps is not None:
        x = torch.where(x < eps, eps, torch.where(x > 1 - eps, 1 - eps, x))
    return torch.log(x / (1 - x))


def _scatter_reduce(x, dim, index, source, reduce, *, include_self=True):
    if reduce != "sum":
        raise NotImplementedError(f"scatter_reduce by `{reduce}` has no rule of rounding; `sum` has one")
    return (x if include_self else x.scatter(dim, index, 0.0)).scatter_add(dim, index, source)


def _to(x, dtype, *_, **__):
    return x if dtype == x.dtype else aten._to_copy(x, dtype=dtype)


def _to_layout(x, *, dtype=None, **_):
    return x if dtype is None else _to(x, dtype)


def _fused_choice(*_, **__):
    return 0                                         # the textbook way


TEXTBOOK = {
    "_softmax.default": _softmax, "_log_softmax.default": _log_softmax, "logsumexp.default": _logsumexp,
    "native_layer_norm.default": _layer_norm, "native_group_norm.default": _group_norm,
    "_fused_rms_norm.default": _rms_norm, "native_batch_norm.default": _batch_norm,
    "cudnn_batch_norm.default": _batch_norm, "_native_batch_norm_legit.default": _batch_norm,
    "_native_batch_norm_legit.no_stats":
        lambda x, w, b, training, momentum, eps: _batch_norm(x, w, b, None, None, True, momentum, eps),
    "_native_batch_norm_legit_functional.default": _batch_norm,
    "var.correction": _var, "std.correction": _std, "var_mean.correction": _var_mean,
    "gelu.default": _gelu, "addmm.default": _addmm, "baddbmm.default": _addmm, "addmv.default": _addmm,
    "addbmm.default": _addbmm, "addr.default": _addr,
    "linalg_vector_norm.default": _norm, "norm.Scalar": _norm_scalar, "norm.ScalarOpt_dim": _norm_dims,
    "_cdist_forward.default": _cdist, "_euclidean_dist.default": _cdist,
    "_scaled_dot_product_flash_attention_for_cpu.default": _attention, "_fused_sdp_choice.default": _fused_choice,
    "mse_loss.default": _mse, "huber_loss.default": _huber, "smooth_l1_loss.default": _smooth_l1,
    "cosine_similarity.default": _cosine, "leaky_relu.default": _leaky_relu, "_prelu_kernel.default": _prelu,
    "elu.default": _elu, "hardswish.default": _hardswish, "hardsigmoid.default": _hardsigmoid,
    "logcumsumexp.default": _logcumsumexp, "silu.default": _silu, "mish.default": _mish,
    "sinc.default": _sinc, "logit.default": _logit, "scatter_reduce.two": _scatter_reduce,
    "_conj.default": lambda x: x.conj_physical(),
    "to.dtype": _to, "to.dtype_layout": _to_layout, "to.device": lambda x, device, dtype, *_, **__: _to(x, dtype),
}
