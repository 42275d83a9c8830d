"""A model trial inside its confinement.

A template forks this process (see ``srh.sandbox.template``) and calls `main`. The scorer sends a
set-up and then commands; each is answered by one frame. The process binds itself long before it
imports the trial's code. ``fit`` is answered once the fitted model is saved, and only then does the
scorer send validation rows.
"""

from __future__ import annotations

import mmap
import os
import random
from pathlib import Path
from typing import Any

import numpy as np

from srh.contestant.channel import Channel
from srh.contestant.code import ContractError, describe, load_class, require_methods
from srh.sandbox.forked import GIVEN
from srh.sandbox.limits import Limits
from srh.sandbox.lockdown import Confinement, finish_memory, lock_down
from srh.threads import use_threads

METHODS = ("fit", "predict", "save", "load")


def main() -> int:
    """Serve one scorer until it ends this process, or the trial's code fails."""
    channel = Channel(GIVEN)
    setup, _ = channel.receive()
    limits = Limits(**setup["limits"])
    staged, scratch = Path(setup["staged"]), Path(setup["scratch"])
    saved = Path(setup["saved"])
    lock_down(
        Confinement(
            read=(staged, saved),
            scratch=scratch,
            limits=limits,
            keep=(0, 1, 2, GIVEN),
            withheld=tuple(map(Path, setup.pop("withheld"))),
            unsafe=setup["unsafe"],
        )
    )
    use_threads(limits.threads)
    random.seed(setup["seed"])
    np.random.seed(setup["seed"] % 2**32)
    if setup["frame"]:
        import pandas  # noqa: F401 - its memory is not the trial's
    finish_memory(limits)
    channel.send(b"R")  # from here on, whatever goes wrong is the trial's doing
    try:
        _serve(channel, staged, saved)
    except EOFError:
        raise
    except BaseException as error:  # noqa: BLE001 - SystemExit and the like are failures too
        kind, text = describe(error, staged, scratch)
        channel.send(b"E", f"{kind}\n{text}".encode("utf-8", "replace"))
    return 0


def _serve(channel: Channel, staged: Path, saved: Path) -> None:
    """Answer commands: ``fit``, ``load``, ``predict`` and ``predict_proba``.

    The first has the code imported.
    """
    cls: Any = None
    model: Any = None
    while True:
        command, given = channel.receive()
        if cls is None:
            cls = load_class(staged, "model", "Model")
            require_methods(cls, METHODS)
        if command["do"] == "fit":
            model = cls()
            model.fit(_table(command, given[0]), _target(command, given[1]))
            model.save(saved)
            channel.send(b"S")
        elif command["do"] == "load":
            model = cls.load(saved)
            channel.send(b"S")
        elif command["do"] == "predict":
            predictions = model.predict(_table(command, given[0]))
            if command["classes"]:
                channel.send(b"P", _coded(predictions, command["rows"], command["classes"]))
            else:
                channel.send(b"P", _plain(predictions, command["rows"]))
        else:
            channel.send(b"P", _probabilities(model, command, given[0]))


def _table(command: dict[str, Any], given: int) -> Any:
    """Return a table of features: an array of shape (n, p), or a DataFrame if the task says so."""
    matrix = _array(given, [command["rows"], len(command["features"])])
    if not command["frame"]:
        return matrix
    import pandas as pd

    frame = pd.DataFrame(matrix, columns=command["features"])
    for name, categories in command["categories"].items():
        codes = frame[name].astype("int64")
        frame[name] = pd.Categorical.from_codes(codes, categories=categories)
    return frame


def _array(given: int, shape: list[int]) -> Any:
    """Map a float64 array: C-contiguous, aligned, writable; what is written is nobody else's."""
    size = 8 * int(np.prod(shape))
    if size == 0:
        return np.empty(shape)
    with os.fdopen(given, "rb", buffering=0):
        memory = mmap.mmap(given, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
    return np.frombuffer(memory).reshape(shape)


def _target(command: dict[str, Any], given: int) -> Any:
    """Return the target: numbers, or labels (all text, or all numbers) if it is of categories."""
    target = _array(given, [command["rows"]])
    if not command["classes"]:
        return target
    return np.asarray(command["classes"])[target.astype(np.int64)]


def _plain(predictions: Any, n_rows: int) -> memoryview:
    """Return predictions as raw float64, or say what is wrong with them.

    Raises:
        ContractError: Not real numbers, not of shape (n,), or masked.
    """
    if isinstance(predictions, np.ma.MaskedArray) and np.ma.getmaskarray(predictions).any():
        raise ContractError("predict returned masked values; a number per row is needed")
    array = np.array(predictions, copy=True, subok=False)
    if array.dtype.kind not in "iuf":
        raise ContractError(f"predict returned {array.dtype} values; real numbers are needed")
    _require_shape(array, (n_rows,), "predict")
    return np.ascontiguousarray(array, dtype=np.float64).data.cast("B")


def _coded(predictions: Any, n_rows: int, classes: list[Any]) -> memoryview:
    """Return predicted labels as raw float64 codes, or say what is wrong with them.

    Raises:
        ContractError: Not one known label per row.
    """
    array = np.array(predictions, copy=True, subok=False)
    _require_shape(array, (n_rows,), "predict")
    codes = {label: code for code, label in enumerate(classes)}
    found = np.empty(array.shape)
    for row, label in enumerate(array.tolist()):
        known = isinstance(label, str | int | float) and not isinstance(label, bool)
        if not known or label not in codes:
            labels = ", ".join(map(repr, list(codes)[:6])) + (", …" if len(codes) > 6 else "")
            raise ContractError(
                f"predict returned {str(label)[:60]!r}, an unknown label (known: {labels})"
            )
        found[row] = codes[label]
    return found.data.cast("B")


def _probabilities(model: Any, command: dict[str, Any], given: int) -> memoryview | bytes:
    """Return the probabilities of the classes as raw float64; nothing if the model has none.

    Raises:
        ContractError: Not real numbers, or not a row of them for each row asked for.
    """
    predict = getattr(model, "predict_proba", None)
    if predict is None:
        return b""
    array = np.array(predict(_table(command, given)), copy=True, subok=False)
    if array.dtype.kind not in "iuf":
        raise ContractError(f"predict_proba returned {array.dtype} values, not real numbers")
    if array.ndim != 2 or array.shape[0] != command["rows"]:
        _require_shape(array, (command["rows"], "classes"), "predict_proba")
    return np.ascontiguousarray(array, dtype=np.float64).data.cast("B")


def _require_shape(array: Any, shape: tuple[int | str, ...], method: str) -> None:
    if array.shape != shape:
        wanted = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        raise ContractError(f"{method} returned shape {array.shape}; ({wanted}) is needed")
