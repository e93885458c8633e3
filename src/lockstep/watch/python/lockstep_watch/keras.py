"""Keras `fit`, by a callback of its own; also that of tf_keras, which is Keras 2.

With the torch backend a step goes through the hooks of PyTorch; only its optimizer is Keras's own.
Other backends run a step as one compiled call, so that its time is known and its phases are not.
"""

from __future__ import annotations

import functools
import inspect
import os
from typing import Any, Optional, Tuple

from .hooks import ending_a_step, the_watcher
from .switch import switch
from .watcher import Watcher
from .writer import rank_and_world

_DEFAULT_BATCH = 32  # of fit() for arrays
# Stages of a tf.data.Dataset after which batches have the size they had before, and also come in
# the same order, each once.
_KEEP_ORDER = {
    "CacheDataset", "MapDataset", "OptionsDataset", "ParallelMapDataset", "PrefetchDataset"
}
_KEEP_BATCHES = _KEEP_ORDER | {"RepeatDataset", "ShuffleDataset", "SkipDataset", "TakeDataset"}
_INFINITE = -1  # of cardinality()


def install(keras: Any, folder: str) -> None:
    """Called once, when the script has imported keras."""
    open(os.path.join(folder, "keras-%d" % os.getpid()), "w").close()
    backend = keras.backend.backend()
    watcher = the_watcher(None, folder)
    if backend == "torch":
        optimizer_class = keras.optimizers.Optimizer
        optimizer_class.apply = ending_a_step(optimizer_class.apply, watcher, 0)
    original = keras.Model.fit
    parameters = inspect.signature(original)

    @functools.wraps(original)
    def fit(*args: Any, **kwargs: Any) -> Any:
        with switch.guarded():
            given = parameters.bind(*args, **kwargs)
            callback = _callback_class(keras)(watcher, given.arguments, backend == "torch")
            given.arguments["callbacks"] = _with(given.arguments.get("callbacks"), callback)
            args, kwargs = given.args, given.kwargs
        return original(*args, **kwargs)

    keras.Model.fit = fit


def _with(callbacks: Any, ours: Any) -> Any:
    if callbacks is None:
        return [ours]
    if isinstance(callbacks, (list, tuple)):
        return [*callbacks, ours]
    if hasattr(callbacks, "append"):  # a CallbackList
        callbacks.append(ours)
        return callbacks
    return [callbacks, ours]


def _examples_and_batch(fit: Any) -> Tuple[Optional[int], Optional[int]]:
    """Of an epoch and of a batch, as far as the arguments of fit() have them."""
    data, batch = fit.get("x"), fit.get("batch_size")
    shape = getattr(data, "shape", None)
    if shape is not None and len(shape) > 0:
        left = 1.0 - float(fit.get("validation_split") or 0.0)
        return int(int(shape[0]) * left), int(batch or _DEFAULT_BATCH)
    spec = getattr(data, "element_spec", None)  # of a tf.data.Dataset
    if isinstance(spec, tuple) and spec:
        dimensions = getattr(spec[0], "shape", None)
        first = dimensions[0] if dimensions is not None and len(dimensions) > 0 else None
        return (None, int(first)) if first is not None else _of_pipeline(data)
    return None, getattr(data, "batch_size", None) if isinstance(batch, type(None)) else batch


def _of_pipeline(data: Any) -> Tuple[Optional[int], Optional[int]]:
    """A tf.data.Dataset whose last batch may be smaller states no batch; the stage that makes its
    batches does. Stages that are not listed may change them."""
    stages = []
    while _stage(data) in _KEEP_BATCHES:
        stages.append(_stage(data))
        data = getattr(data, "_input_dataset", None)
    if _stage(data) not in ("BatchDataset", "ParallelBatchDataset"):
        return None, None
    try:
        batch, examples = int(data._batch_size), int(data._input_dataset.cardinality())
    except (AttributeError, TypeError, ValueError):
        return None, None
    if examples == _INFINITE or (examples >= 0 and examples % batch == 0):
        return None, batch  # all are full
    in_order = all(stage in _KEEP_ORDER for stage in stages)
    return (examples, batch) if examples >= 0 and in_order else (None, None)


def _stage(data: Any) -> str:
    return type(data).__name__.strip("_")


def _callback_class(keras: Any) -> type:
    """Made when it is needed: its base class is the script's own Keras."""

    class LockstepCallback(keras.callbacks.Callback):  # type: ignore[misc]
        def __init__(self, watcher: Watcher, fit: Any, hooked: bool) -> None:
            super().__init__()
            self._watcher = watcher
            self._hooked = hooked
            self._examples, self._batch = _examples_and_batch(fit)
            self._processes = 1  # that share a batch
            self._begun = 0  # first batch of the step that is open
            self._test: Any = None

        def on_train_begin(self, logs: Any = None) -> None:
            with switch.guarded():
                self._watcher.tracker.forget_start_up()
                facts = self._watcher.writer.facts
                version, backend = keras.__version__, keras.backend.backend()
                facts["framework"] = "keras %s (%s)" % (version, backend)
                weights = self.model.trainable_weights
                facts["parameters"] = sum(_size(weight.shape) for weight in weights)
                facts["optimizer"] = type(self.model.optimizer).__name__
                facts["devices"], processes = _devices_and_processes(self.model)
                self._processes = processes
                if self.params.get("steps"):
                    self._watcher.steps_per_epoch = int(self.params["steps"])

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            with switch.guarded():
                self._watcher.tracker.next_epoch()

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            if switch.on and not self._hooked:
                with switch.guarded():
                    self._begun = batch
                    self._watcher.tracker.whole_step_begins()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if switch.on and not self._hooked:
                with switch.guarded():
                    self._watcher.tracker.whole_step_ends(self._count(batch))

        def _count(self, last: int) -> Optional[int]:
            if self._batch is None:
                return None
            count = (max(last, self._begun) + 1 - self._begun) * self._batch
            if self._examples is not None:
                count = min(count, self._examples - self._begun * self._batch)
            return count // self._processes if count > 0 else None

        def on_test_begin(self, logs: Any = None) -> None:
            if switch.on and not self._hooked:
                with switch.guarded():
                    self._test = self._watcher.tracker.clock.snapshot()

        def on_test_end(self, logs: Any = None) -> None:
            if switch.on and not self._hooked and self._test is not None:
                with switch.guarded():
                    self._watcher.tracker.drop_evaluation(self._test)
                    self._test = None

    return LockstepCallback


def _devices_and_processes(model: Any) -> Tuple[int, int]:
    """Devices that a strategy of TensorFlow divides the batches of this process among, and how many
    processes share each batch."""
    strategy = getattr(model, "distribute_strategy", None)
    replicas = int(getattr(strategy, "num_replicas_in_sync", 1))
    devices = max(1, replicas // rank_and_world(None)[1])
    return devices, max(1, replicas // devices)


def _size(shape: Any) -> int:
    count = 1
    for dimension in shape:
        count *= int(dimension)
    return count
