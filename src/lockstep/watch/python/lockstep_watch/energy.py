"""Energy counters: those of this host's processors (RAPL, through the kernel's powercap folder) and
of the GPU that this process trains on (NVML). `lockstep` reads the counters of its own host itself;
these serve runs on other hosts, and an installation of `lockstep` that cannot load NVML."""

from __future__ import annotations

import ctypes
import os
import time
from typing import Any, Dict, List, Optional

_POWERCAP = "/sys/class/powercap"
_NVML = "libnvidia-ml.so.1"


def _number_in(path: str) -> int:
    with open(path, "rb") as file:
        return int(file.read())


class Zone:
    """A counter of microjoules that begins again at its range."""

    def __init__(self, folder: str) -> None:
        self.counter = os.path.join(folder, "energy_uj")
        self.last = _number_in(self.counter)
        try:
            self.range = _number_in(os.path.join(folder, "max_energy_range_uj"))
        except (OSError, ValueError):
            self.range = 0

    def used(self) -> int:
        """Since the last call."""
        now = _number_in(self.counter)
        used = now - self.last
        self.last = now
        return used if used >= 0 else max(0, used + self.range)


class Processors:
    """Joules of all packages and their memory since this object was made."""

    def __init__(self, powercap: str = _POWERCAP) -> None:
        self.zones: Dict[str, Zone] = {}
        self.problem = "%s contains no energy counter of a processor" % powercap
        self.microjoules = 0
        names: List[str] = []
        try:
            folders = sorted(os.listdir(powercap))
        except OSError:
            return
        for folder in folders:
            path = os.path.join(powercap, folder)
            try:
                with open(os.path.join(path, "name")) as file:
                    name = file.readline().strip()
            except OSError:
                continue
            # "core" and "uncore" are parts of a package, "psys" contains all, and the folders of
            # intel-rapl-mmio repeat those of intel-rapl.
            if "-mmio" in folder or not (name.startswith("package") or name == "dram"):
                continue
            names.append(folder)
            try:
                self.zones[folder] = Zone(path)
            except (OSError, ValueError):
                counter = os.path.join(path, "energy_uj")
                self.problem = "%s cannot be read; on most systems only root can" % counter
        if len(self.zones) < len(names):
            self.zones.clear()  # a part of the processors would pass for all

    def joules(self) -> Optional[float]:
        if not self.zones:
            return None
        try:
            self.microjoules += sum(zone.used() for zone in self.zones.values())
        except (OSError, ValueError) as problem:
            self.zones.clear()
            self.problem = str(problem)
            return None
        return self.microjoules * 1e-6


class Gpu:
    """Joules of one GPU since this object was made, where the GPU counts them."""

    def __init__(self, number: int, library: str = _NVML) -> None:
        """`number`: of the CUDA device in this process."""
        self.uuid = ""
        self._nvml: Any = None
        self._device = ctypes.c_void_p()
        try:
            nvml = ctypes.CDLL(library)
            if nvml.nvmlInit_v2() == 0 and self._find(nvml, number):
                self._nvml = nvml
        except (OSError, AttributeError):  # no such library, or one without these functions
            pass
        self._first = self._count()

    def _find(self, nvml: Any, number: int) -> bool:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        name = str(number)
        if visible is not None:
            names = [part.strip() for part in visible.split(",")]
            name = names[number] if number < len(names) else ""
        found = ctypes.byref(self._device)
        if name.isdigit():
            if nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(int(name)), found) != 0:
                return False
        elif not name.startswith("GPU-"):  # a part of a GPU has no counter of its own
            return False
        elif nvml.nvmlDeviceGetHandleByUUID(name.encode(), found) != 0:
            return False
        uuid = ctypes.create_string_buffer(96)
        if nvml.nvmlDeviceGetUUID(self._device, uuid, ctypes.c_uint(len(uuid))) != 0:
            return False
        self.uuid = uuid.value.decode()
        return True

    def _count(self) -> Optional[int]:
        if self._nvml is None:
            return None
        millijoules = ctypes.c_ulonglong()
        read = self._nvml.nvmlDeviceGetTotalEnergyConsumption
        return millijoules.value if read(self._device, ctypes.byref(millijoules)) == 0 else None

    def joules(self) -> Optional[float]:
        now = self._count()
        return None if now is None or self._first is None else (now - self._first) * 1e-3


class Energy:
    """What the record of a process has of energy: about one line per second."""

    def __init__(self, powercap: str = _POWERCAP) -> None:
        self.processors = Processors(powercap)
        self.began = time.monotonic_ns()
        self.gpu: Optional[Gpu] = None
        self._number: Optional[int] = None
        self._said = False

    def trains_on(self, number: int) -> None:
        """May be called for every parameter of a network."""
        if self._number is None:
            self._number = number
            self.gpu = Gpu(number)
        elif number != self._number:
            self.gpu = None  # one of several GPUs would pass for all

    def lines(self, at_ns: int) -> List[Dict[str, Any]]:
        """What is to be written. The first time, also where the counts begin."""
        processors = self.processors.joules()
        gpu = self.gpu.joules() if self.gpu is not None else None
        if processors is None and gpu is None and self._said:
            return []
        line: Dict[str, Any] = {"type": "energy", "at_ns": at_ns}
        line.update(processors_j=processors, gpu_j=gpu)
        if gpu is not None and self.gpu is not None:
            line["gpu"] = self.gpu.uuid
        if processors is None:
            line["problem"] = self.processors.problem
        first: List[Dict[str, Any]] = []
        if processors is not None and not self._said:
            first.append({"type": "energy", "at_ns": self.began, "processors_j": 0.0})
        self._said = True
        return [*first, line]
