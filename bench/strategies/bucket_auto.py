#!/usr/bin/env python3
"""How good the choice of --bucket auto is: exposed communication of ResNet-18 on 2 workers with each bucket size, and with
the size that auto chooses.  usage: bench/strategies/bucket_auto.py build/release/bin/lockstep [BATCH] [STEPS]"""
import json, re, statistics, subprocess, sys, tempfile

PROGRAM, BATCH, STEPS = sys.argv[1], int((sys.argv[2:] or [8])[0]), int((sys.argv[3:] or [24])[0])
SIZES = ["256kB", "1MB", "4MB", "16MB", "50MB", "100MB"]
TRIES = 69  # steps that auto takes at most
WARM_UP = 4


def exposed_ms(backend, bucket, steps, first):
    """Mean over ranks of the median over steps, and what rank 0 printed."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([PROGRAM, "--store", folder + "/runs.db", "--json", "train", "cifar-resnet18", "-n", "2", "--threads",
                               "1", "--data", "synthetic", "--no-validation", "--no-augment", "--batch", str(BATCH), "--steps",
                               str(steps), "--backend", backend, "--bucket", bucket], text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    ranks = {}
    for line in done.stdout.splitlines():
        event = json.loads(line)
        if event.get("type") != "steps":
            continue
        c = event["columns"]
        for rank, step, wait, transfer in zip(c["rank"], c["step"], c["comm_wait_s"], c["comm_transfer_s"]):
            if step >= first:
                ranks.setdefault(rank, []).append(1e3 * (wait + transfer))
    return statistics.mean(statistics.median(values) for values in ranks.values()), done.stderr


for backend in ("shm", "gloo"):
    # Twice, in opposite orders, so that a drift of the machine does not favour one size.
    fixed = {size: [] for size in SIZES}
    for order in (SIZES, SIZES[::-1]):
        for size in order:
            fixed[size].append(exposed_ms(backend, size, STEPS, WARM_UP)[0])
    means = {size: statistics.mean(values) for size, values in fixed.items()}
    best = min(means.values())
    auto, text = exposed_ms(backend, "auto", TRIES + STEPS, TRIES + 1)
    chosen = re.search(r"buckets of ([0-9.]+ .B.*)", text)
    print(backend, "exposed ms by size:", ", ".join(f"{s} {means[s]:.2f} ({', '.join(f'{v:.2f}' for v in fixed[s])})" for s in SIZES))
    print(backend, f"best {best:.2f}; after auto {auto:.2f} ({100 * (auto / best - 1):+.1f} %); chosen:",
          chosen.group(1) if chosen else "nothing printed", flush=True)
