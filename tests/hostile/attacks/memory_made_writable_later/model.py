import ctypes

from helpers import Honest

SIZE = ctypes.c_size_t(500 << 20)


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        place = ctypes.c_void_p(libc.mmap(None, SIZE, 0, 0x22, -1, ctypes.c_long(0)))
        if libc.mprotect(place, SIZE, 3) < 0:
            raise MemoryError
        ctypes.memset(place, 1, SIZE.value)
