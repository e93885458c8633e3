"""Waits for the script to import torch or keras. Imports neither, nor anything slow, by itself."""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Optional, Sequence


class _Finder:
    """First on sys.meta_path until the module it waits for is imported; then it is taken off.
    Being found is not enough: libraries look whether torch is there before they import it."""

    def __init__(self, awaited: str, install: Callable[[ModuleType, str], None]) -> None:
        self.awaited = awaited
        self.install = install

    def find_spec(
        self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> Optional[ModuleSpec]:
        if name != self.awaited:
            return None
        try:
            for finder in sys.meta_path:
                find = getattr(finder, "find_spec", None)
                spec = find(name, path, target) if find and finder is not self else None
                if spec is not None:
                    if spec.loader is not None:
                        self._run_after_import(spec.loader)
                    return spec  # type: ignore[no-any-return]
        except Exception as problem:
            os.write(2, ("lockstep: not watching: %r\n" % (problem,)).encode())
        return None

    def _run_after_import(self, loader: Any) -> None:
        """Replaces exec_module of this one loader object, so that the module keeps its loader."""
        original = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            from .switch import show_tracebacks_without_us, switch

            del loader.exec_module
            show_tracebacks_without_us()  # the import itself may fail
            original(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)  # type: ignore[arg-type]
            with switch.guarded():
                self.install(module, os.environ["LOCKSTEP_WATCH_DIR"])

        loader.exec_module = exec_module


def _install_torch(module: ModuleType, folder: str) -> None:
    from . import hooks

    hooks.install(module, folder)


def _install_keras(module: ModuleType, folder: str) -> None:
    from . import keras

    keras.install(module, folder)


def watch_imports() -> None:
    awaited = {"torch": _install_torch, "keras": _install_keras, "tf_keras": _install_keras}
    for name, install in awaited.items():
        sys.meta_path.insert(0, _Finder(name, install))  # type: ignore[arg-type]
