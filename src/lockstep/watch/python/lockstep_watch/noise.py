"""Squared norms of gradients before and after DDP averages them, on sampled steps: what the
gradient noise scale is estimated from (src/lockstep/measure/noise_scale.h)."""

from __future__ import annotations

import time
import weakref
from typing import Any, Dict, List

# Ranks sample the same steps, or all steps of some of them: periods are powers of two.
_EVERY_STEP_UNTIL = 24
_FIRST_PERIOD = 8
_LEAST_PERIOD = 4
_MOST_PERIOD = 256
# Of the time between two samples; the period follows what the samples cost.
_COST = 0.004
# A process that another interrupts seems to cost more: the least of the last samples counts.
_REMEMBERED = 4


class NoiseSampler:
    """Hooks the parameters for the length of one backward. The hook sees the gradient of this rank
    before DDP adds it to .grad and averages; .grad afterwards is the average."""

    def __init__(self, torch: Any, watcher: Any, ddp: Any) -> None:
        self.torch = torch
        self.watcher = watcher
        self.ddp = weakref.ref(ddp)
        self.alive = True
        self.period = _FIRST_PERIOD
        self.costs: List[int] = []  # of the last samples
        self.step = -1  # the last one sampled
        self.averaged = 0  # backward passes whose gradients DDP averaged
        self.hooks: List[Any] = []
        self.parameters: List[Any] = []
        self.local: Any = None
        self.cost_ns = 0
        self.sampled_at = time.monotonic_ns()
        self.samples: Dict[int, List[float]] = {}

    def give_up(self) -> None:
        self.alive = False

    def begins(self) -> None:
        ddp = self.ddp()
        if not self.alive or ddp is None or self.watcher.on_cuda:
            return
        if not ddp.require_backward_grad_sync:
            return
        self.averaged += 1
        due = self.averaged <= _EVERY_STEP_UNTIL or self.averaged % self.period == 0
        if not due or self._world(ddp) < 2:
            return
        self.watcher.housekeeping_begins()
        self.step = self.watcher.tracker.index
        began = time.monotonic_ns()
        self.local = 0.0
        self.parameters = [p for p in ddp.parameters() if p.requires_grad]
        self.hooks = [p.register_hook(self._hook(p)) for p in self.parameters]
        self.cost_ns = time.monotonic_ns() - began
        self.watcher.housekeeping_ends()

    def _world(self, ddp: Any) -> int:
        return int(self.torch.distributed.get_world_size(ddp.process_group))

    def _hook(self, parameter: Any) -> Any:
        def hook(gradient: Any) -> None:
            from .switch import switch

            with switch.guarded():
                if self.alive:
                    began = time.monotonic_ns()
                    self.watcher.housekeeping_begins()
                    whole = gradient if parameter.grad is None else gradient + parameter.grad
                    self.local += self._squares(whole)
                    self.watcher.housekeeping_ends()
                    self.cost_ns += time.monotonic_ns() - began

        return hook

    def _squares(self, gradient: Any) -> float:
        if gradient.layout != self.torch.strided:
            self.give_up()
            return 0.0
        flat = gradient.detach().reshape(-1).to(self.torch.float32)
        return float(self.torch.dot(flat, flat))

    def ends(self) -> None:
        if not self.hooks:
            return
        began = time.monotonic_ns()
        self.watcher.housekeeping_begins()
        for hook in self.hooks:
            hook.remove()
        averaged = sum(self._squares(p.grad) for p in self.parameters if p.grad is not None)
        self.hooks = []
        self.parameters = []
        examples = self.watcher.tracker.examples()
        self.watcher.housekeeping_ends()
        now = time.monotonic_ns()
        self.cost_ns += now - began
        if self.alive and examples is not None:
            self.samples[self.step] = [self.local, averaged, examples]
        self._adapt(now)

    def _adapt(self, now: int) -> None:
        """Compares with the time since the last sample, which was at most one period ago."""
        self.costs = [*self.costs[1 - _REMEMBERED :], self.cost_ns]
        if self.averaged > _EVERY_STEP_UNTIL:
            allowed = _COST * (now - self.sampled_at)
            if min(self.costs) > allowed and self.period < _MOST_PERIOD:
                self.period *= 2
            elif min(self.costs) < allowed / 3 and self.period > _LEAST_PERIOD:
                self.period //= 2
        self.sampled_at = now

    def take(self) -> List[List[float]]:
        """Complete samples, as [step, local, averaged, examples]; the open step stays."""
        open_step = self.watcher.tracker.index
        ready = [step for step in self.samples if step < open_step]
        return [[step] + self.samples.pop(step) for step in sorted(ready)]
