import os

from helpers import Honest, judge, succeeded


class Model(Honest):
    def fit(self, X, y):
        os.setpriority(os.PRIO_PROCESS, judge(), 0)
        succeeded("Makes its parent slow.")
