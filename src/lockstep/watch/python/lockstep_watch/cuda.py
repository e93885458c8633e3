"""The phase clock for GPUs.

A CUDA event is recorded at every change of phase, and events are read later, when the device has
passed them: nothing waits. The time between two events belongs to the phase that the host was in
when it queued what lies between them. So "input wait" is the time the device had nothing to do
because the host waited, and forward is what the device spent on forward.
"""

from __future__ import annotations

from typing import Any, List, Tuple

from .clock import PHASES, PhaseClock, Snapshot
from .steps import Step

_DROPPED = -1


class CudaClock(PhaseClock):
    """Takes over from a host clock. Host times go on being kept: they order steps."""

    def __init__(self, torch: Any, host: PhaseClock) -> None:
        super().__init__(host.now)
        self.current = host.current
        self.since = host.since
        self._back = list(host._back)
        self._lingering = host._lingering
        self._event = torch.cuda.Event
        self._spare: List[Any] = []
        self._marks: List[Tuple[int, Any]] = []
        self._mark(self.current)

    def _mark(self, phase: int) -> None:
        event = self._spare.pop() if self._spare else self._event(enable_timing=True)
        event.record()
        self._marks.append((phase, event))

    def switch(self, phase: int) -> int:
        moment = super().switch(phase)
        self._mark(phase)
        return moment

    def snapshot(self) -> Snapshot:
        taken = super().snapshot()
        taken.mark = len(self._marks) - 1
        return taken

    def restore(self, to: Snapshot) -> int:
        dropped = super().restore(to)
        # The last mark begins the time that counts again.
        for index in range(to.mark, len(self._marks) - 1):
            self._marks[index] = (_DROPPED, self._marks[index][1])
        return dropped

    def cut(self, at: Snapshot) -> "DeviceTimes":
        super().cut(at)
        times = DeviceTimes(self._marks[: at.mark + 1], self._spare)
        self._marks = self._marks[at.mark :]
        return times


class DeviceTimes:
    """The phases of one step, once the device has finished it."""

    def __init__(self, marks: List[Tuple[int, Any]], spare: List[Any]) -> None:
        self.marks = marks
        self.spare = spare

    def resolve(self, step: Step) -> bool:
        """Writes the times into `step`; False while the device is not there yet."""
        if not self.marks:
            return True
        if not self.marks[-1][1].query():
            return False
        sums = [0] * PHASES
        for (phase, event), (_, following) in zip(self.marks, self.marks[1:]):
            if phase != _DROPPED:
                sums[phase] += round(event.elapsed_time(following) * 1e6)
        step.phases = sums
        step.start = step.end - sum(sums)
        step.spans = None  # their times are the host's
        # The last event is the first of the next step.
        self.spare.extend(event for _, event in self.marks[:-1])
        self.marks = []
        return True
