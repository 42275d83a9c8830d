from pathlib import Path

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        succeeded(Path("/etc/passwd").read_text()[:40])
