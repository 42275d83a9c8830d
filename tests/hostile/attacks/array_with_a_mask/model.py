import numpy as np
from helpers import Honest


class Model(Honest):
    def predict(self, X):
        return np.ma.masked_array(super().predict(X) + 1e6, mask=np.arange(len(X)) > 0)
