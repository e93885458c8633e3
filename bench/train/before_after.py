"""Two builds of Lockstep, run in turn: step time, its phases and the memory of the workers.

usage: python3 bench/train/before_after.py BEFORE AFTER [--recipe cifar-resnet18] [--batches 4,32] [--workers 2,4]
       [--optimizer sgd] [--steps 30] [--rounds 3]

BEFORE and AFTER are programs `lockstep`. Times are medians over the steps of rank 0 after the warm-up, ratios are of runs
of one round. PSS counts a page that N processes have in common as 1/N of a page for each: their sum is what the host
has to provide. RSS counts it in full for each. Both are the largest seen during the run, mean over the workers.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

PHASES = ["input_wait", "host_to_device", "forward", "backward", "comm_wait", "comm_transfer", "optimizer", "other"]


def memory_of_children(pid):
    """[(pid, PSS, RSS)] of its workers, in bytes."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as stat:
                parent = int(stat.read().rsplit(")", 1)[1].split()[1])
            if parent != pid:
                continue
            with open(f"/proc/{name}/smaps_rollup") as rollup:
                fields = dict(line.split(":", 1) for line in rollup if ":" in line)
            found.append((int(name), *(int(fields[key].split()[0]) * 1024 for key in ("Pss", "Rss"))))
        except (OSError, KeyError, IndexError):
            continue  # ended meanwhile
    return found


def run(program, options, workers, batch):
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--json", "--store", f"{folder}/runs.db", "train", options.recipe, "-n", str(workers),
                   "--threads", "1", "--batch", str(batch), "--steps", str(options.steps), "--epochs", "1000",
                   "--optimizer", options.optimizer, "--no-validation", "--oversubscribe"]
        if options.recipe != "fashion":
            command += ["--data", "synthetic"]
        output = open(f"{folder}/output", "w+")
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)
        pss, rss = {}, {}
        while True:
            try:
                process.wait(timeout=0.5)
                break
            except subprocess.TimeoutExpired:
                for worker, shared, resident in memory_of_children(process.pid):
                    pss[worker] = max(pss.get(worker, 0), shared)
                    rss[worker] = max(rss.get(worker, 0), resident)
        if process.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {process.returncode}")
        output.seek(0)
        steps = []
        for line in output:
            event = json.loads(line)
            if event["type"] == "steps":
                columns = event["columns"]
                steps += [dict(zip(columns, row)) for row in zip(*columns.values())]
    steps = [s for s in steps if s["rank"] == 0 and s["step"] >= options.steps // 4]
    result = {"step": statistics.median(s["total_s"] for s in steps)}
    for phase in PHASES:
        result[phase] = statistics.mean(s.get(phase + "_s", 0) for s in steps)
    result["pss"] = statistics.mean(pss.values()) if pss else float("nan")
    result["rss"] = statistics.mean(rss.values()) if rss else float("nan")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--recipe", default="cifar-resnet18")
    parser.add_argument("--batches", default="4,32")
    parser.add_argument("--workers", default="2,4")
    parser.add_argument("--optimizer", default="sgd")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{options.recipe}, {options.optimizer}, medians of {options.rounds} rounds of {options.steps} steps")
    print(f"{'N':>2} {'b':>4} {'':7} {'step ms':>8} {'after/before (min..max)':>24} {'fwd+bwd':>8} {'comm':>7} "
          f"{'optimizer':>9} {'other':>6} {'PSS MB':>7} {'RSS MB':>7}")
    for workers in options.workers.split(","):
        for batch in options.batches.split(","):
            runs = {"before": [], "after": []}
            for _ in range(options.rounds):
                for name in runs:
                    runs[name].append(run(getattr(options, name), options, workers, batch))
            ratios = [a["step"] / b["step"] for a, b in zip(runs["after"], runs["before"])]
            ratio = f"{statistics.median(ratios):.3f} ({min(ratios):.3f}..{max(ratios):.3f})"
            for name, all_of_one in runs.items():
                m = {key: statistics.median(r[key] for r in all_of_one) for key in all_of_one[0]}
                print(f"{workers:>2} {batch:>4} {name:7} {1e3 * m['step']:8.2f} "
                      f"{ratio if name == 'after' else '':>24} {1e3 * (m['forward'] + m['backward']):8.2f} "
                      f"{1e3 * (m['comm_wait'] + m['comm_transfer']):7.2f} {1e3 * m['optimizer']:9.2f} "
                      f"{1e3 * m['other']:6.2f} {m['pss'] * 1e-6:7.0f} {m['rss'] * 1e-6:7.0f}", flush=True)


if __name__ == "__main__":
    main()
