import os
import time

from helpers import FORGED, Honest


class Model(Honest):
    def fit(self, X, y):
        announced = (60_000).to_bytes(8, "little") + b"E"
        for at in range(100_000):
            for descriptor in range(3, 256):
                try:
                    os.write(descriptor, announced[at : at + 1] or b".")
                except OSError:
                    continue
            time.sleep(0.02)
        print(FORGED)
