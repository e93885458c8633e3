"""What a study of an unchanged PyTorch script leads to: report, predict --phases, advise and the page work as for runs of
lockstep train. usage: unchanged_script_test.py FOLDER_OF_PROGRAMS. Without PyTorch nothing is run (exit code 77)."""

import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "..", "..", "examples", "pytorch-ddp", "train.py")
PYTHON = "/usr/bin/python3"
EXAMPLES = 1024


def available():
    probe = [PYTHON, "-c", "import torch.distributed as d; exit(not d.is_available())"]
    return os.path.exists(PYTHON) and subprocess.run(probe, stderr=subprocess.DEVNULL).returncode == 0


class UnchangedScript(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.lockstep(
            "study", "--name", "ddp", "--workers", "1,2", "--batch", "32", "--epochs", "2", "--device", "cpu",
            "--threads", "1", "--", PYTHON, "-m", "torch.distributed.run", "-r", "1", "-t", "1", "--master_port",
            "{master_port}", "--nproc_per_node", "{workers}", SCRIPT, "--batch-size", "{batch}", "--epochs",
            "{epochs}", "--data", "none", "--examples", str(EXAMPLES))

    @classmethod
    def lockstep(cls, *arguments):
        command = [os.path.join(PROGRAMS, "lockstep"), "--store", os.path.join(cls.folder, "runs.db"), *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                              timeout=500)
        assert done.returncode == 0, (arguments, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    def metrics(self):
        """Of each worker count, by name."""
        values = {}
        for row in csv.DictReader(io.StringIO(self.lockstep("report", "ddp", "--csv"))):
            values.setdefault(int(row["workers"]), {})[row["metric"]] = float(row["value"])
        return values

    def test_phases_add_up_to_the_step(self):
        values = self.metrics()
        self.assertEqual(sorted(values), [1, 2])
        for metrics in values.values():
            parts = [metrics[name] for name in ("compute_time", "sync_time", "input_wait_time", "other_time")]
            self.assertAlmostEqual(sum(parts) / metrics["step_time"], 1, delta=0.02)
        self.assertGreater(values[2]["comm_transfer_time"], 0)

    def test_the_report_has_speedups_and_a_verdict(self):
        text = self.lockstep("report", "ddp")
        for part in ("Time and speedup: ddp", "Where the time goes: ddp", "Verdict", "bottleneck"):
            self.assertIn(part, text)

    def test_phases_predict_every_count_that_is_asked_for(self):
        rows = json.loads(self.lockstep("--json", "runs"))["rows"]
        by_workers = {int(row["workers"]): row["id"] for row in rows}
        steps = {count: metrics["step_time"] for count, metrics in self.metrics().items()}
        for workers in (1, 2):
            lines = self.lockstep("--json", "predict", "--phases", str(by_workers[workers]), "--workers", "1,2,4",
                                  "--link", "100us,1GB/s").splitlines()
            predicted = [json.loads(line) for line in lines]
            self.assertEqual([one["workers"] for one in predicted], [1, 2, 4])
            for one in predicted:
                step, epoch = one["step_time_s"]["value"], one["epoch_time_s"]["value"]
                self.assertAlmostEqual(epoch, step * EXAMPLES / (32 * one["workers"]), delta=1e-6)
                self.assertEqual(one["communication_s"] > 0, one["workers"] > 1)
            # The steps of the run itself, less what its communication took.
            itself = predicted[workers - 1]["step_time_s"]
            if workers == 1:
                self.assertLessEqual(itself["low"], steps[1])
                self.assertGreaterEqual(itself["high"], steps[1])
        text = self.lockstep("predict", "--phases", str(by_workers[1]), "--workers", "2,4", "--link", "100us,1GB/s")
        self.assertIn("2 workers, predicted", text)
        self.assertIn("4 workers, predicted", text)

    def test_advise_names_a_worker_count(self):
        advice = self.lockstep("advise", "--study", "ddp")
        self.assertRegex(advice, r"^Use [124] workers?[:,]")
        self.assertIn("because", advice)

    def test_the_page_has_the_steps_of_every_rank(self):
        path = os.path.join(self.folder, "page.html")
        self.lockstep("report", "ddp", "--html", path)
        with open(path) as file:
            page = file.read()
        for part in ("Where the time goes", "Verdict", "rank 1"):
            self.assertIn(part, page)


if __name__ == "__main__":
    if not available():
        print("no PyTorch for %s: nothing was run" % PYTHON)
        sys.exit(77)
    PROGRAMS = sys.argv.pop(1)
    unittest.main()
