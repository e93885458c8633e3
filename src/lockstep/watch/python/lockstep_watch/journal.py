"""What the hooks report, handed to the tracker many events at a time.

Between the operations of a step the caches of the processor are full of the script's data, and the
same code takes several times as long as in a loop of its own. So a hook only notes what happened
and when; the tracker gets the notes of many steps at once. They are kept in one flat list: objects
that contain others would make the script's garbage collector run more often.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import Any, Callable, List

# At least this often, so that steps are written soon.
_CATCH_UP_NS = 250_000_000
# About 512 and 8192 events. The latter counts in a script that goes on for so long without a step
# or an evaluation, wherever it is.
_CATCH_UP_LENGTH = 2048
_MOST_LENGTH = 32768


class Journal:
    """Calls of the tracker with the moments they were noted at."""

    def __init__(self) -> None:
        self.deferring = False  # otherwise every note is handed on at once
        self._notes: List[Any] = []  # for each: call, moment, number of arguments, arguments
        self._moment = time.monotonic_ns()
        self._due = self._moment + _CATCH_UP_NS
        self.replaying = False

    def now(self) -> int:
        """The clock of the tracker."""
        return self._moment

    def note(self, call: Callable[..., Any], *args: Any) -> int:
        moment = time.monotonic_ns()
        notes = self._notes
        notes += (call, moment, len(args), *args)
        if not self.deferring or len(notes) >= _MOST_LENGTH:
            self._replay()
        return moment

    def catch_up(self) -> None:
        """The clock then shows the present moment, unless the tracker itself asks."""
        if not self.replaying:
            self._replay()
            self._moment = time.monotonic_ns()

    def catch_up_if_due(self, moment: int) -> None:
        """After a step that ended at `moment`: what this takes is charged to the time between two
        steps."""
        if moment >= self._due or len(self._notes) >= _CATCH_UP_LENGTH:
            self.catch_up()

    def catch_up_if_long(self) -> None:
        """Where no step may end for long, as in an evaluation."""
        if len(self._notes) >= _CATCH_UP_LENGTH:
            self.catch_up()

    def stop_deferring(self) -> None:
        self.deferring = False
        self.catch_up()

    def _replay(self) -> None:
        notes, self._notes = self._notes, []
        self.replaying = True
        try:
            rest = iter(notes)
            for call in rest:
                self._moment = next(rest)
                count = next(rest)
                call(*islice(rest, count)) if count else call()
        finally:
            self.replaying = False
        self._due = self._moment + _CATCH_UP_NS
