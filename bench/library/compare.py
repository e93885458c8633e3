#!/usr/bin/env python3
"""The PyTorch project's C++ example of distributed training, with the library and with its own way.

compare.py BUILD [--ranks 2] [--rounds 5] [--epochs 1] [--mpirun "mpirun ..."]: runs dist_mnist, dist_mnist_mpi and
dist_mnist_gloo in turn on Fashion-MNIST and prints the seconds of the last epoch of each, with their ratio round by
round to the first. --mpirun: how it is called, for ranks on several hosts (hosts.sh); then without `lockstep run`.
"""

import argparse
import gzip
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")


def unpack(folder):
    for packed in DATA.glob("*.gz"):
        with gzip.open(packed) as source, open(folder / packed.stem, "wb") as out:
            shutil.copyfileobj(source, out)


def seconds(command, environment):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(re.findall(r"epoch \d+: ([\d.]+) s", done.stdout)[-1]), done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--mpirun", type=str.split)
    options = parser.parse_args()
    programs = options.build / "bin"
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    mpirun = options.mpirun or ["mpirun", "-np", str(options.ranks)]
    with tempfile.TemporaryDirectory() as folder:
        unpack(pathlib.Path(folder))
        arguments = [folder, str(options.epochs)]
        ways = {
            "MPI, mpirun": ([*mpirun, programs / "dist_mnist_mpi", *arguments], environment),
            "Gloo, mpirun": ([*mpirun, programs / "dist_mnist_gloo", *arguments], environment),
            "library, mpirun": ([*mpirun, programs / "dist_mnist", *arguments], environment),
            "library, lockstep run": (
                [programs / "dist_mnist", *arguments],
                dict(environment, LOCKSTEP_WORKERS=str(options.ranks)),
            ),
        }
        if options.mpirun:
            del ways["library, lockstep run"]
            over_mpi = dict(environment, LOCKSTEP_BACKEND="mpi")
            ways["library over MPI, mpirun"] = ([*mpirun, programs / "dist_mnist", *arguments], over_mpi)
        times = {name: [] for name in ways}
        for _ in range(options.rounds):
            for name, (command, variables) in ways.items():
                times[name].append(seconds(command, variables)[0])
    first = times["MPI, mpirun"]
    for name, taken in times.items():
        ratios = [a / b for a, b in zip(first, taken)]
        print(
            f"{name:24s} {statistics.median(taken):7.3f} s per epoch, "
            f"{statistics.median(ratios):.2f} times as fast ({min(ratios):.2f}..{max(ratios):.2f})"
        )


if __name__ == "__main__":
    main()
