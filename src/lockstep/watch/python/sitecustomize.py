"""Python runs this module at start-up because `lockstep` put its folder on PYTHONPATH.

It prepares watching, takes its folder off the module search path again, and then runs the
sitecustomize that would have run without it, if there is one. Any Python may run this, 2.7 too, so
types stand in comments.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _start_watching():
    # type: () -> None
    """A failure here must not reach the script: without a watcher the run goes on as it is."""
    folder = os.environ.get("LOCKSTEP_WATCH_DIR")
    if not folder:
        return
    try:
        # `lockstep` can then tell a script without PyTorch from a Python that ran without this file.
        open(os.path.join(folder, "python-%d" % os.getpid()), "w").close()
    except (IOError, OSError):
        pass
    if sys.version_info < (3, 7):
        os.write(2, b"lockstep: not watching: this Python is older than 3.7\n")
        return
    try:
        from lockstep_watch import bootstrap

        bootstrap.watch_imports()
    except Exception as problem:
        os.write(2, ("lockstep: not watching: %r\n" % (problem,)).encode())


def _leave_search_path():
    # type: () -> None
    sys.path[:] = [path for path in sys.path if not _same_folder(path)]


def _same_folder(path):
    # type: (str) -> bool
    return bool(path) and os.path.abspath(path) == _HERE


def _run_hidden_sitecustomize():
    # type: () -> None
    """Errors are passed on: site.py reports them as it would have without this file."""
    if sys.version_info < (3,):
        import imp

        imp.load_module("sitecustomize", *imp.find_module("sitecustomize", sys.path))
        return
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_start_watching()
_leave_search_path()
_run_hidden_sitecustomize()
