import os

from helpers import FORGED, Honest


class Model(Honest):
    def fit(self, X, y):
        print(FORGED, flush=True)
        os._exit(0)
