#!/usr/bin/env python3
"""What a large batch costs in accuracy, and what brings it back.

Trains fashion with one worker and b = 128, then with a global batch of 2048: at the same rate, with
linear scaling and warm-up, and with LARS. All of them with every seed in turn; prints the table of
docs/guide/large-batches.md, and each run on stderr as it ends.

  bench/large_batch/large_batch.py --lockstep build/release/bin/lockstep --seeds 1,2
"""
import argparse
import json
import statistics
import subprocess
import sys

LARGE = ["-n", "2", "--batch", "128", "--accumulate", "8"]
WAYS = {
    "one worker, b = 128": ["-n", "1", "--batch", "128", "--warmup-epochs", "0.5", "--lr", "{lr}"],
    "B = 2048, same rate": LARGE + ["--warmup-epochs", "0.5", "--lr", "{lr}"],
    "B = 2048, linear scaling, warm-up": LARGE
    + ["--lr-scale", "linear", "--warmup-epochs", "{warmup}", "--lr", "{lr}"],
    "B = 2048, LARS": LARGE + ["--optimizer", "lars", "--warmup-epochs", "1", "--lr", "{lars_lr}"],
}
METRICS = ("val_accuracy", "val_loss", "train_loss")


def run(options, way, seed):
    """The last epoch of one run, and the spec it was made with."""
    arguments = [part.format(**vars(options)) for part in WAYS[way]]
    done = subprocess.run(
        [options.lockstep, "--store", options.store, "--json", "train", "fashion", "--schedule", "linear",
         "--epochs", options.epochs, "--seed", seed, "--threads", "1", "--oversubscribe"] + arguments,
        capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    last = [event for event in events if event["type"] == "epoch"][-1]
    print(f"seed {seed}, {way}: " + ", ".join(f"{m} {last[m]:.4f}" for m in METRICS), file=sys.stderr)
    return last, next(event["spec"] for event in events if event["type"] == "run_started")


def cell(values):
    spread = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.4f}{spread}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--lockstep", default="build/release/bin/lockstep")
    parser.add_argument("--store", default="large-batch.db")
    parser.add_argument("--epochs", default="12")
    parser.add_argument("--lr", default="0.02", help="meant for B = 128")
    parser.add_argument("--warmup", default="3", help="epochs, with linear scaling")
    parser.add_argument("--lars-lr", default="30")
    parser.add_argument("--seeds", default="1,2")
    options = parser.parse_args()
    results = {way: [] for way in WAYS}
    for seed in options.seeds.split(","):
        for way in WAYS:
            results[way].append(run(options, way, seed))
    print("| way | B | peak rate | " + " | ".join(m.replace("_", " ") for m in METRICS) + " |")
    print("|---|---:|---:|---:|---:|---:|")
    for way, runs in results.items():
        spec = runs[0][1]
        batch = spec["workers"] * spec["batch_per_worker"] * spec["accumulate"]
        cells = [cell([last[m] for last, _ in runs]) for m in METRICS]
        print(f"| {way} | {batch} | {spec['scaled_learning_rate']:g} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
