import ctypes
import os

from helpers import Honest, judge, succeeded


class Model(Honest):
    def fit(self, X, y):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.ptrace(0x4206, judge(), None, None) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        succeeded("Traces its parent.")
