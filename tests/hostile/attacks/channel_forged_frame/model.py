import os

from helpers import FORGED, Honest


class Model(Honest):
    def fit(self, X, y):
        content = b"P" + FORGED.encode() + b"\n"
        for descriptor in range(1, 256):
            try:
                os.write(descriptor, len(content).to_bytes(8, "little") + content)
            except OSError:
                continue
        print(FORGED, flush=True)
        os._exit(0)
