import mmap

from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        with open("large", "wb") as stream:
            stream.truncate(7 << 20)
        held = []
        try:
            with open("large", "r+b") as stream:
                for _ in range(80):
                    held.append(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY))
                    held[-1][:] = bytes(7 << 20)
        except OSError as error:
            raise MemoryError(error) from error
