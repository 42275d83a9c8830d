import os

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        os.setpriority(os.PRIO_PROCESS, os.getppid(), 0)
        succeeded("Makes its parent slow.")
