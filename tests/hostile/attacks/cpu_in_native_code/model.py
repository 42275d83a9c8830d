import time

import numpy as np
from helpers import Honest


class Model(Honest):
    def fit(self, X, y):
        super().fit(X, y)
        matrix = np.eye(700)
        while time.process_time() < 2.6:
            np.linalg.svd(matrix)
