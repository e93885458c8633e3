"""The clock for GPUs, against events of a device that runs behind the host."""

import os
import sys
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))

from lockstep_watch.clock import (  # noqa: E402
    BACKWARD, COMM, FORWARD, INPUT, OPTIMIZER, OTHER, PhaseClock)
from lockstep_watch.cuda import CudaClock  # noqa: E402
from lockstep_watch.ddp import LastGradient  # noqa: E402
from lockstep_watch.steps import StepTracker  # noqa: E402


class Device:
    """Work is queued by the host and takes its time on the device; nothing ever waits here."""

    def __init__(self):
        self.host = 1000
        self.busy_until = 0.0
        self.reached = 0.0  # what the device has finished
        device = self

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                self.at = max(device.busy_until, float(device.host))

            def query(self):
                return self.at <= device.reached

            def elapsed_time(self, other):
                assert self.query() and other.query(), "read before the device was there"
                return (other.at - self.at) / 1e6

            def synchronize(self):
                raise AssertionError("the watcher must never synchronise")

        self.torch = types.SimpleNamespace(cuda=types.SimpleNamespace(Event=Event))

    def queue(self, time):
        self.busy_until = max(self.busy_until, float(self.host)) + time


class CudaClockTest(unittest.TestCase):
    def setUp(self):
        self.device = Device()
        self.steps = []
        host = PhaseClock(lambda: self.device.host)
        self.tracker = StepTracker(CudaClock(self.device.torch, host), self.steps.append)

    def train_step(self, fetch=1000, forward=40000, optimizer=10000):
        self.tracker.fetch_begins()
        self.device.host += fetch
        self.tracker.fetch_ends((1, 1), 32, False)
        self.tracker.forward_begins(True)
        self.device.host += 100  # launching is quick
        self.device.queue(forward)
        self.tracker.forward_ends(1, True, 32, 32)
        self.tracker.optimizer_begins(7)
        self.device.host += 50
        self.device.queue(optimizer)
        self.tracker.optimizer_ends(7)

    def resolve_all(self):
        self.tracker.finish()
        self.device.reached = self.device.busy_until + self.device.host
        for step in self.steps:
            self.assertTrue(step.marks.resolve(step))
        return self.steps

    def test_phases_are_times_of_the_device(self):
        for _ in range(4):
            self.train_step()
        step = self.resolve_all()[2]
        self.assertEqual(step.phases[FORWARD], 40000)
        self.assertEqual(step.phases[OPTIMIZER], 10000)
        self.assertEqual(step.phases[INPUT], 0)  # the device had work meanwhile

    def test_waiting_for_input_is_time_without_work_for_the_device(self):
        for _ in range(4):
            self.train_step(fetch=90000)
        step = self.resolve_all()[2]
        self.assertGreater(step.phases[INPUT], 30000)
        self.assertEqual(sum(step.phases), step.end - step.start)

    def test_a_step_that_the_device_has_not_finished_is_not_read(self):
        self.train_step()
        self.train_step()
        self.tracker.finish()
        self.assertFalse(self.steps[0].marks.resolve(self.steps[0]))

    def test_evaluation_is_left_out(self):
        self.train_step()
        for _ in range(3):
            self.tracker.fetch_begins()
            self.tracker.fetch_ends((2, 1), 32, False)
            self.tracker.forward_begins(False)
            self.device.queue(70000)
            self.tracker.forward_ends(1, False, 32, 32)
        self.train_step()
        self.train_step()
        steps = self.resolve_all()
        self.assertLess(sum(steps[1].phases), 60000)
        self.assertEqual(steps[1].phases[OTHER], 0)


class Parameter:
    requires_grad = True

    def __init__(self):
        self.hooks = []

    def register_hook(self, hook):
        self.hooks.append(hook)
        return types.SimpleNamespace(remove=lambda: self.hooks.remove(hook))

    def arrive(self):
        for hook in list(self.hooks):
            hook(None)


class LastGradientTest(unittest.TestCase):
    def test_what_follows_the_last_gradient_is_communication(self):
        time = [1000]
        steps = []
        tracker = StepTracker(PhaseClock(lambda: time[0]), steps.append)
        watcher = types.SimpleNamespace(tracker=tracker, inside={"backward": True})
        parameters = [Parameter() for _ in range(3)]
        part = LastGradient(watcher, parameters)
        for _ in range(3):
            tracker.backward_begins()
            part.begins()
            for parameter in (parameters[2], parameters[0], parameters[1]):
                time[0] += 10
                parameter.arrive()
            time[0] += 7
            tracker.backward_ends()
            part.ends()
            tracker.optimizer_begins(1)
            tracker.optimizer_ends(1)
        tracker.finish()
        self.assertEqual([step.phases[COMM] for step in steps], [0, 7, 7])
        self.assertEqual([step.phases[BACKWARD] for step in steps], [37, 30, 30])


if __name__ == "__main__":
    unittest.main()
