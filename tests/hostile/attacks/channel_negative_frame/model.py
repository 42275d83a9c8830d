import os

from helpers import FORGED, Honest


class Model(Honest):
    def fit(self, X, y):
        for descriptor in range(3, 256):
            try:
                os.write(descriptor, (-1).to_bytes(8, "little", signed=True))
            except OSError:
                continue
        print(FORGED, flush=True)
        os._exit(0)
