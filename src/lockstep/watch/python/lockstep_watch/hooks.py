"""Wraps the public interfaces of PyTorch that a training step goes through."""

from __future__ import annotations

import functools
import os
import weakref
from typing import Any, Callable, Dict, List, Optional

from .ddp import timed
from .switch import show_tracebacks_without_us, switch
from .watcher import Watcher

_seen_by_loader = "_lockstep_pass"


_watcher: Optional[Watcher] = None


def the_watcher(torch: Any, folder: str) -> Watcher:
    """The one of this process, whichever framework asks first; `torch` is None for others."""
    global _watcher
    if _watcher is None:
        _watcher = Watcher(torch, folder)
        show_tracebacks_without_us()
        os.register_at_fork(after_in_child=_watcher.forget_parent)
        _finish_before_exit(_watcher)
    elif torch is not None:
        _watcher.use_torch(torch)
    return _watcher


def _finish_before_exit(watcher: Watcher) -> None:
    """Processes that multiprocessing forks end by os._exit(), without what atexit has."""
    original = os._exit

    @functools.wraps(original)
    def _exit(*args: Any, **kwargs: Any) -> Any:
        try:
            watcher.finish_early()
        finally:
            original(*args, **kwargs)

    os._exit = _exit  # type: ignore[assignment]


def install(torch: Any, folder: str) -> None:
    """Called once, when the script has imported torch."""
    # `lockstep` can then tell a script without PyTorch from one whose steps were not seen.
    open(os.path.join(folder, "torch-%d" % os.getpid()), "w").close()
    watcher = the_watcher(torch, folder)
    _wrap_loader(torch, watcher)
    _wrap_modules(torch, watcher)
    _wrap_autograd(torch, watcher)
    _wrap_optimizers(torch, watcher)
    watcher.when_on_cuda.append(lambda: _wrap_transfers(torch, watcher))
    if getattr(torch, "distributed", None) is not None and torch.distributed.is_available():
        from . import ddp

        ddp.wrap_ddp(torch, watcher)
        ddp.wrap_collectives(torch, watcher)


def _wrap_loader(torch: Any, watcher: Watcher) -> None:
    loader_module = torch.utils.data.dataloader
    iterator_class = loader_module._BaseDataLoaderIter
    loader_class = loader_module.DataLoader
    original_next = iterator_class.__next__
    original_iter = loader_class.__iter__
    passes: Any = weakref.WeakKeyDictionary()

    @functools.wraps(original_iter)
    def __iter__(self: Any) -> Any:
        iterator = original_iter(self)
        with switch.guarded():
            passes[self] = passes.get(self, 0) + 1
            if id(self) not in watcher.loaders:
                watcher.loaders[id(self)] = _loader_facts(self)
            setattr(iterator, _seen_by_loader, (id(self), passes[self]))
        return iterator

    @functools.wraps(original_next)
    def __next__(self: Any) -> Any:
        if not watcher.enter("fetch"):
            return original_next(self)
        batch = None
        try:
            batch = original_next(self)
            return batch
        finally:
            watcher.fetched(getattr(self, _seen_by_loader, None), batch)

    loader_class.__iter__ = __iter__
    iterator_class.__next__ = __next__


def _loader_facts(loader: Any) -> Dict[str, Any]:
    facts = {"workers": loader.num_workers, "batch": _batch_size(loader), "batches": None}
    try:
        facts["batches"] = len(loader)
    except (TypeError, NotImplementedError):  # of unknown length
        pass
    return facts


def _batch_size(loader: Any) -> Optional[int]:
    """With a sampler of batches the loader itself has none. Accelerate's sampler may state the batch
    that ranks divide."""
    if loader.batch_size is not None:
        return int(loader.batch_size)
    sampler = loader.batch_sampler
    size = getattr(sampler, "batch_size", None)
    known = isinstance(size, int) and not getattr(sampler, "split_batches", False)
    return size if known else None


def _wrap_modules(torch: Any, watcher: Watcher) -> None:
    module_class = torch.nn.Module
    original = module_class.__call__
    is_grad_enabled = torch.is_grad_enabled

    @functools.wraps(original)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if watcher.busy:
            if not watcher.counting:
                return original(self, *args, **kwargs)
            result = original(self, *args, **kwargs)
            watcher.count(self, args, result)
            return result
        training = is_grad_enabled()
        if not watcher.enter("forward", training):
            return original(self, *args, **kwargs)
        watcher.counting = training and watcher.counter is not None
        result = None
        try:
            result = original(self, *args, **kwargs)
            if watcher.counting:
                watcher.count(self, args, result)
            return result
        finally:
            watcher.ran_forward(self, training, args, kwargs, result)

    # The compiler of PyTorch 2 traces what this attribute names.
    __call__._torchdynamo_inline = original  # type: ignore[attr-defined]
    module_class.__call__ = __call__


def _wrap_transfers(torch: Any, watcher: Watcher) -> None:
    """Copies to a GPU that the training loop itself asks for."""

    def wrapped(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def move(self: Any, *args: Any, **kwargs: Any) -> Any:
            if self.is_cuda or watcher.busy or not watcher.enter("transfer"):
                return original(self, *args, **kwargs)
            try:
                return original(self, *args, **kwargs)
            finally:
                watcher.transferred()

        return move

    torch.Tensor.to = wrapped(torch.Tensor.to)
    torch.Tensor.cuda = wrapped(torch.Tensor.cuda)


def _wrap_autograd(torch: Any, watcher: Watcher) -> None:
    def wrapped(original: Callable[..., Any], accumulates: bool) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not watcher.enter_backward(accumulates):
                return original(*args, **kwargs)
            try:
                return original(*args, **kwargs)
            finally:
                watcher.ran_backward(accumulates)

        return call

    torch.autograd.backward = wrapped(torch.autograd.backward, True)
    torch.autograd.grad = wrapped(torch.autograd.grad, False)


def _wrap_optimizers(torch: Any, watcher: Watcher) -> None:
    optimizer_class = torch.optim.Optimizer
    original_init = optimizer_class.__init__

    @functools.wraps(original_init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        with switch.guarded():
            _wrap_step(type(self), watcher)
        original_init(self, *args, **kwargs)

    optimizer_class.__init__ = __init__
    for scaler in _grad_scalers(torch):
        # A scaler that finds infinities does not call the optimizer; the step still ends.
        scaler.step = ending_a_step(scaler.step, watcher, 1)


def _grad_scalers(torch: Any) -> List[Any]:
    found = []
    for owner in (getattr(torch, "amp", None), getattr(torch.cuda, "amp", None)):
        scaler = getattr(owner, "GradScaler", None)
        if scaler is not None and "step" in vars(scaler):
            found.append(scaler)
    return found


def _wrap_step(optimizer_class: type, watcher: Watcher) -> None:
    """Wraps `step` where it is defined, once: schedulers and subclasses go through it. The optimizer
    that Horovod makes waits in `synchronize` for the averages that backward asked for."""
    for owner in optimizer_class.__mro__:
        wait = vars(owner).get("synchronize")
        if callable(wait) and not getattr(wait, "_lockstep_wrapped", False):
            wait = timed(wait, watcher)
            wait._lockstep_wrapped = True  # type: ignore[attr-defined]
            setattr(owner, "synchronize", wait)
        step = vars(owner).get("step")
        if step is None or not callable(step):
            continue
        if not getattr(step, "_lockstep_wrapped", False) and owner.__name__ != "Optimizer":
            setattr(owner, "step", ending_a_step(step, watcher, 0))


def ending_a_step(
    original: Callable[..., Any], watcher: Watcher, position: int
) -> Callable[..., Any]:
    """`position`: of the optimizer among the arguments of `original`."""

    @functools.wraps(original)
    def step(*args: Any, **kwargs: Any) -> Any:
        optimizer = args[position] if len(args) > position else kwargs.get("optimizer")
        if not watcher.enter_optimizer(optimizer):
            return original(*args, **kwargs)
        try:
            return original(*args, **kwargs)
        finally:
            watcher.ran_optimizer(optimizer)

    step._lockstep_wrapped = True  # type: ignore[attr-defined]
    return step
