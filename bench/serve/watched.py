#!/usr/bin/env python3
"""What live clients of `lockstep serve` cost a training run.

One run trains from beginning to end while clients attach and leave again, window after window. Each
watched window is compared with the two unwatched ones beside it, so that what the machine does by itself
(two runs differ by 10 %) cancels. Unwatched windows are compared with their unwatched neighbours in the
same way: that figure shows what the method makes of nothing.

On a machine that is not quiet even neighbours differ by more than the server takes. So the kernel is asked
too: how long the workers' threads were ready to run and had to wait for a processor. Nothing that the server
or anything else here does to a worker by taking its processor is missing from that, and what other machines
on the same hardware do is not in it.

The clients take no processor from the run: they sleep while the server sends, and read at the end of the
window what the kernel kept for them, as if they were on other machines. With --reading they read at once,
as a browser on the same machine does; their share of the processors is printed.

  bench/serve/watched.py build/release/bin --workers 2
"""
import argparse
import json
import os
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

SETTLE_S = 0.5  # after clients came or went: connecting is not watching
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(pid):
    """Seconds of processor time that a process has used."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def threads_below(pid):
    """Folders of all threads of a process and of the processes that it started."""
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        folder = f"/proc/{pid}/task/{thread}"
        found.append(folder)
        with open(f"{folder}/children") as children:
            for child in children.read().split():
                found += threads_below(child)
    return found


def waited_s(threads):
    """Seconds that the threads were ready to run and waited for a processor."""
    total = 0
    for folder in threads:
        with open(f"{folder}/schedstat") as stat:
            total += int(stat.read().split()[1])
    return total * 1e-9


class Clients:
    """Connections that watch, all in this process."""

    def __init__(self, address, count):
        self.sockets = []
        self.received = [b""] * count
        self.ended = 0
        request = f"GET /api/live HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n\r\n".encode()
        for _ in range(count):
            one = socket.create_connection(address)
            one.sendall(request)
            one.setblocking(False)
            self.sockets.append(one)

    def take(self, at):
        """Reads what has arrived at one of them."""
        try:
            while data := self.sockets[at].recv(1 << 20):
                self.received[at] += data
            self.ended += 1
            return False
        except BlockingIOError:
            return True

    def read_for(self, seconds):
        end = time.monotonic() + seconds
        with selectors.DefaultSelector() as ready:
            for at, one in enumerate(self.sockets):
                ready.register(one, selectors.EVENT_READ, at)
            while (left := end - time.monotonic()) > 0:
                for key, _ in ready.select(left):
                    if not self.take(key.data):
                        ready.unregister(key.fileobj)

    def leave(self):
        """Closes all; gives how many were greeted, messages and bytes of the least served, early ends."""
        for at in range(len(self.sockets)):
            self.take(at)
            self.sockets[at].close()
        greeted = sum(b"event: hello" in text for text in self.received)
        return (greeted, min(text.count(b"event: runs") for text in self.received),
                min(len(text) for text in self.received), self.ended)


def start_server(program, store):
    server = subprocess.Popen([program, "serve", "--store", store, "--port", "0", "--json"],
                              stdout=subprocess.PIPE, text=True)
    url = json.loads(server.stdout.readline())["url"]
    parts = urllib.parse.urlsplit(url)
    return server, url, (parts.hostname, parts.port)


def wait_for_steps(url, training):
    while training.poll() is None:
        with urllib.request.urlopen(url + "api/runs") as answer:
            if any(run.get("fraction") for run in json.load(answer)["runs"]):
                return
        time.sleep(0.5)
    sys.exit("the training run ended before it began to train")


def observe(options, url, address, server, training):
    """Windows as (from, to, watched), monotonic ns; and what server and clients did in them."""
    windows, told = [], {"waited": [], "server": 0.0, "clients": 0.0, "greeted": [], "messages": [], "bytes": [], "ended": 0}
    wait_for_steps(url, training)
    threads = threads_below(training.pid)
    for number in range(2 * options.pairs + 1):
        clients = Clients(address, options.clients) if number % 2 else None
        time.sleep(SETTLE_S)
        waited = waited_s(threads)
        used, own, begin = cpu_s(server.pid), time.process_time(), time.monotonic_ns()
        if clients and options.reading:
            clients.read_for(options.window)
        else:
            time.sleep(options.window)
        windows.append((begin, time.monotonic_ns(), clients is not None))
        told["waited"].append((waited_s(threads) - waited) / options.window / options.workers)
        if clients:
            told["server"] += cpu_s(server.pid) - used
            told["clients"] += time.process_time() - own
            greeted, messages, size, ended = clients.leave()
            told["greeted"].append(greeted)
            told["messages"].append(messages)
            told["bytes"].append(size)
            told["ended"] += ended
    return windows, told


def step_times(lines):
    """(start in ns, seconds) of the steps of rank 0, from the record of the run."""
    steps = []
    for line in lines:
        event = json.loads(line)
        if event["type"] == "steps":
            columns = event["columns"]
            steps += [(start, total) for start, total, rank
                      in zip(columns["start_ns"], columns["total_s"], columns["rank"]) if rank == 0]
    return steps


def median_interval(values):
    """Median, and the pair of order statistics that holds it with 95 % (binomial, no distribution assumed)."""
    ordered, n = sorted(values), len(values)
    below, tail, skip = 0.5 ** n, 0.0, 0
    while tail + below <= 0.025 and 2 * skip < n:
        tail += below
        skip += 1
        below *= (n - skip + 1) / skip
    low, high = (ordered[skip - 1], ordered[n - skip]) if skip else (None, None)
    return statistics.median(ordered), low, high


def told_change(name, values, apart):
    """Windows against the mean of those `apart` places before and after; every other one."""
    first = 1 if apart == 1 else 2
    ratios = [values[at] / ((values[at - apart] + values[at + apart]) / 2)
              for at in range(first, len(values) - apart, 2)]
    middle, low, high = median_interval([100 * (ratio - 1) for ratio in ratios])
    interval = f"95 % interval {low:+.2f} to {high:+.2f} %" if low is not None else "too few windows for an interval"
    print(f"{name} {middle:+.2f} % ({interval}; {len(ratios)} windows, "
          f"{min(ratios) * 100 - 100:+.1f} to {max(ratios) * 100 - 100:+.1f})")


def told_waiting(shares):
    """Of each worker's time, waiting for a processor: watched less the neighbours, in percent points."""
    change = [100 * (shares[at] - (shares[at - 1] + shares[at + 1]) / 2) for at in range(1, len(shares), 2)]
    middle, low, high = median_interval(change)
    interval = f"{low:+.2f} to {high:+.2f}" if low is not None else "unknown"
    print(f"waiting for a processor: {100 * statistics.median(shares[0::2]):.2f} % of a worker's time unwatched, "
          f"{100 * statistics.median(shares[1::2]):.2f} % watched; difference {middle:+.2f} (95 % interval {interval})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("bin", help="folder of lockstep and lockstep-worker")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--window", type=float, default=3, help="seconds")
    parser.add_argument("--pairs", type=int, default=28, help="watched windows")
    parser.add_argument("--reading", action="store_true", help="clients read at once instead of at the end")
    options = parser.parse_args()
    program = os.path.join(options.bin, "lockstep")
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "lockstep.db")
        server, url, address = start_server(program, store)
        with open(os.path.join(folder, "record"), "w+") as record:
            training = subprocess.Popen(
                [program, "train", "fashion", "-n", str(options.workers), "--threads", "1", "--batch", str(options.batch),
                 "--epochs", "100000", "--no-validation", "--store", store, "--json"], stdout=record)
            try:
                windows, told = observe(options, url, address, server, training)
            finally:
                training.send_signal(signal.SIGINT)
                training.wait()
                server.send_signal(signal.SIGINT)
                server.wait()
            record.seek(0)
            steps = step_times(record)
    lengths = [[seconds for start, seconds in steps if begin <= start < end] for begin, end, _ in windows]
    figures = {"mean": [statistics.fmean(times) for times in lengths],
               "median": [statistics.median(times) for times in lengths]}
    watched_s = options.window * options.pairs
    processors = os.cpu_count()
    print(f"{options.workers} worker(s), b = {options.batch}, {sum(map(len, lengths))} steps; {options.pairs} windows of "
          f"{options.window:g} s with {options.clients} clients, {'reading' if options.reading else 'asleep'}")
    print(f"clients greeted {min(told['greeted'])} of {options.clients}, ended early {told['ended']}, messages to each in a "
          f"window {min(told['messages'])} or more, bytes {min(told['bytes'])} or more")
    print(f"server {100 * told['server'] / watched_s:.2f} % of one processor of {processors}, "
          f"clients {100 * told['clients'] / watched_s:.2f} %")
    for name, values in figures.items():
        told_change(f"watched: {name} step", values, 1)
        told_change(f"nothing: {name} step", values, 2)
    told_waiting(told["waited"])


if __name__ == "__main__":
    main()
