"""Operands on a device of PyTorch: how they get there and back, when a call is done, its clock.

The device's module in `torch` has `is_available`, `synchronize` and `Event`, as `torch.cuda` and
`torch.xpu` have. A module that keeps tensors elsewhere says so by `memory`.
"""

# Bytes before and after each operand on the device, and what they hold.
GUARD = 512
GUARDED = 0xA5
# A sweep over more than caches of devices hold.
SWEPT = 256 << 20
# Calls of a batch whose events are kept.
MOST_KEPT = 64


class Door:
    """A device, with the functions of PyTorch as they were before a user's file was run."""

    def __init__(self, name):
        import torch

        kind, _, number = name.partition(":")
        self.torch, self.name = torch, name
        module = self.module = getattr(torch, kind, None)
        if module is None or not hasattr(module, "is_available") or not module.is_available():
            raise LookupError(f"ABSENT: PyTorch {torch.__version__} has no device `{name}` on this machine")
        if number and int(number) >= module.device_count():
            raise LookupError(f"ABSENT: there are {module.device_count()} devices of `{kind}`, no `{name}`")
        self.memory = getattr(module, "memory", name)
        # These wait for every queue of the device, whoever made it.
        self.wait, self.event = module.synchronize, module.Event
        self.kept, self.calls, self.copy_ns = [], 0, 0
        self.swept = None

    def describe(self):
        """The device as reports name it."""
        properties = getattr(self.module, "get_device_properties", lambda _: None)(self.name)
        software = self.torch.version
        version = software.cuda or software.hip or getattr(software, "xpu", None) or ""
        return {
            "name": self.name if ":" in self.name else self.name + ":0",
            "kind": "cpu" if self.memory == "cpu" else "gpu",
            "model": getattr(properties, "name", self.name),
            "driver": f"PyTorch {self.torch.__version__} {version}".strip(),
            "memory": "own",
            "queue": "in_order",
            "clock": "host_and_events",
            "limits": {
                "compute_units": getattr(properties, "multi_processor_count", 0),
                "work_group": getattr(properties, "max_threads_per_block", 0),
                "local_bytes": getattr(properties, "shared_memory_per_block", 0),
                "buffer_bytes": 0,
                "memory_bytes": getattr(properties, "total_memory", 0),
            },
        }

    def sweep(self):
        """Writes more than the caches hold, so that no operand is in them."""
        if self.memory == "cpu":
            return
        if self.swept is None:
            self.swept = self.torch.empty(SWEPT, dtype=self.torch.uint8, device=self.memory)
        self.swept.zero_()

    def times(self):
        """What the events said since this was last asked; asked after the clock has stopped."""
        kernel = sum(start.elapsed_time(end) for start, end in self.kept)
        said = {"calls": len(self.kept), "kernel_ns": int(kernel * 1e6), "copy_ns": 0}
        self.kept.clear()
        return said


class Placed:
    """An operand of the host with its equal on the device, between guards."""

    def __init__(self, door, name, home):
        torch = door.torch
        self.name, self.home = name, home
        size = home.element_size()
        span = sum((n - 1) * step for n, step in zip(home.shape, home.stride())) + 1 if home.numel() else 0
        whole = torch.full((GUARD + span * size + GUARD,), GUARDED, dtype=torch.uint8, device=door.memory)
        flat = whole[GUARD : GUARD + span * size].view(home.dtype)
        self.there = flat.as_strided(home.shape, home.stride()) if span else torch.empty_like(home, device=door.memory)
        # All bytes but those of elements: before, after, and between rows.
        unused = torch.ones(span, dtype=torch.bool)
        if span:
            unused.as_strided(home.shape, home.stride()).fill_(False)
        ends = torch.ones(GUARD, dtype=torch.bool)
        self.whole = whole
        self.guards = torch.cat([ends, unused.repeat_interleave(size), ends]).to(door.memory)

    def go(self):
        self.there.copy_(self.home)

    def come(self):
        self.home.copy_(self.there)

    def is_intact(self):
        return bool((self.whole[self.guards] == GUARDED).all())


def placed(door, operands, written, call_with, settle_returned):
    """A call on the device: what runs within the clock, and what comes before and after it."""
    results = [None]
    call = call_with({one.name: one.there for one in operands})

    def place():
        for one in operands:
            one.go()
        door.sweep()
        door.wait()

    def once():
        start, end = door.event(enable_timing=True), door.event(enable_timing=True)
        start.record()
        results[0] = call()
        end.record()
        # Of every queue of the device: nothing that the kernel started is left.
        door.wait()
        if len(door.kept) < MOST_KEPT:
            door.kept.append((start, end))

    def settle():
        door.wait()
        for one in operands:
            if not one.is_intact():
                raise MemoryError(f"a kernel wrote beyond `{one.name}` on the device")
            if one.name in written:
                one.come()
        settle_returned(results[0])

    return once, settle, place
