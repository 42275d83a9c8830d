import os
import stat

from helpers import FORGED, Honest


class Model(Honest):
    def fit(self, X, y):
        print(FORGED, flush=True)
        for descriptor in range(3, 256):
            try:
                if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                    os.dup2(descriptor, 1)
            except OSError:
                continue
        print(FORGED, flush=True)
        os._exit(0)
