"""Whether a slow rank and a slow loader are named rightly: a DDP script on two ranks, one of them slowed on purpose.

usage: python3 bench/watch/slow_rank.py LOCKSTEP [--rounds N] [--python PYTHON]

In every round each rank in turn sleeps 20 ms per step in its loader, in forward and before backward, and at last both
sleep in their loaders. The count of rounds whose `lockstep run` names the rank and what it does is printed.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# What precedes backward is forward's: its phase lasts until gradients are computed.
NAMED = {"loader": "waiting for the next batch", "forward": "in forward", "backward": "in forward"}


def bottleneck_of(options, arguments):
    """The line `bottleneck: ...` of one run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [options.lockstep, "--store", os.path.join(folder, "runs.db"), "run", "-n", "2", "--",
                   options.python, "-m", "torch.distributed.run", "-r", "1", "-t", "1",
                   "--nproc_per_node", "2",
                   "--master_port", "{master_port}",
                   os.path.join(HERE, "slow_script.py"), *arguments]
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
        found = re.search(r"^bottleneck: .*$", done.stdout + done.stderr, re.M)
        return found.group(0) if found else f"no bottleneck (exit code {done.returncode})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lockstep")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    cases = [(where, rank) for where in NAMED for rank in (0, 1)] + [("loader", -1)]
    right = {case: 0 for case in cases}
    for _ in range(options.rounds):
        for where, rank in cases:
            found = bottleneck_of(options, ["--where", where, "--rank", str(rank)])
            good = found.startswith("bottleneck: input") if rank < 0 else (
                found.startswith(f"bottleneck: rank {rank}:") and NAMED[where] in found)
            right[where, rank] += good
            if not good:
                print(f"{where}, rank {rank}: {found}", flush=True)
    for (where, rank), count in right.items():
        print(f"{where:9} {'both ranks' if rank < 0 else f'rank {rank}':10} {count} of {options.rounds}")
    return 0 if all(count == options.rounds for count in right.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
