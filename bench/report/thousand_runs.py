#!/usr/bin/env python3
"""Times `lockstep report` and its relatives on a store of many imported runs that differ.

Writes logs in five formats (an epoch transcript, Keras, PyTorch's ImageNet example, Lightning's CSV, JSON
lines) of twelve networks on three devices, 1 to 32 workers and three batches, with examples, losses and
accuracies, imports all of them and times each command: the median of five, and the slowest.

usage: thousand_runs.py PROGRAM [--runs 1000] [--keep FOLDER]
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

NETWORKS = [f"{family}{size}" for family in ("resnet", "vgg", "vit", "unet") for size in (18, 34, 50)]
DEVICES = {"T4": 1.0, "V100": 2.7, "A100": 6.1}
COUNTS = [1, 2, 4, 8, 16, 32]
BATCHES = [32, 64, 128]
EXAMPLES = 50_000


class Run:
    def __init__(self, number: int, rng: random.Random):
        cells = len(COUNTS) * len(BATCHES)
        self.workers = COUNTS[number % len(COUNTS)]
        self.batch = BATCHES[number // len(COUNTS) % len(BATCHES)]
        self.device = list(DEVICES)[number // cells % len(DEVICES)]
        self.network = NETWORKS[number // (cells * len(DEVICES)) % len(NETWORKS)]
        size = 1 + NETWORKS.index(self.network) % 5
        speed = 300 * DEVICES[self.device] / size * self.batch / (self.batch + 24)
        self.rate = speed * self.workers**0.85 * rng.uniform(0.97, 1.03)
        self.epoch_s = EXAMPLES / self.rate
        self.epochs = rng.randint(3, 12)
        self.steps = EXAMPLES // (self.batch * self.workers)
        self.rng = rng

    def loss(self, epoch: int) -> float:
        return 2.3 / (1 + 0.5 * epoch) * self.rng.uniform(0.98, 1.02)

    def accuracy(self, epoch: int) -> float:
        return 0.95 - 0.5 / (1 + epoch) - 0.01 * self.rng.random()

    def facts(self) -> str:
        return (
            f"model: {self.network}\ndataset: cifar10\ndevice: {self.device}\nworld size: {self.workers}\n"
            f"batch size per gpu: {self.batch}\nnumber of training examples: {EXAMPLES}\n"
        )


def transcript(run: Run) -> str:
    lines = [run.facts()]
    for e in range(1, run.epochs + 1):
        lines.append(
            f"Epoch {e}/{run.epochs} train loss {run.loss(e):.4f} val acc {run.accuracy(e):.4f} "
            f"time {run.epoch_s:.2f}s\n"
        )
    return "".join(lines)


def keras(run: Run) -> str:
    lines = [run.facts()]
    for e in range(1, run.epochs + 1):
        step = run.epoch_s / run.steps * 1000
        lines.append(
            f"Epoch {e}/{run.epochs}\n{run.steps}/{run.steps} - {run.epoch_s:.0f}s - {step:.0f}ms/step - "
            f"loss: {run.loss(e):.4f} - accuracy: {run.accuracy(e):.4f} - val_loss: {run.loss(e):.4f} - "
            f"val_accuracy: {run.accuracy(e):.4f}\n"
        )
    return "".join(lines)


def imagenet(run: Run) -> str:
    lines = [run.facts()]
    step = run.epoch_s / run.steps
    for e in range(run.epochs):
        for i in range(0, run.steps, max(1, run.steps // 8)):
            lines.append(
                f"Epoch: [{e}][{i}/{run.steps}]\tTime {step:.3f} ({step:.3f})\tData 0.001 (0.002)\t"
                f"Loss {run.loss(e + 1):.4e} ({run.loss(e + 1):.4e})\tAcc@1 50.00 ( 48.21)\tAcc@5 80.00 ( 79.02)\n"
            )
        lines.append(f" * Acc@1 {100 * run.accuracy(e + 1):.3f} Acc@5 95.000\n")
    return "".join(lines)


def csv(run: Run) -> str:
    lines = ["epoch,step,train_loss,val_loss,val_accuracy,epoch_time\n"]
    for e in range(run.epochs):
        lines.append(
            f"{e},{(e + 1) * run.steps},{run.loss(e + 1):.4f},{run.loss(e + 1):.4f},{run.accuracy(e + 1):.4f},"
            f"{run.epoch_s:.3f}\n"
        )
    return "".join(lines)


def jsonl(run: Run) -> str:
    return "".join(
        json.dumps(
            {"_step": e, "epoch": e, "train/loss": run.loss(e), "val/accuracy": run.accuracy(e),
             "throughput": run.rate, "_runtime": e * run.epoch_s}
        ) + "\n"
        for e in range(1, run.epochs + 1)
    )


FORMATS = [(transcript, "log"), (keras, "txt"), (imagenet, "out"), (csv, "csv"), (jsonl, "jsonl")]


def write_logs(folder: pathlib.Path, runs: int) -> dict[str, list[str]]:
    """The files, by the facts that their format leaves out and `import --set` adds."""
    rng = random.Random(15)
    groups: dict[str, list[str]] = {}
    for number in range(runs):
        run = Run(number, rng)
        make, ending = FORMATS[number // 270 % len(FORMATS)]
        path = folder / f"{number:04}-{run.network}.{ending}"
        path.write_text(make(run))
        facts = (f"model={run.network},dataset=cifar10,device={run.device},workers={run.workers},"
                 f"batch={run.batch},examples={EXAMPLES}")
        groups.setdefault(facts, []).append(str(path))
    return groups


def timed(words: list[str], repeats: int = 5) -> tuple[float, float, int]:
    times, size = [], 0
    for _ in range(repeats):
        began = time.perf_counter()
        done = subprocess.run(words, capture_output=True, timeout=600)
        times.append(time.perf_counter() - began)
        size = len(done.stdout)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(words)}: {done.stderr.decode()}")
    return statistics.median(times), max(times), size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--keep", help="folder for the logs and the store (default: a temporary one)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        store = str(folder / "runs.db")
        if not pathlib.Path(store).exists():
            for facts, files in write_logs(folder, options.runs).items():
                settings = [word for fact in facts.split(",") for word in ("--set", fact)]
                done = subprocess.run([options.program, "--store", store, "import", *files, *settings],
                                      capture_output=True, timeout=600)
                if done.returncode != 0:
                    raise SystemExit(done.stderr.decode())
        listed = subprocess.run([options.program, "--store", store, "--json", "runs"], capture_output=True,
                                timeout=600)
        print(f"{len(json.loads(listed.stdout)['rows'])} runs in the store")
        page = str(folder / "page.html")
        for words in (["report"], ["--json", "report"], ["report", "--html", page], ["advise"], ["runs"]):
            median, slowest, size = timed([options.program, "--store", store, *words])
            print(f"{' '.join(words):<40} {median:7.2f} s (slowest {slowest:.2f} s), {size:,} bytes printed")


if __name__ == "__main__":
    main()
