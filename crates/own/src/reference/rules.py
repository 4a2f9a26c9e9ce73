"""How much one primitive's own rounding may move its result.

`rounding` answers in units of u, the unit roundoff of the type that a kernel accumulates in:

- 0 (None) for what moves data or selects: views, copies, comparisons, max, relu;
- 1 * |r| for arithmetic that IEEE 754 rounds correctly, 2 * |r| for a library function;
- log2(n) times the root mean square of the results for a Fourier transform of n points;
- sum|t| + sqrt(n)/4 * |sum t| for a sum of n terms t. Terms of random sign cost about sum|t|.
  Terms of one sign cost sqrt(n)/4 times their sum.

A primitive without a family is unknown. Unknown primitives are refused by name, never guessed.
"""
import functools
import math

import torch

EXACT = set("""neg abs relu clamp clamp_min clamp_max minimum maximum where sign sgn floor ceil round trunc
hardtanh gt ge lt le eq ne logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_not
bitwise_xor bitwise_left_shift bitwise_right_shift isnan isinf isfinite fmod remainder fill masked_fill copy
clone _to_copy fmax fmin signbit heaviside copysign nan_to_num zero threshold isposinf isneginf
__lshift__ __rshift__ conj_physical""".split())
WHOLE = set("floor ceil round trunc sign sgn".split())       # their results are integers, which no kernel rounds
ROUNDED_ONCE = set("add sub rsub mul div sqrt reciprocal square".split())
LAYOUT = set("""cat stack clone gather index index_select flip roll repeat tril triu _to_copy embedding copy
slice_scatter select_scatter diagonal_scatter im2col constant_pad_nd index_put scatter upsample_nearest1d
upsample_nearest2d upsample_nearest3d _upsample_nearest_exact2d pixel_shuffle pixel_unshuffle channel_shuffle
reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d
_unsafe_index _unsafe_view lift_fresh lift_fresh_copy diag_embed take masked_scatter
index_fill index_copy diag view_copy expand_copy permute_copy resolve_conj resolve_neg take_along_dim
complex""".split())
FACTORIES = set("""arange full zeros ones full_like zeros_like ones_like empty empty_like empty_strided eye
new_zeros new_full new_ones new_empty new_empty_strided any all argmax argmin bincount scalar_tensor linspace
tril_indices triu_indices count_nonzero searchsorted bucketize one_hot equal nonzero argsort histc repeat_interleave""".split())
SUMS = set("""sum mean cumsum nansum avg_pool1d avg_pool2d avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d
trace scatter_add index_add col2im""".split())
CONTRACTIONS = set("mm bmm mv dot vdot convolution".split())
SELECTIONS = set("""amax amin max min aminmax max_pool2d_with_indices max_pool3d_with_indices sort topk median
nanmedian cummax cummin adaptive_max_pool2d adaptive_max_pool3d kthvalue mode""".split())
PRODUCTS = set("prod cumprod".split())
TRANSFORMS = set("_fft_r2c _fft_c2c _fft_c2r".split())
# Special functions whose libraries are off by more than a few roundings.
INACCURATE = ("polygamma", "special_airy", "special_bessel", "special_modified_bessel", "special_scaled_modified",
              "special_spherical", "special_hermite", "special_chebyshev", "special_shifted", "special_laguerre",
              "special_legendre", "special_zeta", "digamma", "mvlgamma", "igamma", "igammac")
FAMILIES = (("layout", LAYOUT), ("factory", FACTORIES), ("sum", SUMS), ("product", PRODUCTS),
            ("contraction", CONTRACTIONS), ("selection", SELECTIONS), ("transform", TRANSFORMS))


class Units:
    """The accumulating type: its unit roundoff and the ends of its range."""

    def __init__(self, u):
        exponents = {-24: (-149, -126, 128), -53: (-1074, -1022, 1024), -11: (-24, -14, 16), -8: (-133, -126, 128)}
        smallest, tiny, top = exponents.get(round(math.log2(u)), (-149, -126, 128))
        self.u = u
        self.tiny = 2.0 ** tiny                     # least normal number
        self.lost = 2.0 ** smallest / u             # what a subnormal result may be off by, in units of u
        self.flushed = self.tiny / u                # the same where a library's function gives 0 instead
        self.largest = (2.0 - 2.0 * u) * 2.0 ** (top - 1)


@functools.lru_cache(None)
def name_of(func):
    """`add` for `aten.add.Tensor`; an in-place `add_` is named `add` as well."""
    name = func._schema.name.split("::")[1]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


@functools.lru_cache(None)
def family(func):
    """The family of a primitive, or None where it has no rule."""
    name = name_of(func)
    if name in ("max", "min") and func._overloadname == "other":
        return "pointwise"
    for label, names in FAMILIES:
        if name in names:
            return label
    if name.startswith(INACCURATE):
        return None
    if torch.Tag.pointwise in func.tags or name in EXACT:
        return "pointwise"
    return None


def is_real(x):
    """Is this a tensor of numbers that a kernel rounds?"""
    return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())


def is_whole(x):
    """Are these integers that every floating type here holds and adds exactly?"""
    if isinstance(x, torch.Tensor):
        return not x.is_complex() and bool(((x == x.round()) & (x.abs() < 2 ** 20)).all())
    return isinstance(x, (int, float)) and math.isfinite(x) and x == round(x)


def positional(func, args, kwargs):
    """Arguments in the schema's order with defaults filled in, and those that are only keywords."""
    rest = func._schema.arguments[len(args):]
    full = list(args) + [kwargs.get(a.name, a.default_value) for a in rest if not a.kwarg_only]
    return full, {a.name: kwargs[a.name] for a in rest if a.kwarg_only and a.name in kwargs}


def summed_terms(func, args, value):
    """How many terms make one element of a sum or contraction."""
    name = name_of(func)
    if name == "convolution":
        w, transposed, groups = args[1], args[6], args[8]
        return w[0].numel() if not transposed else w.numel() // w.shape[1] // groups
    if name in CONTRACTIONS:
        return args[0].shape[-1]
    if name == "cumsum":
        return args[0].shape[args[1]] if args[0].dim() else 1
    if name.startswith("_adaptive"):
        pairs = zip(args[0].shape[-len(args[1]):], args[1])
        return math.prod(-(-i // o) + (i % o != 0) for i, o in pairs)
    if name in ("scatter_add", "index_add"):
        return 1 + args[-1].numel() if not args[0].dim() else 1 + args[-1].numel() // max(1, value.numel() // max(1, args[0].shape[args[1]]))
    if name == "index_put":
        return 1 + args[2].numel()
    if name == "col2im":
        return math.prod(args[2])
    if name.startswith("avg_pool"):
        return math.prod(args[1]) if len(args[1]) > 1 else args[1][0] ** int(name[-2])
    return max(1, args[0].numel() // max(1, value.numel()))


def rounding(func, args, named, value, units):
    """What the primitive's own rounding is off by, in units of u; None where it is exact.

    Returns the size and the number of terms in a sum (1 where there is none).
    """
    kind, name = family(func), name_of(func)
    if not is_real(value):
        return None, 1
    if name == "index_put" and len(args) > 3 and args[3]:       # it adds
        kind = "sum"
    if kind == "pointwise" and name not in EXACT:
        if name in ("mul", "div") and any(_power_of_two(a) for a in args[:2]):
            return None, 1
        if name in ("add", "sub") and _is_zero(args[1]):
            return None, 1
        return _pointwise(name, args, value, units), 1
    if name in ("linspace", "arange") and value.numel() and bool((value != value.round()).any()):
        return torch.full_like(value, 2 * float(value.abs().max())), 1
    if kind in ("sum", "contraction"):
        n = summed_terms(func, args, value)
        if (n <= 1 and kind == "sum") or not value.numel():
            return None, 1
        root = math.sqrt(n) / 4
        if name == "cumsum":                                    # the k-th element has k terms
            root = (torch.ones_like(value.real if value.is_complex() else value).cumsum(args[1]) / 16).sqrt()
        sizes = func(*[a.abs() if is_real(a) else a for a in args], **named)
        size = sizes + value.abs() * root if n > 1 else value.abs()
        if name.startswith(("mean", "avg", "_adaptive")):
            return size + value.abs(), n
        return size + units.lost * (sizes > 0), n
    if kind == "transform" and value.numel():
        n = math.prod(max(args[0].shape[d], value.shape[d]) for d in args[1])
        rms = (value.abs() ** 2).mean(args[1], keepdim=True).sqrt()
        return (rms * max(1.0, math.log2(n))).expand(value.shape), 1
    if kind == "product":
        n = args[0].numel() / max(1, value.numel())
        if name == "cumprod" and args[0].dim():
            n = args[0].shape[args[1]]
        return value.abs() * math.sqrt(max(1, n)), 1
    return None, 1


def _pointwise(name, args, value, units):
    magnitude = value.abs()
    once = name in ROUNDED_ONCE or (name == "pow" and isinstance(args[1], (int, float)) and args[1] == 2)
    if name in ("add", "sub", "rsub"):
        return magnitude
    if name == "lerp" or name.startswith("addc"):               # a sum of two rounded parts
        return magnitude + (args[0].abs() if name.startswith("addc") else torch.maximum(args[0].abs(), args[1].abs()))
    size = magnitude if once else magnitude * 2
    low = magnitude < units.tiny
    if not bool(low.any()):
        return size
    return torch.where(low & (value != 0), units.lost if once else units.flushed, size)


def _power_of_two(a):
    return isinstance(a, (int, float)) and a != 0 and math.isfinite(a) and math.frexp(abs(a))[0] == 0.5


def _is_zero(a):
    return isinstance(a, (int, float)) and a == 0
