import os

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        os.kill(0, 0)
        succeeded("Signals all processes of its group by number 0.")
