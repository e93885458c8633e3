"""Simulates published scaling series from their one-host point and prints the errors.

usage: published.py LOCKSTEP SERIES.csv [SERIES_ID...]
"""
import csv
import json
import statistics
import subprocess
import sys
from dataclasses import dataclass


@dataclass
class Site:
    """Hosts and links as a source states them; inside a host what its kind of link is known to reach."""

    device: str  # part of the column
    per_host: int
    inside: str
    links: tuple


SITES = [
    # NVLink of a V100; one InfiniBand adapter.
    Site("IB 100Gb", 8, "130GB/s,5us", ("100Gbit,5us",)),
    # NVLink of an A100; four adapters.
    Site("4x100Gb RoCE", 8, "235GB/s,5us", ("400Gbit,5us",)),
    # PCIe 3 x8 of a T4. A single TCP flow between hosts of EC2 gets at most 5 Gbit of the adapter's 50.
    Site("AWS g4dn.12xlarge", 4, "6GB/s,10us", ("50Gbit,30us", "5Gbit,30us")),
]
# Parameters, by what the model's name begins with. Pollux trains its ResNet-18 on CIFAR-10.
PARAMETERS = {"ResNet50": 25_557_032, "ResNet-50": 25_557_032, "ResNet-18": 11_173_962, "BERT": 110_106_428,
              "InternLM-7B": 7_321_948_160}
# What the source states of a program, by words of the column `setting`. The program with BERT in PyTorch sends buckets of
# 250 million elements at least: all gradients at once, after backward.
PROGRAMS = {"NVIDIADeepLearningExamples/PyTorch/BERT": ["--bucket", "1GB"],
            "4 micro-batches": ["--accumulate", "4", "--wire", "fp16"], "zero1=8 packed": ["--wire", "fp16"]}
# Of a language model's batch, in tokens.
SEQUENCE = 2048


def series_of(path):
    found = {}
    for row in csv.DictReader(open(path)):
        site = next((one for one in SITES if one.device in row["device"]), None)
        if site and row["scaling"] == "weak" and row["unit"] in ("samples/s", "tokens/s", "s") and "tp=2" not in row["setting"]:
            found.setdefault(row["series"], (site, []))[1].append(row)
    return found


def parameters_of(model):
    return next((count for name, count in PARAMETERS.items() if model.startswith(name)), None)


def options_of(setting):
    options = next((options for words, options in PROGRAMS.items() if words in setting), [])
    fp16 = "16" in setting.split("/")[-2] if setting.count("/") > 1 else False
    return options + (["--wire", "fp16"] if "--wire" not in options and (fp16 or "FP16" in setting) else [])


def step_s(row):
    if row["unit"] == "s":
        return float(row["value"])
    examples = int(row["workers"]) * int(row["batch_per_worker"]) * (SEQUENCE if row["unit"] == "tokens/s" else 1)
    return examples / float(row["value"])


def simulated(lockstep, site, link, compute_s, gradients, options, counts):
    micro_steps = int(options[options.index("--accumulate") + 1]) if "--accumulate" in options else 1
    command = [lockstep, "simulate", "--compute", f"{compute_s / micro_steps}s", "--gradients", f"{gradients}B", "--per-host",
               str(site.per_host), "--inside", site.inside, "--link", link, "--workers", ",".join(map(str, counts)), "--json"]
    answer = subprocess.run(command + options, check=True, capture_output=True, text=True, timeout=60).stdout
    return {point["workers"]: point["step_time_s"] for point in json.loads(answer)["points"]}


def compared(lockstep, name, site, rows, errors):
    measured = {int(row["workers"]): step_s(row) for row in rows}
    parameters = parameters_of(rows[0]["model"])
    counts = [n for n in measured if n > site.per_host]
    if parameters is None or site.per_host not in measured or not counts:
        return
    options = options_of(rows[0]["setting"])
    for link in site.links:
        steps = simulated(lockstep, site, link, measured[site.per_host], 4 * parameters, options, counts)
        for n in counts:
            step = steps[n]
            error = measured[n] / step["value"] - 1  # of the rate
            inside = step["low"] <= measured[n] <= step["high"]
            errors.setdefault((site.device, link), []).append((abs(error), inside))
            print(f"{name} {rows[0]['model'][:18]:<18} b = {rows[0]['batch_per_worker']:<4} {' '.join(options)} {link} N = {n:<4} "
                  f"measured {measured[n] * 1e3:7.1f} ms, simulated {step['value'] * 1e3:7.1f} ({step['low'] * 1e3:.1f} to "
                  f"{step['high'] * 1e3:.1f}), rate {100 * error:+5.1f} %, {'within' if inside else 'outside'} its interval")


def main(lockstep, table, *wanted):
    errors = {}
    for name, (site, rows) in series_of(table).items():
        if not wanted or name in wanted:
            compared(lockstep, name, site, rows, errors)
    for (device, link), found in errors.items():
        print(f"{device}, {link}: {len(found)} points, median error {100 * statistics.median(e for e, _ in found):.1f} %, "
              f"largest {100 * max(e for e, _ in found):.1f} %, {sum(inside for _, inside in found)} within their intervals")


if __name__ == "__main__":
    main(*sys.argv[1:])
