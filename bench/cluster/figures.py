"""Figures of links.sh from the records and tables that lockstep writes.

usage: figures.py step RECORD | busbw BACKEND RATE TABLE | predict LINKS T2 T4 PARAMETERS
                | pairs TCP_TABLE HIERARCHICAL_TABLE
"""
import json
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
    """Median time of a step, which lasts as long as on its slowest rank."""
    times = {}
    for line in open(record):
        event = json.loads(line)
        if event["type"] == "steps":
            columns = event["columns"]
            for number, seconds in zip(columns["step"], columns["total_s"]):
                times.setdefault(number, []).append(seconds)
    print(statistics.median(max(times[n]) for n in times if n >= WARM_UP))


def busbw(backend, rate, table):
    for row in rows_of(table):
        if row["bytes"] >= 10e6:
            carried = row["busbw_gb_per_s"] * 8e9
            print(f"{backend:>5}: {row['bytes'] / 1e6:5.1f} MB, busbw {carried / 1e6:6.1f} Mbit/s, "
                  f"{100 * carried / bits(rate):5.1f} % of the link, {row['wrong']} wrong")


def predict(links, t2, t4, parameters):
    link = next(row for row in rows_of(links) if row["backend"] == "tcp" and row["workers"] == 2)
    alpha, bandwidth = link["alpha_us"] * 1e-6, link["bandwidth_gb_per_s"] * 1e9
    size = 4 * int(parameters)

    def cost(n):
        return 2 * (n - 1) * alpha + 2 * (n - 1) / n * size / bandwidth

    t2, t4 = float(t2), float(t4)
    told = t2 - cost(2) + cost(4)
    print(f"step: alpha {alpha * 1e6:.0f} us, {bandwidth * 8e-6:.0f} Mbit/s from 2 hosts; 2 hosts "
          f"{t2 * 1e3:.2f} ms, 4 hosts predicted {told * 1e3:.2f} ms, measured {t4 * 1e3:.2f} ms "
          f"({(told / t4 - 1) * 100:+.1f} %)")


def pairs(tcp, hierarchical):
    print("2 hosts x 2 workers: size, tcp, hierarchical, gain")
    for flat, inside in zip(rows_of(tcp), rows_of(hierarchical)):
        print(f"{flat['bytes']:>12} B {flat['time_us'] / 1e3:9.2f} ms {inside['time_us'] / 1e3:9.2f} ms "
              f"{flat['time_us'] / inside['time_us']:5.2f} x")


{"step": step, "busbw": busbw, "predict": predict, "pairs": pairs}[sys.argv[1]](*sys.argv[2:])
