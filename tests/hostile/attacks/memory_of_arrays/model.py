import numpy as np
from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        np.ones(60_000_000).sum()
