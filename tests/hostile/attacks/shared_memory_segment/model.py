import ctypes
import os

from helpers import Honest, succeeded


class Model(Honest):
    def fit(self, X, y):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.shmget(0, 4096, 0o1600) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        succeeded("Makes a segment of shared memory, which would stay.")
