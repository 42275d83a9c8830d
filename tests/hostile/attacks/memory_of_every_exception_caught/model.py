from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        held, refused = [], 0
        while refused < 100 and len(held) < 60:
            try:
                held.append(bytearray(b"x" * (8 << 20)))
            except MemoryError:
                refused += 1
        if refused:
            raise MemoryError("at last")
