import os

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        os.killpg(os.getpgid(os.getppid()), 0)
        succeeded("Signals its parent's group.")
