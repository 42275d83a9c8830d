import mmap

from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        held = []
        try:
            for _ in range(8):
                held.append(mmap.mmap(-1, 64 << 20, flags=flags))
                held[-1].write(bytes(64 << 20))
        except OSError as error:
            raise MemoryError(error) from error
