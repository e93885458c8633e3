"""Gives every moment of a process to exactly one phase, so that phases add up to the step."""

from __future__ import annotations

import time
from typing import Any, Callable, List, Optional

# The order of record::Phase (src/lockstep/record/step_times.h), except that COMM is the exposed
# communication as a whole: only the merger, which sees all ranks, can split wait from transfer.
INPUT, H2D, FORWARD, BACKWARD, COMM, OPTIMIZER, OTHER = range(7)
PHASES = 7


class Snapshot:
    """All that was charged up to a moment."""

    __slots__ = ("at", "sums", "mark")

    def __init__(self, at: int, sums: List[int], mark: int) -> None:
        self.at = at
        self.sums = sums
        self.mark = mark  # where the moment stands in the list of a clock that keeps one


class PhaseClock:
    """Exclusive times on a stack: entering a phase stops the one around it."""

    def __init__(self, now: Callable[[], int] = time.monotonic_ns) -> None:
        self.now = now
        self.sums = [0] * PHASES
        self.current = OTHER
        self.since = now()
        self._back: List[int] = []
        self._lingering: Optional[int] = None

    def switch(self, phase: int) -> int:
        """Charges the time since the last change to the phase that ends. Returns the moment."""
        moment = self.now()
        self.sums[self.current] += moment - self.since
        self.since = moment
        self.current = phase
        return moment

    def enter(self, phase: int) -> int:
        back = self.current if self._lingering is None else self._lingering
        self._lingering = None
        self._back.append(back)
        return self.switch(phase)

    def leave(self, linger: bool = False) -> int:
        """With `linger` the phase goes on until the next change: the loss is computed between
        forward and backward, often by functions that are no modules."""
        back = self._back.pop() if self._back else OTHER
        self._lingering = back if linger else None
        return self.switch(self.current if linger else back)

    def snapshot(self) -> Snapshot:
        return Snapshot(self.switch(self.current), list(self.sums), 0)

    def restore(self, to: Snapshot) -> int:
        """Forgets what was charged since. Returns how much that was."""
        self.switch(self.current)
        dropped = sum(self.sums) - sum(to.sums)
        self.sums = list(to.sums)
        return dropped

    def cut(self, at: Snapshot) -> Any:
        """Hands out what was charged up to `at`; later time stays."""
        if self.since == at.at:
            self.sums = [0] * PHASES
        else:
            self.sums = [total - before for total, before in zip(self.sums, at.sums)]
        return None
