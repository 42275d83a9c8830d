import os
import time

from helpers import FORGED, Honest


class Model(Honest):
    def fit(self, X, y):
        for descriptor in range(3, 256):
            try:
                os.write(descriptor, (1 << 60).to_bytes(8, "little"))
            except OSError:
                continue
        print(FORGED, flush=True)
        time.sleep(0.5)
        os._exit(0)
