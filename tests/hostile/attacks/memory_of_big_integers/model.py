from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        number = 1 << (4 << 30)
        number += 1
