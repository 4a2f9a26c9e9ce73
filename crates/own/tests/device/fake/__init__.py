"""A device of PyTorch that works on the processor, after the program has gone on: a queue with a
thread, events with a clock of its own, and a call that waits for all queues."""

import queue
import threading
import time
import types

import torch


class Stream:
    """A queue whose jobs a thread does in order."""

    def __init__(self):
        self.jobs = queue.SimpleQueue()
        threading.Thread(target=self.work, daemon=True).start()
        streams.append(self)

    def work(self):
        while True:
            self.jobs.get()()

    def launch(self, job):
        self.jobs.put(job)

    def synchronize(self):
        done = threading.Event()
        self.launch(done.set)
        done.wait()


class Event:
    """A time on the device's own clock."""

    def __init__(self, enable_timing=False):
        self.at = None

    def record(self, stream=None):
        def note():
            self.at = time.perf_counter_ns()

        (stream or streams[0]).launch(note)

    def elapsed_time(self, end):
        return (end.at - self.at) / 1e6


def synchronize():
    for stream in streams:
        stream.synchronize()


streams = []
usual = Stream()
torch.fake = types.SimpleNamespace(
    memory="cpu",
    is_available=lambda: True,
    device_count=lambda: 1,
    synchronize=synchronize,
    Event=Event,
)
