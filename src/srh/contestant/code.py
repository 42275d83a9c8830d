"""Importing a trial's code, and telling its author what went wrong in it."""

from __future__ import annotations

import errno
import importlib
import re
import sys
import traceback
from pathlib import Path
from typing import Any

_FRAMES = 6
_CHARS = 2000
# Addresses differ from run to run, and an error's text is part of a result that is compared.
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")


class ContractError(Exception):
    """The trial's code does not offer, or return, what the contract asks for."""


def load_class(folder: Path, module: str, name: str) -> Any:
    """Import ``module`` from the staged trial and return its class ``name``.

    The folder holds nothing but the trial's declared source files, so that it cannot shadow a
    module that somebody else needs.

    Raises:
        ContractError: The module has no such class.
        BaseException: Whatever the trial's code raises while it is imported.
    """
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    found = getattr(importlib.import_module(module), name, None)
    if not isinstance(found, type):
        raise ContractError(f"{module}.py defines no class {name}")
    return found


def require_methods(cls: Any, names: tuple[str, ...]) -> None:
    """Refuse a class that lacks a method.

    Raises:
        ContractError: With the names of all that are missing.
    """
    missing = [name for name in names if not callable(getattr(cls, name, None))]
    if missing:
        raise ContractError(f"class {cls.__name__} has no method {', '.join(missing)}")


def describe(error: BaseException, folder: Path, scratch: Path) -> tuple[str, str]:
    """Return what kind of failure ``error`` is, and its text for the trial's author.

    Args:
        error: What the trial's code raised.
        folder: The staged trial; only frames in its files are shown.
        scratch: The writable folder, whose name differs from run to run.
    """
    kind = "error"
    out_of_memory = isinstance(error, OSError) and error.errno == errno.ENOMEM
    if out_of_memory or isinstance(error, MemoryError):
        kind = "memory"
    elif isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        kind = "disk_limit"
    elif isinstance(error, PermissionError):
        kind = "denied"
    elif isinstance(error, ContractError):
        kind = "bad_result"
    lines = [str(error)] if kind == "bad_result" else traceback.format_exception_only(error)
    frames = [
        f"{Path(frame.filename).name}, line {frame.lineno}, in {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(str(folder))
    ]
    text = "".join(lines).strip()
    for path, name in ((scratch, "SCRATCH"), (folder, "TRIAL")):
        text = text.replace(str(path), name)
    text = _ADDRESS.sub("0x…", text)
    where = f" ({' > '.join(frames[-_FRAMES:])})" if frames else ""
    return kind, text[:_CHARS] + where
