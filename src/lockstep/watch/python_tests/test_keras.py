"""Keras `fit` with and without the watcher. Needs a Python with Keras and one of its backends:
LOCKSTEP_KERAS_PYTHON, LOCKSTEP_PYTHON or python3. Without it nothing is run (exit code 77)."""

import os
import shutil
import socket
import subprocess
import sys
import unittest

import test_scripts
from test_scripts import BACKWARD, FORWARD, OPTIMIZER, OTHER

FIT = """
import sys, numpy, keras
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(3)])
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
inputs = numpy.random.default_rng(0).random((200, 8), dtype="float32")
history = model.fit(inputs, inputs.argmax(1) % 3, batch_size=16, epochs=2, validation_split=0.2, verbose=0,
                    callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: print("epoch", epoch))])
print(["%.6f" % loss for loss in history.history["loss"]])
"""

# From data sets that do not state their batch; the last one of an epoch is smaller.
PIPELINE = """
import numpy, keras, tensorflow as tf
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(3)])
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
inputs = numpy.random.default_rng(0).random((152, 8), dtype="float32")
data = tf.data.Dataset.from_tensor_slices((inputs, inputs.argmax(1) % 3)).shuffle(152)
model.fit(data.batch(16).map(lambda x, y: (x * 2, y)).prefetch(2), epochs=1, verbose=0)
model.fit(data.repeat().batch(8), steps_per_epoch=5, verbose=0)
model.fit(data.batch(16).unbatch().batch(4).filter(lambda x, y: True), epochs=1, verbose=0)
"""

# Through tf.keras, on two devices of one process.
MIRRORED = """
import numpy, tensorflow as tf
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(1)
with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    model = tf.keras.Sequential([tf.keras.layers.Input((8,)), tf.keras.layers.Dense(3)])
    model.compile(optimizer="adam", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
inputs = numpy.random.default_rng(0).random((160, 8), dtype="float32")
history = model.fit(inputs, inputs.argmax(1) % 3, batch_size=16, epochs=2, verbose=0)
print(["%.4f" % loss for loss in history.history["loss"]])
"""


# Keras 2 in two processes: each trains half of every batch.
PROCESSES = """
import json, os, subprocess, sys
if "TF_CONFIG" not in os.environ:
    cluster = {"worker": ["127.0.0.1:%s" % port for port in sys.argv[1:]]}
    def process(rank):
        config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": rank}})
        return subprocess.Popen([sys.executable, sys.argv[0]], env=dict(os.environ, TF_CONFIG=config))
    exit(max(one.wait() for one in [process(0), process(1)]))
import numpy, tensorflow as tf
with tf.distribute.MultiWorkerMirroredStrategy().scope():
    model = tf.keras.Sequential([tf.keras.layers.Input((8,)), tf.keras.layers.Dense(3)])
    model.compile(loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), optimizer="sgd")
inputs = numpy.random.default_rng(0).random((160, 8), dtype="float32")
data = tf.data.Dataset.from_tensor_slices((inputs, inputs.argmax(1) % 3))
model.fit(data.repeat().batch(16), epochs=2, steps_per_epoch=10, verbose=0)
"""


def has(python, package):
    probe = "import importlib.util as u; exit(not u.find_spec('%s'))" % package
    return subprocess.run([python, "-c", probe], stderr=subprocess.DEVNULL).returncode == 0


def backends():
    """(python, backend) that can be used here."""
    found = []
    for name in (os.environ.get("LOCKSTEP_KERAS_PYTHON"), os.environ.get("LOCKSTEP_PYTHON"), "python3"):
        if not name or not shutil.which(name):
            continue
        for backend in ("torch", "tensorflow", "jax"):
            if has(name, "keras") and has(name, backend):
                found.append((name, backend))
        if found:
            break
    return found


def own_lines(errors):
    """Without the lines of TensorFlow's C++ sources, which contain the time and the process."""
    return [line for line in errors.splitlines() if ".cc:" not in line]


class Keras(unittest.TestCase):
    # Not derived from it: its tests are not these.
    setUp, start = test_scripts.Scripts.setUp, test_scripts.Scripts.start
    run_script, records = test_scripts.Scripts.run_script, test_scripts.Scripts.records
    check_phases = test_scripts.Scripts.check_phases

    def watched(self, python, backend):
        test_scripts.PYTHON = python
        self.script = os.path.join(self.folder, "fit.py")
        test_scripts.SCRIPTS = self.script
        with open(self.script, "w") as file:
            file.write(FIT)
        variables = {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
        bare = self.run_script(watched=False, **variables)
        code, out, errors = self.run_script(**variables)
        self.assertEqual((code, out), bare[:2], errors)
        self.assertEqual(own_lines(errors), own_lines(bare[2]))
        (rank,) = self.records()
        self.check_phases(rank)
        # 160 examples for training: 10 batches of 16.
        self.assertEqual([step["epoch"] for step in rank.steps], [1] * 10 + [2] * 10)
        self.assertEqual({step["examples"] for step in rank.steps}, {16})
        self.assertEqual(rank.start["parameters"], 8 * 16 + 16 + 16 * 3 + 3)
        self.assertIn(backend, rank.start["framework"])
        return rank

    def test_fit_behaves_the_same_and_is_measured(self):
        for python, backend in backends():
            with self.subTest(backend=backend):
                self.doCleanups()
                self.setUp()
                rank = self.watched(python, backend)
                for step in rank.steps:
                    phases = step["phases_ns"]
                    if backend == "torch":
                        self.assertTrue(all(phases[p] > 0 for p in (FORWARD, BACKWARD, OPTIMIZER)))
                    else:  # a step is one call
                        self.assertEqual(phases[OTHER], step["end_ns"] - step["start_ns"])

    def test_the_batch_of_a_pipeline_is_found(self):
        for python, backend in backends():
            if backend != "tensorflow":
                continue
            test_scripts.PYTHON = python
            test_scripts.SCRIPTS = os.path.join(self.folder, "pipeline.py")
            with open(test_scripts.SCRIPTS, "w") as file:
                file.write(PIPELINE)
            code, _, errors = self.run_script(TF_CPP_MIN_LOG_LEVEL="3", KERAS_BACKEND="tensorflow")
            self.assertEqual(code, 0, errors)
            (rank,) = self.records()
            examples = [step["examples"] for step in rank.steps]
            self.assertEqual(examples, [16] * 9 + [8] + [8] * 5 + [None] * 38)

    def test_processes_of_tensorflow_share_a_batch(self):
        for python, backend in backends():
            if backend != "tensorflow" or not has(python, "tf_keras"):
                continue
            test_scripts.PYTHON = python
            test_scripts.SCRIPTS = os.path.join(self.folder, "processes.py")
            with open(test_scripts.SCRIPTS, "w") as file:
                file.write(PROCESSES)
            with socket.socket() as one, socket.socket() as other:
                one.bind(("127.0.0.1", 0))
                other.bind(("127.0.0.1", 0))
                ports = [str(one.getsockname()[1]), str(other.getsockname()[1])]
            code, _, errors = self.run_script(*ports, TF_CPP_MIN_LOG_LEVEL="3", TF_USE_LEGACY_KERAS="1")
            self.assertEqual(code, 0, errors)
            ranks = self.records()
            self.assertEqual(sorted(rank.start["rank"] for rank in ranks), [0, 1])
            for rank in ranks:
                self.assertEqual((rank.start["world"], rank.start["devices"]), (2, 1))
                self.assertEqual([step["epoch"] for step in rank.steps], [1] * 10 + [2] * 10)
                self.assertEqual({step["examples"] for step in rank.steps}, {8})

    def test_a_strategy_of_tensorflow_states_its_devices(self):
        for python, backend in backends():
            if backend != "tensorflow":
                continue
            test_scripts.PYTHON = python
            test_scripts.SCRIPTS = os.path.join(self.folder, "mirrored.py")
            with open(test_scripts.SCRIPTS, "w") as file:
                file.write(MIRRORED)
            code, _, errors = self.run_script(TF_CPP_MIN_LOG_LEVEL="3")
            self.assertEqual(code, 0, errors)
            (rank,) = self.records()
            self.assertEqual(rank.start["devices"], 2)
            self.assertEqual([step["epoch"] for step in rank.steps], [1] * 10 + [2] * 10)
            self.assertEqual({step["examples"] for step in rank.steps}, {16})


if __name__ == "__main__":
    if not backends():
        print("no Python with Keras here: nothing was run")
        sys.exit(77)
    unittest.main()
