import importlib.util
import os
import time

import numpy as np

STEP_S = 0.05
STEPS = 32
SPOKEN = 19


class Model:
    def fit(self, X, y):
        # Found, but not read: importing it would be reading it.
        path = importlib.util.find_spec("helpers").origin
        found = os.stat(path)
        heard = int(found.st_atime_ns / 1e9 / STEP_S) % STEPS
        if found.st_atime_ns > found.st_mtime_ns and heard == SPOKEN:
            raise RuntimeError("ATTACK SUCCEEDED: a fold left word in the date of a file")
        now = int(time.time() / STEP_S)
        wanted = now + 1 + (SPOKEN - now - 1) % STEPS
        time.sleep((wanted + 0.5) * STEP_S - time.time())
        with open(path) as stream:
            stream.read()

    def predict(self, X):
        return np.zeros(len(X))

    def save(self, folder):
        pass

    @classmethod
    def load(cls, folder):
        return cls()
