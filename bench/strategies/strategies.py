#!/usr/bin/env python3
"""Study e's question: how much faster are two workers than one, by strategy and batch?

Runs a recipe with one worker and with two, in turn, for each batch; a run in turn with the others sees
the same noise of the machine. Prints the speedup (same data, throughput of two / of one) of each
strategy, median over rounds.

  bench/strategies/strategies.py --lockstep build/release/bin/lockstep --batches 8,32,128,512
  bench/strategies/strategies.py --recipe cifar-resnet18 --data synthetic --batches 2,8,32 --examples 160 \
      --strategies overlap,central --backend gloo
"""
import argparse
import json
import statistics
import subprocess
import sys


def throughput(options, workers, batch, strategy):
    """Examples a second of all workers, from the mean step without the first tenth."""
    steps = max(20, options.examples // (workers * batch))
    done = subprocess.run(
        [options.lockstep, "--store", options.store, "--json", "train", options.recipe, "-n", str(workers),
         "--batch", str(batch), "--threads", "1", "--strategy", strategy, "--steps", str(steps),
         "--epochs", "100", "--no-validation"]
        + (["--data", options.data] if options.data else [])
        + (["--backend", options.backend] if options.backend and workers > 1 else []),
        capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    times = []
    for line in done.stdout.splitlines():
        event = json.loads(line)
        if event["type"] == "steps":
            columns = event["columns"]
            times += [t for t, rank in zip(columns["total_s"], columns["rank"]) if rank == 0]
    times = times[len(times) // 10:]
    return workers * batch / statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--lockstep", default="build/release/bin/lockstep")
    parser.add_argument("--store", default="strategies.db")
    parser.add_argument("--recipe", default="fashion")
    parser.add_argument("--data", default="")
    parser.add_argument("--backend", default="", help="of two workers; default: shared memory")
    parser.add_argument("--batches", default="8,32,128,512")
    parser.add_argument("--strategies", default="overlap,blocking,central,local")
    parser.add_argument("--examples", type=int, default=20000, help="a run")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    strategies = options.strategies.split(",")
    print("| b | one worker, examples/s | " + " | ".join(f"speedup, {s}" for s in strategies) + " |")
    print("|---:|---:|" + "---:|" * len(strategies))
    for batch in map(int, options.batches.split(",")):
        alone, speedups = [], {s: [] for s in strategies}
        for _ in range(options.rounds):
            one = throughput(options, 1, batch, "overlap")
            alone.append(one)
            for s in strategies:
                speedups[s].append(throughput(options, 2, batch, s) / one)
        cells = [f"{statistics.median(speedups[s]):.2f}" for s in strategies]
        print(f"| {batch} | {statistics.median(alone):,.0f} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
