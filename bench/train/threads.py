"""What the second thread of a worker gains: one worker of one and of two threads, in turn.

usage: python3 bench/train/threads.py LOCKSTEP [--rounds N] [--recipe NAME] [--batches 32,128,512] [--steps N]

The ratio of a pair is that of mean step times, which lie seconds apart; machines are noisy, so the median and the
range over all pairs are printed.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile


def step_time(options, threads, batch, folder):
    """Mean seconds per step after the warm-up."""
    store = os.path.join(folder, "runs.db")
    command = [options.lockstep, "--store", store, "train", options.recipe, "-n", "1", "--threads", str(threads),
               "--batch", str(batch), "--steps", str(options.steps), "--no-validation"]
    if options.recipe != "fashion":
        command += ["--data", "synthetic"]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    shown = subprocess.run([options.lockstep, "--store", store, "--json", "report"], check=True, capture_output=True,
                           timeout=60).stdout
    os.remove(store)
    for table in json.loads(shown)["tables"]:
        for row in table["rows"]:
            if row.get("examples_per_s"):
                return int(batch) / row["examples_per_s"]
    raise SystemExit("the report has no rate")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lockstep")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--recipe", default="fashion")
    parser.add_argument("--batches", default="32,128,512")
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    for batch in options.batches.split(","):
        ratios, one, two = [], [], []
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as folder:
                one.append(step_time(options, 1, batch, folder))
                two.append(step_time(options, 2, batch, folder))
            ratios.append(one[-1] / two[-1])
        print(f"{options.recipe}, b = {batch}: {1000 * statistics.median(one):.2f} ms on one thread, "
              f"{1000 * statistics.median(two):.2f} ms on two: {statistics.median(ratios):.2f} times as fast "
              f"({min(ratios):.2f}..{max(ratios):.2f})", flush=True)


if __name__ == "__main__":
    main()
