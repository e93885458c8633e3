"""Simulates published scaling series from their one-host point and prints the errors.

usage: published.py LOCKSTEP SERIES.csv [SERIES_ID...]
"""
import csv
import json
import subprocess
import sys

PER_HOST = 8
# Bytes of all gradients, by what the model's name begins with, and those of 16-bit runs on the wire.
PARAMETERS = {"ResNet50": 25_557_032, "BERT-base": 110_106_428}
# NVLink of a V100 in a host of eight; one InfiniBand adapter of 100 Gbit per host, as the source states.
INSIDE = "130GB/s,5us"
LINK = "100Gbit,5us"


def series_of(path):
    found = {}
    for row in csv.DictReader(open(path)):
        if "IB 100Gb" in row["device"] and row["unit"] == "samples/s":
            found.setdefault(row["series"], []).append(row)
    return found


def parameters_of(model):
    return next((count for name, count in PARAMETERS.items() if model.startswith(name)), None)


def simulated(lockstep, batch, step_s, gradients, half, counts):
    command = [lockstep, "simulate", "--compute", f"{step_s}s", "--gradients", f"{gradients}B", "--batch", str(batch),
               "--per-host", str(PER_HOST), "--inside", INSIDE, "--link", LINK, "--wire", "fp16" if half else "fp32",
               "--workers", ",".join(map(str, counts)), "--json"]
    points = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout)["points"]
    return {point["workers"]: point for point in points}


def main(lockstep, table, *wanted):
    errors, covered = [], 0
    for name, rows in series_of(table).items():
        speed = {int(row["workers"]): float(row["value"]) for row in rows}
        parameters = parameters_of(rows[0]["model"])
        counts = [n for n in speed if n > PER_HOST]
        if parameters is None or PER_HOST not in speed or not counts or (wanted and name not in wanted):
            continue
        batch = int(rows[0]["batch_per_worker"])
        half = "16" in rows[0]["setting"].split("/")[-2] or "FP16" in rows[0]["setting"]
        points = simulated(lockstep, batch, PER_HOST * batch / speed[PER_HOST], 4 * parameters, half, counts)
        for n in counts:
            rate = points[n]["examples_per_s"]
            error = rate["value"] / speed[n] - 1
            errors.append(abs(error))
            inside = rate["low"] <= speed[n] <= rate["high"]
            covered += inside
            print(f"{name} {rows[0]['model'][:10]:<10} b = {batch:<4} {'fp16' if half else 'fp32'} N = {n:<3} measured "
                  f"{speed[n]:8.0f}/s, simulated {rate['value']:8.0f} ({rate['low']:.0f} to {rate['high']:.0f}), "
                  f"{100 * error:+5.1f} %, {'within' if inside else 'outside'} its interval")
    errors.sort()
    print(f"{len(errors)} points: median error {100 * errors[len(errors) // 2]:.1f} %, largest {100 * errors[-1]:.1f} %, "
          f"{covered} within their intervals")


if __name__ == "__main__":
    main(*sys.argv[1:])
