import fcntl
import os
import stat

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        for descriptor in [0, 1, 2, *range(3, 256)]:
            try:
                mode = os.fstat(descriptor).st_mode
            except OSError:
                continue
            if stat.S_ISSOCK(mode):
                fcntl.fcntl(descriptor, 10, 9)
                succeeded("Chooses the signal that the kernel sends when something is to be read")
