import os

from helpers import FORGED, Honest


class Model(Honest):
    def fit(self, X, y):
        frames = (1).to_bytes(8, "little") + b"S" + (161).to_bytes(8, "little") + b"P" + bytes(160)
        for descriptor in range(3, 256):
            try:
                os.write(descriptor, frames)
            except OSError:
                continue
        print(FORGED, flush=True)
        os._exit(0)
