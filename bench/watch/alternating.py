"""What watching costs a whole process: the same training loop in processes with and without the watcher, in turn.

usage: python3 bench/watch/alternating.py [--network small|resnet18] [--rounds N] [--steps N] [--batch N]

A round is one watched process between two unwatched ones; the two are the control. Times are medians of the steps on
the wall clock, so the machine must be quiet.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE = os.path.join(HERE, "..", "..", "src", "lockstep", "watch", "python")


def train(options):
    """Prints the median time of a step in microseconds."""
    import torch

    sys.path.insert(0, HERE)
    from overhead import networks

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = networks(torch)[options.network]()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    count = options.batch * options.steps
    data = torch.utils.data.TensorDataset(
        torch.randn(count, 3, 32, 32), torch.randint(0, 10, (count,)))
    times = []
    last = time.perf_counter_ns()
    for inputs, labels in torch.utils.data.DataLoader(data, batch_size=options.batch):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        now = time.perf_counter_ns()
        times.append((now - last) / 1e3)
        last = now
    print(statistics.median(times[len(times) // 10 :]))


def step_time(options, watched):
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        environment.pop("LOCKSTEP_WATCH_DIR", None)
        if watched:
            environment.update(LOCKSTEP_WATCH_DIR=folder, PYTHONPATH=MODULE)
        words = [sys.executable, __file__, "--train", "--network", options.network,
                 "--steps", str(options.steps), "--batch", str(options.batch)]
        out = subprocess.run(words, env=environment, check=True, stdout=subprocess.PIPE).stdout
        if watched != any(name.startswith("rank-") for name in os.listdir(folder)):
            sys.exit("the process was not watched")
        return float(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", choices=["small", "resnet18"], default="small")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        return train(options)
    costs, controls, steps = [], [], []
    for _ in range(options.rounds):
        before, watched, after = (step_time(options, on) for on in (False, True, False))
        costs.append(watched - (before + after) / 2)
        controls.append(after - before)
        steps.append((before + after) / 2)
    step = statistics.median(steps)
    for name, values in (("watching", costs), ("control", controls)):
        middle = statistics.median(values)
        spread = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
        print("%s, b = %d: %-8s %+8.1f +- %.1f us per step of %.2f ms (%+.2f %%)" % (
            options.network, options.batch, name, middle, spread, step / 1e3, 100 * middle / step))


if __name__ == "__main__":
    main()
