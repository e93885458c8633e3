"""Whether `lockstep simulate --mttf` gives the goodput of jobs whose workers are really killed.

usage: kills.py BUILD/bin [SECONDS [MTTF [SEED [RECORD [EVERY]]]]]     about SECONDS (420) in all, a failure every MTTF (15)
                                                                       seconds, a checkpoint every EVERY (100) steps

Local jobs of two workers with --restarts; one of their workers is killed (kill -9) at exponentially distributed times,
also while it starts. The model gets the time of a checkpoint from runs without kills (the median of three pairs), and the
time of a restart from a run with one kill; then both from the jobs themselves, since a machine that others use too becomes
slower and faster. Goodput = steps of the job x time of a step between two checkpoints / time from the first step to the
end of the last.

With RECORD, the call is a slice of a longer series: it adds its line to that file, takes other random times than the
slices before, and also prints the sum over all slices.
"""
import bisect
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

CALIBRATION_EVERY = 100  # steps between checkpoints
CALIBRATION_STEPS = 4000
PAIRS = 3  # of calibrating runs, without and with checkpoints
WARM = 10  # steps after a start, in which it is not as fast as later: they belong to the restart


def workers_of(pid):
    """Processes of the job, as the launcher has them as children."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


class Job:
    def __init__(self, programs, folder, steps, every):
        self.folder = tempfile.mkdtemp(dir=folder)
        self.every = every
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
        """Where no worker runs, because the last kill is not repaired yet, the next one to start."""
        while not (victims := workers_of(self.process.pid)) and not self.done.wait(0.01):
            pass
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
        self.steps, self.restarts = [], 0  # of rank 0, each (number, start), attempts one after the other
        for line in open(f"{self.folder}/record"):
            event = json.loads(line)
            if event["type"] == "worker_error" and event.get("kind") == "restarted":
                self.restarts += 1
            if event["type"] != "steps":
                continue
            columns = event["columns"]
            for rank, step, start, seconds in zip(columns["rank"], columns["step"], columns["start_ns"], columns["total_s"]):
                if rank == 0:
                    self.steps.append((step, start * 1e-9))
                    self.end = start * 1e-9 + seconds
        return self

    def total_s(self):
        return self.end - self.steps[0][1]

    def periods(self):
        """(number, seconds) of each step to the start of its successor, without the first ones after a start of the
        job."""
        found, warm = [], 0
        for (step, start), (following, end) in zip(self.steps, self.steps[1:]):
            killed = bisect.bisect(self.kills, start) < bisect.bisect(self.kills, end)
            warm = warm + 1 if following == step + 1 and not killed else 0
            if warm > WARM:
                found.append((step, end - start))
        return found

    def step_s(self):
        """Of a step in the second half between two checkpoints: the first half may still write the last one."""
        return statistics.mean(s for step, s in self.periods() if not self.every or step % self.every >= self.every // 2)

    def checkpoint_s(self):
        """By which a stretch from checkpoint to checkpoint is longer than its steps."""
        return (statistics.mean(s for _, s in self.periods()) - self.step_s()) * self.every

    def restart_s(self):
        """From each kill to the steps after it, where no other kill came first: the model repeats those itself. The first
        steps after a start are slow; what they take longer belongs to it."""
        found = []
        starts = [start for _, start in self.steps]
        for kill, following in zip(self.kills, self.kills[1:] + [math.inf]):
            first = bisect.bisect_right(starts, kill)
            if first + WARM < len(starts) and starts[first + WARM] < following:
                found.append(starts[first + WARM] - kill - WARM * self.step_s())
        return found


def forecast(programs, work, mttf, checkpoint, restart, interval):
    # Two workers on a host each: the job fails twice as often as one worker.
    command = [f"{programs}/lockstep", "--json", "simulate", "--compute", "10ms", "--gradients", "1MB", "--workers", "2",
               "--mttf", f"{2 * mttf}s", "--checkpoint", f"{checkpoint}s", "--restart", f"{restart}s", "--interval",
               f"{interval}s", "--work", f"{work}s"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    return json.loads(answer)


def not_nothing(seconds):
    return max(seconds, 1e-3)


def calibrated(programs, folder):
    """Seconds of a step, of a checkpoint and of a restart, from runs without and with one kill."""
    plain, more = [], []
    for _ in range(PAIRS):
        plain.append(Job(programs, folder, CALIBRATION_STEPS, every=0).wait().step_s())
        saved = Job(programs, folder, CALIBRATION_STEPS, CALIBRATION_EVERY).wait()
        more.append(statistics.mean(seconds for _, seconds in saved.periods()) - plain[-1])
    once = Job(programs, folder, CALIBRATION_STEPS, CALIBRATION_EVERY)
    once.kill_half_way()
    restart = statistics.mean(once.wait().restart_s())
    return {"step": statistics.median(plain), "checkpoint": not_nothing(statistics.median(more) * CALIBRATION_EVERY),
            "restart": restart}


def killed(programs, folder, steps, mttf, every):
    job = Job(programs, folder, steps, every)
    threading.Thread(target=job.kill_at_random, args=(mttf,), daemon=True).start()
    job.wait()
    result = {"total": job.total_s(), "step": job.step_s(), "checkpoint": job.checkpoint_s(), "kills": len(job.kills),
              "restarts": job.restart_s()}
    print(f"job of {steps} steps of {result['step'] * 1e3:.2f} ms: {result['total']:.1f} s; {result['kills']} kills, "
          f"{job.restarts} restarts", flush=True)
    return result


def measured_slice(programs, seconds, mttf, every):
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        one = {"mttf": mttf, "every": every, **calibrated(programs, folder), "jobs": []}
        print(f"step {one['step'] * 1e3:.2f} ms, a checkpoint (every {every} steps) stops training for "
              f"{one['checkpoint'] * 1e3:.0f} ms, a restart takes {one['restart']:.2f} s", flush=True)
        one["steps"] = int(6 * mttf / one["step"])
        while not one["jobs"] or time.monotonic() - begin + 1.1 * one["jobs"][-1]["total"] < seconds:
            one["jobs"].append(killed(programs, folder, one["steps"], mttf, every))
    return one


def work_s(one):
    """What the jobs of a slice would take without failures and checkpoints, at the speed they had."""
    return one["steps"] * sum(job["step"] for job in one["jobs"])


def simulated_s(programs, one, rarer, checkpoint, restart):
    """How long the jobs of a slice take in simulation, with failures so many times as rare as they were asked for."""
    each = work_s(one) / len(one["jobs"])
    answer = forecast(programs, each, rarer * one["mttf"], checkpoint, restart, one["every"] * each / one["steps"])
    return work_s(one) / answer["all_needed"]["goodput"]


def in_the_jobs(one):
    """Checkpoint and restart as the jobs of a slice had them."""
    restarts = [seconds for job in one["jobs"] for seconds in job["restarts"]]
    checkpoint = statistics.mean(job["checkpoint"] for job in one["jobs"])
    return not_nothing(checkpoint), statistics.mean(restarts or [one["restart"]])


def print_sum(programs, slices):
    jobs = [job for one in slices for job in one["jobs"]]
    total, useful = sum(job["total"] for job in jobs), sum(work_s(one) for one in slices)
    kills = sum(job["kills"] for job in jobs)
    expected = sum(job["total"] / one["mttf"] for one in slices for job in one["jobs"])
    print(f"{kills} kills ({expected:.0f} expected) of {len(jobs)} jobs in {total:.0f} s: goodput measured {useful / total:.3f}")
    before = [(one["checkpoint"], one["restart"]) for one in slices]
    inside = [in_the_jobs(one) for one in slices]
    for name, of_slices, rarer in (("before", before, 1), ("in the jobs", inside, 1),
                                   ("in the jobs, as many kills as there were", inside, expected / max(kills, 1))):
        goodput = useful / sum(simulated_s(programs, one, rarer, *times) for one, times in zip(slices, of_slices))
        checkpoint, restart = (statistics.mean(times) for times in zip(*of_slices))
        print(f"checkpoints of {checkpoint * 1e3:.1f} ms and restarts of {restart:.2f} s, measured {name}: simulated "
              f"{goodput:.3f} ({(goodput / (useful / total) - 1) * 100:+.1f} %)")


def main(programs, seconds="420", mttf="15", seed="1", record=None, every="100"):
    slices = []
    if record and os.path.exists(record):
        slices = [json.loads(line) for line in open(record)]
    random.seed(f"{seed}, slice {len(slices)}")
    slices.append(measured_slice(programs, float(seconds), float(mttf), int(every)))
    if record:
        with open(record, "a") as file:
            file.write(json.dumps(slices[-1]) + "\n")
    print_sum(programs, slices[-1:])
    if len(slices) > 1:
        print(f"all {len(slices)} slices:")
        print_sum(programs, slices)


if __name__ == "__main__":
    main(*sys.argv[1:])
