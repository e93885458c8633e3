"""What the hooks call: decides what counts, feeds the tracker and hands steps to the writer."""

from __future__ import annotations

import atexit
import functools
import weakref
from threading import get_ident
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .clock import PhaseClock
from .flops import FlopCounter
from .journal import Journal
from .sharing import ranks_per_example
from .steps import Pass, Step, StepTracker
from .switch import switch
from .writer import Writer

# How deep nested batches (tuples of dicts of tensors) are searched for a tensor.
_SEARCH_DEPTH = 3
# The step whose operations are counted: lazy set-up is over by then.
_COUNTED_STEP = 2
# Of calls that are hooked; the tracker has a method for the begin and for the end of each.
_KINDS = ("fetch", "transfer", "forward", "backward", "communication", "optimizer")


def leading_tensor(value: Any, depth: int = _SEARCH_DEPTH) -> Any:
    """The first tensor with a known first dimension, and its shape; None where there is none."""
    if not isinstance(value, (tuple, list)):
        shape = getattr(value, "shape", None)
        if shape is not None:
            return (value, shape) if len(shape) > 0 and shape[0] is not None else None
        if not isinstance(value, Mapping):
            return None
        value = value.values()
    for part in value if depth > 0 else ():
        found = leading_tensor(part, depth - 1)
        if found is not None:
            return found
    return None


def leading_size(value: Any) -> Optional[int]:
    found = leading_tensor(value)
    return None if found is None else int(found[1][0])


def unit_of(batch: Any) -> str:
    """What an example of the task is called, by the form of what goes into the network."""
    dimensions = len(batch.shape)
    if dimensions == 2 and not batch.is_floating_point():
        return "sequences"
    return "images" if dimensions == 4 else "examples"


def _without(networks: Dict[int, Tuple[Any, bool]], key: int, gone: Any) -> None:
    if networks.get(key, (None,))[0] is gone:
        del networks[key]


class Watcher:
    """One per process. Only the thread that trains is measured."""

    def __init__(self, torch: Any, folder: str) -> None:
        self.torch = torch
        self.folder = folder
        self.thread = get_ident()
        self.owner_trains = False
        # By id of a module: a reference to it, and whether it has parameters.
        self.networks: Dict[int, Tuple[Any, bool]] = {}
        self.after_forward: List[Any] = []  # called after each outermost training forward
        self.at_end_of_data: List[Any] = []  # called when a loader is exhausted
        self.around_backward: List[Any] = []  # objects with begins() and ends()
        self.when_on_cuda: List[Any] = []  # called once, when the network is found on a GPU
        self.ddp: Any = None
        self.steps_per_epoch: Optional[int] = None  # where a framework states it
        self._reset()
        switch.when_off.append(self._stopped)
        atexit.register(self.finish)

    def _reset(self) -> None:
        self.inside = dict.fromkeys(_KINDS, False)
        self.busy = False  # in a forward or backward, where calls of modules are no outermost ones
        self.journal = Journal()
        self._tracker = StepTracker(PhaseClock(self.journal.now), self._emit)
        self._begins = {kind: getattr(self._tracker, kind + "_begins") for kind in _KINDS}
        self._ends = {kind: getattr(self._tracker, kind + "_ends") for kind in _KINDS}
        self.writer = Writer(self.torch, self.folder)
        self.exposed: List[Any] = []  # spans at the end of backward, of steps not yet written
        self.held: Optional[Step] = None
        self.on_cuda = False
        self.unit = ""  # of the examples
        self.loaders: Dict[int, Dict[str, Any]] = {}  # facts by id
        self.counter: Optional[FlopCounter] = None  # during the step that is counted
        self.counting = False  # in a training forward of that step

    @property
    def tracker(self) -> StepTracker:
        """For direct calls: knows all that has happened so far."""
        self.journal.catch_up()
        return self._tracker

    def use_torch(self, torch: Any) -> None:
        self.torch = self.writer.torch = torch

    def forget_parent(self) -> None:
        """In a forked child: what the parent measured is the parent's."""
        with switch.guarded():
            self.writer.abandon()
            self._reset()
            self.thread = get_ident()
            self.owner_trains = False

    # Called by the hooks. Nothing here raises, and what every step goes through is in few functions:
    # see `journal` for what code costs between the operations of a step.

    def enter(self, kind: str, *args: Any) -> bool:
        """Whether this call is an outermost one of the thread that trains; then the hook must report
        its end, too."""
        inside = self.inside
        if not switch.on or inside[kind]:
            return False
        try:
            if get_ident() != self.thread:
                if self.owner_trains or kind != "backward":
                    return False
                self.thread = get_ident()
            if inside["fetch"] or (kind == "fetch" and self.busy):
                return False
            inside[kind] = True
            if kind == "forward" or kind == "backward":
                self.busy = True
            self.journal.note(self._begins[kind], *args)
        except Exception as problem:
            switch.turn_off(problem)
        return True

    def _left(self, kind: str, *args: Any) -> int:
        inside = self.inside
        inside[kind] = False
        self.busy = inside["forward"] or inside["backward"]
        return self.journal.note(self._ends[kind], *args)

    def fetched(self, source: Optional[Pass], batch: Any) -> None:
        try:
            self._left("fetch", source, leading_size(batch), batch is None)
            for callback in self.at_end_of_data if batch is None else ():
                callback()
        except Exception as problem:
            switch.turn_off(problem)

    def transferred(self) -> None:
        with switch.guarded():
            self._left("transfer")

    def ran_forward(self, module: Any, training: bool, args: Any, kwargs: Any, out: Any) -> None:
        try:
            self.counting = False
            found = leading_tensor(args)
            if found is None and kwargs:
                found = leading_tensor(kwargs)
            size, tokens = None, 0
            network = id(module) if self._has_parameters(module) else 0
            if found is not None:
                batch, shape = found
                size = int(shape[0])
                if not self.unit and network and training:
                    self.unit = self.writer.facts["unit"] = unit_of(batch)
                if self.unit == "sequences" and len(shape) == 2:
                    tokens = size * int(shape[1])
            self._left("forward", network, training, size, leading_size(out), tokens)
            if training:
                for callback in self.after_forward:
                    callback()
            else:
                self.journal.catch_up_if_long()
        except Exception as problem:
            switch.turn_off(problem)

    def count(self, module: Any, args: Any, result: Any) -> None:
        with switch.guarded():
            if self.counter is not None and self.inside["forward"]:
                self.counter.add(module, args, result)

    def _has_parameters(self, module: Any) -> bool:
        key = id(module)
        known = self.networks.get(key)
        if known is None or known[0]() is not module:
            first = next(iter(module.parameters()), None)
            forget = functools.partial(_without, self.networks, key)
            known = self.networks[key] = (weakref.ref(module, forget), first is not None)
            devices = getattr(module, "device_ids", None)
            if type(module).__name__ == "DataParallel" and devices:
                self.writer.facts["devices"] = len(devices)
            if first is not None:
                self.writer.sharing = max(self.writer.sharing, ranks_per_example(module))
            if first is not None and first.is_cuda and not self.on_cuda:
                self.on_cuda = True
                self.journal.stop_deferring()  # the device is marked when things happen
                for callback in self.when_on_cuda:
                    callback()
        return known[1]

    def enter_backward(self, accumulates: bool) -> bool:
        """`accumulates`: into .grad, where DDP averages."""
        if not self.enter("backward"):
            return False
        try:
            self.owner_trains = True
            for part in self.around_backward if accumulates else ():
                part.begins()
        except Exception as problem:
            switch.turn_off(problem)
        return True

    def ran_backward(self, accumulates: bool) -> None:
        try:
            self._left("backward")
            for part in self.around_backward if accumulates else ():
                part.ends()
        except Exception as problem:
            switch.turn_off(problem)

    def communicated(self) -> None:
        with switch.guarded():
            self._left("communication")

    def enter_optimizer(self, optimizer: Any) -> bool:
        if not self.enter("optimizer", id(optimizer)):
            return False
        if not self.writer.described:
            with switch.guarded():
                self.writer.describe(optimizer)
        return True

    def ran_optimizer(self, optimizer: Any) -> None:
        try:
            self.journal.catch_up_if_due(self._left("optimizer", id(optimizer)))
        except Exception as problem:
            switch.turn_off(problem)

    def housekeeping_begins(self) -> None:
        self.journal.note(self._tracker.housekeeping_begins)

    def housekeeping_ends(self) -> None:
        self.journal.note(self._tracker.housekeeping_ends)

    # Steps on their way to the record

    def _emit(self, step: Step) -> None:
        """Holds one step back: DDP publishes its times during the next forward."""
        if step.index <= _COUNTED_STEP:
            self._count_work(step)
        elif not self.on_cuda:
            self.journal.deferring = True
        if self.on_cuda and step.marks is None:
            from .cuda import CudaClock

            # Steps timed by the host are not comparable with those timed by the device.
            self._tracker.clock = CudaClock(self.torch, self._tracker.clock)
            self.writer.skip(step)
            return
        if self.held is not None:
            self._write(self.held)
        self.held = step

    def _count_work(self, step: Step) -> None:
        if step.index == 0:
            self.writer.describe_data(self.loaders.get(self._tracker.loader()), self.steps_per_epoch)
        # Where ranks share an example, each computes parts of layers.
        alone = self.writer.sharing == 1
        if step.index == _COUNTED_STEP - 1 and self.torch is not None and alone:
            self.counter = FlopCounter(self.torch)
        elif self.counter is not None:
            self.writer.flops_per_example = self.counter.per_example(step.examples)
            self.counter = None

    def _write(self, step: Step, last: bool = False) -> None:
        spans = [span for span in self.exposed if span[1] <= step.end] if self.exposed else []
        if spans:
            self.exposed = [span for span in self.exposed if span[1] > step.end]
        for span in spans:
            if span[0] >= step.start:
                step.add_exposed(span)
        if last and self.ddp is not None and not spans and not self.on_cuda:
            return  # its communication is not known and would pass as backward
        self.writer.add(step, self._tracker.evaluation_ns)

    def finish(self) -> None:
        """The process ends: writes what is left."""
        if not switch.on:
            return
        with switch.guarded():
            self._write_rest()
            self.writer.close(self._tracker.evaluation_ns)

    def finish_early(self) -> None:
        """By os._exit(), which skips what atexit has. Another thread may be in the middle of a step."""
        if get_ident() == self.thread:
            self.finish()

    def _write_rest(self) -> None:
        self.tracker.finish()
        if self.held is not None:
            self._write(self.held, last=True)
            self.held = None

    def _stopped(self, reason: str) -> None:
        try:
            if not self.journal.replaying:  # otherwise it is the tracker that failed
                self._write_rest()
            self.writer.flush(self._tracker.evaluation_ns)
        finally:
            self.writer.stop(reason)
