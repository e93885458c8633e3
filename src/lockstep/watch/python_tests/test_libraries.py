"""Training libraries and the compiler of PyTorch 2, with and without the watcher. Each needs its package in a Python with
PyTorch (LOCKSTEP_LIBRARIES_PYTHON, LOCKSTEP_PYTHON or python3): transformers, lightning, accelerate, or PyTorch 2. Those
that are missing are named; without any, nothing is run (exit code 77)."""

import os
import shutil
import subprocess
import sys
import unittest

import test_scripts
from test_scripts import BACKWARD, FORWARD, OPTIMIZER

START = """
import os, torch
torch.set_num_threads(1)
torch.manual_seed(0)
def data(examples):
    inputs = torch.randn(examples, 8, generator=torch.Generator().manual_seed(1))
    return torch.utils.data.TensorDataset(inputs, inputs[:, :4].argmax(1))
def network():
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
loss_of = torch.nn.functional.cross_entropy
"""

# Each trains 6 steps of 16 examples per epoch, two epochs; evaluation belongs to no step.
SCRIPTS = {
    "transformers": """
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
class Words(torch.utils.data.Dataset):
    def __init__(self, count): self.words = torch.randint(5, 50, (count, 8))
    def __len__(self): return len(self.words)
    def __getitem__(self, i): return {"input_ids": self.words[i], "labels": int(self.words[i, 0] > 25)}
model = BertForSequenceClassification(BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1,
                                                 num_attention_heads=2, intermediate_size=32))
arguments = TrainingArguments(os.environ["OUT"], num_train_epochs=2, per_device_train_batch_size=16, report_to=[],
                              eval_strategy="epoch", save_strategy="no", use_cpu=True, disable_tqdm=True)
trainer = Trainer(model, arguments, train_dataset=Words(96), eval_dataset=Words(32))
trainer.train()
print("%.5f" % trainer.evaluate()["eval_loss"])
""",
    "lightning": """
import lightning
class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = network()
    def training_step(self, batch, index): return loss_of(self.network(batch[0]), batch[1])
    def validation_step(self, batch, index): self.log("val_loss", loss_of(self.network(batch[0]), batch[1]))
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), 0.1)
trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Module(), torch.utils.data.DataLoader(data(96), batch_size=16),
            torch.utils.data.DataLoader(data(32), batch_size=16))
print("%.6f" % trainer.callback_metrics["val_loss"])
""",
    "accelerate": """
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
model = network()
model, optimizer, loader = accelerator.prepare(
    model, torch.optim.Adam(model.parameters()), torch.utils.data.DataLoader(data(96), batch_size=16))
for epoch in range(2):
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = loss_of(model(inputs), labels)
        accelerator.backward(loss)
        optimizer.step()
    print("%.6f" % loss)
""",
    "torch.compile": """
import torch._dynamo.utils
model = network()
compiled = torch.compile(model, backend="aot_eager")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for epoch in range(2):
    for inputs, labels in torch.utils.data.DataLoader(data(96), batch_size=16):
        optimizer.zero_grad()
        loss = loss_of(compiled(inputs), labels)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        compiled(inputs)
    print("%.6f" % loss)
counters = torch._dynamo.utils.counters
print(counters["stats"]["unique_graphs"], dict(counters["graph_break"]))
""",
}


def probe(python, package):
    tests = {"torch.compile": "import torch; exit(int(torch.__version__.split('.')[0]) < 2)"}
    code = tests.get(package, "import importlib.util as u; exit(not u.find_spec('%s'))" % package)
    return subprocess.run([python, "-c", code], stderr=subprocess.DEVNULL).returncode == 0


def available():
    """(python, package) that can be used here."""
    for name in ("LOCKSTEP_LIBRARIES_PYTHON", "LOCKSTEP_PYTHON"):
        if os.environ.get(name):
            return [(os.environ[name], package) for package in SCRIPTS if probe(os.environ[name], package)]
    python = test_scripts.python_with_torch()
    return [(python, package) for package in SCRIPTS if python and probe(python, package)]


class Libraries(unittest.TestCase):
    # Not derived from it: its tests are not these.
    setUp, start = test_scripts.Scripts.setUp, test_scripts.Scripts.start
    run_script, records = test_scripts.Scripts.run_script, test_scripts.Scripts.records
    check_phases = test_scripts.Scripts.check_phases

    def test_scripts_behave_the_same_and_are_measured(self):
        for python, package in available():
            with self.subTest(package=package):
                self.doCleanups()
                self.setUp()
                test_scripts.PYTHON = python
                test_scripts.SCRIPTS = os.path.join(self.folder, "train.py")
                with open(test_scripts.SCRIPTS, "w") as file:
                    file.write(START + SCRIPTS[package])
                out_folder = os.path.join(self.folder, "out")
                bare = self.run_script(watched=False, OUT=out_folder)
                shutil.rmtree(out_folder, ignore_errors=True)
                code, out, errors = self.run_script(OUT=out_folder)
                self.assertEqual(code, 0, errors)
                if package == "transformers":  # it prints the time that training took
                    self.assertEqual(out.splitlines()[-1], bare[1].splitlines()[-1], errors)
                else:
                    self.assertEqual((code, out), bare[:2], errors)
                (rank,) = self.records()
                self.check_phases(rank)
                self.assertEqual([step["epoch"] for step in rank.steps], [1] * 6 + [2] * 6)
                self.assertEqual({step["examples"] for step in rank.steps}, {16})
                for phase in (FORWARD, BACKWARD, OPTIMIZER):
                    self.assertTrue(all(step["phases_ns"][phase] > 0 for step in rank.steps))


if __name__ == "__main__":
    missing = sorted(set(SCRIPTS) - {package for _, package in available()})
    if missing:
        print("not installed here, and not tried: %s" % ", ".join(missing), flush=True)
    if len(missing) == len(SCRIPTS):
        sys.exit(77)
    unittest.main()
