"""Lockstep against PyTorch, run in alternation on the same machine, threads and data.

usage: /usr/bin/python3 bench/train/compare.py [--build build/release] [--repeat 5] [--only fashion-32]
                                              [--arrangements 2x1,1x2] [--peers debian,current]

Two peers: Debian's PyTorch (python3-torch, and python3-torchvision for its variants with DataLoader) and a current one
from PyPI in the virtual environment BUILD/../torch-env, which is made at the first call: some 3 GB to load and 6 GB on
disk, since the default package for x86-64 has the libraries of CUDA. --torch-python names another Python that has torch.

Each round runs Lockstep and every variant of each peer once; the ratio of a round is Lockstep's examples/s over those
of the peer's best variant in the same round, so that a slow moment of the machine hits both. Printed: the median ratio,
and the smallest and largest of all rounds. An arrangement is workers x threads per worker.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TENSORS = ["--input", "tensors"]
LAST = ["--format", "channels_last"]
LOADER = ["--loader-workers", "1"]
VARIANTS = {
    ("debian", "fashion"): [[], LOADER, TENSORS],
    ("debian", "cifar-resnet18"): [TENSORS, TENSORS + LAST],
    ("current", "fashion"): [TENSORS, TENSORS + LAST, TENSORS + ["--compile"]],
    ("current", "cifar-resnet18"): [TENSORS, TENSORS + LAST, TENSORS + LAST + ["--compile"]],
}
# recipe, b, steps, warm-up steps, required ratio with each peer
CASES = [
    ("fashion", 32, 400, 40, {"debian": 2.0, "current": 3.0}),
    ("fashion", 128, 150, 15, {"debian": 2.0, "current": 3.0}),
    ("fashion", 512, 50, 8, {"debian": 2.0, "current": 3.0}),
    ("cifar-resnet18", 32, 14, 3, {"debian": 1.15, "current": 2.0}),
    ("cifar-resnet18", 128, 6, 2, {"debian": 1.15, "current": 2.0}),
]


def run_lockstep(build, recipe, batch, steps, warmup, workers, threads):
    with tempfile.TemporaryDirectory() as folder:
        command = [f"{build}/bin/lockstep", "--json", "--store", f"{folder}/runs.db", "train", recipe,
                   "-n", str(workers), "--threads", str(threads), "--batch", str(batch), "--steps", str(steps),
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
    return (steps - warmup) * batch * workers / ((last - first) * 1e-9), memory


def run_peer(python, recipe, batch, steps, warmup, workers, threads, variant):
    """None where this variant cannot run (a PyTorch without torch.compile, no torchvision)."""
    limits = {f"{library}_NUM_THREADS": str(threads) for library in ("OMP", "OPENBLAS", "MKL")}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, f"{HERE}/peer_ddp.py", recipe, "--batch", str(batch), "--steps", str(steps), "--warmup",
             str(warmup), "--workers", str(workers), "--threads", str(threads), "--rendezvous", f"{folder}/store"]
            + variant, stdout=subprocess.PIPE, text=True, stderr=subprocess.PIPE, env={**os.environ, **limits})
    if done.returncode != 0:
        print(f"not run: {python} {' '.join(variant)}: {(done.stderr.splitlines() or ['?'])[-1]}", file=sys.stderr)
        return None
    result = json.loads(done.stdout.splitlines()[-1])
    return result["examples_per_s"], result["peak_memory_bytes"], result["version"], variant


def current_python(build):
    """The Python of the environment with a current PyTorch, made if there is none."""
    folder = os.path.join(os.path.dirname(os.path.abspath(build)), "torch-env")
    python = os.path.join(folder, "bin", "python")
    if subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode \
            if os.path.exists(python) else True:
        print(f"making {folder}: some 3 GB to load", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "torch", "numpy"], check=True)
    return python


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--arrangements", default="2x1,1x2")
    parser.add_argument("--peers", default="debian,current")
    parser.add_argument("--torch-python", help="a Python with a current torch, in place of a new environment")
    args = parser.parse_args()
    pythons = {}
    for peer in args.peers.split(","):
        pythons[peer] = "/usr/bin/python3" if peer == "debian" else args.torch_python or current_python(args.build)
    print(f"{'recipe':15} {'b':>4} {'arr.':>4} {'lockstep ex/s':>13} {'peer':>16} {'ex/s':>7} "
          f"{'ratio (min..max)':>19} {'required':>8} {'memory':>7}  variant")
    failed = False
    for recipe, batch, steps, warmup, required in CASES:
        if args.only and args.only not in f"{recipe}-{batch}":
            continue
        for arrangement in args.arrangements.split(","):
            workers, threads = map(int, arrangement.split("x"))
            ours, best = [], {peer: [] for peer in pythons}
            variants = {peer: list(VARIANTS[peer, recipe]) for peer in pythons}
            for _ in range(args.repeat):
                ours.append(run_lockstep(args.build, recipe, batch, steps, warmup, workers, threads))
                for peer, python in pythons.items():
                    measured = [run_peer(python, recipe, batch, steps, warmup, workers, threads, v)
                                for v in variants[peer]]
                    variants[peer] = [v for v, m in zip(variants[peer], measured) if m]
                    best[peer].append(max(m for m in measured if m))
            for peer, rounds in best.items():
                ratios = [own[0] / other[0] for own, other in zip(ours, rounds)]
                ratio = statistics.median(ratios)
                names = [" ".join(r[3]) for r in rounds]
                print(f"{recipe:15} {batch:4} {arrangement:>4} {statistics.median(o[0] for o in ours):13.0f} "
                      f"{'PyTorch ' + rounds[0][2].split('+')[0]:>16} {statistics.median(r[0] for r in rounds):7.0f} "
                      f"{ratio:6.2f} ({min(ratios):.2f}..{max(ratios):.2f}) {required[peer]:8.2f} "
                      f"{statistics.median(o[1] / r[1] for o, r in zip(ours, rounds)):6.2f}x  "
                      f"{max(set(names), key=names.count)}", flush=True)
                failed = failed or ratio < required[peer]
    print("ratio = lockstep / best variant of the peer in the same round; memory = peak resident set of a "
          f"rank, lockstep / peer; {args.repeat} rounds")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
