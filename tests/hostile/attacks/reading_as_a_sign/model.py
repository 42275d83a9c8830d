import time
from pathlib import Path

import numpy as np
from helpers import Honest, succeeded

FILES = sorted(Path(np.__file__).parent.rglob("*.pyi"))[:200]
SPOKEN = [number % 3 == 2 for number in range(len(FILES))]


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        heard = [path.stat().st_atime > time.time() - 60 for path in FILES]
        if heard == SPOKEN:
            succeeded("a fold left word in the dates of files")
        for path, spoken in zip(FILES, SPOKEN, strict=True):
            if spoken:
                path.read_bytes()
