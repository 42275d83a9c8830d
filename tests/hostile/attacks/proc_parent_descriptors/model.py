import os
from pathlib import Path

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        succeeded(os.listdir(Path("/proc") / str(os.getppid()) / "fd"))
