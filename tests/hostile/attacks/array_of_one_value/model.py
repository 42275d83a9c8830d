import numpy as np
from helpers import Honest


class Model(Honest):
    def predict(self, X):
        return np.float64(self.mean)
