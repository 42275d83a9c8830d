"""A model trial inside its confinement: ``python -m srh.contestant.model DESCRIPTOR``.

The scorer sends a set-up and then commands; each is answered by one frame. The process binds
itself before it imports anything large, and long before it imports the trial's code. ``fit`` is
answered once the fitted model is saved, and only then does the scorer send validation rows.
"""

from __future__ import annotations

import os
import random
import sys
import traceback
from pathlib import Path
from typing import Any

from srh.contestant.channel import Channel
from srh.contestant.code import ContractError, describe, load_class, require_methods
from srh.sandbox.limits import Limits, die_with_parent, release_memory
from srh.sandbox.lockdown import Confinement, finish_memory, lock_down

METHODS = ("fit", "predict", "save", "load")


def main(descriptor: int) -> None:
    """Serve one scorer until it ends this process, or the trial's code fails."""
    channel = Channel(descriptor)
    setup = channel.receive_json()
    die_with_parent(setup["parent"])
    limits = Limits(**setup["limits"])
    release_memory()
    staged, scratch = Path(setup["staged"]), Path(setup["scratch"])
    saved = Path(setup["saved"])
    lock_down(
        Confinement(
            read=(staged, saved),
            scratch=scratch,
            limits=limits,
            keep=(0, 1, 2, descriptor),
            withheld=tuple(map(Path, setup.pop("withheld"))),
            unsafe=setup["unsafe"],
        )
    )
    import numpy as np

    random.seed(setup["seed"])
    np.random.seed(setup["seed"] % 2**32)
    if setup["frame"]:
        import pandas  # noqa: F401 - its memory is not the trial's
    finish_memory(limits)
    channel.send(b"R")  # from here on, whatever goes wrong is the trial's doing
    try:
        cls = load_class(staged, "model", "Model")
        require_methods(cls, METHODS)
        _serve(channel, cls, saved)
    except EOFError:
        raise
    except BaseException as error:  # noqa: BLE001 - SystemExit and the like are failures too
        kind, text = describe(error, staged, scratch)
        channel.send(b"E", f"{kind}\n{text}".encode("utf-8", "replace"))


def _serve(channel: Channel, cls: Any, saved: Path) -> None:
    """Answer commands: ``fit``, ``load`` and ``predict``."""
    model: Any = None
    while True:
        command = channel.receive_json()
        if command["do"] == "fit":
            model = cls()
            model.fit(_table(channel, command), _array(channel, command["rows"]))
            model.save(saved)
            channel.send(b"S")
        elif command["do"] == "load":
            model = cls.load(saved)
            channel.send(b"S")
        else:
            predictions = _plain(model.predict(_table(channel, command)), command["rows"][0])
            channel.send(b"P", predictions)


def _table(channel: Channel, command: dict[str, Any]) -> Any:
    """Receive a table of features: an array of shape (n, p), or a DataFrame if the task says so."""
    matrix = _array(channel, [command["rows"][0], len(command["features"])])
    if not command["frame"]:
        return matrix
    import pandas as pd

    frame = pd.DataFrame(matrix, columns=command["features"])
    for name, categories in command["categories"].items():
        codes = frame[name].astype("int64")
        frame[name] = pd.Categorical.from_codes(codes, categories=categories)
    return frame


def _array(channel: Channel, shape: list[int]) -> Any:
    """Receive a float64 array: C-contiguous, aligned, writable, and nobody else's."""
    import numpy as np

    array = np.empty(shape)
    channel.receive_into(array.reshape(-1).data.cast("B"))
    return array


def _plain(predictions: Any, n_rows: int) -> memoryview:
    """Return predictions as raw float64, or say what is wrong with them.

    Raises:
        ContractError: Not real numbers, not of shape (n,), or masked.
    """
    import numpy as np

    if isinstance(predictions, np.ma.MaskedArray) and np.ma.getmaskarray(predictions).any():
        raise ContractError("predict returned masked values; a number per row is needed")
    array = np.array(predictions, copy=True, subok=False)
    if array.dtype.kind not in "iuf":
        raise ContractError(f"predict returned {array.dtype} values; real numbers are needed")
    if array.shape != (n_rows,):
        raise ContractError(f"predict returned shape {array.shape}; ({n_rows},) is needed")
    return np.ascontiguousarray(array, dtype=np.float64).data.cast("B")


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]))
    except BaseException:  # noqa: BLE001 - nothing of the trial's may run at exit
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)
