"""Figures of links.sh, steps.sh and simulated_steps.sh from the records and tables that lockstep writes.

usage: figures.py step RECORD | busbw BACKEND RATE TABLE | last_run RUNS | predict RECIPE PREDICTION MEASURED_STEP
                | pairs GLOO_TABLE HIERARCHICAL_TABLE | simulated NAME SIMULATION MEASURED_STEP
                | racks CALIBRATION_INSIDE CALIBRATION_ACROSS BYTES
"""
import json
import math
import statistics
import sys

WARM_UP = 10


def rows_of(path):
    with open(path) as file:
        return json.load(file)["rows"]


def bits(rate):
    for unit, factor in (("gbit", 1e9), ("mbit", 1e6)):
        if rate.endswith(unit):
            return float(rate[: -len(unit)]) * factor
    raise SystemExit(f"{rate} is no rate such as 200mbit")


def step(record):
    """Mean time of a step after the warm-up. Ranks leave a step at different moments and then start the next one, so
    each rank's steps add up to the time of the run, while the longest of each step add up to more."""
    times = {}
    for line in open(record):
        event = json.loads(line)
        if event["type"] == "steps":
            columns = event["columns"]
            for number, seconds in zip(columns["step"], columns["total_s"]):
                times.setdefault(number, []).append(seconds)
    warm = min(WARM_UP, len(times) // 4)  # as lockstep predict --phases has it
    print(statistics.mean(statistics.mean(times[n]) for n in sorted(times)[warm:]))


def busbw(backend, rate, table):
    for row in rows_of(table):
        if row["bytes"] >= 10e6:
            carried = row["busbw_gb_per_s"] * 8e9
            print(f"{backend:>5}: {row['bytes'] / 1e6:5.1f} MB, busbw {carried / 1e6:6.1f} Mbit/s, "
                  f"{100 * carried / bits(rate):5.1f} % of the link, {row['wrong']} wrong")


def last_run(table):
    print(max(row["id"] for row in rows_of(table)))


def simulated(name, simulation, measured):
    with open(simulation) as file:
        point = json.load(file)["points"][0]
    value, low, high = (point["step_time_s"][key] for key in ("value", "low", "high"))
    measured = float(measured)
    print(f"{name}: simulated {value * 1e3:.1f} ms ({low * 1e3:.1f} to {high * 1e3:.1f}) = compute "
          f"{point['compute_s'] * 1e3:.1f} + wait {point['wait_s'] * 1e3:.1f} + transfer {point['transfer_s'] * 1e3:.1f}; "
          f"measured {measured * 1e3:.1f} ms ({(value / measured - 1) * 100:+.1f} %)")


def fitted(table, message):
    """Latency and bandwidth of two hosts, t = 2 alpha + S / beta, by least squares of relative errors. Sizes near the
    message count most, as in lockstep::predict::fit_link."""
    aa = ab = bb = a1 = b1 = 0
    rows = rows_of(table)
    near = min(message, max(row["bytes"] for row in rows))
    for row in rows:
        weight = max(0.003, 2 ** -math.log2(row["bytes"] / near) ** 2)
        seconds = row["time_us"] * 1e-6
        a, b = 2 / seconds, row["bytes"] / seconds
        aa, ab, bb = aa + weight * a * a, ab + weight * a * b, bb + weight * b * b
        a1, b1 = a1 + weight * a, b1 + weight * b
    determinant = aa * bb - ab * ab
    alpha = max((a1 * bb - b1 * ab) / determinant, 0)
    return {"alpha_s": alpha, "bytes_per_s": 1 / ((b1 - alpha * ab) / bb)}


def carried(table, message):
    """Bytes per second of a message that is large enough for its latency to pass while it is transferred, as in
    lockstep::predict::fit_link_near."""
    link = fitted(table, message)
    return message / (2 * link["alpha_s"] + message / link["bytes_per_s"])


def racks(inside_rack, between_racks, message):
    """Two racks of two hosts as a platform of SimGrid, from calibrations of two hosts inside a rack and across."""
    host, across = (carried(table, float(message)) for table in (inside_rack, between_racks))
    print("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\">\n<zone id=\"racks\" routing=\"Full\">")
    for i in range(4):
        print(f'<host id="node-{i}" speed="1Gf"/>')
        print(f'<link id="link-{i}" bandwidth="{host}Bps" latency="0s" '
              'sharing_policy="SPLITDUPLEX"/>')
    print(f'<link id="between-racks" bandwidth="{across}Bps" latency="0s" '
          'sharing_policy="SPLITDUPLEX"/>')
    for a in range(4):
        for b in range(4):
            if a == b:
                continue
            direction = "UP" if a < 2 else "DOWN"
            middle = f'<link_ctn id="between-racks" direction="{direction}"/>' if (a < 2) != (b < 2) else ""
            print(f'<route src="node-{a}" dst="node-{b}" symmetrical="NO"><link_ctn id="link-{a}" direction="UP"/>'
                  f'{middle}<link_ctn id="link-{b}" direction="DOWN"/></route>')
    print("</zone>\n</platform>")


def predict(recipe, prediction, measured):
    with open(prediction) as file:
        told = json.load(file)
    step, measured = told["step_time_s"], float(measured)
    value, low, high = step["value"], step["low"], step["high"]
    inside = "within" if low <= measured <= high else "outside"
    print(f"step of {recipe} on 4 hosts: predicted {value * 1e3:.1f} ms ({low * 1e3:.1f} to {high * 1e3:.1f}) = compute "
          f"{told['compute_s'] * 1e3:.1f} + communication {told['communication_s'] * 1e3:.1f} + slowest "
          f"{told['straggler_s'] * 1e3:.1f}; measured {measured * 1e3:.1f} ms ({(value / measured - 1) * 100:+.1f} %), {inside}; "
          f"link {told['link']}: {told['link_alpha_s'] * 1e6:.0f} us, {told['link_bytes_per_s'] * 8e-6:.0f} Mbit/s")


def pairs(gloo, hierarchical):
    print("2 hosts x 2 workers: size, gloo, hierarchical, gain")
    for flat, inside in zip(rows_of(gloo), rows_of(hierarchical)):
        print(f"{flat['bytes']:>12} B {flat['time_us'] / 1e3:9.2f} ms {inside['time_us'] / 1e3:9.2f} ms "
              f"{flat['time_us'] / inside['time_us']:5.2f} x")


{"step": step, "busbw": busbw, "last_run": last_run, "predict": predict, "pairs": pairs, "simulated": simulated,
 "racks": racks}[sys.argv[1]](*sys.argv[2:])
