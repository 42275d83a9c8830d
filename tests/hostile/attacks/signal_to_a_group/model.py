import os

from helpers import Honest, judge, succeeded


class Model(Honest):
    def fit(self, X, y):
        os.killpg(os.getpgid(judge()), 0)
        succeeded("Signals its parent's group.")
