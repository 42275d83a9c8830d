import os

from helpers import FORGED, Honest


class Model(Honest):
    def fit(self, X, y):
        for descriptor in range(1, 256):
            try:
                os.write(descriptor, FORGED.encode() + b"\n")
            except OSError:
                continue
        os._exit(0)
