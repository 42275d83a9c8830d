import os

from helpers import Honest, succeeded

HARMLESS = ("SRH_CHILD", "PATH", "LC_ALL", "PYTHONHASHSEED", "PYTHONUTF8", "HOME", "TMPDIR")


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        others = {name for name in os.environ if not name.endswith("_THREADS")} - {*HARMLESS}
        if any("XDG" in name or "PYTEST" in name for name in others):
            succeeded(sorted(others))
