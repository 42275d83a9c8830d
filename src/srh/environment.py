"""The clean environment of a child.

A child's environment is made from nothing, so that a user's PYTHONPATH, start-up file or thread
setting cannot change a score. Kept are only the variables below, each for a reason.

This module imports nothing that the interpreter has not loaded already: until `ensure_clean` has
returned, a file in the working folder (``json.py``, say) would be imported in a module's place.
"""

from __future__ import annotations

import os
import sys

FLAGS = ("-s", "-P")
"""No per-user packages; neither the working folder nor a script's own is searched for modules."""

_MARK = "SRH_CHILD"
_PER_RUN = ("TMPDIR",)
# Where this processor or this installation needs them. They may change the last bits of a result,
# so provenance records them.
MACHINE_VARIABLES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "MKL_CBWR", "LD_LIBRARY_PATH")
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""What numeric libraries read when they are loaded."""


def clean_environment() -> dict[str, str]:
    """Return the whole environment of a process that evaluates, or that others are forked from.

    Numeric libraries start with one thread; whoever may have more takes them (see ``threads``).
    """
    environment = {
        _MARK: "1",
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        # Semaphores are denied to contestants; joblib then warns, or fails, unless it is told not
        # to try when it is loaded.
        "JOBLIB_MULTIPROCESSING": "0",
        # pandas loads Arrow where it is installed, whose allocators want threads of their own.
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
    }
    environment |= dict.fromkeys(THREAD_VARIABLES, "1")
    return environment | {
        name: os.environ[name] for name in MACHINE_VARIABLES if name in os.environ
    }


def ensure_clean(module: str) -> None:
    """Return if this process runs in the clean environment; otherwise start it again in one.

    Args:
        module: The module that was started with ``-m``; its arguments are kept.

    Raises:
        RuntimeError: It was started again and still is not clean.
    """
    wanted = clean_environment()
    own = {name: value for name, value in os.environ.items() if name not in _PER_RUN}
    if own == wanted and sys.flags.no_user_site and sys.flags.safe_path:
        return
    if _MARK in os.environ:
        raise RuntimeError("the clean environment does not hold: something alters it at start-up")
    per_run = {name: os.environ[name] for name in _PER_RUN if name in os.environ}
    command = [sys.executable, *FLAGS, "-m", module, *sys.argv[1:]]
    os.execve(sys.executable, command, wanted | per_run)  # noqa: S606 - our own interpreter
