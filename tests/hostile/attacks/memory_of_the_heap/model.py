from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        held = []
        for _ in range(500):
            held.append(bytearray(b"x" * (1 << 20)))
