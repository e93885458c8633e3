"""The record file of one process: JSON lines, written with os.write so that a forked child has no
buffer of its parent to write a second time."""

from __future__ import annotations

import json
import os
import resource
import socket
import time
from typing import Any, Dict, List, Optional, Tuple

from .energy import Energy
from .steps import Step

VERSION = 1
# Written at least this often, so that a killed process loses little.
_FLUSH_NS = 1_000_000_000
_FLUSH_STEPS = 256
_SAMPLE_NS = 1_000_000_000


def rank_and_world(torch: Any) -> Tuple[int, int]:
    """Launchers that start processes by fork or spawn set no RANK: the process group knows."""
    distributed = getattr(torch, "distributed", None)  # torch is None for other frameworks
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    for rank, world in (
        ("RANK", "WORLD_SIZE"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("HOROVOD_RANK", "HOROVOD_SIZE"),
        ("SLURM_PROCID", "SLURM_NTASKS"),
    ):
        if rank in os.environ and world in os.environ:
            return int(os.environ[rank]), int(os.environ[world])
    return _tensorflow_rank_and_world(os.environ.get("TF_CONFIG", ""))


def _backend(torch: Any) -> Optional[str]:
    """What carries the gradients of this process, where PyTorch's process group does."""
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return str(distributed.get_backend())


def _tensorflow_rank_and_world(text: str) -> Tuple[int, int]:
    try:
        config = json.loads(text)
        return int(config["task"]["index"]), len(config["cluster"]["worker"])
    except (KeyError, TypeError, ValueError):
        return 0, 1


def _resident_bytes() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Writer:
    """Opens its file at the first step; a process that does not train leaves none."""

    def __init__(self, torch: Any, folder: str) -> None:
        self.torch = torch
        self.folder = folder
        self.file: Optional[int] = None
        self.facts: Dict[str, Any] = {}
        self.steps: List[Step] = []
        self.flushed = self.sampled = time.monotonic_ns()
        self.cpu_s = time.process_time()
        self.skipped = 0
        self.described = False
        self.flops_per_example: Optional[float] = None  # until it is written
        self.noise: Any = None  # where sampled gradient norms come from
        self.energy = Energy()
        self.sharing = 1  # ranks that compute each example together

    def describe(self, optimizer: Any) -> None:
        """Facts of the first optimizer that steps."""
        if self.described:
            return
        self.described = True
        torch, facts = self.torch, self.facts
        facts["torch"] = str(torch.__version__)
        facts["threads"] = torch.get_num_threads()
        facts["device"] = "cpu"
        facts.setdefault("optimizer", type(optimizer).__name__)
        parameters = 0
        for group in getattr(optimizer, "param_groups", []):
            for parameter in group["params"]:
                parameters += parameter.numel()
                if parameter.is_cuda:
                    facts["device"] = torch.cuda.get_device_name(parameter.device)
                    self.energy.trains_on(parameter.device.index or 0)
            facts.setdefault("learning_rate", _number(group.get("lr")))
        facts.setdefault("parameters", parameters)

    def describe_data(self, loader: Optional[Dict[str, Any]], batches: Optional[int]) -> None:
        """Facts of the loader that is trained from; without one, how many batches an epoch has."""
        self.facts["loader"] = loader if loader is not None else {"batches": batches}
        if loader is not None and self.sharing > 1:
            self.facts["loader"] = dict(loader, batch=self._share(loader["batch"]))
        self.facts["cores"] = len(os.sched_getaffinity(0))

    def skip(self, step: Step) -> None:
        self.skipped += 1

    def _share(self, examples: Optional[int]) -> Optional[int]:
        """What this rank counts of examples that several ranks see; None if it is no whole number."""
        if examples is None or examples % self.sharing:
            return None
        return examples // self.sharing

    def add(self, step: Step, evaluation_ns: Dict[int, int]) -> None:
        if self.sharing > 1:
            step.examples = self._share(step.examples)
            step.tokens = self._share(step.tokens)
        self.steps.append(step)
        if self.file is None:
            self._open(step)
        if step.end - self.sampled >= _SAMPLE_NS:
            self._sample(step.epoch)
        if step.end - self.flushed >= _FLUSH_NS or len(self.steps) >= _FLUSH_STEPS:
            self.flush(evaluation_ns)
            self.flushed = step.end

    def _open(self, step: Step) -> None:
        rank, world = rank_and_world(self.torch)
        host = socket.gethostname()
        name = "rank-%d-%s-%d.jsonl" % (rank, host, os.getpid())
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self.file = os.open(os.path.join(self.folder, name), flags, 0o644)
        wall = time.time_ns() - time.monotonic_ns()
        if self.sharing > 1:
            self.facts["sharing"] = self.sharing
        backend = _backend(self.torch)
        if backend is not None:
            self.facts["backend"] = backend
        facts = dict(self.facts, type="started", v=VERSION, rank=rank, world=world, host=host)
        facts.update(pid=os.getpid(), wall_minus_monotonic_ns=wall)
        self._line(facts)
        self._write_energy()

    def _write_energy(self) -> None:
        for line in self.energy.lines(time.monotonic_ns()):
            self._line(line)

    def flush(self, evaluation_ns: Dict[int, int]) -> None:
        if self.file is None:
            return
        if self.flops_per_example is not None:
            self._line({"type": "work", "flops_per_example": self.flops_per_example})
            self.flops_per_example = None
        ready = [step for step in self.steps if step.marks is None or step.marks.resolve(step)]
        if len(ready) < len(self.steps):  # the device has not got there yet: keep their order
            ready = ready[: self.steps.index(next(s for s in self.steps if s not in ready))]
        if ready:
            self._line(
                {
                    "type": "steps",
                    "step": [step.index for step in ready],
                    "epoch": [step.epoch for step in ready],
                    "examples": [step.examples for step in ready],
                    "tokens": [step.tokens for step in ready],
                    "start_ns": [step.start for step in ready],
                    "end_ns": [step.end for step in ready],
                    "phases_ns": [step.phases for step in ready],
                    "collectives_ns": [step.spans for step in ready],
                    "evaluation_ns": evaluation_ns,
                }
            )
            del self.steps[: len(ready)]
        if self.noise is not None:
            samples = self.noise.take()
            if samples:
                self._line({"type": "noise", "samples": samples})

    def _sample(self, epoch: int) -> None:
        cpu_s = time.process_time()
        now = time.monotonic_ns()  # the step may have ended a while ago
        self._line(
            {
                "type": "usage",
                "epoch": epoch,
                "from_ns": self.sampled,
                "to_ns": now,
                "cpu_s": cpu_s - self.cpu_s,
                "resident_bytes": _resident_bytes(),
            }
        )
        self._write_energy()
        self.sampled = now
        self.cpu_s = cpu_s

    def close(self, evaluation_ns: Dict[int, int]) -> None:
        if self.file is None:
            return
        self.flush(evaluation_ns)
        self._write_energy()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        ended: Dict[str, Any] = {"type": "ended", "peak_memory_bytes": usage.ru_maxrss * 1024}
        if self.torch is not None and self.torch.cuda.is_initialized():
            ended["peak_cuda_bytes"] = self.torch.cuda.max_memory_allocated()
        self._line(ended)

    def stop(self, reason: str) -> None:
        """Watching ends before the script does."""
        if self.file is not None:
            self._line({"type": "stopped", "reason": reason})
            return
        name = os.path.join(self.folder, "stopped-%d.txt" % os.getpid())
        with open(name, "w") as file:
            file.write(reason + "\n")

    def abandon(self) -> None:
        if self.file is not None:
            os.close(self.file)
            self.file = None

    def _line(self, fields: Dict[str, Any]) -> None:
        assert self.file is not None
        text = json.dumps(fields, separators=(",", ":")) + "\n"
        os.write(self.file, text.encode())


def _number(value: Any) -> Optional[float]:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
