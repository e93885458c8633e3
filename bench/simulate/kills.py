"""Whether `lockstep simulate --mttf` gives the goodput of jobs whose workers are really killed.

usage: kills.py BUILD/bin [SECONDS [MTTF [SEED [RECORD]]]]     about SECONDS (420) in all, a failure every MTTF (15) seconds

Local jobs of two workers with --restarts; one of their workers is killed (kill -9) at exponentially distributed times,
also while it starts. The model gets the time of a checkpoint from runs without kills (the median of three pairs), and the
time of a restart from a run with one kill; then both from the jobs themselves, since a machine that others use too becomes
slower and faster. Goodput = the time of the steps that counted / the time from the first step to the end of the last.

With RECORD, the call is a slice of a longer series: it adds its line to that file, takes other random times than the
slices before, and also prints the sum over all slices.
"""
import glob
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

EVERY = 100  # steps between checkpoints
CALIBRATION_STEPS = 4000
PAIRS = 3  # of calibrating runs, without and with checkpoints


def workers_of(pid):
    """Processes of the job, as the launcher has them as children."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


class Job:
    def __init__(self, programs, folder, steps, every=EVERY):
        self.folder = tempfile.mkdtemp(dir=folder)
        checkpoints = ["--checkpoint", f"{self.folder}/checkpoints", "--checkpoint-every", str(every)] if every else []
        restarts = ["--restarts", "1000"] if every else []
        self.out = open(f"{self.folder}/record", "w")
        self.process = subprocess.Popen(
            [f"{programs}/lockstep", "--store", f"{self.folder}/kills.db", "--json", "train", "fashion", "-n", "2", "--batch",
             "16", "--threads", "1", "--no-augment", "--no-validation", "--epochs", "1000", "--steps", str(steps)]
            + checkpoints + restarts, stdout=self.out, stderr=subprocess.DEVNULL)
        self.kills = []
        self.done = threading.Event()

    def kill(self):
        victims = workers_of(self.process.pid)
        if not victims:
            return
        self.kills.append(time.monotonic())
        subprocess.run(["kill", "-9", str(random.choice(victims))], check=False, stderr=subprocess.DEVNULL)

    def kill_at_random(self, mttf):
        while not self.done.wait(random.expovariate(1 / mttf)):
            self.kill()

    def kill_half_way(self):
        """By its checkpoints, since a machine that others use too may slow down at any time."""
        while self.process.poll() is None:
            names = glob.glob(f"{self.folder}/checkpoints/checkpoint-*.json")
            if any(int(name[-17:-5]) >= CALIBRATION_STEPS // 2 for name in names):
                return self.kill()
            time.sleep(0.05)

    def wait(self):
        code = self.process.wait()
        self.done.set()
        self.out.close()
        if code != 0:
            raise SystemExit(f"the job ended with {code}")
        self.starts, self.steps, self.restarts = [], {}, 0
        for line in open(f"{self.folder}/record"):
            event = json.loads(line)
            if event["type"] == "worker_error" and event.get("kind") == "restarted":
                self.restarts += 1
            if event["type"] != "steps":
                continue
            columns = event["columns"]
            for rank, step, start, seconds in zip(columns["rank"], columns["step"], columns["start_ns"], columns["total_s"]):
                if rank == 0:
                    self.starts.append(start * 1e-9)
                    self.steps.setdefault(step, []).append(seconds)
                    self.end = start * 1e-9 + seconds
        return self

    def useful_s(self):
        """Of each step the attempt that counted: the last."""
        return sum(seconds[-1] for seconds in self.steps.values())

    def step_s(self):
        return statistics.mean(seconds[-1] for step, seconds in self.steps.items() if step >= 50)

    def restart_s(self):
        """From each kill to the first step after it, where no other kill came first: the model repeats those itself."""
        found = []
        for kill, following in zip(self.kills, self.kills[1:] + [math.inf]):
            first = min((start for start in self.starts if start > kill), default=math.inf)
            if first < following:
                found.append(first - kill)
        return found


def forecast(programs, work, mttf, checkpoint, restart, interval):
    # Two workers on a host each: the job fails twice as often as one worker.
    command = [f"{programs}/lockstep", "--json", "simulate", "--compute", "10ms", "--gradients", "1MB", "--workers", "2",
               "--mttf", f"{2 * mttf}s", "--checkpoint", f"{checkpoint}s", "--restart", f"{restart}s", "--interval",
               f"{interval}s", "--work", f"{work}s"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    return json.loads(answer)


def checkpoint_s(more_per_step):
    return max(more_per_step * EVERY, 1e-3)


def calibrated(programs, folder):
    """Seconds of a step, of a checkpoint and of a restart, from runs without and with one kill."""
    plain, more = [], []
    for _ in range(PAIRS):
        plain.append(Job(programs, folder, CALIBRATION_STEPS, every=0).wait().step_s())
        more.append(Job(programs, folder, CALIBRATION_STEPS).wait().step_s() - plain[-1])
    once = Job(programs, folder, CALIBRATION_STEPS)
    once.kill_half_way()
    restart = statistics.mean(once.wait().restart_s())
    return {"step": statistics.median(plain), "checkpoint": checkpoint_s(statistics.median(more)), "restart": restart}


def killed(programs, folder, steps, mttf):
    job = Job(programs, folder, steps)
    threading.Thread(target=job.kill_at_random, args=(mttf,), daemon=True).start()
    job.wait()
    result = {"total": job.end - job.starts[0], "useful": job.useful_s(), "kills": len(job.kills),
              "restarts": job.restart_s()}
    print(f"job of {steps} steps: {result['total']:.1f} s, of which useful {result['useful']:.1f} s; "
          f"{result['kills']} kills, {job.restarts} restarts", flush=True)
    return result


def measured_slice(programs, seconds, mttf):
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        one = {"mttf": mttf, **calibrated(programs, folder), "jobs": []}
        print(f"step {one['step'] * 1e3:.2f} ms, a checkpoint every {EVERY} steps stops training for "
              f"{one['checkpoint'] * 1e3:.0f} ms, a restart takes {one['restart']:.2f} s", flush=True)
        one["steps"] = int(6 * mttf / one["step"])
        while time.monotonic() - begin < seconds - 10 * mttf or not one["jobs"]:
            one["jobs"].append(killed(programs, folder, one["steps"], mttf))
    return one


def simulated_s(programs, one, checkpoint, restart):
    """How long the jobs of a slice take in simulation."""
    useful = sum(job["useful"] for job in one["jobs"])
    each = useful / len(one["jobs"])
    answer = forecast(programs, each, one["mttf"], checkpoint, restart, EVERY * each / one["steps"])
    return useful / answer["all_needed"]["goodput"]


def in_the_jobs(one):
    """Checkpoint and restart as the jobs of a slice had them: the steps that counted contain their checkpoints."""
    steps = one["steps"] * len(one["jobs"])
    longer = sum(job["useful"] for job in one["jobs"]) / steps - one["step"]
    restarts = [seconds for job in one["jobs"] for seconds in job["restarts"]]
    return checkpoint_s(longer), statistics.mean(restarts or [one["restart"]])


def print_sum(programs, slices):
    jobs = [job for one in slices for job in one["jobs"]]
    total, useful = sum(job["total"] for job in jobs), sum(job["useful"] for job in jobs)
    print(f"{sum(job['kills'] for job in jobs)} kills of {len(jobs)} jobs in {total:.0f} s: goodput measured "
          f"{useful / total:.3f}")
    for name, of_slices in (("before", [(one["checkpoint"], one["restart"]) for one in slices]),
                            ("in the jobs", [in_the_jobs(one) for one in slices])):
        goodput = useful / sum(simulated_s(programs, one, *times) for one, times in zip(slices, of_slices))
        checkpoint, restart = (statistics.mean(times) for times in zip(*of_slices))
        print(f"with checkpoints of {checkpoint * 1e3:.1f} ms and restarts of {restart:.2f} s as measured {name}: simulated "
              f"{goodput:.3f} ({(goodput / (useful / total) - 1) * 100:+.1f} %)")


def main(programs, seconds="420", mttf="15", seed="1", record=None):
    slices = []
    if record and os.path.exists(record):
        slices = [json.loads(line) for line in open(record)]
    random.seed(f"{seed}, slice {len(slices)}")
    slices.append(measured_slice(programs, float(seconds), float(mttf)))
    if record:
        with open(record, "a") as file:
            file.write(json.dumps(slices[-1]) + "\n")
    print_sum(programs, slices[-1:])
    if len(slices) > 1:
        print(f"all {len(slices)} slices:")
        print_sum(programs, slices)


if __name__ == "__main__":
    main(*sys.argv[1:])
