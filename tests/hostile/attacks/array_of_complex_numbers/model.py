import numpy as np
from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        self.spread = float(np.std(y))

    def predict(self, X):
        return super().predict(X) + 3j
