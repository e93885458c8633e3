"""The one switch of the watcher: whatever goes wrong in a hook turns it off for good."""

from __future__ import annotations

import os
import sys
import types
from typing import Any, Callable, List, Optional

_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Switch:
    """`on` is read by every hook before it does anything."""

    def __init__(self) -> None:
        self.on = True
        self.when_off: List[Callable[[str], None]] = []
        self._guard = _Guard(self)

    def turn_off(self, problem: BaseException) -> None:
        """Says why, once, on stderr; callbacks get the reason for the record."""
        if not self.on:
            return
        self.on = False
        reason = "%s: %s" % (type(problem).__name__, problem)
        reason = " ".join(reason.split())[:300]
        try:
            os.write(2, ("lockstep: watching stopped, the script goes on: %s\n" % reason).encode())
            for callback in self.when_off:
                callback(reason)
        except Exception:
            pass

    def guarded(self) -> "_Guard":
        return self._guard


class _Guard:
    """Keeps exceptions of the watcher inside; those meant for the script (Ctrl-C) pass."""

    __slots__ = ("switch",)

    def __init__(self, switch: Switch) -> None:
        self.switch = switch

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, problem: Optional[BaseException], trace: Any) -> bool:
        if problem is None or not isinstance(problem, Exception):
            return False
        self.switch.turn_off(problem)
        return True


switch = Switch()


_shown_without_us = False


def show_tracebacks_without_us() -> None:
    """A script that dies of an exception prints the traceback it would print without the hooks."""
    global _shown_without_us
    if _shown_without_us:
        return
    _shown_without_us = True
    previous = sys.excepthook

    def excepthook(
        kind: type, problem: BaseException, trace: Optional[types.TracebackType]
    ) -> None:
        try:
            trace = _without_our_frames(trace)
            seen: Optional[BaseException] = problem
            while seen is not None:
                seen.__traceback__ = _without_our_frames(seen.__traceback__)
                seen = seen.__cause__ or seen.__context__
        except Exception:
            pass
        previous(kind, problem, trace)  # type: ignore[arg-type]

    sys.excepthook = excepthook


def _without_our_frames(trace: Optional[types.TracebackType]) -> Optional[types.TracebackType]:
    """Python leaves out its own frames of an import, but not around a frame of ours."""
    kept: List[types.TracebackType] = []
    importing = False
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(_FOLDER):
            importing = True
            while kept and _is_of_import(kept[-1].tb_frame.f_code.co_filename):
                kept.pop()
        elif not (importing and _is_of_import(file)):
            importing = False
            kept.append(trace)
        trace = trace.tb_next
    result: Optional[types.TracebackType] = None
    for entry in reversed(kept):
        result = types.TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def _is_of_import(file: str) -> bool:
    return file.startswith("<frozen importlib")
