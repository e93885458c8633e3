"""Communication: what DistributedDataParallel does at the end of backward and at the start of
forward, and collectives that Python code calls itself (FSDP, hand-written averaging)."""

from __future__ import annotations

import functools
import time
import weakref
from typing import Any, Callable, List

from .clock import COMM
from .noise import NoiseSampler
from .switch import switch
from .watcher import Watcher

_COLLECTIVES = (
    "all_reduce",
    "all_gather",
    "all_gather_into_tensor",
    "_all_gather_base",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "_reduce_scatter_base",
)


def wrap_ddp(torch: Any, watcher: Watcher) -> None:
    ddp_class = torch.nn.parallel.DistributedDataParallel
    original_init = ddp_class.__init__

    @functools.wraps(original_init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original_init(self, *args, **kwargs)
        with switch.guarded():
            if switch.on:
                _adopt(torch, watcher, self)

    ddp_class.__init__ = __init__
    # Buffers (batch norm) come from rank 0 before each forward: ranks wait for it there.
    if hasattr(ddp_class, "_sync_buffers"):
        ddp_class._sync_buffers = timed(ddp_class._sync_buffers, watcher)


def _adopt(torch: Any, watcher: Watcher, ddp: Any) -> None:
    on_cuda = any(parameter.is_cuda for parameter in ddp.parameters())
    if not on_cuda:
        # By default the times of most iterations are not taken. On a GPU taking them would make
        # the host wait for the device: there the phases come from events instead.
        ddp._set_ddp_runtime_logging_sample_rate(1)
        reader = _Reader(watcher, ddp)
        watcher.after_forward.append(reader)
        watcher.at_end_of_data.append(reader.at_end_of_data)
    else:
        watcher.around_backward.append(LastGradient(watcher, list(ddp.parameters())))
    watcher.ddp = weakref.ref(ddp)
    if watcher.writer.noise is None:
        sampler = NoiseSampler(torch, watcher, ddp)
        watcher.writer.noise = sampler
        watcher.around_backward.append(sampler)
    else:
        watcher.writer.noise.give_up()  # two networks: whose noise would it be?


class _Reader:
    """Reads, after a forward, when the backward before it had its gradients and when their
    averages."""

    def __init__(self, watcher: Watcher, ddp: Any) -> None:
        self.watcher = watcher
        self.ddp = weakref.ref(ddp)
        self.last = (0, 0)

    def at_end_of_data(self) -> None:
        """No forward may follow: has the times of the last backward published now."""
        ddp = self.ddp()
        publish = getattr(getattr(ddp, "logger", None), "set_runtime_stats_and_log", None)
        if publish is None or self.last == (0, 0):
            return
        try:
            publish()
        except RuntimeError:
            return
        self()

    def __call__(self) -> None:
        ddp = self.ddp()
        if ddp is None:
            return
        data = ddp._get_ddp_logging_data()
        ready = data.get("backward_compute_time_end")
        done = data.get("backward_comm_time_end")
        if ready is None or done is None or (ready, done) == self.last:
            return
        self.last = (ready, done)
        to_monotonic = time.monotonic_ns() - time.time_ns()  # they are on the wall clock
        self.watcher.exposed.append((ready + to_monotonic, done + to_monotonic))


class LastGradient:
    """On a GPU: from the moment the last gradient is queued, backward is communication.

    Which parameter comes last is found out on a few steps, on which all have a hook; on the others
    only that one has. The hook runs while the training thread waits for backward."""

    LEARN_EVERY = 64

    def __init__(self, watcher: Watcher, parameters: List[Any]) -> None:
        self.watcher = watcher
        self.parameters = [p for p in parameters if p.requires_grad]
        self.backwards = 0
        self.last = -1  # position of the parameter
        self.learning: List[Any] = []
        self.hook: Any = None

    def begins(self) -> None:
        if self.backwards % self.LEARN_EVERY == 0:
            self.learning = [p.register_hook(self._note(i)) for i, p in enumerate(self.parameters)]
        self.backwards += 1

    def _note(self, position: int) -> Callable[[Any], None]:
        def hook(gradient: Any) -> None:
            self.last = position

        return hook

    def _communicates(self, gradient: Any) -> None:
        with switch.guarded():
            if self.watcher.inside["backward"]:
                self.watcher.tracker.clock.switch(COMM)

    def ends(self) -> None:
        if not self.learning:
            return
        for hook in self.learning:
            hook.remove()
        self.learning = []
        if self.hook is not None:
            self.hook.remove()
        self.hook = self.parameters[self.last].register_hook(self._communicates)


def wrap_collectives(torch: Any, watcher: Watcher) -> None:
    module = torch.distributed.distributed_c10d
    for name in _COLLECTIVES:
        original = getattr(module, name, None)
        if original is None:
            continue
        wrapped = timed(original, watcher)
        setattr(module, name, wrapped)
        if getattr(torch.distributed, name, None) is original:
            setattr(torch.distributed, name, wrapped)
    work = getattr(torch._C._distributed_c10d, "Work", None)
    if work is not None:
        work.wait = timed(work.wait, watcher)


def timed(original: Callable[..., Any], watcher: Watcher) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not watcher.enter("communication"):
            return original(*args, **kwargs)
        try:
            return original(*args, **kwargs)
        finally:
            watcher.communicated()

    return call
