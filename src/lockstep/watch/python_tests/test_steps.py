"""Where steps begin and end, on a clock that the test moves."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))

from lockstep_watch.clock import (  # noqa: E402
    BACKWARD, COMM, FORWARD, INPUT, OPTIMIZER, OTHER, PhaseClock)
from lockstep_watch.steps import StepTracker  # noqa: E402

NETWORK, TEACHER, CRITIC = 1, 2, 3
SGD, ADAM = 11, 12
TRAIN, VALIDATION, SECOND = 21, 22, 23


class Script:
    """Plays a script: each action takes the time it is given."""

    def __init__(self):
        self.time = 1000
        self.steps = []
        self.tracker = StepTracker(PhaseClock(lambda: self.time), self.steps.append)

    def idle(self, time):
        self.time += time

    def fetch(self, time=1, size=32, source=(TRAIN, 1), exhausted=False):
        self.tracker.fetch_begins()
        self.time += time
        self.tracker.fetch_ends(source, size, exhausted)

    def forward(self, time=10, training=True, size=32, network=NETWORK, result=32):
        self.tracker.forward_begins(training)
        self.time += time
        self.tracker.forward_ends(network, training, size, result)

    def backward(self, time=20):
        self.tracker.backward_begins()
        self.time += time
        self.tracker.backward_ends()

    def step(self, time=3, optimizer=SGD):
        self.tracker.optimizer_begins(optimizer)
        self.time += time
        self.tracker.optimizer_ends(optimizer)

    def train_step(self, source=(TRAIN, 1)):
        self.fetch(source=source)
        self.forward()
        self.backward()
        self.step()

    def finish(self):
        self.tracker.finish()
        return self.steps


class Steps(unittest.TestCase):
    def test_an_optimizer_that_steps_to_make_its_state_makes_no_step(self):
        """As Horovod does before it broadcasts the state."""
        script = Script()
        script.step()
        script.idle(500)
        for _ in range(3):
            script.train_step()
        steps = script.finish()
        self.assertEqual([step.index for step in steps], [0, 1, 2])
        self.assertEqual([step.examples for step in steps], [32] * 3)
        self.assertEqual({step.end - step.start for step in steps}, {34})

    def test_steps_of_gradients_that_autograd_did_not_compute_are_counted(self):
        script = Script()
        for _ in range(4):
            script.fetch()
            script.step()
        self.assertEqual(len(script.finish()), 3)

    def setUp(self):
        self.script = Script()

    def check_sums(self):
        for step in self.script.steps:
            self.assertEqual(sum(step.phases), step.end - step.start)

    def test_phases_add_up_to_the_step_and_steps_follow_each_other(self):
        for _ in range(3):
            self.script.train_step()
            self.script.idle(5)
        steps = self.script.finish()
        self.check_sums()
        self.assertEqual([step.end - step.start for step in steps], [34, 39, 39])
        self.assertEqual(steps[1].start, steps[0].end)
        self.assertEqual(steps[1].phases[OTHER], 5)
        self.assertEqual(steps[1].phases[INPUT], 1)

    def test_a_program_that_runs_a_step_as_one_call_has_no_phases(self):
        tracker = self.script.tracker
        for epoch in range(2):
            tracker.next_epoch()
            for _ in range(2):
                self.script.idle(5)
                tracker.whole_step_begins()
                self.script.idle(30)
                tracker.whole_step_ends(32)
            tested = tracker.clock.snapshot()
            self.script.idle(1000)
            tracker.drop_evaluation(tested)
        steps = self.script.finish()
        self.check_sums()
        self.assertEqual([step.epoch for step in steps], [1, 1, 2, 2])
        self.assertEqual([step.end - step.start for step in steps], [30, 35, 35, 35])
        self.assertEqual({step.examples for step in steps}, {32})
        self.assertEqual(steps[1].phases[OTHER], 35)
        self.assertEqual(tracker.evaluation_ns, {1: 1000, 2: 1000})

    def test_stated_epochs_count_instead_of_passes(self):
        for epoch in range(2):
            self.script.tracker.next_epoch()
            self.script.train_step(source=(TRAIN + epoch, 1))
        self.assertEqual([step.epoch for step in self.script.finish()], [1, 2])

    def test_a_model_that_is_built_before_training_is_not_of_the_first_step(self):
        self.script.forward()
        self.script.idle(1000)
        self.script.tracker.forget_start_up()
        self.script.train_step()
        (step,) = self.script.finish()
        self.assertEqual(step.end - step.start, 34)
        self.assertEqual(step.examples, 32)

    def test_start_up_belongs_to_no_step(self):
        self.script.idle(100000)
        self.script.train_step()
        self.assertEqual(self.script.finish()[0].end - self.script.steps[0].start, 34)

    def test_the_loss_between_forward_and_backward_is_forward(self):
        self.script.fetch()
        self.script.forward(10)
        self.script.idle(4)
        self.script.forward(2, network=0)  # a loss that is a module
        self.script.backward()
        self.script.step()
        step = self.script.finish()[0]
        self.assertEqual(step.phases[FORWARD], 16)
        self.assertEqual(step.phases[OTHER], 0)

    def test_forward_and_backward_inside_the_optimizer_keep_their_phases(self):
        self.script.fetch()
        self.script.tracker.optimizer_begins(SGD)
        self.script.idle(1)
        self.script.forward(10)
        self.script.idle(2)
        self.script.backward(20)
        self.script.idle(3)
        self.script.tracker.optimizer_ends(SGD)
        step = self.script.finish()[0]
        self.assertEqual(step.phases[FORWARD], 12)
        self.assertEqual(step.phases[BACKWARD], 20)
        self.assertEqual(step.phases[OPTIMIZER], 4)

    def test_two_optimizers_in_turn_make_one_step_per_batch(self):
        for _ in range(20):
            self.script.fetch()
            self.script.forward(network=CRITIC)
            self.script.forward(network=CRITIC)
            self.script.backward()
            self.script.step(optimizer=SGD)
            self.script.forward(network=NETWORK)
            self.script.backward()
            self.script.step(optimizer=ADAM)
        steps = self.script.finish()
        self.assertEqual(len(steps), 20)
        self.assertEqual({step.examples for step in steps}, {32})
        self.check_sums()

    def test_without_a_loader_the_same_optimizer_ends_the_step_before(self):
        for _ in range(4):
            self.script.forward()
            self.script.backward()
            self.script.step()
        steps = self.script.finish()
        self.assertEqual([step.examples for step in steps], [32] * 4)
        self.assertEqual([step.end - step.start for step in steps], [33] * 4)

    def test_accumulated_batches_are_one_step(self):
        for _ in range(3):
            for _ in range(4):
                self.script.fetch()
                self.script.forward()
                self.script.backward()
            self.script.step()
        steps = self.script.finish()
        self.assertEqual([step.examples for step in steps], [128] * 3)

    def test_examples_that_nothing_confirms_are_unknown(self):
        # Sequence first: the leading dimension is no batch, and the output has another.
        self.script.forward(size=35, result=700)
        self.script.backward()
        self.script.step()
        self.assertIsNone(self.script.finish()[0].examples)

    def test_evaluation_between_epochs_is_left_out(self):
        self.script.train_step()
        self.script.fetch(exhausted=True, size=None)
        for _ in range(5):
            self.script.fetch(7, size=64, source=(VALIDATION, 1))
            self.script.forward(9, training=False, size=64)
        self.script.fetch(exhausted=True, size=None, source=(VALIDATION, 1))
        self.script.train_step(source=(TRAIN, 2))
        steps = self.script.finish()
        # The fetch that found the validation set exhausted is all that remains of it.
        self.assertEqual(steps[1].end - steps[1].start, 35)
        self.assertEqual(self.script.tracker.evaluation_ns, {1: 1 + 5 * 16})
        self.assertEqual([step.epoch for step in steps], [1, 2])

    def test_evaluation_batches_that_are_fetched_ahead_are_left_out(self):
        self.script.train_step()
        self.script.fetch(7, size=64, source=(VALIDATION, 1))
        for _ in range(3):
            self.script.fetch(7, size=64, source=(VALIDATION, 1))
            self.script.forward(9, training=False, size=64)
        self.script.train_step(source=(TRAIN, 2))
        steps = self.script.finish()
        self.assertEqual(steps[1].end - steps[1].start, 34)

    def test_evaluation_without_a_loader_is_left_out(self):
        for _ in range(2):
            self.script.forward()
            self.script.backward()
            self.script.step()
            self.script.forward(500, training=False)
        steps = self.script.finish()
        self.assertEqual([step.end - step.start for step in steps], [33, 33])

    def test_a_teacher_without_gradients_is_part_of_the_step(self):
        for _ in range(3):
            self.script.fetch()
            self.script.forward(8, training=False, network=TEACHER)
            self.script.forward()
            self.script.backward()
            self.script.step()
        steps = self.script.finish()
        self.assertEqual([step.end - step.start for step in steps], [42] * 3)

    def test_a_second_loader_read_in_turn_makes_no_epochs(self):
        for number in range(6):
            self.script.train_step(source=(TRAIN, 1) if number % 2 == 0 else (SECOND, 1))
        self.assertEqual({step.epoch for step in self.script.finish()}, {1})

    def test_a_loader_made_again_for_each_epoch_makes_epochs(self):
        for epoch in range(3):
            self.script.train_step(source=(TRAIN + 100 * epoch, 1))
            self.script.fetch(source=(TRAIN + 100 * epoch, 1), size=None, exhausted=True)
        self.assertEqual([step.epoch for step in self.script.finish()], [1, 2, 3])

    def test_epochs_are_unknown_without_a_loader(self):
        for _ in range(3):
            self.script.forward()
            self.script.backward()
            self.script.step()
        self.assertEqual([step.epoch for step in self.script.finish()], [0, 0, 0])

    def test_a_loader_that_is_only_evaluated_makes_no_epochs(self):
        for batches, exhausted in ((1, True), (3, True), (3, False)):
            self.setUp()
            for epoch in range(3):
                for _ in range(2):
                    self.script.forward()
                    self.script.backward()
                    self.script.step()
                for _ in range(batches):
                    self.script.fetch(source=(VALIDATION, epoch))
                    self.script.forward(training=False)
                if exhausted:
                    self.script.fetch(source=(VALIDATION, epoch), size=None, exhausted=True)
            self.assertEqual([step.epoch for step in self.script.finish()], [0] * 6)

    def test_a_loader_that_is_evaluated_first_and_trained_then_makes_epochs(self):
        for _ in range(2):
            self.script.fetch(source=(TRAIN, 1))
            self.script.forward(training=False)
        for epoch in (2, 3):
            for _ in range(3):
                self.script.train_step((TRAIN, epoch))
            self.script.fetch(source=(TRAIN, epoch), size=None, exhausted=True)
        self.assertEqual([step.epoch for step in self.script.finish()], [1, 1, 1, 2, 2, 2])

    def test_communication_is_taken_out_of_what_surrounds_it(self):
        self.script.fetch()
        self.script.tracker.forward_begins(True)
        self.script.idle(2)
        began = self.script.time
        self.script.tracker.communication_begins()
        self.script.idle(30)
        self.script.tracker.communication_ends()
        self.script.idle(3)
        self.script.tracker.forward_ends(NETWORK, True, 32, 32)
        self.script.backward()
        self.script.step()
        step = self.script.finish()[0]
        self.assertEqual(step.phases[FORWARD], 5)
        self.assertEqual(step.phases[COMM], 30)
        self.assertEqual(step.spans, [(began, began + 30)])

    def test_communication_at_the_end_of_backward_is_no_longer_backward(self):
        self.script.train_step()
        step = self.script.finish()[0]
        step.add_exposed((step.end - 11, step.end - 3))
        self.assertEqual(step.phases[BACKWARD], 12)
        self.assertEqual(step.phases[COMM], 8)
        self.check_sums()


if __name__ == "__main__":
    unittest.main()
