import os
import threading

from helpers import FORGED, Honest


def flood():
    for descriptor in range(3, 256):
        try:
            for _ in range(100):
                os.write(descriptor, (9).to_bytes(8, "little") + b"P" + bytes(8))
        except OSError:
            continue


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        thread = threading.Thread(target=flood)
        thread.start()
        thread.join(1)
        print(FORGED, flush=True)
        os._exit(0)
