import ctypes

from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        libc = ctypes.CDLL(None)
        libc.sbrk.restype = ctypes.c_ssize_t
        if libc.sbrk(ctypes.c_ssize_t(500 << 20)) == -1:
            raise MemoryError
