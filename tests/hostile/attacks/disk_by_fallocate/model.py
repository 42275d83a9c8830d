import os

from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        with open("reserved", "wb") as stream:
            os.posix_fallocate(stream.fileno(), 0, 20 << 20)
