import os

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        os.rename("../../../lock", "lock")
        os.rename("lock", "../../../lock")
        succeeded("a file of the run, moved")
