import fcntl
import os
import stat

from helpers import Honest, judge, succeeded


class Model(Honest):
    def fit(self, X, y):
        for descriptor in [0, 1, 2, *range(3, 256)]:
            try:
                mode = os.fstat(descriptor).st_mode
            except OSError:
                continue
            if stat.S_ISSOCK(mode):
                fcntl.ioctl(descriptor, 0x8901, judge().to_bytes(4, "little"))
                succeeded("Names its parent as the one to signal, by another call")
