"""That steps are the same whether events reach the tracker at once or later."""

import gc
import os
import random
import sys
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))

from lockstep_watch import journal  # noqa: E402
from lockstep_watch.clock import PhaseClock  # noqa: E402
from lockstep_watch.steps import StepTracker  # noqa: E402


def steps_of(events, deferring):
    """What the tracker makes of (time passed, name of a call, arguments)."""
    now = [1000]
    emitted = []
    with mock.patch.object(journal.time, "monotonic_ns", lambda: now[0]):
        notes = journal.Journal()
        notes.deferring = deferring
        tracker = StepTracker(PhaseClock(notes.now), emitted.append)
        for passed, name, args in events:
            now[0] += passed
            moment = notes.note(getattr(tracker, name), *args)
            if name == "optimizer_ends":
                notes.catch_up_if_due(moment)
        notes.catch_up()
        tracker.finish()
    fields = ("index", "epoch", "examples", "start", "end", "phases", "spans")
    return [[getattr(step, field) for field in fields] for step in emitted]


def training(generator, steps):
    events = []

    def add(name, *args):
        events.append((generator.randrange(1, 10_000_000), name, args))

    for number in range(steps):
        for _ in range(generator.choice((1, 1, 1, 2))):
            add("fetch_begins")
            add("fetch_ends", (1, 1 + number // 50), 32, False)
            add("forward_begins", True)
            add("forward_ends", 7, True, 32, 32, 0)
            add("backward_begins")
            add("backward_ends")
        add("optimizer_begins", 9)
        add("optimizer_ends", 9)
        if generator.random() < 0.1:
            add("fetch_begins")
            add("fetch_ends", (2, 1), 32, False)
            add("forward_begins", False)
            add("forward_ends", 7, False, 32, 32, 0)
    return events


class Deferred(unittest.TestCase):
    def test_steps_do_not_depend_on_when_they_are_handed_on(self):
        for seed in range(20):
            events = training(random.Random(seed), 200)
            at_once = steps_of(events, False)
            self.assertEqual(len(at_once), 200)
            self.assertEqual(steps_of(events, True), at_once)

    def test_notes_are_handed_on_before_they_become_many(self):
        seen = []
        notes = journal.Journal()
        notes.deferring = True
        for number in range(5000):
            notes.note(seen.append, number)
            notes.catch_up_if_long()
            self.assertLessEqual(number + 1 - len(seen), 512)
        notes.catch_up()
        self.assertEqual(seen, list(range(5000)))

    def test_notes_are_bounded_where_no_step_ends(self):
        seen = []
        notes = journal.Journal()
        notes.deferring = True
        for number in range(50_000):
            notes.note(seen.append, number)
            self.assertLess(number + 1 - len(seen), 10_000)
        notes.catch_up()
        self.assertEqual(seen, list(range(50_000)))

    def test_a_long_time_hands_notes_on_after_a_step(self):
        now = [0]
        seen = []
        with mock.patch.object(journal.time, "monotonic_ns", lambda: now[0]):
            notes = journal.Journal()
            notes.deferring = True
            notes.catch_up_if_due(notes.note(seen.append, 1))
            self.assertEqual(seen, [])
            now[0] = 300_000_000
            notes.catch_up_if_due(notes.note(seen.append, 2))
            self.assertEqual(seen, [1, 2])

    def test_notes_give_the_garbage_collector_nothing_to_do(self):
        notes = journal.Journal()
        notes.deferring = True
        call = [].append
        notes.note(call, 1)
        before = gc.get_count()[0]
        for number in range(300):
            notes.note(call, number)
        self.assertLess(gc.get_count()[0] - before, 10)

    def test_the_clock_shows_the_present_to_direct_calls(self):
        now = [10]
        with mock.patch.object(journal.time, "monotonic_ns", lambda: now[0]):
            notes = journal.Journal()
            notes.deferring = True
            seen = []
            notes.note(lambda: seen.append(notes.now()))
            now[0] = 20
            notes.catch_up()
            self.assertEqual(seen, [10])
            self.assertEqual(notes.now(), 20)


if __name__ == "__main__":
    unittest.main()
