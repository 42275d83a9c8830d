import os

from helpers import Honest, judge, succeeded


class Model(Honest):
    def fit(self, X, y):
        os.sched_setaffinity(judge(), {0})
        succeeded("its parent is bound")
