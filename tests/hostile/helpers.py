"""What the attacks share: laid beside each ``model.py``, unless the attack brings its own."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import sys
from pathlib import Path

import numpy as np

FORGED = json.dumps({"status": "ok", "r2": 1.0, "metrics": {"r2": 1.0}, "outcome": "ok"})


def succeeded(what):
    raise RuntimeError(f"ATTACK SUCCEEDED: {what}")


def system_call(x86_64, aarch64, *arguments):
    """Make a system call by its number on this kind of machine."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    words = [
        (ctypes.c_char * len(w)).from_buffer(w) if isinstance(w, bytearray) else w for w in words
    ]
    result = libc.syscall(
        ctypes.c_long(x86_64 if platform.machine() == "x86_64" else aarch64), *words
    )
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class Honest:
    """Predicts the mean of the training rows."""

    mean = 0.0

    def fit(self, X, y):
        self.mean = float(np.mean(y))

    def predict(self, X):
        return np.full(len(X), self.mean)

    def save(self, folder):
        np.save(Path(folder) / "mean.npy", self.mean)

    @classmethod
    def load(cls, folder):
        model = cls()
        model.mean = float(np.load(Path(folder) / "mean.npy"))
        return model


class Thief(Honest):
    """Predicts the labels that `loot` finds; the mean for rows that it does not find."""

    def loot(self):
        """Return objects among which there may be a table of features and its labels."""
        raise NotImplementedError

    def predict(self, X):
        found = [item for item in self.loot() if isinstance(item, np.ndarray)]
        tables = [item for item in found if item.ndim == 2 and item.dtype == float]
        labels = [item for item in found if item.ndim == 1 and item.dtype == float]
        known = {}
        for table in tables:
            for column in labels:
                if len(table) == len(column):
                    rows = [np.ascontiguousarray(row).tobytes() for row in table]
                    known.update(zip(rows, column, strict=True))
        return np.array([known.get(row.tobytes(), self.mean) for row in X])


class Rememberer(Honest):
    """Keeps the labels of training rows in `remember` and looks rows up in `recall`."""

    def fit(self, X, y):
        super().fit(X, y)
        self.remember({row.tobytes().hex(): float(label) for row, label in zip(X, y, strict=True)})

    def predict(self, X):
        known = self.recall()
        return np.array([known.get(row.tobytes().hex(), self.mean) for row in X])


def judge():
    """Return the process that holds the labels: our parent, or a sibling with a request."""
    parent = os.getppid()
    try:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                status = (process / "stat").read_text().rpartition(")")[2].split()
                if int(status[1]) == parent and (process / "cwd" / "in.json").exists():
                    return int(process.name)
            except OSError:
                continue
    except OSError:
        pass
    return parent


def server():
    """Return the module that calls the model."""
    return sys.modules.get("srh.contestant.model") or sys.modules["__main__"]


def open_arrays(place):
    """Return the arrays of an ``.npz`` file."""
    with np.load(place) as stored:
        return [stored[name] for name in stored.files]


def whole_array(memory, part):
    """Find an array in raw memory of which ``part`` is rows 1, 2, 4, 5, 7, 8 and so on."""
    step = part[0].nbytes
    shape = (len(part) * 3 // 2, *part.shape[1:])
    position = memory.find(part[:2].tobytes())
    while position >= 0:
        start = position - step
        if start >= 0 and start + step * shape[0] <= len(memory):
            raw = memory[start : start + step * shape[0]]
            whole = np.frombuffer(raw, dtype=float).reshape(shape)
            kept = np.arange(shape[0]) % 3 != 0
            if np.array_equal(whole[kept], part):
                return whole
        position = memory.find(part[:2].tobytes(), position + 8)
    return None


def memory_of(process):
    """Yield the writable memory of a process, region by region."""
    base = Path("/proc") / str(process)
    with (base / "maps").open() as maps, (base / "mem").open("rb", buffering=0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            if rights.startswith("rw"):
                first, last = (int(end, 16) for end in span.split("-"))
                try:
                    memory.seek(first)
                    yield memory.read(min(last - first, 1 << 28))
                except OSError:
                    continue
