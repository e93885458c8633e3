"""Where a step begins and ends, what was evaluation, and how many examples a step had.

Independent of torch: the hooks report what happens, in order, from one thread.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from .clock import BACKWARD, COMM, FORWARD, H2D, INPUT, OPTIMIZER, OTHER, PHASES
from .clock import PhaseClock, Snapshot

# More collectives than this in one step are added up instead of listed.
MOST_COLLECTIVES = 32

Span = Tuple[int, int]
Pass = Tuple[int, int]  # a loader, and which iteration over it


class Step:
    """One optimizer step of this process; times in nanoseconds of the monotonic clock."""

    __slots__ = ("index", "epoch", "examples", "tokens", "start", "end", "phases", "spans", "marks")

    def __init__(self, index: int, epoch: int, seen: "_Examples", end: Snapshot) -> None:
        self.index = index
        self.epoch = epoch
        self.examples = seen.value()
        self.tokens = seen.tokens()
        self.end = end.at
        self.start = end.at - sum(end.sums)
        self.phases = list(end.sums)
        self.spans: Optional[List[Span]] = []  # of collectives; None when there were too many
        self.marks: Any = None  # of a clock that is read later

    def add_exposed(self, span: Span) -> None:
        """Communication at the end of backward, which was measured as part of backward."""
        duration = min(max(0, span[1] - span[0]), self.phases[BACKWARD])
        self.phases[BACKWARD] -= duration
        self.phases[COMM] += duration
        if self.spans is not None:
            self.spans.append(span)
            self.spans.sort()


class _Examples:
    """Examples per network. One network may see the same data twice (real and
    generated images), so the smallest sum counts. Unknown when a batch could not be confirmed."""

    def __init__(self) -> None:
        self.sums: Dict[int, int] = {}
        self.token_sums: Dict[int, int] = {}
        self.unconfirmed = 0

    def add(self, network: int, examples: int, tokens: int) -> None:
        self.sums[network] = self.sums.get(network, 0) + examples
        if tokens:
            self.token_sums[network] = self.token_sums.get(network, 0) + tokens

    def value(self) -> Optional[int]:
        return None if self.unconfirmed or not self.sums else min(self.sums.values())

    def tokens(self) -> Optional[int]:
        return None if self.unconfirmed or not self.token_sums else min(self.token_sums.values())

    def take(self, later: "_Examples") -> None:
        for network, count in later.sums.items():
            self.add(network, count, later.token_sums.get(network, 0))
        self.unconfirmed += later.unconfirmed


class StepTracker:
    """Turns what the hooks report into steps, which go to `emit` in order.

    The end of the outermost optimizer step is the end of the step, unless another optimizer steps
    before the next batch is fetched (two networks trained in turn). So a step is emitted when the
    next batch is fetched or the same optimizer steps again.
    """

    def __init__(self, clock: PhaseClock, emit: Callable[[Step], None]) -> None:
        self.clock = clock
        self.emit = emit
        self.index = 0
        self.epoch = 0
        self.evaluation_ns: Dict[int, int] = {}  # by the epoch it came after
        self._began = False
        self._end: Optional[Snapshot] = None  # provisional end of the open step
        self._end_examples = _Examples()  # up to there
        self._stepped: Set[int] = set()  # optimizers that stepped in the open step
        self._spans: List[Span] = []
        self._communication_began = 0
        self._examples = _Examples()  # since then
        self._sizes: Dict[int, bool] = {}  # of batches that loaders handed out
        self._mark = Snapshot(0, [0] * PHASES, 0)  # what a run of evaluation is dropped back to
        self._trained = self._evaluated = False  # since the mark
        self._networks: Set[int] = set()  # that were trained
        self._fetched: Optional[Pass] = None  # where the last batch came from
        self._fresh = False  # neither trained nor evaluated yet
        self._training_loaders: Set[int] = set()
        self._evaluation_loaders: Set[int] = set()
        self._pass: Optional[Pass] = None  # where the last trained batch came from
        self._counted: Optional[Pass] = None  # the pass that `epoch` stands for
        self._exhausted: Set[Pass] = set()
        self._stated_epochs = 0
        self._prepared = False  # an optimizer stepped before anything was trained

    # Input

    def fetch_begins(self) -> None:
        self._begin()
        if self._end is not None:
            self._commit()
        if self._evaluated and not self._trained:
            self.drop_evaluation(self._mark)
            if self._fetched is not None and self._fetched[0] not in self._training_loaders:
                self._evaluation_loaders.add(self._fetched[0])
                self._fresh = False
        # Without a forward since the last fetch, that batch was fetched ahead: the mark stays.
        if self._mark.at == 0 or self._evaluated or self._trained:
            self._mark = self.clock.snapshot()
            self._trained = self._evaluated = False
        self.clock.enter(INPUT)

    def fetch_ends(self, source: Optional[Pass], size: Optional[int], exhausted: bool) -> None:
        self.clock.leave()
        if source is not None:
            self._fetched = source
            if exhausted:
                self._exhausted.add(source)
            else:
                self._fresh = True
        if size is not None:
            self._sizes[size] = True

    def transfer_begins(self) -> None:
        self.clock.enter(H2D)

    def transfer_ends(self) -> None:
        self.clock.leave()

    # Compute

    def forward_begins(self, training: bool) -> None:
        if training:
            self._trains()
        self.clock.enter(FORWARD)

    def forward_ends(
        self,
        network: int,
        training: bool,
        size: Optional[int],
        result: Optional[int],
        tokens: int = 0,
    ) -> None:
        """`network` is 0 for a module without parameters, such as a loss. `size` and `result` are
        the leading dimensions of input and output, `tokens` what the input had of them."""
        self.clock.leave(linger=training)
        if training and network:
            self._networks.add(network)
            if size is None or (size not in self._sizes and size != result):
                self._examples.unconfirmed += 1
            else:
                self._examples.add(network, size, tokens)
        elif not training:
            self._evaluated = True
            if self._fetched is not None and self._fetched[0] in self._evaluation_loaders:
                self._fresh = False
            if self._fetched is None and network in self._networks and not self._trained:
                # A script without a DataLoader evaluates between two steps.
                self.drop_evaluation(self._end or self._mark)

    def _trains(self) -> None:
        self._begin()
        self._trained = True
        if self._fresh and self._fetched is not None:
            self._fresh = False
            self._pass = self._fetched
            self._training_loaders.add(self._fetched[0])
            self._evaluation_loaders.discard(self._fetched[0])

    def backward_begins(self) -> None:
        self._trains()
        self.clock.enter(BACKWARD)

    def backward_ends(self) -> None:
        self.clock.leave()

    def communication_begins(self) -> None:
        self._communication_began = self.clock.enter(COMM)

    def communication_ends(self) -> None:
        ended = self.clock.leave()
        if self._began:
            self._spans.append((self._communication_began, ended))

    # The end of a step

    def optimizer_begins(self, optimizer: int) -> None:
        self._begin()
        if self._end is not None and optimizer in self._stepped:
            self._commit()
        self.clock.enter(OPTIMIZER)

    def optimizer_ends(self, optimizer: int) -> None:
        self.clock.leave()
        if self.index == 0 and self._end is None and not self._trained and not self._prepared:
            # Horovod steps once to have the state of the optimizer that it broadcasts.
            self._prepared = True
            self.forget_start_up()
            return
        self._stepped.add(optimizer)
        self._step_may_end()
        self._trained = self._evaluated = False

    # Programs that run a step as one call

    def whole_step_begins(self) -> None:
        self._begin()
        self.clock.enter(OTHER)

    def whole_step_ends(self, examples: Optional[int]) -> None:
        self.clock.leave()
        if examples is not None:
            self._examples.add(1, examples, 0)
        self._step_may_end()
        self._commit()

    def _step_may_end(self) -> None:
        if self._end is None:
            self._end_examples = self._examples
        else:
            self._end_examples.take(self._examples)
        self._examples = _Examples()
        self._end = self.clock.snapshot()

    def housekeeping_begins(self) -> None:
        """The watcher's own work on sampled steps is charged to "other"."""
        self.clock.enter(OTHER)

    def housekeeping_ends(self) -> None:
        self.clock.leave()

    def examples(self) -> Optional[int]:
        """Of the open step so far."""
        if self._end is None:
            return self._examples.value()
        both = _Examples()
        both.take(self._end_examples)
        both.take(self._examples)
        return both.value()

    def forget_start_up(self) -> None:
        """What ran before training began, such as building a model, is not of the first step."""
        if self.index == 0:
            self._began = self._trained = self._evaluated = False
            self._mark = Snapshot(0, [0] * PHASES, 0)
            self._examples = _Examples()

    def next_epoch(self) -> None:
        """For programs that state their epochs: passes over loaders are then not counted."""
        if self._end is not None:
            self._commit()
        self._stated_epochs += 1

    def loader(self) -> int:
        """The loader that is trained from; 0 when there is none."""
        return self._counted[0] if self._counted is not None else 0

    def finish(self) -> None:
        if self._end is not None:
            self._commit()

    def drop_evaluation(self, since: Snapshot) -> None:
        """What was charged since then was evaluation, which belongs to no step."""
        dropped = self.clock.restore(since)
        self.evaluation_ns[self.epoch] = self.evaluation_ns.get(self.epoch, 0) + dropped

    def _begin(self) -> None:
        """Start-up before the first batch belongs to no step."""
        if not self._began:
            self._began = True
            self.clock.restore(Snapshot(0, [0] * PHASES, 0))

    def _commit(self) -> None:
        end = self._end
        assert end is not None
        self._count_epoch()
        step = Step(self.index, self.epoch, self._end_examples, end)
        inside = [span for span in self._spans if span[1] <= end.at] if self._spans else []
        self._spans = self._spans[len(inside) :]
        step.spans = inside if len(inside) <= MOST_COLLECTIVES else None
        step.marks = self.clock.cut(end)
        self.index += 1
        self._end = None
        self._stepped.clear()
        self._mark = Snapshot(0, [0] * PHASES, 0)
        self.emit(step)

    def _count_epoch(self) -> None:
        """A new pass over the loader is an epoch; a second loader that is read in turn is not."""
        here, counted = self._pass, self._counted
        if self._stated_epochs:
            self.epoch = self._stated_epochs
            self._counted = here
        elif self.epoch == 0:
            self.epoch = int(here is not None)  # without a loader epochs are unknown
            self._counted = here
        elif here is not None and here != counted:
            if counted is None or here[0] == counted[0] or counted in self._exhausted:
                self.epoch += counted is not None
                self._counted = here
