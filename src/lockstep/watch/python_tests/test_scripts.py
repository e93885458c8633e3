"""Runs real scripts with and without the watcher. Needs a Python with PyTorch: LOCKSTEP_PYTHON, or
the first of /usr/bin/python3 and python3 that has one. Without it nothing is run (exit code 77)."""

import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE = os.path.join(HERE, "..", "python")
SCRIPTS = os.path.join(HERE, "scripts.py")
TIMEOUT = 280
INPUT, H2D, FORWARD, BACKWARD, COMM, OPTIMIZER, OTHER = range(7)


def python_with_torch():
    for name in (os.environ.get("LOCKSTEP_PYTHON"), "/usr/bin/python3", "python3"):
        if name and shutil.which(name):
            probe = [name, "-c", "import importlib.util as u; exit(u.find_spec('torch') is None)"]
            if subprocess.run(probe, stderr=subprocess.DEVNULL).returncode == 0:
                return name
    return None


PYTHON = python_with_torch()


class Rank:
    """The record of one process."""

    def __init__(self, path):
        with open(path) as file:
            self.lines = [json.loads(line) for line in file]
        self.start = self.lines[0]
        self.steps = []
        self.norms = {}
        for line in self.lines:
            if line["type"] == "started":  # again, by a program that replaced itself
                self.steps = []
            if line["type"] == "steps":
                names = ("step", "epoch", "examples", "tokens", "start_ns", "end_ns", "phases_ns",
                         "collectives_ns")
                self.steps += [dict(zip(names, row)) for row in zip(*(line[n] for n in names))]
            if line["type"] == "noise":
                self.norms.update({sample[0]: sample[1:] for sample in line["samples"]})


class Scripts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, arguments, watched=True, path="", options=(), **variables):
        environment = dict(os.environ, OMP_NUM_THREADS="1", **variables)
        environment.pop("LOCKSTEP_WATCH_DIR", None)
        environment["PYTHONPATH"] = path
        if watched:
            environment["LOCKSTEP_WATCH_DIR"] = self.folder
            environment["PYTHONPATH"] = MODULE + (":" + path if path else "")
        return subprocess.Popen(
            [PYTHON, *options, SCRIPTS, *arguments], env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, universal_newlines=True)

    def run_script(self, *arguments, **settings):
        process = self.start(arguments, **settings)
        out, errors = process.communicate(timeout=TIMEOUT)
        return process.returncode, out, errors

    def run_ranks(self, *arguments, ranks=2):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        processes = [
            self.start(arguments, RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_PORT=port)
            for rank in range(ranks)
        ]
        for process in processes:
            _, errors = process.communicate(timeout=TIMEOUT)
            self.assertEqual(process.returncode, 0, errors)
        return self.records()

    def records(self):
        files = glob.glob(os.path.join(self.folder, "rank-*.jsonl"))
        return sorted((Rank(path) for path in files), key=lambda rank: rank.start["rank"])

    def check_phases(self, rank):
        for step in rank.steps:
            total = step["end_ns"] - step["start_ns"]
            self.assertLessEqual(abs(sum(step["phases_ns"]) - total), 0.02 * total, step)
            self.assertGreaterEqual(min(step["phases_ns"]), 0, step)

    def same_as_without(self, *arguments, **settings):
        bare = self.run_script(*arguments, watched=False, **settings)
        self.assertEqual(self.run_script(*arguments, **settings), bare)
        return bare

    def test_a_plain_loop_behaves_the_same_and_is_measured(self):
        self.same_as_without("plain")
        (rank,) = self.records()
        self.check_phases(rank)
        self.assertEqual([step["epoch"] for step in rank.steps], [1] * 12 + [2] * 12)
        self.assertEqual({step["examples"] for step in rank.steps}, {16})
        for phase in (INPUT, FORWARD, BACKWARD, OPTIMIZER):
            self.assertTrue(all(step["phases_ns"][phase] > 0 for step in rank.steps))
        self.assertEqual(rank.start["parameters"], 20 * 32 + 32 + 2 * 32 + 32 * 4 + 4)
        self.assertEqual(rank.lines[-1]["type"], "ended")
        self.assertEqual(rank.start["loader"], {"workers": 0, "batch": 16, "batches": 12})
        # Two layers: 20 x 32, whose input needs no gradient, and 32 x 4.
        work = [line["flops_per_example"] for line in rank.lines if line["type"] == "work"]
        self.assertEqual(work, [2 * 2 * 20 * 32 + 3 * 2 * 32 * 4])

    def test_sequences_are_counted_with_their_tokens(self):
        self.same_as_without("sequences")
        (rank,) = self.records()
        self.assertEqual(rank.start["unit"], "sequences")
        self.assertEqual({step["tokens"] for step in rank.steps}, {16 * 5})
        # Its sampler makes the batches, as Accelerate's does: the loader itself has no batch size.
        self.assertEqual(rank.start["loader"], {"workers": 0, "batch": 16, "batches": 12})

    def test_a_script_that_crashes_prints_its_own_traceback(self):
        code, _, errors = self.same_as_without("crash_in_forward")
        self.assertEqual(code, 1)
        self.assertIn("a bad layer", errors)

    def test_steps_before_a_crash_are_recorded(self):
        self.same_as_without("crash")
        self.assertEqual(len(self.records()[0].steps), 12)

    def test_an_exit_code_passes(self):
        self.assertEqual(self.same_as_without("exits_with_code")[0], 7)

    def check_whole(self, rank, steps):
        self.check_phases(rank)
        self.assertEqual([step["step"] for step in rank.steps], list(range(steps)))
        self.assertEqual(rank.lines[-1]["type"], "ended")

    def test_no_step_is_lost_where_a_script_crashes(self):
        self.assertEqual(self.same_as_without("crashes_after_many_steps")[0], 1)
        (rank,) = self.records()
        self.check_whole(rank, 700)

    def test_no_step_is_lost_where_a_script_exits_without_cleaning_up(self):
        self.assertEqual(self.same_as_without("exits_at_once")[0], 9)
        (rank,) = self.records()
        self.check_whole(rank, 700)

    def test_a_killed_process_leaves_all_but_its_last_steps(self):
        self.assertEqual(self.same_as_without("is_killed")[0], -9)
        (rank,) = self.records()
        self.check_phases(rank)
        self.assertGreaterEqual(len(rank.steps), 256)
        self.assertEqual([step["step"] for step in rank.steps], list(range(len(rank.steps))))

    def test_workers_that_multiprocessing_forks_are_measured_to_their_end(self):
        self.same_as_without("forks_workers")
        ranks = sorted(self.records(), key=lambda rank: len(rank.steps))
        self.assertEqual(len(ranks), 2)
        self.check_whole(ranks[0], 300)
        self.check_whole(ranks[1], 310)

    def test_a_thread_that_trains_is_measured(self):
        self.same_as_without("trains_in_a_thread")
        (rank,) = self.records()
        self.check_whole(rank, 300)

    def test_a_fork_is_a_process_of_its_own(self):
        self.same_as_without("forks")
        self.assertEqual([len(rank.steps) for rank in self.records()], [12, 12])

    def test_a_script_that_execs_is_measured_after_it(self):
        self.same_as_without("execs")
        self.assertIn(24, [len(rank.steps) for rank in self.records()])

    def test_an_optimizer_that_is_no_torch_optimizer_is_left_alone(self):
        self.same_as_without("replaces_optim")
        self.assertEqual(self.records(), [])
        self.assertTrue(glob.glob(os.path.join(self.folder, "torch-*")))

    def test_a_surprise_costs_one_line_and_no_more(self):
        bare = self.run_script("surprise", watched=False)
        code, out, errors = self.run_script("surprise")
        self.assertEqual((code, out), bare[:2])
        self.assertEqual(errors.count("lockstep: watching stopped"), 1, errors)
        (rank,) = self.records()
        self.assertEqual(len(rank.steps), 10)
        self.assertEqual(rank.lines[-1]["type"], "stopped")

    def test_a_sitecustomize_of_the_user_runs(self):
        other = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, other)
        with open(os.path.join(other, "sitecustomize.py"), "w") as file:
            file.write("print('mine', __name__)\n")
        _, out, _ = self.same_as_without("plain", path=other)
        self.assertTrue(out.startswith("mine sitecustomize\n"))
        self.assertEqual(len(self.records()), 1)

    def test_a_library_may_look_for_torch_before_it_imports_it(self):
        other = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, other)
        with open(os.path.join(other, "sitecustomize.py"), "w") as file:
            file.write("import importlib.util\nassert importlib.util.find_spec('torch')\n")
        self.same_as_without("plain", path=other)
        self.assertEqual([len(rank.steps) for rank in self.records()], [24])

    def test_an_isolated_python_is_not_watched(self):
        for option in ("-I", "-E"):
            self.same_as_without("plain", options=(option,))
            self.assertEqual(os.listdir(self.folder), [])

    def test_a_child_with_an_empty_environment_is_not_watched(self):
        self.same_as_without("empties_environment")
        self.assertEqual(self.records(), [])

    def test_data_parallel_counts_the_whole_batch(self):
        self.same_as_without("data_parallel")
        (rank,) = self.records()
        self.assertEqual({step["examples"] for step in rank.steps}, {16})

    def test_ddp_exposes_communication_and_norms_equal_those_computed_directly(self):
        own = os.path.join(self.folder, "norms-")
        for rank in self.run_ranks("ddp", own):
            self.check_phases(rank)
            self.assertEqual(len(rank.steps), 12)
            self.assertTrue(all(step["phases_ns"][COMM] > 0 for step in rank.steps))
            with open(own + str(rank.start["rank"])) as file:
                lines = file.read().split("\n")
            self.assertGreater(len(rank.norms), 5)
            for step, (local, averaged, examples) in rank.norms.items():
                expected = [float(text) for text in lines[step].split()]
                self.assertAlmostEqual(local / expected[0], 1, delta=1e-5)  # sums in float32
                self.assertAlmostEqual(averaged / expected[1], 1, delta=1e-5)
                self.assertEqual(examples, 16)

    def late_entries(self, records, late):
        """Steps in which rank `late` entered some collective last by more than 20 ms."""
        count = 0
        for steps in zip(*(rank.steps for rank in records)):
            for entries in zip(*(step["collectives_ns"] for step in steps)):
                begins = [begin for begin, _ in entries]
                if begins[late] - min(begins) > 20e6:
                    count += 1
                    break
        return count

    def test_the_rank_that_comes_late_to_the_all_reduce_is_seen(self):
        records = self.run_ranks("ddp", os.path.join(self.folder, "norms-"), "1")
        self.assertGreaterEqual(self.late_entries(records, 1), 10)

    def test_collectives_called_by_hand_are_exposed_communication(self):
        records = self.run_ranks("by_hand")
        for rank in records:
            self.check_phases(rank)
            self.assertEqual({len(step["collectives_ns"]) for step in rank.steps}, {6})
        self.assertGreaterEqual(self.late_entries(records, 1), 11)

    def test_waiting_in_the_optimizer_of_horovod_is_exposed_communication(self):
        for rank in self.run_ranks("like_horovod"):
            self.check_phases(rank)
            self.assertEqual({len(step["collectives_ns"]) for step in rank.steps}, {1})
            for step in rank.steps:
                self.assertGreater(step["phases_ns"][COMM], 1e6)
                self.assertGreater(step["phases_ns"][OPTIMIZER], 0)


if __name__ == "__main__":
    if PYTHON is None:
        print("no Python with PyTorch here: nothing was run")
        sys.exit(77)
    unittest.main()
