import os

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        os.pidfd_open(os.getppid())
        succeeded("Gets a handle on its parent, to signal it.")
