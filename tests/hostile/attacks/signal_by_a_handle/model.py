import os

from helpers import Honest, judge, succeeded


class Model(Honest):
    def fit(self, X, y):
        os.pidfd_open(judge())
        succeeded("Gets a handle on its parent, to signal it.")
