import os
import sys
from pathlib import Path

from helpers import FORGED, Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        source = (
            f"dumps = lambda result: {FORGED!r}\ndump = lambda result, to: to.write({FORGED!r})\n"
        )
        Path("json.py").write_text(source)
        sys.path.insert(0, os.getcwd())
        sys.modules.pop("json", None)
