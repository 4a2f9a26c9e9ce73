"""Module-level sizes of a user's file: which there are, and the module with others in their place.

A size is an integer that a module-level assignment binds: `N = 2048 * 2` is the size `N`, and
`shape = (8192, 16)` holds the sizes `shape_0` and `shape_1`. What is computed from other names, as
`bias_shape = (channels, 1)`, follows from them when the module runs again.
"""
import ast
import itertools
import os
import sys
import types


def of(text, file="<problem>"):
    """The sizes of a module and their values, in the order of the file."""
    found = {}
    for node in ast.parse(text, file).body:
        for name, value in _bound(node):
            found.update(_in_value(name, value))
    return found


def module(file, sizes, name, changed_from=None):
    """The module of a file with these sizes. With `changed_from`, only sizes that have that value change."""
    with open(file, encoding="utf-8") as opened:
        text = opened.read()
    tree = ast.parse(text, file)
    own = of(text, file)
    if changed_from is not None:
        sizes = {n: s for n, s in sizes.items() if own.get(n) == changed_from.get(n)}
    tree.body = [new for node in tree.body for new in _changed(node, sizes)]
    made = types.ModuleType(name)
    made.__file__ = file
    sys.modules[name] = made
    folder = os.path.dirname(os.path.abspath(file))
    if folder not in sys.path:
        sys.path.append(folder)
    exec(compile(ast.fix_missing_locations(tree), file, "exec"), made.__dict__)
    return made


def _bound(node):
    """The names that an assignment binds, with the expression of each."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        return [(node.target.id, node.value)]
    if not isinstance(node, ast.Assign):
        return []
    pairs = []
    for target in node.targets:
        if isinstance(target, ast.Name):
            pairs.append((target.id, node.value))
        elif (isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
              and len(target.elts) == len(node.value.elts)):
            pairs += [(t.id, v) for t, v in zip(target.elts, node.value.elts) if isinstance(t, ast.Name)]
    return pairs


def _in_value(name, value):
    number = _number(value)
    if number is not None:
        return {name: number}
    if isinstance(value, (ast.Tuple, ast.List)):
        numbers = {f"{name}_{i}": _number(v) for i, v in enumerate(value.elts)}
        return {n: v for n, v in numbers.items() if v is not None}
    return {}


def _number(node):
    """The value of an expression of positive whole numbers alone, else None."""
    allowed = (ast.Constant, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Pow, ast.LShift)
    if not all(isinstance(part, allowed) for part in ast.walk(node)):
        return None
    numbers = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
    if not all(type(number) is int for number in numbers):
        return None
    value = eval(compile(ast.Expression(node), "<size>", "eval"), {"__builtins__": {}})
    return value if value > 0 else None


def _changed(node, sizes):
    """The statement, and after it the sizes that it binds and that change."""
    after = []
    for name, value in _bound(node):
        if name in sizes and _number(value) is not None:
            after.append(_assigned(name, ast.Constant(sizes[name])))
        elif isinstance(value, (ast.Tuple, ast.List)):
            names = [f"{name}_{i}" for i in range(len(value.elts))]
            if any(n in sizes and _number(v) is not None for n, v in zip(names, value.elts)):
                parts = [ast.Constant(sizes[n]) if n in sizes and _number(v) is not None else v
                         for n, v in zip(names, value.elts)]
                after.append(_assigned(name, type(value)(parts, ast.Load())))
    return [node] + [ast.copy_location(new, node) for new in after]


def _assigned(name, value):
    return ast.Assign([ast.Name(name, ast.Store())], value)


def halved(start, measure, limit):
    """The sizes after the rule, and their bytes: the largest that can be halved is halved, until `limit` is met.

    `measure(sizes)` gives the bytes of all tensors, the shapes of the inputs, and what must not
    change; it raises if the problem does not run at these sizes. A size can be halved if

    - the bytes become fewer, the problem still runs and keeps what must not change;
    - it is above 8, or is a size of an input: the width of a filter is small too;
    - it stays at least 4 times a number of groups: a number that it was 4 times of, that changes no
      bytes, where one more of the size does not run.

    If no size above 8 can be halved alone, two are halved together: two matrices may have to fit.
    """
    sizes = dict(start)
    now = measure(sizes)
    others = [n for n in sizes if sizes[n] > 1 and _is_other(measure, sizes, n, now[0])]
    tied = [n for n in sizes if not _runs(measure, {**sizes, n: sizes[n] + 1})] if others else []
    ratios = [(a, b) for a in tied for b in others if start[a] % start[b] == 0 and start[a] >= 4 * start[b]]
    while now[0] > limit:
        order = sorted((n for n in sizes if sizes[n] > 3), key=lambda n: -sizes[n])
        ways = [(n,) for n in order if n not in others] + list(itertools.combinations(order, 2))
        for names in sorted(ways, key=lambda names: min(sizes[n] for n in names) <= 8):
            trial = {**sizes, **{n: sizes[n] // 2 for n in names}}
            if any(trial[a] < 4 * trial[b] for a, b in ratios):
                continue
            try:
                then = measure(trial)
            except Exception:
                continue                             # the problem does not run at these sizes
            is_small = min(sizes[n] for n in names) <= 8
            if then[0] < now[0] and then[2] == now[2] and not (is_small and then[1] == now[1]):
                sizes, now = trial, then
                break
        else:
            break
    return sizes, now[0]


def _runs(measure, sizes):
    try:
        measure(sizes)
    except Exception:
        return False
    return True


def _is_other(measure, sizes, name, bytes_now):
    """Does the problem run with half of this number, in the same bytes? Then it is no size."""
    try:
        return measure({**sizes, name: sizes[name] // 2})[0] == bytes_now
    except Exception:
        return False
