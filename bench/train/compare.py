"""Lockstep against PyTorch DDP, run in alternation on the same machine, threads and data.

usage: /usr/bin/python3 bench/train/compare.py [--build build/release] [--repeat 5] [--only fashion]

Each round runs Lockstep and every variant of the peer once; the ratio of a round is Lockstep's
examples/s over those of the peer's best variant in the same round, so that a slow moment of the
machine hits both. Printed: the median ratio, and the smallest and largest of all rounds.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# recipe, b, steps, warm-up steps, required ratio, goal, variants of the peer (format, loader workers)
CASES = [
    ("fashion", 32, 400, 40, 2.0, 3.0, [("contiguous", 0), ("contiguous", 1)]),
    ("fashion", 128, 150, 15, 2.0, 3.0, [("contiguous", 0), ("contiguous", 1)]),
    ("fashion", 512, 50, 8, 2.0, 3.0, [("contiguous", 0), ("contiguous", 1)]),
    ("cifar-resnet18", 32, 14, 3, 1.15, 1.25, [("contiguous", 0), ("channels_last", 0)]),
    ("cifar-resnet18", 128, 6, 2, 1.15, 1.25, [("contiguous", 0), ("channels_last", 0)]),
]


def run_lockstep(build, recipe, batch, steps, warmup):
    with tempfile.TemporaryDirectory() as folder:
        command = [f"{build}/bin/lockstep", "--json", "--store", f"{folder}/runs.db", "train", recipe,
                   "-n", "2", "--threads", "1", "--batch", str(batch), "--steps", str(steps),
                   "--epochs", "1000", "--no-validation"]
        if recipe == "cifar-resnet18":
            command += ["--data", "synthetic"]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.DEVNULL).stdout
    first = last = memory = None
    for line in output.splitlines():
        event = json.loads(line)
        if event["type"] == "run_ended":
            memory = event["peak_memory_bytes"]
        if event["type"] != "steps":
            continue
        c = event["columns"]
        for rank, step, start, total in zip(c["rank"], c["step"], c["start_ns"], c["total_s"]):
            if rank == 0 and step >= warmup:
                first = start if first is None else first
                last = start + total * 1e9
    return (steps - warmup) * batch * 2 / ((last - first) * 1e-9), memory


def run_peer(recipe, batch, steps, warmup, layout, loader_workers):
    with tempfile.TemporaryDirectory() as folder:
        output = subprocess.run(
            ["/usr/bin/python3", f"{HERE}/peer_ddp.py", recipe, "--batch", str(batch), "--steps",
             str(steps), "--warmup", str(warmup), "--format", layout, "--loader-workers",
             str(loader_workers), "--rendezvous", f"{folder}/store"],
            check=True, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL,
            env={**os.environ, **ONE_THREAD}).stdout
    result = json.loads(output.splitlines()[-1])
    return result["examples_per_s"], result["peak_memory_bytes"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    print(f"{'recipe':15} {'b':>4} {'lockstep ex/s':>13} {'peer ex/s':>10} {'peer variant':>22} "
          f"{'ratio (min..max)':>20} {'required':>8} {'goal':>5} {'memory':>7}")
    failed = False
    for recipe, batch, steps, warmup, required, goal, variants in CASES:
        if args.only and args.only not in f"{recipe}-{batch}":
            continue
        ratios, ours, peers, memory = [], [], [], []
        for _ in range(args.repeat):
            rate, own_memory = run_lockstep(args.build, recipe, batch, steps, warmup)
            round_peers = [(*run_peer(recipe, batch, steps, warmup, *v), v) for v in variants]
            best = max(round_peers)
            ours.append(rate)
            peers.append(best)
            ratios.append(rate / best[0])
            memory.append(own_memory / best[1])
        ratio = statistics.median(ratios)
        variant = max(set(p[2] for p in peers), key=[p[2] for p in peers].count)
        print(f"{recipe:15} {batch:4} {statistics.median(ours):13.0f} "
              f"{statistics.median(p[0] for p in peers):10.0f} "
              f"{variant[0] + ' loader ' + str(variant[1]):>22} "
              f"{ratio:7.2f} ({min(ratios):.2f}..{max(ratios):.2f}) {required:8.2f} {goal:5.2f} "
              f"{statistics.median(memory):6.2f}x", flush=True)
        failed = failed or ratio < required
    print("ratio = lockstep / best peer variant of the same round; memory = peak resident set of a "
          f"rank, lockstep / peer; {args.repeat} rounds")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
