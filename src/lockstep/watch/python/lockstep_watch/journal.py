"""What the hooks report, handed to the tracker many events at a time.

Between the operations of a step the caches of the processor are full of the script's data, and the
same code takes several times as long as in a loop of its own. So a hook only notes what happened
and when; the tracker gets the notes of many steps at once.
"""

from __future__ import annotations

import time
from typing import Any, Callable, List, Tuple

# At least this often, so that steps are written soon.
_CATCH_UP_NS = 250_000_000
_CATCH_UP_EVENTS = 512
# In a script that goes on for so long without a step or an evaluation, wherever it is.
_MOST_EVENTS = 8192


class Journal:
    """Calls of the tracker with the moments they were noted at."""

    def __init__(self) -> None:
        self.deferring = False  # otherwise every note is handed on at once
        self._notes: List[Tuple[Callable[..., Any], int, Tuple[Any, ...]]] = []
        self._moment = self._caught_up = time.monotonic_ns()
        self.replaying = False

    def now(self) -> int:
        """The clock of the tracker."""
        return self._moment

    def note(self, call: Callable[..., Any], *args: Any) -> int:
        moment = time.monotonic_ns()
        self._notes.append((call, moment, args))
        if not self.deferring or len(self._notes) >= _MOST_EVENTS:
            self._replay()
        return moment

    def catch_up(self) -> None:
        """The clock then shows the present moment, unless the tracker itself asks."""
        if not self.replaying:
            self._replay()
            self._moment = time.monotonic_ns()

    def catch_up_if_due(self) -> None:
        """After a step: what this takes is charged to the time between two steps."""
        due = self._notes and self._notes[-1][1] - self._caught_up >= _CATCH_UP_NS
        if due or len(self._notes) >= _CATCH_UP_EVENTS:
            self.catch_up()

    def catch_up_if_long(self) -> None:
        """Where no step may end for long, as in an evaluation."""
        if len(self._notes) >= _CATCH_UP_EVENTS:
            self.catch_up()

    def stop_deferring(self) -> None:
        self.deferring = False
        self.catch_up()

    def _replay(self) -> None:
        notes, self._notes = self._notes, []
        self.replaying = True
        try:
            for call, moment, args in notes:
                self._moment = moment
                call(*args)
        finally:
            self.replaying = False
        self._caught_up = self._moment
