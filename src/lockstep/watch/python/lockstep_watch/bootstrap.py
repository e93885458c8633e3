"""Waits for the script to import torch. Does not import it, nor anything slow, by itself."""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Optional, Sequence


class _TorchFinder:
    """First on sys.meta_path until torch is found; then it is taken off the list."""

    def find_spec(
        self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> Optional[ModuleSpec]:
        if name != "torch":
            return None
        try:
            sys.meta_path.remove(self)  # type: ignore[arg-type]
            spec = PathFinder.find_spec(name, path)
            if spec is not None and spec.loader is not None:
                _run_after_import(spec.loader)
            return spec
        except Exception as problem:
            os.write(2, ("lockstep: not watching: %r\n" % (problem,)).encode())
            return None


def _run_after_import(loader: Any) -> None:
    """Replaces exec_module of this one loader object, so that the module keeps its own loader."""
    original = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        del loader.exec_module
        original(module)
        from . import hooks
        from .switch import switch

        with switch.guarded():
            hooks.install(module, os.environ["LOCKSTEP_WATCH_DIR"])

    loader.exec_module = exec_module


def watch_import_of_torch() -> None:
    sys.meta_path.insert(0, _TorchFinder())  # type: ignore[arg-type]
